//! Scripts of the packetdrill language on this project's TCP: [`Simulated`] is a stack that
//! [`packetdrill::run`] tests, and [`stream`] draws random scripts in a closed loop with it.

mod simulated;
pub mod stream;

pub use simulated::Simulated;

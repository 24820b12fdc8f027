//! The contracts: a start-up, an avoidance and a recovery, of which [`Classic`](crate::Classic)
//! makes a congestion control, and the congestion control that a transport sees.

mod avoidance;
mod control;
pub(crate) mod hooks;
mod needs;
mod startup;
#[cfg(test)]
mod tests;

pub use avoidance::{Avoidance, Decision, Recovery};
pub use control::CongestionControl;
pub use needs::Needs;
pub use startup::{AsksRouters, JumpStarts, KnowsPath, Startup, SteersSending};

pub(crate) use avoidance::{avoidance_hooks, recovery_hooks};
pub(crate) use control::congestion_control_hooks;
pub(crate) use startup::startup_hooks;

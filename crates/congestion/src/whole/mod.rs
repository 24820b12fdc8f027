//! Congestion controls that are start-up, avoidance and recovery at once.

pub mod bbr;

pub use bbr::{Bbr, BbrConfig};

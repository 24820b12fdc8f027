//! The sender under scripted peers and over random paths.

#[path = "sender/loss.rs"]
mod loss;
#[path = "sender/pacing.rs"]
mod pacing;
#[path = "sender/property.rs"]
mod property;
#[path = "sender/support.rs"]
mod support;
#[path = "sender/timers.rs"]
mod timers;

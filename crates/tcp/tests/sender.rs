//! The sender with scripted peers and over random paths.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

#[path = "sender/fack.rs"]
mod fack;
#[path = "sender/loss.rs"]
mod loss;
#[path = "sender/misbehavior.rs"]
mod misbehavior;
#[path = "sender/pacing.rs"]
mod pacing;
#[path = "sender/physics.rs"]
mod physics;
#[path = "sender/portions.rs"]
mod portions;
#[path = "sender/property.rs"]
mod property;
#[path = "sender/support.rs"]
mod support;
#[path = "sender/timers.rs"]
mod timers;

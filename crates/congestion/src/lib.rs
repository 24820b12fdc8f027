//! Start-up, congestion avoidance, recovery, and congestion controls that are all three at once.
//!
//! The crate knows no transport. A transport owns what is in flight; it reports facts
//! ([`Sent`], [`Ack`], [`Congestion`]) to a [`CongestionControl`] and asks it for the window and
//! the pacing rate. [`Classic`] makes a congestion control of three parts, which *return*
//! decisions and never share state: a [`Startup`], an [`Avoidance`] and a [`Recovery`].
//!
//! Every interface speaks of bytes. Linux counts segments, so the Linux-like transport of this
//! project reports whole multiples of `smss`, and the algorithms that are defined on segments
//! divide at their door.
//!
//! No allocation, no floating point, no clock, no randomness.
#![no_std]

// The tests beside the hooks include a file of `tests/`, which calls this crate by its name.
#[cfg(test)]
extern crate self as congestion;
#[cfg(test)]
extern crate std;

mod any;
mod classic;
mod exit;
mod memory;
mod parts;
mod signal;

pub mod avoidance;
pub mod monolithic;
pub mod options;
pub mod rate_sample;
pub mod recovery;
pub mod startup;

pub use any::*;
pub use classic::Classic;
pub use exit::*;
pub use memory::PathMemory;
pub use parts::*;
pub use signal::*;

//! Start-up, congestion avoidance, recovery, and congestion controls that are all three at once.
//!
//! The crate knows no transport. A transport owns what is in flight; it reports facts
//! ([`Sent`], [`Ack`], [`Congestion`]) to a [`CongestionControl`] and asks it for the window and
//! the pacing rate. [`Classic`] makes a congestion control of three parts, which *return*
//! decisions and never share state: a [`Startup`], an [`Avoidance`] and a [`Recovery`].
//!
//! ## The contract about whole segments
//!
//! Every interface speaks of bytes, but many algorithms are defined on segments and divide by
//! `smss` at their door. Therefore:
//!
//! - [`Window::cwnd`] and [`Window::ssthresh`] are multiples of [`Window::smss`], and the window is
//!   at least one segment. [`Classic`] rounds down what its parts decide; in flight may be any
//!   number of bytes.
//! - [`Ack::delivered`] and [`Sent::size`] are what the window is charged with. A transport that
//!   counts segments, as Linux does, reports multiples of `smss`. A transport that counts bytes
//!   reports in [`Ack::delivered`] the largest multiple of `smss` that it has not reported yet, and
//!   carries the rest to its next ACK; otherwise each ACK would lose the part below a segment.
//! - When the size of a full packet changes, [`CongestionControl::on_mtu`] comes before the first
//!   event that counts in the new size.
//!
//! What an algorithm needs of its transport is known before a connection exists:
//! [`Algorithm::needs`]. A transport that lacks one of these refuses the algorithm.
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
pub mod foreign;
pub mod monolithic;
pub mod options;
pub mod rate_sample;
pub mod recovery;
pub mod startup;

pub use any::*;
pub use classic::Classic;
pub use exit::*;
pub use memory::{PathMemory, ResumeEnd, Resumption};
pub use parts::*;
pub use signal::*;
/// The types of times, rates and byte counts in every interface.
pub use units;

/// The example of `README.md`, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

//! Links, queues, delay, loss and traces, without a clock and without a protocol.
//!
//! A [`Link`] is built from a [`LinkConfig`] and carries packets under a simulated or a real clock
//! alike: see the contract in [`Element`]. Recorded traces are read by [`trace::read`]. A
//! [`router::Router`] in front of a link reads and writes what packets carry for it.
#![no_std]
extern crate alloc;

pub mod access;
mod aqm;
mod busy;
mod config;
mod element;
mod jitter;
mod link;
mod loss;
mod process;
mod random;
mod room;
pub mod router;
mod server;
mod streams;
pub mod trace;

pub use access::AccessConfig;
pub use aqm::{CoDelConfig, FqCoDelConfig, PieConfig, RedConfig};
pub use config::*;
pub use element::*;
pub use link::Link;
pub use streams::Streams;

//! Links, queues, delay, loss and traces, without a clock and without a protocol.
//!
//! A [`Link`] is built from a [`LinkConfig`] and carries packets under a simulated clock and under
//! the wall clock alike. An access network is a model ([`access`]) or a [`medium`] that links
//! share. [`trace::read`] reads recorded traces. A [`router::Router`] in front of a link reads and
//! writes the feedback that packets carry for it.
#![no_std]
extern crate alloc;

pub mod access;
mod aqm;
mod arrival_stage;
mod backlog;
mod busy;
mod config;
mod dequeue_stage;
mod interface;
mod jitter;
mod line;
mod link;
mod loss;
pub mod medium;
mod meter;
mod packet;
mod plain;
mod process;
mod queued;
mod random;
mod reordering;
pub mod router;
mod runs;
mod server;
mod streams;
pub mod trace;

pub use access::AccessConfig;
pub use aqm::{
    CoDelConfig, Discipline, DualPi2Config, FqCoDelConfig, PieConfig, RandomAboveConfig, RedConfig,
};
pub use busy::{Busy, BusyTime, Period};
pub use config::*;
pub use interface::{Interface, InterfaceClass, InterfaceSummary};
pub use line::TrainPackets;
pub use link::Link;
pub use meter::{Mark, Sample, Summary};
pub use packet::*;
pub use random::MIN_SLOT;
pub use streams::Streams;

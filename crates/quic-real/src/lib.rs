//! quinn in real time: its own sockets, timers and TLS over an emulated path, with the measurements
//! of virtual time.
//!
//! The path is an [`emulator::Emulation`]. A client in one network namespace opens a connection and
//! sends one stream to a server in the other, each with the endpoint of the crate `quinn`: its timers
//! are those of tokio, its sockets send bursts with segmentation offload (GSO) where the kernel
//! offers it, and its handshake is TLS 1.3 with a certificate of this run. The sender is observed
//! through its congestion controller ([`quic_stacks::RealClient`]), as in virtual time; drops, queues
//! and latencies are known because the network is ours.
//!
//! [`scenario::stacks::QUIC_REAL`] lists the keys of a scenario that it supports. Any other key is
//! refused before anything is created.
//!
//! ## Deviations
//!
//! - Each flow has a socket of its own on both sides. All clients share one thread, all servers
//!   another, each with a runtime of tokio and, where allowed, priority over ordinary threads.
//! - The times of tokio are full milliseconds: a flow starts, and its application writes, up to one
//!   after the time of the scenario. `start_s` is the time at which the client calls `connect`.
//! - Sockets have receive buffers of [`BUFFER`], where allowed, so that a thread that waits for its
//!   processor loses nothing. A run in which a socket was full fails the self-check.
//! - quinn asks for ECN on each packet; a flow without `ecn` sends packets without it, as in virtual
//!   time.
//! - The server sends two session tickets after the handshake, which virtual time has not.
#![cfg(target_os = "linux")]

mod error;
mod hosts;
mod outcome;
mod run;
mod shared;
mod socket;
mod tls;

pub use error::RealError;
pub use run::{RealOptions, RealOutput, run, supports};
pub use socket::{BUFFER, Sent};

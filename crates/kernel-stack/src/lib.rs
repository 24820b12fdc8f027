//! The TCP of the running kernel as a stack: it runs a scenario and returns the same measurements
//! as a simulation.
//!
//! The path is an [`emulator::Emulation`]; a sender and a receiver of our own use real
//! sockets on its two sides. Where permitted, an eBPF probe in the sender's kernel reports each ACK
//! ([`Sampler::TcpProbe`]); otherwise TCP_INFO is polled once a millisecond. The network's side
//! (drops, queue, true capacity) is known because the network is ours.
//!
//! [`scenario::stacks::LINUX`] lists the keys of a scenario that it supports, with how the kernel
//! gets each; the guide to the real kernel prints this list. Any other key is refused before
//! anything is created.
//!
//! Where no program can be loaded, `cubic+standard` runs with HyStart switched off for the whole
//! machine, if that is allowed (`hystart`).
//!
//! ## Deviations
//!
//! - The run, and with it the channel, begins when namespaces, sockets and threads are ready. A
//!   flow starts up to a fraction of a millisecond after its `start`. `start_s` is the time of the
//!   connect() call.
//! - Without the probe, the times of the exit and of the first loss are late by up to one polling
//!   period. `observe` lists the other approximations.
//! - The connection is closed when all data are acknowledged, not when all are written.
//! - As in the simulator, a flow's access delay (`extra_delay`, both directions) is part of the
//!   reverse direction: the receiver has forward data one access delay too early, and completion
//!   times add that delay.
//! - Clients and servers of traffic act some microseconds after what they wait for, with
//!   TCP_NODELAY. Their retransmissions stand for losses, and their timeouts are unknown.
//! - The kernel limits memory, not the receive window. The limit is chosen so that full segments
//!   make the window `receive_buffer`, within one percent (`hosts`).
//! - Sender and receiver have large socket buffers and, where allowed, priority over ordinary
//!   threads, so that no application makes the kernel wait: the measurements are of its TCP.
#![cfg(target_os = "linux")]

mod acks;
mod error;
mod exchanges;
mod hosts;
mod hystart;
mod info;
mod names;
mod observe;
mod options;
mod outcome;
mod plan;
mod run;
mod sampler;
mod script;
mod shared;
mod sys;

pub use error::StackError;
pub use kernel::GuestExit;
pub use names::{KernelName, Kind};
pub use options::{Sampler, StackOptions};
pub use run::{StackOutput, run, supports};
pub use script::{KernelStack, tick, with_kernel};

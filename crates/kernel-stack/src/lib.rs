//! The TCP of the running kernel as a stack: it runs a scenario and returns the same measurements
//! as a simulation.
//!
//! The path is an [`emulator::Emulation`]; a sender and a receiver of our own use real
//! sockets on its two sides. A probe in the sender's kernel tells of each ACK where that is allowed
//! ([`Sampler::TcpProbe`]); otherwise TCP_INFO is polled once a millisecond. The network's side
//! (drops, queue, true capacity) is known because the network is ours.
//!
//! | setting | how the kernel gets it |
//! | --- | --- |
//! | `algorithm` | TCP_CONGESTION, by the table in `names`; extended by [`StackOptions::names`] |
//! | `initial_window`, `ecn` | metrics of the flow's own route (`initcwnd`, `features ecn`) |
//! | `ack_policy = "every-segment"` | a metric of the reverse route (`quickack`) |
//! | `extra_delay` | the emulator delays what is sent to the flow's own address by both directions' delays |
//! | `pacing` | SO_MAX_PACING_RATE at its largest value, which limits nothing: TCP's own timer paces, and no `fq` is needed |
//! | `receive_buffer`, `restart_after_idle` | sysctls of the namespace: one value for all flows |
//! | `tso_segments` | the device's `gso_max_segs`: one value for all flows |
//! | `[[traffic]]` whose connections follow a workload | sockets of their own, clients at the receiver's side (`exchanges`); other traffic is refused |
//! | `cubic+search`, `cubic+hystart++`, `cubic+standard` | an eBPF program of this project, loaded for the run (`kernel::Guest`), or loaded before by an administrator |
//! | `cubic+standard` without it | where allowed, HyStart is switched off for the whole machine during the run (`hystart`) |
//! | `sack = false`, `syn_window`, `small_queue`, `autotuning`, `loss_detection`, `byte_counting = false`, `misbehavior`, `tick`, `mss`, other algorithms | refused |
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
mod support;
mod sys;

pub use error::StackError;
pub use kernel::GuestExit;
pub use names::{KernelName, Kind};
pub use options::{Sampler, StackOptions};
pub use run::{StackOutput, run, supports};
pub use script::{KernelStack, tick, with_kernel};

//! The network's models in real time: real programs behind any path that a scenario can describe.
//!
//! An [`Emulation`] consists of two network namespaces, a TUN device in each, and one thread that
//! carries packets between them through two [`network::Link`]s. These are the same objects, with
//! the same random streams, that the simulator uses. The emulator measures its own lateness and
//! reports whether a run passed the timing self-check ([`SelfCheck`]). [`emulate()`] runs a command
//! behind a path, like Mahimahi's shells.
//!
//! Nothing that it creates has a name in the file system. This process holds namespaces and devices
//! by file descriptors. A program that it starts lives in a PID namespace of its own, whose first
//! process dies with the thread that started it. So the kernel removes everything however this
//! process ends, and a later start has no leftovers to look for. Nothing else is touched, and no
//! packet leaves the machine: the namespaces have no other devices.
//!
//! ## Assumptions
//!
//! - The MTU is 1500 bytes, and all packets are IPv4; a TUN device never hands over more than its
//!   MTU.
//! - A link counts the `overhead` of its configuration for each packet, although a TUN device has
//!   no Ethernet header: the same scenario has the same rate here and in the simulator.
//! - A packet arrives at a link when it is read from the device, a few microseconds after the
//!   kernel sent it; it is delivered when it is written, [`SelfCheck`]'s lateness after it was due.
#![cfg(target_os = "linux")]

mod access;
mod check;
mod clock;
mod device;
mod emulation;
mod error;
mod flows;
mod link;
mod live;
mod machine;
mod mahimahi;
mod mover;
mod namespace;
mod nest;
mod output;
mod packet;
mod probe;
mod process;
mod record;
mod report;
pub mod routes;
mod schedule;
mod shell;
mod side;
mod user;

pub use check::{Bounds, SelfCheck};
pub use clock::{monotonic_nanos, pause, std_instant};
pub use device::{NAME as DEVICE, OFFLOAD_HEADER, offloading_device};
pub use emulation::{Emulation, EmulationOptions, Prepared};
pub use error::EmulatorError;
pub use flows::{Delivery, Drop, FlowFacts};
pub use live::{LinkSnapshot, Snapshot};
pub use machine::release;
pub use namespace::Namespace;
pub use output::Existing;
pub use packet::FlowKey;
pub use process::Running;
pub use record::{CaptureTo, LogTo, Point};
pub use report::{LinkReport, Report};
pub use schedule::{Scheduling, prefer_reader, prefer_thread};
pub use shell::{EmulateOptions, EmulateOutcome, FAR_ADDRESS, NEAR_ADDRESS, emulate};
pub use side::{Direction, Side};
pub use user::{enter_user_namespace, missing};

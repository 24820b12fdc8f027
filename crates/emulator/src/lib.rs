//! The network's models in real time: real programs, and the kernel's own TCP, behind any path that
//! a scenario can describe.
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
mod schedule;
mod shell;
pub mod stack;
mod user;

pub use check::{Bounds, SelfCheck};
pub use emulation::{Emulation, EmulationOptions, Prepared};
pub use error::EmulatorError;
pub use flows::{Delivery, Drop, FlowFacts, FlowKey};
pub use live::{LinkSnapshot, Snapshot};
pub use output::Existing;
pub use process::Running;
pub use record::{CaptureTo, LogTo, Point};
pub use report::{LinkReport, Report};
pub use schedule::Scheduling;
pub use shell::{EmulateOptions, EmulateOutcome, FAR_ADDRESS, NEAR_ADDRESS, emulate};
pub use user::{enter_user_namespace, missing};

/// An end of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Where the forward link begins: this side sends the data.
    Sender,
    /// Where the forward link ends: this side receives the data.
    Receiver,
}

impl Side {
    /// The other end.
    #[must_use]
    pub const fn peer(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }

    /// The link that carries the packets of this side.
    pub(crate) const fn sends_on(self) -> Direction {
        match self {
            Self::Sender => Direction::Forward,
            Self::Receiver => Direction::Reverse,
        }
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// One of the path's two links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the sender to the receiver.
    Forward,
    /// From the receiver to the sender.
    Reverse,
}

impl Direction {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Reverse];

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

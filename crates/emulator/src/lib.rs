//! The network's models under the real clock: real programs, and the kernel's own TCP, behind any
//! path that a scenario can say.
//!
//! An [`Emulation`] is two network namespaces, a TUN device in each, and one thread that carries
//! packets between them through two [`network::Link`]s, the same objects and the same random
//! streams that the simulator uses. It measures its own lateness ([`SelfCheck`]) and says when a
//! run is not to be trusted. [`emulate()`] runs a command behind a path, like Mahimahi's shells.
//!
//! Nothing that it makes has a name in the file system: namespaces and devices are held by file
//! descriptors of this process, and programs that it starts live in a process namespace of their
//! own whose first process dies with the thread that started it. So the kernel removes everything
//! when the process ends, whatever ends it, and there are no leftovers for a later start to look
//! for. Nothing else is touched, and no packet leaves the machine: the namespaces have no other
//! devices.
//!
//! ## Assumptions
//!
//! - The MTU is 1500 bytes, IPv4 alone; a TUN device never hands over more than its MTU.
//! - A link counts the `overhead` of its configuration for each packet, although a TUN device has
//!   no Ethernet header: the same scenario has the same rate here and in the simulator.
//! - A packet arrives at a link when it is read from the device, a few microseconds after the
//!   kernel sent it; it is delivered when it is written, [`SelfCheck`]'s lateness after it was due.
#![cfg(target_os = "linux")]

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
pub use record::{CaptureTo, LogTo};
pub use report::{LinkReport, Report};
pub use schedule::Scheduling;
pub use shell::{EmulateOptions, EmulateOutcome, FAR_ADDRESS, NEAR_ADDRESS, emulate};
pub use user::{enter_user_namespace, missing};

/// An end of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Where the forward link begins: data leave here.
    Sender,
    /// Where the forward link ends: data arrive here.
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

    /// The link whose packets this side sends.
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

//! Medium access: which node sends when, and which frames arrive.
//!
//! A [`Mac`] is the medium-access protocol of all nodes of a network, with their radios. A node has
//! at most one frame in service; the interface queue above keeps the others.

use alloc::vec::Vec;
use core::fmt::Debug;

use units::Instant;

use super::radios::Radios;
use crate::{DropCause, NodeId};

pub mod csma;
pub mod dcf;
pub mod lowpan;
mod timers;

/// A frame that a node hands to its MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The neighbour; `None` is a broadcast.
    pub to: Option<NodeId>,
    /// Bytes of the network-layer packet. The MAC adds its headers.
    pub bytes: u32,
    /// The number under which the owner keeps the packet; the MAC only passes it on.
    pub handle: u32,
}

/// What a MAC reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacEvent {
    /// A node received a frame for it, or a broadcast.
    Received {
        /// The receiver.
        node: NodeId,
        /// The sender.
        from: NodeId,
        /// The sender's handle of the packet.
        handle: u32,
    },
    /// A node has sent its frame; a unicast one was acknowledged if the MAC uses acknowledgements.
    /// The node takes the next one. If a unicast frame has not been `Received` by now, the packet is
    /// lost and its sender does not know it ([`DropCause::Reassembly`]): there was no
    /// acknowledgement, the receiver discarded a fragment, or the acknowledgement was another's.
    Sent {
        /// The sender.
        node: NodeId,
        /// The packet.
        handle: u32,
    },
    /// A node gave up its frame. The node takes the next one.
    Failed {
        /// The sender.
        node: NodeId,
        /// The packet.
        handle: u32,
        /// Why.
        cause: DropCause,
    },
}

/// The medium-access protocol of all nodes, and their radios.
///
/// Calls come in order of time. Results do not depend on how many calls come.
pub trait Mac: Debug + Send {
    /// Whether `node` has no frame in service.
    fn is_idle(&self, node: NodeId) -> bool;

    /// Puts a frame into service at `node`, which is idle. All earlier events have been performed.
    fn send(&mut self, now: Instant, node: NodeId, frame: Outgoing);

    /// When the next event is due; [`Instant::MAX`] is never.
    fn next_event(&self) -> Instant;

    /// Performs the event that is due next and appends what it reports to `events`. The sender's
    /// `Sent` comes no earlier than the `Received` of the same frame. An acknowledgement may be lost
    /// after its frame arrived: then `Received` comes once, and `Failed` may follow.
    fn step(&mut self, events: &mut Vec<MacEvent>);

    /// Performs events that are due by `until`, at least one, up to the first that reports something.
    /// Returns when the last one was due.
    fn run(&mut self, until: Instant, events: &mut Vec<MacEvent>) -> Instant {
        let mut at = self.next_event();
        loop {
            self.step(events);
            let next = self.next_event();
            if !events.is_empty() || next > until {
                return at;
            }
            at = next;
        }
    }

    /// The radios, if it has any that can be asked.
    fn radios(&mut self) -> Option<&mut dyn Radios> {
        None
    }

    /// Frames with a packet or a fragment of one, retries included; and all transmissions of a frame
    /// beyond its first.
    fn tries(&self) -> [u64; 2] {
        [0; 2]
    }
}

//! What a node keeps for its MAC.

use alloc::format;
use alloc::vec::Vec;

use network::Streams;
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use units::Instant;

use super::super::Outgoing;
use super::super::lowpan::Reassembly;
use super::backoff::Backoff;
use super::config::CsmaConfig;
use crate::NodeId;
use crate::adhoc::air::{FrameId, Listen, Signal};

/// What a node overhears while it waits for an acknowledgement. An acknowledgement names no node,
/// only the sequence number of the frame, so that one for another node may be taken for its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ears {
    /// The note of the acknowledgement that it waits for.
    expected: u64,
    is_answered: bool,
}

impl Ears {
    /// The note of a data frame.
    pub(super) const DATA: u64 = u64::MAX;

    /// The note of an acknowledgement.
    pub(super) fn ack(sequence: u32) -> u64 {
        u64::from(sequence as u8)
    }

    /// Waits for an acknowledgement.
    pub(super) fn expect(&mut self, sequence: u32) {
        self.expected = Self::ack(sequence);
        self.is_answered = false;
    }

    /// Whether one with that number has arrived since.
    pub(super) const fn is_answered(&self) -> bool {
        self.is_answered
    }
}

impl Listen for Ears {
    fn minds_busy(&self) -> bool {
        false
    }

    fn heard(&mut self, _: NodeId, frame: &Signal, _: Instant) {
        self.is_answered |= frame.note == self.expected;
    }
}

/// Where a node is with the frame that it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has none.
    Idle,
    /// The packet is too long.
    Rejected,
    /// It waits, and then assesses the channel.
    Backoff,
    /// It assesses a second time (slots).
    Again,
    /// The channel is idle: its radio turns from reception to transmission.
    Turn,
    /// It sends.
    Send,
    /// It waits for the acknowledgement.
    Await,
    /// It waits for the space after the last frame.
    Space,
}

/// An acknowledgement that a node is about to send, or sends, or sent last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) to: NodeId,
    pub(super) sequence: u32,
    /// When the radio has sent it. From the end of the frame until then it does nothing else.
    pub(super) until: Instant,
    /// Once it is on the air.
    pub(super) flight: Option<FrameId>,
}

/// A node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) phase: Phase,
    /// The packet in service.
    pub(super) packet: Outgoing,
    pub(super) tag: u16,
    /// The fragment in service, and how many there are.
    pub(super) index: u32,
    pub(super) count: u32,
    /// The PSDU of the frame in service, in bytes.
    pub(super) psdu: u32,
    pub(super) sequence: u32,
    /// The frame on the air, and the nodes at which it has not arrived, the next one last.
    pub(super) flight: FrameId,
    pub(super) receivers: Vec<(Instant, NodeId)>,
    /// Whether a node has received the packet.
    pub(super) is_delivered: bool,
    pub(super) backoff: Backoff,
    /// Transmissions of the frame that were not acknowledged.
    pub(super) failures: u8,
    /// The end of the space after the last frame.
    pub(super) ready: Instant,
    /// The latest acknowledgement.
    pub(super) answer: Answer,
    pub(super) reassembly: Reassembly,
    /// For its backoffs, and for errors in the frames that it receives.
    pub(super) rng: ChaCha8Rng,
    pub(super) errors: ChaCha8Rng,
    /// The last sequence number of each source, by source.
    heard: Vec<(NodeId, u32)>,
}

impl Node {
    pub(super) fn new(id: NodeId, config: &CsmaConfig, seeds: &Streams) -> Self {
        let mut rng = seeds.stream(&format!("802.15.4 {}", id.0));
        let drawn = rng.next_u32();
        Self {
            phase: Phase::Idle,
            packet: Outgoing {
                to: None,
                bytes: 0,
                handle: 0,
            },
            tag: (drawn >> 16) as u16,
            index: 0,
            count: 0,
            psdu: 0,
            sequence: u32::from(drawn as u8),
            backoff: Backoff::new(config),
            failures: 0,
            ready: Instant::ZERO,
            answer: Answer {
                to: id,
                sequence: 0,
                until: Instant::ZERO,
                flight: None,
            },
            flight: FrameId::default(),
            receivers: Vec::new(),
            is_delivered: false,
            reassembly: Reassembly::new(config.reassembly_timeout, config.reassembly_buffers),
            rng,
            errors: seeds.stream(&format!("802.15.4 errors {}", id.0)),
            heard: Vec::new(),
        }
    }

    /// Whether a frame has the sequence number of the last one from the same node.
    pub(super) fn is_duplicate(&mut self, from: NodeId, sequence: u32) -> bool {
        match self.heard.binary_search_by_key(&from, |(from, _)| *from) {
            Ok(place) => core::mem::replace(&mut self.heard[place].1, sequence) == sequence,
            Err(place) => {
                self.heard.insert(place, (from, sequence));
                false
            }
        }
    }
}

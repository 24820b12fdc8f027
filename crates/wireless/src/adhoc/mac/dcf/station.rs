//! What a node keeps, what happens at it, and what is counted.

use core::cmp::Ordering;

use units::Instant;

use crate::NodeId;
use crate::adhoc::air::FrameId;
use crate::adhoc::mac::Outgoing;
use crate::adhoc::mac::timers::key;

/// Frames of all nodes since the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DcfCounters {
    /// RTS frames.
    pub rts: u64,
    /// CTS frames.
    pub cts: u64,
    /// Unicast data frames.
    pub data: u64,
    /// ACK frames.
    pub ack: u64,
    /// Broadcast data frames.
    pub broadcast: u64,
    /// RTS frames that no CTS followed.
    pub missing_cts: u64,
    /// Data frames that no ACK followed.
    pub missing_ack: u64,
    /// Unicast packets whose ACK arrived.
    pub sent: u64,
    /// Unicast packets that reached their receiver, each once.
    pub received: u64,
    /// Data frames that reached their receiver again.
    pub duplicates: u64,
    /// Packets dropped at the retry limit.
    pub dropped: u64,
    /// Packets dropped because the node had no energy.
    pub dead: u64,
}

impl DcfCounters {
    /// All frames on the air.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.rts + self.cts + self.data + self.ack + self.broadcast
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Rts,
    Cts,
    Data,
    Ack,
    Broadcast,
}

/// What happens at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The last bit of a frame for it arrives. `value` is a handle, or what an RTS or CTS reserves
    /// in nanoseconds.
    Arrival {
        kind: Kind,
        from: NodeId,
        frame: FrameId,
        value: u32,
    },
    /// It responds with a CTS that reserves some nanoseconds, DATA, or ACK.
    Response { kind: Kind, to: NodeId, value: u32 },
    /// Its broadcast has ended everywhere.
    Sent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) at: Instant,
    /// Events of one instant happen in the order in which they were scheduled.
    pub(super) order: u64,
    pub(super) node: NodeId,
    pub(super) what: What,
}

impl Event {
    #[inline(always)]
    pub(super) const fn key(&self) -> u128 {
        key(self.at, self.order)
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No frame is in service; the backoff after the last one may still count.
    Idle,
    /// The backoff before a frame counts.
    Contend,
    /// An RTS, then DATA, was sent.
    AwaitCts,
    AwaitAck,
    /// The CTS has arrived, or a broadcast is on the air.
    Sending,
}

/// A node.
#[derive(Debug)]
pub(super) struct Station {
    pub(super) phase: Phase,
    pub(super) frame: Outgoing,
    /// Whether the receiver has got the frame.
    pub(super) delivered: bool,
    /// Whether it awaits the end of a frame that arrived when its patience ended.
    pub(super) waits_on: bool,
    pub(super) window: u32,
    pub(super) short_tries: u32,
    pub(super) long_tries: u32,
}

impl Station {
    /// A node without a frame.
    pub(super) const fn new(window: u32) -> Self {
        Self {
            phase: Phase::Idle,
            frame: Outgoing {
                to: None,
                bytes: 0,
                handle: 0,
            },
            delivered: false,
            waits_on: false,
            window,
            short_tries: 0,
            long_tries: 0,
        }
    }
}

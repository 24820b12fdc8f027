//! A packet as the network sees it, and the outcome of offering one.

use core::fmt::Debug;

use units::{Bytes, Instant};

/// ECN field of the IP header (RFC 3168).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// Capable of ECN.
    Ect,
    /// Congestion experienced.
    Ce,
}

/// A packet as the network sees it: a size, an owner, and something it never looks into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<T> {
    /// Bytes of IP. A link adds its own overhead.
    pub size: u32,
    /// The flow it belongs to.
    pub flow: u32,
    /// ECN field; the only thing in a packet that a link may change.
    pub ecn: Ecn,
    /// Carried, not read.
    pub payload: T,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The queue was full.
    Overflow,
    /// A queue discipline dropped it early, or a policer.
    Early,
    /// The medium lost it.
    Loss,
}

/// A packet that was dropped after it had been accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped<T> {
    /// When.
    pub at: Instant,
    /// Why.
    pub reason: DropReason,
    /// Which.
    pub packet: Packet<T>,
}

/// What became of a packet that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is inside.
    Accepted,
    /// It is gone. (A discipline that drops a packet other than the one offered counts that
    /// drop in its [`Counters`].)
    Dropped(DropReason),
}

/// Packets and bytes through a link since the run began.
///
/// Conservation: `packets_in = packets_out + dropped() + held`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets offered.
    pub packets_in: u64,
    /// Packets handed on.
    pub packets_out: u64,
    /// IP bytes handed on.
    pub bytes_out: Bytes,
    /// Drops by a full queue.
    pub drops_overflow: u64,
    /// Drops by a queue discipline or a policer.
    pub drops_early: u64,
    /// Losses of the medium.
    pub drops_loss: u64,
    /// Packets that a queue discipline or a policer marked instead of dropping them.
    pub marks: u64,
}

impl Counters {
    /// All drops.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.drops_overflow + self.drops_early + self.drops_loss
    }

    /// Whether every packet is accounted for when `held` are inside.
    #[must_use]
    pub const fn conserve(&self, held: u64) -> bool {
        self.packets_in == self.packets_out + self.dropped() + held
    }
}

/// How a server serves a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// When its service starts; from then on the packet does not count as queued.
    pub start: Instant,
    /// When its last bit has been served; [`Instant::MAX`] is never.
    pub end: Instant,
    /// Whether enough capacity has gone unused since the previous packet to serve this one. A new
    /// busy period then starts.
    pub after_gap: bool,
}

/// What was sent over a medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AirCounters {
    /// Frames of all stations.
    pub frames: u64,
    /// Of these, those that collided.
    pub collisions: u64,
}

/// Anything that a link can carry. A link does not read it.
pub trait Payload: Debug + Send + Sync + 'static {}

impl<T: Debug + Send + Sync + 'static> Payload for T {}

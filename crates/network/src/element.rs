//! The contract of everything that a packet passes through.
//!
//! The same object works under a simulated and under a real clock: time is always an argument,
//! and departures are stamped with the time they were *due*, never with the time somebody looked.

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
    /// ECN field; the only thing in a packet that an element may change.
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

/// Packets and bytes through an element since the run began.
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
}

/// Something that takes packets and gives them back later.
pub trait Element<T> {
    /// Offers a packet. Calls come in order of time, also across `push` and `pop`.
    fn push(&mut self, now: Instant, packet: Packet<T>) -> Admission;

    /// The next packet that is due at or before `now`, with the instant it was due.
    fn pop(&mut self, now: Instant) -> Option<(Instant, Packet<T>)>;

    /// When to call `pop` next; `None` while nothing will happen by itself. It may be early
    /// (`pop` then returns `None` and the answer has moved on), never late.
    fn next_event(&self) -> Option<Instant>;

    /// What went through.
    fn counters(&self) -> Counters;

    /// Packets inside.
    fn held(&self) -> u64;
}

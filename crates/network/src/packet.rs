//! A packet as the network sees it, and the outcome of offering it to a link.

use core::fmt::Debug;

use units::{Bytes, Instant};

/// ECN field of the IP header (RFC 3168).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
// As wide as a word, because it is the last field of the largest packets: a field of one byte
// leaves seven bytes of padding, the compiler copies them in overlapping pieces, and the processor
// waits at each copy.
#[repr(u64)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// Capable of ECN: ECT(0).
    Ect,
    /// Capable of L4S: ECT(1) (RFC 9331).
    Ect1,
    /// Congestion experienced.
    Ce,
}

/// A packet as the network sees it: a size, a flow, and an opaque payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<T> {
    /// Bytes of IP. A link adds its own overhead.
    pub size: u32,
    /// The flow it belongs to.
    pub flow: u32,
    /// ECN field; the only part of a packet that a link may change.
    pub ecn: Ecn,
    /// Opaque to the link.
    pub payload: T,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The queue was full.
    Overflow,
    /// A queue discipline or a policer dropped it early.
    Early,
    /// The medium lost it.
    Loss,
}

/// A packet that the link accepted and then dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped<T> {
    /// When.
    pub at: Instant,
    /// Why.
    pub reason: DropReason,
    /// Which.
    pub packet: Packet<T>,
}

/// A packet that the radio of a station is done with: the receiving radio has acknowledged it, or
/// the station has given it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When.
    pub at: Instant,
    /// The flow it belongs to.
    pub flow: u32,
    /// Bytes of IP.
    pub bytes: u32,
}

/// The outcome of offering a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The link has it.
    Accepted,
    /// The link dropped it. (A discipline that drops a packet other than the one offered counts
    /// that drop in its [`Counters`].)
    Dropped(DropReason),
}

/// Packets and bytes through a link since the start of the run.
///
/// Conservation: `packets_in = packets_out + dropped() + held`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets offered.
    pub packets_in: u64,
    /// Packets delivered.
    pub packets_out: u64,
    /// IP bytes delivered.
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

/// The service of a packet.
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

/// Frames sent over a medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AirCounters {
    /// Frames of all stations.
    pub frames: u64,
    /// Of these, those that collided.
    pub collisions: u64,
}

/// Anything that a link can carry. A link does not read it.
pub trait Payload: Clone + Debug + Send + Sync + 'static {
    /// The payload of the `k`-th packet behind this one in a train: packets that are alike but for
    /// what this changes, a sequence number for example. `a.following(1).following(1)` is
    /// `a.following(2)`. By default it changes nothing.
    #[must_use]
    fn following(&self, _k: u32) -> Self {
        self.clone()
    }
}

impl Payload for () {}
impl Payload for Instant {}
impl<const N: usize> Payload for [u64; N] {}

/// Numbered packets.
macro_rules! numbers {
    ($($number:ty),+) => {
        $(impl Payload for $number {
            #[inline]
            fn following(&self, k: u32) -> Self {
                self.wrapping_add(k as Self)
            }
        })+
    };
}

numbers!(u32, u64, usize);

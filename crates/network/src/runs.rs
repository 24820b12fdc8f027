//! The packets that wait before a server of constant rate, first come, first served.
//!
//! The queue keeps no packets, but runs of packets of one size that are served one after the other:
//! when the service of the first one starts, at which pace the others follow, and how many there
//! are. A packet that waits prolongs the last run.
//!
//! Packets whose service has started leave the queue when somebody asks for it, and when it seems to
//! be longer than ever before or too long for its limit. Their starts, which make the mean length,
//! do not depend on when that is.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use units::{Bytes, Instant, Pace};

use crate::QueueLimit;

/// Larger packets may not have a pace.
pub(crate) const LARGEST: u64 = 1 << 31;

/// How much may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    packets: u64,
    bytes: u64,
}

impl Limits {
    pub(crate) const fn new(limit: QueueLimit) -> Self {
        let (packets, bytes) = match limit {
            QueueLimit::Unlimited => (u64::MAX, u64::MAX),
            QueueLimit::Packets(packets) => (packets, u64::MAX),
            QueueLimit::Bytes(bytes) => (u64::MAX, bytes.get()),
        };
        Self { packets, bytes }
    }
}

/// A queue, as the runs in it.
#[derive(Debug)]
pub(crate) struct Runs {
    /// Packets that wait.
    packets: u64,
    /// Their bytes, overhead included.
    bytes: u64,
    max_packets: u64,
    /// The last run, and those before it. Without packets that wait, all are empty.
    last: Run,
    #[allow(
        clippy::box_collection,
        reason = "most links never have one, and an idle link is small"
    )]
    earlier: Option<Box<VecDeque<Run>>>,
    /// In nanoseconds, the starts of service of all packets that waited, less the arrivals of those
    /// and of all that wait; wraps around.
    waits: u128,
}

/// Packets of one size that wait, one behind the other.
#[derive(Clone, Copy, Debug)]
struct Run {
    packets: u64,
    /// Of each packet, overhead included.
    bytes: u64,
    /// When the service of the first one starts, and when it ends.
    start: Instant,
    end: Instant,
    /// The pace of those behind it.
    pace: Pace,
}

impl Run {
    const EMPTY: Self = Self {
        packets: 0,
        bytes: 0,
        start: Instant::ZERO,
        end: Instant::ZERO,
        pace: Pace::INSTANT,
    };
}

impl Default for Runs {
    fn default() -> Self {
        Self {
            packets: 0,
            bytes: 0,
            max_packets: 0,
            last: Run::EMPTY,
            earlier: None,
            waits: 0,
        }
    }
}

impl Runs {
    /// How many of `count` packets of `bytes` the queue has room for at `now`.
    #[inline(always)]
    pub(crate) fn room(&mut self, now: Instant, bytes: u64, count: u32, limits: Limits) -> u32 {
        let packets = self.packets + u64::from(count);
        let total = bytes.saturating_mul(u64::from(count));
        let total = self.bytes.saturating_add(total);
        if packets > self.max_packets || total > limits.bytes {
            return self.make_room(now, bytes, count, limits);
        }
        count
    }

    /// The same where the queue seems to be longer than ever before, or too long. The packets that
    /// it has room for will enter.
    #[inline(never)]
    fn make_room(&mut self, now: Instant, bytes: u64, count: u32, limits: Limits) -> u32 {
        self.advance(now);
        let packets = limits.packets.saturating_sub(self.packets);
        let mut room = packets.min(u64::from(count));
        let left = limits.bytes.saturating_sub(self.bytes);
        if room.saturating_mul(bytes) > left {
            room = left / bytes;
        }
        self.max_packets = self.max_packets.max(self.packets + room);
        // At most the count.
        room as u32
    }

    /// Whether a packet of `bytes` that has to wait prolongs the last run.
    #[inline(always)]
    pub(crate) const fn prolongs_last(&self, bytes: u64) -> bool {
        self.last.bytes == bytes && self.last.packets > 0 && bytes <= LARGEST
    }

    /// Begins a run. The first packet is served from `start` to `end`, and `pace` has made its step
    /// for it.
    #[inline(never)]
    pub(crate) fn begin(&mut self, bytes: u64, start: Instant, end: Instant, pace: Pace) {
        if self.last.packets > 0 {
            let earlier = self.earlier.get_or_insert_default();
            earlier.push_back(self.last);
        }
        self.last = Run {
            packets: 0,
            bytes,
            start,
            end,
            pace,
        };
    }

    /// `count` packets of `bytes` each join the last run at `now`.
    #[inline(always)]
    pub(crate) fn enter(&mut self, now: Instant, bytes: u64, count: u32) {
        let count = u64::from(count);
        self.last.packets += count;
        self.packets += count;
        self.bytes += bytes * count;
        let arrivals = u128::from(now.as_nanos()) * u128::from(count);
        self.waits = self.waits.wrapping_sub(arrivals);
    }

    /// Removes the packets whose service started by `now`.
    #[inline(always)]
    pub(crate) fn advance(&mut self, now: Instant) {
        if self.packets > 0 {
            self.remove(now);
        }
    }

    #[inline(never)]
    fn remove(&mut self, now: Instant) {
        while let Some(earlier) = &mut self.earlier
            && let Some(run) = earlier.front_mut()
        {
            let (packets, starts) = run.leave(now);
            self.packets -= packets;
            self.bytes -= packets * run.bytes;
            self.waits = self.waits.wrapping_add(starts);
            if run.packets > 0 {
                return;
            }
            earlier.pop_front();
        }
        let (packets, starts) = self.last.leave(now);
        self.packets -= packets;
        self.bytes -= packets * self.last.bytes;
        self.waits = self.waits.wrapping_add(starts);
    }

    /// Packets and bytes in the queue; it has advanced to now.
    pub(crate) const fn len(&self) -> (u64, Bytes) {
        (self.packets, Bytes::new(self.bytes))
    }

    pub(crate) const fn max_packets(&self) -> u64 {
        self.max_packets
    }

    /// Mean queue in packets from the start of the run to `now`, to which it has advanced: by
    /// Little's law the sum of the waits over the time.
    pub(crate) fn mean_packets(&self, now: Instant) -> f64 {
        let nanos = now.as_nanos();
        let to_now = u128::from(self.packets) * u128::from(nanos);
        let waits = self.waits.wrapping_add(to_now);
        match nanos {
            0 => 0.0,
            nanos => waits as f64 / nanos as f64,
        }
    }
}

impl Run {
    /// Removes the packets whose service started by `now`. Returns how many, and the sum of their
    /// starts in nanoseconds.
    #[inline(always)]
    fn leave(&mut self, now: Instant) -> (u64, u128) {
        if self.packets == 0 || self.start > now {
            return (0, 0);
        }
        let first = u128::from(self.start.as_nanos());
        let (more, starts, next) = self.pace.pass_started(self.end, now, self.packets - 1);
        self.start = next;
        self.end = next + self.pace.step();
        self.packets -= more + 1;
        (more + 1, first + starts)
    }
}

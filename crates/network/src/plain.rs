//! A drop-tail queue in front of a server of constant rate, without loss and without jitter: the
//! fast way of the most common link.
//!
//! It is exact because each packet that waits is on the delay line already, and its service starts
//! when that of the packet before it ends. So the queue keeps no packets, but runs of packets of one
//! size that are served one after the other: when the service of the first one starts, at which
//! pace the others follow, and how many there are. A packet that waits prolongs the last run.
//!
//! Packets whose service has started leave the queue when somebody asks for it, and when it seems to
//! be longer than ever before or too long for its limit. Their starts, which make the mean length,
//! do not depend on when that is. Results are those of `ArrivalStage` with `Backlog`, which also serves
//! the links with random drops, jitter or any other rate (as long as instants of more than 400 years
//! do not occur).
//!
//! A burst of packets of one size enters at once, as a train (`line`).

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use units::{Bytes, Duration, Instant, Pace, Rate, Transmission};

use crate::busy::Busy;
use crate::line::Line;
use crate::{Discipline, LinkConfig, LossConfig, Packet, Payload, QueueLimit, Service};

/// Longer delays and higher rates are left to the general stage.
const LONGEST_DELAY: Duration = Duration::from_nanos(1 << 62);
const FASTEST: Rate = Rate::from_bits_per_sec(1 << 62);

/// At this rate the shortest packet, a header of IPv4, takes a nanosecond.
const FASTEST_APART: Rate = Rate::from_bits_per_sec(160_000_000_000);

/// Larger packets may not have a pace.
const LARGEST: u64 = 1 << 31;

/// What a packet reads that finds the link idle is at the beginning.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Plain {
    pub(crate) busy: Busy,
    rate: Rate,
    /// Packets that wait.
    packets: u64,
    transmission: Transmission,
    /// The bytes of the packets that wait, overhead included.
    bytes: u64,
    overhead: u32,
    limit_packets: u64,
    limit_bytes: u64,
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

impl Plain {
    /// The stage of `config`, if it is plain.
    pub(crate) fn new(config: &LinkConfig) -> Option<Self> {
        let Service::Fixed(rate) = config.service else {
            return None;
        };
        let (limit_packets, limit_bytes) = match config.queue.limit {
            QueueLimit::Unlimited => (u64::MAX, u64::MAX),
            QueueLimit::Packets(packets) => (packets, u64::MAX),
            QueueLimit::Bytes(bytes) => (u64::MAX, bytes.get()),
        };
        let is_plain = config.queue.discipline == Discipline::DropTail
            && config.loss == LossConfig::None
            && config.jitter.is_none()
            && config.reordering.is_none()
            && config.delay <= LONGEST_DELAY
            && (Rate::ZERO < rate && rate <= FASTEST);
        is_plain.then(|| Self {
            rate,
            transmission: Transmission::default(),
            busy: Busy::default(),
            overhead: config.overhead,
            limit_packets,
            limit_bytes,
            packets: 0,
            bytes: 0,
            last: Run::EMPTY,
            earlier: None,
            max_packets: 0,
            waits: 0,
        })
    }

    /// Whether even the shortest packet takes a nanosecond.
    pub(crate) fn keeps_packets_apart(&self) -> bool {
        self.rate <= FASTEST_APART
    }

    /// Takes a packet; false if the queue has no room for it.
    #[inline(always)]
    pub(crate) fn push<T>(&mut self, now: Instant, packet: Packet<T>, line: &mut Line<T>) -> bool {
        let bytes = u64::from(packet.size) + u64::from(self.overhead);
        let Some(end) = self.admit(now, bytes) else {
            return false;
        };
        line.send_plain(end, packet);
        true
    }

    /// Takes a packet of `bytes`, overhead included. Returns when it leaves the server, or `None` if
    /// the queue has no room for it.
    #[inline(always)]
    pub(crate) fn admit(&mut self, now: Instant, bytes: u64) -> Option<Instant> {
        let until = self.busy.time().until;
        if until > now {
            if self.room(now, bytes, 1) == 0 {
                return None;
            }
            let end = until + self.transmission.time_for(Bytes::new(bytes), self.rate);
            self.busy.prolong(end);
            if !self.prolongs_last(bytes) {
                self.begin(bytes, until, end, *self.transmission.last());
            }
            self.enter(now, bytes, 1);
            return Some(end);
        }
        self.advance(now);
        let after_gap = now > until;
        if after_gap {
            self.transmission.reset();
        }
        let end = now + self.transmission.time_for(Bytes::new(bytes), self.rate);
        self.busy.extend(now, end, after_gap);
        Some(end)
    }

    /// Takes two packets like `packet`, if both have to wait and the queue has room for both: two calls
    /// of [`Self::push`] in one. Otherwise it returns false, and changes nothing that the first call
    /// would not.
    #[inline(always)]
    pub(crate) fn push_pair<T: Payload>(
        &mut self,
        now: Instant,
        packet: &Packet<T>,
        line: &mut Line<T>,
    ) -> bool {
        let bytes = u64::from(packet.size) + u64::from(self.overhead);
        let until = self.busy.time().until;
        if until <= now || bytes > LARGEST || self.room(now, bytes, 2) < 2 {
            return false;
        }
        let end = until + self.transmission.time_for(Bytes::new(bytes), self.rate);
        line.send_plain(end, packet.clone());
        if !self.prolongs_last(bytes) {
            self.begin(bytes, until, end, *self.transmission.last());
        }
        let end = end + self.transmission.time_for(Bytes::new(bytes), self.rate);
        self.busy.prolong(end);
        let payload = packet.payload.following(1);
        line.send_plain(end, Packet { payload, ..*packet });
        self.enter(now, bytes, 2);
        true
    }

    /// Takes as many of `count` packets like `packet` as the queue has room for; `None`, and nothing
    /// is done, where they have to come one by one.
    #[inline(always)]
    pub(crate) fn push_train<T: Payload>(
        &mut self,
        now: Instant,
        packet: &Packet<T>,
        count: u32,
        line: &mut Line<T>,
    ) -> Option<u32> {
        let bytes = u64::from(packet.size) + u64::from(self.overhead);
        let until = self.busy.time().until;
        let is_idle = until <= now;
        let after_gap = until < now;
        if is_idle {
            self.advance(now);
        }
        if after_gap {
            self.transmission.reset();
        }
        let in_service = u32::from(is_idle);
        let transmission = self.transmission.pace(Bytes::new(bytes), self.rate)?;
        let mut pace = *transmission;
        let start = until.max(now);
        let end = start + pace.step();
        if end == now {
            // Each takes less than a nanosecond, so none may have to wait.
            return None;
        }
        let waiting = self.room(now, bytes, count - in_service);
        let taken = in_service + waiting;
        let Some(followers) = taken.checked_sub(1) else {
            return Some(0);
        };
        let mut after = pace;
        let until = end + after.skip(followers);
        self.transmission.carry(&after);
        if is_idle {
            self.busy.extend(now, until, after_gap);
        } else {
            self.busy.prolong(until);
        }
        line.send_train(end, packet.clone(), followers, pace);
        if waiting > 0 {
            if is_idle {
                let next = end + pace.step();
                self.begin(bytes, end, next, pace);
            } else if !self.prolongs_last(bytes) {
                self.begin(bytes, start, end, pace);
            }
            self.enter(now, bytes, waiting);
        }
        Some(taken)
    }

    /// How many of `count` packets of `bytes` the queue has room for at `now`.
    #[inline(always)]
    fn room(&mut self, now: Instant, bytes: u64, count: u32) -> u32 {
        let packets = self.packets + u64::from(count);
        let total = bytes.saturating_mul(u64::from(count));
        let total = self.bytes.saturating_add(total);
        if packets > self.max_packets || total > self.limit_bytes {
            return self.make_room(now, bytes, count);
        }
        count
    }

    /// The same where the queue seems to be longer than ever before, or too long. The packets that
    /// it has room for will enter.
    #[inline(never)]
    fn make_room(&mut self, now: Instant, bytes: u64, count: u32) -> u32 {
        self.advance(now);
        let packets = self.limit_packets.saturating_sub(self.packets);
        let mut room = packets.min(u64::from(count));
        let left = self.limit_bytes.saturating_sub(self.bytes);
        if room.saturating_mul(bytes) > left {
            room = left / bytes;
        }
        self.max_packets = self.max_packets.max(self.packets + room);
        // At most the count.
        room as u32
    }

    /// Whether a packet of `bytes` that has to wait prolongs the last run.
    #[inline(always)]
    const fn prolongs_last(&self, bytes: u64) -> bool {
        self.last.bytes == bytes && self.last.packets > 0 && bytes <= LARGEST
    }

    /// Begins a run. The first packet is served from `start` to `end`, and `pace` has made its step
    /// for it.
    #[inline(never)]
    fn begin(&mut self, bytes: u64, start: Instant, end: Instant, pace: Pace) {
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
    fn enter(&mut self, now: Instant, bytes: u64, count: u32) {
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

    /// Used and available service until `now`, both in nanoseconds.
    pub(crate) fn used(&self, now: Instant) -> (u64, u64) {
        (self.busy.time().total(now).as_nanos(), now.as_nanos())
    }

    pub(crate) fn capacity(&self, now: Instant) -> Bytes {
        self.rate.bytes_in(now - Instant::ZERO)
    }
}

impl Run {
    /// Removes the packets whose service started by `now`. Returns how many, and the sum of their
    /// starts in nanoseconds.
    #[inline(always)]
    fn leave(&mut self, now: Instant) -> (u64, u128) {
        let (mut left, mut starts) = (0, 0);
        while self.start <= now && left < self.packets {
            left += 1;
            starts += u128::from(self.start.as_nanos());
            self.start = self.end;
            self.end += self.pace.step();
        }
        self.packets -= left;
        (left, starts)
    }
}

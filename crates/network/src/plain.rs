//! A drop-tail queue in front of a server of constant rate, without loss and without jitter: the
//! fast way of the most common link.
//!
//! It is exact because each packet that waits is on the delay line already, and its service starts
//! when that of the packet before it ends, which is when that packet is due less the delay. So the
//! queue keeps no packets: it counts those that wait, and remembers the first of them. All that wait
//! came last. Results are those of `Prompt` with `Backlog`, which also serves the links with random
//! drops, jitter or any other rate (as long as instants of more than 400 years do not occur).
//!
//! A burst of packets of one size enters at once, as a train (`line`).

use units::{Bytes, Duration, Instant, Pace, Rate, Transmission};

use crate::busy::Busy;
use crate::line::{Line, Place};
use crate::{Discipline, LinkConfig, LossConfig, Packet, Payload, QueueLimit, Service};

/// Longer delays and higher rates are left to the general stage.
const LONGEST_DELAY: Duration = Duration::from_nanos(1 << 62);
const FASTEST: Rate = Rate::from_bits_per_sec(1 << 62);

#[derive(Debug)]
pub(crate) struct Plain {
    rate: Rate,
    transmission: Transmission,
    pub(crate) busy: Busy,
    overhead: u32,
    limit_packets: u64,
    limit_bytes: u64,
    /// Packets that wait, and their bytes, overhead included.
    packets: u64,
    bytes: u64,
    first: First,
    max_packets: u64,
    /// In nanoseconds, the starts of service of all packets that waited, less the arrivals of those
    /// and of all that wait; wraps around.
    waits: u128,
}

/// The first packet that waits.
#[derive(Debug)]
struct First {
    /// Its service starts; [`Instant::MAX`] if no packet waits.
    start: Instant,
    /// Its service ends, and that of the next one starts.
    end: Instant,
    bytes: u64,
    /// Packets behind it in its entry, and their pace.
    followers: u32,
    pace: Pace,
    /// What is behind its entry on the line.
    behind: Place,
}

impl First {
    const NONE: Self = Self {
        start: Instant::MAX,
        end: Instant::MAX,
        bytes: 0,
        followers: 0,
        pace: Pace::INSTANT,
        behind: Place::NONE,
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
            first: First::NONE,
            max_packets: 0,
            waits: 0,
        })
    }

    /// Takes a packet; false if the queue has no room for it.
    #[inline]
    pub(crate) fn push<T>(&mut self, now: Instant, packet: Packet<T>, line: &mut Line<T>) -> bool {
        let bytes = u64::from(packet.size) + u64::from(self.overhead);
        let until = self.busy.time().until;
        if until > now {
            self.advance(now, line);
            if self.packets >= self.limit_packets
                || self.bytes.saturating_add(bytes) > self.limit_bytes
            {
                return false;
            }
            let end = until + self.transmission.time_for(Bytes::new(bytes), self.rate);
            self.busy.prolong(end);
            line.send_plain(end, packet);
            if self.packets == 0 {
                self.first.start = until;
                self.first.end = end;
                self.first.bytes = bytes;
                self.first.followers = 0;
                self.first.behind = line.end();
            }
            self.enter(now, bytes, 1);
        } else {
            let after_gap = now > until;
            if after_gap {
                self.transmission.reset();
            }
            let end = now + self.transmission.time_for(Bytes::new(bytes), self.rate);
            self.busy.extend(now, end, after_gap);
            line.send_plain(end, packet);
        }
        true
    }

    /// Takes as many of `count` packets like `packet` as the queue has room for; `None`, and nothing
    /// is done, where they have to come one by one.
    #[inline]
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
        self.advance(now, line);
        if after_gap {
            self.transmission.reset();
        }
        let in_service = u32::from(is_idle);
        let waiting = self.room(bytes, count - in_service);
        let transmission = self.transmission.pace(Bytes::new(bytes), self.rate)?;
        let mut pace = *transmission;
        let start = until.max(now);
        let end = start + pace.step();
        if end == now {
            // Each takes less than a nanosecond, so none may have to wait.
            return None;
        }
        let taken = in_service + waiting;
        let Some(followers) = taken.checked_sub(1) else {
            return Some(0);
        };
        let mut after = pace;
        let until = end + after.skip(followers);
        *transmission = after;
        if is_idle {
            self.busy.extend(now, until, after_gap);
        } else {
            self.busy.prolong(until);
        }
        line.send_train(end, packet.clone(), followers, pace);
        if waiting > 0 && self.packets == 0 {
            self.first = First {
                start,
                end,
                bytes,
                followers,
                pace,
                behind: line.end(),
            };
            if is_idle {
                self.first.step();
            }
        }
        if waiting > 0 {
            self.enter(now, bytes, waiting);
        }
        Some(taken)
    }

    /// How many of `count` packets of `bytes` the queue has room for; it has advanced to now.
    #[inline]
    fn room(&self, bytes: u64, count: u32) -> u32 {
        let packets = self.limit_packets.saturating_sub(self.packets);
        let mut room = packets.min(u64::from(count));
        let left = self.limit_bytes.saturating_sub(self.bytes);
        if room.saturating_mul(bytes) > left {
            room = left / bytes;
        }
        // At most the count.
        room as u32
    }

    /// `count` packets of `bytes` each begin to wait at `now`.
    #[inline(always)]
    fn enter(&mut self, now: Instant, bytes: u64, count: u32) {
        let count = u64::from(count);
        self.packets += count;
        self.bytes += bytes * count;
        self.max_packets = self.max_packets.max(self.packets);
        let arrivals = u128::from(now.as_nanos()) * u128::from(count);
        self.waits = self.waits.wrapping_sub(arrivals);
    }

    /// Removes the packets whose service started by `now`.
    #[inline]
    pub(crate) fn advance<T>(&mut self, now: Instant, line: &Line<T>) {
        if self.first.start <= now {
            self.remove(now, line);
        }
    }

    #[inline(never)]
    fn remove<T>(&mut self, now: Instant, line: &Line<T>) {
        while self.first.start <= now && self.packets > 0 {
            let start = u128::from(self.first.start.as_nanos());
            self.waits = self.waits.wrapping_add(start);
            self.bytes -= self.first.bytes;
            self.packets -= 1;
            if self.first.followers > 0 {
                self.first.step();
            } else if self.packets > 0 {
                self.read(line);
            } else {
                self.first.start = Instant::MAX;
                self.first.behind = Place::NONE;
            }
        }
    }

    /// The packet at the front of the next entry is the first that waits.
    #[inline(always)]
    fn read<T>(&mut self, line: &Line<T>) {
        let Some((left, size)) = line.read(&mut self.first.behind) else {
            return;
        };
        self.first.start = self.first.end;
        self.first.end = left;
        self.first.bytes = u64::from(size) + u64::from(self.overhead);
        if let Some((followers, pace)) = line.read_train(&mut self.first.behind) {
            self.first.followers = followers;
            self.first.pace = pace;
        }
    }

    /// The front of the line, due at `due`, is about to be popped: the first packet that waits must
    /// not be sought there any more.
    #[inline]
    pub(crate) fn before_pop<T>(&mut self, due: Instant, line: &Line<T>) {
        if line.is_behind_front(self.first.behind) {
            self.advance(due, line);
        }
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

impl First {
    /// Moves to the next packet of its entry.
    #[inline(always)]
    fn step(&mut self) {
        self.followers -= 1;
        self.start = self.end;
        self.end += self.pace.step();
    }
}

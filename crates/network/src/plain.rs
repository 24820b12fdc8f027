//! A drop-tail queue in front of a server of constant rate, without loss and without jitter: the
//! fast way of the most common link.
//!
//! It is exact because each packet that waits is on the delay line already, and its service starts
//! when that of the packet before it ends. So the queue keeps no packets, but runs of them ([`Runs`]).
//! Results are those of `ArrivalStage` with `Backlog`, which also serves the links with random drops,
//! jitter or any other rate (as long as instants of more than 400 years do not occur).
//!
//! A burst of packets of one size enters at once, as a train (`line`).

use units::{Bytes, Duration, Instant, Rate, Transmission};

use crate::busy::Busy;
use crate::line::Line;
use crate::runs::{LARGEST, Limits, Runs};
use crate::{Discipline, LinkConfig, LossConfig, Packet, Payload, Service};

/// Longer delays and higher rates are left to the general stage.
const LONGEST_DELAY: Duration = Duration::from_nanos(1 << 62);
const FASTEST: Rate = Rate::from_bits_per_sec(1 << 62);

/// At this rate the shortest packet, a header of IPv4, takes a nanosecond.
const FASTEST_APART: Rate = Rate::from_bits_per_sec(160_000_000_000);

#[derive(Debug)]
pub(crate) struct Plain {
    pub(crate) busy: Busy,
    rate: Rate,
    transmission: Transmission,
    pub(crate) queue: Runs,
    overhead: u32,
    limits: Limits,
}

impl Plain {
    /// The stage of `config`, if it is plain.
    pub(crate) fn new(config: &LinkConfig) -> Option<Self> {
        let Service::Fixed(rate) = config.service else {
            return None;
        };
        let is_plain = config.queue.discipline == Discipline::DropTail
            && config.loss == LossConfig::None
            && config.jitter.is_none()
            && config.reordering.is_none()
            && config.delay <= LONGEST_DELAY
            && (Rate::ZERO < rate && rate <= FASTEST);
        is_plain.then(|| Self {
            busy: Busy::default(),
            rate,
            transmission: Transmission::default(),
            queue: Runs::default(),
            overhead: config.overhead,
            limits: Limits::new(config.queue.limit),
        })
    }

    /// The rate of its server.
    pub(crate) const fn rate(&self) -> Rate {
        self.rate
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
            if self.queue.room(now, bytes, 1, self.limits) == 0 {
                return None;
            }
            let end = until + self.transmission.time_for(Bytes::new(bytes), self.rate);
            self.busy.prolong(end);
            if !self.queue.prolongs_last(bytes) {
                let pace = *self.transmission.last();
                self.queue.begin(bytes, until, end, pace);
            }
            self.queue.enter(now, bytes, 1);
            return Some(end);
        }
        self.queue.advance(now);
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
        if until <= now || bytes > LARGEST || self.queue.room(now, bytes, 2, self.limits) < 2 {
            return false;
        }
        let end = until + self.transmission.time_for(Bytes::new(bytes), self.rate);
        line.send_plain(end, packet.clone());
        if !self.queue.prolongs_last(bytes) {
            self.queue
                .begin(bytes, until, end, *self.transmission.last());
        }
        let end = end + self.transmission.time_for(Bytes::new(bytes), self.rate);
        self.busy.prolong(end);
        let payload = packet.payload.following(1);
        line.send_plain(end, Packet { payload, ..*packet });
        self.queue.enter(now, bytes, 2);
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
            self.queue.advance(now);
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
        let waiting = self.queue.room(now, bytes, count - in_service, self.limits);
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
                self.queue.begin(bytes, end, next, pace);
            } else if !self.queue.prolongs_last(bytes) {
                self.queue.begin(bytes, start, end, pace);
            }
            self.queue.enter(now, bytes, waiting);
        }
        Some(taken)
    }

    /// Used and available service until `now`, both in nanoseconds.
    pub(crate) fn used(&self, now: Instant) -> (u64, u64) {
        (self.busy.time().total(now).as_nanos(), now.as_nanos())
    }

    pub(crate) fn capacity(&self, now: Instant) -> Bytes {
        self.rate.bytes_in(now - Instant::ZERO)
    }
}

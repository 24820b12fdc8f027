//! The queue in front of the server: its packets, its drops, and its length over time.
//!
//! The start of a packet's service is known when the packet enters, so leaving costs no event:
//! packets whose service started by `now` are removed at the next call. The packet in service does
//! not count. The early discipline is the gateway of Kachooei 2024, chapter 5.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use rand_chacha::ChaCha8Rng;
use units::{Bytes, Instant};

use crate::random::{Chance, Purpose, stream};
use crate::{Discipline, DropReason, QueueConfig, QueueLimit, RandomAboveConfig};

#[derive(Clone, Debug)]
pub(crate) struct Backlog {
    waiting: VecDeque<Waiting>,
    /// Bytes in the queue, overhead included.
    bytes: u64,
    limit_packets: u64,
    limit_bytes: u64,
    early: Option<Box<Early>>,
    max_packets: u64,
    /// Total queueing time in nanoseconds of all packets so far, including the future part.
    waits: u128,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    start: Instant,
    bytes: u64,
}

#[derive(Clone, Debug)]
struct Early {
    above_packets: u64,
    above_bytes: u64,
    chance: Chance,
    rng: ChaCha8Rng,
}

impl Backlog {
    pub(crate) fn new(config: &QueueConfig, rng: &ChaCha8Rng) -> Self {
        let (limit_packets, limit_bytes) = match config.limit {
            QueueLimit::Unlimited => (u64::MAX, u64::MAX),
            QueueLimit::Packets(packets) => (packets, u64::MAX),
            QueueLimit::Bytes(bytes) => (u64::MAX, bytes.get()),
        };
        let early = match config.discipline {
            Discipline::DropTail
            | Discipline::CoDel(_)
            | Discipline::FqCoDel(_)
            | Discipline::Pie(_)
            | Discipline::Red(_)
            | Discipline::DualPi2(_) => None,
            Discipline::RandomAbove(RandomAboveConfig { fill, probability }) => {
                let share = |limit: u64| match limit {
                    u64::MAX => u64::MAX,
                    limit => (limit as f64 * fill) as u64,
                };
                Some(Box::new(Early {
                    above_packets: share(limit_packets),
                    above_bytes: share(limit_bytes),
                    chance: Chance::new(probability),
                    rng: stream(rng, Purpose::Queue),
                }))
            }
        };
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
            limit_packets,
            limit_bytes,
            early,
            max_packets: 0,
            waits: 0,
        }
    }

    /// Removes packets whose service started by `now`.
    #[inline]
    pub(crate) fn advance(&mut self, now: Instant) {
        while let Some(front) = self.waiting.front()
            && front.start <= now
        {
            self.bytes -= front.bytes;
            self.waiting.pop_front();
        }
    }

    /// Whether a packet that has to wait is accepted. The caller has advanced the queue to now.
    #[inline]
    pub(crate) fn admit(&mut self, bytes: u64) -> Result<(), DropReason> {
        let packets = self.waiting.len() as u64;
        if packets >= self.limit_packets || self.bytes.saturating_add(bytes) > self.limit_bytes {
            return Err(DropReason::Overflow);
        }
        if let Some(early) = &mut self.early
            && (packets > early.above_packets || self.bytes > early.above_bytes)
            && early.chance.draw(&mut early.rng)
        {
            return Err(DropReason::Early);
        }
        Ok(())
    }

    /// A packet enters at `now` and waits until `start`, which is no earlier than the start of any
    /// packet before it. The caller has advanced the queue to `now`.
    #[inline]
    pub(crate) fn enter(&mut self, now: Instant, start: Instant, bytes: u64) {
        self.waits += u128::from(start.saturating_since(now).as_nanos());
        self.waiting.push_back(Waiting { start, bytes });
        self.bytes += bytes;
        self.max_packets = self.max_packets.max(self.waiting.len() as u64);
    }

    /// Packets and bytes in the queue; the caller has advanced it to now.
    pub(crate) fn len(&self) -> (u64, Bytes) {
        (self.waiting.len() as u64, Bytes::new(self.bytes))
    }

    pub(crate) fn max_packets(&self) -> u64 {
        self.max_packets
    }

    /// Mean queue in packets from the start of the run to `now`: by Little's law the sum of the
    /// waits over the time. Takes time in proportion to the queue.
    pub(crate) fn mean_packets(&mut self, now: Instant) -> f64 {
        self.advance(now);
        let to_come: u128 = self
            .waiting
            .iter()
            .map(|waiting| u128::from(waiting.start.saturating_since(now).as_nanos()))
            .sum();
        match now.as_nanos() {
            0 => 0.0,
            nanos => self.waits.saturating_sub(to_come) as f64 / nanos as f64,
        }
    }
}

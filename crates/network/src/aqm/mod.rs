//! Queues whose discipline acts at dequeue, or by time: CoDel, FQ-CoDel, PIE, RED, DualPI2; and any
//! queue in front of a server that serves late.
//!
//! The packets that will leave such a queue are not known on arrival, so the queue holds them, and
//! the link takes the next one when its server is free. Nothing else happens in between, so the
//! link does this at its next call: each step in order, timestamped with the time it was due.
//!
//! ## Deviations
//!
//! - A packet leaves its queue when the server is free. If the server then waits for an opportunity
//!   (a trace, a token bucket, an outage), a discipline does not see this wait; neither does a
//!   Linux qdisc above a driver's queue.

mod ack_filter;
mod codel;
mod config;
mod dual_pi2;
mod fq_codel;
mod pie;
mod red;

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use rand_chacha::ChaCha8Rng;
use units::{Bytes, Duration, Instant};

pub use config::{
    CoDelConfig, Discipline, DualPi2Config, FqCoDelConfig, PieConfig, RandomAboveConfig, RedConfig,
};

use crate::random::{Purpose, stream};
use crate::{Counters, DropReason, Dropped, Ecn, LinkConfig, Packet, QueueLimit, Service};
use ack_filter::{AckFilter, PlainAck};
use codel::CoDel;
use dual_pi2::DualPi2;
use fq_codel::FqCoDel;
use pie::Pie;
use red::{Red, Verdict};

/// A queued packet.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<T> {
    /// Its arrival.
    pub(crate) at: Instant,
    /// Overhead included.
    pub(crate) bytes: u64,
    pub(crate) packet: Packet<T>,
}

/// First come, first served.
#[derive(Clone, Debug)]
pub(crate) struct Fifo<T> {
    packets: VecDeque<Waiting<T>>,
    bytes: u64,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self {
            packets: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl<T> Fifo<T> {
    pub(crate) fn push(&mut self, waiting: Waiting<T>) {
        self.bytes += waiting.bytes;
        self.packets.push_back(waiting);
    }

    pub(crate) fn pop(&mut self) -> Option<Waiting<T>> {
        let waiting = self.packets.pop_front()?;
        self.bytes -= waiting.bytes;
        Some(waiting)
    }

    pub(crate) fn len(&self) -> u64 {
        self.packets.len() as u64
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When the packet arrived that is next.
    fn oldest(&self) -> Option<Instant> {
        self.packets.front().map(|waiting| waiting.at)
    }

    /// Bytes of the packet that is next.
    fn next_bytes(&self) -> Option<u64> {
        self.packets.front().map(|waiting| waiting.bytes)
    }
}

/// Accepted packets that were dropped or marked.
#[derive(Clone, Debug)]
pub(crate) struct Fate<T> {
    /// Dropped packets that the caller has not taken yet.
    pub(crate) dropped: VecDeque<Dropped<T>>,
    /// Bytes of all of them, overhead included.
    pub(crate) bytes: u64,
    pub(crate) early: u64,
    pub(crate) overflow: u64,
    pub(crate) marks: u64,
}

impl<T> Fate<T> {
    /// Adds drops and marks.
    pub(crate) const fn count(&self, counters: &mut Counters) {
        counters.drops_early += self.early;
        counters.drops_overflow += self.overflow;
        counters.marks += self.marks;
    }

    fn drop_early(&mut self, now: Instant, waiting: Option<Waiting<T>>) {
        if let Some(waiting) = waiting {
            self.early += 1;
            self.note(now, DropReason::Early, waiting);
        }
    }

    fn drop_overflow(&mut self, now: Instant, waiting: Waiting<T>) {
        self.overflow += 1;
        self.note(now, DropReason::Overflow, waiting);
    }

    fn note(&mut self, at: Instant, reason: DropReason, waiting: Waiting<T>) {
        self.bytes += waiting.bytes;
        let packet = waiting.packet;
        self.dropped.push_back(Dropped { at, reason, packet });
    }
}

/// Marks a packet, if marking is on and the packet is ECN-capable.
fn mark<T>(ecn: bool, waiting: &mut Option<Waiting<T>>, fate: &mut Fate<T>) -> bool {
    waiting
        .as_mut()
        .is_some_and(|waiting| ecn && mark_packet(&mut waiting.packet, fate))
}

fn mark_packet<T>(packet: &mut Packet<T>, fate: &mut Fate<T>) -> bool {
    if packet.ecn == Ecn::NotEct {
        return false;
    }
    packet.ecn = Ecn::Ce;
    fate.marks += 1;
    true
}

/// The queue limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

#[derive(Clone, Debug)]
enum Scheme<T> {
    DropTail(Fifo<T>),
    /// Drop-tail that also removes redundant ACKs.
    AckFilter(AckFilter<T>, Fifo<T>),
    CoDel(CoDelConfig, CoDel, Fifo<T>),
    FqCoDel(FqCoDel<T>),
    Pie(Box<Pie>, Fifo<T>),
    Red(Box<Red>, bool, Fifo<T>),
    DualPi2(Box<DualPi2<T>>),
}

/// The queue in front of a server.
#[derive(Clone, Debug)]
pub(crate) struct Managed<T> {
    scheme: Scheme<T>,
    limit: Limit,
    pub(crate) fate: Fate<T>,
    max_packets: u64,
    /// Packets times nanoseconds until `changed`.
    waits: u128,
    changed: Instant,
}

/// Where the queue put an accepted packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admitted {
    /// At the tail.
    Behind,
    /// In place of an ACK that it makes redundant.
    InPlace,
}

impl<T> Managed<T> {
    /// `None` if the discipline has a closed form, or there is no queue.
    pub(crate) fn new(config: &LinkConfig, rng: &ChaCha8Rng) -> Option<Self> {
        if config.service == Service::Unlimited {
            return None;
        }
        // Only a discipline that draws pays for a stream.
        let rng = || stream(rng, Purpose::Queue);
        let fifo = Fifo::default();
        let scheme = match config.queue.discipline {
            Discipline::DropTail if config.service.filters_acks() => {
                Scheme::AckFilter(AckFilter::default(), fifo)
            }
            Discipline::DropTail if config.service.serves_late() => Scheme::DropTail(fifo),
            Discipline::DropTail | Discipline::RandomAbove(_) => return None,
            Discipline::CoDel(config) => Scheme::CoDel(config, CoDel::default(), fifo),
            Discipline::FqCoDel(config) => Scheme::FqCoDel(FqCoDel::new(config, rng())),
            Discipline::Pie(config) => Scheme::Pie(Box::new(Pie::new(config, rng())), fifo),
            Discipline::Red(red) => {
                let rate = config.service.mean_rate();
                Scheme::Red(Box::new(Red::new(&red, rate, rng())), red.ecn, fifo)
            }
            Discipline::DualPi2(config) => Scheme::DualPi2(Box::new(DualPi2::new(config))),
        };
        Some(Self::of(scheme, config.queue.limit))
    }

    /// The queue in front of a medium: first come, first served if the discipline decides on
    /// arrival.
    pub(crate) fn before_medium(config: &LinkConfig, rng: &ChaCha8Rng) -> Self {
        Self::new(config, rng)
            .unwrap_or_else(|| Self::of(Scheme::DropTail(Fifo::default()), config.queue.limit))
    }

    fn of(scheme: Scheme<T>, limit: QueueLimit) -> Self {
        let (packets, bytes) = match limit {
            QueueLimit::Unlimited => (u64::MAX, u64::MAX),
            QueueLimit::Packets(packets) => (packets, u64::MAX),
            QueueLimit::Bytes(bytes) => (u64::MAX, bytes.get()),
        };
        Self {
            scheme,
            limit: Limit { packets, bytes },
            fate: Fate {
                dropped: VecDeque::new(),
                bytes: 0,
                early: 0,
                overflow: 0,
                marks: 0,
            },
            max_packets: 0,
            waits: 0,
            changed: Instant::ZERO,
        }
    }

    /// Sets how a queue that suppresses redundant ACKs reads them; other queues ignore it.
    pub(crate) fn filter_acks(&mut self, plain_ack: PlainAck<T>) {
        if let Scheme::AckFilter(filter, _) = &mut self.scheme {
            filter.plain_ack = plain_ack;
        }
    }

    /// Whether nothing is dropped before the queue is full.
    pub(crate) const fn is_plain(&self) -> bool {
        matches!(self.scheme, Scheme::DropTail(_))
    }

    /// Packets and bytes in the queue.
    pub(crate) fn len(&self) -> (u64, Bytes) {
        let (packets, bytes) = match &self.scheme {
            Scheme::FqCoDel(queues) => queues.len(),
            Scheme::DualPi2(queues) => queues.len(),
            Scheme::DropTail(fifo)
            | Scheme::AckFilter(_, fifo)
            | Scheme::CoDel(_, _, fifo)
            | Scheme::Pie(_, fifo)
            | Scheme::Red(_, _, fifo) => (fifo.len(), fifo.bytes()),
        };
        (packets, Bytes::new(bytes))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len().0 == 0
    }

    pub(crate) fn max_packets(&self) -> u64 {
        self.max_packets
    }

    /// Mean queue in packets from the start of the run to `now`.
    pub(crate) fn mean_packets(&mut self, now: Instant) -> f64 {
        self.account(now);
        match now.as_nanos() {
            0 => 0.0,
            nanos => self.waits as f64 / nanos as f64,
        }
    }

    /// Adds up the time since the queue last changed.
    fn account(&mut self, now: Instant) {
        let span = now.saturating_since(self.changed);
        self.waits += u128::from(span.as_nanos()) * u128::from(self.len().0);
        self.changed = self.changed.max(now);
    }

    /// Offers a packet. `idle` is how long the server has been idle, if it is; `in_service` is the
    /// packet in service, if any.
    pub(crate) fn enqueue(
        &mut self,
        mut waiting: Waiting<T>,
        idle: Option<Duration>,
        in_service: Option<&mut Packet<T>>,
    ) -> Result<Admitted, DropReason> {
        let now = waiting.at;
        self.account(now);
        let limit = self.limit;
        let (packets, bytes) = self.len();
        let bytes = bytes.get();
        let is_full = idle.is_none()
            && (packets >= limit.packets || bytes.saturating_add(waiting.bytes) > limit.bytes);
        match &mut self.scheme {
            Scheme::FqCoDel(queues) => {
                queues.enqueue(waiting);
                if is_full {
                    queues.enforce(now, limit, &mut self.fate);
                }
            }
            Scheme::DualPi2(queues) => {
                queues.advance(now);
                if is_full {
                    return Err(DropReason::Overflow);
                }
                queues.enqueue(waiting);
            }
            Scheme::DropTail(fifo) | Scheme::CoDel(_, _, fifo) => {
                if is_full {
                    return Err(DropReason::Overflow);
                }
                fifo.push(waiting);
            }
            Scheme::AckFilter(filter, fifo) => {
                let newest_first = fifo.packets.iter_mut().rev();
                let newest_first = newest_first.map(|waiting| &mut waiting.packet);
                let newest_first = newest_first.chain(in_service);
                match filter.replace(waiting, newest_first, &mut self.fate) {
                    None => return Ok(Admitted::InPlace),
                    Some(_) if is_full => return Err(DropReason::Overflow),
                    Some(waiting) => {
                        filter.note(&waiting.packet);
                        fifo.push(waiting);
                    }
                }
            }
            Scheme::Pie(pie, fifo) => {
                pie.advance(now);
                if is_full {
                    return Err(DropReason::Overflow);
                }
                if pie.strikes(bytes)
                    && !(pie.marks() && mark_packet(&mut waiting.packet, &mut self.fate))
                {
                    return Err(DropReason::Early);
                }
                fifo.push(waiting);
            }
            Scheme::Red(red, ecn, fifo) => {
                let verdict = red.arrives(now, packets, idle.unwrap_or_default());
                if is_full {
                    return Err(DropReason::Overflow);
                }
                let passes = match verdict {
                    Verdict::Passes => true,
                    Verdict::Struck => *ecn && mark_packet(&mut waiting.packet, &mut self.fate),
                    Verdict::Dropped => false,
                };
                if !passes {
                    return Err(DropReason::Early);
                }
                fifo.push(waiting);
            }
        }
        if idle.is_none() {
            self.count_most();
        }
        Ok(Admitted::Behind)
    }

    /// Counts all packets in the queue as queued.
    pub(crate) fn count_most(&mut self) {
        self.max_packets = self.max_packets.max(self.len().0);
    }

    /// The next packet, for a server that is free at `now`.
    pub(crate) fn dequeue(&mut self, now: Instant) -> Option<Waiting<T>> {
        self.account(now);
        let fate = &mut self.fate;
        match &mut self.scheme {
            Scheme::CoDel(config, codel, fifo) => codel.dequeue(now, config, fifo, 0, fate),
            Scheme::FqCoDel(queues) => queues.dequeue(now, fate),
            Scheme::DualPi2(queues) => queues.dequeue(now, fate),
            Scheme::Pie(pie, fifo) => {
                pie.advance(now);
                let waiting = fifo.pop()?;
                pie.departs(now.saturating_since(waiting.at), fifo.bytes());
                Some(waiting)
            }
            Scheme::DropTail(fifo) | Scheme::AckFilter(_, fifo) | Scheme::Red(_, _, fifo) => {
                fifo.pop()
            }
        }
    }
}

//! Where packets wait whose way out is not known when they come.
//!
//! Such a stage stands between the losses of a link and its delay line. It puts a packet on the line as soon
//! as its way out is known, which may be before the packet leaves.

use core::fmt::Debug;

use units::{Bytes, Duration, Instant};

use crate::access::Served;
use crate::aqm::{Admitted, Managed, Waiting};
use crate::busy::{Busy, BusyTime, Period};
use crate::line::Line;
use crate::medium::AirCounters;
use crate::server::Server;
use crate::{Counters, DropReason, Dropped, Ecn, Packet};

pub(crate) trait Late<T>: Debug + Send + Sync {
    /// Whether a packet that is offered at `now`, to which it has advanced, is dropped before it could
    /// queue; it may be marked.
    fn refuses(&mut self, _now: Instant, _bytes: u64, _ecn: &mut Ecn) -> Option<DropReason> {
        None
    }

    /// Offers a packet that counts `bytes`.
    fn push(
        &mut self,
        now: Instant,
        packet: Packet<T>,
        bytes: u64,
        line: &mut Line<T>,
    ) -> Result<(), DropReason>;

    /// Serves whoever is due by `now`, as of then.
    fn advance(&mut self, now: Instant, line: &mut Line<T>);

    /// Puts on the line what may be due before its front.
    fn receive(&mut self, _now: Instant, _line: &mut Line<T>) {}

    /// When something may happen that puts a packet before the front of the line.
    fn next_event(&self) -> Instant {
        Instant::MAX
    }

    /// Packets and bytes that wait.
    fn queue_len(&self) -> (u64, Bytes);

    fn queue_max_packets(&self) -> u64;

    fn queue_mean_packets(&mut self, now: Instant) -> f64;

    /// Packets inside that are not on the line.
    fn held(&self) -> u64;

    /// Adds drops and marks of what was accepted.
    fn count(&self, counters: &mut Counters);

    fn has_dropped(&self) -> bool;

    fn take_dropped(&mut self) -> Option<Dropped<T>>;

    fn busy(&self) -> BusyTime;

    fn keep_busy_periods(&mut self, shortest: Duration);

    fn take_busy_period(&mut self) -> Option<Period>;

    /// The bytes that could have been served before `now`, where that can be told.
    fn capacity(&self, _now: Instant) -> Option<Bytes> {
        None
    }

    /// What was served until `now`, of what could have been: in bytes, or in nanoseconds.
    fn used(&self, now: Instant) -> (u64, u64);

    /// Suppresses redundant ACKs, where its model does.
    fn filter_acks(&mut self, _plain_ack: fn(&T) -> Option<u32>) {}

    /// What went over its medium.
    fn air(&self) -> Option<AirCounters> {
        None
    }
}

/// A queue whose discipline decides when a packet leaves, or before a server that serves late. The packet
/// in service is on the line already, so that nothing happens between two packets that are due there.
#[derive(Debug)]
pub(crate) struct Queued<T> {
    queue: Managed<T>,
    server: Server,
    busy: Busy,
    /// Bytes handed to the server, overhead included.
    served: u64,
}

impl<T> Queued<T> {
    pub(crate) fn new(queue: Managed<T>, server: Server) -> Self {
        Self {
            queue,
            server,
            busy: Busy::default(),
            served: 0,
        }
    }

    /// The server, which is free at `at`, takes the next packet, if there is one.
    fn serve_next(&mut self, at: Instant, line: &mut Line<T>) -> bool {
        if self.queue.is_empty() {
            return false;
        }
        let before = self.queue.fate.bytes;
        let waiting = self.queue.dequeue(at);
        self.server.loses(at, self.queue.fate.bytes - before);
        let Some(waiting) = waiting else {
            return false;
        };
        let turn = (waiting.at, at);
        let busy_until = self.busy.time().until;
        let served = self.server.serve_in_turn(turn, busy_until, waiting.bytes);
        let Served { end, after_gap, .. } = served;
        self.busy.extend(at, end, after_gap);
        self.served += waiting.bytes;
        let released = self.server.release(end);
        let period = self.busy.time().periods;
        line.send_late((end, released), period, waiting.packet);
        true
    }
}

impl<T: Debug + Send + Sync> Late<T> for Queued<T> {
    fn refuses(&mut self, now: Instant, bytes: u64, ecn: &mut Ecn) -> Option<DropReason> {
        self.server.refuses(now, bytes, ecn)
    }

    #[inline(never)]
    fn push(
        &mut self,
        now: Instant,
        packet: Packet<T>,
        bytes: u64,
        line: &mut Line<T>,
    ) -> Result<(), DropReason> {
        let until = self.busy.time().until;
        let idle = (until <= now).then(|| now.saturating_since(until));
        let in_service = if idle.is_none() { line.last() } else { None };
        let waiting = Waiting {
            at: now,
            bytes,
            packet,
        };
        let before = self.queue.fate.bytes;
        if let Admitted::InPlace = self.queue.enqueue(waiting, idle, in_service)? {
            return Ok(());
        }
        let dropped = self.queue.fate.bytes - before;
        self.server.enters(now, bytes);
        self.server.loses(now, dropped);
        if idle.is_some() {
            self.serve_next(now, line);
        }
        Ok(())
    }

    #[inline(never)]
    fn advance(&mut self, now: Instant, line: &mut Line<T>) {
        while self.busy.time().until <= now && self.serve_next(self.busy.time().until, line) {}
    }

    fn queue_len(&self) -> (u64, Bytes) {
        self.queue.len()
    }

    fn queue_max_packets(&self) -> u64 {
        self.queue.max_packets()
    }

    fn queue_mean_packets(&mut self, now: Instant) -> f64 {
        self.queue.mean_packets(now)
    }

    fn held(&self) -> u64 {
        self.queue.len().0
    }

    fn count(&self, counters: &mut Counters) {
        self.queue.fate.count(counters);
    }

    fn has_dropped(&self) -> bool {
        !self.queue.fate.dropped.is_empty()
    }

    fn take_dropped(&mut self) -> Option<Dropped<T>> {
        self.queue.fate.dropped.pop_front()
    }

    fn busy(&self) -> BusyTime {
        *self.busy.time()
    }

    fn keep_busy_periods(&mut self, shortest: Duration) {
        self.busy.keep(shortest);
    }

    fn take_busy_period(&mut self) -> Option<Period> {
        self.busy.take()
    }

    fn capacity(&self, now: Instant) -> Option<Bytes> {
        self.server.capacity(now)
    }

    fn used(&self, now: Instant) -> (u64, u64) {
        self.server.used(now, self.busy.time(), self.served)
    }

    fn filter_acks(&mut self, plain_ack: fn(&T) -> Option<u32>) {
        self.queue.filter_acks(plain_ack);
    }
}

//! A queue that decides late: its discipline may drop a packet at dequeue.

use core::fmt::Debug;

use units::{Bytes, Duration, Instant};

use crate::aqm::{Admitted, Managed, Waiting};
use crate::busy::{Busy, BusyTime, Period};
use crate::dequeue_stage::DequeueStage;
use crate::line::Line;
use crate::server::Server;
use crate::{Counters, DropReason, Dropped, Ecn, Packet, Served};

/// A queue whose discipline acts at dequeue, or one in front of a server that serves late. The
/// packet in service is already on the line, so the stage needs no event of its own.
#[derive(Debug)]
pub(crate) struct Queued<T> {
    queue: Managed<T>,
    server: Server,
    busy: Busy,
    /// Bytes passed to the server, overhead included.
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

    /// The server, idle at `at`, takes the next packet; false if there is none.
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

impl<T: Debug + Send + Sync> DequeueStage<T> for Queued<T> {
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

    fn capacity(&mut self, now: Instant) -> Option<Bytes> {
        self.server.capacity(now)
    }

    fn used(&mut self, now: Instant) -> (u64, u64) {
        self.server.used(now, self.busy.time(), self.served)
    }

    fn filter_acks(&mut self, plain_ack: fn(&T) -> Option<u32>) {
        self.queue.filter_acks(plain_ack);
    }
}

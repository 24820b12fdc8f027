//! A FIFO queue whose drops are decided on arrival: a packet's departure is known when the queue
//! accepts it. The packet goes directly to the delay line; the queue keeps only its size and time.

use rand_chacha::ChaCha8Rng;
use units::{Bytes, Instant};

use crate::access::Served;
use crate::backlog::Backlog;
use crate::busy::Busy;
use crate::line::Line;
use crate::server::Server;
use crate::{DropReason, LinkConfig, Packet};

#[derive(Debug)]
pub(crate) struct ArrivalStage {
    pub(crate) server: Server,
    pub(crate) backlog: Backlog,
    pub(crate) busy: Busy,
    /// Bytes accepted, overhead included.
    accepted: u64,
}

impl ArrivalStage {
    pub(crate) fn new(config: &LinkConfig, rng: &ChaCha8Rng, server: Server) -> Self {
        Self {
            server,
            backlog: Backlog::new(&config.queue, rng),
            busy: Busy::default(),
            accepted: 0,
        }
    }

    /// Accepts a packet unless the queue drops it.
    #[inline(always)]
    pub(crate) fn push<T>(
        &mut self,
        now: Instant,
        packet: Packet<T>,
        bytes: u64,
        line: &mut Line<T>,
    ) -> Result<(), DropReason> {
        let until = self.busy.time().until;
        let waits = self.server.waits(now, until);
        if waits {
            self.backlog.advance(now);
            self.backlog.admit(bytes)?;
        }
        self.server.enters(now, bytes);
        let Served {
            start,
            end,
            after_gap,
        } = self.server.serve(now, until, bytes);
        if waits {
            self.backlog.enter(now, start, bytes);
        }
        self.busy.extend(now, end, after_gap);
        self.accepted += bytes;
        let released = self.server.release(end);
        line.send_prompt((end, released), self.busy.time().periods, packet);
        Ok(())
    }

    /// Used and available service until `now`: both in bytes or both in nanoseconds.
    pub(crate) fn used(&mut self, now: Instant) -> (u64, u64) {
        self.backlog.advance(now);
        let (_, waiting) = self.backlog.len();
        let served = self.accepted - waiting.get();
        self.server.used(now, self.busy.time(), served)
    }

    pub(crate) fn capacity(&mut self, now: Instant) -> Option<Bytes> {
        self.server.capacity(now)
    }
}

//! A medium that several stations share: who sends when is decided among all of them.
//!
//! The two links of a path over one [`Medium`] are two of its stations. Each link has an end of it
//! (`End`), which stands where another link has a queue and a server; behind it come the link's own
//! propagation and jitter, as everywhere. A medium may have more stations than links: those work inside it.
//! [`crate::Link::over`] makes a link of any station of any medium, also of one from another crate.
//!
//! A medium belongs to all its links. It is shared behind a counted pointer whose borrows are checked, and can
//! go to another thread with them, as the emulator's do; each call borrows it once and gives it back.

use alloc::sync::Arc;
use core::fmt::Debug;

use atomic_refcell::AtomicRefCell;
use rand_chacha::ChaCha8Rng;
use units::{Bytes, Duration, Instant};

use crate::access::Payload;
use crate::busy::{Busy, BusyTime, Period};
use crate::late::Late;
use crate::line::Line;
use crate::{Counters, DropReason, Dropped, LinkConfig, Packet};

/// A medium with the links that share it.
pub type SharedMedium<T> = Arc<AtomicRefCell<dyn Medium<T>>>;

/// What a station of a medium is made of.
#[derive(Clone, Copy, Debug)]
pub struct StationConfig<'a> {
    /// The link whose end it is: its queue is the station's.
    pub link: &'a LinkConfig,
    /// The station's own random numbers are in streams beside this one.
    pub rng: &'a ChaCha8Rng,
}

/// A packet that got through.
#[derive(Clone, Copy, Debug)]
pub struct Passage<T> {
    /// When; perhaps later than the instant at which that is known.
    pub at: Instant,
    /// The busy period of its station that it was served in.
    pub period: u64,
    /// Which.
    pub packet: Packet<T>,
}

/// What went over a medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AirCounters {
    /// Frames of all stations.
    pub frames: u64,
    /// Of these, those that collided.
    pub collisions: u64,
}

/// What several stations send over, each from a queue of its own. Calls come in order of time, whichever
/// station they are for. Nothing depends on how often they come: what happens between two calls is done in
/// order, as of the instants at which it was due.
pub trait Medium<T>: Debug + Send + Sync {
    /// Offers a packet that counts `bytes` to the queue of `station`.
    ///
    /// # Errors
    /// Why it was dropped.
    fn push(
        &mut self,
        station: usize,
        now: Instant,
        packet: Packet<T>,
        bytes: u64,
    ) -> Result<(), DropReason>;

    /// The next packet of `station` of which it is known at `now` that it gets through.
    fn pop(&mut self, station: usize, now: Instant) -> Option<Passage<T>>;

    /// When to look at `station` again: no later than something happens to its packets.
    fn next_event(&self, station: usize) -> Instant;

    /// Packets and bytes that wait in the queue of `station`.
    fn queue_len(&self, station: usize) -> (u64, Bytes);

    /// The most packets that ever waited in it.
    fn queue_max_packets(&self, station: usize) -> u64;

    /// The number of packets that waited in it, averaged from the beginning of the run to `now`.
    fn queue_mean_packets(&mut self, station: usize, now: Instant) -> f64;

    /// Packets inside, also on their way: offered, and neither popped nor dropped.
    fn held(&self, station: usize) -> u64;

    /// Adds what `station` dropped of what it had accepted, and what it marked.
    fn count(&self, station: usize, counters: &mut Counters);

    /// Whether [`Self::take_dropped`] has something to give.
    fn has_dropped(&self, station: usize) -> bool;

    /// A packet that `station` dropped after it had accepted it; each once, in order.
    fn take_dropped(&mut self, station: usize) -> Option<Dropped<T>>;

    /// When `station` had something to send.
    fn busy(&self, station: usize) -> &Busy;

    /// The same.
    fn busy_mut(&mut self, station: usize) -> &mut Busy;

    /// What all stations sent.
    fn air(&self) -> AirCounters;
}

/// A link's end of a medium.
#[derive(Debug)]
pub(crate) struct End<T> {
    medium: SharedMedium<T>,
    station: usize,
}

impl<T> End<T> {
    pub(crate) const fn new(medium: SharedMedium<T>, station: usize) -> Self {
        Self { medium, station }
    }
}

impl<T: Payload> Late<T> for End<T> {
    fn push(
        &mut self,
        now: Instant,
        packet: Packet<T>,
        bytes: u64,
        _line: &mut Line<T>,
    ) -> Result<(), DropReason> {
        let mut medium = self.medium.borrow_mut();
        medium.push(self.station, now, packet, bytes)
    }

    fn advance(&mut self, now: Instant, line: &mut Line<T>) {
        let mut medium = self.medium.borrow_mut();
        while let Some(Passage { at, period, packet }) = medium.pop(self.station, now) {
            line.send_late((at, at), period, packet);
        }
    }

    fn receive(&mut self, now: Instant, line: &mut Line<T>) {
        self.advance(now, line);
    }

    fn next_event(&self) -> Instant {
        self.medium.borrow().next_event(self.station)
    }

    fn queue_len(&self) -> (u64, Bytes) {
        self.medium.borrow().queue_len(self.station)
    }

    fn queue_max_packets(&self) -> u64 {
        self.medium.borrow().queue_max_packets(self.station)
    }

    fn queue_mean_packets(&mut self, now: Instant) -> f64 {
        let mut medium = self.medium.borrow_mut();
        medium.queue_mean_packets(self.station, now)
    }

    fn held(&self) -> u64 {
        self.medium.borrow().held(self.station)
    }

    fn count(&self, counters: &mut Counters) {
        self.medium.borrow().count(self.station, counters);
    }

    fn has_dropped(&self) -> bool {
        self.medium.borrow().has_dropped(self.station)
    }

    fn take_dropped(&mut self) -> Option<Dropped<T>> {
        self.medium.borrow_mut().take_dropped(self.station)
    }

    fn busy(&self) -> BusyTime {
        *self.medium.borrow().busy(self.station).time()
    }

    fn keep_busy_periods(&mut self, shortest: Duration) {
        let mut medium = self.medium.borrow_mut();
        medium.busy_mut(self.station).keep(shortest);
    }

    fn take_busy_period(&mut self) -> Option<Period> {
        self.medium.borrow_mut().busy_mut(self.station).take()
    }

    fn used(&self, now: Instant) -> (u64, u64) {
        (self.busy().total(now).as_nanos(), now.as_nanos())
    }

    fn air(&self) -> Option<AirCounters> {
        Some(self.medium.borrow().air())
    }
}

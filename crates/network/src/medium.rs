//! A medium that several stations share and contend for.
//!
//! The two links of a path over a [`Medium`] are two of its stations. Such a link has an `End`
//! where another link has its queue and server; its own propagation delay and jitter follow. A
//! medium can simulate further stations that belong to no link. [`crate::Link::over`] creates a
//! link for a station of any medium, including one that another crate implements.
//!
//! The links own the medium together, through a reference-counted pointer with borrow checks at run
//! time. They can move to another thread together, as the emulator's do. Each call borrows the
//! medium once.

use alloc::sync::Arc;
use core::fmt::Debug;

use atomic_refcell::AtomicRefCell;
use rand_chacha::ChaCha8Rng;
use units::{Bytes, Duration, Instant};

use crate::busy::{Busy, BusyTime, Period};
use crate::dequeue_stage::DequeueStage;
use crate::line::Line;
use crate::{AirCounters, Counters, DropReason, Dropped, LinkConfig, Packet, Payload, Sent};

/// A medium that is shared between links.
pub type SharedMedium<T> = Arc<AtomicRefCell<dyn Medium<T>>>;

/// The configuration of a station.
#[derive(Clone, Copy, Debug)]
pub struct StationConfig<'a> {
    /// The link of the station, which configures its queue.
    pub link: &'a LinkConfig,
    /// The station's random numbers come from streams derived from this one.
    pub rng: &'a ChaCha8Rng,
}

/// A packet that the medium delivers.
#[derive(Clone, Copy, Debug)]
pub struct Passage<T> {
    /// When. This may be later than the call that reports it.
    pub at: Instant,
    /// The busy period of its station in which it was sent.
    pub period: u64,
    /// The packet.
    pub packet: Packet<T>,
}

/// A medium over which several stations send, each from a queue of its own.
///
/// Calls come in order of time over all stations. Results must not depend on how often calls come: a
/// medium performs what happened between two calls in order, each event as of its own instant.
pub trait Medium<T>: Debug + Send + Sync {
    /// Offers a packet of `bytes`, link overhead included, to the queue of `station`.
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

    /// The next packet of `station` whose delivery is known at `now`.
    fn pop(&mut self, station: usize, now: Instant) -> Option<Passage<T>>;

    /// When to call [`Self::pop`] for `station` again: no later than its next delivery becomes known.
    fn next_event(&self, station: usize) -> Instant;

    /// Packets and bytes in the queue of `station`.
    fn queue_len(&self, station: usize) -> (u64, Bytes);

    /// Its largest queue so far, in packets.
    fn queue_max_packets(&self, station: usize) -> u64;

    /// Its mean queue from the beginning of the run to `now`, in packets.
    fn queue_mean_packets(&mut self, station: usize, now: Instant) -> f64;

    /// Packets of `station` that were accepted and neither popped nor dropped.
    fn held(&self, station: usize) -> u64;

    /// Adds the drops of accepted packets, and the marks, of `station`.
    fn count(&self, station: usize, counters: &mut Counters);

    /// Whether [`Self::take_dropped`] returns a packet.
    fn has_dropped(&self, station: usize) -> bool;

    /// A packet that `station` accepted and then dropped; each once, in order.
    fn take_dropped(&mut self, station: usize) -> Option<Dropped<T>>;

    /// From now on [`Self::take_sent`] returns the packets of `station`. A medium that does not
    /// support this ignores it.
    fn keep_sent(&mut self, _station: usize) {}

    /// A packet that the radio of `station` is done with, possibly only at a later time than that
    /// of the call; each once, in order of these times. Packets that a queue discipline drops do
    /// not count.
    fn take_sent(&mut self, _station: usize) -> Option<Sent> {
        None
    }

    /// The busy periods of `station`: when it had packets to send.
    fn busy(&self, station: usize) -> &Busy;

    /// The same, to be changed.
    fn busy_mut(&mut self, station: usize) -> &mut Busy;

    /// What all stations have sent.
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

impl<T: Payload> DequeueStage<T> for End<T> {
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

    fn keep_sent(&mut self) {
        self.medium.borrow_mut().keep_sent(self.station);
    }

    fn take_sent(&mut self) -> Option<Sent> {
        self.medium.borrow_mut().take_sent(self.station)
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

    fn used(&mut self, now: Instant) -> (u64, u64) {
        (self.busy().total(now).as_nanos(), now.as_nanos())
    }

    fn air(&self) -> Option<AirCounters> {
        Some(self.medium.borrow().air())
    }
}

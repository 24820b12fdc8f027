//! One direction of a link: a transmitter of constant rate behind a drop-tail queue.

use alloc::collections::VecDeque;

use units::{Bytes, Instant, Rate, Transmission};

use super::links::Port;

/// Where a link leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From this terminal to its satellite.
    Up(u32),
    /// From this satellite to terminals.
    Down(u32),
    /// From this satellite to a neighbour.
    Across(u32, Port),
}

/// What a link does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offered {
    /// Its transmission can start now.
    Starts,
    /// It waits, and the link needs a turn at this instant.
    WaitsFor(Instant),
    /// It waits behind others.
    Waits,
    /// The queue is full.
    Full,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub way: Way,
    rate: Rate,
    limit: usize,
    transmission: Transmission,
    busy_until: Instant,
    /// When the last packet arrives at the other end: packets do not overtake each other.
    last_arrival: Instant,
    /// Packets that wait, by their handles.
    waiting: VecDeque<u32>,
    most_waiting: usize,
}

impl Link {
    pub(super) fn new(way: Way, rate: Rate, limit: f64) -> Self {
        Self {
            way,
            rate: rate.max(Rate::from_bits_per_sec(1)),
            limit: limit as usize,
            transmission: Transmission::default(),
            busy_until: Instant::ZERO,
            last_arrival: Instant::ZERO,
            waiting: VecDeque::new(),
            most_waiting: 0,
        }
    }

    /// Whether it neither sends nor has packets.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.busy_until <= now && self.waiting.is_empty()
    }

    /// Offers a packet. While packets wait, a turn is due at the end of the current transmission.
    pub(super) fn offer(&mut self, now: Instant, handle: u32) -> Offered {
        if self.is_idle(now) {
            return Offered::Starts;
        }
        if self.waiting.len() >= self.limit {
            return Offered::Full;
        }
        self.waiting.push_back(handle);
        self.most_waiting = self.most_waiting.max(self.waiting.len());
        match self.waiting.len() {
            1 => Offered::WaitsFor(self.busy_until),
            _ => Offered::Waits,
        }
    }

    /// Takes the packet whose turn it is.
    pub(super) fn take(&mut self) -> Option<u32> {
        self.waiting.pop_front()
    }

    /// When the next turn is due, if packets wait.
    pub(super) fn turn(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then_some(self.busy_until)
    }

    /// Sends a packet of `bytes` from `now` on; returns when its last bit leaves.
    pub(super) fn start(&mut self, now: Instant, bytes: u32) -> Instant {
        if self.busy_until < now {
            self.transmission.reset();
        }
        self.busy_until = now
            + self
                .transmission
                .time_for(Bytes::new(bytes.into()), self.rate);
        self.busy_until
    }

    /// When a packet arrives that would arrive at `at` on its own.
    pub(super) fn arrival(&mut self, at: Instant) -> Instant {
        self.last_arrival = self.last_arrival.max(at);
        self.last_arrival
    }

    /// The link is at another place from now on.
    pub(super) fn reuse(&mut self, way: Way) {
        self.way = way;
        self.transmission.reset();
        self.last_arrival = Instant::ZERO;
    }

    /// The most packets that have waited at a time.
    pub(super) const fn most_waiting(&self) -> usize {
        self.most_waiting
    }
}

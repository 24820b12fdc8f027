//! One direction of a path: `loss -> queue -> server -> delay line`.
//!
//! Where service is first come first served and drops are decided on arrival, when a packet comes
//! out is known when it is accepted, for the delay line never reorders; the packet goes at once into
//! one ring buffer with the instant it is due. A packet costs one `push`, one `pop`, and no event
//! inside the link. Network-models, sections 0.1 and 0.4.
//!
//! A discipline that decides later (see `aqm`) keeps the packets that wait. The one in service is
//! on the delay line already, so that the link's next event is still the front of that line: whoever
//! waits is served, as of the instant he was due, when the link is next touched.
//!
//! So it is with a link that is one end of a medium (`access::wifi`): the packets wait there, and
//! come to the delay line when the medium has carried them.
//!
//! ## Deviations
//!
//! - `netem` with a rate applies the delay before the server; here the delay line follows the
//!   server, as in a real link. For a constant delay the packets come out at the same instants.
//! - A queue's limit does not count the packet in service (section 0.4), where a Linux qdisc with
//!   no driver queue below it would.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;

use rand_chacha::ChaCha8Rng;
use units::{Bytes, Duration, Instant};

use crate::access::cellular::Rrc;
use crate::access::{AirCounters, Served, wifi};
use crate::aqm::{Fate, Managed, Waiting};
use crate::busy::Busy;
use crate::jitter::{self, Jitter};
use crate::loss::{self, Loss};
use crate::room::Room;
use crate::server::Server;
use crate::{Admission, Counters, DropReason, Dropped, Ecn, Element, LinkConfig, Packet, Service};

/// Where packets wait whose turn is not known when they come.
#[derive(Debug)]
enum Late<T> {
    /// The queue, in place of the room, whose discipline does not decide on arrival.
    Queue(Box<Managed<T>>),
    /// The queue is at a medium that other links share.
    Port(Box<wifi::Port<T>>),
}

/// A link that carries packets with a payload of `T`.
#[derive(Debug)]
pub struct Link<T> {
    /// Accepted packets, with the instants they are due, in order of both.
    inside: VecDeque<(Instant, Packet<T>)>,
    last_due: Instant,
    busy: Busy,
    server: Server,
    overhead: u32,
    delay: Duration,
    loss: Loss,
    jitter: Option<Box<Jitter>>,
    room: Room,
    late: Option<Late<T>>,
    counters: Counters,
    /// Bytes accepted, or that a queue that decides late handed to the server, overhead included.
    accepted: u64,
    name: String,
}

impl<T> Link<T> {
    /// The link of `config`. Its losses, its queue, its jitter and its rate draw from four
    /// streams of their own beside the stream that `rng` stands on; two links with the same seed
    /// and stream draw the same numbers.
    /// A direction of a Wi-Fi network has the medium to itself; see [`Self::pair`].
    #[must_use]
    pub fn new(config: &LinkConfig, rng: ChaCha8Rng) -> Self {
        let late = match config.service.wifi() {
            None => Managed::new(config, &rng).map(Late::Queue),
            Some(wifi) => {
                let [port, _] = wifi::Port::pair(wifi, [(config, &rng), (config, &rng)]);
                Some(Late::Port(Box::new(port)))
            }
        };
        let mut link = Self::with(config, &rng, &rng, late);
        let [rrc] = Rrc::of([config], &rng);
        link.server.joins(rrc);
        link
    }

    /// The two links of a path. Where both are directions of a Wi-Fi network they share its medium, which
    /// the first of them describes and whose streams lie beside the first one's; so do the streams of what
    /// other models have in common. Two directions of a cellular network are one radio.
    #[must_use]
    pub fn pair(configs: [&LinkConfig; 2], rngs: [ChaCha8Rng; 2]) -> [Self; 2] {
        let [forward, reverse] = configs;
        let [rng, other] = rngs;
        match (forward.service.wifi(), reverse.service.wifi()) {
            (Some(wifi), Some(_)) => {
                let ports = wifi::Port::pair(wifi, [(forward, &rng), (reverse, &other)]);
                let [first, second] = ports.map(|port| Some(Late::Port(Box::new(port))));
                [
                    Self::with(forward, &rng, &rng, first),
                    Self::with(reverse, &other, &rng, second),
                ]
            }
            (_, Some(_)) => [Self::new(forward, rng), Self::new(reverse, other)],
            (_, None) => {
                let late = Managed::new(reverse, &other).map(Late::Queue);
                let rrc = Rrc::of(configs, &rng);
                let reverse = Self::with(reverse, &other, &rng, late);
                let mut links = [Self::new(forward, rng), reverse];
                for (link, rrc) in links.iter_mut().zip(rrc) {
                    link.server.joins(rrc);
                }
                links
            }
        }
    }

    fn with(
        config: &LinkConfig,
        rng: &ChaCha8Rng,
        path: &ChaCha8Rng,
        late: Option<Late<T>>,
    ) -> Self {
        Self {
            inside: VecDeque::new(),
            last_due: Instant::ZERO,
            busy: Busy::default(),
            server: Server::new(&config.service, rng, path),
            // A trace counts bytes of IP.
            overhead: if let Service::Trace(_) = config.service {
                0
            } else {
                config.overhead
            },
            delay: config.delay,
            loss: loss::new(config.loss, rng),
            jitter: jitter::new(config.jitter.as_ref(), rng),
            room: Room::new(&config.queue, rng),
            late,
            counters: Counters::default(),
            accepted: 0,
            name: config.name.clone(),
        }
    }

    /// Tells a link whose model suppresses redundant ACKs what these are: `plain_ack` is the number that a packet acknowledges
    /// which does nothing else, and may wrap around; `None` for any other packet. Other links never ask.
    pub fn filter_acks(&mut self, plain_ack: fn(&T) -> Option<u32>) {
        if let Some(Late::Queue(managed)) = &mut self.late {
            managed.filter_acks(plain_ack);
        }
    }

    /// Its name in results.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Packets and bytes (overhead included) that wait at `now`; the packet in service does not count.
    #[must_use]
    pub fn queue_len(&mut self, now: Instant) -> (u64, Bytes) {
        self.advance(now);
        match &self.late {
            Some(Late::Queue(managed)) => managed.len(),
            Some(Late::Port(port)) => port.len(),
            None => self.room.len(),
        }
    }

    /// Serves whoever is due by `now`. `push`, `pop` and [`Self::queue_len`] do it first; what the link
    /// tells without a `&mut` is as of the last of them where its discipline decides on leaving.
    pub fn advance(&mut self, now: Instant) {
        if self.late.is_some() {
            self.serve_late(now);
        } else {
            self.room.advance(now);
        }
    }

    /// Whether [`Self::take_dropped`] has something to give.
    #[inline]
    #[must_use]
    pub fn has_dropped(&self) -> bool {
        self.late.is_some() && self.has_dropped_late()
    }

    #[cold]
    #[inline(never)]
    fn has_dropped_late(&self) -> bool {
        match &self.late {
            Some(Late::Queue(managed)) => !managed.fate.dropped.is_empty(),
            Some(Late::Port(port)) => port.fate(|fate, _| !fate.dropped.is_empty()),
            None => false,
        }
    }

    /// A packet that was dropped after it had been accepted; each once, in order.
    /// They are counted without this; their owner learns their names.
    pub fn take_dropped(&mut self) -> Option<Dropped<T>> {
        match self.late.as_mut()? {
            Late::Queue(managed) => managed.fate.dropped.pop_front(),
            Late::Port(port) => port.take_dropped(),
        }
    }

    /// Whether the discipline decides when a packet leaves, so that [`Self::busy_until`] after a
    /// `push` tells nothing of the packet.
    #[must_use]
    pub const fn decides_late(&self) -> bool {
        self.late.is_some()
    }

    /// When the packet that is the next to be popped leaves, or left, the server, and the number of
    /// the busy period it was served in; `None` where that was known on its arrival.
    #[must_use]
    pub fn front_left(&self) -> Option<(Instant, u64)> {
        match self.late.as_ref()? {
            Late::Queue(managed) => managed.left.front().copied(),
            Late::Port(port) => port.left(),
        }
    }

    /// What went over the medium, in all directions; `None` where the link is no part of one.
    #[must_use]
    pub fn air(&self) -> Option<AirCounters> {
        match self.late.as_ref()? {
            Late::Queue(_) => None,
            Late::Port(port) => Some(port.counters()),
        }
    }

    /// The most packets that ever waited.
    #[must_use]
    pub fn queue_max_packets(&self) -> u64 {
        match &self.late {
            Some(Late::Queue(managed)) => managed.max_packets(),
            Some(Late::Port(port)) => port.max_packets(),
            None => self.room.max_packets(),
        }
    }

    /// The number of packets that waited, averaged over the time from the beginning of the run to
    /// `now`. Exact; takes time in proportion to the packets that wait.
    #[must_use]
    pub fn queue_mean_packets(&mut self, now: Instant) -> f64 {
        self.advance(now);
        match &mut self.late {
            Some(Late::Queue(managed)) => managed.mean_packets(now),
            Some(Late::Port(port)) => port.mean_packets(now),
            None => self.room.mean_packets(now),
        }
    }

    /// How many busy periods have begun. A busy period lasts from the arrival of a packet that
    /// finds nobody in the server and the queue until there is nobody in them again; a packet that
    /// arrives in the very nanosecond of that end continues it. A link of unlimited rate is never busy.
    #[must_use]
    pub fn busy_periods(&self) -> u64 {
        self.busy.periods
    }

    /// When the busy period that lasts at `now` began.
    #[must_use]
    pub fn busy_since(&self, now: Instant) -> Option<Instant> {
        self.busy.since(now)
    }

    /// When the last packet that was accepted leaves, or left, the server: the end of the last
    /// busy period if nothing more arrives. [`Instant::MAX`] is never.
    #[must_use]
    pub fn busy_until(&self) -> Instant {
        self.busy.until
    }

    /// Beginning and end of the last busy period that began, cut at `now`; `None` where none did.
    #[must_use]
    pub fn last_busy_period(&self, now: Instant) -> Option<(Instant, Instant)> {
        self.busy.last(now)
    }

    /// Beginning and end of the busy period before the last one that began; both
    /// [`Instant::ZERO`] where there is none.
    #[must_use]
    pub fn previous_busy_period(&self) -> (Instant, Instant) {
        self.busy.previous
    }

    /// How long the link was busy from the beginning of the run to `now`.
    #[must_use]
    pub fn busy_time(&self, now: Instant) -> Duration {
        self.busy.time(now)
    }

    /// The bytes (overhead included) that the link could have served from the beginning of the run to
    /// `now`; `None` where its rate is unlimited. Takes time in proportion to the changes of a rate
    /// that changes: it is for the end of a run.
    #[must_use]
    pub fn capacity(&self, now: Instant) -> Option<Bytes> {
        if let Some(Late::Port(_)) = self.late {
            return None;
        }
        self.server.capacity(now)
    }

    /// The share of what the link could have served until `now` that it did serve, 0 to 1. With
    /// a constant rate this is the share of time in which it was busy; otherwise bytes are
    /// counted, a packet in service as a whole. Zero where the rate is unlimited. As costly as
    /// [`Self::capacity`].
    #[must_use]
    pub fn utilization(&mut self, now: Instant) -> f64 {
        let by_time =
            matches!(self.server, Server::Fixed { .. }) || matches!(self.late, Some(Late::Port(_)));
        let (part, whole) = if by_time {
            (self.busy.time(now).as_nanos(), now.as_nanos())
        } else {
            self.advance(now);
            let (_, waiting) = self.room.len();
            (
                self.accepted - waiting.get(),
                self.capacity(now).unwrap_or(Bytes::ZERO).get(),
            )
        };
        if whole == 0 {
            0.0
        } else {
            (part as f64 / whole as f64).min(1.0)
        }
    }

    /// Bytes that the link counts on top of each packet.
    #[must_use]
    pub const fn overhead(&self) -> u32 {
        self.overhead
    }

    /// The packet leaves the server at `leaves`.
    #[inline(always)]
    fn send(&mut self, leaves: Instant, packet: Packet<T>) {
        let mut due = self.server.release(leaves) + self.delay;
        if let Some(jitter) = &mut self.jitter {
            // Nobody overtakes.
            due = (due + jitter.at(leaves)).max(self.last_due);
            self.last_due = due;
        }
        self.inside.push_back((due, packet));
    }

    /// Takes in a packet, if there is room, whose turn is known now.
    #[inline(always)]
    fn accept(&mut self, now: Instant, packet: Packet<T>, bytes: u64) -> Admission {
        let waits = self.server.waits(now, self.busy.until);
        if waits {
            self.room.advance(now);
            if let Err(reason) = self.room.admit(bytes) {
                return self.refuse(reason);
            }
        }
        self.server.enters(now, bytes);
        let Served {
            start,
            end,
            after_gap,
        } = self.server.serve(now, self.busy.until, bytes);
        if waits {
            self.room.enter(now, start, bytes);
        }
        self.busy.extend(now, end, after_gap);
        self.accepted += bytes;
        self.send(end, packet);
        Admission::Accepted
    }

    #[cold]
    #[inline(never)]
    fn push_policed(&mut self, now: Instant, mut packet: Packet<T>, bytes: u64) -> Admission {
        match self.polices(now, bytes, &mut packet.ecn) {
            Some(reason) => self.refuse(reason),
            None => self.accept(now, packet, bytes),
        }
    }

    #[cold]
    #[inline(never)]
    fn push_late(&mut self, now: Instant, mut packet: Packet<T>, bytes: u64) -> Admission {
        self.serve_late(now);
        if let Some(reason) = self.polices(now, bytes, &mut packet.ecn) {
            return self.refuse(reason);
        }
        let managed = match &mut self.late {
            None => return Admission::Accepted,
            Some(Late::Queue(managed)) => managed,
            Some(Late::Port(port)) => {
                return match port.push(now, packet, bytes) {
                    Ok(()) => Admission::Accepted,
                    Err(reason) => self.refuse(reason),
                };
            }
        };
        let is_idle = self.busy.until <= now;
        let idle = is_idle.then(|| now.saturating_since(self.busy.until));
        let mut waiting = Waiting {
            at: now,
            bytes,
            packet,
        };
        if managed.ack_filter.is_some() {
            let served = self.inside.back_mut().filter(|_| !is_idle);
            let served = served.map(|(_, packet)| packet);
            let Some(other) = managed.thin(waiting, served) else {
                return Admission::Accepted;
            };
            waiting = other;
        }
        let before = managed.fate.bytes;
        if let Err(reason) = managed.enqueue(waiting, idle) {
            return self.refuse(reason);
        }
        let dropped = managed.fate.bytes - before;
        self.server.enters(now, bytes);
        self.server.loses(now, dropped);
        if is_idle {
            self.serve_next(now);
        }
        Admission::Accepted
    }

    /// The front of the delay line is about to be popped, if it is due.
    #[cold]
    #[inline(never)]
    fn pop_late(&mut self, now: Instant) -> bool {
        if let Some(Late::Port(_)) = self.late {
            self.receive(now);
        }
        if self.inside.front().is_none_or(|(due, _)| *due > now) {
            return false;
        }
        self.serve_late(now);
        match &mut self.late {
            Some(Late::Queue(managed)) => {
                managed.left.pop_front();
            }
            Some(Late::Port(port)) => port.forget_left(),
            None => {}
        }
        true
    }

    /// Lets whoever was due by `now` into the server, as of then.
    #[inline(never)]
    fn serve_late(&mut self, now: Instant) {
        if let Some(Late::Port(_)) = self.late {
            return self.receive(now);
        }
        while self.busy.until <= now && self.serve_next(self.busy.until) {}
    }

    /// The front of the delay line, or what the medium does before.
    #[cold]
    #[inline(never)]
    fn next_of_medium(&self, port: &wifi::Port<T>) -> Option<Instant> {
        let due = self.inside.front().map_or(Instant::MAX, |(due, _)| *due);
        Some(due.min(port.next_event())).filter(|&next| next < Instant::MAX)
    }

    /// Takes to the delay line what the medium has carried by `now`.
    #[cold]
    #[inline(never)]
    fn receive(&mut self, now: Instant) {
        while let Some(Late::Port(port)) = &mut self.late {
            let Some((at, packet)) = port.pop(now) else {
                self.busy = port.busy();
                return;
            };
            self.send(at, packet);
        }
    }

    /// The server, which is free at `at`, takes the next packet, if there is one.
    #[cold]
    #[inline(never)]
    fn serve_next(&mut self, at: Instant) -> bool {
        let Some(Late::Queue(managed)) = &mut self.late else {
            return false;
        };
        if managed.is_empty() {
            return false;
        }
        let before = managed.fate.bytes;
        let waiting = managed.dequeue(at);
        self.server.loses(at, managed.fate.bytes - before);
        let Some(waiting) = waiting else {
            return false;
        };
        let turn = (waiting.at, at);
        let served = self
            .server
            .serve_in_turn(turn, self.busy.until, waiting.bytes);
        let Served { end, after_gap, .. } = served;
        self.busy.extend(at, end, after_gap);
        self.accepted += waiting.bytes;
        managed.left.push_back((end, self.busy.periods));
        self.send(end, waiting.packet);
        true
    }

    /// What a model makes of a packet before it could queue.
    #[inline(always)]
    fn polices(&mut self, now: Instant, bytes: u64, ecn: &mut Ecn) -> Option<DropReason> {
        let before = *ecn;
        let refused = self.server.refuses(now, bytes, ecn);
        self.counters.marks += u64::from(before != *ecn);
        refused
    }

    fn refuse(&mut self, reason: DropReason) -> Admission {
        let counter = match reason {
            DropReason::Overflow => &mut self.counters.drops_overflow,
            DropReason::Early => &mut self.counters.drops_early,
            DropReason::Loss => &mut self.counters.drops_loss,
        };
        *counter += 1;
        Admission::Dropped(reason)
    }
}

impl<T> Element<T> for Link<T> {
    #[inline]
    fn push(&mut self, now: Instant, packet: Packet<T>) -> Admission {
        self.counters.packets_in += 1;
        if let Some(loss) = &mut self.loss
            && loss.loses()
        {
            return self.refuse(DropReason::Loss);
        }
        if matches!(self.server, Server::Unlimited) {
            self.send(now, packet);
            return Admission::Accepted;
        }
        let bytes = u64::from(packet.size) + u64::from(self.overhead);
        if self.late.is_some() {
            return self.push_late(now, packet, bytes);
        }
        if matches!(self.server, Server::Model(_)) {
            return self.push_policed(now, packet, bytes);
        }
        self.accept(now, packet, bytes)
    }

    #[inline]
    fn pop(&mut self, now: Instant) -> Option<(Instant, Packet<T>)> {
        if self.late.is_some() {
            if !self.pop_late(now) {
                return None;
            }
        } else if self.inside.front()?.0 > now {
            return None;
        }
        let (due, packet) = self.inside.pop_front()?;
        self.counters.packets_out += 1;
        self.counters.bytes_out += Bytes::new(u64::from(packet.size));
        Some((due, packet))
    }

    #[inline]
    fn next_event(&self) -> Option<Instant> {
        if let Some(Late::Port(port)) = &self.late {
            return self.next_of_medium(port);
        }
        match self.inside.front() {
            Some((Instant::MAX, _)) | None => None,
            Some((due, _)) => Some(*due),
        }
    }

    fn counters(&self) -> Counters {
        let mut counters = self.counters;
        let mut add = |fate: &Fate<T>, lost: u64| {
            counters.drops_early += fate.early;
            counters.drops_overflow += fate.overflow;
            counters.marks += fate.marks;
            counters.drops_loss += lost;
        };
        match &self.late {
            Some(Late::Queue(managed)) => add(&managed.fate, 0),
            Some(Late::Port(port)) => port.fate(add),
            None => {}
        }
        counters
    }

    fn held(&self) -> u64 {
        let waiting = match &self.late {
            Some(Late::Queue(managed)) => managed.len().0,
            Some(Late::Port(port)) => port.held(),
            None => 0,
        };
        self.inside.len() as u64 + waiting
    }
}

//! One direction of a path: `loss -> queue -> server -> delay line`.
//!
//! With first-come-first-served service and drops decided on arrival, a packet's delivery time is
//! known when the link accepts it, because the delay line never reorders. The packet then goes
//! directly into one ring buffer with its due time. It costs one `push`, one `pop`, and no event
//! inside the link.
//!
//! A discipline that acts at dequeue keeps the queued packets (`dequeue_stage`, `aqm`). The packet in
//! service is already on the delay line, so the next event of the link is still the front of that
//! line. Queued packets are dequeued at the next call, each timestamped with the time its service
//! was due.
//!
//! A link can be one end of a shared medium (`medium`): packets wait there, and reach the delay
//! line when the medium has carried them.
//!
//! A link works with a simulated clock and with the wall clock: time is always an argument, and a
//! departure has the time at which it was due, not the time of the call.
//!
//! ## Deviations
//!
//! - `netem` with a rate applies the delay before the server; here the delay line follows the
//!   server, as in a real link. For a constant delay the packets come out at the same instants.
//! - A queue's limit does not count the packet in service, where a Linux qdisc with no driver
//!   queue below it would.

mod shortcuts;

use alloc::boxed::Box;

use rand_chacha::ChaCha8Rng;
use units::{Bytes, Duration, Instant, Pace};

use crate::access::{AccessModel, Payload, Shared, Surroundings};
use crate::aqm::Managed;
use crate::arrival_stage::ArrivalStage;
use crate::busy::{BusyTime, Period};
use crate::dequeue_stage::DequeueStage;
use crate::line::Line;
use crate::loss::{self, Loss};
use crate::medium::{End, SharedMedium, StationConfig};
use crate::meter::fraction;
use crate::plain::Plain;
use crate::queued::Queued;
use crate::server::Server;
use crate::{
    Admission, AirCounters, Counters, DropReason, Dropped, LinkConfig, LossConfig, Packet, Sent,
};

/// What stands between the random losses and the delay line.
#[derive(Debug)]
enum Stage<T> {
    /// A drop-tail queue and a constant rate, without loss and jitter.
    Plain(Plain),
    /// The same with an unlimited rate: a delay and nothing else.
    Wire(ArrivalStage),
    /// The departure of a packet is known on its arrival.
    AtArrival(ArrivalStage),
    /// It becomes known later.
    AtDequeue(Box<dyn DequeueStage<T>>),
}

/// Fewer packets cost less one by one: a train has an entry in a second ring.
const SHORTEST_TRAIN: u32 = 3;

/// A link that carries packets with a payload of `T`.
#[derive(Debug)]
pub struct Link<T> {
    counters: Counters,
    overhead: u32,
    /// See [`Self::recall`].
    recalled: u32,
    stage: Stage<T>,
    line: Line<T>,
    loss: Loss,
    /// When the first packet was offered, if one was.
    first_packet: Instant,
    /// Whether it shares state with another link: a medium, or the radio of a terminal.
    is_tied: bool,
    name: Box<str>,
}

impl<T: Payload> Link<T> {
    /// The link of `config`. Its losses, queue, jitter and rate draw from four separate streams
    /// derived from `rng`; two links with the same seed and stream draw the same numbers.
    ///
    /// A link of a shared medium has that medium to itself; see [`Self::pair`].
    #[must_use]
    pub fn new(config: &LinkConfig, rng: ChaCha8Rng) -> Self {
        let station = StationConfig {
            link: config,
            rng: &rng,
        };
        let shared = [shared(config, &rng)];
        let medium = medium(&[station]).map(|medium| (medium, 0));
        Self::at(station, &rng, &shared, medium)
    }

    /// The link of a `config` that draws no random numbers and knows a packet's departure on its
    /// arrival: a drop-tail queue before a constant rate. `None` for any other. It is [`Self::new`]
    /// without the streams of random numbers.
    #[must_use]
    pub fn steady(config: &LinkConfig) -> Option<Self> {
        let stage = Stage::Plain(Plain::new(config)?);
        Some(Self {
            stage,
            line: Line::steady(config.delay),
            overhead: config.overhead,
            loss: None,
            counters: Counters::default(),
            first_packet: Instant::ZERO,
            is_tied: false,
            recalled: 0,
            name: config.name.as_str().into(),
        })
    }

    /// The two links of a path. If both are configured as a shared medium, they share the medium
    /// that the first one describes. Its random streams, and those of any state that the models of
    /// both directions share, are derived from the stream of the first link.
    #[must_use]
    pub fn pair(configs: [&LinkConfig; 2], rngs: [ChaCha8Rng; 2]) -> [Self; 2] {
        let stations = [0, 1].map(|index| StationConfig {
            link: configs[index],
            rng: &rngs[index],
        });
        let path = &rngs[0];
        let shared = configs.map(|config| shared(config, path));
        let one = configs.iter().all(|config| config.is_medium());
        let common = if one { medium(&stations) } else { None };
        [0, 1].map(|index| {
            let station = stations[index];
            let medium = match &common {
                Some(common) => Some((common.clone(), index)),
                None => medium(&[station]).map(|own| (own, 0)),
            };
            Self::at(station, path, &shared, medium)
        })
    }

    /// A link that sends over `medium` from `station`, which replaces the service and the queue of
    /// `config`. Losses, overhead, propagation delay and jitter are those of `config`.
    #[must_use]
    pub fn over(
        config: &LinkConfig,
        medium: SharedMedium<T>,
        station: usize,
        rng: &ChaCha8Rng,
    ) -> Self {
        let stage = Stage::AtDequeue(Box::new(End::new(medium, station)));
        Self::with(config, rng, stage, true)
    }

    fn at(
        station: StationConfig<'_>,
        path: &ChaCha8Rng,
        shared: &[Option<Shared>],
        medium: Option<(SharedMedium<T>, usize)>,
    ) -> Self {
        let StationConfig { link: config, rng } = station;
        if let Some((medium, station)) = medium {
            return Self::over(config, medium, station, rng);
        }
        let around = Surroundings { rng, path, shared };
        let server = Server::new(&config.service, &around);
        let stage = if let Some(queue) = Managed::new(config, rng) {
            Stage::AtDequeue(Box::new(Queued::new(queue, server)))
        } else if let Some(plain) = Plain::new(config) {
            Stage::Plain(plain)
        } else {
            let is_wire = matches!(server, Server::Unlimited)
                && config.loss == LossConfig::None
                && config.jitter.is_none()
                && config.reordering.is_none();
            let stage = ArrivalStage::new(config, rng, server);
            if is_wire {
                Stage::Wire(stage)
            } else {
                Stage::AtArrival(stage)
            }
        };
        Self::with(config, rng, stage, shared.iter().any(Option::is_some))
    }

    fn with(config: &LinkConfig, rng: &ChaCha8Rng, stage: Stage<T>, is_tied: bool) -> Self {
        Self {
            stage,
            line: Line::new(config, rng),
            overhead: config.overhead,
            loss: loss::new(config.loss, rng),
            counters: Counters::default(),
            first_packet: Instant::ZERO,
            is_tied,
            recalled: 0,
            name: config.name.as_str().into(),
        }
    }
}

/// The state that the model of a link provides for both directions of its path.
fn shared(config: &LinkConfig, path: &ChaCha8Rng) -> Option<Shared> {
    config.service.access()?.shared(path)
}

/// The medium that the first of `stations` describes.
fn medium<T: Payload>(stations: &[StationConfig<'_>]) -> Option<SharedMedium<T>> {
    let first = stations.first()?;
    first.link.service.access()?.medium(stations)
}

impl<T: Payload> Link<T> {
    /// Offers a packet. Calls come in order of time, also across `push` and `pop`.
    #[inline(always)]
    pub fn push(&mut self, now: Instant, packet: Packet<T>) -> Admission {
        if let Stage::Wire(_) = self.stage {
            self.delay_on(now, packet);
            return Admission::Accepted;
        }
        self.push_one(now, packet)
    }

    /// [`Self::push`] into a link that is no pure delay line.
    #[inline(never)]
    fn push_one(&mut self, now: Instant, packet: Packet<T>) -> Admission {
        self.count_offered(now, 1);
        let Stage::Plain(plain) = &mut self.stage else {
            return self.push_any(now, packet);
        };
        if plain.push(now, packet, &mut self.line) {
            return Admission::Accepted;
        }
        self.refuse(DropReason::Overflow)
    }

    /// Offers `count` packets at once: `packet`, and behind it those that are alike but for their
    /// payload, which is [`Payload::following`]. Returns how many the link accepted. A drop-tail
    /// queue drops the last ones.
    ///
    /// The outcome is that of as many calls of [`Self::push`]. A link of constant rate (or a pure
    /// delay line) without loss, jitter and early drops takes three or more as one entry of its
    /// ring; [`Self::pop`] returns them one by one.
    #[inline]
    pub fn push_train(&mut self, now: Instant, packet: Packet<T>, count: u32) -> u32 {
        if count < SHORTEST_TRAIN {
            if count == 2
                && let Stage::Plain(plain) = &mut self.stage
                && plain.push_pair(now, &packet, &mut self.line)
            {
                self.count_offered(now, 2);
                return 2;
            }
            return self.push_each(now, packet, count);
        }
        match &mut self.stage {
            Stage::Plain(plain) => {
                let Some(taken) = plain.push_train(now, &packet, count, &mut self.line) else {
                    return self.push_each(now, packet, count);
                };
                self.count_offered(now, count);
                self.counters.drops_overflow += u64::from(count - taken);
                taken
            }
            Stage::Wire(_) => {
                self.line.send_train(now, packet, count - 1, Pace::INSTANT);
                self.count_offered(now, count);
                count
            }
            Stage::AtArrival(_) | Stage::AtDequeue(_) => self.push_each(now, packet, count),
        }
    }

    /// [`Self::push_train`] one packet at a time.
    #[inline(never)]
    fn push_each(&mut self, now: Instant, packet: Packet<T>, count: u32) -> u32 {
        let mut accepted = 0;
        for k in 0..count {
            let payload = packet.payload.following(k);
            let admission = self.push(now, Packet { payload, ..packet });
            accepted += u32::from(admission == Admission::Accepted);
        }
        accepted
    }

    #[inline(always)]
    fn count_offered(&mut self, now: Instant, count: u32) {
        if self.counters.packets_in == 0 {
            self.first_packet = now;
        }
        self.counters.packets_in += u64::from(count);
    }

    /// [`Self::push`] into a link that is not plain.
    #[inline(never)]
    fn push_any(&mut self, now: Instant, packet: Packet<T>) -> Admission {
        if let Some(loss) = &mut self.loss
            && loss.loses()
        {
            return self.refuse(DropReason::Loss);
        }
        let bytes = u64::from(packet.size) + u64::from(self.overhead);
        let Stage::AtArrival(stage) = &mut self.stage else {
            return self.push_late(now, packet, bytes);
        };
        match stage.server {
            Server::Unlimited => {
                self.line.send_prompt((now, now), 0, packet);
                return Admission::Accepted;
            }
            Server::Model(_) => return self.push_policed(now, packet, bytes),
            _ => {}
        }
        match stage.push(now, packet, bytes, &mut self.line) {
            Ok(()) => Admission::Accepted,
            Err(reason) => self.refuse(reason),
        }
    }

    /// The model may drop or mark the packet before the queue sees it.
    #[cold]
    #[inline(never)]
    fn push_policed(&mut self, now: Instant, mut packet: Packet<T>, bytes: u64) -> Admission {
        let Stage::AtArrival(stage) = &mut self.stage else {
            return Admission::Accepted;
        };
        let before = packet.ecn;
        let refused = stage.server.refuses(now, bytes, &mut packet.ecn);
        self.counters.marks += u64::from(before != packet.ecn);
        let taken = match refused {
            Some(reason) => Err(reason),
            None => stage.push(now, packet, bytes, &mut self.line),
        };
        match taken {
            Ok(()) => Admission::Accepted,
            Err(reason) => self.refuse(reason),
        }
    }

    #[cold]
    #[inline(never)]
    fn push_late(&mut self, now: Instant, mut packet: Packet<T>, bytes: u64) -> Admission {
        let Stage::AtDequeue(stage) = &mut self.stage else {
            return Admission::Accepted;
        };
        stage.advance(now, &mut self.line);
        let before = packet.ecn;
        let refused = stage.refuses(now, bytes, &mut packet.ecn);
        self.counters.marks += u64::from(before != packet.ecn);
        let taken = match refused {
            Some(reason) => Err(reason),
            None => stage.push(now, packet, bytes, &mut self.line),
        };
        match taken {
            Ok(()) => Admission::Accepted,
            Err(reason) => self.refuse(reason),
        }
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

    /// The next packet that is due at or before `now`, with its due time.
    #[inline]
    pub fn pop(&mut self, now: Instant) -> Option<(Instant, Packet<T>)> {
        self.receive(now);
        self.pop_before(now + Duration::from_nanos(1))
    }

    /// Puts all packets on the delay line that are due at `now`.
    #[inline(always)]
    pub fn receive(&mut self, now: Instant) {
        if let Stage::AtDequeue(_) = self.stage {
            self.prepare(now);
        }
    }

    /// The next packet that is on the delay line and due before `bound`, with its due time. Unlike
    /// [`Self::pop`] it serves no packet, so `bound` may be later than the next `push`.
    #[inline(always)]
    pub fn pop_before(&mut self, bound: Instant) -> Option<(Instant, Packet<T>)> {
        if self.line.due() >= bound {
            return None;
        }
        let popped = self.line.pop()?;
        if let Stage::AtArrival(_) | Stage::AtDequeue(_) = self.stage {
            self.line.forget_left();
        }
        self.counters.packets_out += 1;
        self.counters.bytes_out += Bytes::new(u64::from(popped.1.size));
        Some(popped)
    }

    /// A packet on the delay line about `count` packets behind the one that [`Self::pop_before`]
    /// returns next, if there is one: it says which packets come soon, and not when.
    #[inline(always)]
    #[must_use]
    pub fn ahead(&self, count: u64) -> Option<&Packet<T>> {
        self.line.ahead(count)
    }

    /// When the first packet on the delay line is due; [`Instant::MAX`] without one.
    #[inline]
    #[must_use]
    pub fn first_due(&self) -> Instant {
        self.line.due()
    }

    /// The shortest time from the `push` of a packet to its `pop` that the link guarantees, whatever
    /// happens on other links: zero if it shares state with one.
    #[must_use]
    pub fn shortest_delay(&self) -> Duration {
        if self.is_tied {
            Duration::ZERO
        } else {
            self.line.shortest_delay()
        }
    }

    /// Whether a `push` may change which packet is popped next, although others are inside.
    #[inline(always)]
    #[must_use]
    pub const fn may_overtake(&self) -> bool {
        self.decides_late() || self.line.reorders()
    }

    /// Prepares for the pop of the front of the line, if it is due.
    #[cold]
    #[inline(never)]
    fn prepare(&mut self, now: Instant) {
        let Stage::AtDequeue(stage) = &mut self.stage else {
            return;
        };
        stage.receive(now, &mut self.line);
        if self.line.due() <= now {
            stage.advance(now, &mut self.line);
        }
    }

    /// When to call `pop` next; `None` if nothing will happen without a `push`. It may be too early
    /// (`pop` then returns `None`, and the answer changes), never too late.
    #[inline]
    #[must_use]
    pub fn next_event(&self) -> Option<Instant> {
        let mut next = self.line.due();
        if let Stage::AtDequeue(stage) = &self.stage {
            next = next.min(stage.next_event());
        }
        (next < Instant::MAX).then_some(next)
    }

    /// Counters of packets and bytes.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        if let Stage::AtDequeue(stage) = &self.stage {
            stage.count(&mut counters);
        }
        counters
    }

    /// Number of packets inside.
    #[must_use]
    pub fn held(&self) -> u64 {
        let waiting = match &self.stage {
            Stage::AtDequeue(stage) => stage.held(),
            _ => 0,
        };
        self.line.len() + waiting + u64::from(self.recalled)
    }

    /// Sets how a link whose model suppresses redundant ACKs reads them; other links ignore it.
    /// `plain_ack` returns the acknowledgment number of a plain ACK, which may wrap around, and
    /// `None` for any other packet.
    pub fn filter_acks(&mut self, plain_ack: fn(&T) -> Option<u32>) {
        if let Stage::AtDequeue(stage) = &mut self.stage {
            stage.filter_acks(plain_ack);
        }
    }

    /// Its name in results.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Packets and bytes (overhead included) in the queue at `now`; the packet in service does not
    /// count.
    #[must_use]
    pub fn queue_len(&mut self, now: Instant) -> (u64, Bytes) {
        self.advance(now);
        match &self.stage {
            Stage::Plain(plain) => plain.queue.len(),
            Stage::Wire(stage) | Stage::AtArrival(stage) => stage.backlog.len(),
            Stage::AtDequeue(stage) => stage.queue_len(),
        }
    }

    /// Serves all packets that are due by `now`. `push`, `pop` and [`Self::queue_len`] do so first.
    /// If the discipline acts at dequeue, methods with `&self` return the state as of the last such
    /// call.
    pub fn advance(&mut self, now: Instant) {
        match &mut self.stage {
            Stage::Plain(plain) => plain.queue.advance(now),
            Stage::Wire(stage) | Stage::AtArrival(stage) => stage.backlog.advance(now),
            Stage::AtDequeue(stage) => stage.advance(now, &mut self.line),
        }
    }

    /// Whether [`Self::take_dropped`] returns a packet.
    #[inline]
    #[must_use]
    pub fn has_dropped(&self) -> bool {
        match &self.stage {
            Stage::AtDequeue(stage) => stage.has_dropped(),
            _ => false,
        }
    }

    /// A packet that the link accepted and then dropped; each once, in order. The counters include
    /// these drops in any case.
    pub fn take_dropped(&mut self) -> Option<Dropped<T>> {
        match &mut self.stage {
            Stage::AtDequeue(stage) => stage.take_dropped(),
            _ => None,
        }
    }

    /// From now on [`Self::take_sent`] returns the packets of this end of a medium; other links
    /// ignore it.
    pub fn keep_sent(&mut self) {
        if let Stage::AtDequeue(stage) = &mut self.stage {
            stage.keep_sent();
        }
    }

    /// A packet that the radio of this link's sender is done with; see
    /// [`crate::medium::Medium::take_sent`].
    pub fn take_sent(&mut self) -> Option<Sent> {
        match &mut self.stage {
            Stage::AtDequeue(stage) => stage.take_sent(),
            _ => None,
        }
    }

    /// Whether the discipline decides at dequeue, so that [`Self::busy_until`] after a `push` does
    /// not depend on that packet.
    #[must_use]
    pub const fn decides_late(&self) -> bool {
        matches!(self.stage, Stage::AtDequeue(_))
    }

    /// When the next packet to be popped leaves, or left, the server, and the number of its busy
    /// period; `None` if this was known on its arrival and packets keep their order.
    #[must_use]
    pub fn front_left(&self) -> Option<(Instant, u64)> {
        self.line.front_left()
    }

    /// The frames sent over the medium, in all directions; `None` if the link has no medium.
    #[must_use]
    pub fn air(&self) -> Option<AirCounters> {
        match &self.stage {
            Stage::AtDequeue(stage) => stage.air(),
            _ => None,
        }
    }

    /// The largest queue so far, in packets.
    #[must_use]
    pub fn queue_max_packets(&self) -> u64 {
        match &self.stage {
            Stage::Plain(plain) => plain.queue.max_packets(),
            Stage::Wire(stage) | Stage::AtArrival(stage) => stage.backlog.max_packets(),
            Stage::AtDequeue(stage) => stage.queue_max_packets(),
        }
    }

    /// The mean queue in packets from the start of the run to `now`. Exact; takes time in
    /// proportion to the queue.
    #[must_use]
    pub fn queue_mean_packets(&mut self, now: Instant) -> f64 {
        self.advance(now);
        match &mut self.stage {
            Stage::Plain(plain) => plain.queue.mean_packets(now),
            Stage::Wire(stage) | Stage::AtArrival(stage) => stage.backlog.mean_packets(now),
            Stage::AtDequeue(stage) => stage.queue_mean_packets(now),
        }
    }

    fn busy(&self) -> BusyTime {
        match &self.stage {
            Stage::Plain(plain) => *plain.busy.time(),
            Stage::Wire(stage) | Stage::AtArrival(stage) => *stage.busy.time(),
            Stage::AtDequeue(stage) => stage.busy(),
        }
    }

    /// Number of busy periods that have started. A busy period lasts from an arrival at an empty
    /// system (queue and server) until the system is empty again; a packet that arrives in the
    /// nanosecond of that end continues it. A link of unlimited rate is never busy.
    #[must_use]
    pub fn busy_periods(&self) -> u64 {
        self.busy().periods
    }

    /// When the busy period in progress at `now` started.
    #[must_use]
    pub fn busy_since(&self, now: Instant) -> Option<Instant> {
        self.busy().since(now)
    }

    /// When the last accepted packet leaves, or left, the server: the end of the last busy period
    /// if nothing more arrives. [`Instant::MAX`] is never.
    #[must_use]
    pub fn busy_until(&self) -> Instant {
        self.busy().until
    }

    /// Start and end of the last busy period that started, cut at `now`; `None` if none did.
    #[must_use]
    pub fn last_busy_period(&self, now: Instant) -> Option<Period> {
        self.busy().last(now)
    }

    /// Busy time from the start of the run to `now`.
    #[must_use]
    pub fn busy_time(&self, now: Instant) -> Duration {
        self.busy().total(now)
    }

    /// Keeps each busy period that ends after this call and lasted at least `shortest`, for
    /// [`Self::take_busy_period`].
    pub fn keep_busy_periods(&mut self, shortest: Duration) {
        match &mut self.stage {
            Stage::Plain(plain) => plain.busy.keep(shortest),
            Stage::Wire(stage) | Stage::AtArrival(stage) => stage.busy.keep(shortest),
            Stage::AtDequeue(stage) => stage.keep_busy_periods(shortest),
        }
    }

    /// The oldest kept busy period not yet taken. The periods returned do not depend on how often
    /// the caller asks.
    #[inline]
    pub fn take_busy_period(&mut self) -> Option<Period> {
        match &mut self.stage {
            Stage::Plain(plain) => plain.busy.take(),
            Stage::Wire(stage) | Stage::AtArrival(stage) => stage.busy.take(),
            Stage::AtDequeue(stage) => stage.take_busy_period(),
        }
    }

    /// The bytes (overhead included) that the link could have served from the start of the run to
    /// `now`; `None` if its rate is unlimited. With an access model, it takes time in proportion to
    /// the number of slots until `now`.
    #[must_use]
    pub fn capacity(&mut self, now: Instant) -> Option<Bytes> {
        match &mut self.stage {
            Stage::Plain(plain) => Some(plain.capacity(now)),
            Stage::Wire(stage) | Stage::AtArrival(stage) => stage.capacity(now),
            Stage::AtDequeue(stage) => stage.capacity(now),
        }
    }

    /// The fraction of its capacity until `now` that the link used, 0 to 1. With a constant rate
    /// this is the fraction of time in which it was busy; otherwise bytes are counted, with a
    /// packet in service in full. Zero if the rate is unlimited. As costly as [`Self::capacity`].
    #[must_use]
    pub fn utilization(&mut self, now: Instant) -> f64 {
        fraction(self.used(now))
    }

    /// Used and available service until `now`, both in one unit.
    pub(crate) fn used(&mut self, now: Instant) -> (u64, u64) {
        self.advance(now);
        match &mut self.stage {
            Stage::Plain(plain) => plain.used(now),
            Stage::Wire(stage) | Stage::AtArrival(stage) => stage.used(now),
            Stage::AtDequeue(stage) => stage.used(now),
        }
    }

    /// Bytes that the link counts on top of each packet.
    #[must_use]
    pub const fn overhead(&self) -> u32 {
        self.overhead
    }

    /// When the first packet was offered.
    #[must_use]
    pub const fn first_packet(&self) -> Option<Instant> {
        if self.counters.packets_in == 0 {
            return None;
        }
        Some(self.first_packet)
    }

    /// Whether its rate is limited, so that packets can queue.
    #[must_use]
    pub const fn has_rate(&self) -> bool {
        match &self.stage {
            Stage::Wire(_) => false,
            Stage::AtArrival(stage) => !matches!(stage.server, Server::Unlimited),
            Stage::Plain(_) | Stage::AtDequeue(_) => true,
        }
    }
}

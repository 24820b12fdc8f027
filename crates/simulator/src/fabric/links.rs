//! A simulated link: the link itself, its calendar entry and its time series.

use engine::Component;
use measure::{LinkResult, LinkTrace, QueueSampler};
use network::router::Router;
use network::{Admission, Link, Mark, Packet, Payload};
use units::{Duration, Instant};

use crate::agenda::{Agendas, LEFT, Side};
use crate::carried::{Aside, Carried};

const NANO: Duration = Duration::from_nanos(1);

/// One direction of a link.
#[derive(Debug)]
pub struct LinkState {
    /// The router in front of it, if it has explicit support.
    pub router: Option<Box<Router>>,
    rank: u32,
    /// The side on which packets leave it.
    side: Side,
    /// Whether its packets lie in the agenda ([`crate::in_flight`]).
    keeps_none: bool,
    /// Whether it is a pure delay line that keeps its packets, without a router and a trace.
    only_delays: bool,
    /// The same without a delay: packets leave it in the instant in which they enter it.
    only_passes: bool,
    /// Whether the router in front of it decreases the TTL of packets.
    pub is_hop: bool,
    /// Whether packets leave it to hosts at the right end, and whether they enter it from there.
    pub to_right: bool,
    pub from_right: bool,
    /// Whether packets leave it on a side that is ahead of the side on which they enter.
    pub is_ahead: bool,
    /// The propagation delay, if its packets lie in the agenda.
    delay: Duration,
    pub link: Link<Carried>,
    /// Its calendar entry on its side.
    pub component: Component,
    /// The time of its calendar entry.
    scheduled: Option<Instant>,
    trace: Option<Box<LinkTrace>>,
    /// When [`Self::observe`] is due.
    watch: Instant,
    measured: Option<Box<Measured>>,
}

/// What is measured of a link after the warm-up.
#[derive(Debug)]
struct Measured {
    from: Instant,
    /// The state at `from`, once that has passed.
    mark: Option<Mark>,
    queue: QueueSampler,
}

impl LinkState {
    /// The state of `link`, with the router in front of it.
    pub fn new(link: Link<Carried>, router: Option<Router>, traced: bool) -> Self {
        let trace = (traced && link.has_rate()).then(|| {
            Box::new(LinkTrace {
                link: link.name().to_owned(),
                ..LinkTrace::default()
            })
        });
        Self {
            only_delays: link.is_wire() && router.is_none() && trace.is_none(),
            router: router.map(Box::new),
            link,
            is_hop: false,
            to_right: false,
            from_right: false,
            side: LEFT,
            rank: 0,
            keeps_none: false,
            only_passes: false,
            delay: Duration::ZERO,
            component: Component::default(),
            scheduled: None,
            is_ahead: false,
            trace,
            watch: Instant::MAX,
            measured: None,
        }
    }

    /// Measures the link from `from` on, with samples of its queue.
    pub fn measure_from(&mut self, from: Instant) {
        self.watch = from;
        self.measured = Some(Box::new(Measured {
            from,
            mark: None,
            queue: QueueSampler::new(from),
        }));
    }

    /// Whether its queue decides only when packets leave it, and something reads it at past
    /// instants: its samples, or, if packets pass from one side to the other over it
    /// (`crosses`), the router in front of it.
    pub fn is_read_late(&self, crosses: bool) -> bool {
        let is_read = self.measured.is_some() || crosses && self.router.is_some();
        is_read && self.link.decides_late()
    }

    /// Takes what is to be measured up to `now`, before anything changes the queue.
    #[inline(always)]
    pub fn watch(&mut self, now: Instant) {
        if now >= self.watch {
            self.observe(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn observe(&mut self, now: Instant) {
        let Some(measured) = &mut self.measured else {
            return;
        };
        let link = &mut self.link;
        if measured.mark.is_none() && now >= measured.from {
            measured.mark = Some(link.mark(measured.from));
        }
        self.watch = Instant::MAX;
        if link.has_rate() {
            measured.queue.observe(now, |at| link.queue_len(at).0);
            self.watch = measured.queue.due();
        }
    }

    /// Gives it its calendar entry.
    pub fn place(&mut self, side: Side, component: Component, rank: u32) {
        (self.side, self.component, self.rank) = (side, component, rank);
    }

    /// The packets on it lie in the agenda from now on, if that is exact.
    pub fn keep_no_packets(&mut self) {
        let is_read = self.trace.is_some() || self.router.is_some();
        self.keeps_none = !is_read && self.link.can_send();
        self.only_delays &= !self.keeps_none;
        self.delay = self.link.delay();
        self.only_passes = self.only_delays && self.delay.is_zero();
    }

    /// Whether its packets lie in the agenda.
    #[inline(always)]
    pub const fn keeps_none(&self) -> bool {
        self.keeps_none
    }

    /// Whether packets leave it on `side` in the instant in which they enter it, and nothing else happens
    /// to them.
    #[inline(always)]
    pub const fn only_passes(&self, side: Side) -> bool {
        self.only_passes && self.side == side
    }

    /// A packet of `size` bytes enters and leaves it, where [`Self::only_passes`].
    #[inline(always)]
    pub fn pass(&mut self, now: Instant, size: u32) {
        self.watch(now);
        self.link.pass_at_once(now, size);
    }

    /// [`Self::push`] of the packet at `place` in the agendas, where [`Self::keeps_none`].
    #[inline]
    pub fn send(&mut self, now: Instant, place: u32, agendas: &mut Agendas) -> bool {
        self.watch(now);
        let size = agendas.packet(place).size;
        let Some(leaves) = self.link.send(now, size) else {
            return false;
        };
        agendas.send(self.side, leaves + self.delay, self.rank, place);
        true
    }

    /// [`Self::push_train`] of packets that lie in the agenda.
    #[inline(never)]
    fn send_each(
        &mut self,
        now: Instant,
        packet: Packet<Carried>,
        count: u32,
        agendas: &mut Agendas,
    ) -> u32 {
        let accepted = (0..count).filter(|&k| {
            let payload = packet.payload.following(k);
            let place = agendas.keep(&Packet { payload, ..packet });
            let is_sent = self.send(now, place, agendas);
            if !is_sent {
                agendas.take(place);
            }
            is_sent
        });
        accepted.count() as u32
    }

    /// The next packet that is due at `now`, with its due time.
    #[inline(always)]
    pub fn pop(&mut self, now: Instant) -> Option<(Instant, Packet<Carried>)> {
        if self.link.decides_late() {
            self.watch(now);
        }
        if !self.is_ahead {
            self.link.receive(now);
        }
        self.link.pop_before(now + NANO)
    }

    /// When to call [`Self::pop`] next.
    #[inline(always)]
    pub fn next_event(&self) -> Instant {
        if self.is_ahead {
            self.link.first_due()
        } else {
            self.link.next_event().unwrap_or(Instant::MAX)
        }
    }

    /// Offers a packet, unless [`Self::keeps_none`]; true if it was accepted.
    #[inline]
    pub fn push(&mut self, now: Instant, packet: &Packet<Carried>, agendas: &mut Agendas) -> bool {
        self.watch(now);
        let accepted = self.link.push(now, *packet) == Admission::Accepted;
        if let Some(trace) = &mut self.trace {
            let network::Sample {
                queue,
                drops,
                transmitted,
            } = self.link.sample(now);
            trace.push(now, queue, drops, transmitted);
        }
        self.reschedule_after_push(agendas);
        accepted
    }

    /// Whether it is a pure delay line that nothing looks at before `until`, so that [`Self::delay`] is
    /// all that a packet offered to it until then takes.
    #[inline(always)]
    pub fn only_delays(&self, until: Instant) -> bool {
        self.only_delays && self.watch >= until
    }

    /// [`Self::push`] for a link that only delays. Returns whether that has changed its calendar entry.
    #[inline(always)]
    pub fn delay(&mut self, now: Instant, packet: Packet<Carried>, agendas: &mut Agendas) -> bool {
        self.link.delay_on(now, packet);
        let is_first = self.scheduled.is_none();
        if is_first {
            self.reschedule(agendas);
        }
        is_first
    }

    /// Offers `count` packets at once, of which `packet` is the first, and returns how many were
    /// accepted. Traced links get packets one by one.
    #[inline]
    pub fn push_train(
        &mut self,
        now: Instant,
        packet: Packet<Carried>,
        count: u32,
        agendas: &mut Agendas,
    ) -> u32 {
        if self.keeps_none {
            return self.send_each(now, packet, count, agendas);
        }
        self.watch(now);
        let accepted = self.link.push_train(now, packet, count);
        self.reschedule_after_push(agendas);
        accepted
    }

    /// A packet behind others does not change which packet leaves next, unless it may overtake them.
    #[inline(always)]
    fn reschedule_after_push(&mut self, agendas: &mut Agendas) {
        if self.scheduled.is_none() || self.link.may_overtake() {
            self.reschedule(agendas);
        }
    }

    /// Updates the calendar entry if the link's next event has changed.
    #[inline(always)]
    pub fn reschedule(&mut self, agendas: &mut Agendas) {
        let next = self.link.next_event();
        if next != self.scheduled {
            self.scheduled = next;
            agendas[self.side].fixed.schedule(self.component, next);
        }
    }

    /// Lets it serve all packets that are due by `now`.
    pub fn advance(&mut self, now: Instant) {
        self.watch(now);
        self.link.advance(now);
    }

    /// Shows a packet to the router in front of it.
    #[cold]
    #[inline(never)]
    pub fn consult(&mut self, packet: &Packet<Carried>, now: Instant, aside: &mut Aside) {
        self.watch(now);
        if let Some(router) = &mut self.router {
            let size = u64::from(packet.size) + u64::from(self.link.overhead());
            let feedback = packet.payload.feedback_mut(aside);
            router.on_arrival(now, size, &mut self.link, feedback);
        }
    }

    /// The result and time series at the end of a run.
    pub fn finish(mut self, now: Instant) -> (LinkResult, Option<LinkTrace>) {
        self.watch(now);
        let mut summary = self.link.summary(now);
        assert!(
            summary.counters.conserve(self.link.held()),
            "a link's packet counters do not balance"
        );
        let mut queue_distribution = None;
        if let Some(measured) = &self.measured
            && let Some(mark) = &measured.mark
        {
            summary = self.link.summary_since(mark, now);
            queue_distribution = measured.queue.result();
        }
        let counters = summary.counters;
        let result = LinkResult {
            name: self.link.name().to_owned(),
            utilization: summary.utilization,
            packets: counters.packets_out,
            drops: counters.dropped(),
            marks: counters.marks,
            queue_max_packets: summary.queue_max_packets,
            queue_mean_packets: summary.queue_mean_packets,
            queue_distribution,
        };
        (result, self.trace.map(|trace| *trace))
    }
}

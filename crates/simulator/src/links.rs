//! A simulated link: the link itself, its calendar entry and its time series.

use engine::Component;
use measure::{LinkResult, LinkTrace};
use network::router::{Router, RouterSupport};
use network::{Admission, Link, LinkConfig, Packet};
use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant, Rate};

use crate::agenda::{Agenda, LEFT, Side};
use crate::carried::Carried;

const NANO: Duration = Duration::from_nanos(1);

/// One direction of a link.
#[derive(Debug)]
pub struct LinkState {
    pub link: Link<Carried>,
    /// The router in front of it, if it has explicit support.
    pub router: Option<Router>,
    /// Whether the router in front of it decreases the TTL of packets.
    pub is_hop: bool,
    /// Whether packets leave it to hosts at the right end, and whether they enter it from there.
    pub to_right: bool,
    pub from_right: bool,
    /// The side on which packets leave it, and its calendar entry there.
    side: Side,
    pub component: Component,
    /// The time of its calendar entry.
    scheduled: Option<Instant>,
    /// Whether packets leave it on a side that is ahead of the side on which they enter.
    pub is_ahead: bool,
    trace: Option<LinkTrace>,
}

impl LinkState {
    /// The state of `link`, which is made of `config`; a router with explicit support draws from a
    /// stream derived from `rng`.
    pub fn new(
        link: Link<Carried>,
        config: &LinkConfig,
        router_support: &RouterSupport,
        rng: &ChaCha8Rng,
        traced: bool,
    ) -> Self {
        let traced = traced && link.has_rate();
        let rate = config.service.mean_rate().unwrap_or(Rate::MAX);
        Self {
            router: Router::new(router_support, rate, rng),
            link,
            is_hop: false,
            to_right: false,
            from_right: false,
            side: LEFT,
            component: Component::default(),
            scheduled: None,
            is_ahead: false,
            trace: traced.then(|| LinkTrace {
                link: config.name.clone(),
                ..LinkTrace::default()
            }),
        }
    }

    /// Gives it its calendar entry.
    pub fn place(&mut self, side: Side, component: Component) {
        (self.side, self.component) = (side, component);
    }

    /// The next packet that is due at `now`, with its due time.
    #[inline(always)]
    pub fn pop(&mut self, now: Instant) -> Option<(Instant, Packet<Carried>)> {
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

    /// Offers a packet; true if it was accepted.
    #[inline]
    pub fn push(
        &mut self,
        now: Instant,
        packet: Packet<Carried>,
        agendas: &mut [Agenda; 2],
    ) -> bool {
        let accepted = self.link.push(now, packet) == Admission::Accepted;
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

    /// Offers `count` packets at once, of which `packet` is the first, and returns how many were
    /// accepted. Traced links get packets one by one.
    #[inline]
    pub fn push_train(
        &mut self,
        now: Instant,
        packet: Packet<Carried>,
        count: u32,
        agendas: &mut [Agenda; 2],
    ) -> u32 {
        let accepted = self.link.push_train(now, packet, count);
        self.reschedule_after_push(agendas);
        accepted
    }

    /// A packet behind others does not change which packet leaves next.
    #[inline(always)]
    fn reschedule_after_push(&mut self, agendas: &mut [Agenda; 2]) {
        if self.scheduled.is_none() || self.link.decides_late() {
            self.reschedule(agendas);
        }
    }

    /// Updates the calendar entry if the link's next event has changed.
    #[inline(always)]
    pub fn reschedule(&mut self, agendas: &mut [Agenda; 2]) {
        let next = self.link.next_event();
        if next != self.scheduled {
            self.scheduled = next;
            agendas[self.side].fixed.schedule(self.component, next);
        }
    }

    /// The result and time series at the end of a run.
    pub fn finish(mut self, now: Instant) -> (LinkResult, Option<LinkTrace>) {
        let summary = self.link.summary(now);
        let counters = summary.counters;
        assert!(
            counters.conserve(self.link.held()),
            "a link's packet counters do not balance"
        );
        let result = LinkResult {
            name: self.link.name().to_owned(),
            utilization: summary.utilization,
            packets: counters.packets_out,
            drops: counters.dropped(),
            marks: counters.marks,
            queue_max_packets: summary.queue_max_packets,
            queue_mean_packets: summary.queue_mean_packets,
            queue_distribution: None,
        };
        (result, self.trace)
    }
}

//! A link in the simulation: the element, its place in the calendar, what is noted about it.

use engine::{Calendar, Component};
use measure::{LinkResult, LinkTrace};
use network::router::{Help, Router};
use network::{Admission, Element, Link, LinkConfig, Packet, Service};
use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant, Rate};

use crate::carried::Carried;

/// One direction of a link.
#[derive(Debug)]
pub struct LinkState {
    pub link: Link<Carried>,
    /// The router in front of it, where it helps.
    pub router: Option<Router>,
    component: Component,
    /// What the calendar holds for it.
    scheduled: Option<Instant>,
    trace: Option<LinkTrace>,
    /// Whether it has a queue to speak of.
    queued: bool,
    first_packet: Option<Instant>,
    periods_seen: u64,
}

impl LinkState {
    /// The state of `link`, which is made of `config`; a router that helps draws beside `rng`.
    pub fn new(
        link: Link<Carried>,
        config: &LinkConfig,
        help: &Help,
        rng: &ChaCha8Rng,
        calendar: &mut Calendar,
        traced: bool,
    ) -> Self {
        let queued = config.service != Service::Unlimited;
        let rate = config.service.mean_rate().unwrap_or(Rate::MAX);
        Self {
            router: Router::new(help, rate, rng),
            link,
            component: calendar.add(),
            scheduled: None,
            trace: (traced && queued).then(|| LinkTrace {
                link: config.name.clone(),
                ..LinkTrace::default()
            }),
            queued,
            first_packet: None,
            periods_seen: 0,
        }
    }

    /// Offers a packet; true if it was accepted.
    #[inline]
    pub fn push(&mut self, now: Instant, packet: Packet<Carried>, calendar: &mut Calendar) -> bool {
        self.first_packet.get_or_insert(now);
        let accepted = self.link.push(now, packet) == Admission::Accepted;
        if let Some(trace) = &mut self.trace {
            let (packets, bytes) = self.link.queue_len(now);
            trace.time_s.push(now.as_secs_f64());
            trace.queue_packets.push(packets);
            trace.queue_bytes.push(bytes.get());
            let counters = self.link.counters();
            let overhead = u64::from(self.link.overhead()) * counters.packets_out;
            trace.drops.push(counters.dropped());
            trace
                .transmitted_bytes
                .push(counters.bytes_out.get() + overhead);
        }
        // Behind others it changes nothing about who comes out next.
        if self.scheduled.is_none() || self.link.decides_late() {
            self.reschedule(calendar);
        }
        accepted
    }

    /// Tells the calendar when the link acts next, if that has changed.
    #[inline(always)]
    pub fn reschedule(&mut self, calendar: &mut Calendar) {
        let next = self.link.next_event();
        if next != self.scheduled {
            self.scheduled = next;
            calendar.schedule(self.component, next);
        }
    }

    /// The busy period that ended since this was last asked, if one did.
    #[inline]
    pub fn ended_busy_period(&mut self) -> Option<(Instant, Instant)> {
        let periods = self.link.busy_periods();
        if periods == self.periods_seen {
            return None;
        }
        self.periods_seen = periods;
        (periods > 1).then(|| self.link.previous_busy_period())
    }

    /// What remains of it at the end of a run.
    pub fn finish(mut self, now: Instant) -> (LinkResult, Option<LinkTrace>) {
        let counters = self.link.counters();
        assert_eq!(
            counters.packets_in,
            counters.packets_out + counters.dropped() + self.link.held(),
            "a link lost count of its packets"
        );
        let active = now.saturating_since(self.first_packet.unwrap_or(Instant::ZERO));
        // The mean is over the time since the first packet, in which the link was in use.
        let share = |value: f64| {
            if active == Duration::ZERO {
                0.0
            } else {
                (value * now.as_secs_f64() / active.as_secs_f64()).max(0.0)
            }
        };
        let utilization = self
            .queued
            .then(|| share(self.link.utilization(now)).min(1.0));
        let result = LinkResult {
            name: self.link.name().to_owned(),
            utilization,
            packets: counters.packets_out,
            drops: counters.dropped(),
            marks: counters.marks,
            queue_max_packets: self.link.queue_max_packets(),
            queue_mean_packets: share(self.link.queue_mean_packets(now)),
        };
        (result, self.trace)
    }
}

//! A simulated link: the link itself, its calendar entry and its time series.

use engine::{Calendar, Component};
use measure::{LinkResult, LinkTrace};
use network::router::{Router, RouterSupport};
use network::{Admission, Link, LinkConfig, Packet};
use rand_chacha::ChaCha8Rng;
use units::{Instant, Rate};

use crate::carried::Carried;

/// One direction of a link.
#[derive(Debug)]
pub struct LinkState {
    pub link: Link<Carried>,
    /// The router in front of it, if it has explicit support.
    pub router: Option<Router>,
    component: Component,
    /// The time of its calendar entry.
    scheduled: Option<Instant>,
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
        calendar: &mut Calendar,
        traced: bool,
    ) -> Self {
        let traced = traced && link.has_rate();
        let rate = config.service.mean_rate().unwrap_or(Rate::MAX);
        Self {
            router: Router::new(router_support, rate, rng),
            link,
            component: calendar.add(),
            scheduled: None,
            trace: traced.then(|| LinkTrace {
                link: config.name.clone(),
                ..LinkTrace::default()
            }),
        }
    }

    /// Offers a packet; true if it was accepted.
    #[inline]
    pub fn push(&mut self, now: Instant, packet: Packet<Carried>, calendar: &mut Calendar) -> bool {
        let accepted = self.link.push(now, packet) == Admission::Accepted;
        if let Some(trace) = &mut self.trace {
            let network::Sample {
                queue,
                drops,
                transmitted,
            } = self.link.sample(now);
            trace.push(now, queue, drops, transmitted);
        }
        // A packet behind others does not change which packet leaves next.
        if self.scheduled.is_none() || self.link.decides_late() {
            self.reschedule(calendar);
        }
        accepted
    }

    /// Updates the calendar entry if the link's next event has changed.
    #[inline(always)]
    pub fn reschedule(&mut self, calendar: &mut Calendar) {
        let next = self.link.next_event();
        if next != self.scheduled {
            self.scheduled = next;
            calendar.schedule(self.component, next);
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
        };
        (result, self.trace)
    }
}

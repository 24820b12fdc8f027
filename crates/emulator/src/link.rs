//! A link under the wall clock, with its measurements.

use std::collections::VecDeque;

use crate::access::AccessDelays;
use crate::packet;
use measure::LinkTrace;
use network::{Admission, Link, LinkConfig, Packet, Streams};
use units::{Duration, Instant, Rate};

/// A packet inside a link.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carried {
    /// A buffer for the largest packet; the packet is its start.
    pub(crate) bytes: Vec<u8>,
    pub(crate) arrived: Instant,
    pub(crate) flow: u32,
    pub(crate) payload: u32,
}

impl network::Payload for Carried {}

/// What is known about a packet when it is accepted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    /// When it leaves the server; propagation follows.
    pub(crate) leaves: Instant,
    /// The busy period of its service.
    pub(crate) period: u64,
}

/// Maximum number of busy periods; a longer run keeps the first ones.
const MOST_PERIODS: usize = 1_000_000;

/// One direction of the path.
pub(crate) struct LinkState {
    pub(crate) link: Link<Carried>,
    /// Its mean rate, if limited.
    pub(crate) rate: Option<Rate>,
    offered: u64,
    /// The service of each packet inside, in order, if that was known on arrival.
    services: VecDeque<Service>,
    /// What lies between the link and single hosts.
    pub(crate) access: AccessDelays<(Packet<Carried>, Service)>,
    pub(crate) trace: Option<LinkTrace>,
    /// Ended busy periods of at least `shortest`, in order.
    pub(crate) periods: Vec<(Instant, Instant)>,
    shortest: Duration,
}

impl LinkState {
    /// The links of a path, by direction, the same as in the simulator for the same seed.
    pub(crate) fn pair(
        configs: [&LinkConfig; 2],
        seed: u64,
        base_rtt: Duration,
        traced: bool,
    ) -> [Self; 2] {
        let streams = Streams::new(seed);
        let rngs = ["path.forward", "path.reverse"].map(|name| streams.stream(name));
        let mut links = Link::pair(configs, rngs);
        for link in &mut links {
            link.filter_acks(|carried: &Carried| packet::plain_ack(&carried.bytes));
        }
        let [forward, reverse] = links;
        [
            Self::new(forward, configs[0], base_rtt, traced),
            Self::new(reverse, configs[1], base_rtt, traced),
        ]
    }

    fn new(mut link: Link<Carried>, config: &LinkConfig, base_rtt: Duration, traced: bool) -> Self {
        link.keep_busy_periods(base_rtt);
        let traced = traced && link.has_rate();
        Self {
            link,
            rate: config.service.mean_rate(),
            offered: 0,
            services: VecDeque::new(),
            access: AccessDelays::default(),
            trace: traced.then(|| LinkTrace {
                link: config.name.clone(),
                ..LinkTrace::default()
            }),
            periods: Vec::new(),
            shortest: base_rtt,
        }
    }

    /// Packets offered so far.
    pub(crate) const fn offered(&self) -> u64 {
        self.offered
    }

    /// Offers a packet.
    pub(crate) fn push(&mut self, now: Instant, mut packet: Packet<Carried>) -> Admission {
        packet.payload.arrived = now;
        self.offered += 1;
        let admission = self.link.push(now, packet);
        if admission == Admission::Accepted && !self.link.may_overtake() {
            self.services.push_back(Service {
                leaves: if self.link.has_rate() {
                    self.link.busy_until()
                } else {
                    now
                },
                period: self.link.busy_periods(),
            });
        }
        self.note_periods();
        if let Some(trace) = &mut self.trace {
            let network::Sample {
                queue,
                drops,
                transmitted,
            } = self.link.sample(now);
            trace.push(now, queue, drops, transmitted);
        }
        admission
    }

    /// When the next packet is due, if one is known to be.
    pub(crate) fn next_event(&self) -> Option<Instant> {
        let events = [self.link.next_event(), self.access.next()];
        events.into_iter().flatten().min()
    }

    /// The next packet that is due at its host at `now`.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Instant, Packet<Carried>, Service)> {
        if self.access.is_empty() {
            return self.leave(now);
        }
        while let Some((left, packet, service)) = self.leave(now) {
            let host = packet::destination(&packet.payload.bytes[..packet.size as usize]);
            self.access.push(left, host, (packet, service));
        }
        let (due, (packet, service)) = self.access.pop(now)?;
        Some((due, packet, service))
    }

    /// The next packet that has left the link at `now`.
    fn leave(&mut self, now: Instant) -> Option<(Instant, Packet<Carried>, Service)> {
        let left = self.link.front_left();
        let (due, packet) = self.link.pop(now)?;
        if let Some((leaves, period)) = left {
            let service = Service { leaves, period };
            return Some((due, packet, service));
        }
        let service = self.services.pop_front().unwrap_or(Service {
            leaves: due,
            period: 0,
        });
        Some((due, packet, service))
    }

    fn note_periods(&mut self) {
        while let Some(period) = self.link.take_busy_period() {
            self.keep(period);
        }
    }

    fn keep(&mut self, (since, until): (Instant, Instant)) {
        if until.saturating_since(since) >= self.shortest && self.periods.len() < MOST_PERIODS {
            self.periods.push((since, until));
        }
    }

    /// Ends the run, and with it the last busy period.
    pub(crate) fn end(&mut self, now: Instant) {
        self.link.advance(now);
        self.note_periods();
        if let Some(last) = self.link.last_busy_period(now) {
            self.keep(last);
        }
    }
}

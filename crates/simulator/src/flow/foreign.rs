//! Both ends of a flow of another stack, while it runs.

use measure::{FlowResult, FlowTrace};
use network::{Ecn, Period};
use scenario::{Application, Flow};
use units::{Bytes, Duration, Instant};

use crate::host::{Act, Ended, Facts, LEAST_DATA, Pair, Transmit};

/// The host that sends the data.
pub const CLIENT: usize = 0;
/// The host that gets it.
pub const SERVER: usize = 1;

/// A flow of another stack.
pub struct Foreign {
    pair: Pair,
    established: Option<Instant>,
    finished: Option<Instant>,
    capacity: Option<Instant>,
    /// Whether the data have arrived, or a host has closed the connection.
    is_over: bool,
    /// When the application acts next, and its data that are not written yet.
    next_act: Option<Instant>,
    left: Option<u64>,
    /// Hosts that may have something to transmit.
    awake: [bool; 2],
}

/// A datagram that leaves, and from which host.
pub struct Leaving {
    pub transmit: Transmit,
    pub from: usize,
    pub has_data: bool,
}

impl std::fmt::Debug for Foreign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Foreign").finish_non_exhaustive()
    }
}

impl Foreign {
    /// A connection that begins now.
    pub fn new(pair: Pair, now: Instant, size: Option<Bytes>) -> Self {
        Self {
            pair,
            established: None,
            finished: None,
            capacity: None,
            is_over: false,
            next_act: Some(now),
            left: size.map(Bytes::get),
            awake: [true; 2],
        }
    }

    /// A datagram arrives at the host `to`; `latency` is that of a packet with data.
    pub fn receive(
        &mut self,
        now: Instant,
        to: usize,
        ecn: Ecn,
        latency: Option<Duration>,
        datagram: &[u8],
    ) {
        let Pair { hosts, meter } = &mut self.pair;
        if let Some(latency) = latency {
            meter.on_arrival(now, latency);
        }
        hosts[to].receive(now, ecn, datagram);
        if to == SERVER {
            meter.on_delivered(hosts[SERVER].facts().received);
        }
        self.awake[to] = true;
    }

    /// The network dropped a packet with data.
    pub fn on_drop(&mut self, at: Instant) {
        self.pair.meter.on_drop(at);
    }

    /// Lets the timers that are due expire, and the application act.
    pub fn act(&mut self, now: Instant, config: &Flow) {
        for (host, awake) in self.pair.hosts.iter_mut().zip(&mut self.awake) {
            if host.deadline().is_some_and(|at| at <= now) {
                host.expire(now);
                *awake = true;
            }
        }
        if !self.is_over && self.next_act.is_some_and(|at| at <= now) {
            self.application_acts(now, config);
            self.awake[CLIENT] = true;
        }
    }

    fn application_acts(&mut self, now: Instant, config: &Flow) {
        let [client, _] = &mut self.pair.hosts;
        let left = self.left.unwrap_or(u64::MAX);
        let (amount, next) = match config.application {
            Application::Periodic { write, every } => (write.get().min(left), Some(now + every)),
            Application::Bulk | Application::Pausing { .. } => (left, None),
        };
        self.left = self.left.map(|left| left - amount);
        if self.left == Some(0) {
            client.application(now, Act::WriteLast(amount));
            self.next_act = None;
        } else {
            client.application(now, Act::Write(amount));
            self.next_act = next;
        }
    }

    /// Its `duration` is over, and so is the flow, whatever the stack has buffered.
    pub fn stop(&mut self, now: Instant) {
        if !self.is_over {
            self.pair.hosts[CLIENT].application(now, Act::Finish);
            self.finished = Some(now);
        }
    }

    /// The next datagram to leave at `now`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Leaving> {
        for from in [CLIENT, SERVER] {
            if !self.awake[from] {
                continue;
            }
            let host = &mut self.pair.hosts[from];
            if let Some(transmit) = host.transmit(now) {
                let is_data = from == CLIENT && self.established.is_some();
                let has_data = is_data && transmit.datagram.len() >= LEAST_DATA;
                return Some(Leaving {
                    transmit,
                    from,
                    has_data,
                });
            }
            self.awake[from] = false;
            if from == CLIENT && self.established.is_none() && host.facts().is_established {
                self.established = Some(now);
            }
        }
        None
    }

    /// Whether the flow has ended since the last call.
    pub fn take_end(&mut self, now: Instant) -> bool {
        if self.is_over {
            return false;
        }
        let [client, server] = self.pair.hosts.each_mut().map(|host| host.facts());
        if server.is_finished {
            self.finished = Some(now);
        }
        let ends = |host: &Facts| host.closed.is_some() || host.fault.is_some();
        self.is_over = self.finished.is_some() || ends(&client) || ends(&server);
        self.is_over
    }

    /// When a timer expires or the application acts.
    pub fn deadline(&mut self) -> Instant {
        let deadlines = self
            .pair
            .hosts
            .iter_mut()
            .filter_map(|host| host.deadline());
        let next = deadlines
            .chain(self.next_act.filter(|_| !self.is_over))
            .min();
        next.unwrap_or(Instant::MAX)
    }

    /// Whether its capacity point is known.
    pub const fn has_capacity(&self) -> bool {
        self.capacity.is_some()
    }

    /// A busy period of the bottleneck that lasts a base RTT while the flow sends is its capacity
    /// point.
    pub fn note_busy(&mut self, (since, until): Period, base_rtt: Duration) {
        if let (None, Some(established)) = (self.capacity, self.established) {
            let start = since.max(established);
            let until = self.finished.map_or(until, |finished| finished.min(until));
            if until.saturating_since(start) >= base_rtt {
                self.capacity = Some(start);
            }
        }
    }

    /// The result when the run ends, and the time series.
    pub fn end(
        &mut self,
        now: Instant,
        config: &Flow,
        unopened: FlowResult,
    ) -> (FlowResult, Option<FlowTrace>) {
        let Pair { hosts, meter } = &mut self.pair;
        let ended = Ended {
            now,
            config,
            established: self.established,
            finished: self.finished,
            capacity: self.capacity,
            facts: hosts.each_mut().map(|host| host.facts()),
            unopened,
        };
        (meter.result(&ended), meter.take_trace())
    }
}

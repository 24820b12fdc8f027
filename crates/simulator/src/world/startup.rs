//! The start-up of measured flows: what is measured of it, and what an oracle knows.
//!
//! A flow is looked at after each ACK of its slow start, and after that when its probe asks for it.
//! Looking changes nothing, except for an oracle, which hears of the path.

use congestion::{ExitReason, Fact, KnownPath, SlowStartExit, Unit};
use measure::{Bottleneck, SlowStartExitResult, StartupProbe};
use units::{Bytes, Duration, Instant, Rate};

use super::{FORWARD, World};
use crate::links::LinkState;

/// Payload of a full segment, and its IP packet.
const PAYLOAD: u64 = 1448;
const PACKET: u64 = 1500;
/// The knowledge of an oracle is at most this fraction of the base RTT old.
const FRESH: u64 = 16;

/// What an oracle knows, and since when.
#[derive(Clone, Copy, Debug)]
pub struct Oracle {
    known: Option<(Instant, KnownPath)>,
}

impl World<'_> {
    /// Begins to measure the start-up of a flow that starts now.
    pub(super) fn measure_startup(&mut self, flow: u32) {
        let state = &mut self.flows.measured[flow as usize];
        let link = &self.links[FORWARD as usize].link;
        let service = &self.scenario.path.forward.service;
        let rate = service.mean_rate();
        let rate = rate.filter(|_| self.routes.contains(state.data, FORWARD));
        let capacity = rate.map(|rate| payload_rate(rate, link.overhead()));
        let probe = StartupProbe::new(state.start, state.base_rtt, capacity);
        if let Some(endpoints) = state.endpoints.as_deref_mut() {
            endpoints.oracle = endpoints
                .sender
                .knows_path()
                .then(|| Box::new(Oracle { known: None }));
            endpoints.startup = Some(Box::new(probe));
            endpoints.look = Instant::ZERO;
        }
    }

    /// Looks at the start-up of a measured flow whose sender has just processed an ACK or a timeout.
    #[cold]
    #[inline(never)]
    pub(super) fn look_at_startup(&mut self, flow: u32) {
        let now = self.now;
        let state = &mut self.flows.measured[flow as usize];
        let uses_path = self.routes.contains(state.data, FORWARD);
        let base_rtt = state.base_rtt;
        let Some(endpoints) = state.endpoints.as_deref_mut() else {
            return;
        };
        let sender = &mut endpoints.sender;
        if let Some(oracle) = endpoints.oracle.as_deref_mut()
            && sender.is_established()
            && sender.window().in_slow_start()
        {
            let link = uses_path.then(|| &mut self.links[FORWARD as usize]);
            let mean = self.scenario.path.forward.service.mean_rate();
            sender.tell_path(now, &oracle.look(now, base_rtt, mean, link));
        }
        let Some(startup) = endpoints.startup.as_deref_mut() else {
            return;
        };
        let delivered = sender.delivered().get();
        startup.on_ack(now, sender.snd_una(), sender.snd_nxt(), delivered);
        let exit = sender.slow_start_exit();
        let ends = exit.filter(|_| !startup.has_exited());
        if ends.is_some() || startup.reads_queue(now) {
            let link = &mut self.links[FORWARD as usize];
            let bottleneck = uses_path.then(|| bottleneck(link, now));
            if let Some(exit) = ends {
                let (in_flight, limited) = (sender.bytes_in_flight(), sender.was_app_limited());
                startup.on_exit(exit.at, in_flight, limited, bottleneck.as_ref());
            }
            if startup.reads_queue(now) {
                startup.on_queue(bottleneck.map(|bottleneck| bottleneck.queue_max_packets));
            }
        }
        startup.plan();
        // An oracle that is in slow start again still wants to know.
        let is_slow = endpoints.oracle.is_some() && sender.window().in_slow_start();
        endpoints.look = if is_slow {
            Instant::ZERO
        } else {
            startup.due()
        };
    }

    /// Looks for the last time at the start-up of a measured flow that ends now.
    pub(super) fn end_startup(&mut self, flow: u32) {
        let now = self.now;
        let state = &mut self.flows.measured[flow as usize];
        if self.routes.contains(state.data, FORWARD)
            && let Some(endpoints) = state.endpoints.as_deref_mut()
            && let Some(startup) = endpoints.startup.as_deref_mut()
        {
            let link = &mut self.links[FORWARD as usize];
            startup.on_queue(Some(bottleneck(link, now).queue_max_packets));
        }
    }
}

impl Oracle {
    /// What the path is like at `now`.
    fn look(
        &mut self,
        now: Instant,
        base_rtt: Duration,
        mean: Option<Rate>,
        link: Option<&mut LinkState>,
    ) -> KnownPath {
        let Some(state) = link else {
            return UNLIMITED;
        };
        state.advance(now);
        let link = &state.link;
        let busy_for = link
            .busy_since(now)
            .map_or(Duration::ZERO, |since| now.saturating_since(since));
        let Some(mean) = mean else {
            return UNLIMITED;
        };
        let (_, queued) = state.link.queue_len(now);
        let link = &state.link;
        if let Some((at, known)) = self.known
            && now.saturating_since(at) < base_rtt / FRESH
        {
            let queue_delay = wait(known.rate, queued, link.overhead());
            return KnownPath {
                queue_delay,
                busy_for,
                ..known
            };
        }
        let until = |at: Instant| link.capacity(at).map(Bytes::get);
        let ahead = until(now + base_rtt).zip(until(now));
        let wire = match ahead {
            Some((later, before)) => Bytes::new(later.saturating_sub(before)),
            None => mean.bytes_in(base_rtt),
        };
        let packet = PACKET + u64::from(link.overhead());
        let bdp = wire.mul_div(PAYLOAD, packet);
        let rate = match u128::from(base_rtt.as_nanos()) {
            0 => payload_rate(mean, link.overhead()),
            nanos => {
                let bytes = u128::from(bdp.get()) * 1_000_000_000 / nanos;
                Rate::from_bytes_per_sec(u64::try_from(bytes).unwrap_or(u64::MAX).max(1))
            }
        };
        let known = KnownPath {
            rate,
            base_rtt,
            queue_delay: wait(rate, queued, link.overhead()),
            busy_for,
        };
        self.known = Some((now, known));
        known
    }
}

/// A path without a bottleneck: nothing ends slow start.
const UNLIMITED: KnownPath = KnownPath {
    rate: Rate::MAX,
    base_rtt: Duration::MAX,
    queue_delay: Duration::ZERO,
    busy_for: Duration::ZERO,
};

/// The rate of payload in full segments at a link's `rate`.
fn payload_rate(rate: Rate, overhead: u32) -> Rate {
    rate.mul_div(PAYLOAD, PACKET + u64::from(overhead))
}

/// How long `queued` bytes take at a `rate` of payload.
fn wait(rate: Rate, queued: Bytes, overhead: u32) -> Duration {
    let payload = queued.mul_div(PAYLOAD, PACKET + u64::from(overhead));
    if rate.bits_per_sec() == 0 {
        Duration::ZERO
    } else {
        rate.time_for(payload)
    }
}

fn bottleneck(state: &mut LinkState, now: Instant) -> Bottleneck {
    state.advance(now);
    Bottleneck {
        queue: state.link.queue_len(now),
        queue_max_packets: state.link.queue_max_packets(),
    }
}

/// The result of an exit at `exit`, of a flow that started at `start`.
pub fn exit_result(exit: &SlowStartExit, start: Instant) -> SlowStartExitResult {
    let facts = exit.reason.facts();
    let name = |fact: &Fact| {
        let unit = match fact.unit {
            Unit::Time => "_ms",
            Unit::Bytes => "_bytes",
            Unit::Rate => "_bps",
            Unit::Ratio | Unit::Count => "",
        };
        format!("{}{unit}", fact.name)
    };
    let value = |fact: &Fact| match fact.unit {
        Unit::Time => fact.value as f64 / 1e6,
        Unit::Ratio => fact.value as f64 / 1e3,
        Unit::Bytes | Unit::Rate | Unit::Count => fact.value as f64,
    };
    let is_test = match exit.reason {
        ExitReason::AckTrain { .. }
        | ExitReason::Delay { .. }
        | ExitReason::Search { .. }
        | ExitReason::Measured { .. } => true,
        ExitReason::ConservativeRounds { .. }
        | ExitReason::Bandwidth { .. }
        | ExitReason::Named { .. }
        | ExitReason::Decision
        | ExitReason::FullPipe { .. }
        | ExitReason::Threshold
        | ExitReason::Loss
        | ExitReason::Ecn
        | ExitReason::Timeout => false,
    };
    let pair = facts[0].as_ref().zip(facts[1].as_ref());
    SlowStartExitResult {
        time_s: exit.at.saturating_since(start).as_secs_f64(),
        cwnd_bytes: exit.cwnd.get(),
        reason: exit.reason.name().to_owned(),
        evidence: exit.reason.to_string(),
        values: facts
            .iter()
            .flatten()
            .map(|fact| (name(fact), value(fact)))
            .collect(),
        measured: pair
            .filter(|_| is_test)
            .map(|(measured, threshold)| [value(measured), value(threshold)]),
        path: None,
    }
}

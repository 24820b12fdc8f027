//! The result of a flow that has ended.

use std::sync::Arc;

use congestion::{Algorithm, ExitReason, Resumption, SlowStartExit};
use measure::{
    CapacityPoint, ExitClass, FlowResult, ResumptionResult, SlowStartExitResult, StartupProbe,
    classify,
};
use scenario::Flow;
use units::{Duration, Instant};

use super::{Arrived, Endpoints, FlowState, exit_result};

/// The names of the last flow that ended, as results have them. The next one often has the same, and
/// shares them.
#[derive(Debug, Default)]
pub(super) struct Names(Option<(Arc<str>, Arc<Algorithm>, Arc<str>)>);

impl Names {
    /// The names of a flow and of its algorithm.
    pub(super) fn of(&mut self, config: &Flow) -> (Arc<str>, Arc<str>) {
        let Flow {
            name, algorithm, ..
        } = config;
        let known = self.0.take();
        let known = known.filter(|(last, of, _)| **last == **name && Arc::ptr_eq(of, algorithm));
        let make = || {
            let canonical = algorithm.name().into();
            (name.as_str().into(), Arc::clone(algorithm), canonical)
        };
        let (name, _, canonical) = self.0.insert(known.unwrap_or_else(make));
        (Arc::clone(name), Arc::clone(canonical))
    }
}

impl FlowState<'_> {
    /// The result of the flow that `config` describes: its own, or that of a start-up that watched
    /// it. `decision` is what a passive start-up decided.
    pub(super) fn result_of(
        &self,
        config: &Flow,
        decision: Option<SlowStartExit>,
        endpoints: &Endpoints,
        arrived: Arrived,
        now: Instant,
        names: &mut Names,
    ) -> FlowResult {
        let start = self.place.start;
        let since = |at: Instant| at.saturating_since(start).as_secs_f64();
        let millis = |span: Duration| span.as_nanos() as f64 / 1e6;
        let Endpoints { sender, probe, .. } = endpoints;
        let stats = sender.stats();
        let finished = self.finished_at(arrived, now);
        let end = finished.unwrap_or(now);
        let seconds = end.saturating_since(start).as_secs_f64();
        let exit = sender.slow_start_exit();
        // After a loss has ended slow start, a passive decision has no effect.
        let passive = decision.filter(|decision| exit.is_none_or(|exit| decision.at <= exit.at));
        let startup = endpoints.startup.as_deref();
        let exit_class = passive
            .or(exit)
            .filter(|_| startup.is_none_or(StartupProbe::has_capacity))
            .map(|exit| classify(exit.at, exit.reason.is_congestion(), endpoints.capacity));
        let is_test = |exit: &SlowStartExit| {
            !exit.reason.is_congestion() && exit.reason != ExitReason::Threshold
        };
        let mss = self.place.config.settings.mss.get().max(1);
        let in_packets = |exit: SlowStartExitResult| exit.in_packets_of(mss);
        let is_early = exit_class == Some(ExitClass::Early) && exit.as_ref().is_some_and(is_test);
        let (name, algorithm) = names.of(config);
        FlowResult {
            flow: self.place.index,
            name,
            algorithm,
            stack: None,
            start_s: start.as_secs_f64(),
            bytes_acked: stats.bytes_acked,
            completed: finished.is_some(),
            fct_s: finished.map(since),
            goodput_bps: if seconds > 0.0 {
                arrived.delivered.get() as f64 * 8.0 / seconds
            } else {
                0.0
            },
            segments_sent: stats.segments_sent,
            segments_retransmitted: stats.segments_retransmitted,
            segments_lost: stats.net_losses(),
            segments_dropped: Some(probe.drops),
            loss_ratio: if stats.segments_sent > 0 {
                stats.net_losses() as f64 / stats.segments_sent as f64
            } else {
                0.0
            },
            timeouts: stats.timeouts,
            rtt_min_ms: probe.rtt.min().map(millis),
            rtt_mean_ms: probe.rtt.mean().map(millis),
            rtt_p95_ms: probe.rtt.quantile(950).map(millis),
            slow_start_exit: exit.map(|exit| {
                Box::new(SlowStartExitResult {
                    path: startup.and_then(StartupProbe::at_exit),
                    ..in_packets(exit_result(&exit, start))
                })
            }),
            passive_exit: passive.map(|exit| Box::new(in_packets(exit_result(&exit, start)))),
            capacity: CapacityPoint {
                true_s: endpoints.capacity.map(since),
                latency_offset_s: probe.latency.at_capacity().map(since),
                median_throughput_bps: probe.throughput.bits_per_second(),
            },
            first_drop_s: probe.first_drop.map(since),
            first_loss_s: stats.first_loss.map(since),
            exit_class,
            closed: None,
            startup: startup.map(|startup| {
                let delivered = sender.payload_delivered().get();
                startup.result(delivered, finished.is_some(), is_early)
            }),
            resumption: sender
                .resumption()
                .map(|seen| Box::new(resumption(&seen, start))),
        }
    }
}

/// The phases of a connection that may use what earlier ones had saved.
fn resumption(seen: &Resumption, start: Instant) -> ResumptionResult {
    let since = |at: Instant| at.saturating_since(start).as_secs_f64();
    ResumptionResult {
        saved_cwnd_bytes: seen.saved_cwnd.get(),
        saved_rtt_ms: seen.saved_rtt.as_nanos() as f64 / 1e6,
        age_s: seen.age.map(Duration::as_secs_f64),
        reconnaissance_s: seen.reconnaissance.map(since),
        unvalidated_s: seen.unvalidated.map(since),
        validating_s: seen.validating.map(since),
        safe_retreat_s: seen.safe_retreat.map(since),
        jump_cwnd_bytes: seen.jump.map(units::Bytes::get),
        normal_s: seen.end.map(|(at, _)| since(at)),
        end: seen.end.map(|(_, how)| how.word().to_owned()),
    }
}

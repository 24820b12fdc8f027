//! Turns the observations of a run into its result, by the same definitions as in a simulation.

use std::collections::BTreeMap;

use measure::{CapacityPoint, FlowResult, RunResult, SlowStartExitResult, Stack, Traces, classify};
use scenario::Scenario;
use units::{Duration, Instant};

use crate::observe::Observer;
use crate::plan::{FlowPlan, Plan};
use crate::sampler::{Seen, Watched};
use crate::shared::{self, Shared};
use emulator::{Direction, FlowFacts, Report};

fn millis(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e6
}

/// Combines what the sender's kernel, the receiving application and the network know.
pub(crate) fn result_of(
    scenario: &Scenario,
    (run, seed): (u32, u64),
    plan: &Plan,
    shared: &Shared,
    mut seen: Seen,
    report: &Report,
) -> (RunResult, Traces) {
    // The network's facts about each flow's data: index in the report by index in the scenario.
    let network: BTreeMap<u32, usize> = report
        .flows
        .iter()
        .enumerate()
        .filter(|(_, facts)| facts.direction == Direction::Forward && facts.key.tcp)
        .filter_map(|(at, facts)| Some((shared::flow_of(*facts.key.source.ip())?, at)))
        .collect();
    let mut opened: BTreeMap<u32, &mut Watched> = seen
        .flows
        .iter_mut()
        .map(|flow| (flow.flow, flow))
        .collect();
    replay_latencies(&network, &mut opened, report);
    let flows = plan
        .flows
        .iter()
        .map(|flow| {
            let facts = network.get(&flow.index).map(|&at| &report.flows[at]);
            match opened.get(&flow.index) {
                Some(watched) => flow_result(scenario, flow, shared, watched, facts, report),
                None => unopened(flow, facts),
            }
        })
        .collect();
    let result = RunResult {
        run,
        seed,
        stack: Stack::Linux,
        stack_version: emulator::release(),
        scenario: scenario.name.clone(),
        path: scenario.path.name.clone(),
        end_s: seen.end.as_secs_f64(),
        flows,
        links: vec![report.forward.result.clone(), report.reverse.result.clone()],
        traffic: Vec::new(),
        network: None,
    };
    let traces = Traces {
        run,
        scenario: scenario.name.clone(),
        path: scenario.path.name.clone(),
        flows: seen
            .flows
            .iter_mut()
            .filter_map(|flow| flow.observer.trace.take())
            .collect(),
        links: [&report.forward, &report.reverse]
            .into_iter()
            .filter_map(|link| link.trace.clone())
            .collect(),
    };
    (result, traces)
}

/// The latency heuristic, with the smallest RTT that the sender knew when a packet arrived.
fn replay_latencies(
    network: &BTreeMap<u32, usize>,
    opened: &mut BTreeMap<u32, &mut Watched>,
    report: &Report,
) {
    let mut flows: BTreeMap<u32, (usize, &mut Watched)> = network
        .iter()
        .filter_map(|(flow, &at)| Some((at as u32, flow)).zip(opened.remove(flow)))
        .map(|((at, _), watched)| (at, (0, watched)))
        .collect();
    for delivery in &report.deliveries {
        let Some((known, watched)) = flows.get_mut(&delivery.flow) else {
            continue;
        };
        let observer = &mut watched.observer;
        while observer
            .min_rtts
            .get(*known)
            .is_some_and(|(at, _)| *at <= delivery.due)
        {
            *known += 1;
        }
        let min_rtt = known.checked_sub(1).map(|at| observer.min_rtts[at].1);
        observer
            .probe
            .latency
            .on_arrival(delivery.due, delivery.latency, min_rtt);
    }
    for (_, (_, watched)) in flows {
        opened.insert(watched.flow, watched);
    }
}

fn flow_result(
    scenario: &Scenario,
    plan: &FlowPlan,
    shared: &Shared,
    watched: &Watched,
    facts: Option<&FlowFacts>,
    report: &Report,
) -> FlowResult {
    let observer = &watched.observer;
    let start = observer.start;
    let since = |at: Instant| at.saturating_since(start).as_secs_f64();
    let progress = &shared.flows[plan.index as usize];
    // Forward data arrives one access delay too early, as in the simulator.
    let finished = progress.finished().map(|at| at + plan.extra_delay);
    let seconds = since(finished.unwrap_or(watched.end));
    let base_rtt = scenario.path.base_rtt + plan.extra_delay * 2;
    let capacity = capacity(report, start, watched.end, base_rtt);
    let sent = observer.segments_sent();
    let lost = observer.segments_lost();
    // If a loss had already ended slow start, the decision would have ended nothing.
    let passive = watched
        .passive
        .filter(|at| observer.exit.is_none_or(|exit| *at <= exit.at));
    let passive_exit = passive.zip(watched.decision).map(|(at, decision)| {
        let cwnd_bytes = u64::from(decision.cwnd) * observer.smss();
        let exit = SlowStartExitResult::without_evidence(since(at), cwnd_bytes, plan.kind.exit);
        Box::new(with_norm(exit.in_packets_of(observer.smss()), watched))
    });
    FlowResult {
        flow: plan.index,
        name: plan.name.as_str().into(),
        algorithm: plan.algorithm.as_str().into(),
        stack: None,
        start_s: start.as_secs_f64(),
        bytes_acked: observer.acked(),
        completed: finished.is_some(),
        fct_s: finished.map(since),
        goodput_bps: if seconds > 0.0 {
            progress.delivered() as f64 * 8.0 / seconds
        } else {
            0.0
        },
        segments_sent: sent,
        segments_retransmitted: observer.segments_retransmitted(),
        segments_lost: lost,
        segments_dropped: facts.map(|facts| facts.data_drops),
        loss_ratio: if sent > 0 {
            lost as f64 / sent as f64
        } else {
            0.0
        },
        timeouts: observer.timeouts(),
        rtt_min_ms: observer.min_rtt().map(millis),
        rtt_mean_ms: observer.probe.rtt.mean().map(millis),
        rtt_p95_ms: observer.probe.rtt.quantile(950).map(millis),
        slow_start_exit: exit_of(observer).map(|exit| Box::new(with_norm(exit, watched))),
        passive_exit,
        capacity: CapacityPoint {
            true_s: capacity.map(since),
            latency_offset_s: observer.probe.latency.at_capacity().map(since),
            median_throughput_bps: observer.probe.throughput.bits_per_second(),
        },
        first_drop_s: facts.and_then(|facts| facts.first_data_drop).map(since),
        first_loss_s: observer.first_loss.map(since),
        exit_class: passive
            .map(|at| (at, false))
            .or(observer.exit.map(|exit| (exit.at, exit.by_congestion)))
            .map(|(at, by_congestion)| classify(at, by_congestion, capacity)),
        startup: None,
        resumption: None,
        closed: None,
    }
}

/// The end of the first slow start, if it was observed.
pub(crate) fn exit_of(observer: &Observer) -> Option<SlowStartExitResult> {
    let exit = observer.exit?;
    let at_s = exit.at.saturating_since(observer.start).as_secs_f64();
    let smss = observer.smss();
    let exit = SlowStartExitResult::without_evidence(at_s, exit.cwnd_segments * smss, exit.reason);
    Some(exit.in_packets_of(smss))
}

/// The evidence of an exit by SEARCH, whose program in the kernel reports the norm. Of other exits
/// the kernel reports the reason alone.
fn with_norm(mut exit: SlowStartExitResult, watched: &Watched) -> SlowStartExitResult {
    if let Some(decision) = watched.decision.as_ref()
        && exit.reason == "search"
    {
        let norm = decision.norm_permille as f64 / 1e3;
        exit.evidence = format!("search: norm {norm:.2}").into();
        exit.values.insert("norm".to_owned(), norm);
    }
    exit
}

/// The first moment from which the bottleneck stays busy for one base RTT while the flow runs.
fn capacity(report: &Report, start: Instant, end: Instant, base_rtt: Duration) -> Option<Instant> {
    report
        .forward
        .busy_periods
        .iter()
        .map(|&(since, until)| (since.max(start), until.min(end)))
        .find(|&(since, until)| until > since && until.saturating_since(since) >= base_rtt)
        .map(|(since, _)| since)
}

/// A flow whose connection did not open before the end of the run, or of its own time.
fn unopened(plan: &FlowPlan, facts: Option<&FlowFacts>) -> FlowResult {
    let start = facts.map_or(plan.start, |facts| facts.first_packet);
    let [name, algorithm] = [&plan.name, &plan.algorithm].map(|text| text.as_str().into());
    FlowResult::unopened(plan.index, name, algorithm, start.as_secs_f64())
}

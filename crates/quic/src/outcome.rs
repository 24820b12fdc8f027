//! The result of a run, by the definitions that hold for the simulated TCP.

use measure::{
    CapacityPoint, FlowResult, LinkResult, RunResult, SlowStartExitResult, Traces, classify,
};
use network::{Link, Payload, Period};
use scenario::Scenario;
use simulator::{RunOutput, exit_result};
use units::{Duration, Instant};

use crate::dial::Control;
use crate::endpoint::DATAGRAM;
use crate::flow::Flow;
use crate::stack::Stack;

/// A busy period of the bottleneck, for the capacity point of `flow`.
pub(crate) fn note_busy(flow: &mut Flow<'_>, (since, until): Period, base_rtt: Duration) {
    if let (None, Some(established)) = (flow.capacity, flow.established) {
        let start = since.max(established);
        let until = flow.finished.map_or(until, |finished| finished.min(until));
        if until.saturating_since(start) >= base_rtt {
            flow.capacity = Some(start);
        }
    }
}

pub(crate) fn output<T: Payload>(
    scenario: &Scenario,
    (run, seed): (u32, u64),
    stack: &Stack,
    now: Instant,
    mut links: [Link<T>; 2],
    mut flows: Vec<Flow<'_>>,
    traced: bool,
) -> RunOutput {
    for link in &mut links {
        link.advance(now);
    }
    while let Some(period) = links[0].take_busy_period() {
        for flow in &mut flows {
            note_busy(flow, period, scenario.path.base_rtt);
        }
    }
    if let Some(period) = links[0].last_busy_period(now) {
        for flow in &mut flows {
            note_busy(flow, period, scenario.path.base_rtt);
        }
    }
    let results = flows.iter_mut().enumerate();
    let results = results.map(|(index, flow)| flow_result(index as u32, flow, now));
    let result = RunResult {
        run,
        seed,
        stack: stack.kind,
        stack_version: Some(stack.version.to_owned()),
        scenario: scenario.name.clone(),
        path: scenario.path.name.clone(),
        end_s: now.as_secs_f64(),
        flows: results.collect(),
        links: links
            .into_iter()
            .map(|link| link_result(link, now))
            .collect(),
        traffic: Vec::new(),
        network: None,
    };
    let traces = traced.then(|| Traces {
        run,
        scenario: scenario.name.clone(),
        path: scenario.path.name.clone(),
        flows: flows
            .iter()
            .zip(&result.flows)
            .filter_map(|(flow, result)| {
                let mut trace = flow.observer.seen().trace.take()?;
                trace.algorithm.clone_from(&result.algorithm);
                Some(trace)
            })
            .collect(),
        links: Vec::new(),
    });
    RunOutput {
        result,
        traces,
        packets: Vec::new(),
    }
}

fn link_result<T: Payload>(mut link: Link<T>, now: Instant) -> LinkResult {
    let summary = link.summary(now);
    assert!(
        summary.counters.conserve(link.held()),
        "a link's packet counters do not balance"
    );
    LinkResult {
        name: link.name().to_owned(),
        utilization: summary.utilization,
        packets: summary.counters.packets_out,
        drops: summary.counters.dropped(),
        marks: summary.counters.marks,
        queue_max_packets: summary.queue_max_packets,
        queue_mean_packets: summary.queue_mean_packets,
        queue_distribution: None,
    }
}

fn flow_result(index: u32, flow: &mut Flow<'_>, now: Instant) -> FlowResult {
    let config = flow.config;
    let start = config.start;
    let algorithm = match &flow.control {
        Control::Own(own) => format!("own:{}", own.name),
        Control::Ours(algorithm) => algorithm.name().to_owned(),
    };
    let unopened = FlowResult::unopened(index, &config.name, &algorithm, start.as_secs_f64());
    let Some(hosts) = &mut flow.hosts else {
        return unopened;
    };
    let [client, server] = hosts.each_mut().map(|host| host.facts());
    let seen = flow.observer.seen();
    let since = |at: Instant| at.saturating_since(start).as_secs_f64();
    let millis = |span: Duration| span.as_nanos() as f64 / 1e6;
    // A timed transfer never completes.
    let finished = flow
        .finished
        .filter(|_| config.size.is_some() && config.duration.is_none());
    let seconds = since(flow.finished.unwrap_or(now));
    let sent = client.packets_sent;
    let lost = client.packets_lost.min(sent);
    // Times of our algorithms count from the start of the connection.
    let ours = seen.exit.map(|exit| {
        let at = start + exit.at.saturating_since(Instant::ZERO);
        (
            at,
            exit.reason.is_congestion(),
            exit_result(&exit, Instant::ZERO),
        )
    });
    let own = seen.own_exit.map(|exit| {
        let result = SlowStartExitResult::without_evidence(since(exit.at), exit.cwnd, exit.reason);
        (exit.at, exit.reason != "stack", result)
    });
    let exit = match &flow.control {
        Control::Own(_) => own,
        Control::Ours(_) => ours,
    };
    let exit_class = exit
        .as_ref()
        .map(|(at, by_congestion, _)| classify(*at, *by_congestion, flow.capacity));
    FlowResult {
        bytes_acked: server.received,
        completed: finished.is_some(),
        fct_s: finished.map(since),
        goodput_bps: if seconds > 0.0 {
            server.received as f64 * 8.0 / seconds
        } else {
            0.0
        },
        segments_sent: sent,
        segments_retransmitted: lost,
        segments_lost: lost,
        segments_dropped: Some(seen.probe.drops),
        loss_ratio: if sent > 0 {
            lost as f64 / sent as f64
        } else {
            0.0
        },
        timeouts: seen.persistent,
        rtt_min_ms: seen.probe.rtt.min().map(millis),
        rtt_mean_ms: seen.probe.rtt.mean().map(millis),
        rtt_p95_ms: seen.probe.rtt.quantile(950).map(millis),
        slow_start_exit: exit.map(|(_, _, exit)| exit.in_packets_of(DATAGRAM.into())),
        capacity: CapacityPoint {
            true_s: flow.capacity.map(since),
            latency_offset_s: seen.probe.latency.at_capacity().map(since),
            median_throughput_bps: seen.probe.throughput.bits_per_second(),
        },
        first_drop_s: seen.probe.first_drop.map(since),
        first_loss_s: seen.first_loss.map(since),
        exit_class,
        closed: server.closed.or(client.closed),
        ..unopened
    }
}

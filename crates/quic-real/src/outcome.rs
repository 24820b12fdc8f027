//! Turns the observations of a run into its result, by the same definitions as in virtual time.

use emulator::{Direction, Report};
use measure::{FlowResult, FlowTrace, RunResult, Traces};
use quic_stacks::{RealClient, Stack};
use scenario::{Flow, Scenario};
use simulator::{Ended, Facts, LEAST_DATA};
use units::{Duration, Instant};

use crate::hosts;
use crate::shared::Progress;
use crate::socket::Sent;

/// A run at its end.
pub(crate) struct Ends {
    now: Instant,
    pub(crate) flows: Vec<FlowEnd>,
}

/// A flow at the end of the run.
pub(crate) struct FlowEnd {
    start: Option<Instant>,
    established: Option<Instant>,
    finished: Option<Instant>,
    /// The client and the server.
    facts: [Facts; 2],
    pub(crate) sent: Sent,
}

/// The state of the flows at `now`, the end of the run, while the connections are open.
pub(crate) fn ends(flows: Vec<Progress>, now: Instant) -> Ends {
    let flows = flows.into_iter().map(|progress| {
        let stats = progress.connection.map(|connection| connection.stats());
        let client = Facts {
            is_established: progress.established.is_some(),
            closed: progress.closed,
            packets_sent: stats.map_or(0, |stats| stats.frame_tx.stream),
            packets_lost: stats.map_or(0, |stats| stats.path.lost_packets),
            ..Facts::default()
        };
        let server = Facts {
            is_finished: progress.finished.is_some(),
            received: progress.received,
            ..Facts::default()
        };
        FlowEnd {
            start: progress.start,
            established: progress.established,
            finished: progress.finished,
            facts: [client, server],
            sent: progress
                .socket
                .map_or(Sent::default(), |socket| socket.sent()),
        }
    });
    Ends {
        now,
        flows: flows.collect(),
    }
}

/// Combines what the senders, the receiving applications and the network know.
pub(crate) fn result_of(
    scenario: &Scenario,
    (run, seed): (u32, u64),
    stack: &Stack,
    clients: Vec<RealClient>,
    ends: &Ends,
    report: &Report,
) -> (RunResult, Traces) {
    replay(&clients, ends, report);
    let base_rtt = scenario.path.base_rtt;
    let mut flows = Vec::new();
    let mut traces = Vec::new();
    for (flow, (client, end)) in clients.into_iter().zip(&ends.flows).enumerate() {
        let capacity = capacity(report, end, base_rtt);
        let settings = &scenario.flows[flow];
        let (result, trace) = flow_result(flow as u32, settings, client, end, ends.now, capacity);
        flows.push(result);
        traces.extend(trace);
    }
    let links = [&report.forward, &report.reverse];
    let result = RunResult {
        run,
        seed,
        stack: stack.kind,
        stack_version: Some(stack.version.to_owned()),
        scenario: scenario.name.clone(),
        path: scenario.path.name.clone(),
        end_s: ends.now.as_secs_f64(),
        flows,
        links: links.map(|link| link.result.clone()).to_vec(),
        traffic: Vec::new(),
        network: None,
    };
    let traces = Traces {
        run,
        scenario: scenario.name.clone(),
        path: scenario.path.name.clone(),
        flows: traces,
        links: links
            .into_iter()
            .filter_map(|link| link.trace.clone())
            .collect(),
    };
    (result, traces)
}

/// Shows each client the arrivals and drops of its packets with data.
fn replay(clients: &[RealClient], ends: &Ends, report: &Report) {
    let client = |port: u16, payload: u32, at: Instant| {
        let flow = usize::from(hosts::flow_of(port)?);
        let established = ends.flows.get(flow)?.established?;
        let has_data = payload as usize >= LEAST_DATA && at >= established;
        clients.get(flow).filter(|_| has_data)
    };
    for delivery in &report.deliveries {
        let facts = &report.flows[delivery.flow as usize];
        if facts.direction != Direction::Forward {
            continue;
        }
        let left = delivery.due - delivery.latency;
        if let Some(client) = client(facts.key.source.port(), delivery.payload, left) {
            client.on_arrival(delivery.due, delivery.latency);
        }
    }
    let drops = report.drops.iter();
    for drop in drops.filter(|drop| drop.direction == Direction::Forward) {
        let Some(key) = &drop.key else { continue };
        if let Some(client) = client(key.source.port(), drop.payload, drop.at) {
            client.on_drop(drop.at);
        }
    }
}

fn flow_result(
    flow: u32,
    settings: &Flow,
    client: RealClient,
    end: &FlowEnd,
    now: Instant,
    capacity: Option<Instant>,
) -> (FlowResult, Option<FlowTrace>) {
    let start = end.start.unwrap_or(settings.start);
    let algorithm = client.algorithm();
    let (name, algorithm) = (settings.name.as_str().into(), algorithm.into());
    let unopened = FlowResult::unopened(flow, name, algorithm, start.as_secs_f64());
    if end.start.is_none() {
        return (unopened, None);
    }
    client.end(&Ended {
        now,
        // Times count from the call of `connect`.
        config: &Flow {
            start,
            ..settings.clone()
        },
        established: end.established,
        finished: end.finished,
        capacity,
        facts: end.facts.clone(),
        unopened,
    })
}

/// The first moment from which the bottleneck stays busy for one base RTT while the flow sends.
fn capacity(report: &Report, end: &FlowEnd, base_rtt: Duration) -> Option<Instant> {
    let established = end.established?;
    let periods = report.forward.busy_periods.iter();
    let mut sending = periods.map(|&(since, until)| {
        let until = end.finished.map_or(until, |finished| finished.min(until));
        (since.max(established), until)
    });
    let found = sending.find(|&(since, until)| until.saturating_since(since) >= base_rtt);
    found.map(|(since, _)| since)
}

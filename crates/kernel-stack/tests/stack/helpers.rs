//! Short ways to a run, and checks that hold for every run.

use std::sync::atomic::AtomicBool;

use congestion::Algorithm;
use emulator::Direction;
use kernel_stack::{self as stack, StackOptions, StackOutput};
use measure::{FlowResult, FlowTrace};
use network::{Discipline, LinkConfig, QueueConfig, QueueLimit, Service};
use scenario::{Flow, FlowSettings, PathModel, Scenario};
use units::{Bytes, Duration, Rate};

use crate::common::turns::Turn;

/// Payload of a full packet.
pub const SMSS: u64 = 1448;

pub fn link(name: &str, service: Service, limit: QueueLimit, delay: Duration) -> LinkConfig {
    LinkConfig {
        name: name.to_owned(),
        service,
        overhead: 14,
        queue: QueueConfig {
            limit,
            discipline: Discipline::DropTail,
        },
        delay,
        ..LinkConfig::DEFAULT
    }
}

/// A drop-tail bottleneck and an unlimited reverse path.
pub fn wired(mbit: u64, rtt_ms: u64, buffer_packets: u64) -> PathModel {
    let half = Duration::from_micros(rtt_ms * 500);
    let rate = Rate::from_bits_per_sec(mbit * 1_000_000);
    let limit = QueueLimit::Packets(buffer_packets);
    let forward = link("forward", Service::Fixed(rate), limit, half);
    let reverse = link("reverse", Service::Unlimited, QueueLimit::Unlimited, half);
    PathModel::from_links("wired", "", forward, reverse)
}

pub fn flow(name: &str, bytes: u64) -> Flow {
    let algorithm = Algorithm::parse(name).unwrap_or_else(|error| panic!("{error}"));
    Flow {
        size: Some(Bytes::new(bytes)),
        ..Flow::new(algorithm)
    }
}

/// A flow with other settings.
pub fn with(mut flow: Flow, set: impl FnOnce(&mut FlowSettings)) -> Flow {
    set(&mut flow.settings);
    flow
}

pub fn traced() -> StackOptions {
    StackOptions {
        traces: true,
        hystart_switch: true,
        ..StackOptions::default()
    }
}

pub fn run(scenario: &Scenario) -> StackOutput {
    let output = stack::run(scenario, 0, &traced(), &AtomicBool::new(false))
        .unwrap_or_else(|error| panic!("{error}"));
    for reason in &output.check.reasons {
        eprintln!("self-check failed: {reason}");
    }
    check_accounts(&output);
    output
}

/// A run of a turn.
pub fn run_in(turn: &mut Turn, scenario: &Scenario) -> StackOutput {
    let output = run(scenario);
    turn.note(&output.check);
    output
}

pub fn traces(output: &StackOutput) -> &[FlowTrace] {
    &output.traces.as_ref().expect("traces").flows
}

/// Checks every run: the kernel and the network agree about what was sent and dropped.
pub fn check_accounts(output: &StackOutput) {
    assert!(output.report.forward.conserved() && output.report.reverse.conserved());
    for flow in &output.result.flows {
        assert!(flow.bytes_acked <= flow.segments_sent * SMSS, "{flow:?}");
        assert!(flow.segments_retransmitted <= flow.segments_sent);
        assert!(flow.segments_dropped.is_some());
        if !flow.completed {
            continue;
        }
        let facts = output
            .report
            .flows
            .iter()
            .find(|facts| {
                facts.direction == Direction::Forward
                    && u32::from(*facts.key.source.ip()) & 0xffff == flow.flow + 1
            })
            .expect("the network saw the flow");
        assert_eq!(facts.data_packets, flow.segments_sent, "{flow:?}");
        assert_eq!(facts.retransmitted, flow.segments_retransmitted, "{flow:?}");
        assert_eq!(Some(facts.data_drops), flow.segments_dropped);
    }
}

/// Checks a complete flow over a clean path of `rtt_ms`.
pub fn check_complete(flow: &FlowResult, bytes: u64, rtt_ms: f64) {
    assert!(flow.completed, "{flow:?}");
    assert_eq!(flow.bytes_acked, bytes);
    let fct = flow.fct_s.expect("a completion time");
    assert!(fct > 2.0 * rtt_ms / 1e3, "{flow:?}");
    let goodput = bytes as f64 * 8.0 / fct;
    assert!((flow.goodput_bps / goodput - 1.0).abs() < 1e-9, "{flow:?}");
    let [min, mean, p95] = [flow.rtt_min_ms, flow.rtt_mean_ms, flow.rtt_p95_ms]
        .map(|value| value.unwrap_or_else(|| panic!("{flow:?}")));
    assert!(min >= rtt_ms && min < rtt_ms + 2.0, "{flow:?}");
    assert!(min <= mean && mean <= 3.0 * rtt_ms, "{flow:?}");
    assert!(p95 >= min, "{flow:?}");
    // The sender retransmits what was dropped, and little more.
    let dropped = flow.segments_dropped.unwrap_or(0);
    assert!(flow.segments_retransmitted >= dropped, "{flow:?}");
    assert!(
        flow.segments_retransmitted <= dropped + 5 + dropped / 10,
        "{flow:?}"
    );
    assert_eq!(flow.first_drop_s.is_some(), dropped > 0);
    if let (Some(drop), Some(loss)) = (flow.first_drop_s, flow.first_loss_s) {
        // The sender detects a drop from the ACKs of later segments.
        assert!(loss > drop && loss < drop + 5.0 * rtt_ms / 1e3, "{flow:?}");
    }
}

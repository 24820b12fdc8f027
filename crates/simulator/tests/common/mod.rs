//! Short ways to a run.
#![allow(dead_code, reason = "each test file uses its part")]

use std::sync::atomic::AtomicBool;

use congestion::Algorithm;
use network::{Discipline, LinkConfig, LossConfig, QueueConfig, QueueLimit, Service};
use scenario::{Flow, PathModel, Scenario};
use simulator::{RunOptions, RunOutput};
use units::{Duration, Rate};

pub fn algorithm(name: &str) -> Algorithm {
    Algorithm::parse(name).unwrap_or_else(|error| panic!("{error}"))
}

pub fn link(name: &str, service: Service, limit: QueueLimit, delay: Duration) -> LinkConfig {
    LinkConfig {
        name: name.to_owned(),
        service,
        overhead: 14,
        queue: QueueConfig {
            limit,
            discipline: Discipline::DropTail,
        },
        loss: LossConfig::None,
        delay,
        jitter: None,
    }
}

/// A drop-tail bottleneck and a free way back.
pub fn wired(mbit: u64, rtt_ms: u64, buffer_packets: u64) -> PathModel {
    let half = Duration::from_micros(rtt_ms * 500);
    PathModel::from_links(
        "wired",
        "",
        link(
            "forward",
            Service::Fixed(Rate::from_bits_per_sec(mbit * 1_000_000)),
            QueueLimit::Packets(buffer_packets),
            half,
        ),
        link("reverse", Service::Unlimited, QueueLimit::Unlimited, half),
    )
}

pub fn run(scenario: &Scenario, traces: bool) -> RunOutput {
    simulator::run(scenario, 0, &RunOptions { traces }, &AtomicBool::new(false))
        .expect("nobody cancels")
}

pub fn run_traced(path: &PathModel, flow: Flow) -> RunOutput {
    run(&Scenario::new(path.clone(), vec![flow]), true)
}

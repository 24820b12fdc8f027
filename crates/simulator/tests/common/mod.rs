//! Short ways to a run.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::Path;
use std::sync::atomic::AtomicBool;

use congestion::{Algorithm, PARTS, PartKind, Problem};
use network::{Discipline, LinkConfig, LossConfig, QueueConfig, QueueLimit, Service};
use scenario::{Flow, PathModel, Scenario};
use simulator::{RunOptions, RunOutput};
use units::{Duration, Rate};

pub fn algorithm(name: &str) -> Algorithm {
    Algorithm::parse(name).unwrap_or_else(|error| panic!("{error}"))
}

/// Every avoidance with every start-up that has a meaning with it, and every whole congestion control.
pub fn combinations() -> Vec<String> {
    let named = |kind| {
        let parts = PARTS.iter().filter(move |part| part.kind == kind);
        parts.map(|part| part.name)
    };
    let pairs = named(PartKind::Avoidance).flat_map(|avoidance| {
        named(PartKind::Startup).map(move |startup| format!("{avoidance}+{startup}"))
    });
    let has_meaning = |name: &String| {
        let problem = Algorithm::parse(name).map_err(|error| error.problem);
        !matches!(problem, Err(Problem::Contradiction { .. }))
    };
    let wholes = named(PartKind::Whole).map(str::to_owned);
    pairs.filter(has_meaning).chain(wholes).collect()
}

/// Compares `text` with a file of `tests/`, line by line; with `SLOWSTART_SNAPSHOT=write` in the
/// environment it becomes that file, and its difference is to be read before it is committed.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment says whether a new table is taken"
)]
pub fn compare_with_snapshot(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(file);
    if std::env::var("SLOWSTART_SNAPSHOT").is_ok_and(|word| word == "write") {
        std::fs::write(&path, text).expect("the table can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    for (found, expected) in text.lines().zip(expected.lines()) {
        assert_eq!(found, expected, "a row of {file} has changed");
    }
    assert_eq!(
        text.lines().count(),
        expected.lines().count(),
        "rows of {file}"
    );
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

//! Helpers to set up and run scenarios.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::Path;
use std::sync::atomic::AtomicBool;

use congestion::{Algorithm, PARTS, PartKind, Problem};
use network::{Discipline, LinkConfig, QueueConfig, QueueLimit, Service};
use scenario::{Flow, PathModel, Scenario};
use simulator::{RunOptions, RunOutput};
use testing::snapshot::Table;
use units::{Duration, Rate};

pub fn algorithm(name: &str) -> Algorithm {
    Algorithm::parse(name).unwrap_or_else(|error| panic!("{error}"))
}

/// The most memory that this process has had, in bytes.
pub fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this process");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kb = line.and_then(|line| line.split_whitespace().nth(1));
    1024 * kb.and_then(|kb| kb.parse::<u64>().ok()).expect("a number")
}

/// Every valid combination of avoidance and start-up, and every monolithic congestion control.
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
    let wholes = named(PartKind::Monolithic).map(str::to_owned);
    pairs.filter(has_meaning).chain(wholes).collect()
}

/// Well-known algorithms and presets. The snapshots show their rows, and hash the others.
const KNOWN: ([&str; 8], [&str; 8]) = (
    [
        "reno+standard",
        "cubic+standard",
        "cubic+hystart",
        "cubic+hystart++",
        "cubic+search",
        "cubic+suss",
        "bbr",
        "bbr3",
    ],
    [
        "wired",
        "dsl",
        "docsis",
        "wifi-testbed",
        "lte",
        "5g",
        "leo",
        "geo",
    ],
);

/// Whether the snapshots show the row of an algorithm over a preset.
pub fn known(path: &str, name: &str) -> bool {
    KNOWN.0.contains(&name) && KNOWN.1.contains(&path)
}

/// Compares a table with a file of `tests/` (see [`Table::compare`]).
pub fn compare_with_snapshot(file: &str, table: &Table) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    table.compare(&folder.join(file), Path::new(env!("CARGO_TARGET_TMPDIR")));
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
        delay,
        ..LinkConfig::DEFAULT
    }
}

/// A drop-tail bottleneck, and a reverse path without a rate limit.
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
    simulator::run(
        scenario,
        0,
        &RunOptions {
            traces,
            ..RunOptions::default()
        },
        &AtomicBool::new(false),
    )
    .expect("not cancelled")
}

pub fn run_traced(path: &PathModel, flow: Flow) -> RunOutput {
    run(&Scenario::new(path.clone(), vec![flow]), true)
}

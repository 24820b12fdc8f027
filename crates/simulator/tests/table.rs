//! Every algorithm over every preset: one table of integers, reviewed when it changes.
//!
//! After an intended change of results, `make snapshots` writes a new table and prints the rows
//! that differ.

mod common;

use common::{algorithm, compare_with_snapshot, known, run};
use scenario::{Flow, PRESETS, PathModel, Preset, Scenario};
use testing::snapshot::Table;
use units::{Bytes, Instant};

const ALGORITHMS: &[&str] = &[
    "reno+standard",
    "cubic+standard",
    "cubic+limited",
    "cubic+hystart:linux=5.16",
    "cubic+hystart",
    "cubic+hystart:variant=paper",
    "cubic+hystart:variant=ns2",
    "cubic+hystart++",
    "cubic+hystart++:form=patch",
    "cubic+search",
    "cubic+search:version=1.0",
    "cubic+search:version=3.0",
    "cubic+search:as_published=true",
    "cubic+search:version=4.0,exit=drain",
    "bic+standard",
    "fast+standard",
    "fast:personalised=true+standard",
    "hybla+standard",
    "vegas+standard",
    "westwood+standard",
    "cubic+abc",
    "cubic+abcss",
    "cubic+best",
    "cubic+best:period=true",
    "cubic+careful-resume",
    "cubic+fbe",
    "cubic+forecast",
    "cubic+halfback",
    "cubic+initial-start:initial_window=rfc3390",
    "cubic+jump-start",
    "cubic+jump-start:variant=scharf",
    "cubic+oracle",
    "cubic+packet-pair",
    "cubic+quick-start",
    "cubic+rapid-start",
    "cubic+stateful",
    "cubic+suss",
    "bbr",
    "bbr3",
    "bbrp",
    "rcp",
    "xcp",
];

/// Start-ups that use the path state of an earlier flow. Their rows show the second of two flows.
const REMEMBERS: [&str; 2] = ["careful-resume", "stateful"];

/// One line for a run: completion, segments, losses, and the slow-start exit.
fn row(path: &str, name: &str) -> String {
    let model = PathModel::resolve(path).unwrap_or_else(|error| panic!("{error}"));
    let mut flow = Flow::new(algorithm(name));
    flow.size = Some(Bytes::new(10_000_000));
    let mut flows = vec![flow];
    if REMEMBERS.iter().any(|part| name.contains(part)) {
        let mut second = flows[0].clone();
        second.start = Instant::from_secs(200);
        flows.push(second);
    }
    let output = run(&Scenario::new(model, flows), false);
    let flow = output.result.flows.last().expect("a flow ran");
    let millis = |seconds: Option<f64>| seconds.map_or(-1, |s| (s * 1e3).round() as i64);
    let exit = flow.slow_start_exit.as_ref();
    format!(
        "{path:<12} {name:<36} {:>6} {:>6} {:>5} {:>5} {:>3} {:>6} {:>6} {:>6} {:<10} {}",
        millis(flow.fct_s),
        flow.segments_sent,
        flow.segments_retransmitted,
        flow.segments_lost,
        flow.timeouts,
        millis(flow.capacity.true_s),
        millis(exit.map(|exit| exit.time_s)),
        exit.map_or(-1, |exit| (exit.cwnd_bytes / 1448) as i64),
        exit.map_or("none", |exit| &*exit.reason),
        flow.exit_class.map_or("none", |class| class.name()),
    )
}

#[test]
fn algorithms_over_paths() {
    let mut table = Table::new(&format!(
        "10 MB. Completion, capacity and exit in ms; exit window in segments; -1 is none.\n\
         {:<12} {:<36} {:>6} {:>6} {:>5} {:>5} {:>3} {:>6} {:>6} {:>6} reason     class",
        "path", "algorithm", "done", "sent", "retx", "lost", "rto", "capac.", "exit", "window"
    ));
    let full = |preset: &&Preset| !preset.name.ends_with("-reduced");
    for preset in PRESETS.iter().filter(full) {
        for name in ALGORITHMS {
            table.push_grouped(name, known(preset.name, name), &row(preset.name, name));
        }
    }
    compare_with_snapshot("table.txt", &table);
}

//! Traces sample links more often but must not change results. The mean of each queue is at most
//! its maximum.

mod common;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use common::run;
use measure::RunResult;
use scenario::{PRESETS, Scenario};
use simulator::{RunOptions, RunOutput};

/// Each key of a flow, set to a value that is not its default.
const FLOWS: &[&str] = &[
    "",
    "initial_window = 40",
    "pacing = true",
    "receive_buffer = \"200 kB\"",
    "syn_window = \"20 kB\"",
    "ack_policy = \"every-segment\"",
    "ecn = true",
    "sack = false",
    "sack = false\nimpatient = false",
    "restart_after_idle = false\napplication = { write = \"100 kB\", pause = \"300 ms\" }",
    "tso_segments = 1",
    "extra_delay = \"30 ms\"",
    "autotuning = \"off\"",
    "autotuning = \"linux-5.4\"",
    "loss_detection = \"fack\"",
    "byte_counting = false",
    "application = { write = \"20 kB\", every = \"50 ms\" }",
    "count = 2\nstagger = \"200 ms\"",
];

fn scenario(path: &str, algorithm: &str, size: &str, flow: &str) -> Scenario {
    let text = format!(
        "[path]\npreset = \"{path}\"\n[[flow]]\nalgorithm = \"{algorithm}\"\n{size}\n{flow}\n"
    );
    Scenario::parse(&text, "test.toml", Path::new("")).unwrap_or_else(|error| panic!("{error}"))
}

/// The result of a run, checked to be the same with traces.
fn measured(scenario: &Scenario, number: u32, what: &str) -> RunResult {
    let run = |traces| {
        let RunOutput { result, .. } = simulator::run(
            scenario,
            number,
            &RunOptions {
                traces,
                ..RunOptions::default()
            },
            &AtomicBool::new(false),
        )
        .expect("not cancelled");
        result
    };
    let result = run(false);
    assert_eq!(result, run(true), "{what}, run {number}");
    for link in &result.links {
        assert!(
            link.queue_mean_packets <= link.queue_max_packets as f64,
            "{what}: {link:?}"
        );
    }
    result
}

#[test]
fn a_run_is_the_same_with_traces() {
    for preset in PRESETS {
        for flow in FLOWS {
            let scenario = scenario(preset.name, "cubic", "size = \"400 kB\"", flow);
            measured(&scenario, 0, &format!("{}: {flow}", preset.name));
        }
    }
}

/// Over Wi-Fi, several busy periods of a link can end between two events.
#[test]
fn a_run_over_wifi_is_the_same_with_traces() {
    let mut reached = 0;
    for path in ["wifi-testbed", "wifi-strong", "wifi-weak"] {
        for (algorithm, size) in [
            ("cubic+hystart", "size = \"2 MB\""),
            ("reno+packet-pair", "duration = \"900 ms\""),
        ] {
            let scenario = scenario(path, algorithm, size, "");
            for number in 0..24 {
                let result = measured(&scenario, number, &format!("{path}, {algorithm}"));
                reached += usize::from(result.flows[0].capacity.true_s.is_some());
            }
        }
    }
    assert!(reached > 20, "{reached}");
}

/// A packet that waits for AIFS and backoff on an idle medium counts as queued.
#[test]
fn a_packet_on_an_idle_medium_counts_as_queued() {
    let scenario = scenario("wifi-testbed", "cubic", "size = \"127 B\"", "");
    let result = run(&scenario, false).result;
    for link in &result.links {
        assert!(link.queue_max_packets >= 1, "{link:?}");
        assert!(link.queue_mean_packets > 0.0, "{link:?}");
    }
}

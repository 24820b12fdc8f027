//! The simulator for a page in the browser: the text of a scenario in, JSON out.
//!
//! [`document`] returns the bytes that `slowstart run FILE --json` prints. [`record`] returns the
//! same runs with the time series and the path of each packet, which the page draws. The crate
//! imports nothing from its host: no clock, no files, no threads.
//!
//! [`abi`] has the functions of the WebAssembly module, in terms of numbers alone, so that a page
//! needs no generated code to call them.

pub mod abi;
mod packets;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use measure::Traces;
use scenario::Scenario;
use serde::Serialize;
use simulator::{RunOptions, RunOutput};

pub use packets::Journeys;

/// The most runs of a scenario: a page waits for them.
const MOST_RUNS: u32 = 20;

/// What a page draws.
#[derive(Debug, Serialize)]
struct Recording {
    /// The result of the run.
    result: measure::RunResult,
    /// The scenario as resolved.
    scenario: Scenario,
    /// Time series.
    traces: Option<Traces>,
    /// The packets of each flow.
    packets: Vec<Journeys>,
}

/// The result document of all runs of the scenario in `text`, as `slowstart run` prints it.
///
/// # Errors
/// One sentence: the text is no valid scenario, it wants too many runs, or a run failed.
pub fn document(text: &str, name: &str) -> Result<String, String> {
    let scenario = parse(text, name)?;
    let results = (0..scenario.runs)
        .map(|number| run(&scenario, number, &RunOptions::default()).map(|output| output.result))
        .collect::<Result<Vec<_>, _>>()?;
    let resolved = serde_json::to_value(&scenario).map_err(sentence)?;
    let version = env!("CARGO_PKG_VERSION");
    let document = measure::document(version, resolved, &results, &results);
    serde_json::to_string_pretty(&document).map_err(sentence)
}

/// The first run of the scenario in `text`, with its time series and its packets.
///
/// # Errors
/// As [`document`].
pub fn record(text: &str, name: &str) -> Result<String, String> {
    let scenario = parse(text, name)?;
    let options = RunOptions {
        traces: true,
        packets: true,
        ..RunOptions::default()
    };
    let output = run(&scenario, 0, &options)?;
    let recording = Recording {
        result: output.result,
        scenario,
        traces: output.traces,
        packets: output.packets.iter().map(Journeys::of).collect(),
    };
    serde_json::to_string(&recording).map_err(sentence)
}

/// The scenario in `text`; it reads no file.
fn parse(text: &str, name: &str) -> Result<Scenario, String> {
    let scenario = Scenario::parse(text, name, Path::new("")).map_err(sentence)?;
    if scenario.runs > MOST_RUNS {
        return Err(format!("a page makes at most {MOST_RUNS} runs"));
    }
    Ok(scenario)
}

fn run(scenario: &Scenario, number: u32, options: &RunOptions) -> Result<RunOutput, String> {
    let cancel = AtomicBool::new(false);
    simulator::run(scenario, number, options, &cancel).map_err(sentence)
}

fn sentence(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[path]\nrate = \"10 Mbit/s\"\nrtt = \"40 ms\"\nbuffer = \"10 packets\"\n\
        [[flow]]\nalgorithm = \"cubic+standard\"\nsize = \"300 kB\"\n";

    #[test]
    fn a_recording_has_each_packet_and_the_fate_of_each() {
        let text = record(TEXT, "text.toml").expect("a valid scenario");
        let recording: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let flow = &recording["result"]["flows"][0];
        let packets = &recording["packets"][0];
        let list = |name: &str| packets[name].as_array().expect(name).clone();
        let sent = list("sent_us").len() as u64;
        let lost = list("arrived_us").iter().filter(|at| at.is_null()).count() as u64;
        assert_eq!(flow["segments_sent"], sent);
        assert_eq!(flow["segments_dropped"], lost);
        assert!(lost > 0, "the buffer is small");
        for (from, to) in [("sent_us", "arrived_us"), ("ack_sent_us", "ack_arrived_us")] {
            for (from, to) in list(from).iter().zip(list(to)) {
                let (from, to) = (from.as_u64().expect("a time"), to.as_u64());
                assert!(to.is_none_or(|to| to >= from + 20_000), "{from} {to:?}");
            }
        }
    }

    #[test]
    fn a_wrong_text_is_one_sentence() {
        let error = document("[path]\nrat = 3\n", "text.toml").expect_err("an unknown key");
        assert!(error.starts_with("text.toml:2:"), "{error}");
        let error = document(&format!("runs = 21\n{TEXT}"), "text.toml").expect_err("too many");
        assert_eq!(error, "a page makes at most 20 runs");
    }
}

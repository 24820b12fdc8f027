//! Captures and logs: analysis of files, and captures of simulated runs.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use analysis::Tracker;
use capture::simulated::{self, Remark};
use congestion::Algorithm;
use measure::{FlowResult, PacketTrace, Vantage};
use pyo3::prelude::*;
use serde_json::{Value, json};
use simulator::{RunOptions, RunOutput};
use units::{Duration, Instant};

use crate::attend::attend;
use crate::errors;
use crate::scenarios::Scenario;

/// Analyzes a capture or log; returns the report as JSON. Each connection has at most `points`
/// points for figures.
#[pyfunction]
#[pyo3(signature = (file, *, points = 0))]
pub fn analyze_file(py: Python<'_>, file: PathBuf, points: usize) -> PyResult<String> {
    let report = py.detach(|| {
        let report = analysis::analyze(&file, points);
        report.map(|report| json!(report).to_string())
    });
    report.map_err(|error| errors::input(format!("{}: {error}", file.display())))
}

/// Replays the connections `numbers` of a capture into `algorithms`; returns a list of JSON.
#[pyfunction]
#[pyo3(signature = (file, *, numbers, algorithms))]
pub fn replay_file(
    py: Python<'_>,
    file: PathBuf,
    numbers: Vec<u64>,
    algorithms: Vec<String>,
) -> PyResult<String> {
    let parsed: Result<Vec<Algorithm>, _> = algorithms
        .iter()
        .map(|name| Algorithm::parse(name))
        .collect();
    let algorithms = parsed.map_err(errors::input)?;
    let replays = py.detach(|| {
        let report = analysis::analyze_for_replay(&file, &numbers)?;
        let chosen = report.connections.iter();
        let chosen = chosen.filter(|connection| numbers.contains(&connection.number));
        let replays: Vec<Value> = chosen
            .flat_map(|connection| {
                let one = |algorithm| json!(analysis::replay::replay(connection, algorithm));
                algorithms.iter().map(one)
            })
            .collect();
        Ok::<_, capture::ReadError>(Value::from(replays).to_string())
    });
    replays.map_err(|error| errors::input(format!("{}: {error}", file.display())))
}

/// Simulates run `run` of a scenario and writes its link as a log of Mahimahi to the new file `file`.
/// Returns the number of packets that entered it.
#[pyfunction]
#[pyo3(signature = (scenario, file, *, run))]
pub fn write_mahimahi(
    py: Python<'_>,
    scenario: PyRef<'_, Scenario>,
    file: PathBuf,
    run: u32,
) -> PyResult<usize> {
    let (_, packets) = simulate(py, &scenario.inner, run)?;
    let written = py.detach(|| {
        let output = BufWriter::new(File::create_new(&file)?);
        capture::mahimahi::write(output, &packets)
    });
    written.map_err(|error| errors::run(format!("{}: {error}", file.display())))
}

fn vantages(names: &[String]) -> PyResult<Vec<Vantage>> {
    let vantage = |name: &String| match name.as_str() {
        "sender" => Ok(Vantage::Sender),
        "receiver" => Ok(Vantage::Receiver),
        other => Err(errors::input(format!(
            "a capture is made at the sender or at the receiver, not at `{other}`"
        ))),
    };
    names.iter().map(vantage).collect()
}

/// Simulates one run with its packets.
fn simulate(
    py: Python<'_>,
    scenario: &scenario::Scenario,
    run: u32,
) -> PyResult<(Vec<FlowResult>, Vec<PacketTrace>)> {
    let cancel = AtomicBool::new(false);
    let options = RunOptions {
        packets: true,
        ..RunOptions::default()
    };
    let output: RunOutput = attend(
        py,
        &cancel,
        || Ok(()),
        || simulator::run(scenario, run, &options, &cancel),
    )?
    .map_err(errors::run)?;
    Ok((output.result.flows, output.packets))
}

/// The exits as comments of the capture.
fn remarks(flows: &[FlowResult]) -> Vec<Remark> {
    let exits = flows.iter().filter_map(|flow| {
        let exit = flow.slow_start_exit.as_ref()?;
        let at = Duration::from_nanos(((flow.start_s + exit.time_s) * 1e9) as u64);
        Some(Remark {
            flow: flow.flow,
            at: Instant::ZERO + at,
            text: format!(
                "slow start ended: {}, cwnd {} bytes ({})",
                exit.reason, exit.cwnd_bytes, flow.algorithm
            ),
        })
    });
    exits.collect()
}

/// Simulates run `run` of a scenario and writes its packets to the new pcapng file `file`, with an
/// interface for each of `vantages` (`sender`, `receiver`). Returns the number of packets that the
/// hosts saw.
#[pyfunction]
#[pyo3(signature = (scenario, file, *, run, vantages))]
pub fn write_capture(
    py: Python<'_>,
    scenario: PyRef<'_, Scenario>,
    file: PathBuf,
    run: u32,
    vantages: Vec<String>,
) -> PyResult<usize> {
    let vantages = self::vantages(&vantages)?;
    let scenario = &scenario.inner;
    let (flows, packets) = simulate(py, scenario, run)?;
    let comment = format!(
        "slowstart: scenario {}, path {}, run {run}, seed {}",
        scenario.name,
        scenario.path.name,
        scenario.seed + u64::from(run)
    );
    let seen = |trace: &PacketTrace| {
        let at = |record: &&measure::PacketRecord| vantages.contains(&record.seen_by);
        trace.packets.iter().filter(at).count()
    };
    let count = packets.iter().map(seen).sum();
    let written = py.detach(|| {
        let output = BufWriter::new(File::create_new(&file)?);
        simulated::write(output, &comment, &packets, &vantages, &remarks(&flows))
    });
    written
        .map(|_| count)
        .map_err(|error| errors::run(format!("{}: {error}", file.display())))
}

/// Simulates run `run` of a scenario, captures its flows at `vantage`, analyzes the capture, and
/// returns JSON: for each flow what the simulator knows and what the analysis says.
#[pyfunction]
#[pyo3(signature = (scenario, *, run, vantage))]
pub fn analyze_simulated(
    py: Python<'_>,
    scenario: PyRef<'_, Scenario>,
    run: u32,
    vantage: String,
) -> PyResult<String> {
    let vantages = vantages(&[vantage])?;
    let (flows, packets) = simulate(py, &scenario.inner, run)?;
    let pairs = py.detach(|| {
        let bytes = simulated::write(Vec::new(), "", &packets, &vantages, &[])?;
        let mut tracker = Tracker::new(0);
        let mut decoder = capture::Decoder::default();
        let read = capture::packets::read(&bytes[..], |frame| {
            if let Some(segment) = decoder.decode(frame) {
                tracker.take(&segment);
            }
        });
        read.map_err(std::io::Error::other)?;
        let found = tracker.finish();
        // Flow i leaves port 49152 + i.
        let of = |flow: &FlowResult| {
            let port = format!(":{}", 49_152 + flow.flow % 16_384);
            found
                .iter()
                .find(|connection| connection.sender.ends_with(&port))
        };
        let pair = |flow: &FlowResult| json!({"truth": flow, "found": of(flow)});
        Ok::<_, std::io::Error>(Value::from(flows.iter().map(pair).collect::<Vec<_>>()))
    });
    pairs.map(|pairs| pairs.to_string()).map_err(errors::run)
}

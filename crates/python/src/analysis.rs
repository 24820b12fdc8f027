//! Captures and logs: analysis of files, and captures of simulated runs.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use analysis::{Connection, Options, Tracker};
use capture::simulated::{self, Remark};
use capture::simulated_quic::{self, QuicRecord};
use congestion::Algorithm;
use measure::{FlowResult, Limit, PacketKind, PacketTrace, Vantage};
use pyo3::prelude::*;
use serde_json::{Value, json};
use simulator::{RunOptions, RunOutput};
use units::{Duration, Instant};

use crate::attend::attend;
use crate::errors;
use crate::scenarios::Scenario;

/// Analyzes a capture or log; returns the report as JSON. Each connection has at most `points`
/// points for figures; in a capture only those of `numbers`, if there are any.
#[pyfunction]
#[pyo3(signature = (file, *, points = 0, numbers = Vec::new()))]
pub fn analyze_file(
    py: Python<'_>,
    file: PathBuf,
    points: usize,
    numbers: Vec<u64>,
) -> PyResult<String> {
    let options = Options {
        points,
        drawn: numbers,
        ..Options::default()
    };
    let report = attend(
        py,
        &options.cancel,
        || Ok(()),
        || {
            let report = analysis::analyze(&file, &options);
            report.map(|report| json!(report).to_string())
        },
    )?;
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
    of_connections(py, &file, numbers, &algorithms, |connection, algorithms| {
        let one = |algorithm| json!(analysis::replay::replay(connection, algorithm));
        algorithms.iter().map(one).collect()
    })
}

/// Compares what `algorithms` would have had in flight with what the senders of the connections
/// `numbers` of a capture had; returns a list of JSON.
#[pyfunction]
#[pyo3(signature = (file, *, numbers, algorithms))]
pub fn compare_file(
    py: Python<'_>,
    file: PathBuf,
    numbers: Vec<u64>,
    algorithms: Vec<String>,
) -> PyResult<String> {
    of_connections(py, &file, numbers, &algorithms, |connection, algorithms| {
        vec![json!(analysis::identify::compare(connection, algorithms))]
    })
}

/// What `replay` makes of each of the connections `numbers` of a capture, as a list of JSON.
fn of_connections(
    py: Python<'_>,
    file: &Path,
    numbers: Vec<u64>,
    algorithms: &[String],
    replay: impl Fn(&Connection, &[Algorithm]) -> Vec<Value> + Send + Sync,
) -> PyResult<String> {
    let algorithms = parse(algorithms)?;
    let options = Options {
        replayed: numbers.clone(),
        ..Options::default()
    };
    let work = || {
        let report = analysis::analyze(file, &options)?;
        let chosen = report.connections.iter();
        let chosen = chosen.filter(|connection| numbers.contains(&connection.number));
        let made: Vec<Value> = chosen
            .flat_map(|connection| replay(connection, &algorithms))
            .collect();
        Ok::<_, capture::ReadError>(Value::from(made).to_string())
    };
    let made = attend(py, &options.cancel, || Ok(()), work)?;
    made.map_err(|error| errors::input(format!("{}: {error}", file.display())))
}

fn parse(names: &[String]) -> PyResult<Vec<Algorithm>> {
    let parsed = names.iter().map(|name| Algorithm::parse(name));
    parsed.collect::<Result<_, _>>().map_err(errors::input)
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
        "middle" => Ok(Vantage::Middle),
        other => Err(errors::input(format!(
            "a capture is made at the sender, at the receiver or in the middle, not at `{other}`"
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
/// interface for each of `vantages` (`sender`, `receiver`, `middle`). Returns the number of packets
/// that the hosts saw.
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
    let on = scenario.on.clone();
    let scenario = &scenario.inner;
    if on.is_quic() {
        let job = crate::quic::Job {
            scenario: std::sync::Arc::clone(scenario),
            on,
            run,
        };
        return write_quic_capture(py, &job, &file, &vantages);
    }
    let (flows, mut packets) = simulate(py, scenario, run)?;
    if vantages.contains(&Vantage::Middle) {
        simulated::add_middle(&mut packets);
    }
    let comment = comment(scenario, run);
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

/// The comment of a capture.
fn comment(scenario: &scenario::Scenario, run: u32) -> String {
    format!(
        "slowstart: scenario {}, path {}, run {run}, seed {}",
        scenario.name,
        scenario.path.name,
        scenario.seed + u64::from(run)
    )
}

/// The same of a QUIC stack.
fn write_quic_capture(
    py: Python<'_>,
    job: &crate::quic::Job,
    file: &Path,
    vantages: &[Vantage],
) -> PyResult<usize> {
    let cancel = AtomicBool::new(false);
    let (output, mut records) =
        attend(py, &cancel, || Ok(()), || job.captured(&cancel))?.map_err(errors::run)?;
    if vantages.contains(&Vantage::Middle) {
        simulated_quic::add_middle(&mut records);
    }
    let written = py.detach(|| {
        let comment = comment(&job.scenario, job.run);
        let remarks = remarks(&output.result.flows);
        let writer = BufWriter::new(File::create_new(file)?);
        simulated_quic::write(writer, &comment, &records, vantages, &remarks)
    });
    written.map_err(|error| errors::run(format!("{}: {error}", file.display())))?;
    let is_seen = |each: &&QuicRecord| vantages.contains(&each.seen_by);
    Ok(records.iter().filter(is_seen).count())
}

/// Runs run `run` of a scenario on its QUIC stack; returns JSON: for each flow its name, its
/// algorithm, its result, and the packets of its sender.
#[pyfunction]
#[pyo3(signature = (scenario, *, run))]
pub fn quic_packets(py: Python<'_>, scenario: PyRef<'_, Scenario>, run: u32) -> PyResult<String> {
    let job = crate::quic::Job {
        scenario: std::sync::Arc::clone(&scenario.inner),
        on: scenario.on.clone(),
        run,
    };
    let cancel = AtomicBool::new(false);
    let options = RunOptions {
        traces: true,
        flows_only: true,
        ..RunOptions::default()
    };
    let output =
        attend(py, &cancel, || Ok(()), || job.execute(&options, &cancel))?.map_err(errors::run)?;
    let traces = output.traces.map(|traces| traces.flows).unwrap_or_default();
    let flow = |trace: &measure::FlowTrace| {
        let result = output
            .result
            .flows
            .iter()
            .find(|flow| flow.flow == trace.flow);
        json!({
            "flow": trace.flow, "name": trace.name, "algorithm": trace.algorithm,
            "result": result, "packets": trace.quic,
        })
    };
    Ok(Value::from(traces.iter().map(flow).collect::<Vec<_>>()).to_string())
}

/// When the sender sent its SYN.
fn begin(trace: &PacketTrace) -> Option<Instant> {
    let syn = trace.packets.iter();
    let mut syn = syn.filter(|each| each.kind == PacketKind::Syn);
    syn.next().map(|syn| syn.at)
}

/// When the last new data left the sender.
fn last_new(trace: &PacketTrace) -> Option<Instant> {
    let (mut end, mut last) = (0, None);
    for packet in &trace.packets {
        let is_sent = packet.seen_by == Vantage::Sender && packet.kind == PacketKind::Data;
        if is_sent && packet.offset + u64::from(packet.amount) > end {
            end = packet.offset + u64::from(packet.amount);
            last = Some(packet.at);
        }
    }
    last
}

/// What was in flight when slow start ended: sent, and not acknowledged cumulatively.
fn flight_at_exit(trace: &PacketTrace, flow: &FlowResult) -> Option<u64> {
    let exit = flow.slow_start_exit.as_ref()?;
    let until = begin(trace)? + Duration::from_nanos((exit.time_s * 1e9) as u64);
    let (mut sent, mut acked) = (0, 0);
    let at_sender = trace.packets.iter();
    let at_sender = at_sender.filter(|packet| packet.seen_by == Vantage::Sender);
    for packet in at_sender.take_while(|packet| packet.at <= until) {
        match packet.kind {
            PacketKind::Data => sent = sent.max(packet.offset + u64::from(packet.amount)),
            PacketKind::Ack => acked = acked.max(packet.offset),
            _ => {}
        }
    }
    Some(sent.saturating_sub(acked))
}

/// What the sender waited for before its last new data.
fn last_limit(trace: &PacketTrace) -> Option<&'static str> {
    let until = last_new(trace)?;
    let before = trace.limits.partition_point(|(at, _)| *at < until);
    Some(trace.limits.get(before.checked_sub(1)?)?.1.name())
}

/// Seconds in which the simulator's sender waited for one cause, and the analysis says another: one
/// object of found causes for each true one.
fn together(trace: &PacketTrace, found: &Connection) -> Value {
    let begin = begin(trace).map_or(0, Instant::as_nanos) as i64;
    let end = found.waits.last().map_or(0, |wait| wait.until);
    let mut seconds: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
    let mut waits = found.waits.as_slice();
    for (index, &(since, limit)) in trace.limits.iter().enumerate() {
        let since = since.as_nanos() as i64 - begin;
        let next = trace.limits.get(index + 1);
        let until = next.map_or(end, |next| next.0.as_nanos() as i64 - begin);
        let passed = waits.partition_point(|wait| wait.until <= since);
        waits = &waits[passed..];
        for wait in waits.iter().take_while(|wait| wait.since < until) {
            let both = wait.until.min(until) - wait.since.max(since);
            if both > 0 {
                let row = seconds.entry(Limit::name(limit)).or_default();
                *row.entry(wait.cause.name()).or_default() += both as f64 / 1e9;
            }
        }
    }
    json!(seconds)
}

/// Simulates run `run` of a scenario, captures its flows at `vantage`, analyzes the capture, and
/// returns JSON: for each flow what the simulator knows (`truth`), what the analysis says (`found`),
/// when its last new data left (`last_new_s`), what was in flight when slow start ended
/// (`exit_flight_bytes`), the limit before the last new data (`last_limit`), the seconds in which
/// each limit held it by the simulator and by the analysis (`limits[true][found]`), and a digest of
/// the capture (`digest`). With `algorithms`, also the comparison with each (`comparison`). Times are
/// since the SYN.
#[pyfunction]
#[pyo3(signature = (scenario, *, run, vantage, algorithms = Vec::new()))]
pub fn analyze_simulated(
    py: Python<'_>,
    scenario: PyRef<'_, Scenario>,
    run: u32,
    vantage: String,
    algorithms: Vec<String>,
) -> PyResult<String> {
    let vantages = vantages(&[vantage])?;
    let algorithms = parse(&algorithms)?;
    let (flows, mut packets) = simulate(py, &scenario.inner, run)?;
    let pairs = py.detach(|| {
        if vantages.contains(&Vantage::Middle) {
            simulated::add_middle(&mut packets);
        }
        let bytes = simulated::write(Vec::new(), "", &packets, &vantages, &[])?;
        let mut hasher = std::hash::DefaultHasher::new();
        bytes.hash(&mut hasher);
        let digest = format!("{:016x}", hasher.finish());
        let mut tracker = Tracker::new(0).replaying(1..=flows.len() as u64);
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
        let pair = |flow: &FlowResult| {
            let trace = packets.iter().find(|trace| trace.flow == flow.flow);
            let found = of(flow);
            json!({
                "truth": flow,
                "found": found,
                "last_new_s": trace.and_then(|trace| {
                    Some(last_new(trace)?.saturating_since(begin(trace)?).as_secs_f64())
                }),
                "exit_flight_bytes": trace.and_then(|trace| flight_at_exit(trace, flow)),
                "limits": trace.zip(found).map(|(trace, found)| together(trace, found)),
                "last_limit": trace.and_then(last_limit),
                "digest": digest,
                "comparison": found.filter(|_| !algorithms.is_empty()).map(|found| {
                    json!(analysis::identify::compare(found, &algorithms))
                }),
            })
        };
        Ok::<_, std::io::Error>(Value::from(flows.iter().map(pair).collect::<Vec<_>>()))
    });
    pairs.map(|pairs| pairs.to_string()).map_err(errors::run)
}

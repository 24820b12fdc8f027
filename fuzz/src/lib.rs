//! Fuzz targets: functions that accept arbitrary bytes, as in files from a user, and must return.
//!
//! A target panics if a guarantee of the project does not hold. `tests/bounded.rs` runs each target
//! over a fixed number of seeded mutations of its corpus, on a stable toolchain and in bounded
//! time. `libfuzzer/` passes the same functions to `cargo fuzz`.

mod mutate;

pub use mutate::Mutator;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use congestion::Algorithm;
use network::trace;
use pcap_file::pcapng::{Block, PcapNgReader};
use scenario::Scenario;
use simulator::RunOptions;
use units::Duration;
use workload::tmix::{Format, Reader, Writer};

/// A target. Its folder in `corpus/` has the same name.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name on the command line of `cargo fuzz`.
    pub name: &'static str,
    /// Accepts arbitrary bytes.
    pub run: fn(&[u8]),
    /// Further inputs to mutate.
    pub seeds: Seeds,
    /// Number of inputs in a bounded run; smaller for slow targets.
    pub cases: u32,
}

/// The part of a target's corpus outside of its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeds {
    /// Nothing.
    Corpus,
    /// The folder `scenarios` and the presets.
    Scenarios,
    /// The folder `conformance`.
    Vectors,
}

/// Every target.
pub const TARGETS: &[Target] = &[
    target("scenario", scenario_file, Seeds::Scenarios, 20_000),
    target("simulation", simulation, Seeds::Scenarios, 300),
    target("trace", recorded_trace, Seeds::Corpus, 50_000),
    target("algorithm", algorithm_name, Seeds::Corpus, 100_000),
    target("vector", conformance_vector, Seeds::Vectors, 5_000),
    target("capture", packet_capture, Seeds::Corpus, 10_000),
    target("analyze", analyzed_file, Seeds::Corpus, 20_000),
    target("tmix", connection_vectors, Seeds::Corpus, 50_000),
];

const fn target(name: &'static str, run: fn(&[u8]), seeds: Seeds, cases: u32) -> Target {
    Target {
        name,
        run,
        seeds,
        cases,
    }
}

/// Parses a scenario, if the text is a valid one.
fn read_scenario(data: &[u8]) -> Option<Scenario> {
    let text = String::from_utf8_lossy(data);
    // A scenario may name files. This folder has none, and other folders must not be read.
    if text.contains("..") || text.contains("\"/") || text.contains("'/") {
        return None;
    }
    Scenario::parse(&text, "fuzz.toml", Path::new("no such folder")).ok()
}

/// Reads or rejects a scenario file.
pub fn scenario_file(data: &[u8]) {
    let Some(scenario) = read_scenario(data) else {
        return;
    };
    // Every accepted scenario has a path with valid derived values.
    assert!(!scenario.flows.is_empty() || !scenario.path.traffic.is_empty());
    let _ = scenario.path.full_packet();
    let _ = scenario.path.bdp_packets();
}

/// Runs a scenario file for a short simulated time.
pub fn simulation(data: &[u8]) {
    let Some(mut scenario) = read_scenario(data) else {
        return;
    };
    // Enough packets for any code path, and few enough for a fuzzer.
    if scenario.flows.len() > 8 || scenario.path.rate.bits_per_sec() > 1_000_000_000 {
        return;
    }
    scenario.runs = 1;
    scenario.time_limit = scenario.time_limit.min(Duration::from_millis(200));
    let stop = AtomicBool::new(false);
    let run = || {
        simulator::run(
            &scenario,
            0,
            &RunOptions {
                traces: true,
                ..RunOptions::default()
            },
            &stop,
        )
    };
    let (one, other) = (run(), run());
    match (one, other) {
        (Ok(one), Ok(other)) => assert_eq!(one.result, other.result),
        (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
        (one, other) => panic!("once {}, once {}", one.is_ok(), other.is_ok()),
    }
}

/// Reads or rejects a trace of opportunities, rates or delays.
pub fn recorded_trace(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(trace) = trace::parse(&text, "fuzz") {
        assert!(trace.lap_ms() > 0);
        // `None` below one bit per second.
        let _ = trace.mean_rate();
    }
    let _ = trace::read(&text, "fuzz");
    let _ = trace::parse_rates(&text, "fuzz");
    let _ = trace::parse_delays(&text, "fuzz");
}

/// Parses or rejects the description of an algorithm. Its canonical name must parse to itself.
pub fn algorithm_name(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(algorithm) = Algorithm::parse(&text) {
        let name = algorithm.to_string();
        let again = Algorithm::parse(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(again.to_string(), name);
    }
}

/// Rejects or runs a conformance vector.
pub fn conformance_vector(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(vector) = conformance::parse("fuzz.vec", &text) {
        let _ = conformance::run_algorithm(&vector);
    }
}

/// Writes packets as a capture, and must read them back unchanged.
pub fn packet_capture(data: &[u8]) {
    let mut writer = capture::Writer::new(Vec::new(), "fuzz").expect("memory takes everything");
    let snap = u32::from(data.first().copied().unwrap_or(0)) + 1;
    let interface = writer
        .add_interface("slowstart0", &String::from_utf8_lossy(data), snap)
        .expect("memory takes everything");
    let mut written = Vec::new();
    for (index, chunk) in data.chunks(61).enumerate() {
        let at = u64::from(chunk[0]) << (index % 56);
        let comment = String::from_utf8_lossy(chunk);
        let comment = (index % 2 == 1).then_some(&*comment);
        writer
            .packet(interface, at, chunk.len() as u32, chunk, comment)
            .expect("memory takes everything");
        let kept = &chunk[..chunk.len().min(snap as usize)];
        written.push((std::time::Duration::from_nanos(at), kept));
    }
    let bytes = writer.finish().expect("memory takes everything");
    let mut reader = PcapNgReader::new(&bytes[..]).expect("a capture");
    let mut written = written.into_iter();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("a block") {
            let (at, kept) = written.next().expect("a packet that was written");
            assert_eq!((packet.timestamp, &*packet.data), (at, kept));
        }
    }
    assert!(written.next().is_none(), "a packet is missing");
}

/// Analyzes or rejects a capture or log. Numbers of what it accepts are in range.
pub fn analyzed_file(data: &[u8]) {
    let input = std::io::Cursor::new(data.to_vec());
    let options = analysis::Options {
        points: 64,
        ..analysis::Options::default()
    };
    let Ok(report) = analysis::analyze_reader(input, &options) else {
        return;
    };
    for connection in &report.connections {
        let verdict = &connection.verdict;
        assert!((0.0..=1.0).contains(&verdict.confidence), "{verdict:?}");
        assert_eq!(verdict.exit.is_some(), verdict.reason.is_exit());
        assert!(connection.series.len() <= 64);
        if let Some(exit) = &verdict.exit {
            let [low, high] = exit.cwnd_interval_bytes;
            assert!(low <= exit.cwnd_bytes && exit.cwnd_bytes <= high);
            assert!(exit.time_interval_s[0] <= exit.time_interval_s[1]);
        }
    }
}

/// Reads or rejects connection vectors. What it reads is the same after it is written in the
/// alternate format, apart from waits of zero, and after that exactly the same.
pub fn connection_vectors(data: &[u8]) {
    let Ok(reader) = Reader::new("fuzz", data) else {
        return;
    };
    let read: Vec<_> = reader.map_while(Result::ok).collect();
    let write = |connections: &[_]| {
        let mut writer = Writer::new(Vec::new(), Format::Alternate);
        for connection in connections {
            writer.connection(connection).expect("a sound connection");
        }
        writer.finish().expect("memory takes everything")
    };
    let written = write(&read);
    let again = Reader::new("again", &written[..]).expect("a file");
    let again: Vec<_> = again.collect::<Result<_, _>>().expect("a file");
    assert_eq!(again.len(), read.len());
    for (again, read) in again.iter().zip(&read) {
        assert_eq!((again.id, again.payload()), (read.id, read.payload()));
    }
    assert_eq!(write(&again), written);
}

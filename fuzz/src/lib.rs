//! Fuzz targets: functions that take any bytes, as a user's files hold them, and must return.
//!
//! A target panics where something that the project promises does not hold. `tests/bounded.rs` runs
//! each over a seeded number of mutations of its corpus, on a stable toolchain and in bounded time;
//! `libfuzzer/` hands the same functions to `cargo fuzz`.

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

/// A target by its name, which is also that of its folder in `corpus/`.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// As on the command line of `cargo fuzz`.
    pub name: &'static str,
    /// Takes any bytes.
    pub run: fn(&[u8]),
    /// What mutations begin with.
    pub seeds: Seeds,
    /// How many inputs a bounded run gives it: fewer where one takes long.
    pub cases: u32,
}

/// What belongs to a target's corpus besides the files in its folder.
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
];

const fn target(name: &'static str, run: fn(&[u8]), seeds: Seeds, cases: u32) -> Target {
    Target {
        name,
        run,
        seeds,
        cases,
    }
}

/// A scenario from a text, unless the text is none.
fn read_scenario(data: &[u8]) -> Option<Scenario> {
    let text = String::from_utf8_lossy(data);
    // A scenario may name files. There are none in this folder, and others are not touched.
    if text.contains("..") || text.contains("\"/") || text.contains("'/") {
        return None;
    }
    Scenario::parse(&text, "fuzz.toml", Path::new("no such folder")).ok()
}

/// A scenario file is read or refused.
pub fn scenario_file(data: &[u8]) {
    let Some(scenario) = read_scenario(data) else {
        return;
    };
    // Whatever the reader takes has a path that can be described.
    assert!(!scenario.flows.is_empty() || !scenario.path.traffic.is_empty());
    let _ = scenario.path.full_packet();
    let _ = scenario.path.bdp_packets();
}

/// What a scenario file says runs, for as long as a fuzzer has time.
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
    let run = || simulator::run(&scenario, 0, &RunOptions { traces: true }, &stop);
    let (one, other) = (run(), run());
    match (one, other) {
        (Ok(one), Ok(other)) => assert_eq!(one.result, other.result),
        (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
        (one, other) => panic!("once {}, once {}", one.is_ok(), other.is_ok()),
    }
}

/// A trace is read as opportunities, as rates or as delays, or refused.
pub fn recorded_trace(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(trace) = trace::parse(&text, "fuzz") {
        assert!(trace.lap_ms() > 0);
        // Less than one bit per second is none.
        let _ = trace.mean_rate();
    }
    let _ = trace::read(&text, "fuzz");
    let _ = trace::parse_rates(&text, "fuzz");
    let _ = trace::parse_delays(&text, "fuzz");
}

/// The description of an algorithm is parsed or refused, and its name means the same algorithm.
pub fn algorithm_name(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(algorithm) = Algorithm::parse(&text) {
        let name = algorithm.to_string();
        let again = Algorithm::parse(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(again.to_string(), name);
    }
}

/// A conformance vector is refused, or run and answered.
pub fn conformance_vector(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(vector) = conformance::parse("fuzz.vec", &text) {
        let _ = conformance::run_algorithm(&vector);
    }
}

/// Packets that are written as a capture are read back as they were.
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

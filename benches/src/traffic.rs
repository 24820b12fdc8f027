//! The memory that background traffic occupies.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use congestion::Algorithm;
use scenario::{Flow, PathModel, Scenario};

/// The peak memory and the number of started flows, with 300 transfers of about 1 kB per second.
fn most_bytes(seconds: u64) -> (u64, u64) {
    let text = "[path]\nrate = '10 Mbit/s'\nrtt = '20 ms'\n\
                [[traffic]]\nkind = 'web'\narrivals = '300 /s'\nmean = '1 kB'\ncut = '10 kB'\n";
    let path = PathModel::parse(text, "text", Path::new("")).expect("a path");
    let algorithm = Algorithm::parse("cubic").expect("an algorithm");
    let mut scenario = Scenario::new(path, vec![Flow::new(algorithm)]);
    scenario.flows[0].size = Some(units::Bytes::new(1000));
    scenario.flows[0].start = units::Instant::from_secs(seconds - 1);
    let mut started = 0;
    let info = allocation_counter::measure(|| {
        let output = simulator::run(
            &scenario,
            0,
            &simulator::RunOptions::default(),
            &AtomicBool::new(false),
        );
        started = output.expect("the run is not cancelled").result.traffic[0].started;
    });
    (info.bytes_max, started)
}

/// The memory does not grow with completed flows.
#[test]
fn finished_flows_leave_nothing() {
    let (short, few) = most_bytes(20);
    let (long, many) = most_bytes(200);
    assert!(many > 9 * few && few > 4_000, "{few} {many}");
    // A longer run may have a few more flows open at its peak.
    assert!(
        long < short + short / 2,
        "{short} bytes after {few} flows, {long} after {many}"
    );
}

/// The peak memory of `flows` measured transfers of 1 kB, one after another.
fn most_bytes_of_measured(flows: u64) -> u64 {
    let text = "[path]\nrate = '10 Mbit/s'\nrtt = '20 ms'\n";
    let path = PathModel::parse(text, "text", Path::new("")).expect("a path");
    let mut flow = Flow::new(Algorithm::parse("cubic").expect("an algorithm"));
    flow.size = Some(units::Bytes::new(1000));
    let flows = (0..flows).map(|index| {
        let start = units::Instant::from_millis(100 * index);
        Flow {
            start,
            ..flow.clone()
        }
    });
    let mut scenario = Scenario::new(path, flows.collect());
    scenario.time_limit = units::Duration::from_secs(10_000);
    let info = allocation_counter::measure(|| {
        let options = simulator::RunOptions::default();
        let output = simulator::run(&scenario, 0, &options, &AtomicBool::new(false));
        let result = output.expect("the run is not cancelled").result;
        assert!(result.flows.iter().all(|flow| flow.completed));
    });
    info.bytes_max
}

/// A measured flow that is over leaves its place and its result, and no connection.
#[test]
fn finished_measured_flows_leave_their_results() {
    let (few, many) = (most_bytes_of_measured(1000), most_bytes_of_measured(5000));
    let each = (many - few) / 4000;
    let result = size_of::<measure::FlowResult>() as u64;
    // The state of a flow, and the texts of its result.
    assert!(
        each < result + 256,
        "{each} bytes, of which {result} result"
    );
}

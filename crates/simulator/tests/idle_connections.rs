//! The memory of connections that are open and have nothing in flight.
//!
//! All in one test, so that no other test of the process takes memory meanwhile.
#![cfg(target_os = "linux")]

mod common;

use std::path::Path;

use common::{peak, run};
use measure::RunResult;
use scenario::Scenario;

/// The most that such a flow, one direction of a connection, takes in bytes.
const MOST: u64 = 4_000;
/// So many are open at a time.
const FLOWS: u64 = 18_000;

/// Clients get one response each, and think for longer than the run takes. Each connection has a
/// flow in each direction.
fn clients(path: &str, flows: u64) {
    let result = run_text(&format!(
        "{path}
        [[traffic]]
        kind = 'request-response'
        count = {}
        spread = '2 s'
        requests = 2
        size = '14 kB'
        think = '1000 s'
        think_sigma = 0",
        flows / 2
    ));
    let traffic = &result.traffic[0];
    assert_eq!((2 * traffic.started, traffic.finished), (flows, 0));
    assert!(traffic.bytes_delivered >= 7_000 * flows, "{traffic:?}");
}

/// Measured flows that write once, and again long after the end of the run.
fn writers(path: &str, flows: u64) {
    let result = run_text(&format!(
        "{path}
        [[flow]]
        algorithm = 'cubic'
        count = {flows}
        stagger = '200 us'
        application = {{ write = '14 kB', every = '1000 s' }}"
    ));
    assert!(result.flows.iter().all(|flow| flow.bytes_acked == 14_000));
}

fn run_text(text: &str) -> RunResult {
    let text = format!("duration = '8 s'\n[path]\nrate = '1 Gbit/s'\nrtt = '40 ms'\n{text}");
    let scenario = Scenario::parse(&text, "f.toml", Path::new("")).expect("a valid scenario");
    run(&scenario, false).result
}

#[test]
fn a_flow_with_nothing_in_flight_takes_less_than_four_kilobytes() {
    let kinds = [
        ("of a connection", clients as fn(&str, u64)),
        ("that is measured", writers),
    ];
    let ways = kinds.map(|kind| ["", "loss = '2 %'"].map(|path| (kind, path)));
    for ((_, flows), path) in ways.as_flattened() {
        flows(path, 200);
    }
    let before = peak();
    // The peak never falls, so a number bounds its kind, and is exact where it exceeds the last one.
    let mut last = 0;
    for ((kind, flows), path) in ways.as_flattened() {
        flows(path, FLOWS);
        let each = (peak() - before) / FLOWS;
        println!("at most {each} bytes for each idle flow {kind}, {path}");
        assert!(each < MOST, "{each} bytes {kind}, {path}");
        last = each;
    }
    assert!(
        last > 1_000,
        "{last} bytes are less than both ends of a flow"
    );
}

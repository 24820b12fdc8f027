//! Connections in which both sides write, on the kernel and simulated.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use kernel_stack::{self as stack, StackOptions};
use measure::{ExchangeResult, RunResult};
use scenario::Scenario;

use crate::common;
use crate::helpers::run_in;

/// Two clients that think between their requests, and connections of one response each; nothing
/// is lost.
const TEXT: &str = "
duration = '3 s'
[path]
rate = '50 Mbit/s'
rtt = '20 ms'
buffer = '2000 packets'
[[traffic]]
name = 'clients'
kind = 'request-response'
algorithm = 'cubic'
count = 2
spread = '100 ms'
size = '60 kB'
request = '400 bytes'
requests = 5
think = '300 ms'
think_sigma = 0
server_delay = '10 ms'
list_flows = true
[[traffic]]
name = 'pages'
kind = 'http10'
algorithm = 'reno'
arrivals = '5 /s'
duration = '2 s'
size = '30 kB'
extra_delay = ['0 ms', '15 ms']
list_flows = true
";

fn exchanges<'a>(result: &'a RunResult, table: &str) -> &'a ExchangeResult {
    let found = result.traffic.iter().find(|each| each.name == table);
    found.and_then(|each| each.exchanges.as_ref()).expect(table)
}

#[test]
fn the_kernel_runs_the_same_dialogues_as_the_simulator() {
    let Some(_turn) = common::may_emulate() else {
        return;
    };
    let scenario = Scenario::parse(TEXT, "text", Path::new("")).unwrap();
    let never = AtomicBool::new(false);
    let options = simulator::RunOptions::default();
    let simulated = simulator::run(&scenario, 0, &options, &never).unwrap();
    common::turns::with_turns("connections in which both sides write", |turn| {
        let output = run_in(turn, &scenario);
        assert!((output.result.end_s - 3.0).abs() < 0.1);
        for (table, rtt_s) in [("clients", 0.02), ("pages", 0.02)] {
            let ours = exchanges(&simulated.result, table);
            let theirs = exchanges(&output.result, table);
            assert_eq!(theirs.epochs, ours.epochs, "{table}");
            assert!(theirs.epochs > 3, "{table}: {}", theirs.epochs);
            assert_eq!(theirs.connections, ours.connections, "{table}");
            let setup = theirs.setup.expect("handshakes");
            assert!(setup.median_s >= rtt_s, "{setup:?}");
            let lists = [ours, theirs].map(|each| each.list.as_ref().expect("a list"));
            for (ours, theirs) in lists[0].iter().zip(lists[1]) {
                assert_eq!(
                    (ours.connection, ours.number, ours.request_bytes),
                    (theirs.connection, theirs.number, theirs.request_bytes)
                );
                assert_eq!(ours.response_bytes, theirs.response_bytes);
                assert!((ours.start_s - theirs.start_s).abs() < 0.05, "{theirs:?}");
                // Two flows at once may queue behind each other a little differently.
                let apart = (ours.duration_s - theirs.duration_s).abs();
                assert!(apart < 0.012, "{table}: {ours:?} {theirs:?}");
            }
        }
        let pages = output
            .result
            .traffic
            .iter()
            .find(|each| each.name == "pages");
        let pages = pages.expect("the table");
        assert_eq!(pages.finished, pages.started);
        assert!(pages.segments_sent >= pages.started * 21, "{pages:?}");
    });
}

#[test]
fn traffic_that_the_kernel_cannot_run_is_refused() {
    let refused = |table: &str| {
        let text = format!(
            "duration = '1 s'\n[path]\nrate = '10 Mbit/s'\nrtt = '20 ms'\n[[traffic]]\n{table}"
        );
        let scenario = Scenario::parse(&text, "text", Path::new("")).unwrap();
        let never = AtomicBool::new(false);
        match stack::run(&scenario, 0, &StackOptions::default(), &never) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{table} ran"),
        }
    };
    for (table, expected) in [
        (
            "kind = 'bulk'",
            "kind bulk is available in simulations only",
        ),
        (
            "kind = 'http10'\narrivals = '1 /s'\ndirection = 'reverse'",
            "the servers are at the sender's side",
        ),
        (
            "kind = 'http10'\narrivals = '1 /s'\ninitial_window = 3",
            "leave out the others",
        ),
        (
            "kind = 'adaptive-video'\nbitrates = '1 Mbit/s'\nspread = '100 ms'",
            "an adaptive video is available",
        ),
    ] {
        let sentence = refused(table);
        assert!(sentence.contains(expected), "{sentence}");
    }
}

//! Every recorded trace carries a transfer: each as a user names it.

mod common;

use std::path::{Path, PathBuf};

use common::{algorithm, run};
use network::QueueLimit;
use scenario::{Flow, PathModel, Scenario};
use units::Bytes;

const SIZE: u64 = 1_000_000;

/// All files of a folder and the folders in it, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// How a file is named on the command line: a trace of delays needs one of the rate, an uplink is also
/// tried as one.
fn names(file: &Path) -> Vec<String> {
    let name = file.display();
    let sibling = |extension| file.with_extension(extension).display().to_string();
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("delay") => vec![
            format!("trace:{},delay={name}", sibling("rate")),
            format!("trace:{0},{0},delay={name}", sibling("rate")),
        ],
        Some("up") => vec![
            format!("trace:{name}"),
            format!("trace:{},{name}", sibling("down")),
        ],
        _ => vec![format!("trace:{name}")],
    }
}

#[test]
fn every_recorded_trace_carries_a_transfer() {
    let Some(folder) = testing::traces::folder() else {
        return;
    };
    let names: Vec<String> = files(&folder).iter().flat_map(|file| names(file)).collect();
    assert!(!names.is_empty(), "the folder is empty");
    let mut drops = 0;
    for name in names {
        let path = PathModel::resolve(&name).unwrap_or_else(|error| panic!("{error}"));
        let mut shallow = path.clone();
        shallow.forward.queue.limit = QueueLimit::Packets(20);
        for algorithm in ["cubic+search", "cubic+hystart"] {
            // Four megabytes hold the transfer, thirty kilobytes do not.
            assert_eq!(transfer(&path, algorithm), 0, "{name} {algorithm}");
            drops += transfer(&shallow, algorithm);
        }
    }
    assert!(drops > 0);
}

/// Runs one transfer and checks what has to hold of any; returns how many of its segments were dropped.
fn transfer(path: &PathModel, name: &str) -> u64 {
    let mut flow = Flow::new(algorithm(name));
    flow.size = Some(Bytes::new(SIZE));
    // The simulator itself refuses to end a run in which packets in are not packets out, dropped and
    // held; the rest is checked here.
    let output = run(&Scenario::new(path.clone(), vec![flow]), false);
    let (flow, forward) = (&output.result.flows[0], &output.result.links[0]);
    let place = format!("{}: {flow:?} {forward:?}", path.name);
    assert!(flow.completed, "{place}");
    assert_eq!(flow.bytes_acked, SIZE, "{place}");
    let segments = SIZE.div_ceil(1448);
    let first = flow.segments_sent - flow.segments_retransmitted;
    assert_eq!(first, segments, "{place}");
    let dropped = flow.segments_dropped.expect("the network is ours");
    // What was dropped was sent again.
    assert!(dropped <= flow.segments_retransmitted, "{place}");
    // The handshake passes as well; what is neither delivered nor dropped is still on its way.
    assert!(forward.packets >= segments, "{place}");
    assert!(
        forward.packets + forward.drops <= flow.segments_sent + 2,
        "{place}"
    );
    // Nothing is faster than the smallest delay.
    let base_rtt = path.base_rtt.as_secs_f64();
    assert!(flow.fct_s.expect("completed") >= 1.5 * base_rtt, "{place}");
    assert!(
        flow.rtt_min_ms.expect("measured") >= base_rtt * 1e3,
        "{place}"
    );
    dropped
}

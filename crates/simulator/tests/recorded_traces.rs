//! A transfer over every recorded trace, named as on the command line.

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

/// The names of a file on the command line. A delay trace needs a rate trace, and an uplink trace
/// is also tried as the reverse path.
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
            // A buffer of 4 MB holds the whole transfer; one of 30 kB does not.
            assert_eq!(transfer(&path, algorithm), 0, "{name} {algorithm}");
            drops += transfer(&shallow, algorithm);
        }
    }
    assert!(drops > 0);
}

/// Runs one transfer, checks general invariants, and returns the number of dropped segments.
fn transfer(path: &PathModel, name: &str) -> u64 {
    let mut flow = Flow::new(algorithm(name));
    flow.size = Some(Bytes::new(SIZE));
    // The simulator itself asserts that each link's packets in are those out, dropped and held.
    let output = run(&Scenario::new(path.clone(), vec![flow]), false);
    let (flow, forward) = (&output.result.flows[0], &output.result.links[0]);
    let place = format!("{}: {flow:?} {forward:?}", path.name);
    assert!(flow.completed, "{place}");
    assert_eq!(flow.bytes_acked, SIZE, "{place}");
    let segments = SIZE.div_ceil(1448);
    let first = flow.segments_sent - flow.segments_retransmitted;
    // Where the receive window ends within a segment, the part that fits leaves. Nagle's rule permits
    // one such part in a round trip.
    let parts = (flow.fct_s.expect("completed") / path.base_rtt.as_secs_f64()) as u64;
    assert!((segments..=segments + parts).contains(&first), "{place}");
    let dropped = flow.segments_dropped.expect("a simulated network");
    // Every dropped segment was retransmitted.
    assert!(dropped <= flow.segments_retransmitted, "{place}");
    // The link also carries the handshake. Other packets may still be in flight at the end.
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

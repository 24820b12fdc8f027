//! SUSS over whole paths: its rounds, its pacing, and the receive window that it assumes.

mod common;

use common::{algorithm, run_traced, wired};
use measure::FlowTrace;
use scenario::Flow;
use units::Bytes;

fn trace(name: &str, mbit: u64, buffer: u64, megabytes: u64) -> FlowTrace {
    let mut flow = Flow::new(algorithm(name));
    flow.size = Some(Bytes::new(megabytes * 1_000_000));
    let mut output = run_traced(&wired(mbit, 100, buffer), flow);
    output.traces.take().expect("traced").flows.swap_remove(0)
}

/// Seconds from the first ACK of data to that of `bytes`.
fn acked_after(trace: &FlowTrace, bytes: u64) -> f64 {
    let at = |bytes| {
        let place = trace.acked_bytes.iter().position(|&acked| acked >= bytes);
        trace.time_s[place.expect("acknowledged")]
    };
    at(bytes) - at(1)
}

/// The window before the first ACK of each round, from the third round trip of the connection on.
fn windows(trace: &FlowTrace) -> Vec<u64> {
    let first = |round: u64| {
        let begins = round as f64 / 10.0;
        let place = trace.time_s.iter().position(|&time| time >= begins);
        // Rounding removes the one or two segments that this ACK added.
        trace.cwnd_bytes[place.expect("an ACK")] / 1448 / 4 * 4
    };
    (2..7).map(first).collect()
}

#[test]
fn the_window_quadruples_while_the_path_is_empty() {
    let suss = trace("cubic+suss:override_window=true", 2_000, 100_000, 20);
    assert_eq!(windows(&suss), [8, 40, 160, 640, 1280]);
    let plain = trace("cubic+standard", 2_000, 100_000, 20);
    assert_eq!(windows(&plain), [8, 20, 40, 80, 160]);
}

/// SUSS developers 2025: 1.11 s for 5 MB with SUSS and 1.29 s with HyStart, in the sender's log.
#[test]
fn the_wired_times_of_the_suss_developers() {
    let seconds = |name| acked_after(&trace(name, 50, 413, 20), 5_000_000);
    assert!((seconds("cubic+suss:override_window=true") - 1.11).abs() < 0.005);
    assert!((seconds("cubic+hystart") - 1.29).abs() < 0.005);
    // With a receive window that starts at 64 KB, SUSS gains nothing.
    let honest = seconds("cubic+suss");
    assert!(
        (honest - seconds("cubic+hystart")).abs() < 0.005,
        "{honest}"
    );
}

/// SUSS developers 2025: 1105, 40, 704 and 35 packets of 20 MB lost. Rounds of their HyStart++
/// patch start with a flight. Those of the RFC start earlier, which slows the last doubling.
#[test]
fn the_losses_of_the_suss_developers() {
    let lost = |name| {
        let mut flow = Flow::new(algorithm(name));
        flow.size = Some(Bytes::new(20_000_000));
        run_traced(&wired(50, 100, 413), flow).result.flows[0].segments_lost
    };
    let names = [
        "cubic+standard",
        "cubic+hystart",
        "cubic+hystart++:form=patch",
        "cubic+hystart++",
        "cubic+suss:override_window=true",
    ];
    assert_eq!(names.map(lost), [1172, 42, 692, 379, 42]);
}

#[test]
fn red_segments_are_paced_at_the_rate_of_the_rule() {
    // Rounds 3 and 4 pace 120 segments over 3/4 and 560 segments over 7/8 of the round trip.
    let suss = trace("cubic+suss:override_window=true", 2_000, 100_000, 20);
    let rates: Vec<u64> = suss.pacing_rate_bps.iter().flatten().copied().collect();
    for (segments, parts) in [(120, 4), (560, 8)] {
        let rate = segments * 1448 * 8 * 10 * parts / (parts - 1);
        let near = |found: &&u64| found.abs_diff(rate) < rate / 1000;
        assert!(
            rates.iter().filter(near).count() > 5,
            "{segments}: {rates:?}"
        );
    }
}

/// `cubictcp_init` of the authors' patch leaves SUSS off for a socket that is paced.
#[test]
fn a_paced_sender_has_hystart_alone() {
    let run = |name, pacing| {
        let mut flow = Flow::new(algorithm(name));
        flow.size = Some(Bytes::new(20_000_000));
        flow.pacing = pacing;
        let mut output = run_traced(&wired(50, 100, 413), flow);
        let trace = output.traces.take().expect("traced").flows.swap_remove(0);
        (trace.time_s, trace.cwnd_bytes)
    };
    let suss = "cubic+suss:override_window=true";
    assert_eq!(run(suss, true), run("cubic+hystart", true));
    assert_ne!(run(suss, false), run("cubic+hystart", false));
}

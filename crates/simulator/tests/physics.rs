//! Identities that every simulation of slow start over a drop-tail bottleneck must satisfy
//! (docs/reference/sources.md, "Common rules").
//!
//! Classic slow start (one ACK per packet, a window that doubles each round trip) fills a pipe of
//! `BDP` packets and a queue of `B` packets. It then sends at twice the link's rate, so the queue
//! grows at the link's rate. The sender detects the loss one RTT with a full buffer later.
//! Meanwhile the network drops as many packets as fit into pipe and buffer.

mod common;

use std::sync::atomic::AtomicBool;

use common::{algorithm, link, run, run_traced, wired};
use network::{QueueLimit, Service};
use scenario::{AckPolicy, Flow, PathModel, Scenario};
use simulator::{RunError, RunOptions};
use units::{Bytes, Duration, Instant};

struct Identity {
    mbit: u64,
    rtt_ms: u64,
    buffer: u64,
    first_drop_s: f64,
    detected_s: f64,
    drops: u64,
}

/// Reference values of an independent simulation.
const IDENTITIES: [Identity; 4] = [
    Identity {
        mbit: 50,
        rtt_ms: 100,
        buffer: 413,
        first_drop_s: 0.8468,
        detected_s: 1.0476,
        drops: 829,
    },
    Identity {
        mbit: 10,
        rtt_ms: 100,
        buffer: 50,
        first_drop_s: 0.5654,
        detected_s: 0.7308,
        drops: 130,
    },
    Identity {
        mbit: 100,
        rtt_ms: 30,
        buffer: 250,
        first_drop_s: 0.2323,
        detected_s: 0.2930,
        drops: 501,
    },
    Identity {
        mbit: 20,
        rtt_ms: 60,
        buffer: 100,
        first_drop_s: 0.3873,
        detected_s: 0.5102,
        drops: 203,
    },
];

fn near(what: &str, found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 0.03 * expected,
        "{what}: {found}, expected {expected} within 3 %"
    );
}

#[test]
fn slow_start_overshoots_as_the_identities_say() {
    for identity in IDENTITIES {
        let mut flow = Flow::new(algorithm("reno"));
        flow.ack_policy = AckPolicy::EverySegment;
        flow.size = Some(Bytes::new(20_000_000));
        let output = run_traced(
            &wired(identity.mbit, identity.rtt_ms, identity.buffer),
            flow,
        );
        let result = &output.result.flows[0];
        let link = &output.traces.as_ref().expect("traced").links[0];
        let detected = result.first_loss_s.expect("it overshoots");
        let drops_before = link
            .time_s
            .iter()
            .zip(&link.drops)
            .filter(|(at, _)| **at < detected)
            .map(|(_, drops)| *drops)
            .max();
        println!(
            "{} Mbit/s, {} ms, {} packets: first drop {:?}, detected {detected}, drops {drops_before:?}",
            identity.mbit, identity.rtt_ms, identity.buffer, result.first_drop_s
        );
        near(
            "first drop",
            result.first_drop_s.expect("it overshoots"),
            identity.first_drop_s,
        );
        near("detection", detected, identity.detected_s);
        near(
            "drops",
            drops_before.expect("drops") as f64,
            identity.drops as f64,
        );
        // Identity 1: once a standing queue exists, it fills at the link's rate.
        let full = link.time_s[link
            .queue_packets
            .iter()
            .position(|&q| q == identity.buffer)
            .expect("it fills")];
        let packet_s = 1514.0 * 8.0 / (identity.mbit as f64 * 1e6);
        let begins = result.capacity.true_s.expect("it is busy");
        let standing = full - begins;
        assert!(
            standing >= identity.buffer as f64 * packet_s * 0.97,
            "the queue cannot fill faster than the link's rate: {standing}"
        );
        assert!(result.completed);
    }
}

#[test]
fn goodput_is_the_rate_less_headers() {
    // 50 Mbit/s with 1448 of 1514 bytes payload: 47.82 Mbit/s.
    let mut flow = Flow::new(algorithm("cubic"));
    flow.duration = Some(Duration::from_secs(30));
    let output = run_traced(&wired(50, 20, 400), flow);
    let link = &output.result.links[0];
    let delivered = &output.traces.as_ref().expect("traced").flows[0];
    let at = |seconds: f64| {
        let index = delivered.time_s.partition_point(|&time| time < seconds);
        delivered.delivered_bytes[index.min(delivered.delivered_bytes.len() - 1)] as f64
    };
    let steady = (at(29.0) - at(10.0)) * 8.0 / 19.0;
    near("steady goodput", steady, 50e6 * 1448.0 / 1514.0);
    assert!(link.utilization.expect("a rate") > 0.97, "{link:?}");
}

#[test]
fn newreno_repairs_one_segment_each_round_trip() {
    // The first flight loses L segments. Repair takes one or two round trips with SACK, and L
    // round trips without.
    let rounds = |sack| {
        let mut flow = Flow::new(algorithm("reno"));
        flow.sack = sack;
        flow.initial_window = 40;
        // The data after the flight causes the duplicate ACKs.
        flow.size = Some(Bytes::new(60 * 1448));
        let output = run_traced(&wired(10, 100, 24), flow);
        let result = output.result.flows.into_iter().next().expect("a flow");
        assert_eq!(
            result.timeouts, 0,
            "each partial ACK restarts the timer: {result:?}"
        );
        let lost = result.segments_dropped.expect("known");
        // Without the handshake, the flight and the data after it, and the last repair's delay.
        (lost, result.fct_s.expect("completed") / 0.1 - 3.5)
    };
    let (lost, with_sack) = rounds(true);
    assert_eq!(lost, 16, "the handshake's last ACK is in service, 24 wait");
    assert!(with_sack < 2.0, "{with_sack}");
    let (lost, without) = rounds(false);
    assert_eq!(lost, 16);
    assert!((15.0..17.0).contains(&without), "{without}");
}

#[test]
fn the_kernels_published_hystart_pair() {
    // 50 Mbit/s, 150 ms, one BDP of buffer. The commit that fixed HyStart's rounds reports that
    // slow start exited near 516 segments by delay before the fix, and near 632 by the ACK train
    // after it.
    let exit = |name: &str| {
        let mut flow = Flow::new(algorithm(name));
        flow.size = Some(Bytes::new(20_000_000));
        let output = run_traced(&wired(50, 150, 619), flow);
        let exit = output.result.flows[0]
            .slow_start_exit
            .clone()
            .expect("HyStart fires");
        println!(
            "{name}: {} segments by {}",
            exit.cwnd_bytes / 1448,
            exit.reason
        );
        (exit.cwnd_bytes / 1448, exit.reason)
    };
    let (before, reason) = exit("cubic+hystart:linux=5.16");
    assert_eq!(reason, "delay");
    assert!(
        (501..=531).contains(&before),
        "{before} segments, reported near 516"
    );
    let (after, reason) = exit("cubic+hystart");
    assert_eq!(reason, "ack-train");
    assert!(
        (613..=651).contains(&after),
        "{after} segments, reported near 632"
    );
}

/// A flow whose application has written everything is not application-limited, although nothing is
/// left to send: Linux sets that mark only when the application writes again. SEARCH 3.1, which
/// clears its bins while the mark is set, therefore exits as 2.0 does, even if the whole transfer
/// has been sent by then. Measured on Linux 6.18 with the same programs: 2791 and 2792 segments
/// after 1.325 s.
#[test]
fn the_end_of_the_data_is_no_application_limit() {
    let exit = |version| {
        let name = format!("cubic+search:version={version},arithmetic=percent");
        let flow = Flow {
            size: Some(Bytes::new(8_000_000)),
            ..Flow::new(algorithm(&name))
        };
        let output = run_traced(&wired(50, 100, 4 * 413), flow);
        let exit = output.result.flows[0].slow_start_exit.clone();
        let exit = exit.expect("an exit");
        (exit.time_s, exit.cwnd_bytes / 1448, exit.reason)
    };
    let (time, cwnd, reason) = exit("3.1");
    assert_eq!(reason, "search");
    near("exit after", time, 1.325);
    assert!((2785..=2797).contains(&cwnd), "{cwnd}");
    assert_eq!((time, cwnd, reason), exit("2.0"));
}

/// After slow start over a queue of 0.9 s, loss recovery lasts until the end of this flow. The
/// cumulative ACK stalls meanwhile, although the link is always busy.
#[test]
fn throughput_is_measured_during_loss_recovery() {
    let mut flow = Flow::new(algorithm("cubic+standard"));
    flow.duration = Some(Duration::from_secs(3));
    let output = run_traced(&wired(35, 5, 2_700), flow);
    let flow = &output.result.flows[0];
    assert_eq!(flow.exit_class.map(|class| class.name()), Some("late"));
    let median = flow.capacity.median_throughput_bps.expect("a median");
    near("median throughput", median as f64, 35e6 * 1448.0 / 1514.0);
}

/// With one BDP of drop-tail buffer, SEARCH decides after the sender detects the loss (with 2.1 BDP
/// or more, before it). A later decision, during recovery, does not count as an exit.
#[test]
fn a_passive_decision_after_the_loss_does_not_count() {
    let run = |buffer| {
        let flow = Flow {
            size: Some(Bytes::new(20_000_000)),
            ..Flow::new(algorithm("cubic+search:passive=true"))
        };
        let output = run_traced(&wired(50, 100, buffer), flow);
        let flow = &output.result.flows[0];
        let class = flow.exit_class.map(|class| class.name());
        (flow.passive_exit.is_some(), class)
    };
    assert_eq!(run(413), (false, Some("late")));
    assert_eq!(run(4 * 413), (true, Some("chokepoint")));
}

fn parsed(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml", "".as_ref()).unwrap_or_else(|error| panic!("{error}"))
}

/// Handshake and data take three one-way delays of the path and of the flow's access, in either
/// direction.
#[test]
fn the_completion_time_includes_the_access_delay() {
    let text = "[path]\nrate = '50 Mbit/s'\nrtt = '100 ms'\nreverse.rate = '50 Mbit/s'\n\
        [[flow]]\nalgorithm = 'cubic'\nsize = '1000 B'\n\
        [[flow]]\nalgorithm = 'bbr'\nsize = '1000 B'\nextra_delay = '20 ms'\n\
        [[traffic]]\nkind = 'bulk'\nsize = '1000 B'\nspread = '0 s'\nextra_delay = '20 ms'\n\
        [[traffic]]\nkind = 'bulk'\nsize = '1000 B'\nspread = '0 s'\nextra_delay = '20 ms'\n\
        direction = 'reverse'\n";
    let result = run(&parsed(text), false).result;
    let flows = result.flows.iter().map(|flow| flow.fct_s);
    let traffic = result.traffic.iter().map(|traffic| traffic.fct_mean_s);
    let found: Vec<f64> = flows
        .chain(traffic)
        .map(|fct| fct.expect("it completed"))
        .collect();
    // A data packet takes 0.2 ms, and waits at most for those of the other flows.
    for (fct, expected) in found.iter().zip([0.150, 0.210, 0.210, 0.210]) {
        assert!((0.0..0.001).contains(&(fct - expected)), "{found:?}");
    }
}

/// Timeouts on a slow uplink are spurious: three times the sender declares all data in flight lost,
/// and reverts it.
#[test]
fn no_more_segments_are_lost_than_were_sent() {
    let text = "duration = '3.489 s'\n[path]\n\
        rate = { model = 'umts-uplink', rate = '0.039 Mbit/s' }\ndelay = '289 us'\n\
        [[flow]]\nalgorithm = 'vegas+hystart++'\n[[flow]]\nalgorithm = 'hybla+fbe'\n";
    for flow in run(&parsed(text), false).result.flows {
        assert!(flow.segments_lost <= flow.segments_sent, "{flow:?}");
        assert!(flow.timeouts > 0 && flow.loss_ratio <= 1.0, "{flow:?}");
    }
}

/// A transfer takes one packet for each MSS, and packets of that size with headers.
#[test]
fn the_mss_divides_a_transfer() {
    for mss in [88, 536, 1_024, 1_448] {
        let mut flow = Flow::new(algorithm("reno"));
        flow.size = Some(Bytes::new(mss * 200));
        flow.settings.mss = Bytes::new(mss);
        let output = run_traced(&wired(50, 100, 413), flow).result;
        let found = &output.flows[0];
        assert_eq!(found.segments_sent, 200, "MSS {mss}");
        // Handshake, data, and no retransmission.
        assert_eq!(output.links[0].packets, 202, "MSS {mss}");
    }
}

/// The reader of files refuses such routes; a path made of links by hand may have one.
#[test]
fn a_run_whose_time_stands_still_is_an_error() {
    let free = |name| {
        link(
            name,
            Service::Unlimited,
            QueueLimit::Unlimited,
            Duration::ZERO,
        )
    };
    let path = PathModel::from_links("free", "", free("forward"), free("reverse"));
    let mut scenario = Scenario::new(path, vec![Flow::new(algorithm("cubic"))]);
    scenario.duration = Some(Duration::from_secs(1));
    let error = simulator::run(
        &scenario,
        0,
        &RunOptions::default(),
        &AtomicBool::new(false),
    )
    .expect_err("no time passes");
    assert_eq!(error, RunError::Standstill(Instant::ZERO));
    assert_eq!(
        error.to_string(),
        "simulated time stands still at 0 s: packets pass over a route whose links have neither a \
         rate nor a delay"
    );
}

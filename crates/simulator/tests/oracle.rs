//! The start-up that leaves at capacity: what "ideal" means, and how far from it others are.

mod common;

use common::{algorithm, run, wired};
use congestion::{PARTS, PartKind};
use measure::FlowResult;
use scenario::{Flow, PathModel, Scenario};
use units::{Bytes, Duration, Instant};

/// The result of `bytes` over `path`.
fn transfer(path: &PathModel, name: &str, bytes: u64) -> FlowResult {
    let mut flow = Flow::new(algorithm(name));
    flow.size = Some(Bytes::new(bytes));
    let mut result = run(&Scenario::new(path.clone(), vec![flow]), false).result;
    let flow = result.flows.remove(0);
    assert!(flow.completed, "{name} over {}", path.name);
    flow
}

/// 10 ms to 600 ms, with buffers from a tenth of a BDP to two: enough for slow start to find, and
/// too few for others to leave without a loss.
const PATHS: [(u64, u64, u64); 6] = [
    (20, 10, 20),
    (50, 100, 50),
    (50, 100, 826),
    (100, 20, 40),
    (10, 600, 100),
    (144, 600, 8_000),
];

/// The time in which the bottleneck would carry `bytes` without a pause.
fn busy_s(rate_mbit: u64, bytes: u64) -> f64 {
    let packets = bytes.div_ceil(1448);
    (packets * 1514 * 8) as f64 / (rate_mbit * 1_000_000) as f64
}

#[test]
fn it_leaves_with_the_bdp_without_a_loss_and_then_keeps_the_bottleneck_busy() {
    for (rate, rtt, buffer) in PATHS {
        let path = wired(rate, rtt, buffer);
        // Short enough for congestion avoidance to overflow no buffer.
        let bdp = rate * rtt * 125;
        let flow = transfer(&path, "reno+oracle", 6 * bdp);
        let place = format!("{rate} Mbit/s, {rtt} ms, {buffer} packets: {flow:?}");
        assert_eq!(flow.segments_dropped, Some(0), "{place}");
        let exit = flow.slow_start_exit.as_ref().expect("it leaves");
        let state = exit.path.as_ref().expect("it is simulated");
        // The queue is never longer than what the headroom and one paced burst leave.
        let startup = flow.startup.as_ref().expect("it is simulated");
        let longest = startup.queue_max_packets.expect("it uses the path");
        let burst = (rate * 1_000 / 8 / 1514).max(4);
        assert!(longest <= 2 * burst + 8, "{longest} > {burst}: {place}");
        // The window that it leaves with holds the payload of the BDP and four segments. Delayed ACKs
        // and packets in service add three at most to the smoothed RTT, and a paced burst itself.
        // Where these are a tenth of the BDP, the bottleneck is busy before the window holds that.
        let payload = bdp * 1448 / 1514;
        let least = (payload.div_ceil(1448) + 4) * 1448;
        if exit.reason == "capacity" {
            let found = exit.values["measured_bytes"] as u64;
            assert!(
                (least..=least + (3 + burst) * 1448).contains(&found),
                "{found} {least}: {place}"
            );
            assert!(state.in_flight_bytes <= found, "{place}");
        } else {
            assert_eq!(exit.reason, "busy", "{place}");
            assert!(exit.cwnd_bytes >= payload, "{place}");
        }
        // From the exit on the bottleneck carries all the rest almost without a pause: one round trip
        // is lost to the data in flight and its ACKs.
        let rest = flow.bytes_acked - startup_delivered(&flow);
        let took = flow.fct_s.expect("complete") - exit.time_s;
        let ideal = busy_s(rate, rest);
        assert!(
            took <= 1.02 * ideal + 0.75 * rtt as f64 / 1e3,
            "{took} {ideal}: {place}"
        );
    }
}

/// What was delivered at the exit, at least: the growth is one byte for each byte delivered.
fn startup_delivered(flow: &FlowResult) -> u64 {
    let exit = flow.slow_start_exit.as_ref().expect("it leaves");
    exit.cwnd_bytes.saturating_sub(10 * 1448)
}

/// Start-ups that grow as slow start does, and decide only when to leave.
fn watchers() -> Vec<String> {
    let others = [
        "best",
        "fbe",
        "hystart",
        "hystart++",
        "packet-pair",
        "search",
        "standard",
        "abc",
    ];
    others.iter().map(|name| format!("cubic+{name}")).collect()
}

/// How much faster than the oracle another exit may be, as a fraction. A later exit leaves a queue
/// behind, which keeps the bottleneck busy in the last round trips of a transfer that ends before
/// the queue is lost.
const EPSILON: f64 = 0.04;

#[test]
fn no_exit_is_faster_by_more_than_epsilon() {
    for (rate, rtt, buffer) in PATHS {
        let path = wired(rate, rtt, buffer);
        for bdps in [1, 3, 10] {
            let size = rate * rtt * 125 * bdps;
            let ideal = transfer(&path, "cubic+oracle", size)
                .fct_s
                .expect("complete");
            for name in watchers() {
                let other = transfer(&path, &name, size).fct_s.expect("complete");
                assert!(
                    ideal <= other * (1.0 + EPSILON),
                    "{name}: {other} s, oracle {ideal} s: {rate} {rtt} {buffer} {bdps}"
                );
            }
        }
    }
}

/// With the window of the BDP from the first segment on, no start-up at all is faster.
#[test]
fn no_start_up_is_faster_than_a_jump_to_the_bdp() {
    let startups = PARTS.iter().filter(|part| part.kind == PartKind::Startup);
    let names: Vec<_> = startups
        .map(|part| format!("cubic+{}", part.name))
        .collect();
    for (rate, rtt, buffer) in PATHS {
        let path = wired(rate, rtt, buffer);
        for bdps in [1, 3] {
            let size = rate * rtt * 125 * bdps;
            let ideal = transfer(&path, "cubic+oracle:jump=true", size);
            assert_eq!(ideal.segments_dropped, Some(0), "{rate} {rtt} {buffer}");
            let ideal = ideal.fct_s.expect("complete");
            for name in &names {
                let other = transfer(&path, name, size).fct_s.expect("complete");
                assert!(
                    ideal <= other * (1.0 + EPSILON),
                    "{name}: {other} s, oracle {ideal} s: {rate} {rtt} {buffer} {bdps}"
                );
            }
        }
    }
}

#[test]
fn on_a_path_that_others_fill_it_leaves_when_the_bottleneck_is_busy() {
    let path = wired(50, 100, 413);
    let mut first = Flow::new(algorithm("cubic+hystart"));
    first.duration = Some(Duration::from_secs(20));
    let mut late = Flow::new(algorithm("cubic+oracle"));
    late.start = Instant::ZERO + Duration::from_secs(10);
    late.size = Some(Bytes::new(20_000_000));
    let result = run(&Scenario::new(path, vec![first, late]), false).result;
    let exit = result.flows[1].slow_start_exit.as_ref().expect("it leaves");
    assert_eq!(exit.reason, "busy");
    assert_eq!(exit.values["threshold_ms"], 100.0);
    assert!(exit.time_s < 0.5, "{exit:?}");
}

/// On a varying path the window is that of the rate at the exit.
#[test]
fn on_a_varying_path_it_leaves_at_the_bdp_of_the_moment() {
    use network::Service;
    use units::Rate;

    for (first, exits) in [(8, 8), (64, 64)] {
        let mut path = wired(50, 100, 2_000);
        let rate = |mbit: u64| Rate::from_bits_per_sec(mbit * 1_000_000);
        path.forward.service = Service::Steps {
            steps: [
                (Duration::from_secs(5), rate(first)),
                (Duration::from_secs(5), rate(50)),
            ]
            .into(),
        };
        let flow = transfer(&path, "cubic+oracle", 5_000_000);
        let exit = flow.slow_start_exit.expect("it leaves");
        let expected = exits * 100 * 125 * 1448 / 1514;
        let burst = (exits * 1_000 / 8 / 1514).max(4);
        let most = expected + (7 + burst) * 1448;
        let found = exit.cwnd_bytes;
        assert!(
            (expected..=most).contains(&found),
            "{found} {expected}: {exit:?}"
        );
    }
}

/// An outage in slow start neither ends it nor sets its pace.
#[test]
fn an_outage_is_not_the_capacity() {
    use network::Service;
    use units::Rate;

    for start_ms in (150..400).step_by(10) {
        let mut path = wired(50, 100, 2_000);
        let step = |ms: u64, mbit: u64| {
            let rate = Rate::from_bits_per_sec(mbit * 1_000_000);
            (Duration::from_millis(ms), rate)
        };
        path.forward.service = Service::Steps {
            steps: [step(start_ms, 50), step(400, 0), step(60_000, 50)].into(),
        };
        let [oracle, standard] = ["cubic+oracle", "cubic+standard"].map(|name| {
            transfer(&path, name, 2_000_000)
                .fct_s
                .expect("it completes")
        });
        assert!(
            oracle < 1.01 * standard,
            "{start_ms} ms: {oracle} {standard}"
        );
    }
}

/// The return link of a satellite delays ACKs by more than the propagation: an exit at the BDP of the
/// base RTT would leave the forward link idle.
#[test]
fn delays_outside_of_the_bottleneck_count() {
    let path = PathModel::resolve("geo").expect("a preset");
    let fct = |name: &str| transfer(&path, name, 20_000_000).fct_s.expect("complete");
    let ideal = fct("cubic+oracle");
    for name in watchers() {
        let other = fct(&name);
        assert!(
            ideal <= other * (1.0 + EPSILON),
            "{name}: {other} s, oracle {ideal} s"
        );
    }
}

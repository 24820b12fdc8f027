//! Saturation throughput of nodes in one collision domain (Bianchi, IEEE JSAC 18(3), 2000).

use units::{Duration, Instant};
use wireless::adhoc::mac::dcf::DcfConfig;
use wireless::adhoc::propagation::RadioConfig;

use crate::harness::{Net, circle, close, rates};

const NODES: [u32; 6] = [1, 5, 10, 20, 40, 50];
/// Bytes of IP, of which 1024 are payload.
const BYTES: u32 = 1064;
const SECONDS: u64 = 40;

/// Throughput in Mbit/s that Bianchi's model gives with a wait of DIFS after a collision and 2 us of
/// propagation for each frame.
const TABLE: [(u64, u64, bool, [f64; 6]); 5] = [
    (2, 2, true, [1.425, 1.475, 1.475, 1.469, 1.460, 1.456]),
    (2, 2, false, [1.574, 1.499, 1.401, 1.291, 1.172, 1.132]),
    (2, 1, true, [1.379, 1.424, 1.422, 1.414, 1.403, 1.398]),
    (11, 1, true, [3.488, 3.791, 3.778, 3.726, 3.647, 3.615]),
    (11, 1, false, [4.910, 5.291, 5.082, 4.781, 4.427, 4.301]),
];
const COLLISIONS: [f64; 6] = [0.0, 0.178, 0.290, 0.399, 0.501, 0.532];

/// The transmission probability of a node in a slot (Bianchi 2000, equation 7) and its collision
/// probability, as the fixed point for `nodes` with 32 slots and 5 doublings.
fn fixed_point(nodes: u32) -> (f64, f64) {
    let (w, m) = (32.0, 5);
    let transmits = |p: f64| {
        let doubled: f64 = (0..m)
            .map(|stage| libm::pow(2.0 * p, f64::from(stage)))
            .sum();
        2.0 / (1.0 + w + p * w * doubled)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let p = (low + high) / 2.0;
        let collides = 1.0 - libm::pow(1.0 - transmits(p), f64::from(nodes - 1));
        if collides > p { low = p } else { high = p }
    }
    (transmits(low), low)
}

/// Throughput of the model (Bianchi 2000, equations 13 and 14 or 17) in Mbit/s of payload. After a
/// collision the medium is unused for `wait`.
fn model(nodes: u32, config: &DcfConfig, wait: Duration, propagation: f64) -> f64 {
    let (tau, _) = fixed_point(nodes);
    let micros = |time: Duration| time.as_nanos() as f64 / 1e3 + propagation;
    let (sifs, difs, slot) = (10.0, 50.0, 20.0);
    let (data, ack) = (micros(config.data_time(BYTES)), micros(config.ack_time()));
    let (rts, cts) = (micros(config.rts_time()), micros(config.cts_time()));
    let (first, before) = if config.uses_rts(BYTES) {
        (rts, rts + sifs + cts + sifs)
    } else {
        (data, 0.0)
    };
    let success = before + data + sifs + ack + difs;
    let collision = first + wait.as_nanos() as f64 / 1e3;
    let idle = libm::pow(1.0 - tau, f64::from(nodes));
    let good = f64::from(nodes) * tau * libm::pow(1.0 - tau, f64::from(nodes - 1));
    let bad = 1.0 - idle - good;
    8.0 * 1024.0 * good / (idle * slot + good * success + bad * collision)
}

struct Outcome {
    goodput: f64,
    collisions: f64,
    dropped: f64,
}

fn simulate(nodes: u32, config: DcfConfig, seconds: u64) -> Outcome {
    // Without capture, as in the model.
    let radio = RadioConfig {
        capture: 100.0,
        ..RadioConfig::USUAL
    };
    let mut net = Net::with(config, &radio, &circle(nodes), None, 1);
    for node in 1..=nodes {
        net.saturate(node, Some(0), BYTES);
    }
    net.run(Instant::from_secs(seconds));
    let counters = net.dcf.counters();
    let (tries, missing) = if config.uses_rts(BYTES) {
        (counters.rts, counters.missing_cts)
    } else {
        (counters.data, counters.missing_ack)
    };
    Outcome {
        goodput: net.goodput(1024, seconds),
        collisions: missing as f64 / tries as f64,
        dropped: counters.dropped as f64 / (counters.dropped + counters.sent) as f64,
    }
}

#[test]
fn the_model_has_its_published_values() {
    for (data, basic, rts, expected) in TABLE {
        let config = rates(data, basic, rts);
        for (nodes, expected) in NODES.into_iter().zip(expected) {
            let value = model(nodes, &config, Duration::from_micros(50), 2.0);
            assert!(
                (value - expected).abs() < 0.001,
                "{data}/{basic} {nodes}: {value} {expected}"
            );
        }
    }
    for (nodes, expected) in NODES.into_iter().zip(COLLISIONS) {
        assert!((fixed_point(nodes).1 - expected).abs() < 0.001, "{nodes}");
    }
}

/// Without EIFS the nodes that see a collision wait for DIFS, as in the model. Those that collided
/// wait for their timeout, which the model neglects.
#[test]
fn throughput_is_that_of_the_model_without_eifs() {
    for (data, basic, rts, expected) in TABLE {
        let config = DcfConfig {
            eifs: false,
            ..rates(data, basic, rts)
        };
        for (place, nodes) in NODES.into_iter().enumerate() {
            let outcome = simulate(nodes, config, SECONDS);
            let what = format!("{data}/{basic} rts {rts}, {nodes} nodes");
            close(&what, outcome.goodput, expected[place], 0.015);
            let off = outcome.collisions - COLLISIONS[place];
            assert!(
                off.abs() < 0.015,
                "{what}: {} {off:+.4}",
                outcome.collisions
            );
        }
    }
}

#[test]
fn throughput_is_that_of_the_model_with_eifs() {
    for (data, basic, rts, _) in TABLE {
        let config = rates(data, basic, rts);
        for (place, nodes) in NODES.into_iter().enumerate() {
            let outcome = simulate(nodes, config, SECONDS);
            let what = format!("{data}/{basic} rts {rts}, {nodes} nodes");
            let expected = model(nodes, &config, Duration::from_micros(364), 0.03);
            close(&what, outcome.goodput, expected, 0.02);
            let off = outcome.collisions - COLLISIONS[place];
            assert!(
                off.abs() < 0.015,
                "{what}: {} {off:+.4}",
                outcome.collisions
            );
        }
    }
}

/// The retry limit drops a packet after seven attempts, and the window is small again: more
/// collisions than in the model, where a packet is never dropped.
#[test]
fn the_retry_limit_costs_throughput() {
    let limited = rates(2, 2, false);
    let unlimited = DcfConfig {
        short_retries: 255,
        ..limited
    };
    let (with, without) = (simulate(50, limited, 150), simulate(50, unlimited, 150));
    let gain = without.goodput / with.goodput - 1.0;
    assert!((0.005..0.025).contains(&gain), "{gain}");
    assert!(without.collisions < with.collisions);
    assert_eq!(without.dropped, 0.0);
    let seven = libm::pow(with.collisions, 7.0);
    close("packets dropped", with.dropped, seven, 0.2);
    close("collisions", without.collisions, COLLISIONS[5], 0.015);
}

//! Saturation throughput of nodes in one collision domain (Bianchi, IEEE JSAC 18(3), 2000).

use units::{Duration, Instant};
use wireless::adhoc::mac::dcf::DcfConfig;
use wireless::adhoc::propagation::RadioConfig;

use crate::harness::{Net, circle, close, rates};

const NODES: [u32; 6] = [1, 5, 10, 20, 40, 50];
/// Bytes of IP, of which 1024 are payload.
const BYTES: u32 = 1064;
const SECONDS: u64 = 40;
const DIFS: Duration = Duration::from_micros(50);
const EIFS: Duration = Duration::from_micros(364);
/// Attempts at a packet.
const ATTEMPTS: u32 = 7;

/// Throughput in Mbit/s that Bianchi's model gives with a wait of DIFS after a collision and 2 us
/// of propagation for each frame.
const TABLE: [(u64, u64, bool, [f64; 6]); 5] = [
    (2, 2, true, [1.425, 1.475, 1.475, 1.469, 1.460, 1.456]),
    (2, 2, false, [1.574, 1.499, 1.401, 1.291, 1.172, 1.132]),
    (2, 1, true, [1.379, 1.424, 1.422, 1.414, 1.403, 1.398]),
    (11, 1, true, [3.488, 3.791, 3.778, 3.726, 3.647, 3.615]),
    (11, 1, false, [4.910, 5.291, 5.082, 4.781, 4.427, 4.301]),
];
const COLLISIONS: [f64; 6] = [0.0, 0.178, 0.290, 0.399, 0.501, 0.532];

/// Attempts at a packet that stand for no limit.
const ENDLESS: u32 = 500;

/// The transmission probability of a node in a slot and its collision probability, as the fixed
/// point for `nodes` with 32 slots, 5 doublings and a limited number of attempts: attempts over
/// slots of a packet (Wu, Peng, Long, Cheng and Ma, INFOCOM 2002). Without a limit it is equation 7
/// of Bianchi 2000.
fn fixed_point(nodes: u32, attempts: u32) -> (f64, f64) {
    let transmits = |p: f64| {
        let (mut tried, mut slots, mut reached) = (0.0, 0.0, 1.0);
        for stage in 0..attempts {
            let window = 32 << stage.min(5);
            tried += reached;
            slots += reached * (f64::from(window) + 1.0) / 2.0;
            reached *= p;
        }
        tried / slots
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let p = (low + high) / 2.0;
        let collides = 1.0 - libm::pow(1.0 - transmits(p), f64::from(nodes - 1));
        if collides > p { low = p } else { high = p }
    }
    (transmits(low), low)
}

/// Throughput of the model (Bianchi 2000, equations 13 and 14 or 17) in Mbit/s of payload. After a
/// collision the medium is unused for `wait`. Propagation in microseconds for each frame.
fn model(nodes: u32, attempts: u32, config: &DcfConfig, wait: Duration, propagation: f64) -> f64 {
    let (tau, _) = fixed_point(nodes, attempts);
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
        ..RadioConfig::DEFAULT
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
            let value = model(nodes, ENDLESS, &config, DIFS, 2.0);
            assert!(
                (value - expected).abs() < 0.001,
                "{data}/{basic} {nodes}: {value} {expected}"
            );
        }
    }
    for (nodes, expected) in NODES.into_iter().zip(COLLISIONS) {
        assert!(
            (fixed_point(nodes, ENDLESS).1 - expected).abs() < 0.001,
            "{nodes}"
        );
    }
}

/// Throughput and collisions of all cases are those of the model with the retry limit, up to 1.2 %
/// and `most_off`. What the model neglects: after a frame, the nodes whose backoff was frozen count
/// on from the value they had, and only the node that has sent can have a backoff of zero
/// (Tinnirello, Bianchi and Xiao, IEEE Transactions on Vehicular Technology 59(3), 2010). So there
/// are fewer collisions and more idle slots. Returns the throughputs.
fn compare(eifs: bool, wait: Duration, most_off: f64) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    for (data, basic, rts, _) in TABLE {
        let config = DcfConfig {
            eifs,
            ..rates(data, basic, rts)
        };
        for nodes in NODES {
            let outcome = simulate(nodes, config, SECONDS);
            let what = format!("{data}/{basic} rts {rts}, {nodes} nodes");
            let expected = model(nodes, ATTEMPTS, &config, wait, 0.03);
            close(&what, outcome.goodput, expected, 0.012);
            let off = outcome.collisions - fixed_point(nodes, ATTEMPTS).1;
            assert!(
                off.abs() < most_off,
                "{what}: {} {off:+.4}",
                outcome.collisions
            );
            all.push((what, outcome.goodput));
        }
    }
    all
}

/// Without EIFS the nodes that see a collision wait for DIFS, as in the model. Those that collided
/// wait for their timeout of 222 us, which the model neglects: fewer nodes contend meanwhile.
#[test]
fn throughput_is_that_of_the_model_without_eifs() {
    let all = compare(false, DIFS, 0.018);
    let table = TABLE.iter().flat_map(|(.., row)| row);
    for ((what, goodput), expected) in all.iter().zip(table) {
        close(what, *goodput, *expected, 0.015);
    }
}

#[test]
fn throughput_is_that_of_the_model_with_eifs() {
    compare(true, EIFS, 0.012);
}

/// Throughput in Mbit/s of payload, measured with ns-3.44 for 1, 5, 10 and 20 saturated nodes of
/// 802.11b in one collision domain: 1024 bytes of payload in frames as long as ours, 30 s, one run.
/// Its radios see no preamble in frames of equal power that collide, so they do not wait for EIFS.
const NS3: [(u64, bool, &[f64]); 3] = [
    (2, true, &[1.4265, 1.4721, 1.4710, 1.4664]),
    (2, false, &[1.5745, 1.5027, 1.3976, 1.3058]),
    (11, true, &[4.1116, 4.5250, 4.5373]),
];

#[test]
fn throughput_is_that_of_ns3() {
    for (rate, rts, expected) in NS3 {
        let config = DcfConfig {
            eifs: false,
            ..rates(rate, rate, rts)
        };
        for (nodes, expected) in NODES.into_iter().zip(expected) {
            let goodput = simulate(nodes, config, SECONDS).goodput;
            close(
                &format!("{rate} rts {rts}, {nodes} nodes"),
                goodput,
                *expected,
                0.005,
            );
        }
    }
}

/// The retry limit drops a packet after seven attempts, and the window is small again: more
/// collisions and less throughput than in the model of Bianchi, where a packet is never dropped.
#[test]
fn the_retry_limit_costs_throughput() {
    let limited = rates(2, 2, false);
    let unlimited = DcfConfig {
        short_retries: 255,
        ..limited
    };
    let (with, without) = (simulate(50, limited, 150), simulate(50, unlimited, 150));
    let expected = |attempts| model(50, attempts, &limited, EIFS, 0.03);
    let gain = without.goodput / with.goodput;
    let expected_gain = expected(ENDLESS) / expected(ATTEMPTS);
    assert!(
        (0.01..0.02).contains(&(expected_gain - 1.0)),
        "{expected_gain}"
    );
    close("gain", gain, expected_gain, 0.005);
    let more = with.collisions - without.collisions;
    let expected_more = fixed_point(50, ATTEMPTS).1 - fixed_point(50, ENDLESS).1;
    assert!(
        (more - expected_more).abs() < 0.005,
        "{more} {expected_more}"
    );
    assert_eq!(without.dropped, 0.0);
    close(
        "packets dropped",
        with.dropped,
        libm::pow(with.collisions, 7.0),
        0.15,
    );
}

//! Slow start over a policer: the first drop, and the long-term goodput.

mod common;

use common::{algorithm, link, run_traced};
use network::access::PolicerConfig;
use network::{AccessConfig, QueueLimit, Service};
use scenario::{AckPolicy, Flow, PathModel};
use units::{Bytes, Duration, Rate};

const MBIT: u64 = 1_000_000;
const THEN: u64 = 1000 * MBIT;

fn policed(rate: u64, burst: u64, rtt_ms: u64) -> PathModel {
    let half = Duration::from_micros(rtt_ms * 500);
    let service = Service::Access(
        AccessConfig::Policer(PolicerConfig {
            rate: Rate::from_bits_per_sec(rate),
            burst: Bytes::new(burst),
            then: Rate::from_bits_per_sec(THEN),
            marks: false,
        })
        .into(),
    );
    let unlimited = QueueLimit::Unlimited;
    PathModel::from_links(
        "policed",
        "",
        link("forward", service, unlimited, half),
        link("reverse", Service::Unlimited, unlimited, half),
    )
}

/// The time at which a packet first finds too few tokens, and the number of packets before it. The
/// initial window of 10 packets doubles each round trip: each ACK releases two packets, and ACKs
/// are spaced as the line behind the policer spaced the packets of the previous round.
fn first_without_tokens(rate: u64, burst: u64, rtt_s: f64) -> (f64, u64) {
    let packet = 1514.0;
    let tx = packet * 8.0 / THEN as f64;
    let (mut tokens, mut at, mut passed) = (burst as f64, 0.0, 0);
    // Send times of this round. The first round leaves as a burst after the handshake.
    let mut sent: Vec<f64> = vec![rtt_s; 10];
    loop {
        let mut free = 0.0_f64;
        let mut through = Vec::new();
        for &now in &sent {
            tokens = (tokens + (now - at) * rate as f64 / 8.0).min(burst as f64);
            at = now;
            if tokens < packet {
                return (now, passed);
            }
            tokens -= packet;
            passed += 1;
            free = free.max(now) + tx;
            through.push(free);
        }
        sent = through
            .iter()
            .flat_map(|through| [through + rtt_s; 2])
            .collect();
    }
}

#[test]
fn the_first_drop_comes_when_the_tokens_run_out() {
    for (mbit, burst, rtt_ms) in [(50, 500_000, 40), (10, 32_000, 100), (20, 2_000_000, 30)] {
        let mut flow = Flow::new(algorithm("reno"));
        flow.ack_policy = AckPolicy::EverySegment;
        flow.size = Some(Bytes::new(5_000_000));
        let output = run_traced(&policed(mbit * MBIT, burst, rtt_ms), flow);
        let result = &output.result.flows[0];
        let rtt_s = rtt_ms as f64 / 1e3;
        let (at, passed) = first_without_tokens(mbit * MBIT, burst, rtt_s);
        let found = result.first_drop_s.expect("a drop");
        println!(
            "{mbit} Mbit/s, burst {burst}, {rtt_ms} ms: first drop {found} s, expected {at} s after {passed} packets"
        );
        assert!((found - at).abs() < 0.0005, "{found} {at}");
        // Without a queue, the sender detects it one base round trip later, or two if no other
        // packet of the round finds tokens.
        let noticed = result.first_loss_s.expect("it loses") - found;
        assert!(
            (rtt_s * 0.99..rtt_s * 2.1).contains(&noticed),
            "{noticed} after a drop"
        );
        let rtt_max = result.rtt_p95_ms.expect("measured");
        assert!(
            rtt_max < rtt_ms as f64 * 1.5,
            "no queueing delay: {rtt_max}"
        );
        assert!(result.completed);
    }
}

/// In the long run, the token rate bounds a flow's goodput. With a burst of two BDPs, CUBIC uses
/// most of it. With a burst of 16 packets it uses much less, because no queue smooths the sender's
/// bursts.
#[test]
fn in_the_long_run_the_token_rate_is_the_bound() {
    let fraction = |burst: u64| {
        let mut flow = Flow::new(algorithm("cubic+standard"));
        flow.duration = Some(Duration::from_secs(60));
        let output = run_traced(&policed(50 * MBIT, burst, 40), flow);
        let goodput = output.result.flows[0].goodput_bps;
        // 1448 of 1514 bytes are payload.
        let fraction = goodput * 1514.0 / 1448.0 / 50e6;
        println!("burst {burst}: {fraction} of the rate");
        assert!(
            fraction <= 1.0 + burst as f64 * 8.0 / 60.0 / 50e6,
            "{fraction}"
        );
        fraction
    };
    let (large, small) = (fraction(500_000), fraction(25_000));
    assert!((0.85..1.01).contains(&large), "{large}");
    assert!((0.05..0.4).contains(&small), "{small}");
}

//! Slow start meets a policer: where the first drop comes, and what is left in the long run.

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

/// When the first packet of a sender finds no tokens whose window of 10 packets doubles each round trip, and how
/// many passed before it: each ACK lets two packets go, and ACKs come as the line behind the policer let
/// the packets of the round before through.
fn first_without_tokens(rate: u64, burst: u64, rtt_s: f64) -> (f64, u64) {
    let packet = 1514.0;
    let tx = packet * 8.0 / THEN as f64;
    let (mut tokens, mut at, mut passed) = (burst as f64, 0.0, 0);
    // When the packets of this round are through the line; the first leave together, after the handshake.
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
fn slow_start_meets_the_policer_where_the_tokens_end() {
    for (mbit, burst, rtt_ms) in [(50, 500_000, 40), (10, 32_000, 100), (20, 2_000_000, 30)] {
        let mut flow = Flow::new(algorithm("reno"));
        flow.ack_policy = AckPolicy::EverySegment;
        flow.size = Some(Bytes::new(5_000_000));
        let output = run_traced(&policed(mbit * MBIT, burst, rtt_ms), flow);
        let result = &output.result.flows[0];
        let rtt_s = rtt_ms as f64 / 1e3;
        let (at, passed) = first_without_tokens(mbit * MBIT, burst, rtt_s);
        let found = result.first_drop_s.expect("it goes beyond the tokens");
        println!(
            "{mbit} Mbit/s, burst {burst}, {rtt_ms} ms: first drop {found} s, as reckoned {at} s after {passed} packets"
        );
        assert!((found - at).abs() < 0.0005, "{found} {at}");
        // There is no queue, so the sender learns of it a base round trip later; two, where nothing of
        // the round behind it finds tokens either.
        let noticed = result.first_loss_s.expect("it loses") - found;
        assert!(
            (rtt_s * 0.99..rtt_s * 2.1).contains(&noticed),
            "{noticed} after a drop"
        );
        let rtt_max = result.rtt_p95_ms.expect("measured");
        assert!(rtt_max < rtt_ms as f64 * 1.5, "nothing waits: {rtt_max}");
        assert!(result.completed);
    }
}

/// The tokens are what a flow can have of a policer in the long run. With a burst of two BDPs CUBIC has most of
/// them. With one of 16 packets, the sender's bursts, which no queue smooths, lose far more than the rate
/// would have them.
#[test]
fn in_the_long_run_the_tokens_are_the_bound() {
    let share = |burst: u64| {
        let mut flow = Flow::new(algorithm("cubic+standard"));
        flow.duration = Some(Duration::from_secs(60));
        let output = run_traced(&policed(50 * MBIT, burst, 40), flow);
        let goodput = output.result.flows[0].goodput_bps;
        // Of 1514 bytes 1448 are payload.
        let share = goodput * 1514.0 / 1448.0 / 50e6;
        println!("burst {burst}: {share} of the rate");
        assert!(share <= 1.0 + burst as f64 * 8.0 / 60.0 / 50e6, "{share}");
        share
    };
    let (large, small) = (share(500_000), share(25_000));
    assert!((0.85..1.01).contains(&large), "{large}");
    assert!((0.05..0.4).contains(&small), "{small}");
}

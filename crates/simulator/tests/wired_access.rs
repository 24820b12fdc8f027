//! Downloads and probes over the presets of DSL and cable.

mod common;

use common::{algorithm, run};
use network::{Ecn, Link, Packet, Streams};
use scenario::{Flow, PathModel, Scenario};
use units::Instant;

/// Rate of the saturated forward link in each 100 ms, in Mbit/s with overhead.
fn backlogged(name: &str, seconds: u64) -> Vec<f64> {
    let path = PathModel::resolve(name).expect("a preset");
    let mut link: Link<()> = Link::new(&path.forward, Streams::new(1).stream("path.forward"));
    let mut bins = vec![0.0; (seconds * 10) as usize];
    // A full packet every 50 us exceeds both rates.
    for number in 0..seconds * 20_000 {
        let now = Instant::from_micros(number * 50);
        let packet = Packet {
            size: 1500,
            flow: 0,
            ecn: Ecn::NotEct,
            payload: (),
        };
        let _ = link.push(now, packet);
        while let Some((due, packet)) = link.pop(now) {
            let left = due - path.forward.delay;
            let bits = f64::from(packet.size + path.forward.overhead) * 8.0;
            bins[(left.as_nanos() / 100_000_000) as usize] += bits / 1e5;
        }
    }
    bins
}

#[test]
fn dsl_is_shaped_to_its_contract_rate() {
    let bins = backlogged("dsl", 3);
    // The burst of 32 kB lasts 25.6 ms: it drains at 60 Mbit/s and refills at 50. The contract rate
    // follows.
    assert!((50.0..53.0).contains(&bins[0]), "{bins:?}");
    for rate in &bins[1..29] {
        assert!((49.8..50.2).contains(rate), "{bins:?}");
    }
}

#[test]
fn cable_boosts_the_first_20_mb() {
    let bins = backlogged("docsis", 6);
    // 20 MB / (150 - 100 Mbit/s) = 3.2 s.
    for rate in &bins[..32] {
        assert!((149.5..150.5).contains(rate), "{bins:?}");
    }
    for rate in &bins[33..59] {
        assert!((99.5..100.5).contains(rate), "{bins:?}");
    }
}

#[test]
fn cable_grants_delay_and_bunch_acks() {
    let path = PathModel::resolve("docsis").expect("a preset");
    let mut link: Link<u64> = Link::new(&path.reverse, Streams::new(1).stream("path.reverse"));
    let mut out = Vec::new();
    // An ACK every 250 us, for 10 s.
    for number in 0..40_000 {
        let now = Instant::from_micros(number * 250);
        while let Some((due, packet)) = link.pop(now) {
            out.push((due, packet.payload));
        }
        let packet = Packet {
            size: 52,
            flow: 0,
            ecn: Ecn::NotEct,
            payload: now.as_nanos(),
        };
        let _ = link.push(now, packet);
    }
    let one_way = out
        .iter()
        .map(|(due, sent)| due.as_nanos() - sent)
        .collect::<Vec<_>>();
    let (least, most) = (
        one_way.iter().min().expect("some"),
        one_way.iter().max().expect("some"),
    );
    assert!(*least >= 14_000_000 && *least < 14_100_000, "{least}");
    assert!(*most <= 20_000_000 && *most > 19_900_000, "{most}");
    let together = out.windows(2).filter(|two| two[0].0 == two[1].0).count();
    let fraction = together as f64 / out.len() as f64;
    assert!((0.2..0.8).contains(&fraction), "{fraction}");
}

#[test]
fn the_token_rate_determines_the_download_time() {
    for (name, bytes, burst, rate) in [
        ("dsl", 10_000_000_u64, 32e3, 50e6),
        ("docsis", 60_000_000, 20e6, 100e6),
    ] {
        let mut flow = Flow::new(algorithm("cubic+standard"));
        flow.size = Some(units::Bytes::new(bytes));
        let path = PathModel::resolve(name).expect("a preset");
        let least = path.base_rtt.as_secs_f64() * 1e3;
        let packet = path.full_packet().get() as f64;
        let output = run(&Scenario::new(path, vec![flow]), false);
        let result = &output.result.flows[0];
        let tokens_s = (bytes as f64 * packet / 1448.0 - burst) * 8.0 / rate;
        let fct_s = result.fct_s.expect("completed");
        println!("{name}: {fct_s} s, {tokens_s} s at the token rate");
        assert!(
            fct_s > tokens_s && fct_s < 1.2 * tokens_s,
            "{name}: {fct_s} s, tokens {tokens_s} s"
        );
        let rtt = result.rtt_min_ms.expect("measured");
        assert!(rtt >= least && rtt < least + 7.0, "{name}: {rtt} ms");
    }
}

//! Whole connections over Wi-Fi: the presets compared with their calibration targets, and TCP over
//! the shared medium. Sources: docs/reference/sources.md, "Wi-Fi"; docs/reference/networks/wifi.md.

mod common;

use common::{algorithm, run};
use measure::FlowResult;
use network::{Ecn, Link, Packet, Streams};
use scenario::{Autotuning, Flow, PathModel, Scenario};
use units::{Bytes, Duration, Instant};

fn downloads(path: &PathModel, name: &str, size: Option<u64>, runs: u32) -> Vec<FlowResult> {
    let mut flow = Flow::new(algorithm(name));
    flow.size = size.map(Bytes::new);
    results(path, flow, runs)
}

/// Runs of a flow, for 3 seconds if it has no size.
fn results(path: &PathModel, flow: Flow, runs: u32) -> Vec<FlowResult> {
    let timed = flow.size.is_none();
    let mut scenario = Scenario::new(path.clone(), vec![flow]);
    if timed {
        scenario.duration = Some(Duration::from_secs(3));
    }
    let mut flow = |number: u32| {
        scenario.seed = u64::from(number);
        run(&scenario, false).result.flows.remove(0)
    };
    (1..=runs).map(&mut flow).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    assert!(!values.is_empty());
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sorted round-trip times of small packets over an idle path, in ms.
fn pings(path: &PathModel, count: u64) -> Vec<f64> {
    let streams = Streams::new(1);
    let rngs = ["path.forward", "path.reverse"].map(|name| streams.stream(name));
    let mut links: [Link<Instant>; 2] = Link::pair([&path.forward, &path.reverse], rngs);
    let mut found = Vec::new();
    for ping in 0..count {
        let start = Instant::from_millis(ping * 250);
        let mut packet = Packet {
            size: 84,
            flow: 0,
            ecn: Ecn::NotEct,
            payload: start,
        };
        let mut at = start;
        for link in &mut links {
            link.push(at, packet);
            (at, packet) = loop {
                let next = link.next_event().expect("the packet is inside");
                if let Some(out) = link.pop(next) {
                    break out;
                }
            };
        }
        found.push(at.saturating_since(start).as_nanos() as f64 / 1e6);
    }
    found.sort_by(f64::total_cmp);
    found
}

/// SUSS developers 2025: 53 to 55 ms over the idle path. Without HyStart, the receiver gets
/// 18.7 Mbit/s (from 10 to 28 MB, figure 4(a)), and the window reaches its maximum of 3.19 MB 1.7 s
/// after the SYN (figure 3). Tolerances, set in advance: 10 %, and half of all pings within the
/// 2 ms.
#[test]
fn the_testbed_matches_the_published_rtt_rate_and_overshoot() {
    let path = PathModel::resolve("wifi-testbed").unwrap();
    let found = pings(&path, 4000);
    let fraction = |fraction: f64| found[(found.len() as f64 * fraction) as usize];
    println!(
        "idle RTT: smallest {:.1}, median {:.1}, 95 % {:.1} ms",
        found[0],
        fraction(0.5),
        fraction(0.95)
    );
    assert!((53.0..55.0).contains(&fraction(0.5)));
    assert!(fraction(0.25) > 52.5 && fraction(0.75) < 56.0);
    let flows = downloads(&path, "cubic+standard", Some(28_000_000), 20);
    let rate = mean(flows.iter().map(|flow| flow.goodput_bps / 1e6));
    let loss = mean(flows.iter().filter_map(|flow| flow.first_loss_s));
    let exits = flows
        .iter()
        .filter_map(|flow| flow.slow_start_exit.as_ref());
    let window = mean(exits.map(|exit| exit.cwnd_bytes as f64 / 1e6));
    println!("{rate:.1} Mbit/s, first loss after {loss:.2} s, window {window:.2} MB");
    assert!((rate / 18.7 - 1.0).abs() < 0.1);
    assert!((loss / 1.7 - 1.0).abs() < 0.1);
    assert!((window / 3.19 - 1.0).abs() < 0.1);
}

/// Reference values of the closed form for 80 Mbit/s and 4 MB of buffer: plain slow start has its
/// first drop at 0.424 s, detects it at 0.831 s, and has lost 2684 packets by then. The medium here
/// gives 80 Mbit/s on average with backlogged stations. The tolerance, set in advance, is 6 %. The
/// closed form has no receive window, so the window is fully open from the start.
#[test]
fn the_overflow_matches_the_closed_form() {
    let text = r#"[path]
rate = { model = "wifi", rssi = "-53 dBm", mcs = 8, rssi_deviation = "0 dB", blocked = "0 %", max_frame = "500 us", busy = "62 %", stations = 1, station_packets = 64 }
rtt = "2 ms"
buffer = "4 MB"
"#;
    let path = PathModel::parse(text, "steady", std::path::Path::new("")).unwrap();
    let mut flow = Flow::new(algorithm("cubic+standard"));
    flow.autotuning = Autotuning::Off;
    let flows = results(&path, flow.clone(), 20);
    let drop = mean(flows.iter().filter_map(|flow| flow.first_drop_s));
    let loss = mean(flows.iter().filter_map(|flow| flow.first_loss_s));
    let mut scenario = Scenario::new(path, vec![flow]);
    let lost = mean(flows.iter().zip(1..).map(|(flow, seed)| {
        // Until the sender detects the loss.
        let nanos = (flow.first_loss_s.expect("a loss") * 1e9) as u64;
        scenario.duration = Some(Duration::from_nanos(nanos));
        scenario.seed = seed;
        let flow = run(&scenario, false).result.flows.remove(0);
        flow.segments_dropped.expect("simulated") as f64
    }));
    println!("first drop {drop:.3} s, detected {loss:.3} s, {lost:.0} packets");
    assert!((drop / 0.424 - 1.0).abs() < 0.06);
    assert!((loss / 0.831 - 1.0).abs() < 0.06);
    assert!((lost / 2684.0 - 1.0).abs() < 0.06);
}

/// Kachooei 2024 without HyStart at the strong signal (figure 5.10): slow start ends after about
/// 0.2 s (0.15 to 0.25 as printed) and about 2600 packets are retransmitted within 3 s (20 %). The
/// weak signal is the same network: slower, by an amount that nothing published bounds.
#[test]
fn slow_start_without_hystart_ends_as_published() {
    let ends = |name: &str| {
        let path = PathModel::resolve(name).unwrap();
        let flows = downloads(&path, "cubic+standard", None, 60);
        let exit = mean(
            flows
                .iter()
                .filter_map(|flow| Some(flow.slow_start_exit.as_ref()?.time_s)),
        );
        let again = mean(flows.iter().map(|flow| flow.segments_retransmitted as f64));
        println!("{name}: slow start ends after {exit:.3} s, {again:.0} retransmitted");
        (exit, again)
    };
    let (exit, again) = ends("wifi-strong");
    assert!((0.15..0.25).contains(&exit), "{exit}");
    assert!((again / 2600.0 - 1.0).abs() < 0.2, "{again}");
    let (weak, _) = ends("wifi-weak");
    assert!(weak > 1.1 * exit, "{weak}");
}

/// Uplink ACKs take airtime from downlink data. Without aggregation an ACK takes about a third of
/// the airtime of a data packet, so twice as many ACKs cost some 10 % (accepted: 5 to 20 %).
#[test]
fn acknowledgements_contend_with_data() {
    let text =
        "[path]\nrate = { model = 'wifi', standard = 'g' }\nrtt = '20 ms'\nbuffer = '200 packets'";
    let path = PathModel::parse(text, "g", std::path::Path::new("")).unwrap();
    let goodput = |ack_policy| {
        let mut flow = Flow::new(algorithm("cubic+standard"));
        flow.size = Some(Bytes::new(10_000_000));
        flow.ack_policy = ack_policy;
        run(&Scenario::new(path.clone(), vec![flow]), false)
            .result
            .flows[0]
            .goodput_bps
    };
    let (few, many) = (
        goodput(tcp::AckPolicy::Delayed),
        goodput(tcp::AckPolicy::EverySegment),
    );
    assert!((0.8..0.95).contains(&(many / few)), "{many} of {few}");
    assert!((15e6..30.49e6).contains(&few), "{few}");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let path = PathModel::resolve("wifi-weak").unwrap();
    let once = || {
        let mut flow = Flow::new(algorithm("cubic+hystart"));
        flow.size = Some(Bytes::new(3_000_000));
        serde_json::to_string(&run(&Scenario::new(path.clone(), vec![flow]), false).result).unwrap()
    };
    assert_eq!(once(), once());
}

/// The testbed's router may instead have had FQ-CoDel (Linux mac80211). With it, a long flow has
/// less than half of the mean RTT that a FIFO of 1000 packets gives, and at least 90 % of its rate.
#[test]
fn the_queue_of_mac80211_keeps_the_round_trip_short() {
    let text = "[path]\npreset = 'wifi-testbed'\nbuffer = '8192 packets'\n\
                aqm = { kind = 'fq-codel', target = '20 ms', quantum = '300 bytes' }";
    let managed = PathModel::parse(text, "fq", std::path::Path::new("")).unwrap();
    let fifo = PathModel::resolve("wifi-testbed").unwrap();
    let [long, short] = [fifo, managed].map(|path| {
        let flows = downloads(&path, "cubic+standard", Some(28_000_000), 10);
        let rtt = mean(flows.iter().filter_map(|flow| flow.rtt_mean_ms));
        let rate = mean(flows.iter().map(|flow| flow.goodput_bps / 1e6));
        println!("mean RTT {rtt:.0} ms, {rate:.1} Mbit/s");
        (rtt, rate)
    });
    assert!(short.0 < 0.5 * long.0 && short.0 > 53.0);
    assert!(short.1 > 0.9 * long.1);
}

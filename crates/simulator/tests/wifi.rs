//! Whole connections over Wi-Fi: the presets against what they are calibrated to, and the shared medium under TCP.
//! Sources: network-models, sections B.5.1, B.5.5 and E.

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

/// Runs of a flow, of 3 seconds where it has no size.
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

/// Round trips of small packets over an idle path, ms, in order of size.
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

/// Document 000: 53 to 55 ms over the idle path; and its flows without HyStart, of which the receiver has 18.7 Mbit/s
/// (from 10 to 28 MB, figure 4(a)) and whose window is largest, 3.19 MB, at 1.7 s after the SYN (figure 3). Tolerances,
/// set beforehand: 10 %, and half of all pings within the 2 ms.
#[test]
fn the_testbed_has_the_round_trip_rate_and_overshoot_of_the_document() {
    let path = PathModel::resolve("wifi-testbed").unwrap();
    let found = pings(&path, 4000);
    let share = |share: f64| found[(found.len() as f64 * share) as usize];
    println!(
        "idle round trip: least {:.1}, median {:.1}, 95 % {:.1} ms",
        found[0],
        share(0.5),
        share(0.95)
    );
    assert!((53.0..55.0).contains(&share(0.5)));
    assert!(share(0.25) > 52.5 && share(0.75) < 56.0);
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

/// Network-models B.5.5: behind 80 Mbit/s and 4 MB, plain slow start meets its first drop at 0.424 s, notices it at
/// 0.831 s, and has lost 2684 packets by then. Here on a medium that gives 80 Mbit/s in the mean, with everybody always
/// sending: 6 % of tolerance, set beforehand. The closed form knows no receive window, whose autotuning waits for
/// round trips of 2 ms that the medium makes longer: here it is open from the start.
#[test]
fn a_full_buffer_overflows_as_the_closed_form_says() {
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
        // To the moment at which the sender notices.
        let nanos = (flow.first_loss_s.expect("a loss") * 1e9) as u64;
        scenario.duration = Some(Duration::from_nanos(nanos));
        scenario.seed = seed;
        let flow = run(&scenario, false).result.flows.remove(0);
        flow.segments_dropped.expect("simulated") as f64
    }));
    println!("first drop {drop:.3} s, noticed {loss:.3} s, {lost:.0} packets");
    assert!((drop / 0.424 - 1.0).abs() < 0.06);
    assert!((loss / 0.831 - 1.0).abs() < 0.06);
    assert!((lost / 2684.0 - 1.0).abs() < 0.06);
}

/// Document 001 without HyStart: the first loss after 0.77 s in the mean (0.44 s of deviation), and 80 Mbit/s as E
/// has it. Fitted to that: 15 %. The weak signal is another point of the same network: E has 45 Mbit/s, a guess: 25 %.
#[test]
fn strong_and_weak_signals_have_their_rates() {
    let effective = |name: &str| {
        let path = PathModel::resolve(name).unwrap();
        let flows = downloads(&path, "cubic+standard", None, 60);
        let loss: Vec<f64> = flows.iter().filter_map(|flow| flow.first_loss_s).collect();
        let first = mean(loss.iter().copied());
        let deviation = mean(loss.iter().map(|loss| (loss - first).powi(2))).sqrt();
        let again = mean(flows.iter().map(|flow| flow.segments_retransmitted as f64));
        // Half of the wait for the first notice fills the buffer, half of it empties it.
        let rate = mean(loss.iter().map(|loss| 8.0 * 8.0 / loss));
        println!(
            "{name}: first loss after {first:.3} ({deviation:.3}) s, {again:.0} sent again, {rate:.0} Mbit/s"
        );
        (first, rate, again)
    };
    let (first, rate, again) = effective("wifi-strong");
    assert!((first / 0.77 - 1.0).abs() < 0.15);
    assert!((rate / 80.0 - 1.0).abs() < 0.25);
    assert!(again > 2600.0);
    let (_, weak, _) = effective("wifi-weak");
    assert!((weak / 45.0 - 1.0).abs() < 0.25);
}

/// ACKs that go up take air from data that goes down: without aggregation an
/// exchange of an ACK takes about a third of one of data, so that twice as many cost some 10 % (5 to 20 % are taken).
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

/// The other queue that the testbed's router may have had (B.5.5), mac80211's FQ-CoDel: a long flow keeps the mean round trip
/// under half of what 1000 packets give it, and has nine tenths of the rate at the least.
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
        println!("{rtt:.0} ms in the mean, {rate:.1} Mbit/s");
        (rtt, rate)
    });
    assert!(short.0 < 0.5 * long.0 && short.0 > 53.0);
    assert!(short.1 > 0.9 * long.1);
}

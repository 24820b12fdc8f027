//! Proxies that split connections: every byte arrives, in order and through full buffers, and the
//! split handshake and the local slow start take the time that a calculation by hand gives.

mod common;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use common::run;
use measure::{FlowResult, RunResult};
use proptest::prelude::*;
use scenario::{Application, Scenario, TrafficKind};
use simulator::{EventLoop, RunOptions};
use units::{Duration, Instant};
use workload::Plan;
use workload::draw::Times;
use workload::generate::{Epochs, RequestResponseConfig};

fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "f.toml", Path::new("")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn result(text: &str) -> RunResult {
    run(&parse(text), false).result
}

fn flow(text: &str) -> FlowResult {
    result(text).flows.remove(0)
}

/// A satellite between a server network and a user network: 10, 290 and 2 ms one way.
fn satellite(proxies: [&str; 2], keys: &str) -> String {
    let [near, far] = proxies.map(|keys| {
        if keys.is_empty() {
            String::new()
        } else {
            format!("proxy = {{ {keys} }}")
        }
    });
    format!(
        "
        [path]
        rate = '1 Gbit/s'
        buffer = 'unlimited'
        rtt = '580 ms'
        [[node]]
        name = 'left'
        {near}
        [[node]]
        name = 'right'
        {far}
        [[node]]
        name = 'server'
        [[node]]
        name = 'user'
        [[link]]
        from = 'server'
        to = 'left'
        rate = '1 Gbit/s'
        delay = '10 ms'
        [[link]]
        from = 'right'
        to = 'user'
        rate = '1 Gbit/s'
        delay = '2 ms'
        [[flow]]
        from = 'server'
        to = 'user'
        {keys}
        "
    )
    .replace("[[node]]\n        name = 'left'\n        \n", "")
    .replace("[[node]]\n        name = 'right'\n        \n", "")
}

const GATEWAY: &str = "buffer = '4 MB'";

/// The handshakes follow each other without waiting: the proxy at "left" has the SYN after 10 ms, and
/// opens the next leg at once. That one's SYN-ACK is back after 10 + 580 ms; by then the first data,
/// which left at 20 ms, has long been there. It crosses the satellite in 290 ms;
/// the last leg, whose SYN came with the satellite's at 300 ms, is open since 304 ms, so the data
/// passes in 2 ms: 10 + 580 + 290 + 2 = 882 ms. End to end, the handshake takes the whole RTT of
/// 604 ms, and the data 302 ms after it: 906 ms. The split saves 24 ms, the RTT of the legs at the
/// ends.
#[test]
fn the_first_byte_comes_earlier_by_the_round_trips_of_the_outer_legs() {
    let one = "algorithm = 'reno'\nsize = '1 B'";
    let fct = |proxies| flow(&satellite(proxies, one)).fct_s.expect("complete");
    // Each packet takes less than 2 us on each link.
    let near = |found: f64, expected: f64| {
        assert!(found >= expected && found < expected + 5e-5, "{found}");
    };
    near(fct(["", ""]), 0.906);
    near(fct([GATEWAY, GATEWAY]), 0.882);
    // One proxy on the left: 10 + 584 + 292 ms. On the right: 600 + 300 + 2 ms; the last leg is open.
    near(fct([GATEWAY, ""]), 0.886);
    near(fct(["", GATEWAY]), 0.902);
}

/// A megabyte has 691 segments. Without delayed ACKs, a slow start from 10 segments needs 7 rounds
/// (10 (2^7 - 1) >= 691 > 10 (2^6 - 1)): end to end 604 + 6 * 604 + 302 ms = 4.530 s. Split, the
/// satellite's 7 rounds of 580 ms remain: 10 + 580 + 6 * 580 + 290 + 2 ms = 4.362 s, and the 60
/// segments of the last round arrive in one burst, which the open window of the last leg passes.
///
/// With an initial window of 1000 segments at the server's gateway, the satellite takes all in one
/// go. The local slow start has brought it there by 20 + 6 * 20 + 10 = 150 ms, long before the
/// satellite's leg opens at 590 ms. The last leg begins with 10 segments at 880 ms and needs its 7
/// rounds of 4 ms: 880 + 6 * 4 + 2 = 906 ms, plus at most 8.4 ms in which the satellite transmits 691
/// packets of 1514 bytes.
#[test]
fn proxies_at_both_ends_of_a_satellite_save_the_rounds_of_its_slow_start() {
    let keys =
        "algorithm = 'reno'\nsize = '1 MB'\nack_policy = 'every-segment'\nsyn_window = '4 MB'";
    let fct = |proxies| flow(&satellite(proxies, keys)).fct_s.expect("complete");
    let near = |found: f64, expected: f64, more: f64| {
        assert!(
            found >= expected && found < expected + more,
            "{found} {expected}"
        );
    };
    near(fct(["", ""]), 4.530, 0.002);
    near(fct([GATEWAY, GATEWAY]), 4.362, 0.002);
    near(fct(["initial_window = 1000", GATEWAY]), 0.906, 0.0084);
}

/// A fast first leg and a slow second one. The first sender has sent what the proxy holds and what has
/// left it, so at no time more than that; the proxy's window stops it.
#[test]
fn a_full_proxy_stops_the_sender_and_lets_it_go_on() {
    for buffer in [2896_u64, 5_000, 20_000, 100_000] {
        let text = |duration: &str| {
            format!(
                "
                duration = '{duration}'
                [path]
                rate = '100 Mbit/s'
                rtt = '4 ms'
                [[node]]
                name = 'right'
                proxy = {{ buffer = '{buffer} B' }}
                [[node]]
                name = 'user'
                [[link]]
                from = 'right'
                to = 'user'
                rate = '1 Mbit/s'
                buffer = '10 packets'
                delay = '50 ms'
                [[flow]]
                algorithm = 'cubic'
                to = 'user'
                size = '400 kB'
                "
            )
        };
        let (mut before, mut fullest) = (0, 0);
        for ms in (100..6_000).step_by(350) {
            let found = flow(&text(&format!("{ms} ms")));
            let delivered = (found.goodput_bps * f64::from(ms) / 8e3).round() as u64;
            let accepted = found.bytes_acked;
            // Of the memory of a full segment, 1,440 bytes count as window.
            let held = buffer * 1448 / 1440;
            assert!(
                accepted <= delivered + held,
                "{buffer} {ms} {accepted} {delivered}"
            );
            fullest = fullest.max(accepted.saturating_sub(delivered));
            assert!(delivered >= before);
            before = delivered;
        }
        // It closes the window at a sixteenth of the buffer, or a segment. Up to 11 packets are in the
        // queue or have arrived, and are not acknowledged.
        assert!(
            buffer < 50_000 || fullest > buffer * 15 / 16 - 12 * 1448,
            "{fullest}"
        );
        let found = flow(&text("600 s"));
        assert!(found.completed && found.bytes_acked == 400_000, "{found:?}");
        // At most the slow link's rate; with a buffer of two segments, one or two in each round trip.
        let fct = found.fct_s.expect("complete");
        assert!(fct > 3.3, "{fct}");
        assert!(buffer < 20_000 || fct < 5.0, "{buffer}: {fct}");
    }
}

/// A chain of lossy links with proxies between them.
fn chain(proxies: &[u64], loss: f64, keys: &str, flow: &str) -> String {
    let mut text = format!(
        "
        {keys}
        [path]
        rate = '20 Mbit/s'
        rtt = '10 ms'
        buffer = '20 packets'
        loss = '{loss} %'
        "
    );
    for (place, buffer) in proxies.iter().enumerate() {
        let name = match place {
            0 => "right".to_owned(),
            _ => format!("n{place}"),
        };
        text += &format!("[[node]]\nname = '{name}'\nproxy = {{ buffer = '{buffer} B' }}\n");
    }
    text += "[[node]]\nname = 'end'\n";
    for place in 0..proxies.len() {
        let name = |place: usize| match place {
            0 => "right".to_owned(),
            _ if place == proxies.len() => "end".to_owned(),
            _ => format!("n{place}"),
        };
        text += &format!(
            "[[link]]\nfrom = '{}'\nto = '{}'\nrate = '{} Mbit/s'\ndelay = '{} ms'\nloss = '{loss} %'\n",
            name(place),
            name(place + 1),
            1 + 7 * place,
            3 + 20 * place,
        );
    }
    text + flow
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 300 } else { 1500 }))]

    #[test]
    fn every_byte_arrives_through_any_proxies(
        buffers in prop::collection::vec(prop_oneof![2896_u64..6000, 6000_u64..500_000], 1..4),
        loss in prop_oneof![Just(0.0), 0.1..15.0_f64],
        size in prop_oneof![1_u64..4000, 4000_u64..120_000],
        seed in 0_u64..1_000_000,
        variant in 0..6_usize,
    ) {
        let keys = [
            "", "sack = false", "ack_policy = 'every-segment'", "pacing = true",
            "application = { write = '700 B', every = '3 ms' }",
            "application = { write = '5 kB', pause = '20 ms' }",
        ][variant];
        let flow = format!(
            "[[flow]]\nalgorithm = 'cubic'\nsize = '{size} B'\nto = 'end'\n{keys}\n"
        );
        let top = format!("seed = {seed}\ntime_limit = '20000 s'");
        let scenario = parse(&chain(&buffers, loss, &top, &flow));
        let of = |event_loop| {
            let options = RunOptions { event_loop, ..RunOptions::default() };
            simulator::run(&scenario, 0, &options, &AtomicBool::new(false)).expect("a run").result
        };
        let [found, plain] = [EventLoop::Fastest, EventLoop::Plain].map(of);
        prop_assert_eq!(&found, &plain);
        let flow = &found.flows[0];
        prop_assert!(flow.completed, "{:?}", flow);
        prop_assert_eq!(flow.bytes_acked, size);
        let fct = flow.fct_s.expect("complete");
        let delivered = flow.goodput_bps * fct / 8.0;
        prop_assert!((delivered - size as f64).abs() < 0.5, "{} {}", delivered, size);
    }

    #[test]
    fn both_directions_of_a_connection_arrive_through_any_proxies(
        buffers in prop::collection::vec(prop_oneof![2896_u64..6000, 6000_u64..500_000], 1..4),
        loss in prop_oneof![Just(0.0), 0.1..8.0_f64],
        seed in 0_u64..1_000_000,
        back in any::<bool>(),
    ) {
        let direction = if back {
            "direction = 'reverse'\nfrom = 'end'\nto = 'left'"
        } else {
            "from = 'left'\nto = 'end'"
        };
        let traffic = format!("[[traffic]]\nkind = 'bulk'\nsize = '1 B'\nlist_flows = true\n{direction}\n");
        let top = format!("seed = {seed}\nduration = '4000 s'\ntime_limit = '4000 s'");
        let mut scenario = parse(&(chain(&buffers, loss, &top, &traffic)
            + "[[flow]]\nalgorithm = 'reno'\nsize = '1 B'\nstart = '3990 s'\n"));
        let (clients, requests) = (3, 4);
        let epochs = Epochs {
            think: Times::Constant(Duration::from_millis(30)),
            ..Epochs::default()
        };
        let traffic = &mut scenario.path.traffic[0];
        traffic.kind = TrafficKind::Exchanges(Plan::RequestResponse(RequestResponseConfig {
            clients, begin: Instant::ZERO, spread: Duration::from_millis(50), requests, epochs,
        }));
        traffic.flow.application = Application::Bulk;
        let of = |event_loop| {
            let options = RunOptions { event_loop, ..RunOptions::default() };
            simulator::run(&scenario, 0, &options, &AtomicBool::new(false)).expect("a run").result
        };
        let [found, plain] = [EventLoop::Fastest, EventLoop::Plain].map(of);
        prop_assert_eq!(&found, &plain);
        let traffic = &found.traffic[0];
        prop_assert_eq!(traffic.started, u64::from(clients));
        prop_assert_eq!(traffic.finished, u64::from(clients), "{:?}", traffic);
    }
}

/// The file that teaches proxies: without them the transfer takes longer.
#[test]
fn a_satellite_with_proxies_at_its_gateways() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/satellite-proxies.toml");
    let scenario = Scenario::load(&file).expect("a valid scenario");
    let found = run(&scenario, false).result;
    let [split, whole] = &found.flows[..] else {
        panic!("two flows");
    };
    // The RTT is that of the first leg.
    assert!(
        split.rtt_min_ms.expect("a sample") < 25.0 && whole.rtt_min_ms.expect("a sample") > 632.0
    );
    let times = [split, whole].map(|flow| flow.fct_s.expect("complete"));
    assert!(times[0] < 0.7 * times[1], "{times:?}");
}

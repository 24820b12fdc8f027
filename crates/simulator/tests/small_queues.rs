//! TCP Small Queues if the sender's own device is the bottleneck, and their relaxation (Grazia
//! 2019): docs/concepts/small-queues.md.

mod common;

use std::path::Path;

use common::{algorithm, run, run_traced, wired};
use measure::LinkResult;
use scenario::{Flow, Scenario};
use units::Bytes;

fn transfer(small_queue: Option<u8>, pacing: bool) -> (LinkResult, f64, u64) {
    let mut flow = Flow::new(algorithm("cubic+standard"));
    flow.size = Some(Bytes::new(5_000_000));
    flow.small_queue = small_queue;
    flow.pacing = pacing;
    // 10 Mbit/s, 50 ms: without queueing, at most 42 packets are in flight.
    let output = run_traced(&wired(10, 50, 2_000), flow);
    let flow = &output.result.flows[0];
    let link = output.result.links.into_iter().next().expect("a link");
    (
        link,
        flow.fct_s.expect("completed"),
        flow.segments_retransmitted,
    )
}

#[test]
fn small_queues_keep_the_queue_in_the_application() {
    for pacing in [false, true] {
        let (unlimited, fct, _) = transfer(None, pacing);
        assert!(unlimited.queue_max_packets > 500, "{unlimited:?}");
        let mut before = 0;
        // The default of Linux, then relaxed to 4, 8 and 62 ms of the pacing rate.
        for shift in [10, 8, 7, 4] {
            let (limited, own_fct, again) = transfer(Some(shift), pacing);
            assert_eq!((limited.drops, again), (0, 0));
            assert!(
                limited.queue_max_packets >= before,
                "{shift}: {} after {before}",
                limited.queue_max_packets
            );
            before = limited.queue_max_packets;
            // The limit never leaves the device idle.
            assert!(
                (own_fct / fct - 1.0).abs() < 0.02,
                "{shift}: {own_fct} for {fct}"
            );
            if shift == 10 {
                // Two bursts and the one that still fit, or a millisecond of the pacing rate.
                assert!((2..=20).contains(&before), "{before}");
            }
        }
        assert!(before > 40, "{before}");
    }
}

#[test]
fn a_device_that_is_not_the_bottleneck_changes_nothing() {
    // Each burst leaves the device within its millisecond, so the window is the limit.
    let fct = |small_queue| {
        let mut flow = Flow::new(algorithm("cubic"));
        flow.size = Some(Bytes::new(2_000_000));
        flow.small_queue = small_queue;
        flow.receive_buffer = Bytes::new(60_000);
        run_traced(&wired(10_000, 20, 10_000), flow).result.flows[0].fct_s
    };
    assert_eq!(fct(None), fct(Some(10)));
}

/// What an upload over the sender's own Wi-Fi for 5 s attains.
struct Upload {
    mbps: f64,
    rtt_ms: f64,
    queue_max: u64,
}

fn upload(path: &str, flow: &str) -> Upload {
    let text = format!(
        "duration = '5 s'\n[path]\nrtt = '4 ms'\nbuffer = '1000 packets'\n{path}\n\
         [[flow]]\nalgorithm = 'cubic+hystart'\ntso_segments = 1\n{flow}\n",
    );
    let scenario = Scenario::parse(&text, "f.toml", Path::new(""));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let result = run(&scenario, false).result;
    Upload {
        mbps: result.flows[0].goodput_bps / 1e6,
        rtt_ms: result.flows[0].rtt_mean_ms.expect("an RTT"),
        queue_max: result.links[0].queue_max_packets,
    }
}

const BESIDE_ANOTHER: &str =
    "rate = { model = 'wifi', standard = 'n', width = '20 MHz', stations = 1 }";

/// Grazia 2018: relaxed small queues double the throughput of 802.11n. The other station sends full
/// frames, and a millisecond of our rate is less than the packets of one.
#[test]
fn over_wifi_small_queues_shorten_frames_and_relaxing_them_doubles_the_goodput() {
    let [strict, relaxed] =
        [10, 7].map(|shift| upload(BESIDE_ANOTHER, &format!("small_queue = {shift}")));
    let unlimited = upload(BESIDE_ANOTHER, "");
    assert!(
        relaxed.mbps > 1.7 * strict.mbps,
        "{} {}",
        relaxed.mbps,
        strict.mbps
    );
    assert!((relaxed.mbps / unlimited.mbps - 1.0).abs() < 0.1);
    // The packets wait in the application instead.
    assert!(strict.rtt_ms < relaxed.rtt_ms && 2.0 * relaxed.rtt_ms < unlimited.rtt_ms);
    assert!(strict.queue_max < relaxed.queue_max && relaxed.queue_max < unlimited.queue_max);
}

/// A packet that a queue discipline drops, or that the radio gives up, frees its place: the sender
/// never stops.
#[test]
fn over_wifi_small_queues_survive_losses_and_queue_disciplines() {
    for path in [
        "aqm = 'fq-codel'\nrate = { model = 'wifi', standard = 'n' }",
        "rate = { model = 'wifi', standard = 'ac', rssi = '-70 dBm', retries = 0, hidden = '10 %' }",
        "rate = { model = 'wifi', standard = 'g' }",
        "rate = { model = 'wifi', standard = 'n', assembled_ahead = true, stations = 2 }",
    ] {
        let [limited, unlimited] = ["small_queue = 4", ""].map(|flow| upload(path, flow));
        assert!(
            limited.mbps > 0.8 * unlimited.mbps,
            "{path}: {} for {}",
            limited.mbps,
            unlimited.mbps
        );
    }
}

/// A frame that was assembled while the one before it was on the air lacks the packets that came
/// since. That costs a limited queue more than an unlimited one.
#[test]
fn frames_assembled_ahead_are_shorter() {
    let goodput = |ahead: bool, flow: &str| {
        let radio = "model = 'wifi', standard = 'ac', width = '80 MHz'";
        let path = format!("rate = {{ {radio}, assembled_ahead = {ahead} }}");
        upload(&path, flow).mbps
    };
    let [limited, unlimited] =
        ["small_queue = 10", ""].map(|flow| goodput(true, flow) / goodput(false, flow));
    assert!(limited < 0.97, "{limited}");
    assert!((0.97..1.03).contains(&unlimited), "{unlimited}");
}

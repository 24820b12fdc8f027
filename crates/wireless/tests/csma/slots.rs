//! Networks with beacons.

use units::{Duration, Instant};
use wireless::adhoc::mac::MacEvent;
use wireless::adhoc::mac::csma::CsmaConfig;
use wireless::adhoc::mac::csma::timing::airtime;

use crate::harness::{Net, no_capture, star};

/// The propagation delay over 5 m.
const DELAY: u64 = 17;

#[test]
fn the_cycle_in_slots_is_longer_than_without() {
    // In periods of 320 us: backoff 3.5, two assessments, then a frame of 13.3 from the start of a
    // period. Its acknowledgement starts 14 periods after that start and ends after 15.1; the space
    // of 2 periods ends within the 18th.
    let config = CsmaConfig {
        beacon_order: Some(14),
        ..CsmaConfig::DEFAULT
    };
    let mut net = Net::new(&config, &no_capture(), &star(1), 1);
    net.saturate(1, 116, Duration::from_secs(100));
    let rate = net.tally.received as f64 / 100.0;
    let cycle: f64 = 23.5 * 320e-6;
    let deviation = 2.291_288 * 320e-6 / cycle / (100.0 / cycle).sqrt();
    println!("{rate} frames/s in slots (expected {:.2})", 1.0 / cycle);
    assert!((rate * cycle - 1.0).abs() < 4.0 * deviation, "{rate}");
}

#[test]
fn frames_stay_in_the_contention_access_period() {
    // A beacon every 122.88 ms; nodes may send for 61.44 ms, after the first two periods.
    let (interval, end) = (122_880_000, 61_440_000);
    let config = CsmaConfig {
        beacon_order: Some(3),
        superframe_order: Some(2),
        ..CsmaConfig::DEFAULT
    };
    let mut net = Net::new(&config, &no_capture(), &star(5), 2);
    net.saturate(5, 113, Duration::from_secs(60));
    let airtime = airtime(124).as_nanos();
    let (mut first, mut last) = (u64::MAX, 0);
    for (at, event) in &net.log {
        if let MacEvent::Received { .. } = event {
            let start = (at.as_nanos() - DELAY - airtime) % interval;
            assert_eq!(start % 320_000, 0, "a frame starts with a period");
            // The acknowledgement starts at the next period but one and takes 352 us; then 640 us.
            let done = start + airtime + 320_000 + 352_000 + 640_000;
            assert!(start >= 1_280_000 && done <= end, "{start}");
            (first, last) = (first.min(start), last.max(done));
        }
    }
    // Both ends are used: the first assessments come right after the beacon.
    assert_eq!(first, 1_280_000);
    assert!(last > end - 320_000, "{last}");
    assert!(net.tally.received > 2000);
}

#[test]
fn the_inactive_period_halves_the_throughput() {
    let rate = |superframe_order| {
        let config = CsmaConfig {
            beacon_order: Some(6),
            superframe_order: Some(superframe_order),
            ..CsmaConfig::DEFAULT
        };
        let mut net = Net::new(&config, &no_capture(), &star(1), 3);
        net.saturate(1, 116, Duration::from_secs(100));
        net.tally.received as f64
    };
    let (all, half) = (rate(6), rate(5));
    // Of the 0.49 s of a superframe, at most one exchange is lost at the end.
    let ratio = half / all;
    println!("half the time: {ratio:.4} of the throughput");
    assert!(ratio > 0.48 && ratio < 0.5, "{ratio}");
}

#[test]
fn a_packet_waits_for_the_next_superframe() {
    let config = CsmaConfig {
        beacon_order: Some(3),
        superframe_order: Some(2),
        min_be: 0,
        ..CsmaConfig::DEFAULT
    };
    let mut net = Net::new(&config, &no_capture(), &star(1), 4);
    net.send(Instant::from_millis(62), 1, Some(0), 113, 1);
    net.finish();
    // Without a backoff: beacon at 122.88 ms, two periods for it and two for the assessments.
    let expected = 122_880_000 + 4 * 320_000 + airtime(124).as_nanos() + DELAY;
    assert_eq!(net.log[0].0, Instant::from_nanos(expected));
}

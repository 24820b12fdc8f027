//! HyStart of the paper and of the port to ns-2.

mod startup_support;

use congestion::startup::HyStart;
use congestion::startup::hystart::{HyStartConfig, HyStartVariant};
use congestion::{Ack, ExitReason, Startup, Step};
use startup_support::{ack, segments, window};
use units::{Duration, Instant};

/// Runs a round of `count` ACKs `gap` us apart from `start` on, which ends with `una`. Returns the
/// ACK that ends slow start, and the reason. All ACKs have the same round-trip time.
fn round(
    hystart: &mut HyStart,
    cwnd: u64,
    (start, gap, count): (u64, u64, u64),
    rtt: u64,
) -> Option<(u64, ExitReason)> {
    (1..=count).find_map(|place| {
        let now = Instant::from_micros(start + gap * (place - 1));
        let una = start + place;
        let ack = Ack {
            snd_nxt: start + 1_000_000,
            ..ack(now, segments(1), una, Some(Duration::from_micros(rtt)))
        };
        match hystart.on_delivery(&ack, &window(cwnd)) {
            Some(Step::Exit { reason, .. }) => Some((place, reason)),
            None => None,
            other => panic!("{other:?}"),
        }
    })
}

fn new(variant: HyStartVariant) -> HyStart {
    HyStart::new(HyStartConfig::of(variant), Instant::ZERO, 0)
}

/// The second round against the first: a sixteenth more, rounded up, at least 2 and at most 8 ms.
#[test]
fn the_paper_compares_with_the_previous_round() {
    for (before, threshold) in [
        (10_000, 12_000),
        (32_000, 34_000),
        (40_001, 42_502),
        (100_000, 106_250),
        (200_000, 208_000),
    ] {
        for (rtt, fires) in [(threshold - 1, false), (threshold, true)] {
            let mut hystart = new(HyStartVariant::Paper);
            assert_eq!(
                round(&mut hystart, 20, (1_000_000, 5_000, 20), before),
                None
            );
            let exit = round(&mut hystart, 20, (3_000_000, 5_000, 20), rtt);
            assert_eq!(exit.is_some(), fires, "{before} {rtt}");
            if let Some((place, reason)) = exit {
                assert_eq!(place, 8, "at the eighth sample");
                let expected = ExitReason::Delay {
                    rtt: Duration::from_micros(rtt),
                    threshold: Duration::from_micros(threshold),
                    base: Duration::from_micros(before),
                    samples: 8,
                };
                assert_eq!(reason, expected);
            }
        }
    }
    // A comparison with the previous round never detects a slow rise; Linux compares with the
    // minimum.
    for (variant, fires) in [
        (HyStartVariant::Paper, false),
        (HyStartVariant::Linux, true),
    ] {
        let mut hystart = new(variant);
        let exit = (0..6).find_map(|step| {
            let start = 1_000_000 * (1 + 2 * step);
            round(&mut hystart, 20, (start, 5_000, 20), 100_000 + 6_000 * step)
        });
        assert_eq!(exit.is_some(), fires, "{variant:?}");
    }
}

#[test]
fn the_paper_uses_eight_samples_and_exits_from_16_segments_on() {
    let mut hystart = new(HyStartVariant::Paper);
    round(&mut hystart, 20, (1_000_000, 5_000, 20), 100_000);
    // Seven late samples and one early one: the early one is the round's minimum, and later samples
    // do not raise it.
    assert_eq!(
        round(&mut hystart, 20, (3_000_000, 5_000, 7), 120_000),
        None
    );
    assert_eq!(
        round(&mut hystart, 20, (3_100_000, 5_000, 1), 100_000),
        None
    );
    assert_eq!(
        round(&mut hystart, 20, (3_200_000, 5_000, 30), 120_000),
        None
    );
    for (cwnd, fires) in [(15, false), (16, true)] {
        let mut hystart = new(HyStartVariant::Paper);
        round(&mut hystart, cwnd, (1_000_000, 5_000, 20), 100_000);
        let exit = round(&mut hystart, cwnd, (3_000_000, 5_000, 20), 120_000);
        assert_eq!(exit.is_some(), fires, "{cwnd}");
    }
}

/// Half of 100 ms, whether the ACKs are 2 ms apart or closer, paced or not.
#[test]
fn trains_of_the_paper_and_the_port() {
    for (variant, gap, exit) in [
        (HyStartVariant::Paper, 2_000, Some(50_000)),
        (HyStartVariant::Paper, 2_001, None),
        (HyStartVariant::Linux, 2_000, Some(52_000)),
        (HyStartVariant::Linux, 3_000, None),
        (HyStartVariant::Ns2, 2_000, Some(52_000)),
        (HyStartVariant::Ns2, 3_000, Some(51_000)),
        (HyStartVariant::Ns2, 4_000, Some(52_000)),
        (HyStartVariant::Ns2, 4_001, None),
    ] {
        let mut hystart = new(variant);
        round(&mut hystart, 20, (1_000_000, 5_000, 20), 100_000);
        let found = round(&mut hystart, 20, (3_000_000, gap, 40), 100_000);
        let after = found.map(|(place, reason)| {
            assert!(matches!(reason, ExitReason::AckTrain { .. }));
            (place - 1) * gap
        });
        assert_eq!(after, exit, "{variant:?} {gap}");
    }
}

/// The ACK that opens a round does not count, so that the tenth decides, at any window.
#[test]
fn the_excerpt_leaves_at_the_tenth_ack() {
    for (variant, rtt, exit) in [
        (HyStartVariant::Ns2, 112_500, None),
        (HyStartVariant::Ns2, 112_501, Some(10)),
        (HyStartVariant::Ns2Excerpt, 100_000, Some(10)),
    ] {
        let mut hystart = new(variant);
        assert_eq!(round(&mut hystart, 2, (1_000_000, 5_000, 5), 100_000), None);
        let found = round(&mut hystart, 2, (3_000_000, 5_000, 30), rtt);
        assert_eq!(found.map(|(place, _)| place), exit, "{variant:?} {rtt}");
        assert_eq!(
            round(&mut hystart, 2, (5_000_000, 5_000, 30), 300_000).is_some(),
            exit.is_none()
        );
    }
}

/// Half of 100 ms in eighths of a millisecond is the number 400, and it counts as microseconds.
#[test]
fn in_the_units_of_ns2_two_acks_are_a_train() {
    for (gap, exit) in [
        (200, Some(4)),
        (400, Some(3)),
        (401, Some(2)),
        (4_000, Some(2)),
        (4_001, None),
    ] {
        let mut hystart = new(HyStartVariant::Ns2Units);
        let found = round(&mut hystart, 2, (1_000_000, gap, 30), 100_000);
        assert_eq!(found.map(|(place, _)| place), exit, "{gap}");
        if let Some((_, reason)) = found {
            let expected = ExitReason::AckTrain {
                train: Duration::from_micros(gap * (exit.unwrap_or(1) - 1)),
                threshold: Duration::from_micros(400),
            };
            assert_eq!(reason, expected);
        }
        // With converted units the train would have to last 50 ms.
        let mut converted = new(HyStartVariant::Ns2);
        assert_eq!(
            round(&mut converted, 2, (1_000_000, gap, 12), 100_000),
            None
        );
    }
}

//! HyStart as in Linux: thresholds, rounds, and the kernel's two forms.

mod startup_support;

use core::num::NonZeroU32;

use congestion::options::{OptionError, Options};
use congestion::startup::hystart::{HyStartForm, HyStartVariant};
use congestion::startup::{HyStart, HyStartConfig};
use congestion::{Ack, Congestion, CongestionKind, ExitReason, Phase, Startup, Step};
use proptest::prelude::*;
use startup_support::{ack, at, segments, window};
use units::{Bytes, Duration, Instant, Rate};

/// An ACK of one segment with `rtt` microseconds.
fn sample(now: u64, una: u64, nxt: u64, rtt: u64) -> Ack {
    Ack {
        snd_nxt: nxt,
        ..ack(at(now), segments(1), una, Some(Duration::from_micros(rtt)))
    }
}

fn exit_reason(step: Option<Step>) -> Option<ExitReason> {
    match step {
        None => None,
        Some(Step::Exit {
            cwnd,
            ssthresh,
            reason,
        }) => {
            assert_eq!(cwnd, ssthresh, "the threshold is the window");
            Some(reason)
        }
        Some(other) => panic!("{other:?}"),
    }
}

/// The ACK on which the delay detector fires in a round with RTT `rtt`; the connection's minimum
/// is `min`.
fn delay_exit(config: HyStartConfig, min: u64, rtt: u64) -> Option<(u64, ExitReason)> {
    let mut hystart = HyStart::new(config, Instant::ZERO, 0);
    // One ACK at the smallest RTT, in a round that ends with it.
    assert_eq!(
        hystart.on_delivery(&sample(1_000_000, 1000, 1000, min), &window(20)),
        None
    );
    (1..=20).find_map(|count| {
        // 5 ms apart, so that the ACKs form no train.
        let ack = sample(2_000_000 + 5_000 * count, 1001, 50_000, rtt);
        exit_reason(hystart.on_delivery(&ack, &window(20))).map(|reason| (count, reason))
    })
}

#[test]
fn delay_thresholds_of_linux() {
    for (min, threshold) in [
        (10_000, 14_000),
        (32_000, 36_000),
        (40_000, 45_000),
        (100_000, 112_500),
        (128_000, 144_000),
        (200_000, 216_000),
        (600_000, 616_000),
    ] {
        assert_eq!(
            delay_exit(HyStartConfig::default(), min, threshold),
            None,
            "{min}: only above the threshold"
        );
        let (count, reason) =
            delay_exit(HyStartConfig::default(), min, threshold + 1).expect("fires");
        assert_eq!(count, 9, "not before the ninth sample of a round");
        let (rtt, threshold) = (
            Duration::from_micros(threshold + 1),
            Duration::from_micros(threshold),
        );
        let (base, samples) = (Duration::from_micros(min), 8);
        let expected = ExitReason::Delay {
            rtt,
            threshold,
            base,
            samples,
        };
        assert_eq!(reason, expected);
    }
    let deaf = HyStartConfig {
        delay: false,
        ..HyStartConfig::default()
    };
    assert_eq!(delay_exit(deaf, 100_000, 900_000), None);
}

/// The train length at which the detector fires, with an ACK every `spacing` microseconds.
fn train_exit(
    config: HyStartConfig,
    rtt: u64,
    paced: bool,
    pacing_rate: Rate,
    spacing: u64,
) -> Option<u64> {
    let mut hystart = HyStart::new(config, Instant::ZERO, 0);
    let start = 1_000_000;
    (0..400_000 / spacing)
        .map(|count| count * spacing)
        .find(|&time| {
            let ack = Ack {
                paced,
                pacing_rate,
                ..sample(start + time, 1, 100_000_000, rtt)
            };
            matches!(
                exit_reason(hystart.on_delivery(&ack, &window(20))),
                Some(ExitReason::AckTrain { .. })
            )
        })
}

#[test]
fn train_thresholds_of_linux() {
    let config = HyStartConfig {
        delay: false,
        ..HyStartConfig::default()
    };
    // Any rate below 262 MB/s allows a whole millisecond for aggregation.
    let rate = Rate::from_bits_per_sec(50_000_000);
    for (rtt, unpaced, paced) in [
        (10_000, 5_500, 11_000),
        (40_000, 20_500, 41_000),
        (100_000, 50_500, 101_000),
        (200_000, 100_500, 201_000),
    ] {
        // An ACK every 100 us: the first one above the threshold.
        assert_eq!(
            train_exit(config, rtt, false, rate, 100),
            Some(unpaced + 100)
        );
        assert_eq!(train_exit(config, rtt, true, rate, 100), Some(paced + 100));
    }
    // 4 * 65536 B at 1 GB/s take 262 us; the allowance of an unknown or zero rate is zero.
    assert_eq!(
        train_exit(
            config,
            10_000,
            true,
            Rate::from_bytes_per_sec(1_000_000_000),
            1
        ),
        Some(10_263)
    );
    assert_eq!(train_exit(config, 10_000, true, Rate::MAX, 1), Some(10_001));
    assert_eq!(
        train_exit(config, 10_000, true, Rate::ZERO, 1),
        Some(10_001)
    );
}

#[test]
fn a_train_is_over_at_the_first_gap() {
    let config = HyStartConfig {
        delay: false,
        ..HyStartConfig::default()
    };
    assert_eq!(
        train_exit(config, 10_000, false, Rate::MAX, 2_000),
        Some(6_000)
    );
    assert_eq!(train_exit(config, 10_000, false, Rate::MAX, 2_001), None);
    let wide = HyStartConfig {
        ack_delta: Duration::from_millis(4),
        ..config
    };
    assert_eq!(
        train_exit(wide, 10_000, false, Rate::MAX, 3_000),
        Some(6_000)
    );
    let deaf = HyStartConfig {
        train: false,
        ..config
    };
    assert_eq!(train_exit(deaf, 10_000, false, Rate::MAX, 100), None);
}

#[test]
fn nothing_is_detected_below_low_window() {
    for linux in [HyStartForm::V6_14, HyStartForm::V5_16] {
        let mut hystart = HyStart::new(
            HyStartConfig {
                linux,
                ..HyStartConfig::default()
            },
            Instant::ZERO,
            0,
        );
        for time in 0..1_000 {
            let ack = sample(time * 1_000, 1 + time, 2_000, 10_000 + 100 * time);
            assert_eq!(hystart.on_delivery(&ack, &window(15)), None);
        }
    }
}

/// The ACK and the window at which slow start ends, for an initial window of 10, a base RTT of
/// 100 ms, a bottleneck of two segments of 1000 B per 100 ms, and one ACK for two segments.
fn slow_bottleneck(linux: HyStartForm) -> (u64, u64, u64) {
    let mut hystart = HyStart::new(
        HyStartConfig {
            linux,
            ..HyStartConfig::default()
        },
        Instant::ZERO,
        0,
    );
    let mut cwnd = 10;
    let mut sent_at = vec![0; 10];
    for count in 1..100 {
        let (now, una) = (100_000 * count, 2 * count);
        let rtt = now - sent_at[una as usize - 1];
        let nxt = sent_at.len() as u64;
        let ack = sample(now, 1000 * una, 1000 * nxt, rtt);
        if let Some(reason) = exit_reason(hystart.on_delivery(&ack, &window(cwnd))) {
            assert!(matches!(reason, ExitReason::Delay { .. }));
            return (count, 1000 * una + 1, cwnd);
        }
        cwnd += 2;
        sent_at.resize((una + cwnd) as usize, now);
    }
    panic!("no exit");
}

#[test]
fn the_two_forms_leave_at_different_windows() {
    assert_eq!(slow_bottleneck(HyStartForm::V5_16), (20, 40_001, 48));
    assert_eq!(slow_bottleneck(HyStartForm::V6_14), (14, 28_001, 36));
}

#[test]
fn only_a_timeout_rearms_it() {
    let mut hystart = HyStart::new(HyStartConfig::default(), Instant::ZERO, 0);
    assert_eq!(
        hystart.on_delivery(&sample(0, 10, 20, 10_000), &window(20)),
        None
    );
    let late = |count: u64| sample(1_000_000 + 5_000 * count, 30, 40, 50_000);
    assert_eq!(
        (1..20).find(|&count| hystart.on_delivery(&late(count), &window(20)).is_some()),
        Some(9)
    );
    assert_eq!(
        (1..20).find(|&count| hystart
            .on_delivery(&late(20 + count), &window(20))
            .is_some()),
        None
    );
    // Idling does not rearm it.
    hystart.restart(at(2_000_000), 50);
    assert_eq!(
        (1..20).find(|&count| hystart
            .on_delivery(&late(400 + count), &window(20))
            .is_some()),
        None
    );
    let timeout = |kind| Congestion {
        now: at(4_000_000),
        kind,
        phase: Phase::Open,
        in_flight: Bytes::ZERO,
        snd_nxt: 60,
        first_of_window: true,
    };
    hystart.on_congestion(&timeout(CongestionKind::Loss));
    assert_eq!(
        hystart.on_delivery(&sample(4_500_000, 61, 100, 10_000), &window(20)),
        None
    );
    hystart.on_congestion(&timeout(CongestionKind::Timeout));
    assert_eq!(
        hystart.on_delivery(&sample(5_000_000, 61, 100, 10_000), &window(20)),
        None
    );
    let late = |count: u64| sample(5_000_000 + 5_000 * count, 101, 200, 50_000);
    assert_eq!(
        (1..20).find(|&count| hystart.on_delivery(&late(count), &window(20)).is_some()),
        Some(9)
    );
}

#[test]
fn a_timeout_forgets_the_smallest_rtt() {
    let mut hystart = HyStart::new(HyStartConfig::default(), Instant::ZERO, 0);
    hystart.on_delivery(&sample(0, 10, 20, 10_000), &window(20));
    hystart.on_congestion(&Congestion {
        now: at(500_000),
        kind: CongestionKind::Timeout,
        phase: Phase::Open,
        in_flight: Bytes::ZERO,
        snd_nxt: 60,
        first_of_window: true,
    });
    for count in 1..20 {
        let ack = sample(1_000_000 + 5_000 * count, 61, 100, 50_000);
        assert_eq!(hystart.on_delivery(&ack, &window(20)), None);
    }
}

/// Bruhn et al. 2023: a round of eight RTTs of 150 ms, then 100 ms, which becomes the connection's
/// minimum. If the round's minimum is frozen after eight samples, this looks like a delay increase.
#[test]
fn a_frozen_round_minimum_mistakes_a_fall_for_a_rise() {
    let exit = |round_min: &str| {
        let mut config = HyStartConfig::default();
        config.set("round_min", round_min).expect("known");
        let mut hystart = HyStart::new(config, Instant::ZERO, 0);
        (1..=9).find(|&count| {
            let rtt = if count < 9 { 150_000 } else { 100_000 };
            let ack = sample(1_000_000 + 5_000 * count, count, 50_000, rtt);
            hystart.on_delivery(&ack, &window(20)).is_some()
        })
    };
    assert_eq!((exit("first"), exit("all")), (Some(9), None));
}

/// With `skip_rounds` a round whose delay would end slow start is skipped; the next one ends it.
#[test]
fn first_rounds_can_be_skipped() {
    let exit = |skip_rounds: u32| {
        let config = HyStartConfig {
            skip_rounds,
            ..HyStartConfig::default()
        };
        let mut hystart = HyStart::new(config, Instant::ZERO, 0);
        (0..60).find(|&count| {
            // Rounds of 20 ACKs; the very first ACK has the smallest RTT.
            let rtt = if count == 0 { 100_000 } else { 150_000 };
            let una = 1 + count;
            let nxt = 20 + count - count % 20;
            let ack = sample(1_000_000 + 5_000 * count, una, nxt, rtt);
            hystart.on_delivery(&ack, &window(20)).is_some()
        })
    };
    // The first ACK has the smallest RTT of the first round, so that round ends nothing anyway.
    assert_eq!([0, 1, 2].map(exit), [Some(28), Some(28), Some(48)]);
}

/// A rise from 90 to 150 ms ends slow start if the test sees it: its threshold is 90 + 11 ms. The
/// port takes no sample from the ACK that opens a round.
#[test]
fn a_bound_hides_what_the_rtt_rises_above_it() {
    let exit = |variant, rtt_bound: &str| {
        let mut config = HyStartConfig::of(variant);
        config.train = false;
        config.set("rtt_bound", rtt_bound).expect("a time or none");
        let mut hystart = HyStart::new(config, Instant::ZERO, 0);
        (0..60).find(|&count| {
            let rtt = if count < 2 { 90_000 } else { 150_000 };
            let ack = sample(
                1_000_000 + 5_000 * count,
                1 + count,
                20 + count - count % 20,
                rtt,
            );
            hystart.on_delivery(&ack, &window(20)).is_some()
        })
    };
    for (variant, first) in [(HyStartVariant::Linux, 28), (HyStartVariant::Ns2, 29)] {
        let exits = ["none", "102ms", "100ms"].map(|bound| exit(variant, bound));
        assert_eq!(exits, [Some(first), Some(first), None], "{variant:?}");
    }
}

#[test]
fn acks_without_a_sample_are_ignored() {
    let mut hystart = HyStart::new(HyStartConfig::default(), Instant::ZERO, 0);
    for time in 0..1_000u64 {
        let ack = Ack {
            latest_rtt: None,
            ..sample(time * 1_000, 1 + time, 2_000, 1)
        };
        assert_eq!(hystart.on_delivery(&ack, &window(100)), None);
    }
}

#[test]
fn each_option_sets_its_field() {
    let mut config = HyStartConfig::default();
    for (name, value) in [
        ("linux", "5.16"),
        ("train", "false"),
        ("delay", "false"),
        ("low_window", "0"),
        ("ack_delta", "4ms"),
        ("min_samples", "3"),
        ("delay_min", "2 ms"),
        ("delay_max", "8ms"),
        ("round_min", "first"),
        ("skip_rounds", "3"),
        ("rtt_bound", "100ms"),
    ] {
        assert_eq!(config.set(name, value), Ok(()), "{name}");
    }
    let expected = HyStartConfig {
        variant: HyStartVariant::Linux,
        linux: HyStartForm::V5_16,
        train: false,
        delay: false,
        low_window: 0,
        ack_delta: Duration::from_millis(4),
        min_samples: 3,
        delay_min: Duration::from_millis(2),
        delay_max: Duration::from_millis(8),
        round_min_is_frozen: true,
        skip_rounds: 3,
        rtt_bound_us: NonZeroU32::new(100_000),
    };
    assert_eq!(config, expected);
    for (name, value) in [
        ("linux", "6.1"),
        ("train", "1"),
        ("ack_delta", "2"),
        ("low_window", "-1"),
    ] {
        assert!(
            matches!(config.set(name, value), Err(OptionError::Invalid { .. })),
            "{name}"
        );
    }
    assert_eq!(config.set("hystart", "true"), Err(OptionError::Unknown));
    for option in HyStartConfig::OPTIONS {
        let mut config = HyStartConfig::default();
        assert_eq!(config.set(option.name, option.default), Ok(()));
        assert_eq!(config, HyStartConfig::default(), "{}", option.name);
    }
}

proptest! {
    /// It exits at most once, with the window as threshold, and otherwise grows as slow start does.
    #[test]
    fn any_acks(acks in prop::collection::vec((0u64..20_000_000, 0u64..100_000, 0u64..3_000_000_000u64, any::<bool>()), 1..200),
                low in 0u32..40, old in any::<bool>()) {
        let linux = if old { HyStartForm::V5_16 } else { HyStartForm::V6_14 };
        let mut hystart = HyStart::new(HyStartConfig { linux, low_window: low, ..HyStartConfig::default() }, Instant::ZERO, 0);
        let (mut now, mut una, mut window, mut exits) = (0, 0, window(10), 0);
        for (gap, advance, rtt, paced) in acks {
            now += gap;
            una += advance;
            let ack = Ack { paced, snd_nxt: una + window.cwnd.get(),
                ..ack(Instant::from_nanos(now), segments(1), una, Some(Duration::from_nanos(rtt))) };
            if exit_reason(hystart.on_delivery(&ack, &window)).is_some() {
                exits += 1;
                prop_assert!(window.cwnd_segments() >= u64::from(low));
            }
            prop_assert_eq!(hystart.on_ack(&ack, &window), Step::Grow(segments(1)));
            window.cwnd += segments(1);
        }
        prop_assert!(exits <= 1);
    }
}

//! The slow-start exit of SEARCH (plain, rollback, drain, passive), and its options.

mod startup_support;

use congestion::options::{OptionError, Options};
use congestion::rate_sample::RateSample;
use congestion::startup::Search;
use congestion::startup::search::{
    AppLimited, Arithmetic, Boundary, Comparison, Exit, FewBins, LookBack, Missed, SearchConfig,
    Version,
};
use congestion::{Ack, ExitReason, Sent, Startup, Step, Window};
use startup_support::{SMSS, ack, segments, window};
use units::{Bytes, Duration, Instant};

/// An ACK every 5 ms at an RTT of 100 ms: the initial window of ten segments at 100 ms, doubling
/// for seven rounds, then a constant rate.
fn line(count: u64) -> Ack {
    let (first, full) = (14_480.0, 128.0 * 14_480.0);
    let round = count as f64 / 20.0;
    let acked = if round <= 7.0 {
        first * round.exp2()
    } else {
        full + (round - 7.0) * full * std::f64::consts::LN_2
    } as u64;
    Ack {
        bytes_sent: 2 * acked + 14_480,
        ..ack(
            Instant::from_millis(100 + 5 * count),
            SMSS,
            acked,
            Some(Duration::from_millis(100)),
        )
    }
}

/// Runs until `on_delivery` or `on_ack` returns a step other than growth. Returns the time in
/// milliseconds, the window before, and the step.
fn run(search: &mut Search) -> Option<(u64, Window, Step)> {
    (0..=240).find_map(|count| {
        let ack = line(count);
        let window = window(10 + ack.snd_una / SMSS.get());
        if let Some(step) = search.on_delivery(&ack, &window) {
            return Some((ack.now.as_millis(), window, step));
        }
        match search.on_ack(&ack, &window) {
            Step::Grow(growth) => {
                assert!(growth == ack.delivered || search.is_draining());
                None
            }
            step => Some((ack.now.as_millis(), window, step)),
        }
    })
}

fn search(version: Version, exit: Option<Exit>) -> Search {
    Search::new(
        SearchConfig {
            exit,
            ..SearchConfig::of(version)
        },
        Instant::ZERO,
        0,
    )
}

#[test]
fn plain_takes_the_window_as_threshold() {
    let mut plain = search(Version::V2_0, None);
    let (at, window, step) = run(&mut plain).expect("a decision");
    assert_eq!((at, window.cwnd), (1_050, segments(3_508)));
    let Step::Exit {
        cwnd,
        ssthresh,
        reason,
    } = step
    else {
        panic!("{step:?}")
    };
    assert_eq!((cwnd, ssthresh), (window.cwnd, window.cwnd));
    // The norm of the reference calculation is 0.375863.
    let (current, previous) = (Bytes::new(4_138_486), Bytes::new(3_315_368));
    assert_eq!(
        reason,
        ExitReason::Search {
            norm_permille: 375,
            threshold_permille: 350,
            current,
            previous
        }
    );
    assert_eq!(plain.decision().map(|exit| exit.reason), Some(reason));
    assert_eq!(plain.passive_decision(), None);
}

#[test]
fn rollback_removes_two_initial_rtts() {
    // Five bins (1.75 RTTs): from 2,816,970 B at 875 ms to 5,065,206 B, that is 1552 segments.
    let (at, _, step) = run(&mut search(Version::V2_0, Some(Exit::Rollback))).expect("a decision");
    let Step::Exit { cwnd, ssthresh, .. } = step else {
        panic!("{step:?}")
    };
    assert_eq!(
        (at, cwnd, ssthresh),
        (1_050, segments(3_508 - 1_552), segments(3_508 - 1_552))
    );
    // 3.1 also counts bytes: 2,752,733 B at 870 ms (bin 22) to 5,000,969 B at 1045 ms.
    let config = SearchConfig {
        exit: Some(Exit::Rollback),
        arithmetic: Arithmetic::Shifted,
        ..SearchConfig::of(Version::V3_1)
    };
    let (at, window, step) = run(&mut Search::new(config, Instant::ZERO, 0)).expect("a decision");
    let Step::Exit { cwnd, .. } = step else {
        panic!("{step:?}")
    };
    assert_eq!(at, 1_045);
    let lost = window.cwnd_segments() - cwnd.segments(SMSS);
    assert!((1_550..=1_553).contains(&lost), "{lost}");
}

#[test]
fn rollback_has_a_floor() {
    // The rollback is 1552 segments; in 2.0 a smaller window stays.
    for (version, cwnd, left) in [
        (Version::V2_0, 1_555, 10),
        (Version::V2_0, 1_400, 1_400),
        (Version::V3_1, 1_555, 10),
        (Version::V3_1, 1_400, 10),
    ] {
        let mut search = search(version, Some(Exit::Rollback));
        let step = (0..=240).find_map(|count| search.on_delivery(&line(count), &window(cwnd)));
        let Some(Step::Exit { cwnd: after, .. }) = step else {
            panic!("{step:?}")
        };
        assert_eq!(after, segments(left), "{version:?} from {cwnd}");
    }
}

#[test]
fn drain_falls_to_what_one_rtt_delivers() {
    let mut search = search(Version::V4_0, None);
    let mut decided = None;
    let mut cwnd = 0;
    for count in 0..=240 {
        let ack = line(count);
        cwnd = 10 + ack.snd_una / SMSS.get();
        if let Some(step) = search.on_delivery(&ack, &window(cwnd)) {
            // The recorded exit leaves the window as it is, and slow start continues.
            let Step::Exit {
                cwnd: same,
                ssthresh,
                ..
            } = step
            else {
                panic!("{step:?}")
            };
            assert_eq!((same, ssthresh), (segments(cwnd), Bytes::MAX));
            assert!(search.is_draining());
            // The deciding ACK adds nothing.
            assert_eq!(search.on_ack(&ack, &window(cwnd)), Step::Grow(Bytes::ZERO));
            decided = Some(ack);
            break;
        }
    }
    let decided = decided.expect("a decision");
    let decision = search.decision().expect("a decision");
    assert_eq!((decided.now.as_millis(), cwnd), (975, 2_842));
    assert_eq!((decision.at, decision.cwnd), (decided.now, segments(2_842)));
    // Three bins: from 2,752,733 + 2 * 449,647 B to 4,101,675 B is 1,348,942 B, 931 segments.
    assert_eq!(search.drain_target(&window(cwnd)), Some(segments(931)));
    // Every ACK delivers three segments and releases one, until 931 are in flight.
    let mut flight = 1_000;
    let mut steps = 0;
    loop {
        flight -= 3;
        steps += 1;
        let now = decided.now + Duration::from_millis(steps);
        let ack = Ack {
            in_flight: segments(flight),
            ..ack(
                now,
                segments(3),
                decided.snd_una,
                Some(Duration::from_millis(100)),
            )
        };
        assert_eq!(search.on_delivery(&ack, &window(cwnd)), None);
        match search.on_ack(&ack, &window(cwnd)) {
            Step::Set(size) => {
                assert_eq!(size, segments(flight + 1));
                flight += 1;
            }
            Step::Exit {
                cwnd,
                ssthresh,
                reason,
            } => {
                assert_eq!((cwnd, ssthresh), (segments(931), segments(931)));
                assert_eq!(reason, decision.reason);
                break;
            }
            Step::Grow(growth) => panic!("grows by {growth:?}"),
        }
    }
    assert_eq!(steps, 35, "1000 - 2 n reaches 931 with the 35th ACK");
    assert!(!search.is_draining());
    assert_eq!(search.index(), None, "the bins are cleared");
}

#[test]
fn drain_carries_the_remainder_of_three() {
    let mut search = search(Version::V4_0, None);
    let count = (0..=240).find(|&count| {
        search.on_delivery(&line(count), &window(2_842));
        search.is_draining()
    });
    let from = line(count.expect("a decision"));
    let released: Vec<u64> = (1..=6)
        .map(|step| {
            let now = from.now + Duration::from_millis(step);
            let ack = Ack {
                in_flight: segments(2_000),
                ..ack(now, segments(1), from.snd_una, None)
            };
            search.on_delivery(&ack, &window(2_842));
            match search.on_ack(&ack, &window(2_842)) {
                Step::Set(size) => size.segments(SMSS) - 2_000,
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert_eq!(released, [0, 0, 1, 0, 0, 1]);
    // A restart ends the drain.
    search.restart(from.now, 0);
    assert!(!search.is_draining());
}

#[test]
fn no_target_means_no_drain() {
    // The target needs three RTTs of bins, more than a window of half an RTT holds.
    let config = SearchConfig {
        window_permille: 500,
        exit: Some(Exit::Drain),
        ..SearchConfig::of(Version::V2_0)
    };
    let mut search = Search::new(config, Instant::ZERO, 0);
    assert_eq!(run(&mut search), None);
    assert_eq!(search.decision(), None);
}

#[test]
fn passive_logs_and_does_nothing() {
    for (version, at) in [
        (Version::V2_0, 1_050),
        (Version::V3_1, 1_045),
        (Version::V4_0, 975),
    ] {
        for exit in [Exit::Plain, Exit::Rollback, Exit::Drain] {
            let config = SearchConfig {
                passive: true,
                exit: Some(exit),
                ..SearchConfig::of(version)
            };
            let mut search = Search::new(config, Instant::ZERO, 0);
            assert_eq!(run(&mut search), None, "{version:?}");
            assert!(!search.is_draining());
            let decision = search.passive_decision().expect("logged");
            assert_eq!(decision.at.as_millis(), at, "the first decision");
            assert!(matches!(decision.reason, ExitReason::Search { .. }));
            search.restart(Instant::from_secs(9), 0);
            assert_eq!(search.passive_decision(), Some(decision));
        }
    }
}

#[test]
fn acks_without_sample_lose_no_bytes() {
    let mut all = search(Version::V2_0, None);
    let mut some = search(Version::V2_0, None);
    for count in 0..=240 {
        let full = line(count);
        // Only ACKs that end a bin need a sample: with bins of seven ACKs, the eighth ends one.
        let silent = count % 7 != 1 && count > 0;
        all.on_delivery(&full, &window(3_508));
        some.on_delivery(
            &Ack {
                latest_rtt: full.latest_rtt.filter(|_| !silent),
                ..full
            },
            &window(3_508),
        );
    }
    assert!(all.decision().is_some());
    assert_eq!(all.decision(), some.decision());
}

#[test]
fn each_option_sets_its_field() {
    let mut config = SearchConfig::default();
    for (name, value) in [
        ("version", "4.0"),
        ("exit", "rollback"),
        ("passive", "true"),
        ("threshold", "35.5"),
        ("window", "2.5"),
        ("bins", "20"),
        ("extra_bins", "30"),
        ("lookback", "initial"),
        ("comparison", "above"),
        ("boundary", "after"),
        ("missed", "reset"),
        ("alpha", "3"),
        ("few_bins", "hold"),
        ("in_recovery", "rest"),
        ("app_limited", "skip"),
        ("arithmetic", "shifted"),
        ("norm_of", "delivered"),
        ("as_published", "true"),
    ] {
        assert_eq!(config.set(name, value), Ok(()), "{name}");
    }
    let expected = SearchConfig {
        version: Version::V4_0,
        exit: Some(Exit::Rollback),
        passive: true,
        threshold_permille: Some(355),
        window_permille: 2_500,
        bins: 20,
        extra_bins: Some(30),
        lookback: LookBack::Initial,
        comparison: Comparison::Above,
        boundary: Some(Boundary::After),
        missed: Missed::Reset,
        alpha: 3,
        few_bins: FewBins::Hold,
        rests_in_recovery: true,
        app_limited: Some(AppLimited::Skip),
        arithmetic: Arithmetic::Shifted,
        norm_of: congestion::startup::search::NormBase::Delivered,
        as_published: true,
    };
    assert_eq!(config, expected);
    for (name, value) in [
        ("version", "3.2"),
        ("exit", "fast"),
        ("threshold", "101"),
        ("threshold", "35.55"),
        ("threshold", "-1"),
        ("window", "0"),
        ("window", "3,5"),
        ("bins", "1"),
        ("bins", "49"),
        ("extra_bins", "65"),
        ("alpha", "0"),
        ("passive", "yes"),
        ("arithmetic", "float"),
    ] {
        assert!(
            matches!(config.set(name, value), Err(OptionError::Invalid { .. })),
            "{name}={value}"
        );
    }
    assert_eq!(config.set("bin", "10"), Err(OptionError::Unknown));
    assert_eq!(config, expected, "a refused option changes nothing");
    for option in SearchConfig::OPTIONS {
        let mut config = SearchConfig::default();
        assert_eq!(
            config.set(option.name, option.default),
            Ok(()),
            "{}",
            option.name
        );
        assert_eq!(config, SearchConfig::default(), "{}", option.name);
    }
}

#[test]
fn versions_have_their_own_defaults() {
    let of = |version| {
        let config = SearchConfig::of(version);
        (
            config.threshold(),
            config.exit(),
            config.extra_bins(),
            config.longest_lookback(),
            config.boundary(),
            config.app_limited(),
        )
    };
    assert_eq!(
        of(Version::V2_0),
        (
            350,
            Exit::Plain,
            15,
            14,
            Boundary::After,
            AppLimited::Ignore
        )
    );
    assert_eq!(
        of(Version::V3_1),
        (350, Exit::Plain, 15, 13, Boundary::At, AppLimited::Reset)
    );
    assert_eq!(
        of(Version::V4_0),
        (260, Exit::Drain, 40, 38, Boundary::At, AppLimited::Reset)
    );
}

/// ACK number `count` at a constant rate: 10 segments every 10 ms at an RTT of 100 ms, from 1 s on.
fn steady(count: u64) -> Ack {
    let acked = 14_480 * (count + 1);
    Ack {
        bytes_sent: acked + 144_800,
        ..ack(
            Instant::from_millis(1_000 + 10 * count),
            segments(10),
            acked,
            Some(Duration::from_millis(100)),
        )
    }
}

#[test]
fn half_is_reached_and_not_passed() {
    // Bins of 100 ms: at a constant rate the norm of 2.0 is exactly one half.
    let config = |comparison| SearchConfig {
        window_permille: 10_000,
        threshold_permille: Some(500),
        boundary: Some(Boundary::At),
        comparison,
        passive: true,
        ..SearchConfig::of(Version::V2_0)
    };
    for (comparison, decides) in [(Comparison::AtLeast, true), (Comparison::Above, false)] {
        let mut search = Search::new(config(comparison), Instant::ZERO, 0);
        for count in 0..400 {
            search.on_delivery(&steady(count), &window(100));
        }
        assert_eq!(
            search.measurement().map(|test| test.norm_permille),
            Some(500)
        );
        assert_eq!(search.decision().is_some(), decides, "{comparison:?}");
    }
}

#[test]
fn version_4_0_reads_the_rate_sample() {
    let sample = |app_limited| RateSample {
        delivered: segments(10),
        interval: Duration::from_millis(10),
        prior_delivered: Bytes::ZERO,
        total_delivered: segments(10),
        total_lost: Bytes::ZERO,
        tx_in_flight: Bytes::ZERO,
        lost: Bytes::ZERO,
        app_limited,
        ack_delayed: false,
    };
    for (version, connection, sampled, resets) in [
        (Version::V4_0, true, Some(false), false),
        (Version::V4_0, false, Some(true), true),
        (Version::V4_0, true, None, true),
        (Version::V3_1, true, Some(false), true),
        (Version::V3_1, false, Some(true), false),
        (Version::V2_0, true, Some(true), false),
    ] {
        let mut search = search(version, None);
        for count in 0..20 {
            let ack = Ack {
                app_limited: connection,
                rate: sampled.map(sample),
                ..steady(count)
            };
            search.on_delivery(&ack, &window(100));
        }
        assert_eq!(
            search.index() == Some(0),
            resets,
            "{version:?} {connection} {sampled:?}"
        );
    }
}

#[test]
fn idling_for_a_timeout_resets() {
    // SRTT is 100 ms, so the shortest timeout is 300 ms.
    for (idle, kept) in [(Some(300), true), (Some(301), false), (None, true)] {
        let mut search = search(Version::V3_1, None);
        for count in 0..20 {
            search.on_delivery(&steady(count), &window(100));
        }
        let last = steady(19).now;
        search.on_sent(&Sent {
            now: last + Duration::from_millis(idle.unwrap_or(9_000)),
            size: SMSS,
            in_flight: Bytes::ZERO,
            snd_nxt: 0,
            retransmission: false,
            idle_since: idle.map(|_| last),
            app_limited: false,
        });
        assert_eq!(search.index().is_some(), kept, "{idle:?}");
        assert_eq!(search.bin_duration().is_some(), kept, "{idle:?}");
    }
}

#[test]
fn missed_bins_reset_by_their_number() {
    // Bins of 35 ms: alpha = 2 tolerates 4 without an ACK; more than 10 also clear their duration.
    for (bins, index, bin) in [(4, 4, 35), (5, 0, 35), (10, 0, 35), (11, 0, 70)] {
        let config = SearchConfig {
            missed: Missed::Reset,
            ..SearchConfig::of(Version::V3_1)
        };
        let mut search = Search::new(config, Instant::ZERO, 0);
        search.on_delivery(&steady(0), &window(100));
        let late = Ack {
            now: Instant::from_millis(1_000 + 35 * bins),
            latest_rtt: Some(Duration::from_millis(200)),
            ..steady(1)
        };
        search.on_delivery(&late, &window(100));
        assert_eq!(search.index(), Some(index), "{bins} bins");
        assert_eq!(
            search.bin_duration(),
            Some(Duration::from_millis(bin)),
            "{bins} bins"
        );
    }
}

#[test]
fn extreme_values_do_not_overflow() {
    for version in [Version::V2_0, Version::V3_1, Version::V4_0] {
        for arithmetic in [Arithmetic::Exact, Arithmetic::Percent, Arithmetic::Shifted] {
            let config = SearchConfig {
                window_permille: 20_000,
                bins: 2,
                threshold_permille: Some(1_000),
                arithmetic,
                lookback: LookBack::Initial,
                ..SearchConfig::of(version)
            };
            let mut search = Search::new(config, Instant::ZERO, 0);
            let rtt = Some(Duration::MAX);
            for step in 0..8u64 {
                // Bins of ten times the longest distinguishable RTT: ten hours.
                let now = Instant::from_secs(36_000 * step);
                let count = if step < 3 { 0 } else { u64::MAX };
                let ack = Ack {
                    bytes_sent: count,
                    ..ack(now, Bytes::new(count), count, rtt)
                };
                search.on_delivery(&ack, &window(100));
            }
            let last = Ack {
                bytes_sent: u64::MAX,
                ..ack(Instant::MAX, Bytes::MAX, u64::MAX, rtt)
            };
            search.on_delivery(&last, &window(100));
            assert!(search.index().is_some());
        }
    }
}

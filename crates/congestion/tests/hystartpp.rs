//! HyStart++: RFC 9406.

mod startup_support;

use congestion::options::{OptionError, Options};
use congestion::startup::{HyStartPlusPlus, HyStartPlusPlusConfig};
use congestion::{Ack, Congestion, CongestionKind, ExitReason, Phase, Startup, Step, Window};
use proptest::prelude::*;
use startup_support::{SMSS, ack, segments, window};
use units::{Bytes, Duration, Instant};

/// HyStart++ with a sender that keeps its flight constant.
struct Rounds {
    startup: HyStartPlusPlus,
    una: u64,
    nxt: u64,
    /// `SND.NXT` when the round began: the ACK that reaches it ends the round.
    end: u64,
}

impl Rounds {
    fn new(config: HyStartPlusPlusConfig, flight: u64) -> Self {
        let startup = HyStartPlusPlus::new(config, Instant::ZERO, 0);
        Self {
            startup,
            una: 0,
            nxt: flight,
            end: flight,
        }
    }

    /// One ACK of a segment with `rtt` in microseconds, which releases another segment.
    fn ack(&mut self, rtt: u64) -> Option<Step> {
        self.una += 1;
        let ack = Ack {
            snd_nxt: self.nxt,
            ..ack(
                Instant::ZERO,
                SMSS,
                self.una,
                Some(Duration::from_micros(rtt)),
            )
        };
        self.nxt += 1;
        self.startup.on_delivery(&ack, &window(100))
    }

    /// Runs a whole round, and returns the exit, if any.
    fn round(&mut self, rtt: u64) -> Option<Step> {
        let mut exit = None;
        while self.una < self.end {
            // The data sent by the last ACK of the round ends the next round.
            let sent = self.nxt;
            exit = exit.or(self.ack(rtt));
            if self.una == self.end {
                self.end = sent;
                break;
            }
        }
        exit
    }
}

// Tests RFC9406-4.2a, RFC9406-4.3a
#[test]
fn thresholds_of_the_rfc() {
    for (last, entry) in [
        (10_000, 14_000),
        (32_000, 36_000),
        (40_000, 45_000),
        (100_000, 112_500),
        (128_000, 144_000),
        (200_000, 216_000),
    ] {
        for (rtt, conservative) in [(entry - 1, false), (entry, true)] {
            let mut rounds = Rounds::new(HyStartPlusPlusConfig::default(), 20);
            assert_eq!(rounds.round(last), None);
            for count in 1..=8 {
                assert!(
                    !rounds.startup.is_conservative(),
                    "not before the eighth sample"
                );
                assert_eq!(rounds.ack(rtt), None, "sample {count}");
            }
            assert_eq!(
                rounds.startup.is_conservative(),
                conservative,
                "{last} then {rtt}"
            );
        }
    }
}

#[test]
fn the_comparison_is_with_the_previous_round() {
    // Linux's HyStart would fire: the RTT rises by 3 ms per round, from 10 to 40 ms.
    let mut rounds = Rounds::new(HyStartPlusPlusConfig::default(), 20);
    for step in 0..10 {
        assert_eq!(rounds.round(10_000 + 3_000 * step), None);
        assert!(!rounds.startup.is_conservative());
    }
}

// Tests RFC9406-4.2c
#[test]
fn five_rounds_of_css_end_slow_start() {
    let mut rounds = Rounds::new(HyStartPlusPlusConfig::default(), 20);
    assert_eq!(rounds.round(100_000), None);
    // The round of the entry is the first of the five.
    for _ in 0..4 {
        assert_eq!(rounds.round(120_000), None);
        assert!(rounds.startup.is_conservative());
    }
    let reason = ExitReason::ConservativeRounds {
        baseline_rtt: Duration::from_millis(120),
        rounds: 5,
    };
    let exit = Step::Exit {
        cwnd: segments(100),
        ssthresh: segments(100),
        reason,
    };
    while rounds.una + 1 < rounds.end {
        assert_eq!(rounds.ack(120_000), None);
    }
    assert_eq!(
        rounds.ack(120_000),
        Some(exit),
        "at the end of the fifth round"
    );
}

// Tests RFC9406-4.2b
#[test]
fn a_lower_rtt_resumes_slow_start() {
    let mut rounds = Rounds::new(HyStartPlusPlusConfig::default(), 20);
    rounds.round(100_000);
    rounds.round(120_000);
    assert!(rounds.startup.is_conservative());
    for _ in 0..7 {
        rounds.ack(119_000);
        assert!(
            rounds.startup.is_conservative(),
            "seven samples are too few"
        );
    }
    rounds.ack(119_000);
    assert!(!rounds.startup.is_conservative());
    // Detection continues, against this round.
    rounds.round(119_000);
    rounds.round(140_000);
    assert!(rounds.startup.is_conservative());
}

// Tests RFC9406-4.2d
#[test]
fn growth_is_limited_unless_paced() {
    let grown = |startup: &mut HyStartPlusPlus, delivered: u64, paced: bool| {
        let ack = Ack {
            paced,
            ..ack(Instant::ZERO, segments(delivered), 0, None)
        };
        match startup.on_ack(&ack, &window(100)) {
            Step::Grow(growth) => growth.segments(SMSS),
            other => panic!("{other:?}"),
        }
    };
    let mut rounds = Rounds::new(HyStartPlusPlusConfig::default(), 20);
    assert_eq!(grown(&mut rounds.startup, 44, false), 8);
    assert_eq!(grown(&mut rounds.startup, 44, true), 44);
    assert_eq!(grown(&mut rounds.startup, 2, false), 2);
    rounds.round(100_000);
    rounds.round(120_000);
    assert!(rounds.startup.is_conservative());
    assert_eq!(grown(&mut rounds.startup, 44, false), 2);
    assert_eq!(grown(&mut rounds.startup, 44, true), 11);
    // Two segments add half a segment: every other ACK adds one.
    let halves: Vec<u64> = (0..4)
        .map(|_| grown(&mut rounds.startup, 2, false))
        .collect();
    assert_eq!(halves, [0, 1, 0, 1]);
    // A round at a window of 100 adds 25.
    assert_eq!(
        (0..100)
            .map(|_| grown(&mut rounds.startup, 1, false))
            .sum::<u64>(),
        25
    );
}

// Tests RFC9406-4.3b
#[test]
fn only_the_initial_slow_start_uses_it() {
    let mut startup = HyStartPlusPlus::new(HyStartPlusPlusConfig::default(), Instant::ZERO, 0);
    let later = Window {
        ssthresh: segments(1_000),
        ..window(100)
    };
    for una in 1..1_000u64 {
        let rtt = Some(Duration::from_millis(10 + una));
        let ack = Ack {
            snd_nxt: una + 20,
            ..ack(Instant::ZERO, segments(44), una, rtt)
        };
        assert_eq!(startup.on_delivery(&ack, &later), None);
        assert_eq!(startup.on_ack(&ack, &later), Step::Grow(segments(44)));
    }
    // The same after a congestion episode, even if its reduction was undone.
    let mut rounds = Rounds::new(HyStartPlusPlusConfig::default(), 20);
    rounds.round(100_000);
    rounds.startup.on_congestion(&Congestion {
        now: Instant::ZERO,
        kind: CongestionKind::Loss,
        phase: Phase::Open,
        in_flight: Bytes::ZERO,
        snd_nxt: 0,
        first_of_window: true,
    });
    rounds.round(150_000);
    assert!(!rounds.startup.is_conservative());
    rounds.startup.restart(Instant::ZERO, rounds.nxt);
    for rtt in [100_000, 150_000, 200_000] {
        rounds.round(rtt);
        assert!(!rounds.startup.is_conservative());
    }
}

#[test]
fn idling_restarts_the_rounds() {
    let mut rounds = Rounds::new(HyStartPlusPlusConfig::default(), 20);
    rounds.round(100_000);
    rounds.startup.restart(Instant::from_secs(9), rounds.nxt);
    rounds.round(150_000);
    assert!(
        !rounds.startup.is_conservative(),
        "no round to compare with"
    );
    rounds.round(200_000);
    assert!(rounds.startup.is_conservative());
}

#[test]
fn each_option_sets_its_field() {
    let mut config = HyStartPlusPlusConfig::default();
    for (name, value) in [
        ("form", "patch"),
        ("min_rtt_thresh", "2ms"),
        ("max_rtt_thresh", "32ms"),
        ("min_rtt_divisor", "16"),
        ("n_rtt_sample", "4"),
        ("css_growth_divisor", "2"),
        ("css_rounds", "3"),
        ("limit", "2"),
    ] {
        assert_eq!(config.set(name, value), Ok(()), "{name}");
    }
    let expected = HyStartPlusPlusConfig {
        form: congestion::startup::hystart_pp::HyStartPlusPlusForm::Patch,
        min_rtt_thresh: Duration::from_millis(2),
        max_rtt_thresh: Duration::from_millis(32),
        min_rtt_divisor: 16,
        n_rtt_sample: 4,
        css_growth_divisor: 2,
        css_rounds: 3,
        limit: 2,
    };
    assert_eq!(config, expected);
    for name in [
        "min_rtt_divisor",
        "css_growth_divisor",
        "css_rounds",
        "limit",
        "n_rtt_sample",
    ] {
        assert!(
            matches!(config.set(name, "0"), Err(OptionError::Invalid { .. })),
            "{name}"
        );
    }
    assert_eq!(config.set("css", "1"), Err(OptionError::Unknown));
    for option in HyStartPlusPlusConfig::OPTIONS {
        let mut config = HyStartPlusPlusConfig::default();
        assert_eq!(config.set(option.name, option.default), Ok(()));
        assert_eq!(config, HyStartPlusPlusConfig::default(), "{}", option.name);
    }
}

proptest! {
    /// It exits at most once and never grows by more than was delivered.
    #[test]
    fn any_acks(acks in prop::collection::vec((1u64..50, 0u64..400_000, 0u64..10), 1..300), paced in any::<bool>()) {
        let mut startup = HyStartPlusPlus::new(HyStartPlusPlusConfig::default(), Instant::ZERO, 0);
        let (mut una, mut window, mut exits) = (0, window(10), 0);
        for (delivered, rtt, silent) in acks {
            una += delivered;
            let rtt = (silent > 0).then_some(Duration::from_micros(rtt));
            let ack = Ack { paced, snd_nxt: una + window.cwnd_segments(), ..ack(Instant::ZERO, segments(delivered), una, rtt) };
            if let Some(step) = startup.on_delivery(&ack, &window) {
                exits += 1;
                let is_exit = matches!(step, Step::Exit { cwnd, ssthresh, .. } if cwnd == ssthresh && cwnd == window.cwnd);
                prop_assert!(is_exit);
            }
            let Step::Grow(growth) = startup.on_ack(&ack, &window) else { panic!() };
            prop_assert!(growth <= ack.delivered);
            window.cwnd += growth;
        }
        prop_assert!(exits <= 1);
    }
}

//! SEARCH on random ACKs, with random options.

mod startup_support;

use congestion::options::Options;
use congestion::startup::{Search, SearchConfig};
use congestion::{Ack, Startup, Step, Window};
use proptest::prelude::*;
use startup_support::{SMSS, ack, segments};
use units::{Bytes, Duration, Instant};

/// Random options, each set by name as a user would.
fn configs() -> impl Strategy<Value = SearchConfig> {
    let one = |words: &'static [&'static str]| prop::sample::select(words);
    let words = (
        one(&["2.0", "3.1", "4.0"]),
        one(&["version", "plain", "rollback", "drain"]),
        one(&["current", "initial"]),
        one(&["at-least", "above"]),
        one(&["version", "at", "after"]),
        one(&["keep", "reset"]),
        one(&["version", "ignore", "reset", "skip"]),
        one(&["exact", "percent", "shifted"]),
    );
    let numbers = (
        0u32..=100,
        500u32..=20_000,
        2u32..=48,
        1u32..=64,
        1u32..=65_535,
    );
    (words, numbers).prop_map(|(words, numbers)| {
        let mut config = SearchConfig::default();
        let (version, exit, lookback, comparison, boundary, missed, app_limited, arithmetic) =
            words;
        let (threshold, window, bins, extra, alpha) = numbers;
        let window = format!("{}.{:03}", window / 1000, window % 1000);
        let [threshold, bins, extra, alpha] =
            [threshold, bins, extra, alpha].map(|number| number.to_string());
        for (name, value) in [
            ("version", version),
            ("exit", exit),
            ("lookback", lookback),
            ("comparison", comparison),
            ("boundary", boundary),
            ("missed", missed),
            ("app_limited", app_limited),
            ("arithmetic", arithmetic),
            ("threshold", &threshold),
            ("window", &window),
            ("bins", &bins),
            ("extra_bins", &extra),
            ("alpha", &alpha),
        ] {
            config.set(name, value).expect("a listed value");
        }
        config
    })
}

/// Time since the last ACK, acknowledged segments, sent segments, RTT, application-limited,
/// restart.
type Event = (u64, u64, u64, Option<u64>, bool, bool);

fn events() -> impl Strategy<Value = Vec<Event>> {
    // From back-to-back ACKs to pauses of minutes, from nanoseconds to an hour of RTT.
    let gap = prop_oneof![4 => 0u64..2_000_000, 4 => 0u64..200_000_000, 1 => 0u64..600_000_000_000];
    let rtt =
        prop_oneof![6 => 1_000_000u64..300_000_000, 1 => 0u64..2_000, 1 => 0u64..4_000_000_000_000];
    let rtt = prop::option::weighted(0.9, rtt);
    let event = (
        gap,
        0u64..2_000,
        0u64..4_000,
        rtt,
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.01),
    );
    prop::collection::vec(event, 1..400)
}

/// Calls `check` with each ACK, the window and SEARCH's step, and applies the steps.
fn drive(
    config: SearchConfig,
    events: &[Event],
    mut check: impl FnMut(&Search, &Ack, &Window, Step),
) -> Search {
    let mut search = Search::new(config, Instant::ZERO, 0);
    let (mut now, mut acked, mut sent) = (0, 0, 14_480);
    let mut window = Window {
        cwnd: segments(10),
        ssthresh: Bytes::MAX,
        smss: SMSS,
    };
    for &(gap, delivered, transmitted, rtt, app_limited, restart) in events {
        now += gap;
        acked += delivered * SMSS.get();
        sent = acked.max(sent + transmitted * SMSS.get());
        if restart {
            search.restart(Instant::from_nanos(now), sent);
            window = Window {
                cwnd: segments(1),
                ssthresh: Bytes::MAX,
                smss: SMSS,
            };
        }
        let ack = Ack {
            bytes_sent: sent,
            in_flight: Bytes::new(sent - acked),
            app_limited,
            ..ack(
                Instant::from_nanos(now),
                segments(delivered),
                acked,
                rtt.map(Duration::from_nanos),
            )
        };
        if !window.in_slow_start() {
            continue;
        }
        // The order of the driver: first the detectors, then growth if slow start continues.
        if let Some(step) = search.on_delivery(&ack, &window) {
            check(&search, &ack, &window, step);
            apply(step, &mut window);
        }
        if window.in_slow_start() {
            let step = search.on_ack(&ack, &window);
            check(&search, &ack, &window, step);
            apply(step, &mut window);
        }
    }
    search
}

fn apply(step: Step, window: &mut Window) {
    match step {
        Step::Grow(growth) => window.cwnd += growth,
        Step::Set(cwnd) => window.cwnd = cwnd,
        Step::Exit { cwnd, ssthresh, .. } => (window.cwnd, window.ssthresh) = (cwnd, ssthresh),
    }
}

proptest! {
    /// On any path, growth is the delivered bytes or zero, an exit leaves a sensible window, and
    /// the norm is at most one.
    #[test]
    fn any_acks(config in configs(), events in events()) {
        drive(config, &events, |search, ack, window, step| {
            match step {
                Step::Grow(growth) => {
                    assert!(growth == ack.delivered || (growth.is_zero() && search.is_draining()));
                }
                Step::Set(cwnd) => assert!(search.is_draining() && cwnd >= segments(10)),
                Step::Exit { cwnd, ssthresh, .. } if search.is_draining() => {
                    assert_eq!((cwnd, ssthresh), (window.cwnd, window.ssthresh));
                }
                Step::Exit { cwnd, ssthresh, .. } => {
                    assert_eq!(cwnd, ssthresh);
                    assert!(cwnd >= window.cwnd.min(segments(10)));
                    assert!(!search.is_draining() && search.decision().is_some());
                }
            }
            if let Some(measurement) = search.measurement() {
                assert!(measurement.norm_permille <= 1000, "{measurement:?}");
                assert!(measurement.current.get() <= ack.snd_una, "{measurement:?}");
                assert!(measurement.look_back <= config.longest_lookback());
            }
        });
    }

    /// Passive SEARCH is slow start with a log, whose first entry is the decision of active SEARCH.
    #[test]
    fn passive_never_acts(config in configs(), events in events()) {
        let events: Vec<Event> = events.into_iter().map(|event| (event.0, event.1, event.2, event.3, event.4, false)).collect();
        let passive = drive(SearchConfig { passive: true, ..config }, &events, |search, ack, _, step| {
            assert_eq!(step, Step::Grow(ack.delivered));
            assert!(!search.is_draining());
        });
        let active = drive(config, &events, |_, _, _, _| {});
        prop_assert_eq!(passive.passive_decision(), active.decision());
    }

    /// The decision does not depend on earlier data of the connection, because it uses differences.
    #[test]
    fn totals_do_not_matter(config in configs(), events in events(), before in 0u64..1 << 50) {
        let config = SearchConfig { passive: true, ..config };
        prop_assume!(config.arithmetic != congestion::startup::search::Arithmetic::Shifted);
        let mut near = Search::new(config, Instant::ZERO, 0);
        let mut far = Search::new(config, Instant::ZERO, 0);
        let (mut now, mut acked, mut sent) = (0, 0, 14_480);
        let window = Window { cwnd: segments(10), ssthresh: Bytes::MAX, smss: SMSS };
        for startup in [&mut near, &mut far] {
            // After the first opening, 2.0 counts from its first ACK, as the other versions always
            // do.
            startup.on_delivery(&ack(Instant::ZERO, SMSS, 0, Some(Duration::from_millis(1))), &window);
            startup.restart(Instant::ZERO, 0);
        }
        for (gap, delivered, transmitted, rtt, app_limited, _) in events {
            now += gap;
            acked += delivered * SMSS.get();
            sent = acked.max(sent + transmitted * SMSS.get());
            let here = Ack {
                bytes_sent: sent,
                app_limited,
                ..ack(Instant::from_nanos(now), segments(delivered), acked, rtt.map(Duration::from_nanos))
            };
            near.on_delivery(&here, &window);
            far.on_delivery(&Ack { snd_una: before + acked, bytes_sent: before + sent, ..here }, &window);
            prop_assert_eq!(near.measurement(), far.measurement());
        }
        prop_assert_eq!(near.decision(), far.decision());
    }
}

//! SEARCH against its closed form (Kachooei 2024, sections 4.1 to 4.3, exact everywhere), in units
//! of the base RTT.
//!
//! `cum(t)` is the data delivered by `t`; the path reaches its capacity (1 per RTT) at 0.

mod startup_support;

use congestion::startup::Search;
use congestion::startup::search::{Measurement, SearchConfig, Version};
use congestion::{Ack, Startup};
use startup_support::{ack, vectors, window};
use units::{Bytes, Duration, Instant};

fn cum(t: f64) -> f64 {
    let ln2 = std::f64::consts::LN_2;
    if t <= 0.0 {
        t.exp2() / ln2
    } else {
        1.0 / ln2 + t
    }
}

/// The norm `x` RTTs after capacity with a window of `w` RTTs, looking back to `back`.
fn norm_back(x: f64, back: f64, w: f64) -> f64 {
    1.0 - (cum(x) - cum(x - w)) / (2.0 * (cum(back) - cum(back - w)))
}

fn norm(x: f64, w: f64) -> f64 {
    norm_back(x, x - 1.0, w)
}

#[test]
fn the_reference_has_the_published_values() {
    let table = [
        (
            2.0,
            [0.0, 0.0, 0.204568546, 0.419059784, 0.5, 0.5, 0.5, 0.5],
        ),
        (
            3.5,
            [
                0.0,
                0.0,
                0.168302379,
                0.329734722,
                0.416468996,
                0.488686173,
                0.5,
                0.5,
            ],
        ),
        (
            5.0,
            [
                0.0,
                0.0,
                0.158375649,
                0.306626722,
                0.374375669,
                0.421689992,
                0.470490154,
                0.5,
            ],
        ),
    ];
    for (w, values) in table {
        for (x, value) in (-1..).zip(values) {
            let norm = norm(f64::from(x), w);
            assert!(
                (norm - value).abs() < 1e-9,
                "w {w}, x {x}: {norm} is not {value}"
            );
        }
    }
}

#[test]
fn the_reference_has_the_values_of_the_vectors() {
    for name in ["closed_form.csv", "closed_form_fine.csv"] {
        for row in vectors(name) {
            let [w, x, value] = [0, 1, 4].map(|column: usize| row[column].parse::<f64>().unwrap());
            assert!((norm(x, w) - value).abs() < 1e-9, "{name}: {row:?}");
        }
    }
}

/// The base RTT of the streams; the first ACK arrives after one base RTT.
const RTT: f64 = 100e6;
/// The stream begins this many RTTs before the capacity is reached.
const BEFORE: f64 = 9.0;
/// Bytes that the path carries per RTT.
const CAPACITY: f64 = 1e9;

/// Measurements of a stream with an ACK every `RTT / 1000`, for `rounds` RTTs after capacity.
/// `delivered`, `rtt` and `sent` are functions of the time since capacity in RTTs. Without `sent`,
/// twice the delivered bytes are sent.
fn measure(
    config: SearchConfig,
    rounds: f64,
    delivered: impl Fn(f64) -> f64,
    sent: impl Fn(f64) -> f64,
    rtt: impl Fn(f64) -> f64,
) -> Vec<(f64, Measurement)> {
    let mut search = Search::new(
        SearchConfig {
            passive: true,
            ..config
        },
        Instant::ZERO,
        0,
    );
    let mut measurements = vec![];
    let mut last = None;
    for step in 0..((BEFORE + rounds) * 1000.0) as u32 {
        let t = f64::from(step) / 1000.0 - BEFORE;
        let now = Instant::from_nanos(((t + BEFORE + 1.0) * RTT) as u64);
        // The first ACK acknowledges nothing, because 2.0 counts its bytes in the first bin.
        let acked = ((delivered(t) - delivered(-BEFORE)) * CAPACITY) as u64;
        let sample = Duration::from_nanos((rtt(t) * RTT) as u64);
        let ack = Ack {
            bytes_sent: (sent(t) * CAPACITY) as u64,
            ..ack(now, Bytes::new(1), acked, Some(sample))
        };
        assert_eq!(search.on_delivery(&ack, &window(1000)), None);
        if search.measurement() != last {
            last = search.measurement();
            measurements.extend(last.map(|measurement| (t, measurement)));
        }
    }
    measurements
}

/// Tolerance of the binning: Kachooei 2024, figure 4.2, shows an error of 2 %.
const BINNING: f64 = 0.02;

#[test]
fn the_bins_follow_the_closed_form() {
    for version in [Version::V2_0, Version::V3_1, Version::V4_0] {
        for window_permille in [2_000, 3_500, 5_000] {
            let config = SearchConfig {
                window_permille,
                ..SearchConfig::of(version)
            };
            let w = f64::from(window_permille) / 1000.0;
            let found = measure(config, 7.0, cum, |t| 2.0 * cum(t), |_| 1.0);
            assert!(found.len() as f64 > (BEFORE + 7.0 - 1.4 * w - 1.0) / (w / 10.0) - 2.0);
            let worst = found
                .iter()
                .map(|&(t, measurement)| {
                    (measurement.norm_permille as f64 / 1000.0 - norm(t, w)).abs()
                })
                .fold(0.0, f64::max);
            assert!(worst < BINNING, "{version:?}, window {w}: off by {worst}");
        }
    }
}

#[test]
fn the_threshold_is_crossed_within_a_bin() {
    for (version, crossing) in [
        (Version::V2_0, 2.204794),
        (Version::V3_1, 2.204794),
        (Version::V4_0, 1.451705),
    ] {
        let found = measure(
            SearchConfig::of(version),
            7.0,
            cum,
            |t| 2.0 * cum(t),
            |_| 1.0,
        );
        let (t, _) = found
            .iter()
            .find(|(_, measurement)| measurement.hit)
            .expect("a hit");
        assert!(
            (crossing - 0.05..crossing + 0.35).contains(t),
            "{version:?}: {t}"
        );
    }
}

#[test]
fn the_flows_own_queue_delays_the_decision() {
    // An infinite FIFO: the byte acknowledged at t was sent at s(t), so the RTT is t - s(t).
    let ln2 = std::f64::consts::LN_2;
    let sent_at = |t: f64| match t {
        t if t <= 0.0 => t - 1.0,
        t if t <= 1.0 / ln2 => (1.0 + t * ln2).log2() - 1.0,
        t => (t - 1.0 / ln2) / 2.0,
    };
    let rtt = |t: f64| t - sent_at(t);
    for (version, crossing, sample) in [
        (Version::V2_0, 4.742156, 3.092426),
        (Version::V4_0, 3.880724, 2.661710),
    ] {
        assert!((rtt(crossing) - sample).abs() < 1e-5);
        let threshold = f64::from(SearchConfig::of(version).threshold()) / 1000.0;
        assert!((norm_back(crossing, sent_at(crossing), 3.5) - threshold).abs() < 1e-5);
        let found = measure(SearchConfig::of(version), 9.0, cum, |t| 2.0 * cum(t), rtt);
        let (t, _) = found
            .iter()
            .find(|(_, measurement)| measurement.hit)
            .expect("a hit");
        assert!(
            (crossing - 0.05..crossing + 0.4).contains(t),
            "{version:?}: {t}"
        );
        for &(t, measurement) in &found {
            let error = measurement.norm_permille as f64 / 1000.0 - norm_back(t, sent_at(t), 3.5);
            assert!(error.abs() < BINNING, "{version:?} at {t}: off by {error}");
        }
    }
}

#[test]
fn slower_growth_has_a_baseline_unless_sent_bytes_are_used() {
    // Delivery grows by g per RTT: 1 - g/2 for 2.0 and 3.1. Sent data is acknowledged an RTT later.
    for (g, baseline) in [
        (2.0, 0.0),
        (1.75, 0.125),
        (1.5, 0.25),
        (1.4, 0.3),
        (1.2, 0.4),
        (1.0, 0.5),
    ] {
        let grown = |t: f64| {
            if g > 1.0 {
                f64::powf(g, t)
            } else {
                t + BEFORE + 1.0
            }
        };
        for version in [Version::V2_0, Version::V3_1, Version::V4_0] {
            let expected = if version == Version::V4_0 {
                0.0
            } else {
                baseline
            };
            let found = measure(
                SearchConfig::of(version),
                0.0,
                grown,
                |t| grown(t + 1.0),
                |_| 1.0,
            );
            assert!(!found.is_empty());
            for (t, measurement) in found {
                let error = measurement.norm_permille as f64 / 1000.0 - expected;
                assert!(
                    error.abs() < BINNING,
                    "{version:?}, g {g}, at {t}: off by {error}"
                );
            }
        }
    }
    for row in vectors("baseline_growth.csv") {
        let [g, old, new] = [0, 1, 2].map(|column: usize| row[column].parse::<f64>().unwrap());
        assert!((1.0 - g / 2.0 - old).abs() < 1e-9 && new == 0.0, "{row:?}");
    }
}

#[test]
fn the_first_test_comes_after_the_thirteenth_bin() {
    for version in [Version::V2_0, Version::V3_1, Version::V4_0] {
        let found = measure(
            SearchConfig::of(version),
            0.0,
            cum,
            |t| 2.0 * cum(t),
            |_| 1.0,
        );
        let (t, measurement) = found[0];
        assert_eq!(
            (measurement.index, measurement.look_back),
            (13, 2),
            "{version:?}"
        );
        assert!((t + BEFORE - 4.55).abs() < 0.0015, "{version:?}: {t}");
    }
}

//! A low-orbit link: measurements on the LeoCC recording, and reference values
//! (docs/reference/sources.md, "Low Earth orbit"; docs/reference/networks/leo.md).

use crate::common;

use std::sync::Arc;

use common::{MBIT, assert_conserved, bare, build, packet, pop_all};
use network::access::LeoConfig;
use network::{AccessConfig, Admission, DropReason, Link, LinkConfig, Service, Streams};
use units::{Duration, Instant, Rate};

/// The median rate of the recorded trace.
const MEASURED: LeoConfig = LeoConfig::measured(Rate::from_bits_per_sec(48_700_000));
/// In seconds; within a burst packets of the model are at most 0.4 ms apart.
const PAUSE: f64 = 0.0009;
const INTERVAL_S: f64 = 15.0;

fn leo(config: LeoConfig) -> LinkConfig {
    bare(Service::Access(Arc::new(AccessConfig::Leo(config))))
}

/// Departures of packets of `size` from a saturated server, in seconds.
fn saturated(mut link: Link<u64>, size: u32, seconds: u64) -> Vec<f64> {
    let end = Instant::from_secs(seconds);
    let mut left = Vec::new();
    let mut now = Instant::ZERO;
    while now < end {
        link.push(now, packet(size, 0));
        now = link.busy_until();
        left.push(now.as_secs_f64());
        while link.pop(now).is_some() {}
    }
    left
}

/// Quantiles of some values.
fn quantiles<const N: usize>(mut values: Vec<f64>, at: [f64; N]) -> [f64; N] {
    values.sort_by(f64::total_cmp);
    at.map(|share| values[((values.len() - 1) as f64 * share) as usize])
}

fn mean_sd(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares = values.iter().map(|value| (value - mean).powi(2));
    (mean, (squares.sum::<f64>() / values.len() as f64).sqrt())
}

/// Statistics of deliveries: times in seconds, each of `size` bytes, with boundaries at `phase` and
/// every 15 s after it.
struct Statistics {
    /// Start to start of bursts, in ms.
    gaps: [f64; 5],
    /// Fractions of those of 2, 3, 4 and 5 frames.
    frames: [f64; 4],
    /// Deliveries in a burst.
    burst: [f64; 3],
    /// Coefficient of variation of the rate in bins of 20, 50, 100, 500 and 1000 ms, inside an interval.
    variation: [f64; 5],
    /// Standard deviation of the logarithm of the ratio of an interval's rate to the one before.
    ratio: f64,
    /// Gaps longer than 50 ms: their start and length in seconds.
    stops: Vec<(f64, f64)>,
}

impl Statistics {
    /// A burst ends when nothing is delivered for `pause`.
    fn of(times: &[f64], phase: f64, pause: f64) -> Self {
        let (mut starts, mut counts) = (vec![times[0]], vec![1.0]);
        let mut stops = Vec::new();
        for two in times.windows(2) {
            if two[1] - two[0] > 0.05 {
                stops.push((two[0], two[1] - two[0]));
            }
            if two[1] - two[0] > pause {
                starts.push(two[1]);
                counts.push(0.0);
            }
            *counts.last_mut().expect("there is one") += 1.0;
        }
        let gaps = starts.windows(2).map(|two| (two[1] - two[0]) * 1000.0);
        // Without the interruptions at the boundaries.
        let gaps: Vec<f64> = gaps.filter(|gap| *gap < 50.0).collect();
        let frames = [2.0, 3.0, 4.0, 5.0].map(|frames: f64| {
            let same = gaps.iter().filter(|gap| (*gap * 0.75).round() == frames);
            same.count() as f64 / gaps.len() as f64
        });
        let last = times[times.len() - 1];
        let whole = ((last - phase) / INTERVAL_S) as usize;
        let begins: Vec<f64> = (0..whole).map(|k| phase + INTERVAL_S * k as f64).collect();
        let count = |from: f64, to: f64| {
            times.partition_point(|at| *at < to) - times.partition_point(|at| *at < from)
        };
        let variation = [0.02, 0.05, 0.1, 0.5, 1.0].map(|bin: f64| {
            // The first second of an interval contains the interruption.
            let inside = begins.iter().map(|begin| {
                let bins = (13.5 / bin) as usize;
                let from = begin + 1.0;
                let counts: Vec<f64> = (0..bins)
                    .map(|n| count(from + bin * n as f64, from + bin * (n + 1) as f64) as f64)
                    .collect();
                let (mean, sd) = mean_sd(&counts);
                sd / mean
            });
            inside.sum::<f64>() / whole as f64
        });
        let rates: Vec<f64> = begins
            .iter()
            .map(|begin| count(*begin, begin + INTERVAL_S) as f64)
            .collect();
        let ratios: Vec<f64> = rates.windows(2).map(|two| (two[1] / two[0]).ln()).collect();
        Self {
            gaps: quantiles(gaps, [0.05, 0.25, 0.5, 0.75, 0.95]),
            frames,
            burst: quantiles(counts, [0.05, 0.5, 0.95]),
            variation,
            ratio: mean_sd(&ratios).1,
            stops,
        }
    }

    #[expect(clippy::print_stdout, reason = "a test says what it found")]
    fn print(&self, what: &str) {
        println!("{what}:");
        println!(
            "  burst gaps {:.2?} ms, packets {:?}",
            self.gaps, self.burst
        );
        println!(
            "  variation {:.3?}, log-ratio {:.3}",
            self.variation, self.ratio
        );
        let [median] = quantiles(self.stops.iter().map(|stop| stop.1).collect(), [0.5]);
        println!(
            "  {} stops, median {:.1} ms",
            self.stops.len(),
            median * 1000.0
        );
    }
}

fn near(what: &str, found: f64, expected: f64, share: f64) {
    assert!(
        (found - expected).abs() <= share * expected,
        "{what}: {found}, reference {expected} within {} %",
        share * 100.0
    );
}

/// The statistics of the generator.
#[test]
fn bursts_steps_and_interruptions_are_those_of_the_reference() {
    let config = LeoConfig {
        phase: Some(Duration::from_secs(5)),
        ..MEASURED
    };
    let times = saturated(build(&leo(config)), 1514, 604);
    let found = Statistics::of(&times, 5.0, PAUSE);
    found.print("600 s");
    // Not the reference's 25th percentile: a quarter of the gaps have two frames, so it lies on the
    // step to three.
    for (place, expected) in [(0, 2.7), (2, 4.0), (3, 5.3), (4, 6.7)] {
        // The rest of a packet from the previous burst arrives a little after the start of its
        // burst.
        near("burst gap", found.gaps[place], expected, 0.06);
    }
    println!("  gaps of 2 to 5 frames {:.3?}", found.frames);
    for (found, expected) in found.frames.into_iter().zip([0.25, 0.35, 0.25, 0.15]) {
        // 137,000 gaps.
        assert!((found - expected).abs() < 0.01, "{found} {expected}");
    }
    for (found, expected) in found.burst.into_iter().zip([7.0, 16.0, 36.0]) {
        near("packets in a burst", found, expected, 0.15);
    }
    for (found, expected) in found
        .variation
        .into_iter()
        .zip([0.195, 0.122, 0.088, 0.051, 0.043])
    {
        near("variation of the rate", found, expected, 0.15);
    }
    // An interruption at each boundary and nowhere else: the last burst before it is at most five
    // frames old, and truncated bursts do not start.
    assert_eq!(found.stops.len(), 40);
    for (number, (begin, span)) in found.stops.iter().enumerate() {
        let boundary = 5.0 + INTERVAL_S * number as f64;
        assert!(
            (boundary - 0.0081..=boundary).contains(begin),
            "{begin} {boundary}"
        );
        assert!((0.060..=0.157).contains(span), "{span}");
    }
    let [median] = quantiles(
        found.stops.iter().map(|stop| stop.1 * 1000.0).collect(),
        [0.5],
    );
    near("median stop", median, 76.0, 0.15);
    let bits = times.len() as f64 * 1514.0 * 8.0;
    near(
        "mean burst, packets",
        bits / 604.0 * 0.0044 / 12_112.0,
        18.0,
        0.10,
    );
}

#[test]
fn intervals_differ_as_measured() {
    let config = LeoConfig {
        phase: Some(Duration::from_secs(5)),
        ..MEASURED
    };
    // 30 kB at once: only the rate of 400 intervals is needed.
    let times = saturated(build(&leo(config)), 30_000, 6005);
    let ratio = Statistics::of(&times, 5.0, PAUSE).ratio;
    println!("log-ratio between intervals {ratio:.3}");
    // Standard error 3.5 %; the reference calculation over 3000 s gave 0.223 where 0.226 is meant.
    near("log-ratio", ratio, 0.223, 0.15);
    let mean = times.len() as f64 * 30_000.0 * 8.0 / 6005.0;
    // exp(0.16^2/2 + 0.05^2/2) for the means of the two, less 80 of 15000 ms.
    near("mean rate", mean / 48.7e6, 1.0085, 0.03);
}

/// The same statistics of the recorded trace, if present.
#[test]
fn the_recorded_trace_has_the_same_statistics() {
    let Some(text) = testing::traces::read("starlink-leocc.rate") else {
        return;
    };
    let times: Vec<f64> = text
        .lines()
        .map(|line| line.trim().parse::<f64>().expect("milliseconds") / 1000.0)
        .collect();
    // The trace has whole milliseconds, so a burst may have two: ours is rounded likewise.
    let trace = Statistics::of(&times, 8.69, 0.0015);
    trace.print("trace");
    let config = LeoConfig {
        phase: Some(Duration::from_millis(8690)),
        ..MEASURED
    };
    let times = saturated(build(&leo(config)), 1514, 120);
    let times: Vec<f64> = times
        .iter()
        .map(|at| (at * 1000.0).floor() / 1000.0)
        .collect();
    let ours = Statistics::of(&times, 8.69, 0.0015);
    ours.print("model, 120 s");
    for (what, ours, trace, share) in [
        ("median gap", ours.gaps[2], trace.gaps[2], 0.25),
        ("long gap", ours.gaps[4], trace.gaps[4], 0.15),
        ("20 ms", ours.variation[0], trace.variation[0], 0.25),
        ("50 ms", ours.variation[1], trace.variation[1], 0.25),
        ("100 ms", ours.variation[2], trace.variation[2], 0.25),
    ] {
        near(what, ours, trace, share);
    }
    // Both have 8 boundaries.
    assert_eq!(ours.stops.len(), 8);
    let at_boundary = |begin: f64| {
        let since = (begin - 8.69 + 0.02).rem_euclid(INTERVAL_S);
        since < 0.04
    };
    let stops = trace
        .stops
        .iter()
        .filter(|stop| at_boundary(stop.0))
        .count();
    assert_eq!(stops, 8, "{:?}", trace.stops);
}

/// Both directions of a path have the same boundaries; those of runs differ.
#[test]
fn both_directions_change_at_the_same_instants() {
    let (down, up) = (
        leo(MEASURED),
        leo(LeoConfig {
            grant: Duration::from_millis(12),
            ..MEASURED
        }),
    );
    let mut phases = Vec::new();
    for seed in 0..20 {
        let streams = Streams::new(seed);
        let rngs = [
            streams.stream("path.forward"),
            streams.stream("path.reverse"),
        ];
        let [down, up] = Link::<u64>::pair([&down, &up], rngs)
            .map(|link| Statistics::of(&saturated(link, 6000, 40), 0.0, PAUSE).stops);
        assert_eq!(down.len(), up.len());
        for (down, up) in down.iter().zip(&up) {
            assert!((down.0 - up.0).abs() < 0.009, "{down:?} {up:?}");
            // Each still has its own channel.
            assert_ne!(down.1, up.1);
        }
        phases.push(down[0].0.rem_euclid(INTERVAL_S));
    }
    let [least, most] = quantiles(phases, [0.0, 1.0]);
    assert!(least < 4.0 && most > 11.0, "{least} {most}");
}

/// The delay is periodic with 15 s, because packets are held at each boundary.
#[test]
fn the_delay_repeats_in_each_interval() {
    let config = LeoConfig {
        drop: 0.0,
        ..MEASURED
    };
    let mut link = build(&leo(config));
    let mut delays = Vec::new();
    for number in 0..60_000_u64 {
        let at = Instant::from_millis(10 * number);
        link.push(at, packet(64, number));
        for (due, packet) in pop_all(&mut link, Instant::from_millis(10 * (number + 1))) {
            delays.push((due - Instant::from_millis(10 * packet.payload)).as_secs_f64() * 1000.0);
        }
    }
    let (mean, sd) = mean_sd(&delays);
    let correlation = |lag: usize| {
        let pairs = delays.iter().zip(&delays[lag..]);
        let sum: f64 = pairs.map(|(a, b)| (a - mean) * (b - mean)).sum();
        sum / (delays.len() - lag) as f64 / (sd * sd)
    };
    let peak = correlation(1500);
    println!(
        "autocorrelation {peak:.3} at 15 s, {:.3} at 14 s, {:.3} at 16 s",
        correlation(1400),
        correlation(1600)
    );
    assert!((0.15..=0.9).contains(&peak), "{peak}");
    for lag in (1200..1480).chain(1520..1800).step_by(10) {
        assert!(correlation(lag) < peak - 0.1, "{lag}");
    }
    // Inside an interval, without the interruptions: the 5th to 95th percentile are some
    // milliseconds apart.
    let [low, middle, high] = quantiles(delays, [0.05, 0.5, 0.95]);
    println!("delay {low:.2} {middle:.2} {high:.2} ms beyond the least");
    assert!((3.0..=9.0).contains(&(high - low)), "{low} {high}");
}

/// Two patterns of arrivals meet the same channel: a packet on an idle link has the same delay.
#[test]
fn the_channel_does_not_depend_on_the_packets() {
    for grant in [0, 12] {
        let config = leo(LeoConfig {
            grant: Duration::from_millis(grant),
            drop: 0.0,
            ..MEASURED
        });
        let (mut alone, mut among) = (build(&config), build(&config));
        for second in 1..200_u64 {
            for number in 0..second * 7 % 500 {
                let at = Instant::from_micros((second - 1) * 1_000_000 + number * 937);
                pop_all(&mut among, at);
                among.push(at, packet(1500, number));
            }
            // At an odd place in the second, long after the last packet was delivered.
            let at = Instant::from_micros(second * 1_000_000 - 1 - second * 613);
            let fate = |link: &mut Link<u64>| {
                pop_all(link, at);
                assert_eq!(link.held(), 0, "{second}");
                link.push(at, packet(1500, 0));
                (link.busy_until(), link.next_event())
            };
            assert_eq!(fate(&mut alone), fate(&mut among), "{second}");
        }
    }
}

/// In an interruption with drops, the first packets that arrive are dropped, and no others.
#[test]
fn an_interruption_may_drop_the_first_arrivals() {
    let config = LeoConfig {
        phase: Some(Duration::from_secs(5)),
        drop: 1.0,
        ..MEASURED
    };
    let mut link = build(&leo(config));
    let mut dropped = Vec::new();
    for number in 0..605_000_u64 {
        let at = Instant::from_millis(number);
        pop_all(&mut link, at);
        let admission = link.push(at, packet(1500, number));
        if admission != Admission::Accepted {
            assert_eq!(admission, Admission::Dropped(DropReason::Loss));
            dropped.push(number);
        }
    }
    assert_conserved(&link);
    let mut sizes = [0; 40];
    for number in &dropped {
        let since = (number - 5000) % 15_000;
        let stop = &mut sizes[((number - 5000) / 15_000) as usize];
        // One packet per millisecond, from the boundary on without a gap.
        assert_eq!(since, *stop, "{number}");
        *stop += 1;
    }
    println!("dropped {sizes:?}");
    assert!(sizes.iter().all(|size| (1..=20).contains(size)));
    assert!(sizes.iter().any(|size| *size > 12) && sizes.iter().any(|size| *size < 9));
}

/// With `drop_time`, an interruption with drops loses all that arrives for so long, whatever the rate,
/// and holds what arrives later.
#[test]
fn an_interruption_may_drop_all_arrivals_for_a_time() {
    let config = LeoConfig {
        phase: Some(Duration::from_secs(5)),
        outage: Duration::from_millis(120),
        outage_mean: Duration::ZERO,
        drop: 0.5,
        drop_packets: 0,
        drop_time: Duration::from_millis(50),
        ..MEASURED
    };
    let mut lost_in = Vec::new();
    for spacing_us in [1000, 5000] {
        let mut link = build(&leo(config));
        let mut lost = vec![0; 40];
        for number in 0..605_000_000 / spacing_us {
            let now = number * spacing_us;
            let at = Instant::from_micros(now);
            pop_all(&mut link, at);
            if link.push(at, packet(64, number)) == Admission::Accepted {
                continue;
            }
            let since_us = (now - 5_000_000) % 15_000_000;
            assert!(since_us < 50_000, "{since_us}");
            lost[((now - 5_000_000) / 15_000_000) as usize] += 1;
        }
        assert_conserved(&link);
        // All that arrives in 50 ms, or nothing.
        assert!(
            lost.iter()
                .all(|&each| each == 0 || each == 50_000 / spacing_us),
            "{lost:?}"
        );
        let stops = lost.iter().filter(|&&each| each > 0).count();
        assert!((12..=28).contains(&stops), "{stops} of 40");
        lost_in.push(lost.iter().map(|&each| each > 0).collect::<Vec<_>>());
    }
    // The same interruptions, whatever arrives.
    assert_eq!(lost_in[0], lost_in[1]);
}

#[test]
fn idle_times_and_extremes_do_no_harm() {
    let day = Duration::from_secs(86_400);
    for config in [
        MEASURED,
        LeoConfig {
            rate: Rate::ZERO,
            ..MEASURED
        },
        LeoConfig {
            rate: Rate::from_bits_per_sec(1_000_000_000_000),
            burst: 1.0,
            spread: 1.0,
            wander: 1.0,
            ..MEASURED
        },
        LeoConfig {
            interval: Duration::ZERO,
            outage: day,
            outage_max: day,
            ..MEASURED
        },
        LeoConfig {
            interval: day * 7,
            phase: Some(Duration::MAX),
            ..MEASURED
        },
        LeoConfig {
            step: day,
            drift: day,
            jitter: day,
            grant: day,
            drop_packets: u32::MAX,
            drop_time: day,
            drop: 2.0,
            ..MEASURED
        },
        LeoConfig {
            spread: 0.0,
            wander: 0.0,
            correlation: Duration::ZERO,
            burst: 0.0,
            step: Duration::ZERO,
            drift: Duration::ZERO,
            jitter: Duration::ZERO,
            outage: Duration::ZERO,
            outage_mean: Duration::ZERO,
            ..MEASURED
        },
    ] {
        let mut link = build(&leo(config));
        for number in 0..60_u64 {
            let now = Instant::from_secs(number / 20 * 100_000 + number);
            pop_all(&mut link, now);
            link.push(now, packet(1500, number));
            assert_conserved(&link);
        }
        let out = pop_all(&mut link, Instant::MAX);
        assert!(out.is_sorted_by_key(|(at, _)| *at));
        assert_conserved(&link);
        assert_eq!(link.held(), 0);
    }
}

/// Without variation there remain bursts, and the mean rate is the configured one.
#[test]
fn without_variation_the_mean_rate_is_exact() {
    let config = LeoConfig {
        spread: 0.0,
        wander: 0.0,
        burst: 0.0,
        outage: Duration::ZERO,
        outage_mean: Duration::ZERO,
        ..LeoConfig::measured(Rate::from_bits_per_sec(100 * MBIT))
    };
    let times = saturated(build(&leo(config)), 1514, 60);
    let rate = times.len() as f64 * 1514.0 * 8.0 / 60.0;
    near("rate", rate, 1e8, 0.002);
}

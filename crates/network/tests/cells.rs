//! Cells of LTE and 5G and their reduced model: reference values (docs/reference/sources.md, "Cells
//! of LTE and 5G, and their reduced model", "Recorded traces").

use crate::common;

use std::sync::Arc;

use common::{MBIT, assert_conserved, bare, packet, pop_all};
use network::access::cellular::{
    BlockConfig, CellConfig, CellularConfig, Duplex, GrantsConfig, HsdpaConfig, Length,
    OutageConfig, ReducedConfig, RrcConfig, UmtsUplinkConfig,
};
use network::{AccessConfig, Link, Service, Streams};
use units::{Duration, Instant, Rate};

fn link(config: CellularConfig, seed: u64) -> Link<u64> {
    let access = AccessConfig::Cellular(Box::new(config));
    let config = bare(Service::Access(Arc::new(access)));
    Link::new(&config, Streams::new(seed).stream("path.forward"))
}

fn flawless(blocks: BlockConfig) -> BlockConfig {
    BlockConfig {
        error: 0.0,
        residual: 0.0,
        ..blocks
    }
}

fn lte_uplink() -> GrantsConfig {
    GrantsConfig::lte(Rate::from_bits_per_sec(20 * MBIT))
}

/// A cell without randomness: one user, no shadowing, no fading, no errors.
fn constant(prbs: u32, sinr_db: f64) -> CellConfig {
    let mut config = CellConfig::LTE;
    config.prbs = prbs;
    config.layers = 1;
    config.channel.sinr_db = sinr_db;
    config.channel.shadow_db = 0.0;
    config.channel.doppler_hz = 0.0;
    config.users = 0;
    config.blocks = flawless(config.blocks);
    config
}

/// Times from 1 s on, about a second apart, at random phases of a millisecond period.
fn seldom(count: u64) -> impl Iterator<Item = Instant> {
    (1..=count).map(|n| Instant::from_nanos(n * 1_000_000_000 + n * 618_033_989 % 97_000_003))
}

/// The delays of packets on an idle link, in milliseconds.
fn alone(config: CellularConfig, size: u32, count: u64) -> Vec<f64> {
    let mut link = link(config, 3);
    seldom(count)
        .map(|at| {
            link.push(at, packet(size, 0));
            let (due, _) = link.pop(Instant::MAX).expect("it comes out");
            (due - at).as_nanos() as f64 / 1e6
        })
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares = values.iter().map(|value| (value - mean).powi(2));
    (squares.sum::<f64>() / values.len() as f64).sqrt()
}

/// Of sorted values.
fn quantile(values: &[f64], share: f64) -> f64 {
    values[((values.len() - 1) as f64 * share).round() as usize]
}

/// Bytes delivered by a link that is saturated from `start` on, in each `bin`.
fn carried(link: &mut Link<u64>, start: Instant, bins: usize, bin: Duration) -> Vec<f64> {
    let end = Instant::ZERO + bin * bins as u64;
    let mut carried = vec![0.0; bins];
    let mut now = start;
    while now < end {
        // Twenty milliseconds are always queued.
        while link.busy_until() < now + Duration::from_millis(20) {
            link.push(now, packet(1500, 0));
        }
        now += Duration::from_millis(10);
        for (due, _) in pop_all(link, now) {
            if let Some(carried) = carried.get_mut((due.as_nanos() / bin.as_nanos()) as usize) {
                *carried += 1500.0;
            }
        }
    }
    carried
}

/// A wait of 0 to 10 ms, 8 ms and 3 ms.
#[test]
fn the_first_ack_after_an_idle_time() {
    let config = GrantsConfig {
        blocks: flawless(lte_uplink().blocks),
        ..lte_uplink()
    };
    let waits = alone(CellularConfig::Grants(config), 52, 4000);
    // A uniform wait over 10 ms: standard error 2.89 / sqrt(4000) = 0.046.
    assert!((mean(&waits) - 16.0).abs() < 0.19, "{}", mean(&waits));
    assert!((deviation(&waits) - 10.0 / 12_f64.sqrt()).abs() < 0.1);
    assert!(waits.iter().all(|wait| (11.0..=21.0).contains(wait)));
    let with_errors = alone(CellularConfig::Grants(lte_uplink()), 52, 20_000);
    let expected = lte_uplink().idle_delay().as_nanos() as f64 / 1e6;
    let found = mean(&with_errors);
    println!("first ACK after idle: {found:.2} ms, {expected:.2} by the configuration");
    assert!((found - expected).abs() < 0.12, "{found} {expected}");
}

/// 10.3 ACKs in a bunch at 50 Mbit/s, bunches 5 ms apart.
#[test]
fn acks_come_in_bunches() {
    let run = |config: GrantsConfig| {
        let mut uplink = link(CellularConfig::Grants(config), 1);
        let mut due = Vec::new();
        for number in 0..100_000 {
            // An ACK for two packets of 12,112 bits.
            let now = Instant::from_nanos(number * 484_480);
            due.extend(pop_all(&mut uplink, now).into_iter().map(|(at, _)| at));
            uplink.push(now, packet(52, number));
        }
        assert_conserved(&uplink);
        due
    };
    let gaps = |due: &[Instant]| -> Vec<u64> {
        due.windows(2)
            .map(|two| (two[1] - two[0]).as_nanos())
            .collect()
    };
    let due = run(GrantsConfig {
        blocks: flawless(lte_uplink().blocks),
        ..lte_uplink()
    });
    let between = gaps(&due);
    let bunches = 1 + between.iter().filter(|gap| **gap > 0).count();
    let bunch = due.len() as f64 / bunches as f64;
    assert!((bunch - 10.32).abs() < 0.05, "{bunch}");
    assert!(between.iter().all(|gap| *gap == 0 || *gap == 5_000_000));
    // With retransmissions 0 and 5 ms are still the modes; some bunches are joined.
    let between = gaps(&run(lte_uplink()));
    let share = |gap: u64| {
        let same = between.iter().filter(|other| **other == gap).count();
        same as f64 / between.len() as f64
    };
    println!(
        "ACK distances: {:.3} at 0 ms, {:.3} at 5 ms",
        share(0),
        share(5_000_000)
    );
    assert!(share(0) > 0.9 && share(5_000_000) > 0.05);
    assert!(share(0) + share(5_000_000) > 0.97);
}

/// 60 +- 8 ms with a uniform part of 10 ms, and steps of 8 ms from HARQ.
#[test]
fn the_idle_round_trip() {
    let down = alone(CellularConfig::Cell(CellConfig::LTE), 84, 20_000);
    let up = alone(CellularConfig::Grants(lte_uplink()), 84, 20_000);
    let radio = CellConfig::LTE.idle_delay() + lte_uplink().idle_delay();
    let lines = 60.0 - radio.as_nanos() as f64 / 1e6;
    // The reference has 2 x 18 ms and another 4 ms of processing.
    assert!((36.0..=40.0).contains(&lines), "{lines}");
    let mut trips: Vec<f64> = down.iter().zip(&up).map(|(a, b)| a + b + lines).collect();
    trips.sort_by(f64::total_cmp);
    let near = trips
        .iter()
        .filter(|trip| (52.0..=68.0).contains(*trip))
        .count();
    let near = near as f64 / trips.len() as f64;
    let (low, high) = (quantile(&trips, 0.05), quantile(&trips, 0.95));
    println!(
        "idle RTT: mean {:.2}, 5 % {low:.1}, 95 % {high:.1} ms; {near:.3} within 60 +- 8",
        mean(&trips)
    );
    assert!((mean(&trips) - 60.0).abs() < 0.5, "{}", mean(&trips));
    assert!(near > 0.9, "{near}");
    // Retransmissions add whole steps of 8 ms to 3.5 to 4.5 ms.
    let step = |n: f64| {
        let within = down
            .iter()
            .filter(|wait| (**wait - 4.0 - 8.0 * n).abs() < 0.51);
        within.count() as f64 / down.len() as f64
    };
    println!(
        "HARQ steps {:.4} {:.4} {:.4}",
        step(0.0),
        step(1.0),
        step(2.0)
    );
    assert!((step(0.0) - 0.9).abs() < 0.01, "{}", step(0.0));
    assert!((step(1.0) - 0.09).abs() < 0.01, "{}", step(1.0));
    assert!((step(2.0) - 0.009).abs() < 0.003, "{}", step(2.0));
}

#[test]
fn the_presets_have_their_mean_rates() {
    for (config, mbit) in [(CellConfig::LTE, 40.0), (CellConfig::NR, 200.0)] {
        assert_eq!(config.mean.bits_per_sec() as f64, mbit * 1e6);
        let mut rates = Vec::new();
        for seed in 0..30 {
            let mut link = link(CellularConfig::Cell(config), seed);
            let bytes = carried(&mut link, Instant::ZERO, 40, Duration::from_secs(1));
            rates.extend(bytes.iter().map(|bytes| bytes * 8.0 / 1e6));
        }
        let found = mean(&rates);
        println!(
            "{mbit} Mbit/s: {found:.1}, CV of a second {:.2}",
            deviation(&rates) / found
        );
        // The shadowing is constant for about 20 s: 60 independent values of CV 0.36.
        assert!((found / mbit - 1.0).abs() < 0.09, "{found}");
        let measured = config.measured().mean.bits_per_sec() as f64 / 1e6;
        assert!((measured / mbit - 1.0).abs() < 0.12, "{measured}");
    }
    let constant = constant(100, 15.0).measured().mean;
    assert_eq!(constant, Rate::from_bits_per_sec(40 * MBIT));
    // Blocked a sixth of the time, at a twentieth of the rate.
    let blocked = CellConfig {
        blockage: Some(CellConfig::BLOCKAGE),
        ..CellConfig::NR
    };
    let share = blocked.measured().mean.bits_per_sec() as f64 / 200e6;
    assert!((0.7..0.95).contains(&share), "{share}");
}

/// Two senders meet the same channel: a saturated one, and one that sends little at odd times until
/// it is saturated too, carry the same from then on.
#[test]
fn the_channel_does_not_depend_on_the_arrivals() {
    let reduced = ReducedConfig::around(Rate::from_bits_per_sec(40 * MBIT));
    let alone_in_cell = CellConfig {
        users: 0,
        outages: Some(CellConfig::HANDOVERS),
        ..CellConfig::LTE
    };
    let shared = CellConfig {
        outages: Some(CellConfig::HANDOVERS),
        ..CellConfig::LTE
    };
    let nr = CellConfig {
        blockage: Some(CellConfig::BLOCKAGE),
        ..CellConfig::NR
    };
    let somewhere = CellConfig {
        sinr_spread_db: 8.0,
        more_users: 3,
        ..CellConfig::LTE
    };
    // The scheduler has seen the first sender for longer; the averages forget this after some
    // windows.
    for (config, tolerance) in [
        (CellularConfig::Reduced(reduced), 0.0),
        (CellularConfig::Cell(alone_in_cell), 0.0),
        (CellularConfig::Cell(shared), 0.03),
        (CellularConfig::Cell(nr), 0.03),
        (CellularConfig::Cell(somewhere), 0.03),
    ] {
        let bin = Duration::from_millis(500);
        let start = Instant::from_millis(9_730);
        let mut always = link(config.clone(), 7);
        let all = carried(&mut always, Instant::ZERO, 60, bin);
        let mut late = link(config.clone(), 7);
        for at in seldom(8) {
            late.push(at, packet(700, 0));
            pop_all(&mut late, at);
        }
        let some = carried(&mut late, start, 60, bin);
        let mut other = link(config, 8);
        let others = carried(&mut other, start, 60, bin);
        for (one, two) in all[24..].iter().zip(&some[24..]) {
            let allowed = 3000.0 + tolerance * one;
            assert!((one - two).abs() <= allowed, "{one} {two}");
        }
        // Another seed is another channel.
        let apart = all[24..].iter().zip(&others[24..]);
        let apart = apart.filter(|(one, two)| (*one - *two).abs() > 0.05 * *one);
        assert!(apart.count() > 18);
    }
}

/// A run has a constant number of other users, and otherwise equals a cell that always has that
/// many.
#[test]
fn each_run_has_its_neighbours() {
    let cell = |users, more_users, seed| {
        let config = CellConfig {
            users,
            more_users,
            // A user in the cell affects the rate.
            on: Duration::from_secs(1),
            off: Duration::from_millis(10),
            ..CellConfig::LTE
        };
        let mut link = link(CellularConfig::Cell(config), seed);
        carried(&mut link, Instant::ZERO, 4, Duration::from_millis(100))
    };
    let mut runs = [0_u32; 5];
    for seed in 0..400 {
        let found = cell(1, 4, seed);
        let same: Vec<u32> = (1..=5)
            .filter(|users| cell(*users, 0, seed) == found)
            .collect();
        assert_eq!(same.len(), 1, "{same:?}");
        runs[same[0] as usize - 1] += 1;
    }
    println!("1 to 5 other users: {runs:?} of 400 runs");
    // 80 each, and four standard deviations of 8.
    assert!(runs.iter().all(|runs| (48..=112).contains(runs)));
}

/// A run has one place: a normal mean SINR around the configured one, cut at twice its deviation.
#[test]
fn each_run_has_its_place() {
    let config = CellConfig {
        sinr_spread_db: 8.0,
        ..constant(100, 15.0)
    };
    let mut rates: Vec<f64> = Vec::new();
    for seed in 0..800 {
        let mut link = link(CellularConfig::Cell(config), seed);
        let tenths = carried(&mut link, Instant::ZERO, 4, Duration::from_millis(100));
        // The tenths differ by at most one packet.
        assert!((tenths[3] - tenths[1]).abs() <= 1500.0, "{tenths:?}");
        rates.push((tenths[1] + tenths[2] + tenths[3]) * 8.0 / 0.3 / 1e6);
    }
    let share = |least: f64, most: f64| {
        let found = rates.iter().filter(|rate| (least..most).contains(*rate));
        found.count() as f64 / rates.len() as f64
    };
    // From -1 dB (0.377 bits per element, 4.5 Mbit/s) to 31 dB.
    assert_eq!(share(4.3, 67.0), 1.0);
    // Standard deviations to 10.3 and to 22.7 dB: -0.5875 and 0.9625. Of the normal between -2 and 2: 26.8 % and
    // 15.2 %, with four standard errors.
    let ends = [share(0.0, 28.5), share(66.0, 67.0)];
    println!(
        "below 10.3 dB {:.3}, from 22.7 dB on {:.3}",
        ends[0], ends[1]
    );
    assert!((ends[0] - 0.268).abs() < 0.063 && (ends[1] - 0.152).abs() < 0.051);
}

#[test]
fn half_the_rate_keeps_no_cell_busy_and_the_rate_does() {
    let periods = |gap_us: u64| {
        let mut cell = link(CellularConfig::Cell(constant(100, 15.0)), 1);
        for number in 0..5000 {
            let at = Instant::from_micros(number * gap_us);
            pop_all(&mut cell, at);
            cell.push(at, packet(1500, number));
        }
        cell.busy_periods()
    };
    // 39.87 Mbit/s: 301 us for a packet.
    assert!(periods(602) > 2000, "{}", periods(602));
    // The first packet is alone in its block.
    assert_eq!(periods(300), 2);
}

/// Nothing overflows or takes long, however long the link was idle.
#[test]
fn after_years_of_idle_time() {
    for config in [
        CellularConfig::Cell(CellConfig {
            outages: Some(CellConfig::HANDOVERS),
            ..CellConfig::LTE
        }),
        CellularConfig::Cell(CellConfig {
            blockage: Some(CellConfig::BLOCKAGE),
            ..CellConfig::NR
        }),
        CellularConfig::Grants(lte_uplink()),
        CellularConfig::Reduced(ReducedConfig::around(Rate::from_bits_per_sec(40 * MBIT))),
        CellularConfig::Hsdpa(HsdpaConfig {
            rrc: Some(RrcConfig::UMTS),
            ..HsdpaConfig::DEFAULT
        }),
        CellularConfig::Cell(CellConfig {
            rrc: Some(RrcConfig::LTE),
            ..CellConfig::LTE
        }),
        CellularConfig::UmtsUplink(UmtsUplinkConfig::at(Rate::from_bits_per_sec(10 * MBIT))),
    ] {
        let mut link = link(config, 1);
        for seconds in [0, 1, 3600, 1_000_000_000, 18_000_000_000] {
            let at = Instant::from_secs(seconds);
            pop_all(&mut link, at);
            link.push(at, packet(1500, seconds));
        }
        link.push(Instant::MAX, packet(1500, 0));
        link.push(Instant::MAX, packet(1500, 0));
        assert_conserved(&link);
    }
}

/// CV of the rate per second and autocorrelation per tenth after 0.1, 1, 5 and 10 s, over all
/// `series` of tenths.
fn variation(series: &[Vec<f64>]) -> (f64, [f64; 4]) {
    let tenths: Vec<f64> = series.concat();
    let center = mean(&tenths);
    let seconds: Vec<f64> = series
        .iter()
        .flat_map(|tenths| tenths.chunks_exact(10).map(mean))
        .collect();
    let variance = deviation(&tenths).powi(2);
    let correlation = |lag: usize| {
        let products: Vec<f64> = series
            .iter()
            .flat_map(|tenths| tenths.iter().zip(&tenths[lag..]))
            .map(|(a, b)| (a - center) * (b - center))
            .collect();
        mean(&products) / variance
    };
    (
        deviation(&seconds) / mean(&seconds),
        [1, 10, 50, 100].map(correlation),
    )
}

/// The table of fits: mean, spread, fast fraction, its time constants, and the achieved values.
fn fits() -> [(&'static str, ReducedConfig, f64, [f64; 4]); 3] {
    let fit = |mbit: f64, spread, fast, fast_ms, slow_ms| {
        let mut config =
            ReducedConfig::around(Rate::from_bits_per_sec((mbit * MBIT as f64) as u64));
        config.fading.spread = spread;
        config.fading.fast = fast;
        config.fading.tau_fast = Duration::from_millis(fast_ms);
        config.fading.tau_slow = Duration::from_millis(slow_ms);
        config.blocks = flawless(config.blocks);
        config
    };
    [
        (
            "TMobile-LTE-short",
            fit(16.7, 0.65, 0.5, 400, 4000),
            0.62,
            [0.91, 0.39, 0.13, 0.02],
        ),
        (
            "TMobile-LTE-driving",
            fit(12.8, 0.75, 0.4, 300, 8000),
            0.76,
            [0.90, 0.50, 0.31, 0.18],
        ),
        (
            "TMobile-UMTS-driving",
            fit(2.02, 0.75, 0.1, 100, 7500),
            0.78,
            [0.94, 0.77, 0.40, 0.14],
        ),
    ]
}

fn tenths_of(config: ReducedConfig, seeds: u64, tenths: usize) -> Vec<Vec<f64>> {
    (0..seeds)
        .map(|seed| {
            let mut link = link(CellularConfig::Reduced(config), seed);
            carried(&mut link, Instant::ZERO, tenths, Duration::from_millis(100))
        })
        .collect()
}

#[test]
fn the_reduced_model_has_the_reference_variation() {
    for (name, config, published, correlations) in fits() {
        let (found, lags) = variation(&tenths_of(config, 20, 4000));
        println!(
            "{name}: CV {found:.3} ({published}), autocorrelation {lags:.2?} ({correlations:?})"
        );
        // 8000 s contain about 500 independent values of the slow process; of the square of a
        // log-normal, a tenth.
        assert!((found / published - 1.0).abs() < 0.17, "{name}: {found}");
        for (found, published) in lags.iter().zip(correlations) {
            assert!((found - published).abs() < 0.12, "{name}: {lags:?}");
        }
    }
}

/// The recorded traces have the reference statistics, and the fits come near theirs.
#[test]
fn the_fits_are_near_the_recorded_traces() {
    let published = [
        ("TMobile-LTE-short", 0.59, [0.7, 9.1, 14.4, 22.3, 39.5]),
        ("TMobile-UMTS-driving", 0.78, [0.0, 0.6, 1.8, 2.9, 5.6]),
    ];
    for (name, cv, quantiles) in published {
        let Some(text) = testing::traces::read(&format!("{name}.down")) else {
            return;
        };
        let mut tenths = Vec::new();
        for line in text.lines() {
            let at: usize = line.trim().parse().expect("milliseconds");
            tenths.resize(tenths.len().max(at / 100 + 1), 0.0);
            tenths[at / 100] += 1504.0;
        }
        let statistics = |series: &[Vec<f64>]| {
            let (cv, _) = variation(series);
            let mut rates: Vec<f64> = series
                .concat()
                .iter()
                .map(|bytes| bytes * 80.0 / 1e6)
                .collect();
            rates.sort_by(f64::total_cmp);
            (
                cv,
                [0.05, 0.25, 0.5, 0.75, 0.95].map(|share| quantile(&rates, share)),
            )
        };
        let (trace_cv, trace) = statistics(&[tenths]);
        assert!((trace_cv - cv).abs() < 0.02, "{name}: {trace_cv}");
        for (found, published) in trace.iter().zip(quantiles) {
            assert!(
                (found - published).abs() <= 0.06 * published + 0.13,
                "{name}: {trace:?}"
            );
        }
        let (_, mut config, ..) = fits()
            .into_iter()
            .find(|fit| fit.0 == name)
            .expect("it is in the table");
        config.fading.outages = Some(OutageConfig {
            every: Duration::from_millis(if name.contains("UMTS") { 6700 } else { 20_000 }),
            length: Length::LogNormal {
                median: Duration::from_millis(350),
                sigma: 0.6,
                most: Duration::from_millis(if name.contains("UMTS") { 6000 } else { 1500 }),
            },
        });
        let (model_cv, model) = statistics(&tenths_of(config, 10, 4000));
        println!(
            "{name}: recorded CV {trace_cv:.2} {trace:.1?}, model CV {model_cv:.2} {model:.1?}"
        );
        assert!(
            (model_cv / trace_cv - 1.0).abs() < 0.2,
            "{name}: {model_cv}"
        );
        // The quartiles and the median; the tails have another distribution.
        for (found, recorded) in model.iter().zip(trace).skip(1).take(3) {
            assert!(
                (found - recorded).abs() < 0.25 * recorded + 0.4,
                "{name}: {model:?}"
            );
        }
    }
}

/// However short a block is, the longest interruption ends.
#[test]
fn outages_of_a_link_of_short_blocks_end() {
    let mut config = ReducedConfig::around(Rate::from_bits_per_sec(10 * MBIT));
    config.tti = Duration::from_micros(10);
    config.fading.outages = Some(OutageConfig {
        every: Duration::from_secs(60),
        length: Length::LogNormal {
            median: Duration::from_secs(20),
            sigma: 0.6,
            most: Duration::from_secs(60),
        },
    });
    let mut link = link(CellularConfig::Reduced(config), 1);
    let mut longest = Duration::ZERO;
    for seconds in 1..150 {
        let at = Instant::from_secs(seconds);
        pop_all(&mut link, at);
        link.push(at, packet(1500, seconds));
        assert!(link.busy_until() < Instant::MAX, "{seconds} s");
        longest = longest.max(link.busy_until().saturating_since(at));
    }
    assert!(longest > Duration::from_secs(12), "{longest:?}");
}

/// A stall holds back the packets of 8 TTIs: 13, 27, 33 and 67 at 20, 40, 50 and 100 Mbit/s.
#[test]
fn a_stall_holds_back_eight_blocks() {
    for (prbs, published) in [(50, 13), (100, 27), (125, 33), (250, 67)] {
        let mut config = constant(prbs, 15.0);
        let mut dues = |error| {
            config.blocks.error = error;
            config.blocks.transmissions = 2;
            config.blocks.again = 0.0;
            let mut link = link(CellularConfig::Cell(config), 1);
            for number in 0..40_000 {
                link.push(Instant::ZERO, packet(1500, number));
            }
            pop_all(&mut link, Instant::MAX)
        };
        // Few failures, so that each is isolated.
        let (late, prompt) = (dues(0.01), dues(0.0));
        let held: Vec<bool> = late.iter().zip(&prompt).map(|(a, b)| a.0 > b.0).collect();
        let stalls: Vec<usize> = held
            .chunk_by(|a, b| a == b)
            .filter(|run| run[0])
            .map(<[bool]>::len)
            .collect();
        let near = |length: usize| length.abs_diff(published) <= 1;
        let usual = stalls.iter().filter(|length| near(**length)).count();
        println!(
            "{prbs} blocks: {usual} of {} stalls hold {published} packets",
            stalls.len()
        );
        assert!(usual as f64 > 0.8 * stalls.len() as f64, "{stalls:?}");
    }
}

/// DDDSU: three and a half of five slots; the special slot counts half.
#[test]
fn a_period_of_5g_carries_three_and_a_half_slots() {
    let mut config = constant(273, 15.0);
    config.slot = Duration::from_micros(500);
    config.layers = 2;
    let mbit = |duplex| {
        let config = CellConfig { duplex, ..config };
        let found = carried(
            &mut link(CellularConfig::Cell(config), 1),
            Instant::ZERO,
            4,
            Duration::from_millis(250),
        );
        found[1..].iter().sum::<f64>() * 8.0 / 0.75 / 1e6
    };
    // 273 x 120 elements of 3.3223 bits on two layers, in 0.5 ms.
    let whole = 273.0 * 120.0 * 3.3223 * 2.0 / 500.0;
    let (all, down) = (mbit(Duplex::Fdd), mbit(Duplex::Tdd));
    assert!((all / whole - 1.0).abs() < 0.002, "{all} {whole}");
    assert!((down / whole - 0.7).abs() < 0.002, "{down} {whole}");
}

/// The delay that `rtt` includes is the mean delay of packets on an idle link.
#[test]
fn idle_delays_are_what_idle_packets_meet() {
    let mut hsdpa = HsdpaConfig::DEFAULT;
    hsdpa.fading.spread = 0.0;
    hsdpa.fading.outages = None;
    hsdpa.discard = 0.0;
    let mbit = Rate::from_bits_per_sec;
    for config in [
        CellularConfig::Cell(CellConfig::NR),
        CellularConfig::Reduced(ReducedConfig::around(mbit(40 * MBIT))),
        CellularConfig::Hsdpa(hsdpa),
        CellularConfig::UmtsUplink(UmtsUplinkConfig::at(mbit(384_000))),
    ] {
        let expected = config.idle_delay().as_nanos() as f64 / 1e6;
        let waits = alone(config.clone(), 84, 20_000);
        let found = mean(&waits);
        println!("{found:.3} ms, {expected:.3} by the configuration");
        let error = deviation(&waits) / 20_000_f64.sqrt();
        assert!(
            (found - expected).abs() < 4.0 * error,
            "{config:?}: {found} {expected}"
        );
    }
}

//! Statistics of the recorded traces (docs/reference/sources.md, "Recorded traces").

use network::trace::parse;

/// The reference statistics; 1500 bytes count for each opportunity.
struct Target {
    name: &'static str,
    /// Of the rate in each 100 ms, in Mbit/s: 5, 25, 50, 75, 95 %.
    rate_100ms: [f64; 5],
    /// Of the rate in each second, over its mean.
    variation_1s: f64,
    /// Between milliseconds in which something is delivered: 50, 90, 99 %.
    gaps_ms: [f64; 3],
    /// Of the rate in each 100 ms: 0.1, 1, 5, 10 s later.
    autocorrelation: [f64; 4],
}

const TARGETS: [Target; 4] = [
    Target {
        name: "Verizon-LTE-short.down",
        rate_100ms: [0.6, 2.4, 4.3, 6.8, 12.1],
        variation_1s: 0.64,
        gaps_ms: [2.0, 7.0, 22.0],
        autocorrelation: [0.86, 0.67, 0.29, 0.08],
    },
    Target {
        name: "TMobile-LTE-short.down",
        rate_100ms: [0.7, 9.1, 14.4, 22.3, 39.5],
        variation_1s: 0.59,
        gaps_ms: [2.0, 6.0, 32.0],
        autocorrelation: [0.84, 0.48, 0.13, -0.05],
    },
    Target {
        name: "TMobile-UMTS-driving.down",
        rate_100ms: [0.0, 0.6, 1.8, 2.9, 5.6],
        variation_1s: 0.78,
        gaps_ms: [6.0, 16.0, 41.0],
        autocorrelation: [0.92, 0.79, 0.46, 0.24],
    },
    Target {
        name: "TMobile-UMTS-driving.up",
        rate_100ms: [0.0, 0.5, 1.1, 1.4, 1.4],
        variation_1s: 0.46,
        gaps_ms: [10.0, 20.0, 52.0],
        autocorrelation: [0.83, 0.65, 0.46, 0.34],
    },
];

/// The rate in each whole `width` ms, in Mbit/s.
fn rates(ms: &[u32], width: u32) -> Vec<f64> {
    let bins = ms.last().expect("not empty") / width;
    let mut rates = vec![0.0; bins as usize];
    for at in ms.iter().filter(|at| **at < bins * width) {
        rates[(at / width) as usize] += 12.0 / f64::from(width);
    }
    rates
}

/// With the usual interpolation between two values.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, part) = (place as usize, place.fract());
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + part * (sorted[high] - sorted[low])
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

fn variance(values: &[f64]) -> f64 {
    let middle = mean(values.iter().copied());
    mean(values.iter().map(|value| (value - middle).powi(2)))
}

fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let middle = mean(values.iter().copied());
    let pairs = values.iter().zip(&values[lag..]);
    mean(pairs.map(|(one, later)| (one - middle) * (later - middle))) / variance(values)
}

fn opportunities(name: &str) -> Option<Vec<u32>> {
    let text = testing::traces::read(name)?;
    Some(parse(&text, name).expect("a trace").opportunities_ms)
}

#[expect(clippy::print_stdout, reason = "a test says what it found")]
fn near(what: &str, found: f64, expected: f64, within: f64) {
    println!("{what}: {found:.3}, reference {expected}");
    assert!(
        (found - expected).abs() <= within,
        "{what}: {found}, reference {expected}"
    );
}

#[test]
fn recorded_cells_have_the_reference_statistics() {
    for target in TARGETS {
        let name = target.name;
        let Some(ms) = opportunities(name) else {
            continue;
        };
        let tenths = rates(&ms, 100);
        let ordered = sorted(tenths.clone());
        for (share, expected) in [0.05, 0.25, 0.5, 0.75, 0.95]
            .into_iter()
            .zip(target.rate_100ms)
        {
            let found = percentile(&ordered, share);
            // One opportunity in a tenth of a second is 0.12 Mbit/s; the interpolation of the
            // reference's percentiles is unknown.
            near(&format!("{name} {share}"), found, expected, 0.12);
        }
        let seconds = rates(&ms, 1000);
        let variation = variance(&seconds).sqrt() / mean(seconds.iter().copied());
        near(
            &format!("{name} variation"),
            variation,
            target.variation_1s,
            0.0051,
        );
        let mut distinct = ms.clone();
        distinct.dedup();
        let gaps = sorted(
            distinct
                .windows(2)
                .map(|two| f64::from(two[1] - two[0]))
                .collect(),
        );
        for (share, expected) in [0.5, 0.9, 0.99].into_iter().zip(target.gaps_ms) {
            let found = percentile(&gaps, share);
            near(&format!("{name} gap {share}"), found, expected, 0.5);
        }
        for (lag, expected) in [1, 10, 50, 100].into_iter().zip(target.autocorrelation) {
            let found = autocorrelation(&tenths, lag);
            near(&format!("{name} lag {lag}"), found, expected, 0.02);
        }
    }
}

/// Starlink reconfigures every 15 s, when nothing is delivered for 59 ms or more; all other gaps
/// are at most 50 ms.
#[test]
fn starlink_is_interrupted_every_15_seconds() {
    let Some(ms) = opportunities("starlink-leocc.rate") else {
        return;
    };
    let pauses = ms.windows(2).filter(|two| two[1] - two[0] > 50);
    let pauses: Vec<_> = pauses.map(|two| (two[0], two[1] - two[0])).collect();
    println!("{pauses:?}");
    assert_eq!(
        pauses.iter().map(|pause| pause.1).collect::<Vec<_>>(),
        [59, 69, 82, 68, 95, 135, 59, 93]
    );
    for (number, (at, _)) in (0_u32..).zip(&pauses) {
        let boundary = 8690 + 15_000 * number;
        assert!(at.abs_diff(boundary) <= 30, "{at} {boundary}");
    }
}

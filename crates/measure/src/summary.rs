//! Summaries over runs, one row per path and flow name.

use serde::Serialize;

use crate::{RunResult, Tally};

/// A median with its 95 % interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The median.
    pub median: f64,
    /// Order statistics that enclose the true median with at least 95 % confidence. Null with
    /// fewer than six values, because no two of them reach that confidence.
    pub ci95: Option<[f64; 2]>,
    /// The number of values.
    pub n: usize,
}

/// Numbers of flows by the class of their slow-start exit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Shares {
    /// Before capacity.
    pub early: u64,
    /// Between capacity and loss.
    pub chokepoint: u64,
    /// Because of a loss.
    pub late: u64,
    /// Slow start did not end.
    pub none: u64,
}

/// One path, one flow name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SummaryRow {
    /// The path's name.
    pub path: String,
    /// The flow's name.
    pub name: String,
    /// Its algorithm.
    pub algorithm: String,
    /// Runs.
    pub runs: usize,
    /// Flows in them.
    pub flows: usize,
    /// Of these, completed.
    pub completed: usize,
    /// Flow completion time; null if none completed.
    pub fct_s: Option<Interval>,
    /// Goodput.
    pub goodput_bps: Option<Interval>,
    /// Fraction of segments declared lost.
    pub loss_ratio: Option<Interval>,
    /// Segments retransmitted.
    pub segments_retransmitted: Option<Interval>,
    /// Packets of any flow that the links of a run marked instead of dropping them.
    pub marks: Option<Interval>,
    /// Retransmission timeouts, summed over all flows.
    pub timeouts: u64,
    /// Mean RTT.
    pub rtt_mean_ms: Option<Interval>,
    /// Time of the slow-start exit; null if no flow has one.
    pub exit_s: Option<Interval>,
    /// Congestion window at the exit.
    pub exit_cwnd_bytes: Option<Interval>,
    /// Time of the true capacity point.
    pub capacity_s: Option<Interval>,
    /// Time of the capacity point by the latency heuristic.
    pub latency_offset_s: Option<Interval>,
    /// Time of the first declared loss.
    pub first_loss_s: Option<Interval>,
    /// Classes of the slow-start exits.
    pub exit_class: Shares,
}

/// Median and its distribution-free 95 % interval. `None` without values.
///
/// The interval is the narrowest symmetric pair of order statistics whose coverage, from the
/// binomial distribution with p = 1/2, is at least 95 %: ranks (6, 15) of 20, (30, 48) of 77.
#[must_use]
pub fn median_with_interval(values: impl Iterator<Item = f64>) -> Option<Interval> {
    interval(values.filter(|value| value.is_finite()).collect())
}

/// The same of finite values, sorted in place.
pub(crate) fn interval(mut sorted: Vec<f64>) -> Option<Interval> {
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    if n == 0 {
        return None;
    }
    let median = f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]);
    let ci95 = lower_rank(n).map(|rank| [sorted[rank - 1], sorted[n - rank]]);
    Some(Interval { median, ci95, n })
}

/// The largest rank r with P(X < r) <= 0.025 for X ~ Binomial(n, 1/2); `None` if even r = 1 fails.
fn lower_rank(n: usize) -> Option<usize> {
    // Terms are scaled by the largest one, so that no power of one half underflows.
    let weights: Vec<f64> = {
        let mut row = vec![1.0f64];
        for k in 1..=n / 2 {
            // C(n,k) / C(n,k-1), accumulated and rescaled when the terms grow large.
            let next = row[k - 1] * (n - k + 1) as f64 / k as f64;
            row.push(next);
            if next > 1e200 {
                row.iter_mut().for_each(|weight| *weight *= 1e-200);
            }
        }
        row
    };
    let half: f64 = if n % 2 == 1 {
        weights.iter().sum()
    } else {
        weights[..n / 2].iter().sum::<f64>() + weights[n / 2] / 2.0
    };
    let mut tail = 0.0;
    let mut rank = None;
    for (k, weight) in weights.iter().enumerate() {
        tail += weight;
        if tail / (2.0 * half) > 0.025 {
            break;
        }
        rank = Some(k + 1);
    }
    rank
}

/// One row per path and flow name, in order of first appearance.
#[must_use]
pub fn summarize(runs: &[RunResult]) -> Vec<SummaryRow> {
    let mut tally = Tally::default();
    for run in runs {
        tally
            .add(run, f64::INFINITY, true)
            .expect("a tally without a file makes no system calls");
    }
    let overview = tally.finish();
    overview
        .expect("a tally without a file makes no system calls")
        .summary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_the_median_interval_match_the_binomial_table() {
        // Ranks of the 95 % interval (docs/reference/sources.md, "Statistics").
        for (n, lower, upper) in [
            (20, 6, 15),
            (30, 10, 21),
            (50, 18, 33),
            (77, 30, 48),
            (200, 86, 115),
        ] {
            let rank = lower_rank(n).expect("enough values");
            assert_eq!((rank, n + 1 - rank), (lower, upper), "n = {n}");
        }
        assert_eq!(lower_rank(5), None);
        assert_eq!(lower_rank(6), Some(1));
        assert!(lower_rank(10_000).is_some_and(|rank| (4_890..4_910).contains(&rank)));
    }

    #[test]
    fn median_of_even_and_odd_counts() {
        assert_eq!(
            median_with_interval([3.0, 1.0, 2.0].into_iter()).map(|i| i.median),
            Some(2.0)
        );
        assert_eq!(
            median_with_interval([4.0, 1.0, 2.0, 3.0].into_iter()).map(|i| i.median),
            Some(2.5)
        );
        assert_eq!(median_with_interval(std::iter::empty()), None);
    }
}

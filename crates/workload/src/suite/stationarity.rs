//! How long a run must be for its load to be stationary.

use units::{Bytes, Duration, Instant};

use super::Estimate;
use crate::{Connection, Side};

/// Estimated bytes on the wire per bin, one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct BinnedTraffic {
    bin: Duration,
    /// When the first bin begins.
    begin: Instant,
    bytes: Vec<f64>,
}

impl BinnedTraffic {
    /// `bins` empty bins of length `bin` (positive) from `begin`.
    #[must_use]
    pub fn new(bin: Duration, begin: Instant, bins: usize) -> Self {
        Self {
            bin,
            begin,
            bytes: vec![0.0; bins],
        }
    }

    /// Adds what `sender` sends over a connection. A unit counts in each bin in proportion to the
    /// time that it takes there.
    pub fn add(&mut self, connection: &Connection, sender: Side, estimate: Estimate) {
        for burst in estimate.bursts(connection) {
            if burst.side != sender {
                continue;
            }
            let since = burst.begin.saturating_since(self.begin);
            let first = usize::try_from(since.as_nanos() / self.bin.as_nanos());
            let mut counted = burst.before(self.begin);
            for number in first.unwrap_or(usize::MAX)..self.bytes.len() {
                let end = self.begin + self.bin * (number as u64 + 1);
                let sent = burst.before(end);
                self.bytes[number] += (sent - counted).get() as f64;
                counted = sent;
                if burst.end <= end {
                    break;
                }
            }
        }
    }

    /// The bytes of each bin.
    #[must_use]
    pub fn bytes(&self) -> &[f64] {
        &self.bytes
    }
}

/// When a load counts as stationary: the second and the third third of a run agree.
///
/// The draft wants 5 % (dial-up: the scripts use 20 %). The scripts take the first length at which
/// this has been so for five lengths in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stationarity {
    /// Largest difference of the two thirds, relative to the second.
    pub tolerance: f64,
    /// Smallest number of bins.
    pub at_least: usize,
    /// The number of lengths in a row that must agree.
    pub in_a_row: usize,
}

impl Default for Stationarity {
    fn default() -> Self {
        Self {
            tolerance: 0.05,
            at_least: 3,
            in_a_row: 5,
        }
    }
}

impl Stationarity {
    /// The smallest number of bins whose traffic is stationary, if any.
    #[must_use]
    pub fn bins(&self, traffic: &BinnedTraffic) -> Option<usize> {
        let mut sums = Vec::with_capacity(traffic.bytes.len() + 1);
        sums.push(0.0);
        for bytes in &traffic.bytes {
            sums.push(sums.last().copied().unwrap_or_default() + bytes);
        }
        let mean = |from: usize, to: usize| (sums[to] - sums[from]) / (to - from) as f64;
        let mut agreeing = 0;
        (self.at_least.max(3)..=traffic.bytes.len()).find(|&bins| {
            let third = bins / 3;
            let middle = third + (bins - third) / 2;
            let (second, last) = (mean(third, middle), mean(middle, bins));
            let agrees = second > 0.0 && (last - second).abs() <= self.tolerance * second;
            agreeing = if agrees { agreeing + 1 } else { 0 };
            agreeing >= self.in_a_row.max(1)
        })
    }
}

impl BinnedTraffic {
    /// All bytes of all bins.
    #[must_use]
    pub fn total(&self) -> Bytes {
        Bytes::new(self.bytes.iter().sum::<f64>() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Framing;
    use super::*;
    use crate::{Exchange, Headers, Turn};
    use units::Rate;

    fn traffic(bytes: &[f64]) -> BinnedTraffic {
        BinnedTraffic {
            bin: Duration::from_secs(1),
            begin: Instant::ZERO,
            bytes: bytes.to_vec(),
        }
    }

    #[test]
    fn a_constant_load_is_stationary_at_once_and_a_growing_one_late() {
        let rule = Stationarity {
            in_a_row: 1,
            ..Stationarity::default()
        };
        assert_eq!(rule.bins(&traffic(&[7.0; 10])), Some(3));
        let growing: Vec<f64> = (0..300).map(|bin| f64::from(bin + 1)).collect();
        // The thirds of a ramp differ by two thirds of their mean, whatever its length.
        assert_eq!(rule.bins(&traffic(&growing)), None);
        let mut step = vec![1.0; 20];
        step.extend(vec![2.0; 80]);
        // The second third begins after the step at 60 bins; 5 % of it may come from before.
        let bins = rule.bins(&traffic(&step[10..])).expect("stationary");
        assert_eq!(bins, 3, "before the step it is stationary");
        let late = Stationarity {
            at_least: 25,
            ..rule
        };
        let bins = late.bins(&traffic(&step)).expect("stationary");
        assert!((56..=60).contains(&bins), "{bins}");
        assert_eq!(rule.bins(&traffic(&[0.0; 30])), None);
        assert_eq!(Stationarity::default().bins(&traffic(&[7.0; 10])), Some(7));
    }

    #[test]
    fn a_unit_counts_where_it_is_sent() {
        let turns = vec![Turn {
            side: Side::Acceptor,
            wait: Duration::ZERO,
            bytes: Bytes::new(2_000_000),
        }];
        let connection = Connection {
            start: Instant::from_millis(1_500),
            id: 1,
            group: 1,
            headers: Headers::default(),
            exchange: Exchange::sequential(turns, Duration::ZERO),
        };
        let estimate = Estimate {
            rate: Rate::from_bits_per_sec(8_000_000),
            framing: Framing::PAYLOAD,
        };
        let second = Duration::from_secs(1);
        let mut traffic = BinnedTraffic::new(second, Instant::ZERO, 4);
        traffic.add(&connection, Side::Acceptor, estimate);
        traffic.add(&connection, Side::Initiator, estimate);
        assert_eq!(traffic.bytes(), [0.0, 5e5, 1e6, 5e5]);
        assert_eq!(traffic.total(), Bytes::new(2_000_000));
        let mut late = BinnedTraffic::new(second, Instant::from_secs(2), 1);
        late.add(&connection, Side::Acceptor, estimate);
        assert_eq!(late.bytes(), [1e6]);
    }
}

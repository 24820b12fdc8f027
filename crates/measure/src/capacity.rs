//! When a flow reached the capacity of its path, and how its slow-start exit compares with that.
//!
//! The two heuristics follow Kachooei 2024, section 5.2 (docs/reference/sources.md): the one-way
//! latency offset for paths of high RTT, and the median throughput for paths of low RTT. The
//! simulator also knows the true value: the first time from which the bottleneck stays busy for one
//! base RTT.

use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

/// When (and at what rate) the flow reached capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CapacityPoint {
    /// First time from which the bottleneck stays busy for one base RTT. Null if that did not
    /// happen, or if the network does not report it.
    pub true_s: Option<f64>,
    /// The latency heuristic; null when the offset never exceeded twice the smallest RTT.
    pub latency_offset_s: Option<f64>,
    /// Median throughput after slow start. Null if slow start did not end, or ended too late for
    /// one complete interval.
    pub median_throughput_bps: Option<u64>,
}

/// Slow-start exit relative to the capacity of the path (Kachooei 2024, section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExitClass {
    /// Before capacity was reached.
    Early,
    /// After capacity was reached, and not because of a loss.
    Chokepoint,
    /// Because of a loss.
    Late,
}

impl ExitClass {
    /// Its name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Early => "early",
            Self::Chokepoint => "chokepoint",
            Self::Late => "late",
        }
    }
}

/// Classifies an exit at `exit` that congestion caused or not, given the time of the capacity
/// point. An exit is early if the flow never reached capacity.
#[must_use]
pub fn classify(exit: Instant, by_congestion: bool, capacity: Option<Instant>) -> ExitClass {
    match capacity {
        Some(capacity) if exit >= capacity => {
            if by_congestion {
                ExitClass::Late
            } else {
                ExitClass::Chokepoint
            }
        }
        _ => ExitClass::Early,
    }
}

/// No latency.
pub(crate) const NOT_CALM: (Duration, Duration) = (Duration::MAX, Duration::ZERO);

/// The latency heuristic: finds the first time at which the one-way latency exceeds its minimum by
/// twice the smallest RTT, then goes back to the last time at which the excess was below half of
/// the smallest RTT.
///
/// It works online, with the minima known so far.
#[derive(Clone, Copy, Debug)]
pub struct LatencyOffset {
    /// [`Duration::MAX`] before the first packet.
    min_latency: Duration,
    last_below: Option<Instant>,
    found: bool,
}

impl Default for LatencyOffset {
    fn default() -> Self {
        Self {
            min_latency: Duration::MAX,
            last_below: None,
            found: false,
        }
    }
}

impl LatencyOffset {
    /// Records a packet that arrived after `latency`. The sender's smallest RTT is `min_rtt`.
    pub fn on_arrival(&mut self, now: Instant, latency: Duration, min_rtt: Option<Duration>) {
        if self.found {
            return;
        }
        self.min_latency = self.min_latency.min(latency);
        let offset = latency.saturating_sub(self.min_latency);
        let Some(min_rtt) = min_rtt else { return };
        if offset < min_rtt / 2 {
            self.last_below = Some(now);
        } else if offset > min_rtt * 2 {
            self.found = true;
        }
    }

    /// The latencies, from the first to the second, of packets that change nothing as long as
    /// `min_rtt` stays.
    pub(crate) fn calm(&self, min_rtt: Option<Duration>) -> (Duration, Duration) {
        match min_rtt {
            _ if self.found => (Duration::ZERO, Duration::MAX),
            Some(min_rtt) if self.min_latency < Duration::MAX => (
                self.min_latency + min_rtt / 2,
                self.min_latency + min_rtt * 2,
            ),
            _ => NOT_CALM,
        }
    }

    /// Records a packet whose latency is below those of [`Self::calm`], unless it is the smallest so
    /// far.
    #[inline]
    pub(crate) fn records_below(&mut self, now: Instant, latency: Duration) -> bool {
        if latency < self.min_latency {
            return false;
        }
        self.last_below = Some(now);
        true
    }

    /// Whether further packets change nothing.
    #[inline]
    #[must_use]
    pub const fn is_decided(&self) -> bool {
        self.found
    }

    /// The capacity point, if the offset ever became large enough.
    #[must_use]
    pub fn at_capacity(&self) -> Option<Instant> {
        self.last_below.filter(|_| self.found)
    }
}

/// Median of the throughput per interval after slow start: the heuristic for paths of low RTT.
///
/// Intervals are initially 100 ms long. If a flow needs more than [`ThroughputMedian::CAPACITY`]
/// of them, adjacent intervals are merged, so memory does not grow with the run.
#[derive(Clone, Debug, Default)]
pub struct ThroughputMedian {
    /// Nothing before the end of slow start.
    counts: Option<Box<Throughput>>,
}

/// Intervals for which there is memory from the beginning.
const FIRST_INTERVALS: usize = 32;

/// Bytes in each interval.
#[derive(Clone, Debug)]
struct Throughput {
    interval: Duration,
    began: Instant,
    bytes: Vec<u64>,
    /// When the last interval of `bytes` begins.
    last: Instant,
}

impl ThroughputMedian {
    /// The largest number of intervals.
    pub const CAPACITY: usize = 1024;

    /// Starts to count, at the end of slow start.
    #[cold]
    pub fn begin(&mut self, now: Instant) {
        self.counts.get_or_insert_with(|| {
            Box::new(Throughput {
                interval: Duration::from_millis(100),
                began: now,
                bytes: Vec::with_capacity(FIRST_INTERVALS),
                last: now,
            })
        });
    }

    /// Records `bytes` that were newly acknowledged or SACKed.
    #[inline]
    pub fn on_delivered(&mut self, now: Instant, bytes: Bytes) {
        let Some(counts) = &mut self.counts else {
            return;
        };
        // In the interval of the last time there is nothing to divide.
        if let Some(last) = counts.bytes.last_mut()
            && counts.last <= now
            && now.saturating_since(counts.last) < counts.interval
        {
            *last += bytes.get();
        } else {
            counts.seek(now, bytes);
        }
    }

    /// Records `bytes` that an ACK after the end of slow start delivers.
    #[inline]
    pub(crate) fn on_ack(&mut self, now: Instant, bytes: Bytes) {
        if self.counts.is_none() {
            self.begin(now);
        }
        self.on_delivered(now, bytes);
    }

    /// The median in bits per second, without the last, incomplete interval. `None` without a
    /// complete interval.
    #[must_use]
    pub fn bits_per_second(&self) -> Option<u64> {
        let Throughput {
            interval, bytes, ..
        } = self.counts.as_deref()?;
        let complete = bytes.len().checked_sub(1).filter(|&n| n > 0)?;
        let mut sorted = bytes[..complete].to_vec();
        sorted.sort_unstable();
        let middle = (sorted[(complete - 1) / 2] + sorted[complete / 2]) as u128;
        Some((middle * 8 * 1_000_000_000 / (2 * u128::from(interval.as_nanos()))) as u64)
    }
}

impl Throughput {
    /// [`ThroughputMedian::on_delivered`] in any interval.
    #[inline(never)]
    fn seek(&mut self, now: Instant, bytes: Bytes) {
        let since = now.saturating_since(self.began);
        let mut index = (since.as_nanos() / self.interval.as_nanos()) as usize;
        while index >= ThroughputMedian::CAPACITY {
            let pairs = self.bytes.chunks(2);
            self.bytes = pairs.map(|pair| pair.iter().sum()).collect();
            self.interval = self.interval * 2;
            index /= 2;
        }
        if index >= self.bytes.len() {
            self.bytes.resize(index + 1, 0);
        }
        self.bytes[index] += bytes.get();
        self.last = self.began + self.interval * (self.bytes.len() as u64 - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latency_heuristic_goes_back_to_half_an_rtt() {
        // Smallest RTT 100 ms. From 1.0 s on, the offset rises by 10 ms every 100 ms: it is last
        // below 50 ms at 1.4 s (40 ms), and exceeds 200 ms at 3.1 s.
        let mut heuristic = LatencyOffset::default();
        for step in 0..60u64 {
            let rise = 10 * step.saturating_sub(10);
            heuristic.on_arrival(
                Instant::from_millis(100 * step),
                Duration::from_millis(50 + rise),
                Some(Duration::from_millis(100)),
            );
        }
        assert_eq!(heuristic.at_capacity(), Some(Instant::from_millis(1_400)));
    }

    #[test]
    fn a_path_without_a_queue_has_no_capacity_point() {
        let mut heuristic = LatencyOffset::default();
        for step in 0..60u64 {
            heuristic.on_arrival(
                Instant::from_millis(step),
                Duration::from_millis(50),
                Some(Duration::from_millis(100)),
            );
        }
        assert_eq!(heuristic.at_capacity(), None);
    }

    #[test]
    fn exits_are_classified_by_capacity_first_and_loss_second() {
        let at = Instant::from_millis;
        assert_eq!(classify(at(10), false, Some(at(20))), ExitClass::Early);
        assert_eq!(classify(at(10), true, Some(at(20))), ExitClass::Early);
        assert_eq!(classify(at(10), false, None), ExitClass::Early);
        assert_eq!(classify(at(20), false, Some(at(20))), ExitClass::Chokepoint);
        assert_eq!(classify(at(30), true, Some(at(20))), ExitClass::Late);
    }

    #[test]
    fn intervals_are_found_with_and_without_a_division() {
        let mut generator = testing::random::Random::new(1);
        let mut random = |below: u64| generator.below(below);
        for _ in 0..100 {
            let (mut quick, mut divided) =
                (ThroughputMedian::default(), ThroughputMedian::default());
            let mut now = Instant::from_nanos(random(1 << 30));
            for median in [&mut quick, &mut divided] {
                median.begin(now);
            }
            let steps = 1 + random(3000);
            let longest = 1 + random(1 << 30);
            for _ in 0..steps {
                let to_edge = 100_000_000 - (now.as_nanos() % 100_000_000);
                let pause = [0, to_edge, random(longest), random(1000)][random(4) as usize];
                now += Duration::from_nanos(pause);
                let bytes = Bytes::new(random(100_000));
                quick.on_delivered(now, bytes);
                let (Some(quick), Some(divided)) = (&quick.counts, &mut divided.counts) else {
                    panic!("both have begun");
                };
                divided.seek(now, bytes);
                assert_eq!(quick.bytes, divided.bytes);
            }
            assert_eq!(quick.bits_per_second(), divided.bits_per_second());
        }
    }

    #[test]
    fn the_median_throughput_survives_merging() {
        let mut median = ThroughputMedian::default();
        median.begin(Instant::ZERO);
        // 12,500 bytes every 100 ms are 1 Mbit/s. Ten minutes are 6,000 intervals.
        for step in 0..6_000u64 {
            median.on_delivered(Instant::from_millis(100 * step + 50), Bytes::new(12_500));
        }
        assert_eq!(median.bits_per_second(), Some(1_000_000));
        let bytes = median.counts.map_or(0, |counts| counts.bytes.len());
        assert!((1..=ThroughputMedian::CAPACITY).contains(&bytes));
    }
}

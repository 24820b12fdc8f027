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
/// Every latency is in this range.
pub(crate) const CALM: (Duration, Duration) = (Duration::ZERO, Duration::MAX);

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
            _ if self.found => CALM,
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
///
/// What an ACK reads and writes is here, and the rest in a list of its own: with thousands of flows,
/// none of them lies in a cache.
#[derive(Clone, Debug)]
pub struct ThroughputMedian {
    /// Bytes of the last interval that its entry does not have yet.
    recent: u64,
    /// When the last interval begins and ends; [`Instant::MAX`] and zero before the first bytes.
    begins: Instant,
    ends: Instant,
    /// Nothing before the end of slow start.
    counts: Option<Box<Throughput>>,
}

impl Default for ThroughputMedian {
    fn default() -> Self {
        Self {
            recent: 0,
            begins: Instant::MAX,
            ends: Instant::ZERO,
            counts: None,
        }
    }
}

/// Entries for which there is memory from the beginning.
const FIRST_ENTRIES: usize = 8;
/// This bit marks an entry that stands for empty intervals. No interval carries as many bytes.
const EMPTY: u64 = 1 << 63;

/// Bytes in each interval.
#[derive(Clone, Debug)]
struct Throughput {
    interval: Duration,
    began: Instant,
    /// An entry for each interval with bytes, and [`EMPTY`] with their number for those between
    /// two of them: a flow that pauses takes no memory for its pauses.
    entries: Vec<u64>,
    /// Intervals in all. The last one has an entry of its own.
    count: usize,
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
                entries: Vec::with_capacity(FIRST_ENTRIES),
                count: 0,
            })
        });
    }

    /// Records `bytes` that were newly acknowledged or SACKed.
    #[inline]
    pub fn on_delivered(&mut self, now: Instant, bytes: Bytes) {
        // In the interval of the last time there is nothing to divide.
        if self.begins <= now && now < self.ends {
            self.recent += bytes.get();
        } else {
            self.seek(now, bytes);
        }
    }

    /// [`Self::on_delivered`] in any interval.
    #[inline(never)]
    fn seek(&mut self, now: Instant, bytes: Bytes) {
        let Some(counts) = &mut self.counts else {
            return;
        };
        counts.add_to_last(core::mem::take(&mut self.recent));
        self.begins = counts.seek(now, bytes);
        self.ends = self.begins + counts.interval;
    }

    /// Records `bytes` that an ACK after the end of slow start delivers.
    #[inline]
    pub(crate) fn on_ack(&mut self, now: Instant, bytes: Bytes) {
        // Before it begins, it is in no interval.
        if self.begins <= now && now < self.ends {
            self.recent += bytes.get();
        } else {
            self.begin(now);
            self.seek(now, bytes);
        }
    }

    /// The median in bits per second, without the last, incomplete interval. `None` without a
    /// complete interval.
    #[must_use]
    pub fn bits_per_second(&self) -> Option<u64> {
        let counts = self.counts.as_deref()?;
        let interval = counts.interval;
        let complete = counts.count.checked_sub(1).filter(|&n| n > 0)?;
        // The last interval is not complete, so what its entry does not have yet is left out, too.
        let mut sorted = counts.bytes();
        sorted.truncate(complete);
        sorted.sort_unstable();
        let middle = (sorted[(complete - 1) / 2] + sorted[complete / 2]) as u128;
        Some((middle * 8 * 1_000_000_000 / (2 * u128::from(interval.as_nanos()))) as u64)
    }
}

impl Throughput {
    /// Adds bytes to the interval of `now`. Returns when the last interval begins.
    fn seek(&mut self, now: Instant, bytes: Bytes) -> Instant {
        let since = now.saturating_since(self.began);
        let mut index = (since.as_nanos() / self.interval.as_nanos()) as usize;
        while index >= ThroughputMedian::CAPACITY {
            self.merge_pairs();
            index /= 2;
        }
        self.add(index, bytes.get());
        self.began + self.interval * (self.count as u64 - 1)
    }

    /// Adds bytes to the last interval, if there is one.
    fn add_to_last(&mut self, bytes: u64) {
        if let Some(last) = self.entries.last_mut() {
            *last += bytes;
        }
    }

    /// Adds bytes to the last interval, or to one behind it: time does not run backwards.
    fn add(&mut self, index: usize, bytes: u64) {
        if let Some(last) = self.entries.last_mut()
            && index < self.count
        {
            *last += bytes;
            return;
        }
        if index > self.count {
            self.entries.push(EMPTY | (index - self.count) as u64);
        }
        self.entries.push(bytes);
        self.count = index + 1;
    }

    /// The bytes of each interval.
    fn bytes(&self) -> Vec<u64> {
        let mut bytes = Vec::with_capacity(self.count);
        for entry in &self.entries {
            match entry & EMPTY {
                0 => bytes.push(*entry),
                _ => bytes.resize(bytes.len() + (entry & !EMPTY) as usize, 0),
            }
        }
        bytes
    }

    /// Makes the intervals twice as long.
    #[cold]
    fn merge_pairs(&mut self) {
        let bytes = self.bytes();
        self.entries.clear();
        self.count = 0;
        let last = bytes.len().div_ceil(2).saturating_sub(1);
        for (index, pair) in bytes.chunks(2).enumerate() {
            let sum: u64 = pair.iter().sum();
            if sum > 0 || index == last {
                self.add(index, sum);
            }
        }
        self.interval = self.interval * 2;
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

    /// With what the last one does not have yet.
    fn entries(median: &ThroughputMedian) -> Vec<u64> {
        let counts = median.counts.as_ref().expect("it has begun");
        let mut counts = counts.clone();
        counts.add_to_last(median.recent);
        counts.entries
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
                divided.seek(now, bytes);
                assert_eq!(entries(&quick), entries(&divided));
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
        let count = median.counts.map_or(0, |counts| counts.count);
        assert!((1..=ThroughputMedian::CAPACITY).contains(&count));
    }

    /// Beside a list with an element for each interval.
    #[test]
    fn pauses_take_no_memory_and_count_as_intervals() {
        let mut generator = testing::random::Random::new(2);
        for _ in 0..200 {
            let mut median = ThroughputMedian::default();
            let (mut interval, mut plain) = (100_u64, Vec::<u64>::new());
            median.begin(Instant::ZERO);
            let (mut now, steps) = (0, 1 + generator.below(60));
            for _ in 0..steps {
                now += generator.below(300) * generator.below(100);
                let bytes = generator.below(20_000);
                median.on_delivered(Instant::from_millis(now), Bytes::new(bytes));
                let mut index = (now / interval) as usize;
                while index >= ThroughputMedian::CAPACITY {
                    let pairs = plain.chunks(2);
                    plain = pairs.map(|pair| pair.iter().sum()).collect();
                    interval *= 2;
                    index /= 2;
                }
                plain.resize(plain.len().max(index + 1), 0);
                plain[index] += bytes;
            }
            median.seek(Instant::from_millis(now), Bytes::ZERO);
            let counts = median.counts.as_deref().expect("it has begun");
            assert_eq!(counts.bytes(), plain);
            assert!(counts.entries.len() as u64 <= 2 * steps);
            let mut sorted = plain[..plain.len() - 1].to_vec();
            sorted.sort_unstable();
            let middle = sorted.get(sorted.len().saturating_sub(1) / 2);
            let twice = middle.map(|low| u128::from(low + sorted[sorted.len() / 2]));
            let expected = twice.map(|sum| (sum * 8000 / (2 * u128::from(interval))) as u64);
            assert_eq!(median.bits_per_second(), expected);
        }
    }
}

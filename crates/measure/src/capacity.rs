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
    /// [`Instant::MAX`] if it never was.
    last_below: Instant,
    found: bool,
}

impl Default for LatencyOffset {
    fn default() -> Self {
        Self {
            min_latency: Duration::MAX,
            last_below: Instant::MAX,
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
            self.last_below = now;
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
        self.last_below = now;
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
        (self.found && self.last_below < Instant::MAX).then_some(self.last_below)
    }
}

/// Median of the throughput per interval after slow start: the heuristic for paths of low RTT.
///
/// Intervals are initially 100 ms long. If a flow needs more than [`ThroughputMedian::CAPACITY`]
/// of them, adjacent intervals are merged, so memory does not grow with the run.
///
/// What an ACK reads and writes is here, and the rest in a list of its own, to which a new interval
/// only adds: with thousands of flows, none of it lies in a cache.
#[derive(Clone, Debug)]
pub struct ThroughputMedian {
    /// Bytes of the last interval.
    recent: u64,
    /// When the last interval begins and ends; [`Instant::MAX`] and zero before there is one.
    begins: Instant,
    ends: Instant,
    /// Nothing before the end of slow start.
    before: Option<Box<Intervals>>,
}

impl Default for ThroughputMedian {
    fn default() -> Self {
        Self {
            recent: 0,
            begins: Instant::MAX,
            ends: Instant::ZERO,
            before: None,
        }
    }
}

/// Bytes in each interval before the last one.
#[derive(Clone, Debug)]
struct Intervals {
    /// An entry for each interval, or [`EMPTY`] with the number of those without bytes: a flow that
    /// pauses takes no memory for its pauses.
    entries: Vec<u64>,
    count: usize,
}

/// Length of the first intervals.
const INTERVAL: Duration = Duration::from_millis(100);
/// Entries for which there is memory from the second interval on.
const FIRST_ENTRIES: usize = 8;
/// This bit marks an entry that stands for empty intervals. No interval carries as many bytes.
const EMPTY: u64 = 1 << 63;

impl ThroughputMedian {
    /// The largest number of intervals.
    pub const CAPACITY: usize = 1024;

    /// Starts to count, at the end of slow start.
    #[cold]
    pub fn begin(&mut self, now: Instant) {
        if self.before.is_none() {
            (self.begins, self.ends) = (now, now + INTERVAL);
            self.before = Some(Box::new(Intervals {
                entries: Vec::with_capacity(FIRST_ENTRIES),
                count: 0,
            }));
        }
    }

    /// Records `bytes` that were newly acknowledged or SACKed.
    #[inline]
    pub fn on_delivered(&mut self, now: Instant, bytes: Bytes) {
        // In the interval of the last time there is nothing to do.
        if self.begins <= now && now < self.ends {
            self.recent += bytes.get();
        } else {
            self.seek(now, bytes);
        }
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

    /// [`Self::on_delivered`] in any interval.
    #[inline(never)]
    fn seek(&mut self, now: Instant, bytes: Bytes) {
        let Some(before) = &mut self.before else {
            return;
        };
        // Time does not run backwards.
        if now < self.ends {
            self.recent += bytes.get();
            return;
        }
        before.entries.push(self.recent);
        before.count += 1;
        self.recent = bytes.get();
        let mut interval = self.ends - self.begins;
        self.begins = self.ends;
        // Mostly it is the next interval.
        if now >= self.ends + interval || before.count == Self::CAPACITY {
            let empty = (now - self.ends).as_nanos() / interval.as_nanos();
            let mut index = before.count + empty as usize;
            let began = self.ends - interval * before.count as u64;
            while index >= Self::CAPACITY {
                before.merge_pairs();
                interval = interval * 2;
                index /= 2;
            }
            before.pause_until(index);
            self.begins = began + interval * index as u64;
        }
        self.ends = self.begins + interval;
    }

    /// The median in bits per second, without the last, incomplete interval. `None` without a
    /// complete interval.
    #[must_use]
    pub fn bits_per_second(&self) -> Option<u64> {
        let mut bytes = self.before.as_deref()?.bytes();
        let count = bytes.len();
        if count == 0 {
            return None;
        }
        let (below, &mut upper, _) = bytes.select_nth_unstable(count / 2);
        let lower = match count % 2 {
            0 => below.iter().max().copied().unwrap_or(upper),
            _ => upper,
        };
        let middle = u128::from(lower + upper);
        let interval = self.ends - self.begins;
        Some((middle * 8 * 1_000_000_000 / (2 * u128::from(interval.as_nanos()))) as u64)
    }
}

impl Intervals {
    /// The bytes of each.
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

    /// Nothing comes in the intervals before `index`.
    fn pause_until(&mut self, index: usize) {
        if index > self.count {
            self.entries.push(EMPTY | (index - self.count) as u64);
            self.count = index;
        }
    }

    /// Makes the intervals twice as long.
    #[cold]
    fn merge_pairs(&mut self) {
        let bytes = self.bytes();
        self.entries.clear();
        self.count = 0;
        for (index, pair) in bytes.chunks(2).enumerate() {
            let sum: u64 = pair.iter().sum();
            if sum > 0 {
                self.pause_until(index);
                self.entries.push(sum);
                self.count += 1;
            }
        }
        self.pause_until(bytes.len().div_ceil(2));
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

    /// The bytes of each interval, the last one included.
    fn all_bytes(median: &ThroughputMedian) -> Vec<u64> {
        let before = median.before.as_deref().expect("it has begun");
        let mut bytes = before.bytes();
        bytes.push(median.recent);
        bytes
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
                assert_eq!(all_bytes(&quick), all_bytes(&divided));
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
        assert!((1..=ThroughputMedian::CAPACITY).contains(&all_bytes(&median).len()));
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
            assert_eq!(all_bytes(&median), plain);
            let entries = median
                .before
                .as_ref()
                .map_or(0, |before| before.entries.len());
            assert!(entries as u64 <= 2 * steps);
            let mut sorted = plain[..plain.len() - 1].to_vec();
            sorted.sort_unstable();
            let middle = sorted.get(sorted.len().saturating_sub(1) / 2);
            let twice = middle.map(|low| u128::from(low + sorted[sorted.len() / 2]));
            let expected = twice.map(|sum| (sum * 8000 / (2 * u128::from(interval))) as u64);
            assert_eq!(median.bits_per_second(), expected);
        }
    }
}

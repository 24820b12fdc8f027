//! Quantiles of durations in bounded memory.
//!
//! Buckets are log-linear: 128 per power of two of microseconds, so a quantile is at most 0.8 %
//! above the true one. Below 256 us a bucket is one microsecond wide, and quantiles are exact.
//!
//! The last few durations are kept as a list of their buckets. A short flow has no more, and they may
//! lie far apart. The counts lie in memory of their own, which is in no cache where many flows run:
//! it is written once for each full list.

use units::Duration;

const SUB_BITS: u32 = 7;
/// So many durations are kept as a list.
const FEW: usize = 15;

/// Counts of durations, with their quantiles and their exact mean and minimum.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Histogram {
    sum_nanos: u128,
    total: u64,
    /// [`Duration::MAX`] before the first duration.
    min: Duration,
    /// The buckets of the last durations, `listed` of them, which are not in `counts` yet.
    list: [u16; FEW],
    listed: u16,
    /// The counts of the buckets from `first` on.
    counts: Vec<u32>,
    first: u32,
}

// What each duration changes fits in one line of the cache.
const _: () = assert!(core::mem::offset_of!(Histogram, counts) == 64);

impl Default for Histogram {
    fn default() -> Self {
        Self {
            sum_nanos: 0,
            total: 0,
            min: Duration::MAX,
            list: [0; FEW],
            listed: 0,
            counts: Vec::new(),
            first: 0,
        }
    }
}

#[inline]
fn bucket(micros: u64) -> usize {
    let magnitude = 63 - (micros | 1).leading_zeros();
    let shift = magnitude.saturating_sub(SUB_BITS);
    ((u64::from(shift) << SUB_BITS) + (micros >> shift)) as usize
}

fn upper_edge(bucket: usize) -> u64 {
    let shift = (bucket >> SUB_BITS).saturating_sub(1) as u32;
    let mantissa = bucket as u64 - (u64::from(shift) << SUB_BITS);
    ((mantissa + 1) << shift) - 1
}

impl Histogram {
    /// Counts one duration.
    #[inline]
    pub fn record(&mut self, value: Duration) {
        if usize::from(self.listed) == FEW {
            self.count_listed();
        }
        // No bucket has a number above 2^13.
        let bucket = bucket(value.as_micros()) as u16;
        if let Some(place) = self.list.get_mut(usize::from(self.listed)) {
            *place = bucket;
        }
        self.listed += 1;
        self.total += 1;
        self.sum_nanos += u128::from(value.as_nanos());
        self.min = self.min.min(value);
    }

    /// Counts `count` durations of one length, in a time that does not grow with `count`.
    pub fn record_many(&mut self, value: Duration, count: u64) {
        if count <= FEW as u64 {
            for _ in 0..count {
                self.record(value);
            }
            return;
        }
        self.add(bucket(value.as_micros()) as u32, count);
        self.total += count;
        self.sum_nanos += u128::from(value.as_nanos()) * u128::from(count);
        self.min = self.min.min(value);
    }

    /// Counts the durations of the list.
    #[inline(never)]
    fn count_listed(&mut self) {
        let listed = usize::from(core::mem::take(&mut self.listed));
        let list = self.list;
        if self.counts.is_empty() {
            let few = &list[..listed];
            self.first = few.iter().min().copied().map_or(0, u32::from);
            let last = few.iter().max().copied().map_or(0, u32::from);
            self.counts.resize((last - self.first) as usize + 1, 0);
        }
        for &bucket in &list[..listed] {
            let index = u32::from(bucket).wrapping_sub(self.first) as usize;
            if let Some(counted) = self.counts.get_mut(index) {
                *counted = counted.saturating_add(1);
            } else {
                self.add(bucket.into(), 1);
            }
        }
    }

    /// Counts `count` durations of a bucket that may have no count yet.
    fn add(&mut self, bucket: u32, count: u64) {
        let index = bucket.wrapping_sub(self.first) as usize;
        if index >= self.counts.len() {
            self.make_room(bucket);
        }
        let index = bucket.wrapping_sub(self.first) as usize;
        if let Some(counted) = self.counts.get_mut(index) {
            let sum = u64::from(*counted).saturating_add(count);
            *counted = u32::try_from(sum).unwrap_or(u32::MAX);
        }
    }

    /// Makes room for the count of a bucket.
    #[cold]
    fn make_room(&mut self, bucket: u32) {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            let more = (self.first - bucket) as usize;
            self.counts.splice(..0, core::iter::repeat_n(0, more));
            self.first = bucket;
        }
        let index = (bucket - self.first) as usize;
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
    }

    /// Forgets everything, but keeps the memory.
    pub fn clear(&mut self) {
        let mut counts = core::mem::take(&mut self.counts);
        counts.clear();
        *self = Self {
            counts,
            ..Self::default()
        };
    }

    /// The number of durations.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.total
    }

    /// The smallest.
    #[must_use]
    pub fn min(&self) -> Option<Duration> {
        Some(self.min).filter(|_| self.total > 0)
    }

    /// The exact mean.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        (self.total > 0)
            .then(|| Duration::from_nanos((self.sum_nanos / u128::from(self.total)) as u64))
    }

    /// The quantile at `permille` thousandths (nearest rank, upper edge of its bucket).
    #[must_use]
    pub fn quantile(&self, permille: u64) -> Option<Duration> {
        let rank = (self.total * permille).div_ceil(1000).max(1);
        if self.counts.is_empty() {
            let mut list = self.list;
            let few = &mut list[..usize::from(self.listed)];
            few.sort_unstable();
            let bucket = few.get(rank as usize - 1)?;
            return Some(Duration::from_micros(upper_edge(usize::from(*bucket))));
        }
        let mut counted = self.clone();
        counted.count_listed();
        let mut seen = 0;
        counted
            .counts
            .iter()
            .position(|&count| {
                seen += u64::from(count);
                seen >= rank
            })
            .map(|index| Duration::from_micros(upper_edge(counted.first as usize + index)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_meet_without_gap_or_overlap() {
        let mut edge = 0;
        for index in 0..3_000 {
            let upper = upper_edge(index);
            assert_eq!(bucket(edge), index);
            assert_eq!(bucket(upper), index);
            assert!(
                (upper - edge) as f64 <= 0.008 * edge.max(1) as f64,
                "bucket {index}: {edge}..={upper}"
            );
            edge = upper + 1;
        }
    }

    #[test]
    fn quantiles_mean_and_minimum_of_a_ramp() {
        let mut histogram = Histogram::default();
        for micros in 1..=200 {
            histogram.record(Duration::from_micros(micros));
        }
        assert_eq!(histogram.quantile(950), Some(Duration::from_micros(190)));
        assert_eq!(histogram.quantile(500), Some(Duration::from_micros(100)));
        assert_eq!(histogram.mean(), Some(Duration::from_nanos(100_500)));
        assert_eq!(histogram.min(), Some(Duration::from_micros(1)));
        assert_eq!(Histogram::default().quantile(950), None);
        // The order of arrival does not matter.
        let mut backwards = Histogram::default();
        for micros in (1..=200).rev() {
            backwards.record(Duration::from_micros(micros));
        }
        assert_eq!(backwards.quantile(950), histogram.quantile(950));
        assert_eq!(backwards.quantile(1), Some(Duration::from_micros(1)));
    }

    #[test]
    fn many_at_once_count_like_one_by_one() {
        for (before, many) in [
            (0, 3),
            (0, 40),
            (10, 3),
            (10, 9),
            (15, 2),
            (16, 1),
            (17, 60),
        ] {
            let (mut at_once, mut singly) = (Histogram::default(), Histogram::default());
            for micros in 0..before {
                at_once.record(Duration::from_micros(7 * micros));
                singly.record(Duration::from_micros(7 * micros));
            }
            at_once.record_many(Duration::from_micros(50), many);
            for _ in 0..many {
                singly.record(Duration::from_micros(50));
            }
            // The counts of both, with the order of what is listed left out.
            for histogram in [&mut at_once, &mut singly] {
                histogram.count_listed();
                histogram.list = [0; FEW];
            }
            assert_eq!(format!("{at_once:?}"), format!("{singly:?}"));
        }
    }

    /// As a list and as counts: the nearest rank of the sorted durations, up to its bucket's edge.
    #[test]
    fn quantiles_of_any_number_are_of_the_nearest_rank() {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> (34 + state % 20)
        };
        let mut histogram = Histogram::default();
        for _ in 0..200 {
            let mut sorted = Vec::new();
            for _ in 0..40 {
                let micros = next();
                histogram.record(Duration::from_micros(micros));
                sorted.push(micros);
                sorted.sort_unstable();
                assert_eq!(histogram.count(), sorted.len() as u64);
                for permille in [0, 1, 250, 500, 950, 1000] {
                    let rank = (sorted.len() * permille).div_ceil(1000).max(1);
                    let edge = upper_edge(bucket(sorted[rank - 1]));
                    let found = histogram.quantile(permille as u64);
                    assert_eq!(found, Some(Duration::from_micros(edge)));
                }
            }
            histogram.clear();
            assert_eq!(
                format!("{histogram:?}"),
                format!("{:?}", Histogram::default())
            );
        }
    }
}

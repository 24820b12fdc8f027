//! Quantiles of durations in bounded memory.
//!
//! Buckets are log-linear: 128 per power of two of microseconds, so a quantile is at most 0.8 %
//! above the true one. Below 256 us a bucket is one microsecond wide, and quantiles are exact.
//!
//! The first few durations are kept as a list of their buckets: a short flow has no more, and they
//! may lie far apart.

use units::Duration;

const SUB_BITS: u32 = 7;
/// So many durations are kept as a list.
const FEW: u64 = 16;

/// Counts of durations, with their quantiles and their exact mean and minimum.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// The bucket of each duration as long as there are few; then the counts of the buckets from
    /// `first` on.
    counts: Vec<u32>,
    first: u32,
    total: u64,
    sum_nanos: u128,
    /// [`Duration::MAX`] before the first duration.
    min: Duration,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: Vec::new(),
            first: 0,
            total: 0,
            sum_nanos: 0,
            min: Duration::MAX,
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
        let bucket = bucket(value.as_micros()) as u32;
        let index = bucket.wrapping_sub(self.first) as usize;
        if self.total > FEW
            && let Some(count) = self.counts.get_mut(index)
        {
            *count = count.saturating_add(1);
        } else {
            self.record_first(bucket);
        }
        self.total += 1;
        self.sum_nanos += u128::from(value.as_nanos());
        self.min = self.min.min(value);
    }

    /// Counts `count` durations of one length, in a time that does not grow with `count`.
    pub fn record_many(&mut self, value: Duration, mut count: u64) {
        while count > 0 {
            let bucket = bucket(value.as_micros()) as u32;
            let index = bucket.wrapping_sub(self.first) as usize;
            if self.total > FEW
                && let Some(counted) = self.counts.get_mut(index)
            {
                let sum = u64::from(*counted).saturating_add(count);
                *counted = u32::try_from(sum).unwrap_or(u32::MAX);
                self.total += count;
                self.sum_nanos += u128::from(value.as_nanos()) * u128::from(count);
                self.min = self.min.min(value);
                return;
            }
            // Its bucket has no count yet.
            self.record(value);
            count -= 1;
        }
    }

    /// Counts a duration of a bucket that may have no count yet.
    #[inline(never)]
    fn record_first(&mut self, bucket: u32) {
        if self.total < FEW {
            if self.counts.capacity() == 0 {
                self.counts.reserve_exact(FEW as usize);
            }
            self.counts.push(bucket);
            return;
        }
        if self.total == FEW {
            self.count_the_few();
        }
        self.add(bucket);
    }

    fn add(&mut self, bucket: u32) {
        if bucket < self.first {
            let more = (self.first - bucket) as usize;
            self.counts.splice(..0, core::iter::repeat_n(0, more));
            self.first = bucket;
        }
        let index = (bucket - self.first) as usize;
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] = self.counts[index].saturating_add(1);
    }

    #[cold]
    fn count_the_few(&mut self) {
        let few = core::mem::take(&mut self.counts);
        self.first = few.iter().min().copied().unwrap_or(0);
        let last = few.iter().max().copied().unwrap_or(0);
        self.counts = vec![0; (last - self.first) as usize + 1];
        for bucket in few {
            self.add(bucket);
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
        if self.total <= FEW {
            let mut few = [0; FEW as usize];
            let few = &mut few[..self.counts.len()];
            few.copy_from_slice(&self.counts);
            few.sort_unstable();
            let bucket = few.get(rank as usize - 1)?;
            return Some(Duration::from_micros(upper_edge(*bucket as usize)));
        }
        let mut seen = 0;
        self.counts
            .iter()
            .position(|&count| {
                seen += u64::from(count);
                seen >= rank
            })
            .map(|index| Duration::from_micros(upper_edge(self.first as usize + index)))
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

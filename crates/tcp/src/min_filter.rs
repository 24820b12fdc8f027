//! Windowed minimum with three samples, as Linux tracks `min_rtt`.
//!
//! Linux `lib/win_minmax.c`, after Kathleen Nichols's algorithm. The filter keeps the best, second
//! best and third best sample of the window, each later than the one before. A new minimum, or a
//! window without samples, replaces all three. When the best sample expires, the next one takes its
//! place. The result is exact while samples fall or stay equal, and otherwise at most one window
//! late.
//!
//! Nearly every sample is above all three, and comes before the next one of them ages. Such a
//! sample changes nothing, and the filter knows the time until which this holds.

use units::{Duration, Instant};

/// Window of the sender's `min_rtt` (`tcp_min_rtt_wlen`).
pub const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    value: Duration,
}

/// The smallest sample of the last `window`.
#[derive(Clone, Copy, Debug)]
pub struct MinFilter {
    window: Duration,
    /// Best, second best, third best.
    kept: [Sample; 3],
    /// Nothing ages up to this time.
    fresh_until: Instant,
}

impl MinFilter {
    /// An empty filter.
    #[must_use]
    pub const fn new(window: Duration) -> Self {
        Self {
            window,
            kept: [Sample {
                at: Instant::ZERO,
                value: Duration::MAX,
            }; 3],
            fresh_until: Instant::ZERO,
        }
    }

    /// The minimum, once there is a sample.
    #[must_use]
    pub fn get(&self) -> Option<Duration> {
        (self.kept[0].value != Duration::MAX).then_some(self.kept[0].value)
    }

    /// Takes a sample and returns the minimum.
    #[inline]
    pub fn update(&mut self, now: Instant, value: Duration) -> Duration {
        if value > self.kept[2].value && now <= self.fresh_until {
            return self.kept[0].value;
        }
        let least = self.take(now, value);
        self.fresh_until = self.next_change();
        least
    }

    /// Until when a sample above the three kept ones changes nothing: the conditions of
    /// [`Self::take`] and [`Self::age`].
    fn next_change(&self) -> Instant {
        let [best, second, third] = self.kept;
        let mut until = best.at.min(third.at) + self.window;
        if second.at == best.at {
            until = until.min(best.at + self.window / 4);
        }
        if third.at == second.at {
            until = until.min(best.at + self.window / 2);
        }
        until
    }

    #[inline(never)]
    fn take(&mut self, now: Instant, value: Duration) -> Duration {
        let sample = Sample { at: now, value };
        if value <= self.kept[0].value || now.saturating_since(self.kept[2].at) > self.window {
            self.kept = [sample; 3];
            return value;
        }
        if value <= self.kept[1].value {
            self.kept[1] = sample;
            self.kept[2] = sample;
        } else if value <= self.kept[2].value {
            self.kept[2] = sample;
        }
        self.age(sample);
        self.kept[0].value
    }

    /// Removes samples that have left the window. Replaces the second and third choice after a
    /// quarter and a half of the window, so that they are spread over it.
    fn age(&mut self, sample: Sample) {
        let age = sample.at.saturating_since(self.kept[0].at);
        if age > self.window {
            self.shift(sample);
            if sample.at.saturating_since(self.kept[0].at) > self.window {
                self.shift(sample);
            }
        } else if self.kept[1].at == self.kept[0].at && age > self.window / 4 {
            self.kept[1] = sample;
            self.kept[2] = sample;
        } else if self.kept[2].at == self.kept[1].at && age > self.window / 2 {
            self.kept[2] = sample;
        }
    }

    fn shift(&mut self, sample: Sample) {
        self.kept = [self.kept[1], self.kept[2], sample];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(filter: &mut MinFilter, secs: u64, ms: u64) -> u64 {
        filter
            .update(Instant::from_secs(secs), Duration::from_millis(ms))
            .as_millis()
    }

    #[test]
    fn keeps_the_minimum_for_the_window_and_then_the_next_best() {
        let mut filter = MinFilter::new(MIN_RTT_WINDOW);
        assert_eq!(filter.get(), None);
        assert_eq!(update(&mut filter, 0, 50), 50);
        assert_eq!(update(&mut filter, 1, 40), 40);
        assert_eq!(update(&mut filter, 100, 45), 40);
        assert_eq!(update(&mut filter, 200, 60), 40);
        assert_eq!(
            update(&mut filter, 301, 70),
            40,
            "exactly one window old still counts"
        );
        assert_eq!(update(&mut filter, 302, 70), 45);
        assert_eq!(filter.get(), Some(Duration::from_millis(45)));
    }

    #[test]
    fn a_pause_longer_than_the_window_forgets_everything() {
        let mut filter = MinFilter::new(MIN_RTT_WINDOW);
        update(&mut filter, 0, 10);
        assert_eq!(update(&mut filter, 301, 99), 99);
    }

    /// Each sample goes through all steps in one of the two filters.
    #[test]
    fn a_sample_that_is_passed_over_would_have_changed_nothing() {
        let mut generator = testing::random::Random::new(1);
        let mut random = |bound: u64| generator.below(bound);
        for window in [8_u64, 30, 1_001] {
            let mut filter = MinFilter::new(Duration::from_nanos(window));
            let mut stepwise = filter;
            let mut now = 0;
            for _ in 0..20_000 {
                now += random(4) * random(4) * random(window / 4);
                let at = Instant::from_nanos(now);
                let value = Duration::from_nanos(1 + random(40));
                assert_eq!(filter.update(at, value), stepwise.take(at, value));
                for (one, other) in filter.kept.iter().zip(&stepwise.kept) {
                    assert_eq!((one.at, one.value), (other.at, other.value));
                }
            }
        }
    }

    #[test]
    fn lags_the_true_minimum_by_at_most_one_window() {
        let mut filter = MinFilter::new(Duration::from_secs(30));
        let value = |second: u64| 100 + (second * 7_919) % 61;
        for second in 0..2_000 {
            let got = update(&mut filter, second, value(second));
            let least = (second.saturating_sub(60)..=second)
                .map(value)
                .min()
                .unwrap();
            assert!(got >= least && got <= value(second), "second {second}");
        }
    }
}

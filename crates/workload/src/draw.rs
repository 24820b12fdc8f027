//! Draws from distributions. Each kind of distribution takes a fixed number of numbers from the
//! stream for a draw, so that a changed parameter leaves the later draws in their places.

use rand_core::RngCore;
use units::{Bytes, Duration, Instant};

use crate::suite::Framing;
use crate::{MAX_UNIT, TruncatedPareto};

/// Uniform in 0 (included) to 1 (excluded), 53 bits.
pub fn unit(random: &mut impl RngCore) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// The time between two events of a Poisson process of `per_s` events per second.
pub fn poisson_gap(random: &mut impl RngCore, per_s: f64) -> Duration {
    let gap_s = -libm::log(1.0 - unit(random)) / per_s;
    Duration::from_nanos((gap_s * 1e9) as u64)
}

/// Start times that are uniform over `spread` from `start`, the earliest one last.
pub fn spread_starts(
    random: &mut impl RngCore,
    start: Instant,
    count: u32,
    spread: Duration,
) -> Vec<Instant> {
    let offset = |fraction: f64| (spread.as_nanos() as f64 * fraction) as u64;
    let mut starts: Vec<Instant> = (0..count)
        .map(|_| start + Duration::from_nanos(offset(unit(random))))
        .collect();
    starts.sort_unstable_by(|a, b| b.cmp(a));
    starts
}

/// Standard normal (Box and Muller, the cosine of the pair). Takes two numbers of the stream.
pub fn normal(random: &mut impl RngCore) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - unit(random)));
    radius * libm::cos(core::f64::consts::TAU * unit(random))
}

/// The number of failures before the first success of trials that succeed with `probability` (above
/// zero, at most one). Its mean is `1 / probability - 1`.
pub fn geometric(random: &mut impl RngCore, probability: f64) -> u32 {
    let drawn = libm::log(1.0 - unit(random)) / libm::log1p(-probability);
    // Certain success: the logarithm is minus infinity and the quotient zero.
    drawn as u32
}

/// A distribution of sizes in bytes. A drawn size is a whole number from 1 to [`MAX_UNIT`].
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Sizes {
    /// Always the same.
    Constant(Bytes),
    /// The logarithm is normal.
    LogNormal {
        /// The median in bytes.
        median: f64,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// Heavy tail with an upper end.
    Pareto(TruncatedPareto),
}

impl Sizes {
    /// Draws a size.
    pub fn draw(&self, random: &mut impl RngCore) -> Bytes {
        let size = match *self {
            Self::Constant(size) => size,
            Self::LogNormal { median, sigma } => {
                let size = median * libm::exp(sigma * normal(random));
                Bytes::new(libm::round(size) as u64)
            }
            Self::Pareto(sizes) => sizes.draw(random),
        };
        size.clamp(Bytes::new(1), MAX_UNIT)
    }

    /// The mean of the distribution, in bytes, before sizes are rounded.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Constant(size) => size.get() as f64,
            Self::LogNormal { median, sigma } => median * libm::exp(sigma * sigma / 2.0),
            Self::Pareto(sizes) => sizes.mean(),
        }
    }

    /// The mean on the wire. Sizes that differ count as if all segments were full.
    #[must_use]
    pub fn mean_on_the_wire(&self, framing: Framing) -> f64 {
        match *self {
            Self::Constant(size) => framing.wire_bytes(size).get() as f64,
            _ => self.mean() * framing.overhead(),
        }
    }
}

/// A distribution of times. A drawn time is a whole number of microseconds, the unit of Tmix files.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Times {
    /// Always the same.
    Constant(Duration),
    /// Memoryless.
    Exponential {
        /// The mean.
        mean: Duration,
    },
    /// The logarithm is normal.
    LogNormal {
        /// The median.
        median: Duration,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
}

impl Times {
    /// Draws a time.
    pub fn draw(&self, random: &mut impl RngCore) -> Duration {
        let nanos = |span: Duration| span.as_nanos() as f64;
        let drawn = match *self {
            Self::Constant(time) => time,
            Self::Exponential { mean } => {
                Duration::from_nanos((-libm::log(1.0 - unit(random)) * nanos(mean)) as u64)
            }
            Self::LogNormal { median, sigma } => {
                Duration::from_nanos((libm::exp(sigma * normal(random)) * nanos(median)) as u64)
            }
        };
        whole_micros(drawn)
    }
}

/// A span without the part below a microsecond.
#[must_use]
pub const fn whole_micros(span: Duration) -> Duration {
    Duration::from_nanos(span.as_nanos() / 1_000 * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    /// Mean and standard error of many draws.
    fn sample(mut draw: impl FnMut(&mut ChaCha8Rng) -> f64) -> (f64, f64) {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let count = 100_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..count {
            let value = draw(&mut random);
            sum += value;
            squares += value * value;
        }
        let mean = sum / f64::from(count);
        let variance = squares / f64::from(count) - mean * mean;
        (mean, libm::sqrt(variance / f64::from(count)))
    }

    fn has_mean(expected: f64, draw: impl FnMut(&mut ChaCha8Rng) -> f64) {
        let (mean, error) = sample(draw);
        let off = (mean - expected) / error;
        assert!(
            off.abs() < 3.0,
            "{mean}, not {expected}: {off} standard errors"
        );
    }

    #[test]
    fn means_are_those_of_the_theory() {
        has_mean(0.5, unit);
        has_mean(0.0, normal);
        has_mean(1.0, |random| libm::pow(normal(random), 2.0));
        has_mean(0.1, |random| poisson_gap(random, 10.0).as_secs_f64());
        has_mean(0.65 / 0.35, |random| f64::from(geometric(random, 0.35)));
        has_mean(0.0, |random| {
            f64::from(geometric(random, 1.0)) + normal(random)
        });
        let sizes = Sizes::LogNormal {
            median: 400.0,
            sigma: 0.6,
        };
        has_mean(sizes.mean(), |random| sizes.draw(random).get() as f64);
        let mean = Duration::from_millis(20);
        // The fraction of a microsecond is cut off: half of one on average.
        has_mean(0.02 - 5e-7, |random| {
            Times::Exponential { mean }.draw(random).as_secs_f64()
        });
    }

    #[test]
    fn half_of_all_log_normal_times_are_above_the_median() {
        let median = Duration::from_secs(1);
        let times = Times::LogNormal { median, sigma: 1.3 };
        has_mean(0.5, |random| {
            f64::from(u8::from(times.draw(random) >= median))
        });
        // The 90 % quantile of a standard normal is 1.2816.
        let upper = libm::exp(1.3 * 1.281_551_6);
        has_mean(0.1, |random| {
            f64::from(u8::from(times.draw(random).as_secs_f64() >= upper))
        });
    }

    #[test]
    fn starts_are_uniform_and_the_next_one_is_last() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let start = Instant::from_secs(10);
        let mut starts = spread_starts(&mut random, start, 10_000, Duration::from_secs(4));
        assert!(starts.is_sorted_by(|a, b| a >= b));
        let mean = starts.iter().map(|at| at.as_secs_f64()).sum::<f64>() / 1e4;
        assert!(
            (mean - 12.0).abs() < 3.0 * 4.0 / libm::sqrt(12.0 * 1e4),
            "{mean}"
        );
        assert!(starts.pop() >= Some(start));
    }
}

//! Pareto distributions of sizes with an upper end.
//!
//! Source: Scharf 2011 (docs/reference/sources.md, "Web traffic"): responses with a mean of 14 kB,
//! shape 1.1, at most 10 MB. The source does not say how the distribution ends; [`Truncation`] has
//! the three readings.

use rand_core::RngCore;
use units::Bytes;

use crate::draw;

/// How a Pareto distribution ends at its largest size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Truncation {
    /// A size above the largest is drawn again. The mean is that of what remains.
    #[default]
    Bounded,
    /// A size above the largest is set to the largest. The mean is that of the result.
    Capped,
    /// As `Bounded`, but the mean is that of the distribution without an end, so that the sizes
    /// drawn have a smaller one. Its shape must be above 1.
    MeanBeforeCut,
}

tables::words!(Truncation:
    "bounded" => Bounded,
    "capped" => Capped,
    "mean-before-cut" => MeanBeforeCut,
);

/// A Pareto distribution of sizes, truncated at its upper end.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TruncatedPareto {
    /// Smallest size in bytes.
    pub scale: f64,
    shape: f64,
    /// Probability of a size below the largest one in the distribution without truncation; one if
    /// larger sizes are capped.
    mass: f64,
    /// The size to which larger ones are capped; `None` if they are drawn again.
    cap: Option<f64>,
    mean: f64,
}

impl TruncatedPareto {
    /// The bounded distribution of this shape, truncated at `cut`, whose mean is `mean` (below
    /// `cut`).
    #[must_use]
    pub fn with_mean(mean: f64, shape: f64, cut: f64) -> Self {
        Self::new(Truncation::Bounded, mean, shape, cut)
    }

    /// The distribution of this shape with a largest size of `cut` and a mean of `mean` (below
    /// `cut`), both in bytes.
    #[must_use]
    pub fn new(truncation: Truncation, mean: f64, shape: f64, cut: f64) -> Self {
        let capped = truncation == Truncation::Capped;
        let mean_of = if capped { capped_mean } else { bounded_mean };
        let scale = if truncation == Truncation::MeanBeforeCut {
            mean * (shape - 1.0) / shape
        } else {
            scale_for(mean, |scale| mean_of(scale, shape, cut))
        };
        Self {
            scale,
            shape,
            mass: if capped {
                1.0
            } else {
                1.0 - libm::pow(scale / cut, shape)
            },
            cap: capped.then_some(cut),
            mean: mean_of(scale, shape, cut),
        }
    }

    /// The size below which a fraction `below` (less than one) of all sizes lies.
    #[must_use]
    pub fn quantile(&self, below: f64) -> f64 {
        let size = self.scale / libm::pow(1.0 - below * self.mass, 1.0 / self.shape);
        self.cap.map_or(size, |cap| size.min(cap))
    }

    /// The fraction of all sizes above `size` (at least the smallest size, below the largest).
    #[must_use]
    pub fn fraction_above(&self, size: f64) -> f64 {
        1.0 - (1.0 - libm::pow(self.scale / size, self.shape)) / self.mass
    }

    /// The mean, in bytes.
    #[must_use]
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// The shape.
    #[must_use]
    pub const fn shape(&self) -> f64 {
        self.shape
    }

    /// The largest size, in whole bytes.
    #[must_use]
    pub fn cut(&self) -> f64 {
        libm::round(self.quantile(1.0))
    }

    /// Whether larger sizes are set to the largest instead of drawn again.
    #[must_use]
    pub const fn is_capped(&self) -> bool {
        self.cap.is_some()
    }

    /// Draws a size, rounded to whole bytes, at least one.
    pub fn draw(&self, random: &mut impl RngCore) -> Bytes {
        let size = libm::round(self.quantile(draw::unit(random)));
        Bytes::new((size as u64).max(1))
    }
}

/// The scale at which `mean_of` gives `mean`.
fn scale_for(mean: f64, mean_of: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, mean);
    // The mean grows with the scale and exceeds it, so bisection between 0 and the mean works.
    loop {
        let scale = f64::midpoint(low, high);
        if scale <= low || scale >= high {
            return scale;
        }
        if mean_of(scale) < mean {
            low = scale;
        } else {
            high = scale;
        }
    }
}

/// (exp(`rest` * `logarithm`) - 1) / `rest`, also for a small or zero `rest`.
fn span(rest: f64, logarithm: f64) -> f64 {
    if rest == 0.0 {
        logarithm
    } else {
        libm::expm1(rest * logarithm) / rest
    }
}

fn bounded_mean(scale: f64, shape: f64, cut: f64) -> f64 {
    let logarithm = libm::log(cut / scale);
    shape * scale * span(1.0 - shape, logarithm) / -libm::expm1(-shape * logarithm)
}

/// The smallest size, and the integral of the probability of a larger one up to the cap.
fn capped_mean(scale: f64, shape: f64, cut: f64) -> f64 {
    scale + scale * span(1.0 - shape, libm::log(cut / scale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    /// Mean 14 kB, shape 1.1, at most 10 MB: the smallest size, the median, the mean with the cut,
    /// and the fractions above 10,000 and 14,600 bytes, computed independently for each reading.
    #[test]
    fn the_readings_of_scharf_2011() {
        use Truncation::{Bounded, Capped, MeanBeforeCut};
        let (kb, kib) = ((14e3, 1e7), (14_336.0, 10_485_760.0));
        for (truncation, (mean, cut), expected) in [
            (Bounded, kb, [2238.596, 4203.4, 14000.0, 0.19266, 0.12703]),
            (Capped, kb, [2084.745, 3914.9, 14000.0, 0.17822, 0.11754]),
            (
                MeanBeforeCut,
                kb,
                [1272.727, 2390.0, 8290.9, 0.10356, 0.0683],
            ),
            (Bounded, kib, [2287.878, 4296.0, 14336.0, 0.19734, 0.13011]),
            (Capped, kib, [2131.339, 4002.4, 14336.0, 0.18261, 0.12043]),
            (
                MeanBeforeCut,
                kib,
                [1303.273, 2447.4, 8503.7, 0.1063, 0.07011],
            ),
        ] {
            let sizes = TruncatedPareto::new(truncation, mean, 1.1, cut);
            let (mut median, mut above) = (
                sizes.quantile(0.5),
                [10_000.0, 14_600.0].map(|size| sizes.fraction_above(size)),
            );
            if truncation == MeanBeforeCut {
                // The table leaves the cut out of the median and of the fractions.
                let tail = above.map(|fraction| fraction * sizes.mass + 1.0 - sizes.mass);
                assert!(sizes.mass < 1.0 && tail[0] > above[0] && tail[1] > above[1]);
                (median, above) = (sizes.scale * libm::pow(2.0, 1.0 / 1.1), tail);
            }
            let found = [sizes.scale, median, sizes.mean(), above[0], above[1]];
            // Half of the last digit in the table.
            let slack = [5e-4, 0.05, 0.05, 5e-6, 5e-6];
            for ((found, expected), slack) in found.into_iter().zip(expected).zip(slack) {
                let off = (found - expected).abs();
                assert!(
                    off <= slack * 1.001,
                    "{truncation:?}: {found}, not {expected}"
                );
            }
        }
    }

    #[test]
    fn quantiles_of_the_bounded_distribution() {
        let sizes = TruncatedPareto::with_mean(14_000.0, 1.1, 1e7);
        let near = |found: f64, expected: f64, half_a_digit: f64| {
            assert!(
                (found - expected).abs() <= half_a_digit,
                "{found}, not {expected}"
            );
        };
        near(sizes.scale, 2238.6, 0.1);
        near(sizes.quantile(0.5), 4203.0, 0.5);
        near(sizes.quantile(0.9), 18_100.0, 50.0);
        near(sizes.quantile(0.99), 146_000.0, 500.0);
        near(sizes.fraction_above(10_000.0), 0.193, 0.0005);
        near(1.0 - sizes.fraction_above(14_600.0), 0.873, 0.0005);
        near(sizes.quantile(0.0), sizes.scale, 1e-9);
        assert!(sizes.quantile(1.0 - f64::EPSILON) <= 1e7);
    }

    #[test]
    fn any_mean_below_the_cut_is_reached() {
        for truncation in [Truncation::Bounded, Truncation::Capped] {
            for shape in [0.1, 0.9, 1.0, 1.1, 3.0, 10.0] {
                for (mean, cut) in [(2.0, 1e15), (14e3, 1e7), (9.9e6, 1e7)] {
                    let sizes = TruncatedPareto::new(truncation, mean, shape, cut);
                    let case = format!("{truncation:?} {shape} {mean} {cut}");
                    let found = sizes.mean();
                    assert!((found / mean - 1.0).abs() < 1e-9, "{case}: {found}");
                    // The quantile function has the same mean, by the midpoint rule over (0, 1).
                    if shape >= 3.0 {
                        let steps = 100_000;
                        let middle = |step| (f64::from(step) + 0.5) / f64::from(steps);
                        let sum: f64 = (0..steps).map(|step| sizes.quantile(middle(step))).sum();
                        let found = sum / f64::from(steps);
                        assert!((found / mean - 1.0).abs() < 1e-3, "{case}: {found}");
                    }
                }
            }
        }
    }

    #[test]
    fn drawn_sizes_follow_the_distribution() {
        for truncation in [
            Truncation::Bounded,
            Truncation::Capped,
            Truncation::MeanBeforeCut,
        ] {
            let sizes = TruncatedPareto::new(truncation, 14e3, 1.1, 1e7);
            let mut random = ChaCha8Rng::seed_from_u64(1);
            let count = 200_000;
            let drawn: Vec<f64> = (0..count)
                .map(|_| sizes.draw(&mut random).get() as f64)
                .collect();
            let fraction = |above: f64| {
                drawn.iter().filter(|&&size| size > above).count() as f64 / f64::from(count)
            };
            for above in [4203.4, 10_000.0, 14_600.0, 1e6] {
                let expected = sizes.fraction_above(above);
                let error = libm::sqrt(expected * (1.0 - expected) / f64::from(count));
                let off = (fraction(above) - expected) / error;
                assert!(
                    off.abs() < 3.0,
                    "{truncation:?} {above}: {off} standard errors"
                );
            }
            let mean = drawn.iter().sum::<f64>() / f64::from(count);
            let squares = drawn
                .iter()
                .map(|size| (size - mean) * (size - mean))
                .sum::<f64>();
            let error = libm::sqrt(squares) / f64::from(count);
            let off = (mean - sizes.mean()) / error;
            assert!(off.abs() < 3.0, "{truncation:?}: {off} standard errors");
            assert!(drawn.iter().all(|&size| size <= 1e7));
        }
    }
}

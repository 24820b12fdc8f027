//! RED: drops arriving packets with a probability that rises with the average queue, at even
//! distances (Floyd and Jacobson 1993; with its gentle and adaptive forms).
//!
//! ## Deviations
//!
//! - The queue is counted in packets, and the probability does not depend on a packet's size
//!   (ns-2.35's default for both is bytes). A drop does not wait for `1/p` packets after the
//!   previous one, as `wait_` of ns-2.35 does.
//! - A capable packet is marked while the average is below `max` and dropped above (RFC 3168, section 7).
//! - The average of an idle queue decays once for each transmission time of a full packet.

use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant, Rate};

use crate::RedConfig;
use crate::random::unit;

/// A full packet, for the packet time of a link.
const PACKET_BITS: f64 = 1500.0 * 8.0;
/// Twice the default of `min`, as a queueing delay in seconds.
const TARGET: f64 = 0.005;
/// Time between adaptations of the probability, and its bounds (Floyd et al. 2001, section 4).
const ADAPTS_EVERY: Duration = Duration::from_millis(500);
const LEAST: f64 = 0.01;
const MOST: f64 = 0.5;

/// The fate of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passes,
    /// Dropped, or marked if possible.
    Struck,
    Dropped,
}

#[derive(Clone, Debug)]
pub(crate) struct Red {
    min: f64,
    max: f64,
    probability: f64,
    weight: f64,
    gentle: bool,
    adaptive: bool,
    average: f64,
    /// Packets that passed since the last drop.
    count: u64,
    /// Seconds.
    packet_time: f64,
    adapts: Instant,
    rng: ChaCha8Rng,
}

impl Red {
    pub(crate) fn new(config: &RedConfig, rate: Option<Rate>, rng: ChaCha8Rng) -> Self {
        let bits = rate.map_or(1.0, |rate| rate.bits_per_sec().max(1) as f64);
        let per_second = bits / PACKET_BITS;
        let min = config
            .min
            .unwrap_or_else(|| (TARGET / 2.0 * per_second).max(5.0));
        Self {
            min,
            max: config.max.unwrap_or(3.0 * min).max(min),
            probability: config.probability,
            weight: config
                .weight
                .unwrap_or_else(|| 1.0 - libm::exp(-1.0 / per_second)),
            gentle: config.gentle,
            adaptive: config.adaptive,
            average: 0.0,
            count: 0,
            packet_time: 1.0 / per_second,
            adapts: Instant::ZERO + ADAPTS_EVERY,
            rng,
        }
    }

    /// A packet arrives at a queue of `queued` packets on a link that has been idle for `idle`.
    pub(crate) fn arrives(&mut self, now: Instant, queued: u64, idle: Duration) -> Verdict {
        if !idle.is_zero() {
            let packets = idle.as_secs_f64() / self.packet_time;
            self.average *= libm::pow(1.0 - self.weight, packets);
        }
        self.average += self.weight * (queued as f64 - self.average);
        if self.adaptive {
            self.adapt(now);
        }
        let Some(probability) = self.chance() else {
            self.count = 0;
            return Verdict::Dropped;
        };
        if probability <= 0.0 {
            self.count = 0;
            return Verdict::Passes;
        }
        let spread = 1.0 - self.count as f64 * probability;
        // A denominator of either sign is right: from 1/p packets on the drop is certain.
        if spread <= 0.0 || unit(&mut self.rng) * spread < probability {
            self.count = 0;
            if self.average < self.max {
                Verdict::Struck
            } else {
                Verdict::Dropped
            }
        } else {
            self.count += 1;
            Verdict::Passes
        }
    }

    /// The probability before spreading; `None` if every packet is dropped.
    fn chance(&self) -> Option<f64> {
        if self.average < self.min {
            Some(0.0)
        } else if self.average < self.max {
            Some(self.probability * (self.average - self.min) / (self.max - self.min))
        } else if self.gentle && self.average < 2.0 * self.max {
            let beyond = (self.average - self.max) / self.max;
            Some(self.probability + (1.0 - self.probability) * beyond)
        } else {
            None
        }
    }

    /// Adapts the probability once for each interval that has passed, to the present average.
    fn adapt(&mut self, now: Instant) {
        if now < self.adapts {
            return;
        }
        self.adapts = now + ADAPTS_EVERY;
        let above = (self.average - self.min) / (self.max - self.min);
        if above > 0.6 && self.probability <= MOST {
            self.probability += (self.probability / 4.0).min(0.01);
        } else if above < 0.4 && self.probability >= LEAST {
            self.probability *= 0.9;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    fn red(config: RedConfig) -> Red {
        let rate = Rate::from_bits_per_sec(10_000_000);
        Red::new(&config, Some(rate), ChaCha8Rng::seed_from_u64(1))
    }

    const CLASSIC: RedConfig = RedConfig {
        min: Some(5.0),
        max: Some(15.0),
        probability: 0.1,
        weight: Some(0.002),
        gentle: true,
        adaptive: false,
        ecn: false,
    };

    /// Values computed by hand from the cited rule.
    #[test]
    fn the_average_follows_slowly() {
        let mut red = red(CLASSIC);
        let crossing = (1..)
            .find(|_| {
                red.arrives(Instant::ZERO, 10, Duration::ZERO);
                red.average >= 5.0
            })
            .unwrap();
        assert_eq!(crossing, 347);
        // An idle time of 1000 packets.
        let average = red.average;
        red.arrives(Instant::ZERO, 0, Duration::from_micros(1_200_000));
        let expected = average * libm::pow(0.998, 1001.0);
        assert!((red.average - expected).abs() < 1e-9);
    }

    #[test]
    fn gaps_between_drops_are_uniform() {
        let mut red = red(CLASSIC);
        red.average = 10.0;
        assert!((red.chance().unwrap() - 0.05).abs() < 1e-12);
        let mut counts = [0_u32; 21];
        let mut last = 0;
        for number in 1..=420_000_usize {
            if red.arrives(Instant::ZERO, 10, Duration::ZERO) == Verdict::Struck {
                counts[number - last] += 1;
                last = number;
            }
        }
        let drops: u32 = counts.iter().sum();
        let mean = last as f64 / f64::from(drops);
        // Four standard errors: 5.77 over the root of 40,000 gaps.
        assert!((mean - 10.5).abs() < 0.116, "{mean}");
        let each = f64::from(drops) / 20.0;
        for (gap, &count) in counts.iter().enumerate().skip(1) {
            let off = (f64::from(count) - each).abs();
            assert!(off < 4.0 * libm::sqrt(each), "{count} gaps of {gap}");
        }
    }

    #[test]
    fn the_curve_has_its_corners() {
        let mut red = red(CLASSIC);
        for (average, gentle, expected) in [
            (4.9, true, Some(0.0)),
            (5.0, true, Some(0.0)),
            (15.0, true, Some(0.1)),
            (22.5, true, Some(0.55)),
            (30.0, true, None),
            (15.0, false, None),
        ] {
            (red.average, red.gentle) = (average, gentle);
            assert_eq!(
                red.chance().map(|p| (p * 1e9 + 0.5) as u64),
                expected.map(|p| (p * 1e9 + 0.5) as u64),
                "{average}"
            );
        }
    }

    #[test]
    fn what_is_not_given_comes_from_the_rate() {
        let red = red(RedConfig::default());
        assert_eq!((red.min, red.max), (5.0, 15.0));
        assert!((red.weight - (1.0 - libm::exp(-0.0012))).abs() < 1e-15);
        let fast = Rate::from_bits_per_sec(120_000_000);
        let config = RedConfig::default();
        let fast = Red::new(&config, Some(fast), ChaCha8Rng::seed_from_u64(1));
        assert_eq!((fast.min, fast.max), (25.0, 75.0));
    }

    #[test]
    fn an_adaptive_probability_keeps_the_average_in_the_middle() {
        let mut red = red(RedConfig {
            adaptive: true,
            ..CLASSIC
        });
        let mut now = Instant::ZERO;
        for _ in 0..10 {
            now += ADAPTS_EVERY;
            red.average = 14.0;
            red.arrives(now, 14, Duration::ZERO);
        }
        assert!((red.probability - 0.2).abs() < 1e-9, "{}", red.probability);
        for _ in 0..40 {
            now += ADAPTS_EVERY;
            red.average = 6.0;
            red.arrives(now, 6, Duration::ZERO);
        }
        assert!(red.probability < LEAST && red.probability > LEAST * 0.89);
    }
}

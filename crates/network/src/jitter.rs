//! Variation of the delay, one value for each slot of time.
//!
//! The value of a slot depends only on the stream and the slot's number, not on the packets, so two
//! senders meet the same channel. Any slot is found directly, so an idle link costs nothing. The
//! link ensures that packets are never reordered.

use alloc::boxed::Box;

use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use units::{Duration, Instant};

use crate::random::{Purpose, stream, unit};
use crate::{JitterConfig, JitterDistribution};

/// Multiples of its mean at which the exponential distribution is cut.
const EXPONENTIAL_CUT: f64 = 8.0;

/// The 32-bit words that one 64-bit number takes from a stream.
const WORDS_PER_DRAW: u128 = 2;

#[derive(Clone, Debug)]
pub(crate) struct Jitter {
    amount: Duration,
    distribution: JitterDistribution,
    /// In nanoseconds, at least one.
    slot: u64,
    rng: ChaCha8Rng,
    /// The slot of `value`; `rng` is positioned after its draw.
    current: u64,
    value: Duration,
    /// Phase of the sine, in turns.
    phase: f64,
}

pub(crate) fn new(config: Option<&JitterConfig>, rng: &ChaCha8Rng) -> Option<Box<Jitter>> {
    let config = config?;
    let mut rng = stream(rng, Purpose::Jitter);
    let mut jitter = Jitter {
        amount: config.amount,
        distribution: config.distribution.clone(),
        slot: config.slot.as_nanos().max(1),
        phase: match config.distribution {
            JitterDistribution::Sine { .. } => unit(&mut rng),
            JitterDistribution::Uniform
            | JitterDistribution::Exponential
            | JitterDistribution::Recorded { .. } => 0.0,
        },
        rng,
        current: 0,
        value: Duration::ZERO,
    };
    jitter.rng.set_word_pos(0);
    jitter.value = jitter.draw(0);
    Some(Box::new(jitter))
}

impl Jitter {
    /// The addition to the delay of a packet that enters the delay line at `at`.
    pub(crate) fn at(&mut self, at: Instant) -> Duration {
        let slot = at.as_nanos() / self.slot;
        if slot != self.current {
            if slot != self.current.wrapping_add(1) {
                self.rng.set_word_pos(u128::from(slot) * WORDS_PER_DRAW);
            }
            self.value = self.draw(slot);
            self.current = slot;
        }
        self.value
    }

    /// The value of `slot`; `rng` has been moved to the slot's place in the stream.
    fn draw(&mut self, slot: u64) -> Duration {
        let amount = self.amount.as_nanos();
        let nanos = match &self.distribution {
            JitterDistribution::Uniform => {
                let scaled = u128::from(self.rng.next_u64()) * (u128::from(amount) + 1);
                (scaled >> 64) as u64
            }
            JitterDistribution::Exponential => {
                let multiple = -libm::log(1.0 - unit(&mut self.rng));
                (amount as f64 * multiple.min(EXPONENTIAL_CUT)) as u64
            }
            JitterDistribution::Sine { period } => {
                let period = period.as_nanos().max(1);
                let begin = slot.saturating_mul(self.slot);
                let turns = (begin % period) as f64 / period as f64 + self.phase;
                let wave = (1.0 + libm::sin(core::f64::consts::TAU * turns)) / 2.0;
                (amount as f64 * wave) as u64
            }
            JitterDistribution::Recorded { additions } => {
                let lap = additions.len().max(1) as u64;
                // Below the length, which is a `usize`.
                let addition = additions.get((slot % lap) as usize);
                addition.map_or(0, |addition| addition.as_nanos())
            }
        };
        Duration::from_nanos(nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use rand_core::SeedableRng;

    fn jitter(distribution: JitterDistribution) -> Box<Jitter> {
        let config = JitterConfig {
            amount: Duration::from_millis(10),
            distribution,
            slot: Duration::from_millis(1),
        };
        new(Some(&config), &ChaCha8Rng::seed_from_u64(3)).unwrap()
    }

    const SINE: JitterDistribution = JitterDistribution::Sine {
        period: Duration::from_secs(2),
    };

    #[test]
    fn the_value_of_a_slot_does_not_depend_on_earlier_calls() {
        for distribution in [
            JitterDistribution::Uniform,
            JitterDistribution::Exponential,
            SINE,
        ] {
            let mut steady = jitter(distribution.clone());
            let all: Vec<_> = (0..5000)
                .map(|ms| steady.at(Instant::from_millis(ms)))
                .collect();
            let mut seldom = jitter(distribution.clone());
            for ms in [0, 1, 7, 8, 9, 1234, 4999] {
                let inside = Instant::from_micros(ms * 1000 + 999);
                assert_eq!(
                    seldom.at(inside),
                    all[ms as usize],
                    "{distribution:?} at {ms} ms"
                );
            }
        }
    }

    #[test]
    fn distributions_have_their_mean_and_their_ends() {
        let statistics = |distribution| {
            let mut jitter = jitter(distribution);
            let count = 100_000_u64;
            let values: Vec<_> = (0..count)
                .map(|ms| jitter.at(Instant::from_millis(ms)).as_nanos())
                .collect();
            let mean = values.iter().sum::<u64>() as f64 / count as f64 / 1e6;
            let least = *values.iter().min().unwrap() as f64 / 1e6;
            (least, mean, *values.iter().max().unwrap() as f64 / 1e6)
        };
        // Four standard errors of the mean: 2.887 ms and 10 ms over sqrt(100,000).
        let (least, mean, most) = statistics(JitterDistribution::Uniform);
        assert!(
            least < 0.01 && most <= 10.0 && most > 9.99,
            "{least} {most}"
        );
        assert!((mean - 5.0).abs() < 0.037, "{mean}");
        let (least, mean, most) = statistics(JitterDistribution::Exponential);
        assert!(least < 0.01 && most == 80.0, "{least} {most}");
        assert!((mean - 10.0).abs() < 0.127, "{mean}");
        // Fifty whole periods: the mean is exact up to rounding.
        let (least, mean, most) = statistics(SINE);
        assert!(
            least < 0.001 && most > 9.999 && most <= 10.0,
            "{least} {most}"
        );
        assert!((mean - 5.0).abs() < 0.001, "{mean}");
    }
}

//! Random numbers of a link: one stream for each purpose, so that the draws of one part do not move
//! those of another.

use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use units::Duration;

/// Shortest slot of time for a scenario's draws, because each costs time to simulate.
pub const MIN_SLOT: Duration = Duration::from_micros(10);

/// The purpose of a stream. The number is part of the results: never renumber.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Loss = 1,
    Queue = 2,
    Jitter = 3,
    Rate = 4,
    Router = 5,
    Cell = 6,
    Rrc = 7,
    Reordering = 8,
    Medium = 16,
    /// Shared by both directions of a path.
    Path = 17,
    /// Constant within a run, different between runs.
    Run = 18,
}

/// The stream of `purpose`, from its start, next to the stream of `rng`.
pub(crate) fn stream(rng: &ChaCha8Rng, purpose: Purpose) -> ChaCha8Rng {
    let mut own = rng.clone();
    // The top byte, because owners number their own streams from zero up.
    own.set_stream(rng.get_stream() ^ ((purpose as u64) << 56));
    own.set_word_pos(0);
    own
}

/// Stream `number` of `purpose`, from its start; number 0 is that of [`stream`].
pub(crate) fn numbered(rng: &ChaCha8Rng, purpose: Purpose, number: u32) -> ChaCha8Rng {
    let mut own = stream(rng, purpose);
    own.set_stream(own.get_stream() ^ (u64::from(number) << 24));
    own
}

/// A probability, prepared for draws.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance {
    /// In units of 2^-63: 2^63 is certain.
    threshold: u64,
}

impl Chance {
    /// A `probability` outside 0 to 1 is clamped; NaN is never.
    pub(crate) fn new(probability: f64) -> Self {
        const ONE: u64 = 1 << 63;
        Self {
            threshold: ((probability * ONE as f64) as u64).min(ONE),
        }
    }

    pub(crate) fn draw(self, rng: &mut ChaCha8Rng) -> bool {
        self.meets(rng.next_u64())
    }

    /// Whether a drawn number is a hit.
    pub(crate) const fn meets(self, drawn: u64) -> bool {
        drawn >> 1 < self.threshold
    }
}

/// Uniform in 0 (included) to 1 (excluded), 53 bits.
pub(crate) fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Standard normal (Box and Muller, the cosine of the pair). Takes two numbers of the stream.
pub(crate) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - unit(rng)));
    radius * libm::cos(core::f64::consts::TAU * unit(rng))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    #[test]
    fn the_ends_of_probability_are_never_and_always() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (probability, expected) in [
            (0.0, false),
            (-1.0, false),
            (f64::NAN, false),
            (1.0, true),
            (7.0, true),
        ] {
            let chance = Chance::new(probability);
            assert!(
                (0..1000).all(|_| chance.draw(&mut rng) == expected),
                "{probability}"
            );
        }
    }

    #[test]
    fn purposes_have_streams_of_their_own() {
        let rng = ChaCha8Rng::seed_from_u64(1);
        let first = |purpose| stream(&rng, purpose).next_u64();
        let loss = first(Purpose::Loss);
        assert_eq!(loss, first(Purpose::Loss));
        assert!(
            [Purpose::Queue, Purpose::Jitter, Purpose::Rate]
                .iter()
                .all(|p| first(*p) != loss)
        );
        let mut used = rng.clone();
        used.next_u64();
        assert_eq!(
            stream(&used, Purpose::Loss).next_u64(),
            loss,
            "a stream starts at its start"
        );
    }

    #[test]
    fn normal_has_mean_zero_and_variance_one() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let count = 200_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..count {
            let x = normal(&mut rng);
            sum += x;
            squares += x * x;
        }
        let count = f64::from(count);
        // Four standard errors: 1/sqrt(n) for the mean, sqrt(2/n) for the variance.
        assert!((sum / count).abs() < 4.0 / libm::sqrt(count));
        assert!((squares / count - 1.0).abs() < 4.0 * libm::sqrt(2.0 / count));
    }
}

//! Random numbers of this crate: integers and f64 from a named stream, the same on every machine.

use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use units::Duration;

/// Uniform in 0 (included) to 1 (excluded), 53 bits.
pub(crate) fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Uniform in 0 (included) to `end` (excluded); zero if `end` is zero. Takes one number of the
/// stream. The bias is below `end` / 2^64.
pub(crate) fn below(rng: &mut ChaCha8Rng, end: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(end)) >> 64) as u64
}

/// Uniform in zero (included) to `end` (excluded), in nanoseconds.
pub(crate) fn span_below(rng: &mut ChaCha8Rng, end: Duration) -> Duration {
    Duration::from_nanos(below(rng, end.as_nanos()))
}

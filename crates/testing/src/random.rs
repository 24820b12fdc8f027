//! A small generator, so that a random case is a seed and a few settings.

/// A linear congruential generator of 64 bits (Knuth's MMIX), of which the upper half is used.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, below 2^31.
    #[allow(
        clippy::should_implement_trait,
        reason = "a generator of numbers without an end"
    )]
    pub const fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// A number below `bound`, or zero where the bound is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// True with a probability of `per_mille` thousandths.
    pub fn happens(&mut self, per_mille: u64) -> bool {
        self.below(1_000) < per_mille
    }
}

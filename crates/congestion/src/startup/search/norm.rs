//! The arithmetic of the test: how far delivery falls short of the expected bytes.

use units::{Bytes, Instant};

/// One test at the end of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// Time of the test.
    pub at: Instant,
    /// Index of the bin that ended; bin 0 is the opening of the bins.
    pub index: u64,
    /// Whole bins that the test looks back.
    pub look_back: u64,
    /// Delivered in the window that ends now.
    pub current: Bytes,
    /// Delivered (4.0: sent) in the window that ended one look-back ago, rounded down.
    pub previous: Bytes,
    /// Shortfall of `current`, in thousandths of the expected bytes, rounded down.
    pub norm_permille: i64,
    /// Whether the shortfall reaches the threshold.
    pub hit: bool,
}

/// The shortfall `missing / expected` as an exact fraction.
#[derive(Clone, Copy, Debug)]
pub struct Norm {
    expected: i128,
    missing: i128,
}

impl Norm {
    /// The shortfall of `current` against `expected / scale`. `None` if nothing is expected.
    ///
    /// Counts are below 2^64 and scales below 2^46, so that a thousandfold stays below 2^127.
    pub fn new(current: u64, expected: u128, scale: u64) -> Option<Self> {
        let expected = i128::try_from(expected)
            .ok()
            .filter(|&expected| expected > 0)?;
        let current = i128::from(current) * i128::from(scale);
        Some(Self {
            expected,
            missing: expected - current,
        })
    }

    /// The same as a fraction of the delivered bytes. `None` if nothing was delivered.
    pub fn of_delivered(self) -> Option<Self> {
        let delivered = self.expected - self.missing;
        (delivered > 0).then_some(Self {
            expected: delivered,
            ..self
        })
    }

    /// In thousandths, rounded down.
    pub fn permille(self) -> i64 {
        let norm = (self.missing * 1_000).div_euclid(self.expected);
        i64::try_from(norm).unwrap_or(i64::MIN)
    }

    /// Whether it is at least `threshold` thousandths.
    pub fn is_at_least(self, threshold: u32) -> bool {
        self.missing * 1_000 >= self.expected * i128::from(threshold)
    }

    /// Whether it is more than `threshold` thousandths.
    pub fn is_above(self, threshold: u32) -> bool {
        self.missing * 1_000 > self.expected * i128::from(threshold)
    }
}

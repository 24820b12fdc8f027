//! Cumulative byte counts at the ends of the last bins.

/// Slots of a ring: at least `MAX_BINS + MAX_EXTRA_BINS + 2`, and a power of two so that the slot of
/// a bin is cheap to find.
pub const SLOTS: usize = 128;

const _: () = assert!(super::config::MAX_BINS + super::config::MAX_EXTRA_BINS + 2 <= SLOTS as u32);

/// The last [`SLOTS`] counts, by the index of the bin that they end.
#[derive(Clone, Debug)]
pub struct Ring {
    counts: [u64; SLOTS],
}

impl Ring {
    pub const fn new() -> Self {
        Self { counts: [0; SLOTS] }
    }

    /// The count at the end of bin `index`, which is one of the last [`SLOTS`].
    pub const fn get(&self, index: u64) -> u64 {
        self.counts[index as usize % SLOTS]
    }

    /// Bin `index` ended with `count`.
    pub const fn set(&mut self, index: u64, count: u64) {
        self.counts[index as usize % SLOTS] = count;
    }

    /// Bins `last + 1` to `last + missed` delivered nothing.
    pub fn extend(&mut self, last: u64, missed: u64) {
        let count = self.get(last);
        for step in 1..=missed.min(SLOTS as u64) {
            self.set(last.wrapping_add(step), count);
        }
    }
}

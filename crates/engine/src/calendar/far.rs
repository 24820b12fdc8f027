//! The entries of a long calendar that are due later: in buckets of equal width in time, without an
//! order inside. An entry costs a few steps to come and to go, however many there are.
//!
//! The width follows from the entries: a bucket gets about two of them. Entries behind the last
//! bucket wait until all buckets have been taken, and are then spread over them again.

use std::mem;

use units::Instant;

use super::{Component, Entry};

/// The position of a component that is not scheduled.
pub(super) const NOWHERE: u32 = u32::MAX;
/// The highest bit of a position says that it is not one of the heap. Below are the bucket and the
/// index in it.
const FAR: u32 = 1 << 31;
const INDEX_BITS: u32 = 19;
const INDICES: u32 = (1 << INDEX_BITS) - 1;
/// The number of the last bucket in a position.
const LATE: u32 = (1 << (31 - INDEX_BITS)) - 1;
/// A position has no space for more.
pub(super) const MOST_COMPONENTS: usize = INDICES as usize - 1;
/// Entries of a bucket, on average.
const PER_BUCKET: usize = 2;
const FEWEST_BUCKETS: usize = 32;
const MOST_BUCKETS: usize = 2048;

const _: () = assert!(MOST_BUCKETS < LATE as usize);

#[derive(Clone, Debug, Default)]
pub(super) struct Far {
    /// A bucket has the times that are equal but for so many of their lowest bits.
    shift: u32,
    /// The common bits of the first bucket.
    base: u64,
    /// Buckets before this one have been taken.
    taken: usize,
    buckets: Vec<Vec<Entry>>,
    /// Behind the last bucket.
    late: Vec<Entry>,
}

impl Far {
    /// When the first bucket that has not been taken begins.
    fn horizon(&self) -> Instant {
        let begin = u128::from(self.base + self.taken as u64) << self.shift;
        Instant::from_nanos(u64::try_from(begin).unwrap_or(u64::MAX))
    }

    /// Adds an entry that is not before the horizon.
    #[inline]
    pub(super) fn insert(&mut self, entry: Entry, positions: &mut [u32]) {
        let number = (entry.at().as_nanos() >> self.shift) - self.base;
        let bucket = number.min(self.buckets.len() as u64) as usize;
        let (list, code) = match self.buckets.get_mut(bucket) {
            Some(list) => (list, bucket as u32),
            None => (&mut self.late, LATE),
        };
        positions[entry.component().index()] = FAR | code << INDEX_BITS | list.len() as u32;
        list.push(entry);
    }

    /// The bucket of a position, and the index in it.
    #[inline]
    fn place(position: u32) -> (u32, usize) {
        let code = (position & !FAR) >> INDEX_BITS;
        (code, (position & INDICES) as usize)
    }

    /// The entry at `position`.
    pub(super) fn get(&self, position: u32) -> Option<Entry> {
        let (code, index) = Self::place(position);
        let list = self.buckets.get(code as usize).unwrap_or(&self.late);
        list.get(index).copied()
    }

    /// Removes the entry at `position`, and returns its component.
    #[inline]
    pub(super) fn remove(&mut self, position: u32, positions: &mut [u32]) -> Component {
        let (code, index) = Self::place(position);
        let list = match self.buckets.get_mut(code as usize) {
            Some(list) => list,
            None => &mut self.late,
        };
        let entry = list.swap_remove(index);
        if let Some(moved) = list.get(index) {
            positions[moved.component().index()] = position;
        }
        entry.component()
    }

    /// The next bucket that has entries, and the new horizon behind it. The caller takes all of them.
    pub(super) fn next(&mut self, positions: &mut [u32]) -> Option<(Instant, &mut Vec<Entry>)> {
        loop {
            let rest = &self.buckets[self.taken..];
            if let Some(empty) = rest.iter().position(|bucket| !bucket.is_empty()) {
                let found = self.taken + empty;
                self.taken = found + 1;
                return Some((self.horizon(), &mut self.buckets[found]));
            }
            if self.late.is_empty() {
                return None;
            }
            let mut late = mem::take(&mut self.late);
            self.spread(&mut late, positions);
        }
    }

    /// Moves all entries to `entries`.
    pub(super) fn drain(&mut self, entries: &mut Vec<Entry>) {
        for bucket in &mut self.buckets {
            entries.append(bucket);
        }
        entries.append(&mut self.late);
    }

    /// Gives each of `entries` its place, where there are no others. Returns the horizon, which is
    /// before all of them.
    pub(super) fn spread(&mut self, entries: &mut [Entry], positions: &mut [u32]) -> Instant {
        let middle = entries.len() / 2;
        let (sooner, &mut median, _) = entries.select_nth_unstable(middle);
        let first = sooner.iter().copied().min().unwrap_or(median);
        let [first, median] = [first, median].map(|entry| entry.at().as_nanos());
        let count = (entries.len() / PER_BUCKET).next_power_of_two();
        let count = count.clamp(FEWEST_BUCKETS, MOST_BUCKETS);
        if self.buckets.len() < count {
            self.buckets.resize_with(count, Vec::new);
        }
        // The buckets cover twice the time to the median, or more.
        let width = (median - first) / (self.buckets.len() as u64 / 2) + 1;
        self.shift = width.next_power_of_two().trailing_zeros();
        self.base = first >> self.shift;
        self.taken = 0;
        for &entry in &*entries {
            self.insert(entry, positions);
        }
        self.horizon()
    }
}

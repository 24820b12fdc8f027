//! A set of byte offsets kept as sorted, disjoint ranges.
//!
//! The receiver needs it for data beyond `rcv_nxt`, the sender's scoreboard for SACKed data. Ranges
//! are half-open (`start..end`) and never touch: adjacent ranges are merged. Growth at the end and
//! removal at the front take constant time, and account for nearly all operations of a transfer.
//! Any other operation is a binary search and a move of the shorter side of the queue. Tens of
//! thousands of holes, which slow start leaves on a satellite path, therefore stay cheap to fill
//! from the front.

use alloc::collections::VecDeque;

/// Sorted, disjoint, non-touching ranges of `u64` offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet {
    ranges: VecDeque<(u64, u64)>,
    /// Sum of the lengths of all ranges.
    total: u64,
}

impl RangeSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            ranges: VecDeque::new(),
            total: 0,
        }
    }

    /// Adds `start..end` and calls `on_new(from, to)` for every part, in order, that was not in the
    /// set before. Returns how many offsets were new. An empty range adds nothing.
    pub fn insert(&mut self, start: u64, end: u64, mut on_new: impl FnMut(u64, u64)) -> u64 {
        if start >= end {
            return 0;
        }
        // The common case: the range extends the last one, or begins beyond it.
        match self.ranges.back_mut() {
            Some(last) if start > last.1 => self.ranges.push_back((start, end)),
            Some(last) if start == last.1 => last.1 = end,
            Some(_) => return self.insert_before_the_end(start, end, on_new),
            None => self.ranges.push_back((start, end)),
        }
        self.total += end - start;
        on_new(start, end);
        end - start
    }

    /// [`Self::insert`] for a range that begins before the end of the set.
    fn insert_before_the_end(
        &mut self,
        start: u64,
        end: u64,
        mut on_new: impl FnMut(u64, u64),
    ) -> u64 {
        // `low..high` are the ranges that overlap or touch the new one.
        let low = self.ranges.partition_point(|range| range.1 < start);
        let mut high = low;
        let mut cursor = start;
        let mut added = 0;
        while let Some(&(from, to)) = self.ranges.get(high) {
            if from > end {
                break;
            }
            if from > cursor {
                on_new(cursor, from);
                added += from - cursor;
            }
            cursor = cursor.max(to);
            high += 1;
        }
        if cursor < end {
            on_new(cursor, end);
            added += end - cursor;
            cursor = end;
        }
        if low == high {
            self.ranges.insert(low, (start, end));
        } else {
            let merged = &mut self.ranges[low];
            *merged = (merged.0.min(start), cursor);
            if high - low > 1 {
                self.ranges.drain(low + 1..high);
            }
        }
        self.total += added;
        added
    }

    /// Removes every offset below `bound`. Returns how many there were.
    pub fn remove_below(&mut self, bound: u64) -> u64 {
        let before = self.total;
        while let Some(first) = self.ranges.front_mut() {
            if first.0 >= bound {
                break;
            }
            if first.1 > bound {
                self.total -= bound - first.0;
                first.0 = bound;
                break;
            }
            self.total -= first.1 - first.0;
            self.ranges.pop_front();
        }
        before - self.total
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.total = 0;
    }

    /// Whether `offset` is in the set.
    #[must_use]
    pub fn contains(&self, offset: u64) -> bool {
        self.range_of(offset).is_some()
    }

    /// Whether all of `start..end` is in the set; an empty range always is.
    #[must_use]
    pub fn covers(&self, start: u64, end: u64) -> bool {
        start >= end || self.range_of(start).is_some_and(|(_, to)| end <= to)
    }

    /// The whole range that holds `offset`.
    #[must_use]
    pub fn range_of(&self, offset: u64) -> Option<(u64, u64)> {
        let index = self.ranges.partition_point(|range| range.1 <= offset);
        self.ranges
            .get(index)
            .copied()
            .filter(|&(from, _)| from <= offset)
    }

    /// The lowest gap at or above `offset`: where it begins, and where the next range begins
    /// (`None` if no range lies beyond it).
    #[must_use]
    pub fn first_gap(&self, offset: u64) -> (u64, Option<u64>) {
        let index = self.ranges.partition_point(|range| range.1 <= offset);
        match self.ranges.get(index) {
            Some(&(from, to)) if from <= offset => {
                (to, self.ranges.get(index + 1).map(|next| next.0))
            }
            Some(&(from, _)) => (offset, Some(from)),
            None => (offset, None),
        }
    }

    /// The lowest range.
    #[must_use]
    pub fn first(&self) -> Option<(u64, u64)> {
        self.ranges.front().copied()
    }

    /// The highest range.
    #[must_use]
    pub fn last(&self) -> Option<(u64, u64)> {
        self.ranges.back().copied()
    }

    /// All ranges in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + ExactSizeIterator + '_ {
        self.ranges.iter().copied()
    }

    /// How many ranges there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many offsets are in the set.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn insert(set: &mut RangeSet, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut new = Vec::new();
        let added = set.insert(start, end, |from, to| new.push((from, to)));
        assert_eq!(added, new.iter().map(|(from, to)| to - from).sum::<u64>());
        new
    }

    #[test]
    fn reports_only_new_parts_and_merges_touching_ranges() {
        let mut set = RangeSet::new();
        assert_eq!(insert(&mut set, 10, 20), [(10, 20)]);
        assert_eq!(insert(&mut set, 30, 40), [(30, 40)]);
        assert_eq!(insert(&mut set, 50, 60), [(50, 60)]);
        assert_eq!(insert(&mut set, 15, 55), [(20, 30), (40, 50)]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [(10, 60)]);
        assert_eq!(insert(&mut set, 12, 30), []);
        assert_eq!(insert(&mut set, 0, 10), [(0, 10)]);
        assert_eq!(insert(&mut set, 60, 61), [(60, 61)]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [(0, 61)]);
        assert_eq!(set.total(), 61);
        assert_eq!(insert(&mut set, 70, 70), []);
    }

    #[test]
    fn gaps_and_removal() {
        let mut set = RangeSet::new();
        for (start, end) in [(10, 20), (30, 40), (5, 7)] {
            insert(&mut set, start, end);
        }
        assert_eq!(set.first_gap(0), (0, Some(5)));
        assert_eq!(set.first_gap(5), (7, Some(10)));
        assert_eq!(set.first_gap(35), (40, None));
        assert_eq!(set.first_gap(99), (99, None));
        assert!(set.covers(30, 40) && !set.covers(30, 41) && set.covers(1, 1));
        assert!(set.contains(39) && !set.contains(40) && !set.contains(29));
        assert_eq!(set.remove_below(15), 2 + 5);
        assert_eq!(set.iter().collect::<Vec<_>>(), [(15, 20), (30, 40)]);
        assert_eq!(set.remove_below(29), 5);
        assert_eq!(set.remove_below(100), 10);
        assert!(set.is_empty() && set.total() == 0);
    }

    /// Compares with a bit map over a fixed pseudo-random walk.
    #[test]
    fn agrees_with_a_bit_map() {
        const SIZE: u64 = 256;
        let mut generator = testing::random::Random::new(0x9e37_79b9_7f4a_7c15);
        let mut next = |bound: u64| generator.below(bound);
        let mut set = RangeSet::new();
        let mut bits = [false; SIZE as usize];
        for _ in 0..20_000 {
            if next(16) == 0 {
                let bound = next(SIZE);
                let expected = bits[..bound as usize].iter().filter(|bit| **bit).count() as u64;
                bits[..bound as usize].fill(false);
                assert_eq!(set.remove_below(bound), expected);
            } else {
                let start = next(SIZE - 1);
                let end = (start + next(12)).min(SIZE);
                let mut new = [false; SIZE as usize];
                set.insert(start, end, |from, to| {
                    new[from as usize..to as usize].fill(true)
                });
                for offset in start..end {
                    assert_eq!(new[offset as usize], !bits[offset as usize]);
                    bits[offset as usize] = true;
                }
            }
            let ranges: Vec<_> = set.iter().collect();
            assert!(ranges.iter().all(|(from, to)| from < to));
            assert!(
                ranges.windows(2).all(|pair| pair[0].1 < pair[1].0),
                "sorted and disjoint"
            );
            assert_eq!(set.total(), bits.iter().filter(|bit| **bit).count() as u64);
            let probe = next(SIZE);
            assert_eq!(set.contains(probe), bits[probe as usize]);
            let gap = (probe..SIZE)
                .find(|offset| !bits[*offset as usize])
                .unwrap_or(SIZE);
            assert_eq!(set.first_gap(probe).0, gap);
        }
    }
}

//! A set of ranges of the sequence, of bounded size.

use std::collections::BTreeMap;

/// Most ranges that are kept; more would need a capture made for it.
const MOST: usize = 4096;

/// Disjoint ranges, begin to end.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    ranges: BTreeMap<i64, i64>,
    bytes: i64,
}

impl Ranges {
    /// Bytes in all ranges.
    pub const fn bytes(&self) -> i64 {
        self.bytes
    }

    /// Whether all of `start..end` is in the set.
    pub fn contains(&self, start: i64, end: i64) -> bool {
        let before = self.ranges.range(..=start).next_back();
        before.is_some_and(|(_, last)| *last >= end)
    }

    /// Adds `start..end`, and returns the parts that are new.
    pub fn add(&mut self, start: i64, end: i64) -> Vec<(i64, i64)> {
        let mut new = Vec::new();
        if start >= end || self.contains(start, end) {
            return new;
        }
        if self.ranges.len() >= MOST
            && let Some((first, last)) = self.ranges.pop_first()
        {
            self.bytes -= last - first;
        }
        let (mut from, mut begin, mut finish) = (start, start, end);
        if let Some((&first, &last)) = self.ranges.range(..start).next_back()
            && last >= start
        {
            (begin, from) = (first, last);
            finish = finish.max(last);
        }
        let touched: Vec<(i64, i64)> = self
            .ranges
            .range(start..=end)
            .map(|(first, last)| (*first, *last))
            .collect();
        for (first, last) in touched {
            if from < first {
                new.push((from, first.min(end)));
            }
            from = from.max(last);
            finish = finish.max(last);
            self.ranges.remove(&first);
        }
        if from < end {
            new.push((from, end));
        }
        self.ranges.insert(begin, finish);
        self.bytes += new.iter().map(|(first, last)| last - first).sum::<i64>();
        new
    }

    /// Removes `start..end`, and returns how many bytes of it were in the set.
    pub fn remove(&mut self, start: i64, end: i64) -> i64 {
        let before = self.ranges.range(..start).next_back();
        let first = before
            .filter(|(_, last)| **last > start)
            .map(|(first, _)| *first);
        let begin = first.unwrap_or(start);
        let touched: Vec<(i64, i64)> = self
            .ranges
            .range(begin..end.max(begin))
            .map(|(first, last)| (*first, *last))
            .collect();
        let mut removed = 0;
        for (first, last) in touched {
            self.ranges.remove(&first);
            if first < start {
                self.ranges.insert(first, start);
            }
            if last > end {
                self.ranges.insert(end, last);
            }
            removed += last.min(end) - first.max(start);
        }
        self.bytes -= removed;
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_agree_with_a_set_of_bytes() {
        let mut generator = testing::random::Random::new(7);
        let mut random = |below: u64| generator.below(below) as i64;
        let mut ranges = Ranges::default();
        let mut bytes = std::collections::BTreeSet::new();
        for _ in 0..5000 {
            let (start, length) = (random(200), random(20));
            let end = start + length;
            if random(2) == 0 {
                let new: Vec<i64> = (start..end).filter(|byte| bytes.insert(*byte)).collect();
                let added = ranges.add(start, end);
                let added: Vec<i64> = added.into_iter().flat_map(|(a, b)| a..b).collect();
                assert_eq!(added, new);
            } else {
                let gone = (start..end).filter(|byte| bytes.remove(byte)).count();
                assert_eq!(ranges.remove(start, end), gone as i64);
            }
            assert_eq!(ranges.bytes(), bytes.len() as i64);
            let whole = (start..end).all(|byte| bytes.contains(&byte));
            assert!(length == 0 || ranges.contains(start, end) == whole);
        }
    }
}

//! The SACK blocks that a receiver reports, most recent first, and the duplicate that it reports
//! once.
//!
//! RFC 2018 section 4, RFC 2883, with the bookkeeping of Linux 6.12. The list keeps four blocks,
//! although fewer fit into a segment. A dropped block is not stored elsewhere. A duplicate takes
//! the first place in the next ACK, unless more data arrives before it.

use crate::segment::SackBlocks;

/// Blocks remembered (`TCP_NUM_SACKS`).
const REMEMBERED: usize = 4;

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SackList {
    blocks: [(u64, u64); REMEMBERED],
    count: usize,
    /// Reported first in the next ACK.
    duplicate: Option<(u64, u64)>,
}

/// Whether two ranges overlap or touch.
fn touches(a: (u64, u64), b: (u64, u64)) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

fn union(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (a.0.min(b.0), a.1.max(b.1))
}

impl SackList {
    /// Out-of-order data `start..end` arrived. Its block comes first, joined with every listed
    /// block that it touches. If the list is full, the oldest block is dropped.
    pub fn add(&mut self, start: u64, end: u64) {
        let mut block = (start, end);
        // Nearly always it prolongs the last one, and joins no other.
        if let [first, others @ ..] = &mut self.blocks[..self.count]
            && touches(*first, block)
        {
            let joined = union(*first, block);
            if !others.iter().any(|other| touches(*other, joined)) {
                *first = joined;
                return;
            }
        }
        let mut kept = 0;
        // A growing block may reach one that was checked before, so repeat until nothing changes.
        loop {
            let before = block;
            block = self.blocks[..self.count]
                .iter()
                .filter(|other| touches(**other, block))
                .fold(block, |sum, other| union(sum, *other));
            if block == before {
                break;
            }
        }
        for index in 0..self.count {
            if !touches(self.blocks[index], block) {
                self.blocks[kept] = self.blocks[index];
                kept += 1;
            }
        }
        kept = kept.min(REMEMBERED - 1);
        self.blocks.copy_within(..kept, 1);
        self.blocks[0] = block;
        self.count = kept + 1;
    }

    /// Out-of-order data `start..end` arrived, behind which there is none. If it prolongs the first block,
    /// that grows, and a duplicate is forgotten. Otherwise nothing changes, and it returns false.
    #[inline]
    pub fn prolong_first(&mut self, start: u64, end: u64) -> bool {
        match &mut self.blocks[..self.count] {
            [first, ..] if first.1 == start => first.1 = end,
            _ => return false,
        }
        self.duplicate = None;
        true
    }

    /// The position of `start..end`: the first listed block that it touches, or the number of
    /// blocks if it touches none.
    pub fn place_of(&self, start: u64, end: u64) -> usize {
        let block = (start, end);
        self.blocks[..self.count]
            .iter()
            .position(|other| touches(*other, block))
            .unwrap_or(self.count)
    }

    /// Removes the blocks that the cumulative ACK has passed.
    pub fn acknowledge(&mut self, rcv_nxt: u64) {
        let mut kept = 0;
        for index in 0..self.count {
            if self.blocks[index].0 > rcv_nxt {
                self.blocks[kept] = self.blocks[index];
                kept += 1;
            }
        }
        self.count = kept;
    }

    /// `start..end` arrived twice. Extends a pending duplicate if the two touch.
    pub fn add_duplicate(&mut self, start: u64, end: u64) {
        let block = (start, end);
        self.duplicate = Some(match self.duplicate {
            Some(other) if touches(other, block) => union(other, block),
            Some(other) => other,
            None => block,
        });
    }

    /// Like [`Self::add_duplicate`], but replaces a pending duplicate (`tcp_dsack_set`).
    pub fn set_duplicate(&mut self, start: u64, end: u64) {
        self.duplicate = Some((start, end));
    }

    /// Discards a duplicate that no ACK has reported, because other data has arrived.
    pub const fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    /// Whether there is nothing to report.
    pub const fn is_empty(&self) -> bool {
        self.count == 0 && self.duplicate.is_none()
    }

    /// How many blocks are remembered.
    pub const fn remembered(&self) -> usize {
        self.count
    }

    /// At most `most` blocks for an ACK of `ack`. The duplicate counts as reported afterwards.
    pub fn take(&mut self, ack: u64, most: usize) -> SackBlocks {
        let mut out = SackBlocks::default();
        if let Some((start, end)) = self.duplicate.take() {
            out.push(ack, start, end);
        }
        let left = most - out.len();
        for &(start, end) in self.blocks[..self.count].iter().take(left) {
            out.push(ack, start, end);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn blocks(list: &mut SackList) -> Vec<(u64, u64)> {
        list.take(0, 3).iter(0).collect()
    }

    #[test]
    fn most_recent_first_and_joined() {
        let mut list = SackList::default();
        for (start, end) in [(10, 20), (30, 40), (50, 60)] {
            list.add(start, end);
        }
        assert_eq!(blocks(&mut list), [(50, 60), (30, 40), (10, 20)]);
        list.add(40, 45);
        assert_eq!(blocks(&mut list), [(30, 45), (50, 60), (10, 20)]);
        list.add(20, 30);
        assert_eq!(blocks(&mut list), [(10, 45), (50, 60)]);
        assert_eq!((list.place_of(60, 61), list.place_of(70, 71)), (1, 2));
        list.acknowledge(45);
        assert_eq!(blocks(&mut list), [(50, 60)]);
        list.acknowledge(60);
        assert!(list.is_empty());
    }

    #[test]
    fn four_blocks_are_kept_and_as_many_reported_as_fit() {
        let mut list = SackList::default();
        for start in [10, 30, 50, 70, 90] {
            list.add(start, start + 5);
        }
        assert_eq!(list.remembered(), 4);
        assert_eq!(blocks(&mut list), [(90, 95), (70, 75), (50, 55)]);
        assert_eq!(list.take(0, 4).len(), 4);
        list.set_duplicate(1, 2);
        assert_eq!(list.take(0, 4).iter(0).next(), Some((1, 2)));
    }

    #[test]
    fn a_duplicate_is_reported_once_and_first() {
        let mut list = SackList::default();
        list.add(30, 40);
        list.set_duplicate(5, 10);
        list.add_duplicate(10, 12);
        list.add_duplicate(100, 101);
        assert_eq!(blocks(&mut list), [(5, 12), (30, 40)]);
        assert_eq!(blocks(&mut list), [(30, 40)]);
    }
}

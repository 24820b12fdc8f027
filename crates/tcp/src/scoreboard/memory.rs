//! The memory of the ring: it grows with the flight, and goes when nothing is in flight and more is
//! to come, so that a connection that waits is small.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::samples::Samples;
use super::{Scoreboard, Segment, is_pending};

/// A larger ring is not kept for the next connection.
const MOST_KEPT: usize = 1024;

impl Scoreboard {
    #[cold]
    pub(super) fn grow(&mut self) {
        let capacity = (self.slots.len() * 2).max(16);
        let before = self.mask;
        let mask = capacity as u64 - 1;
        self.slots.resize(capacity, Segment::default());
        if !self.pending.is_empty() {
            self.pending.resize(capacity.div_ceil(64), 0);
        }
        // Half of the segments move, from the old ring into the space behind it.
        for index in self.base..self.next {
            let (old, new) = (index & before, index & mask);
            if old == new {
                continue;
            }
            let segment = self.slots[old as usize];
            self.slots[new as usize] = segment;
            if is_pending(segment.flags) {
                self.pending[(old >> 6) as usize] &= !(1 << (old & 63));
                self.pending[(new >> 6) as usize] |= 1 << (new & 63);
            }
        }
        if let Some(samples) = &mut self.samples {
            samples.grow(self.base..self.next, self.mask, mask);
        }
        if let Some(watch) = &mut self.watch {
            watch.grow(self.base..self.next, before, mask);
        }
        self.mask = mask;
    }

    /// Removes what is left in slots without a segment, for comparisons: it depends on when the ring
    /// grew.
    #[cfg(test)]
    pub(crate) fn clear_free_slots(&mut self) {
        for index in self.next..self.base + self.slots.len() as u64 {
            *self.slot_mut(index) = Segment::default();
        }
    }

    /// Gives the memory of the ring up, which a connection without segments in flight does not need:
    /// the next segment makes a new one.
    pub(crate) fn rest(&mut self) {
        debug_assert!(self.is_empty() && !self.has_pending());
        self.slots = Vec::new();
        self.pending = Vec::new();
        self.mask = 0;
        self.retransmissions = VecDeque::new();
        if let Some(samples) = &mut self.samples {
            *samples = Samples::default();
        }
        if let Some(watch) = &mut self.watch {
            watch.rest();
        }
    }

    /// Makes it an empty scoreboard of another connection, in its memory unless that is large.
    pub(crate) fn renew(&mut self, smss: u64) {
        let mut new = Self::new(smss);
        if self.slots.capacity() <= MOST_KEPT {
            new.slots = core::mem::take(&mut self.slots);
            new.pending = core::mem::take(&mut self.pending);
            new.retransmissions = core::mem::take(&mut self.retransmissions);
            new.slots.clear();
            new.pending.clear();
            new.retransmissions.clear();
        }
        *self = new;
    }
}

#[cfg(test)]
mod tests {
    use congestion::rate_sample::SendStamp;
    use units::Instant;

    use super::*;

    #[test]
    fn a_ring_that_rests_takes_no_memory_and_fills_again() {
        let mut board = Scoreboard::new(1000);
        board.begin_watch(1000);
        let mut seq = 0;
        for (turn, count) in (0..).zip([1, 40, 3, 17]) {
            let now = Instant::from_millis(turn);
            let start = seq;
            for _ in 0..count {
                board.push(seq, 1000, now, SendStamp::default());
                seq += 1000;
            }
            assert!(board.is_consistent(true) && board.slots.capacity() >= count);
            let run = board
                .take_plain(start, seq)
                .expect("all of it is in flight");
            assert_eq!(run.count as usize, count);
            board.rest();
            assert!(board.is_empty() && board.is_consistent(true));
            assert_eq!((board.slots.capacity(), board.pending.capacity()), (0, 0));
        }
    }
}

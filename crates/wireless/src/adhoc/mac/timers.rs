//! The timers of all nodes: a binary heap in which each timer has a fixed number and one entry.

use alloc::vec;
use alloc::vec::Vec;

use units::Instant;

/// Timers numbered from zero.
#[derive(Clone, Debug)]
pub(super) struct Timers {
    /// The heap, and where each timer is in it; `NONE` if it is not running.
    heap: Vec<Entry>,
    places: Vec<u32>,
}

/// A timer that runs. Those of one instant are due by their rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) at: Instant,
    pub(super) rank: u64,
    pub(super) timer: u32,
}

impl Entry {
    #[inline(always)]
    pub(super) const fn key(&self) -> u128 {
        key(self.at, self.rank)
    }
}

/// What is due earlier has the lower key.
#[inline(always)]
pub(super) const fn key(at: Instant, rank: u64) -> u128 {
    (at.as_nanos() as u128) << 64 | rank as u128
}

const NONE: u32 = u32::MAX;

impl Timers {
    /// `count` timers, none of them running.
    pub(super) fn new(count: usize) -> Self {
        Self {
            heap: Vec::with_capacity(count),
            places: vec![NONE; count],
        }
    }

    /// The timer that is due next.
    pub(super) fn next(&self) -> Option<&Entry> {
        self.heap.first()
    }

    /// Starts a timer, or moves it.
    pub(super) fn set(&mut self, timer: u32, at: Instant, rank: u64) {
        let entry = Entry { at, rank, timer };
        let place = match self.places[timer as usize] {
            NONE => {
                self.heap.push(entry);
                self.heap.len() - 1
            }
            place => place as usize,
        };
        self.settle(place, entry);
    }

    /// Stops a timer.
    pub(super) fn stop(&mut self, timer: u32) {
        let place = core::mem::replace(&mut self.places[timer as usize], NONE) as usize;
        if place == NONE as usize {
            return;
        }
        if let Some(last) = self.heap.pop()
            && place < self.heap.len()
        {
            self.settle(place, last);
        }
    }

    /// Puts an entry in place of the one at `place`, and moves it to where it belongs.
    fn settle(&mut self, mut place: usize, entry: Entry) {
        let key = entry.key();
        while place > 0 {
            let parent = self.heap[(place - 1) / 2];
            if parent.key() < key {
                break;
            }
            self.put(place, parent);
            place = (place - 1) / 2;
        }
        while let Some(mut least) = self.heap.get(2 * place + 1) {
            let mut child = 2 * place + 1;
            if let Some(other) = self.heap.get(child + 1)
                && other.key() < least.key()
            {
                (child, least) = (child + 1, other);
            }
            if key < least.key() {
                break;
            }
            self.put(place, *least);
            place = child;
        }
        self.put(place, entry);
    }

    fn put(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.places[entry.timer as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::{RngCore, SeedableRng};

    use super::*;

    #[test]
    fn the_next_timer_is_the_earliest_with_the_lowest_rank() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut timers = Timers::new(9);
        let mut model: Vec<Option<(Instant, u64)>> = vec![None; 9];
        for _ in 0..20_000 {
            let drawn = rng.next_u32();
            let (timer, at) = (drawn % 9, Instant::from_nanos(u64::from(drawn >> 8) % 50));
            // Not in the order of the numbers, and no two are equal.
            let rank = u64::from(rng.next_u32()) << 8 | u64::from(timer);
            if drawn >> 16 & 3 == 0 {
                timers.stop(timer);
                model[timer as usize] = None;
            } else {
                timers.set(timer, at, rank);
                model[timer as usize] = Some((at, rank));
            }
            let earliest = model.iter().flatten().min().copied();
            let next = timers.next();
            assert_eq!(next.map(|entry| (entry.at, entry.rank)), earliest);
            assert!(next.is_none_or(|entry| entry.rank % 256 == entry.timer.into()));
        }
    }
}

//! The timers of all nodes: a binary heap in which each timer has a fixed number and one entry.

use alloc::vec;
use alloc::vec::Vec;

use units::Instant;

/// Timers numbered from zero. Those of one instant are due in the order of their numbers.
#[derive(Clone, Debug)]
pub(super) struct Timers {
    /// The heap, and where each timer is in it; `NONE` if it is not running.
    heap: Vec<(Instant, u32)>,
    places: Vec<u32>,
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
    pub(super) fn next(&self) -> Option<(Instant, u32)> {
        self.heap.first().copied()
    }

    /// Starts a timer, or moves it.
    pub(super) fn set(&mut self, timer: u32, at: Instant) {
        let place = match self.places[timer as usize] {
            NONE => {
                self.heap.push((at, timer));
                self.heap.len() - 1
            }
            place => {
                self.heap[place as usize].0 = at;
                place as usize
            }
        };
        self.settle(place);
    }

    /// Stops a timer.
    pub(super) fn stop(&mut self, timer: u32) {
        let place = core::mem::replace(&mut self.places[timer as usize], NONE);
        if place == NONE {
            return;
        }
        self.heap.swap_remove(place as usize);
        if (place as usize) < self.heap.len() {
            self.settle(place as usize);
        }
    }

    /// Moves the entry at `place` to where it belongs.
    fn settle(&mut self, mut place: usize) {
        let entry = self.heap[place];
        while place > 0 && entry < self.heap[(place - 1) / 2] {
            let parent = (place - 1) / 2;
            self.put(place, self.heap[parent]);
            place = parent;
        }
        loop {
            let mut child = 2 * place + 1;
            if child + 1 < self.heap.len() && self.heap[child + 1] < self.heap[child] {
                child += 1;
            }
            if child >= self.heap.len() || entry < self.heap[child] {
                break;
            }
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, entry);
    }

    fn put(&mut self, place: usize, entry: (Instant, u32)) {
        self.heap[place] = entry;
        self.places[entry.1 as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::{RngCore, SeedableRng};

    use super::*;

    #[test]
    fn the_next_timer_is_the_earliest_with_the_lowest_number() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut timers = Timers::new(9);
        let mut model: Vec<Option<Instant>> = vec![None; 9];
        for _ in 0..20_000 {
            let drawn = rng.next_u32();
            let (timer, at) = (drawn % 9, Instant::from_nanos(u64::from(drawn >> 8) % 50));
            if drawn >> 16 & 3 == 0 {
                timers.stop(timer);
                model[timer as usize] = None;
            } else {
                timers.set(timer, at);
                model[timer as usize] = Some(at);
            }
            let earliest = model
                .iter()
                .zip(0..)
                .filter_map(|(at, timer)| Some(((*at)?, timer)));
            assert_eq!(timers.next(), earliest.min());
        }
    }
}

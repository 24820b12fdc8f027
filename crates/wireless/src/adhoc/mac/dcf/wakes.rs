//! When each node looks at its backoff.
//!
//! A wheel of buckets of 4 us that covers 33 ms (a calendar queue: Brown, Communications of the ACM
//! 31(10), 1988). A node has at most one time, linked into its bucket, so that a change costs the
//! same however many nodes there are.

use alloc::vec;
use alloc::vec::Vec;

use units::{Duration, Instant};

use crate::NodeId;

const BUCKET_BITS: u32 = 12;
const BUCKETS: usize = 8192;
const WORDS: usize = BUCKETS / 64;
/// No node.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// [`Instant::MAX`] is none.
    at: Instant,
    next: u32,
    previous: u32,
}

#[derive(Debug)]
pub(super) struct Wakes {
    entries: Vec<Entry>,
    /// The first node of each bucket.
    heads: Vec<u32>,
    /// A bit for each bucket that has a node.
    occupied: [u64; WORDS],
    /// A bit for each word of `occupied` that is not zero.
    words: u128,
    /// The earliest one; of several, the lowest node.
    first: (Instant, NodeId),
}

impl Wakes {
    /// Later times count as this much later: a node then looks once more.
    const HORIZON: Duration = Duration::from_nanos(((BUCKETS as u64) - 1) << BUCKET_BITS);

    pub(super) fn new(nodes: usize) -> Self {
        let none = Entry {
            at: Instant::MAX,
            next: NONE,
            previous: NONE,
        };
        Self {
            entries: vec![none; nodes],
            heads: vec![NONE; BUCKETS],
            occupied: [0; WORDS],
            words: 0,
            first: (Instant::MAX, NodeId(NONE)),
        }
    }

    /// The earliest one; [`Instant::MAX`] is none.
    pub(super) const fn first(&self) -> (Instant, NodeId) {
        self.first
    }

    /// When `node` looks; [`Instant::MAX`] is never.
    pub(super) fn at(&self, node: NodeId) -> Instant {
        self.entries[node.index()].at
    }

    /// Lets `node` look at `at` instead of any other time. No time is before `now`.
    pub(super) fn set(&mut self, now: Instant, node: NodeId, at: Instant) {
        self.unlink(node);
        let at = at.min(now + Self::HORIZON);
        let bucket = Self::bucket(at);
        let next = self.heads[bucket];
        self.entries[node.index()] = Entry {
            at,
            next,
            previous: NONE,
        };
        if next != NONE {
            self.entries[next as usize].previous = node.0;
        }
        self.heads[bucket] = node.0;
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
        self.words |= 1 << (bucket / 64);
        if self.first.1 == node {
            self.find(now);
        } else {
            self.first = self.first.min((at, node));
        }
    }

    /// `node` does not look any more.
    pub(super) fn clear(&mut self, now: Instant, node: NodeId) {
        self.unlink(node);
        if self.first.1 == node {
            self.find(now);
        }
    }

    const fn bucket(at: Instant) -> usize {
        (at.as_nanos() >> BUCKET_BITS) as usize % BUCKETS
    }

    fn unlink(&mut self, node: NodeId) {
        let entry = &mut self.entries[node.index()];
        let Entry { at, next, previous } = *entry;
        if at == Instant::MAX {
            return;
        }
        entry.at = Instant::MAX;
        if next != NONE {
            self.entries[next as usize].previous = previous;
        }
        if previous != NONE {
            self.entries[previous as usize].next = next;
            return;
        }
        let bucket = Self::bucket(at);
        self.heads[bucket] = next;
        if next == NONE {
            let word = &mut self.occupied[bucket / 64];
            *word &= !(1 << (bucket % 64));
            if *word == 0 {
                self.words &= !(1 << (bucket / 64));
            }
        }
    }

    /// Finds the earliest one, which is not before `now`.
    fn find(&mut self, now: Instant) {
        self.first = (Instant::MAX, NodeId(NONE));
        let start = Self::bucket(now);
        let mut word = start / 64;
        let mut bits = self.occupied[word] & (u64::MAX << (start % 64));
        if bits == 0 {
            // The next word that is not zero; after all others this one, for its bits before
            // `start`.
            let next = word + 1;
            let ahead = self.words.rotate_right(next as u32);
            if ahead == 0 {
                return;
            }
            word = (next + ahead.trailing_zeros() as usize) % WORDS;
            bits = self.occupied[word];
        }
        let bucket = word * 64 + bits.trailing_zeros() as usize;
        let mut node = self.heads[bucket];
        while node != NONE {
            let entry = self.entries[node as usize];
            self.first = self.first.min((entry.at, NodeId(node)));
            node = entry.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use network::Streams;

    use super::*;
    use crate::random::below;

    /// Against an ordered map, with times up to three times the horizon.
    #[test]
    fn the_first_is_the_earliest() {
        let mut rng = Streams::new(1).stream("wakes");
        let mut wakes = Wakes::new(50);
        let mut all = BTreeMap::new();
        let mut now = Instant::ZERO;
        for _ in 0..200_000 {
            let node = NodeId(below(&mut rng, 50) as u32);
            // Times often coincide.
            let ahead = below(&mut rng, 100_000) * below(&mut rng, 1000) / 977 * 977;
            match below(&mut rng, 4) {
                0 => {
                    all.remove(&node);
                    wakes.clear(now, node);
                }
                1 => {
                    let first = all.iter().map(|(node, at)| (*at, *node)).min();
                    assert_eq!(wakes.first().0 == Instant::MAX, first.is_none());
                    if let Some((at, node)) = first {
                        assert_eq!(wakes.first(), (at, node));
                        now = at;
                        all.remove(&node);
                        wakes.clear(now, node);
                    }
                }
                _ => {
                    let at = now + Duration::from_nanos(ahead);
                    wakes.set(now, node, at);
                    assert!(wakes.at(node) <= at);
                    assert!(wakes.at(node) == at || wakes.at(node) == now + Wakes::HORIZON);
                    all.insert(node, wakes.at(node));
                }
            }
        }
        assert!(now > Instant::from_millis(100));
    }
}

//! An indexed heap with one entry for each component.

use units::Instant;

/// Something that can act at a time of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Component(u32);

impl Component {
    /// Its number, counted from zero in the order of [`Calendar::add`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

const ABSENT: u32 = u32::MAX;
/// Children of a node. Four keep the tree shallow and a node's children in one or two cache lines.
const ARITY: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Instant,
    component: Component,
}

/// The times at which components want to act.
#[derive(Clone, Debug, Default)]
pub struct Calendar {
    heap: Vec<Entry>,
    /// Where each component stands in the heap.
    position: Vec<u32>,
}

impl Calendar {
    /// A component that is not scheduled yet.
    pub fn add(&mut self) -> Component {
        let component = Component(self.position.len() as u32);
        self.position.push(ABSENT);
        component
    }

    /// The next to act. Equal times go by the component's number.
    #[must_use]
    pub fn next(&self) -> Option<(Instant, Component)> {
        self.heap.first().map(|entry| (entry.at, entry.component))
    }

    /// When `component` acts, if it is scheduled.
    #[must_use]
    pub fn scheduled(&self, component: Component) -> Option<Instant> {
        self.heap
            .get(self.position[component.index()] as usize)
            .map(|entry| entry.at)
    }

    /// `component` acts at `at`, in place of any earlier wish of its own; `None` cancels.
    pub fn schedule(&mut self, component: Component, at: Option<Instant>) {
        let position = self.position[component.index()];
        match at {
            Some(at) if position == ABSENT => {
                self.heap.push(Entry { at, component });
                self.position[component.index()] = (self.heap.len() - 1) as u32;
                self.sift_up(self.heap.len() - 1);
            }
            Some(at) => {
                let position = position as usize;
                let before = self.heap[position].at;
                self.heap[position].at = at;
                if at < before {
                    self.sift_up(position);
                } else if at > before {
                    self.sift_down(position);
                }
            }
            None if position == ABSENT => {}
            None => self.remove(position as usize),
        }
    }

    fn remove(&mut self, position: usize) {
        let removed = self.heap.swap_remove(position);
        self.position[removed.component.index()] = ABSENT;
        if position < self.heap.len() {
            self.position[self.heap[position].component.index()] = position as u32;
            self.sift_down(position);
            self.sift_up(position);
        }
    }

    fn sift_up(&mut self, mut position: usize) {
        let entry = self.heap[position];
        while position > 0 {
            let parent = (position - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.place(position, self.heap[parent]);
            position = parent;
        }
        self.place(position, entry);
    }

    fn sift_down(&mut self, mut position: usize) {
        let entry = self.heap[position];
        loop {
            let first = position * ARITY + 1;
            let last = (first + ARITY).min(self.heap.len());
            let Some(least) = (first..last).min_by_key(|&child| self.heap[child]) else {
                break;
            };
            if entry <= self.heap[least] {
                break;
            }
            self.place(position, self.heap[least]);
            position = least;
        }
        self.place(position, entry);
    }

    fn place(&mut self, position: usize, entry: Entry) {
        self.heap[position] = entry;
        self.position[entry.component.index()] = position as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_times_go_by_number() {
        let mut calendar = Calendar::default();
        let components: Vec<_> = (0..3).map(|_| calendar.add()).collect();
        for &component in components.iter().rev() {
            calendar.schedule(component, Some(Instant::from_millis(5)));
        }
        for &component in &components {
            assert_eq!(calendar.next(), Some((Instant::from_millis(5), component)));
            calendar.schedule(component, None);
        }
        assert_eq!(calendar.next(), None);
    }

    proptest! {
        /// Against an ordered set, over random schedules and cancellations.
        #[test]
        fn agrees_with_an_ordered_set(operations in prop::collection::vec((0usize..40, prop::option::of(0u64..50)), 1..400)) {
            let mut calendar = Calendar::default();
            let components: Vec<_> = (0..40).map(|_| calendar.add()).collect();
            let mut model = BTreeSet::new();
            let mut times = [None; 40];
            for (index, at) in operations {
                calendar.schedule(components[index], at.map(Instant::from_nanos));
                if let Some(old) = times[index] {
                    model.remove(&(old, index));
                }
                if let Some(at) = at {
                    model.insert((at, index));
                }
                times[index] = at;
                let expected = model.first().map(|&(at, index)| (Instant::from_nanos(at), components[index]));
                prop_assert_eq!(calendar.next(), expected);
                for (index, &at) in times.iter().enumerate() {
                    prop_assert_eq!(calendar.scheduled(components[index]), at.map(Instant::from_nanos));
                }
            }
        }
    }
}

//! A heap of components that selects the next one to act.

use prefetch::prefetch;
use units::Instant;

/// A component that can act at a time of its own. The default is the first one of a calendar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Component(u32);

impl Component {
    /// The component's number, counted from zero in the order of [`Calendar::add`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The times at which components want to act.
///
/// A binary heap of the components that are scheduled, so one that is not costs nothing. The first
/// entry is the next to act, and no entry comes before its parent. Of equal times the one of the
/// component with the lower number comes first. Each component knows where its entry stands.
#[derive(Clone, Debug, Default)]
pub struct Calendar {
    /// The parent of entry `n` is entry `(n - 1) / 2`.
    heap: Vec<Entry>,
    /// The position of each component's entry in the heap, or [`NOWHERE`].
    positions: Vec<u32>,
    /// Number of changes, modulo 2^32.
    changes: u32,
}

/// When a component acts: the time, and the component's number in the lower 32 bits. A single number
/// compares fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    const NEVER: Self = Self(u128::MAX);

    #[inline(always)]
    const fn new(at: Instant, component: Component) -> Self {
        Self((at.as_nanos() as u128) << 32 | component.0 as u128)
    }

    #[inline(always)]
    const fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> 32) as u64)
    }

    #[inline(always)]
    const fn component(self) -> Component {
        Component(self.0 as u32)
    }
}

/// The position of a component that is not scheduled.
const NOWHERE: u32 = u32::MAX;

impl Calendar {
    /// Adds a component that is not scheduled yet.
    pub fn add(&mut self) -> Component {
        self.positions.push(NOWHERE);
        Component(self.positions.len() as u32 - 1)
    }

    /// The next component to act. The lower number wins among equal times.
    #[must_use]
    #[inline]
    pub fn next(&self) -> Option<(Instant, Component)> {
        let first = self.heap.first()?;
        Some((first.at(), first.component()))
    }

    /// When the next component acts; [`Instant::MAX`] is never.
    #[must_use]
    #[inline]
    pub fn soonest(&self) -> Instant {
        self.heap.first().map_or(Instant::MAX, |entry| entry.at())
    }

    /// When the next component other than `component` acts; [`Instant::MAX`] is never.
    #[must_use]
    #[inline]
    pub fn soonest_other(&self, component: Component) -> Instant {
        match self.heap.as_slice() {
            [first, ..] if first.component() != component => first.at(),
            [_, left, right, ..] => left.min(right).at(),
            [_, left] => left.at(),
            _ => Instant::MAX,
        }
    }

    /// Asks for the memory that [`Self::schedule`] of `component` will read. It changes nothing.
    #[inline]
    pub fn expect(&self, component: Component) {
        if let Some(position) = self.positions.get(component.index()) {
            prefetch(position);
        }
    }

    /// A number that every call of [`Self::schedule`] changes.
    #[must_use]
    #[inline]
    pub const fn changes(&self) -> u32 {
        self.changes
    }

    /// When `component` acts, if it is scheduled.
    #[must_use]
    pub fn scheduled(&self, component: Component) -> Option<Instant> {
        let position = self.positions[component.index()];
        self.heap.get(position as usize).map(|entry| entry.at())
    }

    /// Schedules `component` at `at` and replaces its earlier entry. `None` (or [`Instant::MAX`])
    /// cancels the entry.
    #[inline]
    pub fn schedule(&mut self, component: Component, at: Option<Instant>) {
        self.changes = self.changes.wrapping_add(1);
        let position = self.positions[component.index()] as usize;
        let Some(at) = at.filter(|&at| at < Instant::MAX) else {
            return self.cancel(position);
        };
        let entry = Entry::new(at, component);
        match self.heap.get(position) {
            Some(old) if *old < entry => self.sink(position, entry),
            Some(_) => self.rise(position, entry),
            None => {
                self.heap.push(entry);
                self.rise(self.heap.len() - 1, entry);
            }
        }
    }

    /// Removes the entry at `position`, if there is one. The last one fills the gap.
    fn cancel(&mut self, position: usize) {
        let Some(&old) = self.heap.get(position) else {
            return;
        };
        self.positions[old.component().index()] = NOWHERE;
        let Some(last) = self.heap.pop() else {
            return;
        };
        if position == self.heap.len() {
            return;
        }
        if last > old {
            self.sink(position, last);
        } else {
            self.rise(position, last);
        }
    }

    /// Puts `entry` at `position`, or further to the front where it comes before its parents.
    #[inline]
    fn rise(&mut self, mut position: usize, entry: Entry) {
        while position > 0 {
            let above = (position - 1) / 2;
            let parent = self.heap[above];
            if parent < entry {
                break;
            }
            self.put(position, parent);
            position = above;
        }
        self.put(position, entry);
    }

    /// Puts `entry` at `position`, or further to the back where it comes after its children.
    #[inline]
    fn sink(&mut self, mut position: usize, entry: Entry) {
        loop {
            let left = 2 * position + 1;
            let Some(&first) = self.heap.get(left) else {
                break;
            };
            // Which child comes first is anyone's guess, so this has no branch.
            let second = self.heap.get(left + 1).copied().unwrap_or(Entry::NEVER);
            let below = left + usize::from(second < first);
            let child = second.min(first);
            if entry < child {
                break;
            }
            self.put(position, child);
            position = below;
        }
        self.put(position, entry);
    }

    #[inline(always)]
    fn put(&mut self, position: usize, entry: Entry) {
        self.heap[position] = entry;
        self.positions[entry.component().index()] = position as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_times_are_ordered_by_number() {
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

    #[test]
    fn components_may_be_added_while_others_are_scheduled() {
        let mut calendar = Calendar::default();
        for number in 0..100u64 {
            let component = calendar.add();
            calendar.schedule(component, Some(Instant::from_nanos(1000 - number)));
            assert_eq!(
                calendar.next(),
                Some((Instant::from_nanos(1000 - number), component))
            );
        }
    }

    proptest! {
        /// Compares with an ordered set over random schedules and cancellations.
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
                let time = |entry: Option<&(u64, usize)>| entry.map_or(Instant::MAX, |&(at, _)| Instant::from_nanos(at));
                prop_assert_eq!(calendar.soonest(), time(model.first()));
                let other = model.iter().find(|entry| entry.1 != index);
                prop_assert_eq!(calendar.soonest_other(components[index]), time(other));
                for (index, &at) in times.iter().enumerate() {
                    prop_assert_eq!(calendar.scheduled(components[index]), at.map(Instant::from_nanos));
                }
            }
        }
    }
}

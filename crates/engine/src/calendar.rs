//! A tournament tree over components that selects the next one to act.

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
/// A complete binary tree whose leaves are the components, in order. Each inner node holds the
/// earlier time of its two children. A change propagates upward only as far as it alters a node. A
/// walk from the root finds the next component. Of equal times the left one wins, which is the
/// component with the lower number. Each step compares two adjacent integers.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// Node 1 is the root, and the children of `n` are `2n` and `2n + 1`. [`Instant::MAX`] means
    /// never.
    tree: Vec<Instant>,
    /// Number of leaves, a power of two; leaf `c` is node `leaves + c`.
    leaves: usize,
    components: usize,
    /// Number of changes, modulo 2^32.
    changes: u32,
}

impl Default for Calendar {
    fn default() -> Self {
        Self {
            tree: vec![Instant::MAX; 2],
            leaves: 1,
            components: 0,
            changes: 0,
        }
    }
}

impl Calendar {
    /// Adds a component that is not scheduled yet.
    pub fn add(&mut self) -> Component {
        if self.components == self.leaves {
            self.grow();
        }
        self.components += 1;
        Component(self.components as u32 - 1)
    }

    fn grow(&mut self) {
        let mut tree = vec![Instant::MAX; 4 * self.leaves];
        tree[2 * self.leaves..3 * self.leaves].copy_from_slice(&self.tree[self.leaves..]);
        self.leaves *= 2;
        for node in (1..self.leaves).rev() {
            tree[node] = tree[2 * node].min(tree[2 * node + 1]);
        }
        self.tree = tree;
    }

    /// The next component to act. The lower number wins among equal times.
    #[must_use]
    #[inline]
    pub fn next(&self) -> Option<(Instant, Component)> {
        let at = self.tree[1];
        if at == Instant::MAX {
            return None;
        }
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            node += usize::from(self.tree[node] != at);
        }
        Some((at, Component((node - self.leaves) as u32)))
    }

    /// When the next component acts; [`Instant::MAX`] is never.
    #[must_use]
    #[inline]
    pub fn soonest(&self) -> Instant {
        self.tree[1]
    }

    /// When the next component other than `component` acts; [`Instant::MAX`] is never.
    #[must_use]
    #[inline]
    pub fn soonest_other(&self, component: Component) -> Instant {
        let mut node = self.leaves + component.index();
        let mut soonest = Instant::MAX;
        while node > 1 {
            soonest = soonest.min(self.tree[node ^ 1]);
            node /= 2;
        }
        soonest
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
        Some(self.tree[self.leaves + component.index()]).filter(|&at| at < Instant::MAX)
    }

    /// Schedules `component` at `at` and replaces its earlier entry. `None` (or [`Instant::MAX`])
    /// cancels the entry.
    #[inline]
    pub fn schedule(&mut self, component: Component, at: Option<Instant>) {
        self.changes = self.changes.wrapping_add(1);
        let mut node = self.leaves + component.index();
        self.tree[node] = at.unwrap_or(Instant::MAX);
        while node > 1 {
            let winner = self.tree[node].min(self.tree[node ^ 1]);
            node /= 2;
            if self.tree[node] == winner {
                break;
            }
            self.tree[node] = winner;
        }
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

//! A heap of components that selects the next one to act.

mod far;

use std::mem;

use far::{Far, NOWHERE};
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
///
/// Shortcut: of a long calendar, the heap holds only what acts soon. Entries of a later time lie in
/// `far` without an order, and come to the heap when it runs short of entries. All of them are later
/// than all of the heap, so the heap's first entries are those of the whole.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// The parent of entry `n` is entry `(n - 1) / 2`.
    heap: Vec<Entry>,
    /// The position of each component's entry in the heap, or [`NOWHERE`].
    positions: Vec<u32>,
    /// Number of changes, modulo 2^32.
    changes: u32,
    /// Entries before this are in the heap, and all others in `far`. With at least one of those, the
    /// heap has two entries or more.
    horizon: Instant,
    /// With more entries than this, the heap passes the later ones on.
    most: usize,
    far: Option<Box<Far>>,
}

impl Default for Calendar {
    fn default() -> Self {
        Self {
            heap: Vec::new(),
            positions: Vec::new(),
            changes: 0,
            horizon: Instant::MAX,
            most: LONGEST,
            far: None,
        }
    }
}

/// A heap of so many entries holds all of them.
const LONGEST: usize = 32;

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
        let far = || self.far.as_ref()?.get(position);
        let entry = self.heap.get(position as usize).copied().or_else(far)?;
        Some(entry.at())
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
            Some(old) if *old < entry => {
                if at < self.horizon {
                    self.sink(position, entry);
                } else {
                    self.postpone(position, entry);
                }
            }
            Some(_) => self.rise(position, entry),
            None if at < self.horizon && position == NOWHERE as usize => self.join(entry),
            None => self.schedule_far(position, entry),
        }
    }

    /// A new entry of the heap.
    #[inline]
    fn join(&mut self, entry: Entry) {
        self.heap.push(entry);
        self.rise(self.heap.len() - 1, entry);
        if self.heap.len() > self.most {
            self.spread();
        }
    }

    /// The entry at `position` of the heap becomes `entry`, which belongs to `far`.
    #[inline(never)]
    fn postpone(&mut self, position: usize, entry: Entry) {
        self.take_out(position);
        if let Some(far) = &mut self.far {
            far.insert(entry, &mut self.positions);
        }
        self.refill();
    }

    /// Schedules an entry that belongs to `far`, or was there.
    #[inline(never)]
    fn schedule_far(&mut self, position: usize, entry: Entry) {
        let Some(far) = &mut self.far else {
            return;
        };
        if position != NOWHERE as usize {
            far.remove(position as u32, &mut self.positions);
        }
        if entry.at() < self.horizon {
            self.join(entry);
        } else {
            far.insert(entry, &mut self.positions);
        }
    }

    /// Removes the entry at `position`, if there is one.
    fn cancel(&mut self, position: usize) {
        if let Some(old) = self.heap.get(position) {
            self.positions[old.component().index()] = NOWHERE;
            self.take_out(position);
            self.refill();
        } else if position != NOWHERE as usize
            && let Some(far) = &mut self.far
        {
            let component = far.remove(position as u32, &mut self.positions);
            self.positions[component.index()] = NOWHERE;
        }
    }

    /// Takes the entry at `position` out of the heap. The gap moves to the back, where the last one,
    /// which belongs there, fills it.
    #[inline(always)]
    fn take_out(&mut self, position: usize) {
        let Some(last) = self.heap.pop() else {
            return;
        };
        if position >= self.heap.len() {
            return;
        }
        let mut gap = position;
        while let Some((below, child)) = self.first_below(gap) {
            self.put(gap, child);
            gap = below;
        }
        self.rise(gap, last);
    }

    /// The child of `position` that comes first, and where it is.
    #[inline(always)]
    fn first_below(&self, position: usize) -> Option<(usize, Entry)> {
        let left = 2 * position + 1;
        let &first = self.heap.get(left)?;
        // Which child comes first is anyone's guess, so this has no branch.
        let second = self.heap.get(left + 1).copied().unwrap_or(Entry::NEVER);
        Some((left + usize::from(second < first), second.min(first)))
    }

    /// Brings entries back to a heap that has few.
    #[inline]
    fn refill(&mut self) {
        if self.heap.len() < 2 && self.horizon < Instant::MAX {
            self.bring();
        }
    }

    #[inline(never)]
    fn bring(&mut self) {
        let Some(mut far) = self.far.take() else {
            return;
        };
        while self.heap.len() < 2 {
            let Some((horizon, entries)) = far.next(&mut self.positions) else {
                self.horizon = Instant::MAX;
                break;
            };
            self.horizon = horizon;
            for entry in entries.drain(..) {
                self.heap.push(entry);
                self.rise(self.heap.len() - 1, entry);
            }
        }
        self.far = Some(far);
    }

    /// The heap is long: it keeps what comes next, and passes on the rest.
    #[cold]
    #[inline(never)]
    fn spread(&mut self) {
        if self.positions.len() > far::MOST_COMPONENTS {
            self.most = usize::MAX;
            return;
        }
        let far = self.far.get_or_insert_default();
        let mut entries = mem::take(&mut self.heap);
        far.drain(&mut entries);
        self.horizon = far.spread(&mut entries, &mut self.positions);
        entries.clear();
        self.heap = entries;
        self.bring();
        self.most = LONGEST.max(2 * self.heap.len());
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
        while let Some((below, child)) = self.first_below(position) {
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
            compare(40, operations)?;
        }

        /// The same where entries leave the heap: many components, and times that follow a clock.
        #[test]
        fn a_long_calendar_agrees_with_an_ordered_set(
            operations in prop::collection::vec((0usize..400, 0u32..20, any::<u64>(), 0u64..2_000), 500..3_000),
            is_first in any::<bool>(),
        ) {
            let (mut now, mut far) = (0, 0);
            let operations = operations.into_iter().map(|(index, bits, delay, step)| {
                now += step;
                let at = match bits {
                    0 => None,
                    1 => Some(now.saturating_sub(step * 10)),
                    // Up to half of a second, a few equal times, and a time that never comes.
                    2..18 => Some(now + delay % (1 << (bits + 12))),
                    18 => Some(now / 1_000_000 * 1_000_000 + 1_000_000),
                    _ => Some(u64::MAX - 1 - delay % 3),
                };
                (index, at)
            });
            let mut calendar = Calendar::default();
            let mut model = Model::new(400, &mut calendar);
            for (index, at) in operations {
                model.schedule(&mut calendar, index, at)?;
                // The next component acts, as in a run.
                if is_first && let Some((at, component)) = calendar.next() {
                    let again = at.as_nanos() % 3 > 0;
                    let next = again.then(|| at.as_nanos().saturating_add(1 + at.as_nanos() % 77_777));
                    model.schedule(&mut calendar, component.index(), next.filter(|&next| next < u64::MAX))?;
                }
                far += usize::from(calendar.horizon < Instant::MAX);
            }
            model.check_all(&calendar)?;
            prop_assert!(far > 0, "no entry left the heap");
        }
    }

    /// An ordered set of the same entries.
    struct Model {
        components: Vec<Component>,
        set: BTreeSet<(u64, usize)>,
        times: Vec<Option<u64>>,
    }

    impl Model {
        fn new(count: usize, calendar: &mut Calendar) -> Self {
            Self {
                components: (0..count).map(|_| calendar.add()).collect(),
                set: BTreeSet::new(),
                times: vec![None; count],
            }
        }

        fn schedule(
            &mut self,
            calendar: &mut Calendar,
            index: usize,
            at: Option<u64>,
        ) -> Result<(), TestCaseError> {
            calendar.schedule(self.components[index], at.map(Instant::from_nanos));
            if let Some(old) = self.times[index] {
                self.set.remove(&(old, index));
            }
            self.set.extend(at.map(|at| (at, index)));
            self.times[index] = at;
            let time = |entry: Option<&(u64, usize)>| entry.map_or(u64::MAX, |&(at, _)| at);
            let next = calendar
                .next()
                .map(|(at, component)| (at.as_nanos(), component.index()));
            prop_assert_eq!(next, self.set.first().copied());
            prop_assert_eq!(calendar.soonest().as_nanos(), time(self.set.first()));
            let other = self.set.iter().find(|entry| entry.1 != index);
            let soonest = calendar.soonest_other(self.components[index]);
            prop_assert_eq!(soonest.as_nanos(), time(other));
            let scheduled = calendar.scheduled(self.components[index]);
            prop_assert_eq!(scheduled, at.map(Instant::from_nanos));
            Ok(())
        }

        fn check_all(&self, calendar: &Calendar) -> Result<(), TestCaseError> {
            for (&component, &at) in self.components.iter().zip(&self.times) {
                prop_assert_eq!(calendar.scheduled(component), at.map(Instant::from_nanos));
            }
            Ok(())
        }
    }

    fn compare(count: usize, operations: Vec<(usize, Option<u64>)>) -> Result<(), TestCaseError> {
        let mut calendar = Calendar::default();
        let mut model = Model::new(count, &mut calendar);
        for (index, at) in operations {
            model.schedule(&mut calendar, index, at)?;
            model.check_all(&calendar)?;
        }
        Ok(())
    }
}

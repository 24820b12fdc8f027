//! The delay line of a link: propagation delay, jitter and reordering, after the server.
//!
//! A train takes one entry: packets that are alike but for what [`Payload::following`] changes, and
//! that leave the server one after the other without a gap. The entry is its first packet, and stays
//! as it is until the last one has been popped. A second, short ring has what the packets behind the
//! first one add.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::mem;

use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant, Pace};

use crate::jitter::{self, Jitter};
use crate::reordering::{self, Reordering};
use crate::{LinkConfig, Packet, Payload};

/// A packet and the instant at which it is due.
type Slot<T> = Option<(Instant, Packet<T>)>;

#[derive(Debug)]
pub(crate) struct Line<T> {
    /// A ring of packets with the instants at which they are due, in order of both. Its length is
    /// zero or a power of two, and entry `n` is at `n` modulo that length.
    slots: Box<[Slot<T>]>,
    /// Entries that have left, which is the number of the first one inside.
    head: u64,
    /// Entries that have come.
    tail: u64,
    /// When the next packet is due; [`Instant::MAX`] with none inside.
    due: Instant,
    delay: Duration,
    /// The first entry that is a train, and those behind it.
    train: Train,
    #[allow(clippy::box_collection, reason = "an idle link is small")]
    trains: Option<Box<VecDeque<Train>>>,
    last_due: Instant,
    jitter: Option<Box<Jitter>>,
    reordering: Option<Box<Reordering>>,
    /// For packets from a late stage, and where packets are reordered: when each left the server, and
    /// in which busy period.
    #[allow(
        clippy::box_collection,
        reason = "few links have it, and an idle link is small"
    )]
    left: Option<Box<VecDeque<(Instant, u64)>>>,
}

#[derive(Clone, Copy, Debug)]
struct Train {
    /// Number of its entry.
    entry: u64,
    /// Packets behind the one in the entry, at least one.
    followers: u32,
    /// How many of its packets have been popped.
    popped: u32,
    /// From the packet to be popped to the next.
    pace: Pace,
}

impl Train {
    const NONE: Self = Self {
        entry: u64::MAX,
        followers: 0,
        popped: 0,
        pace: Pace::INSTANT,
    };
}

/// The packets of an entry, a train or a single packet, that are still on the line.
#[derive(Clone, Copy, Debug)]
pub struct TrainPackets {
    due: Instant,
    number: u32,
    followers: u32,
    /// From the first of them to the next.
    pace: Pace,
}

impl TrainPackets {
    /// Those of no entry, and a single packet but for its time.
    pub const NONE: Self = Self {
        due: Instant::MAX,
        number: 0,
        followers: 0,
        pace: Pace::INSTANT,
    };

    /// When the first of them is due; [`Instant::MAX`] without one.
    #[inline(always)]
    #[must_use]
    pub const fn due(&self) -> Instant {
        self.due
    }

    /// Its place behind the packet that the entry came with: the `k` of [`Payload::following`].
    #[inline(always)]
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Whether another one is behind the first of them.
    #[inline(always)]
    #[must_use]
    pub const fn has_second(&self) -> bool {
        self.number < self.followers
    }

    /// The first of them leaves.
    #[inline(always)]
    pub fn pass(&mut self) {
        self.due = if self.has_second() {
            self.due + self.pace.step()
        } else {
            Instant::MAX
        };
        self.number += 1;
    }
}

/// Slots of a ring with the first packet.
const FEWEST_SLOTS: usize = 4;

impl<T> Line<T> {
    pub(crate) fn new(config: &LinkConfig, rng: &ChaCha8Rng) -> Self {
        Self {
            jitter: jitter::new(config.jitter.as_ref(), rng),
            reordering: reordering::new(config, rng),
            ..Self::steady(config.delay)
        }
    }

    /// A line of constant delay. It allocates nothing before its first packet.
    pub(crate) fn steady(delay: Duration) -> Self {
        Self {
            slots: Box::default(),
            head: 0,
            tail: 0,
            due: Instant::MAX,
            delay,
            train: Train::NONE,
            trains: None,
            last_due: Instant::ZERO,
            jitter: None,
            reordering: None,
            left: None,
        }
    }

    /// A packet is no shorter in the line.
    pub(crate) fn shortest_delay(&self) -> Duration {
        let reordering = self.reordering.as_ref();
        reordering.map_or(self.delay, |reordering| reordering.shortest(self.delay))
    }

    /// Whether packets may leave the line in another order than they came in.
    #[inline(always)]
    pub(crate) const fn reorders(&self) -> bool {
        self.reordering.is_some()
    }

    /// The packet leaves the server at `leaves` and enters the line at `released`.
    #[inline(always)]
    pub(crate) fn send(&mut self, leaves: Instant, released: Instant, packet: Packet<T>) {
        let mut due = released + self.delay;
        if let Some(jitter) = &mut self.jitter {
            // Jitter never reorders packets.
            due = (due + jitter.at(leaves)).max(self.last_due);
            self.last_due = due;
        }
        self.put(due, packet);
    }

    /// The same as [`Self::send`] for a packet whose departure is known on its arrival; it left in
    /// busy period `period`.
    #[inline(always)]
    pub(crate) fn send_prompt(
        &mut self,
        (leaves, released): (Instant, Instant),
        period: u64,
        packet: Packet<T>,
    ) {
        if self.reorders() {
            self.send_reordered((leaves, released), period, packet);
        } else {
            self.send(leaves, released, packet);
        }
    }

    /// The same where the packet may leave its place. No packet of this line comes in a train.
    #[cold]
    #[inline(never)]
    fn send_reordered(
        &mut self,
        (leaves, released): (Instant, Instant),
        period: u64,
        packet: Packet<T>,
    ) {
        let mut due = released + self.delay;
        if let Some(jitter) = &mut self.jitter {
            due += jitter.at(leaves);
        }
        let moved = self.reordering.as_mut().and_then(|own| own.moves(due));
        if moved.is_none() && self.jitter.is_some() {
            due = due.max(self.last_due);
            self.last_due = due;
        }
        let due = moved.unwrap_or(due);
        self.put(due, packet);
        self.left
            .get_or_insert_default()
            .push_back((leaves, period));
        self.settle();
    }

    /// Moves the last entry in front of those that are due after it.
    fn settle(&mut self) {
        let mut entry = self.tail - 1;
        while entry > self.head {
            let (index, before) = (self.index(entry), self.index(entry - 1));
            if self.due_at(before) <= self.due_at(index) {
                break;
            }
            self.slots.swap(before, index);
            let place = (entry - self.head) as usize;
            if let Some(left) = &mut self.left {
                left.swap(place - 1, place);
            }
            entry -= 1;
        }
        self.due = self.due_at(self.index(self.head));
    }

    /// When the packet in a slot is due.
    fn due_at(&self, index: usize) -> Instant {
        let slot = self.slots.get(index).and_then(Option::as_ref);
        slot.map_or(Instant::MAX, |(due, _)| *due)
    }

    pub(crate) const fn delay(&self) -> Duration {
        self.delay
    }

    /// The same as [`Self::send`] without jitter.
    #[inline(always)]
    pub(crate) fn send_plain(&mut self, leaves: Instant, packet: Packet<T>) {
        self.put(leaves + self.delay, packet);
    }

    /// The same for `packet` and `followers` behind it, at a pace that has made its step for
    /// `packet`.
    #[inline(always)]
    pub(crate) fn send_train(
        &mut self,
        leaves: Instant,
        packet: Packet<T>,
        followers: u32,
        pace: Pace,
    ) {
        if followers > 0 {
            let train = Train {
                entry: self.tail,
                followers,
                popped: 0,
                pace,
            };
            if self.train.followers == 0 {
                self.train = train;
            } else {
                self.trains.get_or_insert_default().push_back(train);
            }
        }
        self.send_plain(leaves, packet);
    }

    /// The same as [`Self::send`] for a packet from a late stage, which reports its busy period too.
    pub(crate) fn send_late(
        &mut self,
        (leaves, released): (Instant, Instant),
        period: u64,
        packet: Packet<T>,
    ) {
        self.left
            .get_or_insert_default()
            .push_back((leaves, period));
        self.send(leaves, released, packet);
    }

    /// A new last entry, due at `due`.
    #[inline(always)]
    fn put(&mut self, due: Instant, packet: Packet<T>) {
        let entries = self.tail - self.head;
        if entries == 0 {
            self.due = due;
        }
        if entries == self.slots.len() as u64 {
            self.grow();
        }
        let index = self.index(self.tail);
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = Some((due, packet));
        }
        self.tail += 1;
    }

    /// Makes the ring, which is full, twice as long.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let first = self.index(self.head);
        let mut slots = mem::take(&mut self.slots).into_vec();
        slots.rotate_left(first);
        slots.resize_with((slots.len() * 2).max(FEWEST_SLOTS), || None);
        self.slots = slots.into_boxed_slice();
        let first = self.index(self.head);
        self.slots.rotate_right(first);
    }

    /// The slot of an entry.
    #[inline(always)]
    const fn index(&self, entry: u64) -> usize {
        entry as usize & self.slots.len().wrapping_sub(1)
    }

    /// When the next packet is due; [`Instant::MAX`] with none inside.
    #[inline(always)]
    pub(crate) const fn due(&self) -> Instant {
        self.due
    }

    /// When the next packet left the server, and in which busy period; `None` if not from a late
    /// stage.
    pub(crate) fn front_left(&self) -> Option<(Instant, u64)> {
        self.left.as_ref()?.front().copied()
    }

    pub(crate) fn forget_left(&mut self) {
        if let Some(left) = &mut self.left {
            left.pop_front();
        }
    }

    /// The last packet in the line, where none came in a train.
    pub(crate) fn last(&mut self) -> Option<&mut Packet<T>> {
        let index = self.index(self.tail.wrapping_sub(1));
        let (_, packet) = self.slots.get_mut(index)?.as_mut()?;
        Some(packet)
    }

    /// The packet of the entry that is `count` behind the first one. The packets of a train have one
    /// entry.
    #[inline(always)]
    pub(crate) fn ahead(&self, count: u64) -> Option<&Packet<T>> {
        let entry = self.head + count;
        if entry >= self.tail {
            return None;
        }
        let (_, packet) = self.slots.get(self.index(entry))?.as_ref()?;
        Some(packet)
    }

    /// Number of packets inside. Takes time in proportion to the number of trains.
    pub(crate) fn len(&self) -> u64 {
        let trains = self.trains.iter().flat_map(|trains| trains.iter());
        let later = trains.map(|train| u64::from(train.followers));
        let behind = u64::from(self.train.followers - self.train.popped) + later.sum::<u64>();
        self.tail - self.head + behind
    }
}

impl<T: Payload> Line<T> {
    /// The next packet, with the time at which it is due.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<(Instant, Packet<T>)> {
        let due = self.due;
        let index = self.index(self.head);
        if !self.has_train() {
            return Some((due, self.pop_entry(index)?));
        }
        let train = &mut self.train;
        let number = train.popped;
        if number == train.followers {
            let last = self.pop_entry(index)?;
            self.end_train();
            let payload = last.payload.following(number);
            return Some((due, Packet { payload, ..last }));
        }
        let (_, first) = self.slots.get(index)?.as_ref()?;
        train.popped += 1;
        self.due = due + train.pace.step();
        let payload = first.payload.following(number);
        Some((due, Packet { payload, ..*first }))
    }

    /// The packet of the first entry.
    #[inline(always)]
    pub(crate) fn front(&self) -> Option<&Packet<T>> {
        let (_, packet) = self.slots.get(self.index(self.head))?.as_ref()?;
        Some(packet)
    }

    /// Removes the first entry, which is no train.
    #[inline(always)]
    pub(crate) fn drop_front(&mut self) {
        self.pop_entry(self.index(self.head));
    }

    /// Whether the first entry is a train.
    #[inline(always)]
    pub(crate) const fn has_train(&self) -> bool {
        self.head == self.train.entry
    }

    /// The packets of the first entry, and the packet that it came with.
    #[inline(always)]
    pub(crate) fn entry(&self) -> Option<(TrainPackets, &Packet<T>)> {
        let packet = self.front()?;
        let mut train = TrainPackets {
            due: self.due,
            ..TrainPackets::NONE
        };
        if self.has_train() {
            train.number = self.train.popped;
            train.followers = self.train.followers;
            train.pace = self.train.pace;
        }
        Some((train, packet))
    }

    /// Removes the packets of the first entry that `train`, which [`Self::entry`] has returned, has
    /// passed since. Returns how many.
    #[inline(always)]
    pub(crate) fn pass(&mut self, train: &TrainPackets) -> u32 {
        let (is_train, is_over) = (self.has_train(), train.number > train.followers);
        let before = if is_train { self.train.popped } else { 0 };
        if is_over {
            self.pop_entry(self.index(self.head));
            if is_train {
                self.end_train();
            }
        } else if is_train {
            self.due = train.due;
            self.train.popped = train.number;
            self.train.pace = train.pace;
        }
        train.number - before
    }

    /// The first train has left.
    #[inline]
    fn end_train(&mut self) {
        let next = self.trains.as_mut().and_then(|trains| trains.pop_front());
        self.train = next.unwrap_or(Train::NONE);
    }

    /// Removes the first entry, which is at `index`.
    #[inline(always)]
    fn pop_entry(&mut self, index: usize) -> Option<Packet<T>> {
        let (_, packet) = self.slots.get_mut(index)?.take()?;
        self.head += 1;
        let next = self.slots.get(self.index(self.head));
        // Behind the last entry is an empty slot.
        let next = next.and_then(Option::as_ref);
        self.due = next.map_or(Instant::MAX, |(due, _)| *due);
        Some(packet)
    }
}

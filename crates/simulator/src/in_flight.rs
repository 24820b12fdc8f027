//! Shortcut: packets on their way where hosts have links of their own, in the order in which they
//! arrive.
//!
//! Hardly any packet finds another one on the link of its host. Such a link has no entry in a
//! calendar, which would come and go with each packet, and keeps no packets: those of all such links
//! lie here. Between hosts the packets of the path lie here, too: most come one by one.
//!
//! It is exact for a link that knows on arrival when a packet is due, later than that, and whose
//! packets keep their order ([`network::Interface`], [`network::Link::send`]): a packet stands where its
//! link's entry in the calendar would stand, at the same time with the same rank. Of the packets of a
//! link that are due at one instant, the one that came first is first, and nothing comes between them.
//!
//! Time is cut into buckets of equal width (Brown 1988, "Calendar queues"). The packets of the first
//! bucket that has any are sorted; those of the others wait in lists without an order, until theirs
//! is the first. The buckets cover the longest way of a packet so far, so that each packet has one.
//! After a packet that is due minutes later, all are wide: the order stays, but many packets are then
//! in the first one, where each has to be inserted.

use std::cmp::Reverse;
use std::mem;

use network::Packet;
use units::Instant;

use crate::carried::Carried;

/// Number of buckets.
const BUCKETS: usize = 1024;
/// Numbers of buckets in a word of the map.
const WORD: usize = 64;
/// The first width of a bucket is two to the power of this, in nanoseconds: 65 us.
const FIRST_SHIFT: u32 = 16;
/// No place.
const NOTHING: u32 = u32::MAX;
/// Later than all packets.
const NEVER: u128 = u128::MAX;
/// The part of a key that is the place. It says nothing about the order.
const PLACE: u128 = u32::MAX as u128;

/// Packets on their way to one side, by the time at which they arrive.
#[derive(Debug)]
pub struct InFlight {
    /// The first packet to arrive: the time, the rank of its link, and its place, in one number.
    first: u128,
    changes: u32,
    /// Nothing before the first packet.
    wheel: Option<Box<Wheel>>,
}

impl Default for InFlight {
    fn default() -> Self {
        Self {
            first: NEVER,
            changes: 0,
            wheel: None,
        }
    }
}

/// Where the packets of both sides lie, and free places.
#[derive(Debug)]
pub struct Places {
    all: Vec<Place>,
    free: u32,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            free: NOTHING,
        }
    }
}

/// A packet on its way, and the place of another one of its bucket.
#[derive(Debug)]
struct Place {
    due: Instant,
    /// The rank of its link in the agenda.
    rank: u32,
    next: u32,
    packet: Packet<Carried>,
}

#[derive(Debug)]
struct Wheel {
    /// The packets of the first bucket and before, the first one to arrive at the end. There are none
    /// only if there are none at all.
    soon: Vec<u128>,
    /// The last packet that has arrived.
    last: u128,
    /// A bucket has the times that are equal but for so many of their lowest bits.
    shift: u32,
    /// The first bucket, counted from the beginning of the run.
    current: u64,
    /// The packet that came last to each later bucket; the buckets follow each other in a circle.
    heads: [u32; BUCKETS],
    /// A bit for each bucket with packets.
    occupied: [u64; BUCKETS / WORD],
}

impl Places {
    /// Gives a packet a place.
    #[inline(always)]
    pub fn put(&mut self, packet: &Packet<Carried>) -> u32 {
        let place = self.free;
        if let Some(free) = self.all.get_mut(place as usize) {
            self.free = free.next;
            free.packet = *packet;
            return place;
        }
        self.add(packet)
    }

    #[cold]
    #[inline(never)]
    fn add(&mut self, packet: &Packet<Carried>) -> u32 {
        self.all.push(Place {
            due: Instant::MAX,
            rank: 0,
            next: NOTHING,
            packet: *packet,
        });
        self.all.len() as u32 - 1
    }

    /// The packet at a place.
    #[inline(always)]
    pub fn packet(&mut self, place: u32) -> &mut Packet<Carried> {
        &mut self.all[place as usize].packet
    }

    /// Takes the packet out of a place, which is free from now on.
    #[inline(always)]
    pub fn take(&mut self, place: u32) -> Packet<Carried> {
        let taken = &mut self.all[place as usize];
        taken.next = mem::replace(&mut self.free, place);
        taken.packet
    }
}

impl InFlight {
    /// The packet at `place` is due at `due`, on a link of this rank.
    #[inline(always)]
    pub fn add(&mut self, places: &mut Places, due: Instant, rank: u32, place: u32) {
        if let Some(wheel) = &mut self.wheel
            && wheel.put_later(places, due, rank, place)
        {
            return;
        }
        self.add_soon(places, due, rank, place);
    }

    /// The same for a packet that may be the first to arrive, or for which the buckets are too narrow.
    #[inline(never)]
    fn add_soon(&mut self, places: &mut Places, due: Instant, rank: u32, place: u32) {
        let wheel = self.wheel.get_or_insert_with(Wheel::new);
        wheel.put(places, due, rank, place);
        let first = wheel.first();
        if first != self.first {
            self.first = first;
            self.changes = self.changes.wrapping_add(1);
        }
    }

    /// When the next packet arrives; [`Instant::MAX`] is never.
    #[inline(always)]
    pub const fn soonest(&self) -> Instant {
        Instant::from_nanos((self.first >> 64) as u64)
    }

    /// The rank of the link of the next packet.
    #[inline(always)]
    pub const fn rank(&self) -> u32 {
        (self.first >> 32) as u32
    }

    /// Whether the next packet arrives with the last one, from the same link.
    pub fn continues(&self) -> bool {
        let last = self.wheel.as_ref().map_or(NEVER, |wheel| wheel.last);
        self.first < NEVER && (self.first ^ last) <= PLACE
    }

    /// The next packet has arrived. Returns its place.
    #[inline(always)]
    pub fn pop(&mut self, places: &Places) -> Option<u32> {
        let wheel = self.wheel.as_deref_mut()?;
        let place = self.first as u32;
        wheel.last = self.first;
        wheel.soon.pop()?;
        if wheel.soon.is_empty() {
            wheel.turn(places);
        }
        self.first = wheel.first();
        Some(place)
    }

    /// A number that changes when a packet comes that arrives before all others.
    #[inline(always)]
    pub const fn changes(&self) -> u32 {
        self.changes
    }
}

impl Wheel {
    fn new() -> Box<Self> {
        Box::new(Self {
            soon: Vec::new(),
            last: NEVER,
            shift: FIRST_SHIFT,
            current: 0,
            heads: [NOTHING; BUCKETS],
            occupied: [0; BUCKETS / WORD],
        })
    }

    #[inline(always)]
    fn first(&self) -> u128 {
        self.soon.last().copied().unwrap_or(NEVER)
    }

    /// Puts the packet at `place` into its bucket.
    fn put(&mut self, places: &mut Places, due: Instant, rank: u32, place: u32) {
        if self.put_later(places, due, rank, place) {
            return;
        }
        let bucket = due.as_nanos() >> self.shift;
        if bucket > self.current && !self.soon.is_empty() {
            self.widen(places, bucket);
            return self.put(places, due, rank, place);
        }
        // In the first bucket or before, or the only one.
        self.current = self.current.max(bucket);
        let key = key(due, rank, place);
        let before = self.soon.partition_point(|&other| other > key | PLACE);
        self.soon.insert(before, key);
    }

    /// Puts the packet at `place` into its bucket, if that is behind the first one and there is one so
    /// far behind. Otherwise it does nothing and returns false.
    #[inline(always)]
    fn put_later(&mut self, places: &mut Places, due: Instant, rank: u32, place: u32) -> bool {
        let bucket = due.as_nanos() >> self.shift;
        let is_later = bucket > self.current && bucket - self.current < BUCKETS as u64;
        if !is_later || self.soon.is_empty() {
            return false;
        }
        let index = bucket as usize % BUCKETS;
        let its = &mut places.all[place as usize];
        (its.due, its.rank) = (due, rank);
        its.next = mem::replace(&mut self.heads[index], place);
        self.occupied[index / WORD] |= 1 << (index % WORD);
        true
    }

    /// The packets of the next bucket that has any are those that arrive soon.
    #[inline(never)]
    fn turn(&mut self, places: &Places) {
        let Some(bucket) = self.next_occupied() else {
            return;
        };
        self.current = bucket;
        let index = bucket as usize % BUCKETS;
        self.occupied[index / WORD] &= !(1 << (index % WORD));
        let last = mem::replace(&mut self.heads[index], NOTHING);
        if let Some(only) = places.all.get(last as usize)
            && only.next == NOTHING
        {
            return self.soon.push(key(only.due, only.rank, last));
        }
        self.sort(places, last);
    }

    /// Sorts the packets of a bucket, of which `place` came last. Of those that are due at one instant on
    /// one link, it stays before the others.
    #[inline(never)]
    fn sort(&mut self, places: &Places, mut place: u32) {
        while let Some(its) = places.all.get(place as usize) {
            self.soon.push(key(its.due, its.rank, place));
            place = its.next;
        }
        self.soon.sort_by_key(|key| Reverse(key & !PLACE));
    }

    /// The next bucket that has packets.
    #[inline(always)]
    fn next_occupied(&self) -> Option<u64> {
        let mut bucket = self.current + 1;
        let last = self.current + BUCKETS as u64;
        while bucket <= last {
            let (word, bit) = (bucket as usize % BUCKETS / WORD, bucket % WORD as u64);
            let rest = self.occupied[word] >> bit;
            if rest != 0 {
                return Some(bucket + u64::from(rest.trailing_zeros()));
            }
            bucket += WORD as u64 - bit;
        }
        None
    }

    /// Makes the buckets wider, until they cover that with the number `last`.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, places: &mut Places, last: u64) {
        let mut waiting = Vec::new();
        for head in &mut self.heads {
            let mut place = mem::replace(head, NOTHING);
            while let Some(its) = places.all.get(place as usize) {
                waiting.push((its.due, its.rank, place));
                place = its.next;
            }
        }
        self.occupied = [0; BUCKETS / WORD];
        let mut more = 1;
        while (last >> more) - (self.current >> more) >= BUCKETS as u64 {
            more += 1;
        }
        self.shift += more;
        self.current >>= more;
        // In each bucket, the packet that came first.
        for (due, rank, place) in waiting.into_iter().rev() {
            self.put(places, due, rank, place);
        }
    }
}

#[inline(always)]
fn key(due: Instant, rank: u32, place: u32) -> u128 {
    u128::from(due.as_nanos()) << 64 | u128::from(rank) << 32 | u128::from(place)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use network::Ecn;
    use proptest::prelude::*;

    use super::*;
    use crate::routes::Hop;

    fn packet(number: u32) -> Packet<Carried> {
        Packet {
            size: number,
            flow: 0,
            ecn: Ecn::NotEct,
            payload: Carried::handshake_ack(Instant::ZERO, Hop(0)),
        }
    }

    proptest! {
        /// Compares with an ordered map: ways of a nanosecond to a minute, several packets at an
        /// instant, also on one link, times without a packet, and packets that go on in their places.
        #[test]
        fn packets_arrive_in_order_of_time_and_rank(
            operations in prop::collection::vec((0u32..40, 0u32..36, any::<u64>(), 0u32..4), 1..2_000),
        ) {
            let (mut places, mut in_flight) = (Places::default(), InFlight::default());
            let mut model = BTreeMap::new();
            let (mut now, mut number, mut last) = (0, 0, None);
            let mut on_its_way = None;
            for (rank, bits, way, takes) in operations {
                let due = now + 1 + way % (1 << bits);
                let place = on_its_way.take().unwrap_or_else(|| places.put(&packet(0)));
                number += 1;
                places.packet(place).size = number;
                model.insert((due, rank, number), number);
                let before = (in_flight.soonest(), in_flight.changes());
                in_flight.add(&mut places, Instant::from_nanos(due), rank, place);
                let after = (in_flight.soonest(), in_flight.changes());
                prop_assert!(before.0 <= after.0 || before.1 != after.1);
                let first = model.first_key_value().map(|(&key, _)| key);
                if let (2.., Some((due, rank, number))) = (takes, first) {
                    prop_assert_eq!(in_flight.soonest(), Instant::from_nanos(due));
                    prop_assert_eq!(in_flight.rank(), rank);
                    prop_assert_eq!(in_flight.continues(), last == Some((due, rank)));
                    let place = in_flight.pop(&places).expect("a packet");
                    prop_assert_eq!(places.packet(place).size, number);
                    if takes == 2 && on_its_way.is_none() {
                        on_its_way = Some(place);
                    } else {
                        prop_assert_eq!(places.take(place).size, number);
                    }
                    model.pop_first();
                    (now, last) = (due, Some((due, rank)));
                }
                if model.is_empty() {
                    prop_assert_eq!(in_flight.soonest(), Instant::MAX);
                    prop_assert!(in_flight.pop(&places).is_none());
                }
            }
            let mut rest = Vec::new();
            while let Some(place) = in_flight.pop(&places) {
                rest.push(places.take(place).size);
            }
            prop_assert_eq!(rest, model.into_values().collect::<Vec<_>>());
            prop_assert_eq!(in_flight.soonest(), Instant::MAX);
        }
    }
}

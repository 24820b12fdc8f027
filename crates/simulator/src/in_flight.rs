//! Shortcut: packets on their way where hosts have links of their own, in the order in which they
//! arrive.
//!
//! Hardly any packet finds another one on the link of its host. Such a link has no entry in a
//! calendar, which would come and go with each packet, and keeps no packets: those of all such links
//! lie here. Between hosts the packets of the path lie here, too: most come one by one.
//!
//! It is exact for a link that knows on arrival when a packet is due, and whose packets are never due
//! at one instant ([`network::Interface`], [`network::Link::send`]): a packet stands where its link's
//! entry in the calendar would stand, at the same time with the same rank.
//!
//! Time is cut into buckets of equal width (Brown 1988, "Calendar queues"). The packets of the first
//! bucket that has any are sorted; those of the others wait in lists without an order, until theirs
//! is the first. The buckets cover the longest way of a packet so far, so that each packet has one.
//! After a packet that is due minutes later, all are wide: the order stays, but many packets are then
//! in the first one, where each has to be inserted.

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

/// Packets on their way to one side.
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

/// A packet on a link.
#[derive(Clone, Copy, Debug)]
pub struct OnLink {
    pub due: Instant,
    pub link: u32,
    /// The rank of the link in its agenda.
    pub rank: u32,
    pub packet: Packet<Carried>,
}

#[derive(Debug)]
struct Wheel {
    /// The packets of the first bucket and before, the first one to arrive at the end. There are none
    /// only if there are none at all.
    soon: Vec<u128>,
    /// A bucket has the times that are equal but for so many of their lowest bits.
    shift: u32,
    /// The first bucket, counted from the beginning of the run.
    current: u64,
    /// The first packet of each later bucket, which follow each other in a circle.
    heads: [u32; BUCKETS],
    /// A bit for each bucket with packets.
    occupied: [u64; BUCKETS / WORD],
    /// All packets, and places that are free.
    places: Vec<Place>,
    free: u32,
}

/// A packet on its way, and the place of another one of its bucket.
#[derive(Clone, Debug)]
struct Place {
    on_link: OnLink,
    next: u32,
}

impl InFlight {
    /// Adds a packet that is due at `due`, on a link of this number and rank.
    #[inline(always)]
    pub fn add(&mut self, due: Instant, link: u32, rank: u32, packet: &Packet<Carried>) {
        let wheel = self.wheel.get_or_insert_with(Wheel::new);
        let place = wheel.keep(due, link, rank, packet);
        wheel.put(due, rank, place);
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

    /// Takes the next packet.
    #[inline(always)]
    pub fn take(&mut self) -> Option<Packet<Carried>> {
        let wheel = self.wheel.as_deref_mut()?;
        let place = self.first as u32;
        let packet = wheel.places.get(place as usize)?.on_link.packet;
        wheel.take_first(place);
        self.first = wheel.first();
        Some(packet)
    }

    /// A number that changes when a packet comes that arrives before all others.
    #[inline(always)]
    pub const fn changes(&self) -> u32 {
        self.changes
    }

    /// Takes all packets.
    pub fn drain(&mut self) -> Vec<OnLink> {
        self.first = NEVER;
        let wheel = self.wheel.take();
        wheel.map_or_else(Vec::new, |mut wheel| wheel.drain())
    }
}

impl Wheel {
    fn new() -> Box<Self> {
        Box::new(Self {
            soon: Vec::new(),
            shift: FIRST_SHIFT,
            current: 0,
            heads: [NOTHING; BUCKETS],
            occupied: [0; BUCKETS / WORD],
            places: Vec::new(),
            free: NOTHING,
        })
    }

    #[inline(always)]
    fn first(&self) -> u128 {
        self.soon.last().copied().unwrap_or(NEVER)
    }

    /// Gives a packet a place.
    #[inline(always)]
    fn keep(&mut self, due: Instant, link: u32, rank: u32, packet: &Packet<Carried>) -> u32 {
        if self.free == NOTHING {
            self.add_place(packet);
        }
        let place = self.free;
        let free = &mut self.places[place as usize];
        self.free = free.next;
        let on_link = &mut free.on_link;
        // One by one, or the compiler makes another copy of the packet.
        on_link.due = due;
        on_link.link = link;
        on_link.rank = rank;
        on_link.packet = *packet;
        place
    }

    /// Adds a free place. The packet there is any.
    #[cold]
    #[inline(never)]
    fn add_place(&mut self, packet: &Packet<Carried>) {
        let on_link = OnLink {
            due: Instant::MAX,
            link: 0,
            rank: 0,
            packet: *packet,
        };
        let next = mem::replace(&mut self.free, self.places.len() as u32);
        self.places.push(Place { on_link, next });
    }

    /// Puts the packet at `place` into its bucket.
    #[inline(always)]
    fn put(&mut self, due: Instant, rank: u32, place: u32) {
        let bucket = due.as_nanos() >> self.shift;
        if bucket <= self.current || self.soon.is_empty() {
            return self.put_soon(key(due, rank, place), bucket);
        }
        if bucket - self.current >= BUCKETS as u64 {
            self.widen(bucket);
            return self.put(due, rank, place);
        }
        let index = bucket as usize % BUCKETS;
        self.places[place as usize].next = mem::replace(&mut self.heads[index], place);
        self.occupied[index / WORD] |= 1 << (index % WORD);
    }

    /// A packet of the first bucket or before, or the only one.
    #[inline(never)]
    fn put_soon(&mut self, key: u128, bucket: u64) {
        self.current = self.current.max(bucket);
        let before = self.soon.partition_point(|&other| other > key);
        self.soon.insert(before, key);
    }

    /// Removes the first packet, which is at `place`.
    #[inline(always)]
    fn take_first(&mut self, place: u32) {
        self.soon.pop();
        self.places[place as usize].next = mem::replace(&mut self.free, place);
        if self.soon.is_empty() {
            self.turn();
        }
    }

    /// Sorts the packets of the next bucket that has any.
    #[inline(never)]
    fn turn(&mut self) {
        let Some(ahead) = self.next_occupied() else {
            return;
        };
        self.current += ahead;
        let index = self.current as usize % BUCKETS;
        self.occupied[index / WORD] &= !(1 << (index % WORD));
        let mut place = mem::replace(&mut self.heads[index], NOTHING);
        while let Some(Place { on_link, next }) = self.places.get(place as usize) {
            self.soon.push(key(on_link.due, on_link.rank, place));
            place = *next;
        }
        if self.soon.len() > 1 {
            self.soon.sort_unstable_by(|one, other| other.cmp(one));
        }
    }

    /// How many buckets behind the first one is the next that has packets.
    #[inline(always)]
    fn next_occupied(&self) -> Option<u64> {
        let from = (self.current as usize + 1) % BUCKETS;
        let (word, bit) = (from / WORD, from % WORD);
        let rest = self.occupied[word] >> bit;
        if rest != 0 {
            return Some(1 + u64::from(rest.trailing_zeros()));
        }
        let words = BUCKETS / WORD;
        (1..=words).find_map(|ahead| {
            let bits = self.occupied[(word + ahead) % words];
            let begin = (ahead * WORD - bit) as u64;
            (bits != 0).then(|| 1 + begin + u64::from(bits.trailing_zeros()))
        })
    }

    /// Makes the buckets wider, until they cover that with the number `last`.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, last: u64) {
        let mut places = Vec::new();
        for head in &mut self.heads {
            let mut place = mem::replace(head, NOTHING);
            while let Some(waiting) = self.places.get(place as usize) {
                places.push(place);
                place = waiting.next;
            }
        }
        self.occupied = [0; BUCKETS / WORD];
        let mut more = 1;
        while (last >> more) - (self.current >> more) >= BUCKETS as u64 {
            more += 1;
        }
        self.shift += more;
        self.current >>= more;
        for place in places {
            let OnLink { due, rank, .. } = self.places[place as usize].on_link;
            self.put(due, rank, place);
        }
    }

    fn drain(&mut self) -> Vec<OnLink> {
        let mut all = Vec::new();
        while let Some(&first) = self.soon.last() {
            all.push(self.places[first as u32 as usize].on_link);
            self.take_first(first as u32);
        }
        all
    }
}

#[inline(always)]
fn key(due: Instant, rank: u32, place: u32) -> u128 {
    u128::from(due.as_nanos()) << 64 | u128::from(rank) << 32 | u128::from(place)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::collections::btree_map::Entry;

    use network::Ecn;
    use proptest::prelude::*;

    use super::*;
    use crate::routes::Hop;

    fn on_link(due: u64, link: u32, number: u32) -> OnLink {
        OnLink {
            due: Instant::from_nanos(due),
            link,
            rank: 1000 - link,
            packet: Packet {
                size: number,
                flow: link,
                ecn: Ecn::NotEct,
                payload: Carried::handshake_ack(Instant::ZERO, Hop(0)),
            },
        }
    }

    proptest! {
        /// Compares with an ordered map: ways of a nanosecond to a minute, several packets at an
        /// instant, and times without a packet.
        #[test]
        fn packets_arrive_in_order_of_time_and_rank(
            operations in prop::collection::vec((0u32..40, 0u32..36, any::<u64>(), any::<bool>()), 1..2_000),
        ) {
            let mut in_flight = InFlight::default();
            let mut model = BTreeMap::new();
            let (mut now, mut number) = (0, 0);
            for (link, bits, way, takes) in operations {
                let due = now + 1 + way % (1 << bits);
                // The packets of a link are never due at one instant.
                if let Entry::Vacant(vacant) = model.entry((due, 1000 - link)) {
                    number += 1;
                    vacant.insert(number);
                    let before = (in_flight.soonest(), in_flight.changes());
                    let OnLink { due: at, rank, packet, .. } = on_link(due, link, number);
                    in_flight.add(at, link, rank, &packet);
                    let after = (in_flight.soonest(), in_flight.changes());
                    prop_assert!(before.0 <= after.0 || before.1 != after.1);
                }
                let first = model.first_key_value().map(|(&key, &size)| (key, size));
                if let (true, Some(((due, rank), size))) = (takes, first) {
                    prop_assert_eq!(in_flight.soonest(), Instant::from_nanos(due));
                    prop_assert_eq!(in_flight.rank(), rank);
                    prop_assert_eq!(in_flight.take().map(|packet| packet.size), Some(size));
                    model.pop_first();
                    now = due;
                }
                if model.is_empty() {
                    prop_assert_eq!(in_flight.soonest(), Instant::MAX);
                    prop_assert!(in_flight.take().is_none());
                }
            }
            let rest: Vec<u32> = in_flight.drain().iter().map(|it| it.packet.size).collect();
            prop_assert_eq!(rest, model.into_values().collect::<Vec<_>>());
            prop_assert_eq!(in_flight.soonest(), Instant::MAX);
        }
    }
}

//! The delay line of a link: propagation delay and jitter, after the server.
//!
//! A train takes one entry: packets that are alike but for what [`Payload::following`] changes, and
//! that leave the server one after the other without a gap. The entry is its first packet that has
//! not been popped. A second, short ring has what the packets behind it add.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::mem;

use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant, Pace};

use crate::jitter::{self, Jitter};
use crate::{LinkConfig, Packet, Payload};

#[derive(Debug)]
pub(crate) struct Line<T> {
    /// Packets with the instants at which they are due, in order of both.
    inside: VecDeque<(Instant, Packet<T>)>,
    /// Entries that have left `inside`, which is the number of its front.
    left_entries: u64,
    /// The entries that are trains, in order.
    trains: VecDeque<Train>,
    /// Trains that have become single packets.
    left_trains: u64,
    /// Number of the entry that the first train has; [`u64::MAX`] without trains.
    first_train: u64,
    /// Packets of trains beyond one for each entry.
    followers: u64,
    last_due: Instant,
    delay: Duration,
    jitter: Option<Box<Jitter>>,
    /// For packets from a late stage: when each left the server, and in which busy period.
    #[allow(
        clippy::box_collection,
        reason = "few links have it, and an idle link is small"
    )]
    left: Box<VecDeque<(Instant, u64)>>,
}

#[derive(Clone, Copy, Debug)]
struct Train {
    /// Number of its entry.
    entry: u64,
    /// Packets behind the one in the entry, at least one.
    followers: u32,
    /// From each packet to the next.
    pace: Pace,
}

/// Between two entries of the line: the numbers of the next entry and of the next train.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    entry: u64,
    train: u64,
}

impl Place {
    /// Behind all that will ever come.
    pub(crate) const NONE: Self = Self {
        entry: u64::MAX,
        train: u64::MAX,
    };
}

impl<T> Line<T> {
    pub(crate) fn new(config: &LinkConfig, rng: &ChaCha8Rng) -> Self {
        Self {
            inside: VecDeque::new(),
            left_entries: 0,
            trains: VecDeque::new(),
            left_trains: 0,
            first_train: u64::MAX,
            followers: 0,
            last_due: Instant::ZERO,
            delay: config.delay,
            jitter: jitter::new(config.jitter.as_ref(), rng),
            left: Box::default(),
        }
    }

    /// A packet is no shorter in the line.
    pub(crate) const fn delay(&self) -> Duration {
        self.delay
    }

    /// The packet leaves the server at `leaves` and enters the line at `released`.
    #[inline(always)]
    pub(crate) fn send(&mut self, leaves: Instant, released: Instant, packet: Packet<T>) {
        let mut due = released + self.delay;
        if let Some(jitter) = &mut self.jitter {
            // Packets are never reordered.
            due = (due + jitter.at(leaves)).max(self.last_due);
            self.last_due = due;
        }
        self.inside.push_back((due, packet));
    }

    /// The same without jitter.
    #[inline(always)]
    pub(crate) fn send_plain(&mut self, leaves: Instant, packet: Packet<T>) {
        self.inside.push_back((leaves + self.delay, packet));
    }

    /// The same for `packet` and `followers` behind it, at a pace that has made its step for
    /// `packet`.
    #[inline]
    pub(crate) fn send_train(
        &mut self,
        leaves: Instant,
        packet: Packet<T>,
        followers: u32,
        pace: Pace,
    ) {
        if followers > 0 {
            let entry = self.next_entry();
            self.first_train = self.first_train.min(entry);
            self.followers += u64::from(followers);
            self.trains.push_back(Train {
                entry,
                followers,
                pace,
            });
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
        self.left.push_back((leaves, period));
        self.send(leaves, released, packet);
    }

    /// When the next packet is due; [`Instant::MAX`] with none inside.
    #[inline]
    pub(crate) fn due(&self) -> Instant {
        self.inside.front().map_or(Instant::MAX, |(due, _)| *due)
    }

    fn next_entry(&self) -> u64 {
        self.left_entries + self.inside.len() as u64
    }

    /// Behind the last entry.
    #[inline]
    pub(crate) fn end(&self) -> Place {
        Place {
            entry: self.next_entry(),
            train: self.left_trains + self.trains.len() as u64,
        }
    }

    /// Whether `place` is directly behind the entry of the next packet to be popped, or before it.
    #[inline]
    pub(crate) const fn is_behind_front(&self, place: Place) -> bool {
        place.entry <= self.left_entries + 1
    }

    /// When the first packet of the entry behind `place`, of which nothing has been popped, leaves
    /// the server, and its bytes of IP; `place` moves behind that entry. Without jitter.
    #[inline(always)]
    pub(crate) fn read(&self, place: &mut Place) -> Option<(Instant, u32)> {
        let index = place.entry - self.left_entries;
        let (due, packet) = self.inside.get(index as usize)?;
        place.entry += 1;
        Some((*due - self.delay, packet.size))
    }

    /// How many packets follow in the entry that [`Self::read`] has returned, and how; `None` for a
    /// single packet.
    #[inline(always)]
    pub(crate) fn read_train(&self, place: &mut Place) -> Option<(u32, Pace)> {
        let index = place.train - self.left_trains;
        let train = self.trains.get(index as usize)?;
        if train.entry >= place.entry {
            return None;
        }
        place.train += 1;
        Some((train.followers, train.pace))
    }

    /// When the next packet left the server, and in which busy period; `None` if not from a late
    /// stage.
    pub(crate) fn front_left(&self) -> Option<(Instant, u64)> {
        self.left.front().copied()
    }

    pub(crate) fn forget_left(&mut self) {
        self.left.pop_front();
    }

    /// The last packet in the line, where none came in a train.
    pub(crate) fn last(&mut self) -> Option<&mut Packet<T>> {
        self.inside.back_mut().map(|(_, packet)| packet)
    }

    /// Number of packets inside.
    pub(crate) fn len(&self) -> u64 {
        self.inside.len() as u64 + self.followers
    }
}

impl<T: Payload> Line<T> {
    /// The next packet, with the time at which it is due.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Instant, Packet<T>)> {
        if self.left_entries == self.first_train {
            return self.pop_of_train();
        }
        let next = self.inside.pop_front()?;
        self.left_entries += 1;
        Some(next)
    }

    /// The same where packets follow in its entry.
    #[inline(never)]
    fn pop_of_train(&mut self) -> Option<(Instant, Packet<T>)> {
        let train = self.trains.front_mut()?;
        let (due, first) = self.inside.front_mut()?;
        let next = *due + train.pace.step();
        let due = mem::replace(due, next);
        let next = first.payload.following(1);
        let packet = Packet {
            payload: mem::replace(&mut first.payload, next),
            ..*first
        };
        self.followers -= 1;
        train.followers -= 1;
        if train.followers == 0 {
            self.trains.pop_front();
            self.left_trains += 1;
            let first = self.trains.front();
            self.first_train = first.map_or(u64::MAX, |train| train.entry);
        }
        Some((due, packet))
    }
}

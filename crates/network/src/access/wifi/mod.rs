//! Wi-Fi: 802.11 in infrastructure mode, with both directions, other stations and other networks on one medium.
//!
//! Network-models, section B.5. The two links of a path are two ports of one medium: data that goes
//! down and ACKs that go up contend with each other, and with other stations, for every frame. Who sends
//! when: `contention`; what a frame holds and what becomes of it: `port`; how fast: `channel` and `phy`.
//!
//! The medium belongs to both links. It is shared behind a counted pointer whose borrows are checked, and can go to
//! another thread with them, as the emulator's do; each call borrows it once and gives it back.
//!
//! What is random in the channel and in what others want to send is drawn for slots of time. Backoffs,
//! losses in frames and hidden stations are drawn for each frame in the order of the medium's own events, each
//! direction from its own streams: two senders whose frames differ meet the same signal, rates and neighbours, and
//! other luck.

mod channel;
mod config;
mod contention;
mod medium;
mod others;
mod phy;
mod port;
mod saturation;

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use atomic_refcell::AtomicRefCell;
use rand_chacha::ChaCha8Rng;
use units::{Bytes, Instant};

pub use config::{WifiConfig, WifiRateMap, WifiStandard, WifiTraffic, WifiWidth};
pub use medium::AirCounters;

use medium::Medium;

use crate::aqm::{Fate, Waiting};
use crate::busy::Busy;
use crate::{DropReason, Dropped, LinkConfig, Packet};

/// A link's end of the medium.
#[derive(Debug)]
pub(crate) struct Port<T> {
    medium: Arc<AtomicRefCell<Medium<T>>>,
    index: usize,
    /// When the packets on the link's delay line were through, and in which busy period.
    left: VecDeque<(Instant, u64)>,
}

impl<T> Port<T> {
    /// The ports of the two links of a path, of which the first one's configuration describes the medium.
    pub(crate) fn pair(config: &WifiConfig, links: [(&LinkConfig, &ChaCha8Rng); 2]) -> [Self; 2] {
        let medium = Arc::new(AtomicRefCell::new(Medium::new(config, links, links[0].1)));
        [0, 1].map(|index| Self {
            medium: Arc::clone(&medium),
            index,
            left: VecDeque::new(),
        })
    }

    /// Offers a packet that counts `bytes` in the queue.
    pub(crate) fn push(
        &mut self,
        now: Instant,
        packet: Packet<T>,
        bytes: u64,
    ) -> Result<(), DropReason> {
        let mut medium = self.medium.borrow_mut();
        let medium = &mut *medium;
        medium.catch_up(now);
        let rate = medium.rate(self.index);
        let waiting = Waiting {
            at: now,
            bytes,
            packet,
        };
        medium.ports[self.index].push(waiting, medium.idle, rate)
    }

    /// A packet of this direction that got through, of the frames that began by `now`; when.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Instant, Packet<T>)> {
        let mut medium = self.medium.borrow_mut();
        medium.advance(now);
        let through = medium.ports[self.index].out.pop_front()?;
        self.left.push_back((through.at, through.period));
        Some((through.at, through.packet))
    }

    /// When something may happen in this direction: no later than it does.
    pub(crate) fn next_event(&self) -> Instant {
        let medium = self.medium.borrow();
        let port = &medium.ports[self.index];
        let start = medium.start(self.index);
        port.out.front().map_or(start, |out| start.min(out.at))
    }

    pub(crate) fn left(&self) -> Option<(Instant, u64)> {
        self.left.front().copied()
    }

    pub(crate) fn forget_left(&mut self) {
        self.left.pop_front();
    }

    /// Packets and bytes that wait, not counting what the driver has.
    pub(crate) fn len(&self) -> (u64, Bytes) {
        self.medium.borrow().ports[self.index].queue.len()
    }

    pub(crate) fn held(&self) -> u64 {
        self.medium.borrow().ports[self.index].held()
    }

    pub(crate) fn busy(&self) -> Busy {
        self.medium.borrow().ports[self.index].busy
    }

    pub(crate) fn max_packets(&self) -> u64 {
        self.medium.borrow().ports[self.index].queue.max_packets()
    }

    pub(crate) fn mean_packets(&mut self, now: Instant) -> f64 {
        let mut medium = self.medium.borrow_mut();
        medium.ports[self.index].queue.mean_packets(now)
    }

    pub(crate) fn counters(&self) -> AirCounters {
        self.medium.borrow().counters
    }

    /// Looks at what became of packets: drops by the discipline, overflows, marks; and losses.
    pub(crate) fn fate<R>(&self, look: impl FnOnce(&Fate<T>, u64) -> R) -> R {
        let medium = self.medium.borrow();
        let port = &medium.ports[self.index];
        look(&port.queue.fate, port.lost)
    }

    pub(crate) fn take_dropped(&mut self) -> Option<Dropped<T>> {
        let mut medium = self.medium.borrow_mut();
        medium.ports[self.index].queue.fate.dropped.pop_front()
    }
}

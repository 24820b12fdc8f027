//! Shortcuts for a caller that does a part of a link's work itself: it keeps the packets, or it takes
//! several of them from the delay line at once. Each says what calls of [`Link::push`] and
//! [`Link::pop_before`] it replaces.

use units::{Bytes, Duration, Instant};

use super::{Link, Stage};
use crate::Packet;
use crate::access::Payload;
use crate::line::TrainPackets;

impl<T: Payload> Link<T> {
    /// Whether [`Self::send`] serves it, and a packet is never due in the instant in which it comes: a
    /// drop-tail queue before a constant rate at which even the shortest packet takes a nanosecond, or a
    /// pure delay line with a delay.
    #[must_use]
    pub fn can_send(&self) -> bool {
        match &self.stage {
            Stage::Plain(plain) => plain.keeps_packets_apart(),
            Stage::Wire(_) => !self.line.delay().is_zero(),
            _ => false,
        }
    }

    /// Offers a packet of `size` bytes that the caller keeps. Returns when its last bit leaves the
    /// server, which is [`Self::delay`] before it is due; `None` if the link dropped it, or if
    /// [`Self::can_send`] is false. The packet counts as delivered at once: see [`Self::recall`].
    #[inline(always)]
    pub fn send(&mut self, now: Instant, size: u32) -> Option<Instant> {
        let end = match &mut self.stage {
            Stage::Plain(plain) => {
                let bytes = u64::from(size) + u64::from(self.overhead);
                plain.admit(now, bytes)
            }
            Stage::Wire(_) => Some(now),
            _ => return None,
        };
        self.count_offered(now, 1);
        let Some(end) = end else {
            self.counters.drops_overflow += 1;
            return None;
        };
        self.counters.packets_out += 1;
        self.counters.bytes_out += Bytes::new(u64::from(size));
        Some(end)
    }

    /// The propagation delay behind the server.
    #[must_use]
    pub const fn delay(&self) -> Duration {
        self.line.delay()
    }

    /// A packet of `size` bytes that [`Self::send`] has taken is still on its way at the end of the
    /// run: it is held, and not delivered.
    pub fn recall(&mut self, size: u32) {
        self.recalled += 1;
        self.counters.packets_out -= 1;
        self.counters.bytes_out -= Bytes::new(u64::from(size));
    }

    /// The packet that [`Self::pop_before`] pops next, of a link that pops packets one by one as they
    /// came; `None` for others.
    #[inline(always)]
    #[must_use]
    pub fn front(&self) -> Option<&Packet<T>> {
        match self.stage {
            Stage::Plain(_) | Stage::Wire(_) if !self.has_train() => self.line.front(),
            _ => None,
        }
    }

    /// Pops the packet that [`Self::front`] has returned.
    #[inline(always)]
    pub fn drop_front(&mut self) {
        let size = self.line.front().map_or(0, |packet| packet.size);
        self.line.drop_front();
        self.counters.packets_out += 1;
        self.counters.bytes_out += Bytes::new(u64::from(size));
    }

    /// The packets of the first entry of the delay line, a train or a single packet, and the packet that
    /// the entry came with; `None` for a link that may pop them in another order.
    #[inline(always)]
    #[must_use]
    pub fn entry(&self) -> Option<(TrainPackets, &Packet<T>)> {
        match self.stage {
            Stage::Plain(_) | Stage::Wire(_) => self.line.entry(),
            _ => None,
        }
    }

    /// Whether a train is in front of the delay line.
    #[inline(always)]
    #[must_use]
    pub const fn has_train(&self) -> bool {
        self.line.has_train()
    }

    /// Pops the packets that `train`, which [`Self::entry`] has returned, has passed since. They have
    /// `size` bytes each.
    #[inline(always)]
    pub fn pass(&mut self, train: &TrainPackets, size: u32) {
        let count = u64::from(self.line.pass(train));
        self.counters.packets_out += count;
        self.counters.bytes_out += Bytes::new(u64::from(size) * count);
    }

    /// [`Self::push`] into a link that [`Self::is_wire`].
    #[inline(always)]
    pub fn delay_on(&mut self, now: Instant, packet: Packet<T>) {
        self.count_offered(now, 1);
        self.line.send_plain(now, packet);
    }

    /// [`Self::push`] and [`Link::pop_before`] of a packet of `size` bytes, for a link that
    /// [`Self::is_wire`], without delay and without packets.
    #[inline(always)]
    pub fn pass_at_once(&mut self, now: Instant, size: u32) {
        self.count_offered(now, 1);
        self.counters.packets_out += 1;
        self.counters.bytes_out += Bytes::new(u64::from(size));
    }

    /// Whether it is a pure delay line.
    #[inline(always)]
    #[must_use]
    pub const fn is_wire(&self) -> bool {
        matches!(self.stage, Stage::Wire(_))
    }
}

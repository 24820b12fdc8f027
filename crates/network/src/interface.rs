//! The interfaces of hosts: one direction of the access link of each.
//!
//! A run may have a hundred thousand of them. Most packets find no other one there, and each waits
//! for memory when its packet comes. All interfaces of a class have one configuration, which stands
//! in the class. An interface is 48 bytes. From the first packet on that waits, it has a queue in the
//! class.
//!
//! It is a [`Link`](crate::Link) of that configuration whose packets the caller keeps, with the same
//! drops, departures and results.

use alloc::boxed::Box;
use alloc::vec::Vec;

use units::{Bytes, Duration, Instant, Pace, Rate};

use crate::LinkConfig;
use crate::meter::{fraction, over_activity};
use crate::plain::Plain;
use crate::runs::{Limits, Runs};

/// With more on top of a packet, the product of its bits and a second might not fit.
const MOST_OVERHEAD: u32 = 1 << 20;
/// So many sizes of packets have a place for their pace.
const SIZES: usize = 64;

/// What interfaces have in common: a drop-tail queue before a constant rate.
#[derive(Debug)]
pub struct InterfaceClass {
    rate: Rate,
    overhead: u32,
    limits: Limits,
    /// The last size of each place, overhead included, and its pace.
    paces: Box<[(u64, Pace); SIZES]>,
    waiting: Vec<Waiting>,
}

/// One of a class.
#[derive(Debug)]
pub struct Interface {
    /// When the last accepted packet leaves, or left.
    until: Instant,
    /// What the pace has carried from that packet.
    remainder: u64,
    /// When the first packet was offered; [`Instant::MAX`] is never.
    first_packet: Instant,
    /// Packets accepted, but for those of [`Self::recall`].
    packets: u64,
    /// The time that the service of all accepted packets takes.
    used: Duration,
    /// The place of its queue in the class; [`NONE`] before the first packet that waits.
    waiting: u32,
}

/// No place.
const NONE: u32 = u32::MAX;

/// The queue of an interface.
#[derive(Debug, Default)]
struct Waiting {
    queue: Runs,
    drops: u64,
}

/// An interface over a run. Utilization and mean queue are taken over the time since its first
/// packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InterfaceSummary {
    /// Fraction of its capacity that was used.
    pub utilization: f64,
    /// Packets delivered.
    pub packets: u64,
    /// Packets that found the queue full.
    pub drops: u64,
    /// Largest queue.
    pub queue_max_packets: u64,
    /// Mean queue.
    pub queue_mean_packets: f64,
}

impl InterfaceClass {
    /// The class of `config`. `None` unless it is a drop-tail queue before a constant rate at which
    /// even the shortest packet takes a nanosecond, so that two packets are never due at one instant.
    #[must_use]
    pub fn new(config: &LinkConfig) -> Option<Self> {
        let plain = Plain::new(config)?;
        let fits = plain.keeps_packets_apart() && config.overhead <= MOST_OVERHEAD;
        fits.then(|| Self {
            rate: plain.rate(),
            overhead: config.overhead,
            limits: Limits::new(config.queue.limit),
            paces: Box::new([(u64::MAX, Pace::INSTANT); SIZES]),
            waiting: Vec::new(),
        })
    }

    /// The pace of packets of `bytes`, overhead included.
    #[inline(always)]
    fn pace(&mut self, bytes: u64) -> &Pace {
        let place = &mut self.paces[bytes as usize % SIZES];
        if place.0 != bytes {
            *place = (bytes, Pace::of(Bytes::new(bytes), self.rate));
        }
        &place.1
    }
}

impl Default for Interface {
    fn default() -> Self {
        Self {
            until: Instant::ZERO,
            remainder: 0,
            first_packet: Instant::MAX,
            packets: 0,
            used: Duration::ZERO,
            waiting: NONE,
        }
    }
}

impl Interface {
    /// Offers a packet of `size` bytes, at most 65,535, that the caller keeps. Returns when its last
    /// bit leaves the server, which is the delay of its link before it is due; `None` if it is
    /// dropped. It counts as delivered at once: see [`Self::recall`]. Calls come in order of time.
    #[inline(always)]
    pub fn send(&mut self, class: &mut InterfaceClass, now: Instant, size: u32) -> Option<Instant> {
        if self.until > now {
            let bytes = u64::from(size) + u64::from(class.overhead);
            return self.wait(class, now, bytes);
        }
        self.send_idle(class, now, size)
    }

    /// [`Self::send`] to an interface that is idle. To a busy one it does nothing, and returns `None`.
    #[inline(always)]
    pub fn send_idle(
        &mut self,
        class: &mut InterfaceClass,
        now: Instant,
        size: u32,
    ) -> Option<Instant> {
        if self.until > now {
            return None;
        }
        if self.first_packet == Instant::MAX {
            self.first_packet = now;
        }
        if self.until < now {
            self.remainder = 0;
        }
        self.until = now;
        let bytes = u64::from(size) + u64::from(class.overhead);
        self.serve(class.pace(bytes));
        Some(self.until)
    }

    /// A packet is accepted, which is served when the last one has left.
    #[inline(always)]
    fn serve(&mut self, pace: &Pace) {
        let time = pace.step_from(&mut self.remainder);
        self.until += time;
        self.used += time;
        self.packets += 1;
    }

    /// The same for a packet that has to wait.
    #[inline(never)]
    fn wait(&mut self, class: &mut InterfaceClass, now: Instant, bytes: u64) -> Option<Instant> {
        let taken = self.wait_each(class, (now, bytes, 1), |_| ());
        (taken > 0).then_some(self.until)
    }

    /// The same for `count` packets of one size. `leave` gets the departure of each one that is accepted;
    /// a full queue drops the last ones. Returns how many are accepted.
    #[inline(always)]
    fn wait_each(
        &mut self,
        class: &mut InterfaceClass,
        (now, bytes, count): (Instant, u64, u32),
        mut leave: impl FnMut(Instant),
    ) -> u32 {
        let pace = *class.pace(bytes);
        if self.waiting == NONE {
            self.waiting = class.waiting.len() as u32;
            class.waiting.push(Waiting::default());
        }
        let Some(Waiting { queue, drops }) = class.waiting.get_mut(self.waiting as usize) else {
            return 0;
        };
        // Also those of earlier busy periods.
        queue.advance(now);
        let taken = queue.room(now, bytes, count, class.limits);
        *drops += u64::from(count - taken);
        if taken == 0 {
            return 0;
        }
        let start = self.until;
        self.serve(&pace);
        if !queue.prolongs_last(bytes) {
            let behind = pace.after(self.remainder);
            queue.begin(bytes, start, self.until, behind);
        }
        queue.enter(now, bytes, taken);
        leave(self.until);
        for _ in 1..taken {
            self.serve(&pace);
            leave(self.until);
        }
        taken
    }

    /// Offers `count` packets of `size` bytes at once: so many calls of [`Self::send`]. `leave` gets
    /// the departure of each one that is accepted; a full queue drops the last ones. Returns how many are
    /// accepted.
    #[inline(always)]
    pub fn send_burst(
        &mut self,
        class: &mut InterfaceClass,
        now: Instant,
        (size, count): (u32, u32),
        mut leave: impl FnMut(Instant),
    ) -> u32 {
        let mut served = 0;
        if let Some(leaves) = self.send_idle(class, now, size) {
            served = 1;
            leave(leaves);
        }
        let bytes = u64::from(size) + u64::from(class.overhead);
        served + self.wait_each(class, (now, bytes, count - served), leave)
    }

    /// When the last accepted packet leaves, or left, the server.
    #[must_use]
    pub const fn busy_until(&self) -> Instant {
        self.until
    }

    /// A packet that [`Self::send`] has taken is still on its way at the end of the run, so it is not
    /// delivered.
    pub const fn recall(&mut self) {
        self.packets -= 1;
    }

    /// The interface from the beginning of the run to `now`.
    pub fn summary(&self, class: &mut InterfaceClass, now: Instant) -> InterfaceSummary {
        let first = Some(self.first_packet).filter(|&at| at < Instant::MAX);
        let share = over_activity(first, now);
        let used = self.used - self.until.saturating_since(now);
        let utilization = fraction((used.as_nanos(), now.as_nanos()));
        let mut drops = 0;
        let (mut queue_max_packets, mut queue_mean_packets) = (0, 0.0);
        if let Some(waiting) = class.waiting.get_mut(self.waiting as usize) {
            drops = waiting.drops;
            waiting.queue.advance(now);
            queue_max_packets = waiting.queue.max_packets();
            queue_mean_packets = waiting.queue.mean_packets(now);
        }
        InterfaceSummary {
            utilization: share(utilization).min(1.0),
            packets: self.packets,
            drops,
            queue_max_packets,
            queue_mean_packets: share(queue_mean_packets),
        }
    }
}

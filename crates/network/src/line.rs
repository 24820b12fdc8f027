//! The delay line of a link: propagation delay and jitter, after the server.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant};

use crate::jitter::{self, Jitter};
use crate::{LinkConfig, Packet};

#[derive(Debug)]
pub(crate) struct Line<T> {
    /// Packets with the instants at which they are due, in order of both.
    inside: VecDeque<(Instant, Packet<T>)>,
    last_due: Instant,
    delay: Duration,
    jitter: Option<Box<Jitter>>,
    /// For packets from a late stage: when each left the server, and in which busy period.
    left: VecDeque<(Instant, u64)>,
}

impl<T> Line<T> {
    pub(crate) fn new(config: &LinkConfig, rng: &ChaCha8Rng) -> Self {
        Self {
            inside: VecDeque::new(),
            last_due: Instant::ZERO,
            delay: config.delay,
            jitter: jitter::new(config.jitter.as_ref(), rng),
            left: VecDeque::new(),
        }
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

    /// The same for a packet from a late stage, which reports its busy period too.
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

    /// The next packet, if it is due before `bound`.
    #[inline(always)]
    pub(crate) fn pop_before(&mut self, bound: Instant) -> Option<(Instant, Packet<T>)> {
        if self.inside.front()?.0 >= bound {
            return None;
        }
        self.inside.pop_front()
    }

    /// When the next packet left the server, and in which busy period; `None` if not from a late
    /// stage.
    pub(crate) fn front_left(&self) -> Option<(Instant, u64)> {
        self.left.front().copied()
    }

    pub(crate) fn forget_left(&mut self) {
        self.left.pop_front();
    }

    /// The last packet in the line.
    pub(crate) fn last(&mut self) -> Option<&mut Packet<T>> {
        self.inside.back_mut().map(|(_, packet)| packet)
    }

    /// The propagation delay, which jitter only increases.
    pub(crate) const fn delay(&self) -> Duration {
        self.delay
    }

    /// Number of packets inside.
    pub(crate) fn len(&self) -> u64 {
        self.inside.len() as u64
    }
}

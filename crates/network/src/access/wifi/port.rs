//! The sender of one direction: its queue, its packets in flight, and the receiver's reordering.
//!
//! A frame (A-MPDU) contains unacknowledged packets, then queued ones, within the window of the
//! block acknowledgment, the frame's size and its airtime (IEEE 802.11). Each packet in it is lost
//! independently. The receiver delivers in order: packets behind a lost one wait until it is
//! retransmitted or given up, so that losses become bursts of delay.
//!
//! Below a queue discipline the driver holds packets of a limited airtime (mac80211's AQL); a
//! drop-tail queue is the driver's own.
//!
//! ## Deviations
//!
//! - Packets behind one that is given up are delivered at the end of that frame, as if its
//!   BlockAckReq took no time. The receiver's own timeout of 100 ms is then never needed.
//! - The outcome of a frame is determined at its start, because nothing can change it: a packet
//!   counts as lost from the start of its last frame.
//! - AQL computes airtime from the packets' bytes at the present rate, without frame headers.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant};

use super::config::WifiConfig;
use super::contention::Contender;
use super::phy::Phy;
use crate::aqm::{Managed, Waiting};
use crate::busy::Busy;
use crate::medium::Passage;
use crate::random::unit;
use crate::{DropReason, Dropped, Sent};

/// A packet between the queue and the receiver's host.
#[derive(Debug)]
struct Flying<T> {
    /// `None` once it is given up.
    waiting: Option<Waiting<T>>,
    attempts: u32,
    /// Received, and held until the packets before it are delivered.
    received: bool,
}

impl<T> Flying<T> {
    const fn is_outstanding(&self) -> bool {
        self.waiting.is_some() && !self.received
    }
}

/// The end of a frame, and when the medium is idle after it, with an answer and without.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) begin: Instant,
    pub(super) through: Instant,
    pub(super) answered: Instant,
    pub(super) unanswered: Instant,
}

#[derive(Debug)]
pub(super) struct Port<T> {
    pub(super) contender: Contender,
    pub(super) queue: Managed<T>,
    /// Dequeued, but not yet sent.
    driver: VecDeque<Waiting<T>>,
    /// Sent at least once, from the oldest undelivered packet on.
    flying: VecDeque<Flying<T>>,
    outstanding: usize,
    /// The packets of the present frame, as indices into `flying`.
    frame: Vec<usize>,
    pub(super) out: VecDeque<Passage<T>>,
    errors: ChaCha8Rng,
    retries: u32,
    airtime_limit: Option<Duration>,
    /// Packets at the front of the driver that are the next frame, if that is assembled ahead.
    staged: Option<usize>,
    /// IP bytes below the queue, and the part that becomes free at the end of the present frame.
    below: u64,
    freed: u64,
    frame_ends: Instant,
    /// The time since which it has packets to send.
    ready: Instant,
    pub(super) busy: Busy,
    /// Whether the last frame left packets queued.
    was_full: bool,
    pub(super) lost: u64,
    /// The packets that it is done with, if anyone asks.
    pub(super) sent: Option<VecDeque<Sent>>,
}

impl<T> Port<T> {
    pub(super) fn new(
        config: &WifiConfig,
        queue: Managed<T>,
        backoff: ChaCha8Rng,
        errors: ChaCha8Rng,
    ) -> Self {
        Self {
            contender: Contender::new(config, backoff),
            airtime_limit: (!queue.is_plain()).then_some(config.airtime_limit),
            staged: config.assembled_ahead.then_some(0),
            queue,
            driver: VecDeque::new(),
            flying: VecDeque::new(),
            outstanding: 0,
            frame: Vec::new(),
            out: VecDeque::new(),
            errors,
            retries: config.retries,
            below: 0,
            freed: 0,
            frame_ends: Instant::MAX,
            ready: Instant::ZERO,
            busy: Busy::default(),
            was_full: false,
            lost: 0,
            sent: None,
        }
    }

    fn has_waiting(&self) -> bool {
        !self.driver.is_empty() || !self.queue.is_empty()
    }

    /// Whether it has packets to send.
    pub(super) fn is_ready(&self) -> bool {
        self.outstanding > 0 || self.has_waiting()
    }

    /// When it sends, if the medium is idle from `idle` on; [`Instant::MAX`] without packets.
    pub(super) fn start(&self, idle: Instant, phy: &Phy) -> Instant {
        if self.is_ready() {
            self.contender.start(idle, self.ready, phy)
        } else {
            Instant::MAX
        }
    }

    /// Packets inside.
    pub(super) fn held(&self) -> u64 {
        let flying = self.flying.iter().filter(|one| one.waiting.is_some());
        let below = self.driver.len() + flying.count() + self.out.len();
        self.queue.len().0 + below as u64
    }

    /// Accepts a packet, or returns why not. The medium is idle, or will be, from `idle` on.
    pub(super) fn push(
        &mut self,
        waiting: Waiting<T>,
        idle: Instant,
        rate: f64,
    ) -> Result<(), DropReason> {
        let now = waiting.at;
        let was_ready = self.is_ready();
        let rest = (!was_ready).then(|| now.saturating_since(self.busy.time().until));
        self.queue.enqueue(waiting, rest, None)?;
        self.refill(now, rate);
        if !was_ready {
            // Even on an idle medium the packet waits for AIFS and backoff.
            self.queue.count_most();
            self.ready = now;
            if now < idle {
                self.contender.meets_busy();
            }
        }
        Ok(())
    }

    /// Ends the present frame, if it has ended by `now`.
    pub(super) fn settle(&mut self, now: Instant, rate: f64) {
        if self.frame_ends <= now {
            let at = self.frame_ends;
            self.frame_ends = Instant::MAX;
            self.below = self.below.saturating_sub(self.freed);
            self.freed = 0;
            self.refill(at, rate);
        }
    }

    /// Fills the driver, up to its airtime at `rate` bits per second.
    fn refill(&mut self, now: Instant, rate: f64) {
        let Some(limit) = self.airtime_limit else {
            return;
        };
        let most = (limit.as_nanos() as f64 * 1e-9 * rate / 8.0) as u64;
        // At least one packet, or nothing would ever be sent.
        while self.below < most.max(1) && self.take(now) {}
    }

    /// Moves a packet from the queue to the driver.
    fn take(&mut self, now: Instant) -> bool {
        if self.queue.is_empty() {
            return false;
        }
        let Some(waiting) = self.queue.dequeue(now) else {
            return false;
        };
        self.below += u64::from(waiting.packet.size);
        self.driver.push_back(waiting);
        true
    }

    /// Assembles a frame; returns the number of packets and the airtime, if there are any.
    pub(super) fn assemble(
        &mut self,
        now: Instant,
        mcs: u8,
        phy: &Phy,
    ) -> Option<(usize, Duration)> {
        self.frame.clear();
        let room = phy.max_frame_bytes(mcs);
        let mut bytes = 0;
        let mut fits = |size: u32| {
            let with = bytes + phy.frame_bytes(size);
            let fits = bytes == 0 || with <= room;
            if fits {
                bytes = with;
            }
            fits
        };
        let mut is_full = false;
        for (place, flying) in self.flying.iter().enumerate() {
            if let (Some(waiting), false) = (&flying.waiting, flying.received) {
                if !fits(waiting.packet.size) {
                    is_full = true;
                    break;
                }
                self.frame.push(place);
            }
        }
        // A frame that was assembled ahead has no other packets.
        let mut most = match self.staged {
            Some(count) if count > 0 => count,
            _ => usize::MAX,
        };
        while !is_full && most > 0 && self.flying.len() < phy.window {
            if self.driver.is_empty() && (self.airtime_limit.is_some() || !self.take(now)) {
                break;
            }
            let Some(head) = self.driver.front() else {
                break;
            };
            is_full = !fits(head.packet.size);
            if !is_full {
                self.frame.push(self.flying.len());
                self.flying.push_back(Flying {
                    waiting: self.driver.pop_front(),
                    attempts: 0,
                    received: false,
                });
                self.outstanding += 1;
                most -= 1;
            }
        }
        if self.staged.is_some() {
            self.stage(now, room, phy);
        }
        (!self.frame.is_empty()).then(|| (self.frame.len(), phy.frame_time(mcs, bytes)))
    }

    /// Assembles the next frame from the packets that wait now, up to `room` bytes.
    fn stage(&mut self, now: Instant, room: u64, phy: &Phy) {
        let (mut count, mut bytes) = (0, 0);
        while count < phy.window {
            let is_below =
                count < self.driver.len() || self.airtime_limit.is_none() && self.take(now);
            let Some(next) = self.driver.get(count).filter(|_| is_below) else {
                break;
            };
            bytes += phy.frame_bytes(next.packet.size);
            if count > 0 && bytes > room {
                break;
            }
            count += 1;
        }
        self.staged = Some(count);
    }

    /// Sends the frame, with a `loss` rate for packets of 1500 bytes, or so that nothing arrives.
    /// Returns when the medium is idle again.
    pub(super) fn send(&mut self, times: Times, loss: Option<f64>) -> Instant {
        let mut received = 0;
        let mut given_up = 0;
        let mut of_size = (0, 0.0);
        let reported = self.sent.as_ref().map_or(0, VecDeque::len);
        for &place in &self.frame {
            let Some(flying) = self.flying.get_mut(place) else {
                continue;
            };
            let Some(waiting) = &flying.waiting else {
                continue;
            };
            let (size, flow) = (waiting.packet.size, waiting.packet.flow);
            flying.received = loss.is_some_and(|loss| {
                if loss < LEAST_LOSS {
                    return true;
                }
                if of_size.0 != size {
                    let share = f64::from(size) / 1500.0;
                    of_size = (size, 1.0 - libm::pow(1.0 - loss, share));
                }
                unit(&mut self.errors) >= of_size.1
            });
            if flying.received {
                received += 1;
            } else {
                flying.attempts += 1;
                if flying.attempts <= self.retries {
                    continue;
                }
                let Some(waiting) = flying.waiting.take() else {
                    continue;
                };
                given_up += 1;
                self.queue.fate.dropped.push_back(Dropped {
                    at: times.begin,
                    reason: DropReason::Loss,
                    packet: waiting.packet,
                });
            }
            self.freed += u64::from(size);
            if let Some(sent) = &mut self.sent {
                sent.push_back(Sent {
                    at: Instant::MAX,
                    flow,
                    bytes: size,
                });
            }
        }
        self.outstanding -= received + given_up;
        self.lost += given_up as u64;
        let end = if received > 0 {
            times.answered
        } else {
            times.unanswered
        };
        if let Some(sent) = &mut self.sent {
            sent.iter_mut()
                .skip(reported)
                .for_each(|sent| sent.at = end);
        }
        let is_full = self.has_waiting();
        self.busy.extend(times.begin, end, !self.was_full);
        self.was_full = is_full;
        self.frame_ends = end;
        let handed_on = if received > 0 { times.through } else { end };
        while let Some(front) = self.flying.front()
            && !front.is_outstanding()
        {
            let waiting = self.flying.pop_front().and_then(|front| front.waiting);
            if let Some(waiting) = waiting {
                self.out.push_back(Passage {
                    at: handed_on,
                    period: self.busy.time().periods,
                    packet: waiting.packet,
                });
            }
        }
        if received > 0 || given_up > 0 {
            self.contender.succeeded();
        } else {
            self.contender.failed();
        }
        end
    }
}

/// A smaller loss rate counts as zero.
const LEAST_LOSS: f64 = 1e-12;

//! DualPI2: a queue for L4S beside one for classic traffic, coupled so that flows of both kinds get
//! like shares (RFC 9332, appendix A).
//!
//! A packet with ECT(1) or CE enters the L4S queue. A PI controller moves a base probability `p'`
//! with the longer of the two queueing delays. The classic queue drops, or marks, with `p'` squared;
//! the L4S queue marks with the greater of `k p'` and a ramp over its own delay. From `k p' = 1` on,
//! both queues drop (appendix A.2).
//!
//! Updates are due at multiples of the interval from the start of the run. A missed update is made
//! up at the next call, with the packets of that time in the queues.
//!
//! ## Deviations
//!
//! - The scheduler is Linux's: weighted round robin in bytes, by a credit of the classic queue. The
//!   RFC leaves the scheduler open and also describes one of shifted times.
//! - Marks and drops are spread evenly by an accumulator, as in the RFC; Linux draws random numbers.
//! - `Tupdate` is 16 ms with the gains 0.16 and 3.2, as in Linux; the formulas of figure 2 give 15 ms,
//!   0.15 and 3. With a `range` of zero the ramp is Linux's step.
//! - A full buffer drops the arriving packet of either queue (appendix A.1), and the L4S queue drops
//!   by overload, which Linux calls `drop_on_overload`.

use units::{Duration, Instant};

use super::{Fate, Fifo, Waiting, mark_packet};
use crate::{DualPi2Config, Ecn};

/// Per second of delay beyond the target, and of its growth (figure 2).
const ALPHA: f64 = 0.16;
const BETA: f64 = 3.2;
/// Packets in the L4S queue up to which its own ramp does not mark (`Th_len`).
const SHORT: u64 = 1;
/// The credit of the classic queue after one of the queues was empty, in bytes of a full packet.
const FULL_PACKET: f64 = 1500.0;

/// Spreads events of a varying likelihood evenly (figure 5, `recur`).
#[derive(Clone, Copy, Debug, Default)]
struct Recur(f64);

impl Recur {
    fn strikes(&mut self, likelihood: f64) -> bool {
        self.0 += likelihood;
        let strikes = self.0 > 1.0;
        if strikes {
            self.0 -= 1.0;
        }
        strikes
    }
}

#[derive(Clone, Debug)]
pub(crate) struct DualPi2<T> {
    config: DualPi2Config,
    low: Fifo<T>,
    classic: Fifo<T>,
    /// `p'`.
    base: f64,
    /// The longer queueing delay in seconds at the last update.
    old: f64,
    next: Instant,
    /// Weighted bytes by which the L4S queue is ahead of its share.
    credit: f64,
    low_recurs: Recur,
    classic_recurs: Recur,
}

impl<T> DualPi2<T> {
    pub(crate) fn new(config: DualPi2Config) -> Self {
        Self {
            config,
            low: Fifo::default(),
            classic: Fifo::default(),
            base: 0.0,
            old: 0.0,
            next: Instant::ZERO + config.update,
            credit: initial_credit(&config),
            low_recurs: Recur::default(),
            classic_recurs: Recur::default(),
        }
    }

    pub(crate) fn len(&self) -> (u64, u64) {
        (
            self.low.len() + self.classic.len(),
            self.low.bytes() + self.classic.bytes(),
        )
    }

    pub(crate) fn enqueue(&mut self, waiting: Waiting<T>) {
        match waiting.packet.ecn {
            Ecn::Ect1 | Ecn::Ce => self.low.push(waiting),
            Ecn::Ect | Ecn::NotEct => self.classic.push(waiting),
        }
    }

    /// Makes the updates that were due by `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        let step = self.config.update.max(Duration::from_nanos(1));
        while self.next <= now {
            if self.base == 0.0 && self.old == 0.0 && self.len().0 == 0 {
                self.next += step * ((now - self.next).as_nanos() / step.as_nanos());
            } else {
                self.update(self.next);
            }
            self.next += step;
        }
    }

    /// Figure 6, with the greater delay of appendix A.2.
    fn update(&mut self, at: Instant) {
        let age = |fifo: &Fifo<T>| {
            fifo.oldest()
                .map_or(Duration::ZERO, |oldest| at.saturating_since(oldest))
        };
        let delay = age(&self.low).max(age(&self.classic)).as_secs_f64();
        let target = self.config.target.as_secs_f64();
        let change = ALPHA * (delay - target) + BETA * (delay - self.old);
        self.base = (self.base + self.config.gain * change).clamp(0.0, 1.0);
        self.old = delay;
    }

    /// Which queue is next; at least one is not empty.
    fn takes_low(&mut self) -> bool {
        let share = self.config.classic_share;
        let Some(low) = self.low.next_bytes() else {
            self.credit = initial_credit(&self.config);
            return false;
        };
        let Some(classic) = self.classic.next_bytes() else {
            self.credit = initial_credit(&self.config);
            return true;
        };
        let takes_low = self.credit <= 0.0;
        if takes_low {
            self.credit += share * low as f64;
        } else {
            self.credit -= (1.0 - share) * classic as f64;
        }
        takes_low
    }

    /// The ramp of the L4S queue over the delay of a packet that leaves `queued` others behind.
    fn ramp(&self, wait: Duration, queued: u64) -> f64 {
        let DualPi2Config {
            threshold, range, ..
        } = self.config;
        if queued < SHORT || wait <= threshold {
            0.0
        } else if wait >= threshold + range {
            1.0
        } else {
            (wait - threshold).as_secs_f64() / range.as_secs_f64()
        }
    }

    pub(crate) fn dequeue(&mut self, now: Instant, fate: &mut Fate<T>) -> Option<Waiting<T>> {
        self.advance(now);
        while self.len().0 > 0 {
            let coupled = self.config.coupling * self.base;
            let squared = self.base * self.base;
            let is_overloaded = coupled >= 1.0;
            if self.takes_low() {
                let mut waiting = self.low.pop()?;
                if is_overloaded && self.low_recurs.strikes(squared) {
                    fate.drop_early(now, Some(waiting));
                    continue;
                }
                let wait = now.saturating_since(waiting.at);
                let own = self.ramp(wait, self.low.len());
                // Under overload every packet is marked that is not dropped: `p_CL` is at least one.
                if is_overloaded || self.low_recurs.strikes(own.max(coupled)) {
                    mark_again(&mut waiting, fate);
                }
                return Some(waiting);
            }
            let mut waiting = self.classic.pop()?;
            if self.classic_recurs.strikes(squared) {
                let marks = self.config.ecn && !is_overloaded;
                if !(marks && mark_packet(&mut waiting.packet, fate)) {
                    fate.drop_early(now, Some(waiting));
                    continue;
                }
            }
            return Some(waiting);
        }
        None
    }
}

/// Marks a packet of the L4S queue. One that arrived with CE is not counted.
fn mark_again<T>(waiting: &mut Waiting<T>, fate: &mut Fate<T>) {
    if waiting.packet.ecn != Ecn::Ce {
        mark_packet(&mut waiting.packet, fate);
    }
}

/// The L4S queue begins a little behind, so that its first packet goes first.
fn initial_credit(config: &DualPi2Config) -> f64 {
    (2.0 * config.classic_share - 1.0) * FULL_PACKET
}

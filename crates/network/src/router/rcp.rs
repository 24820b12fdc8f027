//! RCP: one rate for all flows of a link (Dukkipati and McKeown).
//!
//! In each slot the rate changes by the spare capacity less the rate that drains the queue in one
//! mean round trip, as a fraction of the link's rate: `R <- R (1 + (T/d0) (alpha (C - y) - beta
//! q/d0) / C)`. A packet carries the smallest rate on its path; the number of flows does not
//! appear.
//!
//! ## Deviations
//!
//! - The publications differ in their constants: `alpha` 0.4 and `beta` 0.4 are the defaults of the
//!   ns-2 implementation.
//! - The mean round trip is averaged before the rate changes; the publications do not give the
//!   order.

use rand_chacha::ChaCha8Rng;
use tables::{Key, Kind, described};
use units::feedback::Feedback;
use units::{Duration, Instant, Rate};

use super::{OVERSTATE, View};
use crate::random::{Purpose, normal, stream};

/// Longest slot (`tau`), in seconds.
const TAU: f64 = 0.010;
/// The mean round trip before any is known, in seconds.
const FIRST_RTT: f64 = 0.2;
/// The initial rate, as a fraction of the link's.
const FIRST_SHARE: f64 = 0.05;
/// The lowest rate is `LEAST / d0` bytes per second: a hundredth of 1000 bytes per round trip.
const LEAST: f64 = 0.01 * 1000.0;

/// A gain.
const GAIN: Kind = Kind::Share(f64::MIN_POSITIVE, 1000.0);

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct RcpConfig("rcp", "router support rcp", "Settings of an [`RcpRouter`].") {
        /// Gain of the spare capacity.
        alpha: f64 = 0.4 => Key::of(GAIN);
        /// Gain of the queue.
        beta: f64 = 0.4 => Key::of(GAIN);
        /// The rate that the router takes its link to have, in units of what it has. Above 1 it
        /// lies, and grants more than the link carries.
        overstate: f64 = 1.0 => OVERSTATE;
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct RcpRouter {
    config: RcpConfig,
    /// The link's rate as the router takes it, in bytes per second like all rates here.
    capacity: f64,
    rate: f64,
    /// Mean round trip (`d0`), and length of the current slot, in seconds.
    mean_rtt: f64,
    slot: f64,
    slot_end: Instant,
    /// Bytes of the slot, and those of a packet across its end that count in the next one.
    bytes: f64,
    spill: f64,
    /// Round-trip times weighted by bytes, and those bytes.
    rtt_bytes: f64,
    rtt_weight: f64,
}

impl RcpRouter {
    /// The router in front of a link of `rate`. The length of its first slot is drawn, so that
    /// routers are not synchronised.
    #[must_use]
    pub fn new(config: &RcpConfig, rate: Rate, rng: &ChaCha8Rng) -> Self {
        let mut rng = stream(rng, Purpose::Router);
        let capacity = (rate.bits_per_sec() as f64 / 8.0).max(1.0) * config.overstate;
        let slot = FIRST_RTT.min(TAU);
        let first = (slot * (1.0 + 0.2 * normal(&mut rng))).clamp(slot / 10.0, slot * 2.0);
        Self {
            config: *config,
            capacity,
            rate: FIRST_SHARE * capacity,
            mean_rtt: FIRST_RTT,
            slot: first,
            slot_end: Instant::ZERO + span(first),
            bytes: 0.0,
            spill: 0.0,
            rtt_bytes: 0.0,
            rtt_weight: 0.0,
        }
    }

    /// A router with these initial numbers, in bytes per second and seconds: for models.
    #[must_use]
    pub fn begin(mut self, rate: f64, mean_rtt: f64) -> Self {
        self.rate = rate;
        self.mean_rtt = mean_rtt;
        self.slot = mean_rtt.min(TAU);
        self
    }

    /// The rate assigned to flows, in bytes per second.
    #[must_use]
    pub const fn rate(&self) -> f64 {
        self.rate
    }

    /// The mean round trip of the flows, in seconds.
    #[must_use]
    pub const fn mean_rtt(&self) -> f64 {
        self.mean_rtt
    }

    pub(super) fn on_arrival(
        &mut self,
        now: Instant,
        size: u64,
        link: &mut impl View,
        feedback: Option<&mut Feedback>,
    ) {
        self.advance(now, link);
        let size = size as f64;
        // A packet across the end of a slot counts in both, by its transmission time.
        let left = self.slot_end.saturating_since(now).as_nanos() as f64 / 1e9;
        let share = (left * self.capacity / size).min(1.0);
        self.bytes += size * share;
        self.spill += size * (1.0 - share);
        if let Some(Feedback::Rcp { rate, rtt, ttl }) = feedback {
            if !rtt.is_zero() {
                self.rtt_bytes += size;
                self.rtt_weight += size * rtt.as_secs_f64();
            }
            let bits = (self.rate * 8.0) as u64;
            *rate = (*rate).min(Rate::from_bits_per_sec(bits));
            *ttl = ttl.wrapping_sub(1);
        }
    }

    /// Finishes the slots that ended by `now`.
    fn advance(&mut self, now: Instant, link: &mut impl View) {
        while self.slot_end <= now {
            let queue = link.queued(self.slot_end).get() as f64;
            let was_idle = self.bytes == 0.0 && self.spill == 0.0 && queue == 0.0;
            let before = self.rate;
            self.end_slot(queue);
            let slot = span(self.slot).max(Duration::from_nanos(1));
            self.slot_end += slot;
            if was_idle && self.rate.to_bits() == before.to_bits() {
                // The rate is at its limit, and slots without packets leave it there.
                let more = now.saturating_since(self.slot_end).as_nanos() / slot.as_nanos();
                self.slot_end += slot * more;
            }
        }
    }

    /// A slot ends in which `bytes` arrived; `queue` bytes are queued.
    fn end_slot(&mut self, queue: f64) {
        if self.rtt_bytes > 0.0 {
            self.average_rtt(self.rtt_weight / self.rtt_bytes);
        }
        self.move_rate(self.bytes / self.slot, queue);
        self.bytes = core::mem::take(&mut self.spill);
        self.rtt_bytes = 0.0;
        self.rtt_weight = 0.0;
        self.slot = self.mean_rtt.min(TAU);
    }

    /// The mean round trip follows that of a slot: up at once, down slowly.
    pub fn average_rtt(&mut self, rtt: f64) {
        let gain = self.slot / self.mean_rtt;
        let gain = if rtt >= self.mean_rtt {
            gain
        } else {
            self.rate / self.capacity * (rtt / self.mean_rtt) * gain
        };
        self.mean_rtt = (gain * rtt + (1.0 - gain) * self.mean_rtt).max(1e-6);
    }

    /// Changes the rate: `arrived` bytes per second arrived, `queue` bytes are queued.
    pub fn move_rate(&mut self, arrived: f64, queue: f64) {
        let RcpConfig { alpha, beta, .. } = self.config;
        let spare = alpha * (self.capacity - arrived) - beta * queue / self.mean_rtt;
        let ratio = 1.0 + self.slot / self.mean_rtt * spare / self.capacity;
        let least = (LEAST / self.mean_rtt).min(self.capacity);
        self.rate = (self.rate * ratio).clamp(least, self.capacity);
    }
}

/// Seconds as a span of time.
fn span(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9) as u64)
}

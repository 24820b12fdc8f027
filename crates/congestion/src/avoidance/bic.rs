//! BIC as in Linux (`tcp_bic.c`): `bictcp_update`, `bictcp_recalc_ssthresh`, `bictcp_acked`.
//!
//! A binary search for the window of the last loss: below it the window grows by a quarter of what
//! is missing each round trip (at most 16 segments), around it slowly, above it the same way
//! outward. Xu, Harfoush and Rhee, "Binary increase congestion control (BIC) for fast long-distance
//! networks", INFOCOM 2004. Integer arithmetic on segments and jiffies, as in Linux 6.12.
//!
//! ## Deviations
//!
//! - As in Linux, and not as in the paper, stretch ACKs are compensated twice: growth counts
//!   acknowledged segments, and the divisor is scaled by the ACK ratio besides. The estimate of that
//!   ratio starts at 2 and, by truncation, stays at 31/16 with one ACK per segment, so that a window
//!   grows about twice as fast as the formula of the paper says. `delayed_ack=false` leaves the
//!   scaling out. Test: `the_ratio_sticks_at_31_sixteenths`.
//! - An ACK ratio is taken of every ACK in the state Open that delivers data; Linux counts segments
//!   that are acknowledged cumulatively, which is the same there.

use units::{Bytes, Instant};

use super::{AdditiveIncrease, HZ, Jiffies, read_hz, rescale};
use crate::{Ack, Avoidance, Congestion, Phase, Window};
use crate::{options, settings};

/// `beta` in 1/1024: what a reduction leaves of the window.
const BETA: u64 = 819;
/// `BICTCP_BETA_SCALE`.
const BETA_SCALE: u64 = 1024;
/// `max_increment` (Smax): the most segments per round trip.
const MAX_INCREMENT: u64 = 16;
/// `BICTCP_B`: the part of the gap that one step of the search closes.
const B: u64 = 4;
/// `low_window`: up to here BIC is Reno.
const LOW_WINDOW: u64 = 14;
/// `smooth_part`: round trips for the last `B` segments around the maximum.
const SMOOTH_PART: u64 = 20;
/// While the capacity is unknown the window grows by at least 1/20 per round trip.
const UNKNOWN_COUNT: u64 = 20;
/// `ACK_RATIO_SHIFT`: the ACK ratio is counted in sixteenths.
const ACK_RATIO_SHIFT: u32 = 4;

settings! {
    /// Settings of [`Bic`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct BicConfig {
        /// Ticks per second of the kernel (`HZ`): 250 on Debian.
        hz: u32 {
            name: "hz",
            default: HZ.default,
            help: HZ.help,
            read: read_hz,
        }

        /// Whether a flow that lost below its last maximum gives way (`fast_convergence`).
        fast_convergence: bool {
            name: "fast_convergence",
            default: "true",
            help: "whether a flow that lost below its last maximum gives way",
            read: options::boolean,
        }

        /// Whether growth is scaled by the ACK ratio, as in Linux.
        delayed_ack: bool {
            name: "delayed_ack",
            default: "true",
            help: "whether growth is scaled by the number of segments per ACK, as in Linux",
            read: options::boolean,
        }
    }
}

/// Linux's BIC.
#[derive(Clone, Debug)]
pub struct Bic {
    config: BicConfig,
    jiffies: Jiffies,
    increase: AdditiveIncrease,
    /// Segments to be acknowledged for one of growth (`cnt`).
    count: u64,
    /// Window before the last reduction (`last_max_cwnd`); zero when unknown.
    last_max: u64,
    /// Window and jiffy of the last update.
    last_cwnd: u64,
    last_time: u64,
    /// Segments per ACK in sixteenths, smoothed (`delayed_ack`).
    ack_ratio: u64,
}

impl Bic {
    /// A new connection.
    #[must_use]
    pub fn new(config: BicConfig) -> Self {
        Self {
            config,
            jiffies: Jiffies::new(config.hz),
            increase: AdditiveIncrease::default(),
            count: 0,
            last_max: 0,
            last_cwnd: 0,
            last_time: 0,
            ack_ratio: 2 << ACK_RATIO_SHIFT,
        }
    }

    /// `bictcp_update`: renews `count` for a window of `cwnd` segments.
    fn update(&mut self, cwnd: u64, now: Instant) {
        let (now, hz) = (self.jiffies.at(now), self.jiffies.hz());
        if self.last_cwnd == cwnd && now - self.last_time <= hz / 32 {
            return;
        }
        self.last_cwnd = cwnd;
        self.last_time = now;
        if cwnd <= LOW_WINDOW {
            self.count = cwnd;
            return;
        }
        self.count = self.raw_count(cwnd);
        if self.config.delayed_ack {
            self.count = (self.count << ACK_RATIO_SHIFT) / self.ack_ratio.max(1);
        }
        self.count = self.count.max(1);
    }

    /// `bictcp_acked`: takes the segments of one ACK into the ratio.
    fn smooth(&mut self, acked: u64) {
        self.ack_ratio = self.ack_ratio - (self.ack_ratio >> ACK_RATIO_SHIFT) + acked;
    }

    /// Segments to be acknowledged for one of growth, without regard to the ACK ratio.
    fn raw_count(&self, cwnd: u64) -> u64 {
        let slow = cwnd * SMOOTH_PART / B;
        let linear = cwnd / MAX_INCREMENT;
        let count = if cwnd < self.last_max {
            match (self.last_max - cwnd) / B {
                distance if distance > MAX_INCREMENT => linear,
                0 | 1 => slow,
                distance => cwnd / distance,
            }
        } else if cwnd < self.last_max + B {
            slow
        } else if cwnd < self.last_max + MAX_INCREMENT * (B - 1) {
            cwnd * (B - 1) / (cwnd - self.last_max)
        } else {
            linear
        };
        if self.last_max == 0 {
            count.min(UNKNOWN_COUNT)
        } else {
            count
        }
    }
}

impl Avoidance for Bic {
    #[inline]
    fn on_delivery(&mut self, ack: &Ack, window: &Window) {
        if ack.phase == Phase::Open {
            self.smooth(ack.delivered.segments(window.smss));
        }
    }

    #[inline]
    fn on_ack(&mut self, acked: Bytes, ack: &Ack, window: &Window) -> Bytes {
        self.update(window.cwnd_segments(), ack.now);
        let smss = window.smss;
        self.increase.on_acked(acked, smss * self.count, smss)
    }

    fn on_congestion(&mut self, _congestion: &Congestion, window: &Window) -> Bytes {
        let cwnd = window.cwnd_segments();
        self.increase.reset();
        self.last_max = if cwnd < self.last_max && self.config.fast_convergence {
            cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            cwnd
        };
        let left = if cwnd <= LOW_WINDOW {
            cwnd / 2
        } else {
            cwnd * BETA / BETA_SCALE
        };
        window.smss * left.max(2)
    }

    fn on_timeout(&mut self) {
        *self = Self::new(self.config);
    }

    fn on_mtu(&mut self, from: Bytes, to: Bytes) {
        self.last_max = rescale(self.last_max, from, to);
        // Renews `count` at the next ACK.
        self.last_cwnd = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(last_max: u64) -> Bic {
        Bic {
            last_max,
            ..Bic::new(BicConfig::default())
        }
    }

    /// The divisor before and after scaling by an ACK ratio of 2.
    #[test]
    fn counts() {
        for (last_max, cwnd, raw, scaled) in [
            (100, 79, 15, 7),
            (100, 90, 45, 22),
            (100, 92, 46, 23),
            (100, 96, 480, 240),
            (100, 99, 495, 247),
            (100, 100, 500, 250),
            (100, 103, 515, 257),
            (100, 104, 78, 39),
            (100, 110, 33, 16),
            (100, 147, 9, 4),
            (100, 200, 12, 6),
            (1_000, 500, 31, 15),
            (1_000, 900, 56, 28),
            (1_000, 940, 62, 31),
            (0, 200, 12, 6),
            (0, 400, 20, 10),
        ] {
            let mut bic = after(last_max);
            bic.update(cwnd, Instant::from_secs(1));
            assert_eq!((bic.raw_count(cwnd), bic.count), (raw, scaled), "{cwnd}");
        }
    }

    /// One evaluation per round trip after a loss at 500, the ACK ratio left out and the fraction of
    /// a segment carried as such (Linux carries acknowledged segments from one divisor to the next).
    #[test]
    fn the_search_for_500() {
        let mut bic = after(500);
        bic.config.delayed_ack = false;
        let (mut windows, mut millionths) = ([0; 25], 399_000_000);
        for (round, window) in (0..).zip(&mut windows) {
            *window = millionths / 1_000_000;
            bic.update(*window, Instant::from_secs(round));
            millionths += *window * 1_000_000 / bic.count;
        }
        assert_eq!(
            windows,
            [
                399, 415, 432, 448, 461, 470, 477, 482, 486, 489, 491, 493, 493, 493, 494, 494,
                494, 494, 494, 495, 495, 495, 495, 495, 496
            ]
        );
    }

    #[test]
    fn the_ratio_sticks_at_31_sixteenths() {
        let mut bic = Bic::new(BicConfig::default());
        for _ in 0..50 {
            bic.smooth(1);
            assert_eq!(bic.ack_ratio, 31);
        }
    }
}

//! CUBIC as in Linux 6.12 (`tcp_cubic.c`): `bictcp_update`, `cubictcp_recalc_ssthresh`,
//! `cubictcp_state`, `cubictcp_cwnd_event`, and the delay filter of `cubictcp_acked`.
//!
//! Integer arithmetic on segments, jiffies and 1/1024 s as there. HyStart is a start-up of its
//! own. RFC 9438 in its own arithmetic is the option `rfc9438=true`.
//!
//! ## Deviations
//!
//! - The cube root is the exact floor; Linux's table with one Newton step is within 0.2 % of it
//!   on average (for 1, 100 and 1000 segments: 1388, 6451 and 13897 there, 1389, 6448 and 13893
//!   here, in 1/1024 s).
//! - Products that pass 64 bits in Linux (an epoch longer than 347 s) do not wrap here.
//! - Against RFC 9438, as Linux: the threshold follows `cwnd`, not the flight; time runs ahead by
//!   the smallest delay, not by SRTT; the Reno-friendly window keeps its slope of 8/15 for ever;
//!   an undo does not restore the epoch.

use units::{Bytes, Duration, Instant};

use super::{CubicConfig, cube_root};
use crate::avoidance::{AdditiveIncrease, Jiffies};
use crate::{Ack, Avoidance, Congestion, Window};

/// `beta` in 1/1024: what a reduction leaves of the window.
const BETA: u64 = 717;
/// `BICTCP_BETA_SCALE`.
const BETA_SCALE: u64 = 1024;
/// `cube_rtt_scale` (`bic_scale` * 10): C = 410/1024 segments per second cubed.
const CUBE_RTT_SCALE: u64 = 410;
/// `cube_factor`: 2^40 / 410.
const CUBE_FACTOR: u64 = (1 << 40) / CUBE_RTT_SCALE;
/// `BICTCP_HZ`: time is counted in 2^-10 s.
const BICTCP_HZ: u32 = 10;
/// `beta_scale`: eight times the segments that Reno with `BETA` must have acknowledged per segment
/// of window for each segment of growth.
const FRIENDLY_SCALE: u64 = 15;
/// While the capacity is unknown the window grows by at least 1/20 per round trip.
const UNKNOWN_COUNT: u64 = 20;

/// A growth epoch: it begins with the first growth after a reduction.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Jiffy of its beginning (`epoch_start`).
    start: u64,
    /// Where the curve turns, in segments (`bic_origin_point`).
    origin: u64,
    /// When it turns, in 2^-10 s (`bic_K`).
    k: u64,
    /// What Reno's window would be (`tcp_cwnd`).
    reno_cwnd: u64,
}

/// Linux's CUBIC.
#[derive(Clone, Debug)]
pub struct CubicLinux {
    config: CubicConfig,
    jiffies: Jiffies,
    increase: AdditiveIncrease,
    epoch: Option<Epoch>,
    /// Segments to be acknowledged for one of growth (`cnt`).
    count: u64,
    /// Window before the last reduction (`last_max_cwnd`); zero when unknown.
    last_max: u64,
    /// Window and jiffy of the last update.
    last_cwnd: u64,
    last_time: u64,
    /// Acknowledged and not yet counted toward Reno's window (`ack_cnt`).
    ack_count: u64,
    /// Smallest delay (`delay_min`); zero when unknown.
    delay_min: Duration,
}

impl CubicLinux {
    /// A new connection.
    #[must_use]
    pub fn new(config: CubicConfig) -> Self {
        Self {
            config,
            jiffies: Jiffies::new(config.hz),
            increase: AdditiveIncrease::default(),
            epoch: None,
            count: 0,
            last_max: 0,
            last_cwnd: 0,
            last_time: 0,
            ack_count: 0,
            delay_min: Duration::ZERO,
        }
    }

    /// `bictcp_update`: renews `count` for a window of `cwnd` segments.
    fn update(&mut self, cwnd: u64, acked: u64, now: Instant) {
        let hz = self.jiffies.hz();
        let now = self.jiffies.at(now);
        self.ack_count += acked;
        if self.last_cwnd == cwnd && now - self.last_time <= hz / 32 {
            return;
        }
        // The curve moves once per jiffy at most; Reno's window with each ACK.
        if self.epoch.is_none() || self.last_time != now {
            self.last_cwnd = cwnd;
            self.last_time = now;
            let epoch = match self.epoch {
                Some(epoch) => epoch,
                None => self.begin(cwnd, acked, now),
            };
            let target = self.target(&epoch, now, hz);
            self.count = if target > cwnd {
                cwnd / (target - cwnd)
            } else {
                100 * cwnd
            };
            if self.last_max == 0 {
                self.count = self.count.min(UNKNOWN_COUNT);
            }
        }
        if self.config.tcp_friendliness {
            self.be_friendly(cwnd);
        }
        self.count = self.count.max(2);
    }

    fn begin(&mut self, cwnd: u64, acked: u64, now: u64) -> Epoch {
        self.ack_count = acked;
        let (k, origin) = match self.last_max.checked_sub(cwnd) {
            None | Some(0) => (0, cwnd),
            Some(gap) => (
                cube_root(u128::from(CUBE_FACTOR) * u128::from(gap)),
                self.last_max,
            ),
        };
        let epoch = Epoch {
            start: now,
            origin,
            k,
            reno_cwnd: cwnd,
        };
        self.epoch = Some(epoch);
        epoch
    }

    /// The curve one smallest delay from now, in segments.
    fn target(&self, epoch: &Epoch, now: u64, hz: u64) -> u64 {
        let ahead = self.jiffies.up(self.delay_min);
        let elapsed = ((now - epoch.start + ahead) << BICTCP_HZ) / hz;
        let distance = u128::from(elapsed.abs_diff(epoch.k));
        let delta =
            (u128::from(CUBE_RTT_SCALE) * distance * distance * distance) >> (10 + 3 * BICTCP_HZ);
        let delta = u64::try_from(delta).unwrap_or(u64::MAX);
        if elapsed < epoch.k {
            epoch.origin.saturating_sub(delta)
        } else {
            epoch.origin.saturating_add(delta)
        }
    }

    fn be_friendly(&mut self, cwnd: u64) {
        let Some(epoch) = &mut self.epoch else {
            return;
        };
        let quantum = ((cwnd * FRIENDLY_SCALE) >> 3).max(1);
        if self.ack_count > quantum {
            let steps = (self.ack_count - 1) / quantum;
            self.ack_count -= steps * quantum;
            epoch.reno_cwnd += steps;
        }
        if epoch.reno_cwnd > cwnd {
            self.count = self.count.min(cwnd / (epoch.reno_cwnd - cwnd));
        }
    }
}

impl Avoidance for CubicLinux {
    #[inline]
    fn on_delivery(&mut self, ack: &Ack, _window: &Window) {
        let Some(rtt) = ack.latest_rtt else {
            return;
        };
        if self.delay_min.is_zero() || rtt < self.delay_min {
            // Samples right after a reduction still carry the queue that it drains.
            let since = |epoch| ack.now.saturating_since(epoch);
            if self
                .epoch()
                .map(since)
                .is_some_and(|age| age < Duration::from_secs(1))
            {
                return;
            }
            self.delay_min = Duration::from_micros((rtt.as_nanos() / 1_000).max(1));
        }
    }

    #[inline]
    fn on_ack(&mut self, acked: Bytes, ack: &Ack, window: &Window) -> Bytes {
        let smss = window.smss;
        self.update(window.cwnd_segments(), acked.segments(smss), ack.now);
        self.increase.on_acked(acked, smss * self.count, smss)
    }

    fn on_congestion(&mut self, _congestion: &Congestion, window: &Window) -> Bytes {
        let cwnd = window.cwnd_segments();
        self.increase.reset();
        self.epoch = None;
        self.last_max = if cwnd < self.last_max && self.config.fast_convergence {
            cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            cwnd
        };
        window.smss * (cwnd * BETA / BETA_SCALE).max(2)
    }

    fn on_timeout(&mut self) {
        *self = Self::new(self.config);
    }

    fn on_idle(&mut self, now: Instant, idle_since: Instant) {
        let now = self.jiffies.at(now);
        let idle = now.saturating_sub(self.jiffies.at(idle_since));
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + idle).min(now);
        }
    }

    #[inline]
    fn epoch(&self) -> Option<Instant> {
        let start = self.epoch.as_ref()?.start;
        Some(Instant::ZERO + self.jiffies.tick * start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_is_the_exact_cube_root() {
        let k = |gap| cube_root(u128::from(CUBE_FACTOR * gap));
        let gaps = [1, 5, 10, 30, 100, 300, 1_000, 10_000];
        assert_eq!(
            gaps.map(k),
            [1389, 2375, 2993, 4316, 6448, 9300, 13893, 29932]
        );
        assert_eq!(CUBE_FACTOR, 2_681_735_677);
    }

    /// HZ 1000, a smallest delay of 100 ms, 70 segments after a loss at 100.
    #[test]
    fn target_and_count_by_time() {
        let config = CubicConfig {
            hz: 1_000,
            ..CubicConfig::default()
        };
        let mut cubic = CubicLinux::new(config);
        cubic.last_max = 100;
        cubic.delay_min = Duration::from_millis(100);
        let at = |millis: u64| {
            let mut cubic = cubic.clone();
            let start = Instant::from_secs(1_000);
            let epoch = cubic.begin(70, 1, start.as_millis());
            cubic.update(70, 1, start + Duration::from_millis(millis));
            let now = start.as_millis() + millis;
            (cubic.target(&epoch, now, 1_000), cubic.count)
        };
        let rows = [0, 500, 1_000, 2_000].map(at);
        assert_eq!(rows, [(73, 23), (82, 5), (88, 3), (97, 2)]);
        assert_eq!(
            [3_000, 4_000, 5_000, 6_000, 8_000].map(|t| at(t).0),
            [100, 100, 100, 102, 123]
        );
        let mut cubic = cubic.clone();
        cubic.delay_min = Duration::ZERO;
        cubic.update(70, 1, Instant::ZERO);
        assert_eq!(cubic.count, 70);
    }

    /// Fast convergence: a window of 90 below a last maximum of 100 aims at 76.
    #[test]
    fn fast_convergence() {
        let mut cubic = CubicLinux::new(CubicConfig::default());
        cubic.last_max = 100;
        let window = Window {
            cwnd: Bytes::new(90),
            ssthresh: Bytes::MAX,
            smss: Bytes::new(1),
        };
        let congestion = Congestion {
            now: Instant::ZERO,
            kind: crate::CongestionKind::Loss,
            phase: crate::Phase::Open,
            in_flight: Bytes::ZERO,
            snd_nxt: 0,
            first_of_window: true,
        };
        assert_eq!(cubic.on_congestion(&congestion, &window), Bytes::new(63));
        assert_eq!(cubic.last_max, 76);
    }

    /// Segments acknowledged for one of Reno's growth: `(15 * cwnd) / 8`.
    #[test]
    fn friendliness_quantum() {
        for (cwnd, quantum) in [(10, 18), (20, 37), (70, 131), (100, 187), (1_000, 1_875)] {
            let mut cubic = CubicLinux::new(CubicConfig::default());
            cubic.begin(cwnd, quantum, 0);
            cubic.be_friendly(cwnd);
            assert_eq!(cubic.epoch.map(|epoch| epoch.reno_cwnd), Some(cwnd));
            cubic.ack_count += 1;
            cubic.be_friendly(cwnd);
            assert_eq!(cubic.epoch.map(|epoch| epoch.reno_cwnd), Some(cwnd + 1));
            assert_eq!(cubic.ack_count, 1);
        }
    }

    /// An epoch of ten hours at a huge window stays in range.
    #[test]
    fn nothing_wraps() {
        let mut cubic = CubicLinux::new(CubicConfig::default());
        cubic.last_max = 4_000_000_000;
        cubic.update(10, 1, Instant::ZERO);
        cubic.update(11, 1, Instant::from_secs(36_000));
        assert_eq!(cubic.count, 2);
    }
}

//! CUBIC as in Linux 6.12 (`tcp_cubic.c`): `bictcp_update`, `cubictcp_recalc_ssthresh`,
//! `cubictcp_state`, `cubictcp_cwnd_event`, and the delay filter of `cubictcp_acked`.
//!
//! Integer arithmetic on segments, jiffies and 1/1024 s as there. HyStart is a start-up of its
//! own. RFC 9438 in its own arithmetic is the option `rfc9438=true`.
//!
//! `version=2.1` is the module of Linux 2.6.24 (January 2008), which differs in four things: a reduction
//! leaves 819/1024 of the window instead of 717/1024; before the first loss 50 ACKs earn a segment,
//! not 20 at most; beyond the turn of the curve the window grows by at most 16 segments per 100 ms; and
//! the divisor is scaled by the ratio of segments to ACKs, as that kernel counts ACKs, not segments
//! (the flow's `byte_counting = false`).
//!
//! `version=2.0` is the module of Linux 2.6.18.2 to 2.6.20 (November 2006 to February 2007). It
//! differs from 2.1 in two things: the first slow start ends at a threshold of 100 segments
//! (`initial_ssthresh`), and the limit of 16 segments per 100 ms holds before the turn of the curve,
//! too. `version=2.6.18` is the module of 2.6.18 and 2.6.18.1, with the errors of scale that the
//! patch "tcp: cubic scaling error" (Hemminger, October 2006) removed: the curve has 32/1024 instead
//! of 410/1024 segments per second cubed, while the time of its turn is computed with 410/1024; and
//! the window grows by at most 2 segments per 100 ms.
//!
//! The baseline of Scharf 2011 is Linux 2.6.18, on flows with `initial_window = 3` and
//! `byte_counting = false`: `cubic:version=2.6.18+standard+rate-halving`, or `version=2.0` if its
//! kernel was one of the later stable releases, and `initial_ssthresh=none` if the study had changed
//! that.
//!
//! ## Deviations
//!
//! - The cube root is the exact floor; Linux's table with one Newton step is within 0.2 % of it
//!   on average (for 1, 100 and 1000 segments: 1388, 6451 and 13897 there, 1389, 6448 and 13893
//!   here, in 1/1024 s).
//! - Products that pass 64 bits in Linux (an epoch longer than 347 s) do not wrap here.
//! - The versions of 2.6 count one ACK fewer from one segment of growth to the next than those
//!   kernels do, and take their delays from the clock, not from timestamps. Slow start ends with the
//!   ACK that reaches the threshold; those kernels need one more.
//! - `version=2.0` and `version=2.6.18` are read in the module of Linux 2.6.16, in the patch and in
//!   the module of 2.6.22; what 2.6.18 has of the limit of growth is inferred from both.
//! - Against RFC 9438, as Linux: the threshold follows `cwnd`, not the flight; time runs ahead by
//!   the smallest delay, not by SRTT; the Reno-friendly window keeps its slope of 8/15 for ever;
//!   an undo does not restore the epoch.

use core::num::NonZeroU16;

use units::{Bytes, Duration, Instant};

use super::{CubicConfig, CubicVersion, cube_root};
use crate::avoidance::{AdditiveIncrease, Jiffies, rescale};
use crate::{Ack, Avoidance, Congestion, OrdinaryAck, Phase, Window};

/// `beta` in 1/1024: what a reduction leaves of the window.
const BETA: u64 = 717;
/// The same in version 2.1.
const BETA_2_1: u64 = 819;
/// `BICTCP_BETA_SCALE`.
const BETA_SCALE: u64 = 1024;
/// `cube_rtt_scale` (`bic_scale` * 10): C = 410/1024 segments per second cubed.
// RFC9438-5.1a
const CUBE_RTT_SCALE: u64 = 410;
/// The same in version 2.6.18: `(bic_scale << 3) / 10`.
const CUBE_RTT_SCALE_2_6_18: u64 = 32;
/// `cube_factor`: 2^40 / 410.
const CUBE_FACTOR: u64 = (1 << 40) / CUBE_RTT_SCALE;
/// `BICTCP_HZ`: time is counted in 2^-10 s.
const BICTCP_HZ: u32 = 10;
/// `beta_scale`: eight times the segments that Reno with `BETA` must have acknowledged per segment
/// of window for each segment of growth.
const FRIENDLY_SCALE: u64 = 15;
/// The same in version 2.1: `8 * (1024 + 819) / 3 / (1024 - 819)`.
const FRIENDLY_SCALE_2_1: u64 = 23;
/// While the capacity is unknown the window grows by at least 1/20 per round trip.
const UNKNOWN_COUNT: u64 = 20;
/// While the capacity is unknown, version 2.1 grows by one segment for this many ACKs, unscaled.
const UNKNOWN_COUNT_2_1: u64 = 50;
/// `max_increment` of version 2.1: the most segments per tenth of a second.
const MAX_INCREMENT_2_1: u64 = 16;
/// `max_increment` with the delay of version 2.6.18, which is an eighth of what the limit supposes.
const MAX_INCREMENT_2_6_18: u64 = MAX_INCREMENT_2_1 / 8;
/// `initial_ssthresh` of version 2.0, in segments.
const INITIAL_THRESHOLD_2_0: u64 = 100;
/// `ACK_RATIO_SHIFT`: the ACK ratio is counted in sixteenths.
const ACK_RATIO_SHIFT: u32 = 4;

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
    /// Segments per ACK in sixteenths, smoothed (`delayed_ack`), in version 2.1.
    ack_ratio: u32,
    /// The last window seen, in segments and in bytes.
    seen_segments: u32,
    seen: Bytes,
}

impl CubicLinux {
    /// A new connection.
    #[must_use]
    pub fn new(config: CubicConfig) -> Self {
        Self {
            config,
            jiffies: Jiffies::new(u32::from(config.hz)),
            increase: AdditiveIncrease::default(),
            epoch: None,
            count: 0,
            last_max: 0,
            last_cwnd: 0,
            last_time: 0,
            ack_count: 0,
            delay_min: Duration::ZERO,
            ack_ratio: 2 << ACK_RATIO_SHIFT,
            seen_segments: 0,
            seen: Bytes::ZERO,
        }
    }

    /// `beta` of the version, and what follows of it for Reno's window.
    #[inline]
    const fn scales(&self) -> (u64, u64) {
        match self.config.version {
            CubicVersion::Linux => (BETA, FRIENDLY_SCALE),
            _ => (BETA_2_1, FRIENDLY_SCALE_2_1),
        }
    }

    /// The congestion window in segments, which changes with few ACKs.
    #[inline]
    fn segments(&mut self, window: &Window) -> u64 {
        if window.cwnd == self.seen {
            u64::from(self.seen_segments)
        } else {
            self.see(window)
        }
    }

    #[cold]
    fn see(&mut self, window: &Window) -> u64 {
        let segments = window.cwnd_segments();
        if let Ok(few) = u32::try_from(segments) {
            self.seen = window.cwnd;
            self.seen_segments = few;
        }
        segments
    }

    /// `bictcp_update`: renews `count` for a window of `cwnd` segments.
    #[inline]
    fn update(&mut self, cwnd: u64, acked: u64, now: Instant) {
        let now = self.jiffies.at(now);
        self.ack_count += acked;
        if self.last_cwnd != cwnd || now - self.last_time > self.jiffies.hz() / 32 {
            self.renew(cwnd, acked, now);
        }
    }

    /// The same, where window or time have changed enough. `now` is a jiffy.
    #[inline(never)]
    fn renew(&mut self, cwnd: u64, acked: u64, now: u64) {
        let hz = self.jiffies.hz();
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
            if self.config.version.is_old() {
                self.limit_old(cwnd, &epoch, now, hz);
            } else if self.last_max == 0 {
                self.count = self.count.min(UNKNOWN_COUNT);
            }
        }
        if self.config.tcp_friendliness {
            self.be_friendly(cwnd);
        }
        if self.config.version.is_old() {
            self.count =
                ((self.count << ACK_RATIO_SHIFT) / u64::from(self.ack_ratio.max(1))).max(1);
        } else {
            self.count = self.count.max(2);
        }
    }

    /// See [`ControlSlot::on_ordinary_ack`](crate::ControlSlot::on_ordinary_ack). The old versions
    /// count ACKs too.
    #[inline(always)]
    pub(crate) fn on_ordinary_ack(&mut self, ack: &OrdinaryAck, window: &Window) -> Option<Bytes> {
        if self.config.version.is_old() {
            return None;
        }
        self.take_delay(ack.now, ack.rtt);
        if !ack.cwnd_limited {
            return Some(Bytes::ZERO);
        }
        Some(self.grow(ack.delivered, ack.now, window))
    }

    /// By how much the window grows for `acked`.
    #[inline(always)]
    fn grow(&mut self, acked: Bytes, now: Instant, window: &Window) -> Bytes {
        let smss = window.smss;
        let cwnd = self.segments(window);
        self.update(cwnd, window.segments(acked), now);
        self.increase.on_acked(acked, smss * self.count, smss)
    }

    /// Takes an RTT for the smallest delay.
    #[inline]
    fn take_delay(&mut self, now: Instant, rtt: Duration) {
        if self.delay_min.is_zero() || rtt < self.delay_min {
            self.shorten_delay(now, rtt);
        }
    }

    /// An RTT is the smallest so far.
    #[cold]
    fn shorten_delay(&mut self, now: Instant, rtt: Duration) {
        // Samples right after a reduction still carry the queue that it drains.
        let age = self.epoch().map(|epoch| now.saturating_since(epoch));
        if age.is_none_or(|age| age >= Duration::from_secs(1)) {
            self.delay_min = Duration::from_micros((rtt.as_nanos() / 1_000).max(1));
        }
    }

    /// What the versions of Linux 2.6 do with the divisor of the curve.
    fn limit_old(&mut self, cwnd: u64, epoch: &Epoch, now: u64, hz: u64) {
        let delay = self.jiffies.up(self.delay_min);
        let elapsed = ((now - epoch.start + delay) << BICTCP_HZ) / hz;
        let (max_increment, always) = match self.config.version {
            CubicVersion::V2_6_18 => (MAX_INCREMENT_2_6_18, true),
            CubicVersion::V2_0 => (MAX_INCREMENT_2_1, true),
            CubicVersion::V2_1 | CubicVersion::Linux => (MAX_INCREMENT_2_1, false),
        };
        if delay > 0 && (always || elapsed >= epoch.k) {
            let least = cwnd * hz / (10 * max_increment * delay);
            self.count = self.count.max(least);
        }
        if self.last_max == 0 {
            self.count = UNKNOWN_COUNT_2_1;
        }
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
        let scale = match self.config.version {
            CubicVersion::V2_6_18 => CUBE_RTT_SCALE_2_6_18,
            _ => CUBE_RTT_SCALE,
        };
        let delta = (u128::from(scale) * distance * distance * distance) >> (10 + 3 * BICTCP_HZ);
        let delta = u64::try_from(delta).unwrap_or(u64::MAX);
        // RFC9438-4.2a, RFC9438-4.4a, RFC9438-4.5a
        if elapsed < epoch.k {
            epoch.origin.saturating_sub(delta)
        } else {
            epoch.origin.saturating_add(delta)
        }
    }

    fn be_friendly(&mut self, cwnd: u64) {
        let (_, friendly_scale) = self.scales();
        let Some(epoch) = &mut self.epoch else {
            return;
        };
        let quantum = ((cwnd * friendly_scale) >> 3).max(1);
        if self.ack_count > quantum {
            let steps = (self.ack_count - 1) / quantum;
            self.ack_count -= steps * quantum;
            epoch.reno_cwnd += steps;
        }
        // RFC9438-4.3a, RFC9438-4.3b
        if epoch.reno_cwnd > cwnd {
            self.count = self.count.min(cwnd / (epoch.reno_cwnd - cwnd));
        }
    }
}

impl Avoidance for CubicLinux {
    #[inline]
    fn on_delivery(&mut self, ack: &Ack, window: &Window) {
        if self.config.version.is_old() && ack.phase == Phase::Open {
            let acked = ack.delivered.segments(window.smss).min(1 << 27) as u32;
            self.ack_ratio = self.ack_ratio - (self.ack_ratio >> ACK_RATIO_SHIFT) + acked;
        }
        if let Some(rtt) = ack.latest_rtt {
            self.take_delay(ack.now, rtt);
        }
    }

    #[inline]
    fn on_ack(&mut self, acked: Bytes, ack: &Ack, window: &Window) -> Bytes {
        self.grow(acked, ack.now, window)
    }

    fn on_congestion(&mut self, _congestion: &Congestion, window: &Window) -> Bytes {
        let cwnd = window.cwnd_segments();
        let (beta, _) = self.scales();
        self.increase.reset();
        self.epoch = None;
        // RFC9438-4.7a
        self.last_max = if cwnd < self.last_max && self.config.fast_convergence {
            cwnd * (BETA_SCALE + beta) / (2 * BETA_SCALE)
        } else {
            cwnd
        };
        // RFC9438-4.6a, RFC9438-4.6b
        window.smss * (cwnd * beta / BETA_SCALE).max(2)
    }

    fn initial_threshold(&self) -> Option<u64> {
        match (self.config.initial_ssthresh, self.config.version) {
            (Some(NonZeroU16::MAX), _) => None,
            (Some(segments), _) => Some(u64::from(segments.get())),
            (None, CubicVersion::V2_0 | CubicVersion::V2_6_18) => Some(INITIAL_THRESHOLD_2_0),
            (None, CubicVersion::V2_1 | CubicVersion::Linux) => None,
        }
    }

    fn on_timeout(&mut self) {
        *self = Self::new(self.config);
    }

    /// A new epoch begins at the next ACK: its curve counts in segments.
    fn on_mtu(&mut self, from: Bytes, to: Bytes) {
        self.last_max = rescale(self.last_max, from, to);
        self.last_cwnd = 0;
        self.epoch = None;
        self.seen = Bytes::ZERO;
        self.seen_segments = 0;
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
        Some(Instant::ZERO + self.jiffies.tick() * start)
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
    // Tests RFC9438-4.7a
    #[test]
    fn fast_convergence() {
        let mut cubic = CubicLinux::new(CubicConfig::default());
        cubic.last_max = 100;
        assert_eq!(loss_at(&mut cubic, 90), 63);
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

    fn of_version(version: CubicVersion) -> CubicLinux {
        CubicLinux::new(CubicConfig {
            hz: 1_000,
            version,
            ..CubicConfig::default()
        })
    }

    fn version_2_1() -> CubicLinux {
        of_version(CubicVersion::V2_1)
    }

    fn loss_at(cubic: &mut CubicLinux, cwnd: u64) -> u64 {
        let window = Window {
            cwnd: Bytes::new(cwnd),
            ssthresh: Bytes::MAX,
            smss: Bytes::new(1),
        };
        let congestion = Congestion {
            now: Instant::ZERO,
            kind: crate::CongestionKind::Loss,
            phase: Phase::Open,
            in_flight: Bytes::ZERO,
            snd_nxt: 0,
            first_of_window: true,
        };
        cubic.on_congestion(&congestion, &window).get()
    }

    /// 819/1024 of the window, and 1843/2048 of it as the last maximum of a flow that gives way.
    #[test]
    fn reductions_of_version_2_1() {
        let reduced = [10, 14, 50, 100].map(|cwnd| loss_at(&mut version_2_1(), cwnd));
        assert_eq!(reduced, [7, 11, 39, 79]);
        let today = [10, 14, 50, 100]
            .map(|cwnd| loss_at(&mut CubicLinux::new(CubicConfig::default()), cwnd));
        assert_eq!(today, [7, 9, 35, 70]);
        let mut cubic = version_2_1();
        cubic.last_max = 100;
        assert_eq!((loss_at(&mut cubic, 90), cubic.last_max), (71, 80));
    }

    /// Divisors with two segments for each ACK: 50 before a loss is 25; beyond the turn at most 16
    /// segments per 100 ms; Reno's window gains one for `23 * cwnd / 8` ACKs.
    #[test]
    fn divisors_of_version_2_1() {
        let mut cubic = version_2_1();
        cubic.update(40, 1, Instant::from_secs(1));
        assert_eq!(cubic.count, 25);

        // 60 s after a turn at 100 the curve would double the window at once.
        let mut cubic = version_2_1();
        cubic.last_max = 100;
        cubic.delay_min = Duration::from_millis(100);
        let start = Instant::from_secs(100);
        cubic.begin(100, 1, start.as_millis());
        cubic.update(320, 1, start + Duration::from_secs(60));
        // 320 segments at 16 for each 100 ms: one for 20 segments, of which an ACK brings two.
        assert_eq!(cubic.count, 10);

        for (cwnd, quantum) in [(10, 28), (20, 57), (100, 287)] {
            let mut cubic = version_2_1();
            cubic.begin(cwnd, quantum, 0);
            cubic.be_friendly(cwnd);
            assert_eq!(cubic.epoch.map(|epoch| epoch.reno_cwnd), Some(cwnd));
            cubic.ack_count += 1;
            cubic.be_friendly(cwnd);
            assert_eq!(cubic.epoch.map(|epoch| epoch.reno_cwnd), Some(cwnd + 1));
        }
    }

    /// HZ 1000, a smallest delay of 100 ms, 80 segments after a loss at 100: the turn is after 3.684 s
    /// of the curve. With 410/1024 the curve begins at 100 - 0.4 * 3.584^3 = 82, with 32/1024 at
    /// 100 - 0.03125 * 3.584^3 = 99, so that the limit of 2 segments per 100 ms (40 segments
    /// acknowledged for each at 80) is what holds. Beyond the turn: 8 s later 0.4 * 8^3 = 204 and 16
    /// segments.
    #[test]
    fn the_curve_of_2_6_18_is_thirteen_times_as_flat() {
        let at = |version, millis: u64| {
            let mut cubic = of_version(version);
            cubic.last_max = 100;
            cubic.delay_min = Duration::from_millis(100);
            let start = Instant::from_secs(1_000);
            let epoch = cubic.begin(80, 1, start.as_millis());
            assert_eq!(epoch.k, 3771, "3.68 s in 1/1024 s");
            cubic.update(80, 1, start + Duration::from_millis(millis));
            let target = cubic.target(&epoch, start.as_millis() + millis, 1_000);
            (target, cubic.count)
        };
        for (version, first, late) in [
            // One segment for 40 ACKs (80 / 2), which are 20 as an ACK brings two; with 2.0 at most
            // 16 segments per RTT.
            (CubicVersion::V2_1, (82, 20), (304, 2)),
            (CubicVersion::V2_0, (82, 20), (304, 2)),
            (CubicVersion::V2_6_18, (99, 20), (115, 20)),
        ] {
            assert_eq!(at(version, 0), first, "{version:?}");
            assert_eq!(at(version, 11_582), late, "{version:?}");
        }
    }

    /// 8000 segments after a loss at 10000, 100 ms: the curve begins with 35 segments per RTT, one for
    /// 228 acknowledged; the limit of 16 is one for 500. An ACK brings two.
    #[test]
    fn version_2_0_limits_growth_before_the_turn_too() {
        for (version, count) in [(CubicVersion::V2_1, 114), (CubicVersion::V2_0, 250)] {
            let mut cubic = of_version(version);
            cubic.last_max = 10_000;
            cubic.delay_min = Duration::from_millis(100);
            cubic.update(8_000, 1, Instant::from_secs(1_000));
            assert_eq!(cubic.count, count, "{version:?}");
        }
    }

    #[test]
    fn the_first_threshold_of_2_0_is_100_segments() {
        let first = |version, initial_ssthresh| {
            let config = CubicConfig {
                version,
                initial_ssthresh,
                ..CubicConfig::default()
            };
            CubicLinux::new(config).initial_threshold()
        };
        for version in [CubicVersion::V2_0, CubicVersion::V2_6_18] {
            assert_eq!(first(version, None), Some(100));
            assert_eq!(first(version, Some(NonZeroU16::MAX)), None);
        }
        for version in [CubicVersion::V2_1, CubicVersion::Linux] {
            assert_eq!(first(version, None), None);
            assert_eq!(first(version, NonZeroU16::new(50)), Some(50));
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

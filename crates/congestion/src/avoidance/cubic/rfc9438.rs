//! CUBIC as RFC 9438 states it (sections 4.1 to 4.8), in fixed point.
//!
//! Windows are in 2^-32 segments, times in microseconds. The window that the transport sees is
//! rounded down to whole segments; the fraction is carried.
//!
//! ## Deviations
//!
//! - The threshold is 0.7 of `cwnd`, which section 4.6 allows where the window does not grow when
//!   it does not limit the sender, as is the case here.
//! - A spurious loss does not restore the epoch (section 4.9.1 says it should).

use units::{Bytes, Duration, Instant};

use super::{CubicConfig, cube_root};
use crate::{Ack, Avoidance, Congestion, Window};

/// One segment.
const ONE: i128 = 1 << 32;
// RFC9438-5.1a
/// C = 0.4 segments per second cubed, section 5.1 ...
const C_NUMERATOR: i128 = 2;
/// ... which is 2/5.
const C_DENOMINATOR: i128 = 5;
/// Cubic microseconds in a cubic second.
const CUBIC_SECOND: i128 = 1_000_000_000_000_000_000;
/// beta = 7/10, section 4.6.
const BETA: (i128, i128) = (7, 10);
/// alpha = 3 (1 - beta) / (1 + beta) = 9/17, section 4.3.
const ALPHA: (i128, i128) = (9, 17);
/// (1 + beta) / 2 = 17/20, section 4.7.
const CONVERGENCE: (i128, i128) = (17, 20);

/// The state of one epoch.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// K in microseconds.
    k: i128,
    w_est: i128,
}

/// CUBIC of RFC 9438.
#[derive(Clone, Debug)]
pub struct CubicRfc9438 {
    config: CubicConfig,
    epoch: Option<Epoch>,
    /// W_max; unknown before the first reduction and after a timeout.
    w_max: Option<i128>,
    cwnd_prior: i128,
    /// Of the window beyond whole segments.
    fraction: i128,
}

impl CubicRfc9438 {
    /// A new connection.
    #[must_use]
    pub const fn new(config: CubicConfig) -> Self {
        Self {
            config,
            epoch: None,
            w_max: None,
            cwnd_prior: 0,
            fraction: 0,
        }
    }

    /// Forgets the last maximum, so that the next epoch begins at its plateau.
    pub(in crate::avoidance) fn forget_maximum(&mut self) {
        *self = Self::new(self.config);
    }

    fn begin(&mut self, cwnd: i128, now: Instant) -> Epoch {
        if self.w_max.is_none() {
            self.cwnd_prior = cwnd;
        }
        let w_max = self.w_max.unwrap_or(cwnd).max(cwnd);
        self.w_max = Some(w_max);
        let cube = (w_max - cwnd) * C_DENOMINATOR * (CUBIC_SECOND >> 16) / C_NUMERATOR;
        let k = cube_root((cube >> 16) as u128);
        Epoch {
            start: now,
            k: i128::from(k),
            w_est: cwnd,
        }
    }

    /// W_cubic(t), equation 1.
    fn w_cubic(&self, epoch: &Epoch, t: i128) -> i128 {
        // Half an hour from K any window has been passed.
        let distance = (t - epoch.k).clamp(-1_800_000_000, 1_800_000_000);
        let cube = distance * distance * distance;
        let delta = cube / 1_000_000_000 * C_NUMERATOR * ONE / C_DENOMINATOR / 1_000_000_000;
        // RFC9438-4.2a
        delta + self.w_max.unwrap_or_default()
    }
}

fn times(value: i128, (numerator, denominator): (i128, i128)) -> i128 {
    value * numerator / denominator
}

fn micros(span: Duration) -> i128 {
    i128::from(span.as_nanos() / 1_000)
}

impl Avoidance for CubicRfc9438 {
    fn on_ack(&mut self, acked: Bytes, ack: &Ack, window: &Window) -> Bytes {
        let whole = i128::from(window.cwnd_segments()) * ONE;
        let cwnd = whole + self.fraction;
        let acked = i128::from(acked.segments(window.smss));
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin(cwnd, ack.now),
        };
        let t = micros(ack.now.saturating_since(epoch.start));
        // RFC9438-4.3b
        let slope = if epoch.w_est >= self.cwnd_prior {
            (1, 1)
        } else {
            ALPHA
        };
        epoch.w_est += times(acked * ONE, slope) * ONE / cwnd;
        self.epoch = Some(epoch);
        let grown = if self.config.tcp_friendliness && self.w_cubic(&epoch, t) < epoch.w_est {
            // RFC9438-4.3a
            epoch.w_est.max(cwnd)
        } else {
            let target = self.w_cubic(&epoch, t + micros(ack.srtt));
            let target = target.clamp(cwnd, cwnd + cwnd / 2);
            // RFC9438-4.4a, RFC9438-4.5a
            cwnd + (target - cwnd) * acked * ONE / cwnd
        };
        let segments = (grown - whole) / ONE;
        self.fraction = grown - whole - segments * ONE;
        window.smss * segments as u64
    }

    fn on_congestion(&mut self, _congestion: &Congestion, window: &Window) -> Bytes {
        let cwnd = i128::from(window.cwnd_segments()) * ONE;
        let gives_way = self.config.fast_convergence && self.w_max.is_some_and(|max| cwnd < max);
        // RFC9438-4.7a
        self.w_max = Some(if gives_way {
            times(cwnd, CONVERGENCE)
        } else {
            cwnd
        });
        self.cwnd_prior = cwnd;
        self.epoch = None;
        self.fraction = 0;
        // RFC9438-4.6a, RFC9438-4.6b
        window.smss * ((times(cwnd, BETA) / ONE) as u64).max(2)
    }

    fn on_timeout(&mut self) {
        *self = Self::new(self.config);
    }

    /// A new epoch begins at the next ACK: its curve counts in segments.
    fn on_mtu(&mut self, from: Bytes, to: Bytes) {
        let [from, to] = [from, to].map(|smss| i128::from(smss.get().max(1)));
        self.w_max = self.w_max.map(|w_max| w_max * from / to);
        self.cwnd_prior = self.cwnd_prior * from / to;
        self.fraction = 0;
        self.epoch = None;
    }

    fn on_idle(&mut self, now: Instant, idle_since: Instant) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + now.saturating_since(idle_since)).min(now);
        }
    }

    fn epoch(&self) -> Option<Instant> {
        self.epoch.map(|epoch| epoch.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hundredths(window: i128) -> i128 {
        (window * 100 + ONE / 2) >> 32
    }

    /// RFC 9438 equations 1 and 2 by hand: a window of 100 at the loss, 70 after it.
    // Tests RFC9438-4.2a, RFC9438-5.1a
    #[test]
    fn the_curve_of_the_rfc() {
        let mut cubic = CubicRfc9438::new(CubicConfig::default());
        cubic.w_max = Some(100 * ONE);
        let epoch = cubic.begin(70 * ONE, Instant::ZERO);
        assert_eq!((epoch.k + 50) / 100, 42_172);
        let times = [0, 500, 1_000, 2_000, 3_000, 5_000, 6_000, 8_000, 10_000];
        let curve = times.map(|t| hundredths(cubic.w_cubic(&epoch, t * 1_000)));
        assert_eq!(
            curve,
            [
                7_000, 7_946, 8_668, 9_564, 9_928, 10_019, 10_227, 12_165, 17_735
            ]
        );
        assert_eq!(hundredths(cubic.w_cubic(&epoch, 100_000)), 7_208);
        assert_eq!(cubic.w_cubic(&epoch, epoch.k), 100 * ONE);
    }

    /// Section 4.7: below the last maximum the curve aims lower.
    // Tests RFC9438-4.7a
    #[test]
    fn fast_convergence() {
        let mut cubic = CubicRfc9438::new(CubicConfig::default());
        cubic.w_max = Some(100 * ONE);
        let window = Window {
            cwnd: Bytes::new(90),
            ssthresh: Bytes::MAX,
            smss: Bytes::new(1),
        };
        let congestion = Congestion {
            now: Instant::ZERO,
            kind: crate::CongestionKind::Loss,
            phase: crate::Phase::Open,
            in_flight: Bytes::new(89),
            snd_nxt: 0,
            first_of_window: true,
        };
        assert_eq!(cubic.on_congestion(&congestion, &window), Bytes::new(63));
        assert_eq!(cubic.w_max, Some(ONE * 153 / 2));
        let epoch = cubic.begin(63 * ONE, Instant::ZERO);
        assert_eq!((epoch.k + 500) / 1_000, 3_232);
    }
}

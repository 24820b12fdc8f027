//! Illinois as in Linux (`tcp_illinois.c`): Liu, Başar and Srikant, "TCP-Illinois: a loss- and
//! delay-based congestion control algorithm for high-speed networks", Performance Evaluation
//! 65(6-7), 2008, section 3.
//!
//! Losses decide when the window changes direction, delays by how much it changes. Once per round
//! trip the mean queueing delay is compared with the largest so far: with a short queue the window
//! grows by ten segments per round trip and a loss takes an eighth of it, with a long queue it grows
//! by 0.3 segments and a loss takes half.
//!
//! The arithmetic is Linux's: microseconds, alpha in 1/128 and beta in 1/64.
//!
//! ## Deviations
//!
//! - As in Linux, and not as in the paper, alpha rises to its maximum only after five round trips in
//!   a row with a short queue, unless the queue was never long; and a timeout, not every loss,
//!   forgets it.
//! - Linux counts what an ACK acknowledges cumulatively; here the segments that it delivers count,
//!   which differs after SACKs only.

use units::Bytes;

use crate::settings;
use crate::{Ack, Avoidance, Congestion, Window, options};

/// One in the unit of alpha (`ALPHA_SCALE`).
const ALPHA_ONE: u64 = 128;
/// 0.3 segments per round trip (`ALPHA_MIN`).
const ALPHA_MIN: u64 = 3 * ALPHA_ONE / 10;
/// Ten segments per round trip (`ALPHA_MAX`).
const ALPHA_MAX: u64 = 10 * ALPHA_ONE;
/// One in the unit of beta (`BETA_SCALE`).
const BETA_ONE: u64 = 64;
/// An eighth of the window (`BETA_MIN`).
const BETA_MIN: u64 = BETA_ONE / 8;
/// Half of the window (`BETA_MAX`, `BETA_BASE`).
const BETA_MAX: u64 = BETA_ONE / 2;
/// Longer round-trip times count as this, in microseconds (`RTT_MAX`).
const LONGEST_RTT: u64 = u32::MAX as u64 / ALPHA_MAX;

settings! {
    /// Settings of [`Illinois`]; the defaults are those of the module parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct IllinoisConfig {
        /// Below this window, in segments, it grows and shrinks as Reno (`win_thresh`).
        win_thresh: u64 {
            name: "win_thresh",
            default: "15",
            help: "window in segments below which it behaves as Reno",
            read: |value| options::integer(value, 0, 100_000, "a number of segments up to 100000"),
        }

        /// Round trips with a short queue until alpha is at its maximum again (`theta`).
        theta: u64 {
            name: "theta",
            default: "5",
            help: "round trips with a short queue until the window grows fastest again",
            read: |value| options::integer(value, 0, 100_000, "a number of round trips up to 100000"),
        }
    }
}

/// Linux's Illinois. Times are microseconds.
#[derive(Clone, Debug)]
pub struct Illinois {
    config: IllinoisConfig,
    /// Growth per round trip and reduction at a loss, in their units.
    alpha: u64,
    beta: u64,
    /// Smallest and largest round-trip time.
    base_rtt: u64,
    max_rtt: u64,
    /// Round-trip times of this round: how many, and their sum.
    samples: u64,
    sum: u64,
    /// The round ends when more than this is acknowledged.
    round_end: u64,
    /// Whether the queue was long since alpha was at its maximum.
    was_long: bool,
    /// Rounds with a short queue since then.
    short_rounds: u64,
    /// Segments acknowledged since the window last grew (`snd_cwnd_cnt`).
    acked: u64,
}

impl Illinois {
    /// A new connection.
    #[must_use]
    pub const fn new(config: IllinoisConfig) -> Self {
        Self {
            config,
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            base_rtt: u64::MAX,
            max_rtt: 0,
            samples: 0,
            sum: 0,
            round_end: 0,
            was_long: false,
            short_rounds: 0,
            acked: 0,
        }
    }

    fn begin_round(&mut self, snd_nxt: u64) {
        self.round_end = snd_nxt;
        self.samples = 0;
        self.sum = 0;
    }

    /// The end of a round with a window of `cwnd` segments.
    fn update(&mut self, cwnd: u64) {
        if cwnd < self.config.win_thresh {
            (self.alpha, self.beta) = (ALPHA_ONE, BETA_MAX);
        } else if let Some(mean) = self.sum.checked_div(self.samples) {
            let largest = self.max_rtt - self.base_rtt;
            let queue = mean.saturating_sub(self.base_rtt);
            self.alpha = self.alpha_for(queue, largest);
            self.beta = beta_for(queue, largest);
        }
    }

    /// Equation for alpha: its maximum up to a hundredth of the largest queueing delay, then
    /// `k1 / (k2 + queue)`, which is 0.3 at the largest.
    fn alpha_for(&mut self, queue: u64, largest: u64) -> u64 {
        let low = largest / 100;
        if queue <= low {
            if !self.was_long {
                return ALPHA_MAX;
            }
            self.short_rounds += 1;
            if self.short_rounds < self.config.theta {
                return self.alpha;
            }
            self.short_rounds = 0;
            self.was_long = false;
            return ALPHA_MAX;
        }
        self.was_long = true;
        let (queue, largest) = (queue - low, largest - low);
        largest * ALPHA_MAX / (largest + queue * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN)
    }
}

/// Equation for beta: an eighth up to a tenth of the largest queueing delay, half from eight tenths
/// of it on, and a straight line between them.
fn beta_for(queue: u64, largest: u64) -> u64 {
    let (low, high) = (largest / 10, largest * 8 / 10);
    if queue <= low {
        BETA_MIN
    } else if queue >= high || high <= low {
        BETA_MAX
    } else {
        (BETA_MIN * high + (BETA_MAX - BETA_MIN) * queue - BETA_MAX * low) / (high - low)
    }
}

impl Avoidance for Illinois {
    #[inline]
    fn on_delivery(&mut self, ack: &Ack, _window: &Window) {
        if let Some(rtt) = ack.latest_rtt {
            let rtt = (rtt.as_nanos() / 1_000).min(LONGEST_RTT);
            self.base_rtt = self.base_rtt.min(rtt);
            self.max_rtt = self.max_rtt.max(rtt);
            self.samples += 1;
            self.sum += rtt;
        }
    }

    /// Decides nothing about the window: it only learns where a round ends.
    #[inline]
    fn decide(&mut self, ack: &Ack, window: &Window) -> Option<crate::Decision> {
        if ack.snd_una > self.round_end {
            self.update(window.cwnd_segments());
            self.begin_round(ack.snd_nxt);
        }
        None
    }

    #[inline]
    fn on_ack(&mut self, acked: Bytes, _ack: &Ack, window: &Window) -> Bytes {
        self.acked += window.segments(acked);
        let cwnd = window.cwnd_segments();
        let grown = self.acked * self.alpha / ALPHA_ONE;
        if grown < cwnd {
            return Bytes::ZERO;
        }
        self.acked = 0;
        window.smss * (grown / cwnd)
    }

    fn on_congestion(&mut self, _congestion: &Congestion, window: &Window) -> Bytes {
        self.acked = 0;
        let cwnd = window.cwnd_segments();
        window.smss * (cwnd - cwnd * self.beta / BETA_ONE).max(2)
    }

    fn on_timeout(&mut self) {
        (self.alpha, self.beta) = (ALPHA_ONE, BETA_MAX);
        self.was_long = false;
        self.short_rounds = 0;
        self.acked = 0;
        // The next ACK that acknowledges data ends this round, which has no samples.
        self.begin_round(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Queueing delays of 0, 1 % to 100 % of a largest of 100 ms, by hand.
    #[test]
    fn delay_sets_growth_and_reduction() {
        let mut illinois = Illinois::new(IllinoisConfig::default());
        // 0.3 is 38/128 and k1 / (k2 + queue) in whole numbers.
        for (queue, alpha, beta) in [
            (0, 1280, 8),
            (1_000, 1280, 8),
            (10_000, 322, 8),
            (10_900, 299, 8),
            (45_000, 82, 20),
            (79_999, 47, 31),
            (80_000, 47, 32),
            (100_000, 38, 32),
        ] {
            assert_eq!(illinois.alpha_for(queue, 100_000), alpha, "{queue}");
            assert_eq!(beta_for(queue, 100_000), beta, "{queue}");
        }
        // Back from a long queue: alpha stays for four rounds.
        illinois.alpha = 38;
        for alpha in [38, 38, 38, 38, 1280, 1280] {
            assert_eq!(illinois.alpha_for(0, 100_000), alpha);
        }
    }

    #[test]
    fn ten_segments_grow_in_a_round_trip_and_an_eighth_goes() {
        let mut illinois = Illinois::new(IllinoisConfig::default());
        let window = |cwnd| Window {
            cwnd: Bytes::new(cwnd),
            ssthresh: Bytes::new(2),
            smss: Bytes::new(1),
        };
        illinois.acked = 9;
        assert_eq!(illinois.alpha, ALPHA_MAX);
        illinois.beta = BETA_MIN;
        illinois.acked += 1;
        assert_eq!(illinois.acked * illinois.alpha / ALPHA_ONE, 100);
        illinois.update(14);
        assert_eq!((illinois.alpha, illinois.beta), (ALPHA_ONE, BETA_MAX));
        illinois.beta = BETA_MIN;
        let congestion = Congestion {
            now: units::Instant::ZERO,
            kind: crate::CongestionKind::Loss,
            phase: crate::Phase::Open,
            in_flight: Bytes::new(10),
            snd_nxt: 0,
            first_of_window: true,
        };
        assert_eq!(illinois.on_congestion(&congestion, &window(100)).get(), 88);
        assert_eq!(illinois.on_congestion(&congestion, &window(2)).get(), 2);
    }
}

//! Vegas as in Linux (`tcp_vegas.c`): `tcp_vegas_pkts_acked`, `tcp_vegas_cong_avoid`.
//!
//! Once per round trip the window is compared with what the path would hold at its smallest
//! round-trip time; the difference is what waits in queues. Between `alpha` and `beta` segments of
//! it the window stays, below it grows by one segment, above it shrinks by one. In slow start more
//! than `gamma` segments end it. Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on
//! a global Internet", IEEE JSAC 13(8), 1995.
//!
//! Vegas leaves slow start by itself, beside the start-up that it is combined with: `vegas` alone is
//! Linux's, `vegas+hystart` leaves by whichever of the two fires first.
//!
//! ## Deviations
//!
//! - As in Linux, and not as in the paper, slow start grows with every ACK of every round trip, a
//!   loss halves the window as Reno does, and nothing is retransmitted earlier than elsewhere.
//! - Slow start does not grow while the window does not limit the sender; Linux's Vegas does.

use units::{Bytes, Duration, Instant};

use super::AdditiveIncrease;
use crate::{Ack, Avoidance, Congestion, Decision, ExitReason, Phase, Window};
use crate::{options, settings};

const SEGMENTS: &str = "a number of segments from 0 to 100000";

settings! {
    /// Settings of [`Vegas`], in segments; the defaults are those of the module parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct VegasConfig {
        /// The window grows while fewer than this wait in queues.
        alpha: u64 {
            name: "alpha",
            default: "2",
            help: "segments in queues below which the window grows",
            read: |value| options::integer(value, 0, 100_000, SEGMENTS),
        }

        /// The window shrinks while more than this wait.
        beta: u64 {
            name: "beta",
            default: "4",
            help: "segments in queues above which the window shrinks",
            read: |value| options::integer(value, 0, 100_000, SEGMENTS),
        }

        /// Slow start ends when more than this wait.
        gamma: u64 {
            name: "gamma",
            default: "1",
            help: "segments in queues above which slow start ends",
            read: |value| options::integer(value, 0, 100_000, SEGMENTS),
        }
    }
}

/// Linux's Vegas. Round-trip times are microseconds, one added, as there.
#[derive(Clone, Debug)]
pub struct Vegas {
    config: VegasConfig,
    reno: AdditiveIncrease,
    /// Smallest round-trip time; [`u64::MAX`] before the first sample.
    base_rtt: u64,
    /// Smallest of this round.
    min_rtt: u64,
    /// Samples of this round.
    samples: u64,
    /// The round ends when more than this is acknowledged (`beg_snd_nxt`).
    round_end: u64,
    /// Whether the state is Open and Vegas in charge (`doing_vegas_now`).
    enabled: bool,
}

impl Vegas {
    /// A new connection.
    #[must_use]
    pub fn new(config: VegasConfig) -> Self {
        Self {
            config,
            reno: AdditiveIncrease::default(),
            base_rtt: u64::MAX,
            min_rtt: u64::MAX,
            samples: 0,
            round_end: 0,
            enabled: true,
        }
    }

    fn begin_round(&mut self, snd_nxt: u64) {
        self.round_end = snd_nxt;
        self.samples = 0;
        self.min_rtt = u64::MAX;
    }

    /// Follows the state: only Open is measured, and begins a round.
    fn follow(&mut self, phase: Phase, snd_nxt: u64) {
        let open = phase == Phase::Open;
        if open && !self.enabled {
            self.begin_round(snd_nxt);
        }
        self.enabled = open;
    }

    /// The window that would leave the queues empty, and what is beyond it, in segments.
    fn measure(&self, cwnd: u64) -> (u64, u64) {
        let (base, rtt) = (u128::from(self.base_rtt), u128::from(self.min_rtt));
        let cwnd = u128::from(cwnd);
        let target = cwnd * base / rtt.max(1);
        let beyond = cwnd * rtt.saturating_sub(base) / base.max(1);
        let narrow = |value| u64::try_from(value).unwrap_or(u64::MAX);
        (narrow(target), narrow(beyond))
    }

    /// The end of a round with enough samples. `None`: slow start goes on.
    fn judge(&self, window: &Window) -> Option<Decision> {
        let smss = window.smss;
        let mut cwnd = window.cwnd_segments();
        let mut ssthresh = window.ssthresh;
        let (target, beyond) = self.measure(cwnd);
        let threshold = self
            .base_rtt
            .saturating_add(self.base_rtt * self.config.gamma / cwnd.max(1));
        let reason = ExitReason::Delay {
            rtt: Duration::from_micros(self.min_rtt),
            threshold: Duration::from_micros(threshold),
            base: Duration::from_micros(self.base_rtt),
            samples: 0,
        };
        if window.in_slow_start() {
            if beyond <= self.config.gamma {
                return None;
            }
            cwnd = cwnd.min(target + 1);
            ssthresh = ssthresh.min(smss * cwnd);
        } else if beyond > self.config.beta {
            cwnd -= 1;
            ssthresh = ssthresh.min(smss * cwnd);
        } else if beyond < self.config.alpha {
            cwnd += 1;
        }
        let cwnd = smss * cwnd.max(2);
        let after = Window {
            cwnd,
            ssthresh,
            smss,
        };
        Some(Decision {
            cwnd,
            ssthresh: after.current_ssthresh(Phase::Open),
            reason,
        })
    }
}

impl Avoidance for Vegas {
    #[inline]
    fn on_delivery(&mut self, ack: &Ack, _window: &Window) {
        self.enabled &= ack.phase == Phase::Open;
        if let Some(rtt) = ack.latest_rtt {
            let rtt = rtt.as_nanos() / 1_000 + 1;
            self.base_rtt = self.base_rtt.min(rtt);
            self.min_rtt = self.min_rtt.min(rtt);
            self.samples += 1;
        }
    }

    #[inline]
    fn decide(&mut self, ack: &Ack, window: &Window) -> Option<Decision> {
        self.follow(ack.phase, ack.snd_nxt);
        if !self.enabled {
            return None;
        }
        if ack.snd_una > self.round_end {
            // With two samples or less nothing is known: this ACK is Reno's.
            let decision = (self.samples > 2).then(|| self.judge(window));
            self.begin_round(ack.snd_nxt);
            return decision.flatten();
        }
        // Within a round only slow start moves the window.
        let stays = Decision {
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            reason: ExitReason::Threshold,
        };
        (!window.in_slow_start()).then_some(stays)
    }

    #[inline]
    fn on_ack(&mut self, acked: Bytes, _ack: &Ack, window: &Window) -> Bytes {
        self.reno.on_acked(acked, window.cwnd, window.smss)
    }

    fn on_congestion(&mut self, _congestion: &Congestion, window: &Window) -> Bytes {
        self.reno.reset();
        window.smss * (window.cwnd_segments() / 2).max(2)
    }

    fn on_timeout(&mut self) {
        self.reno.reset();
    }

    fn on_idle(&mut self, _now: Instant, _idle_since: Instant) {
        // Everything is acknowledged, so the first ACK ends the round that begins here.
        self.base_rtt = u64::MAX;
        self.begin_round(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window after a round at `rtt` ms over a path of `base` ms.
    fn after(cwnd: u64, ssthresh: u64, base: u64, rtt: u64) -> Option<(u64, u64)> {
        let mut vegas = Vegas::new(VegasConfig::default());
        vegas.base_rtt = base * 1_000;
        vegas.min_rtt = rtt * 1_000;
        let window = Window {
            cwnd: Bytes::new(cwnd),
            ssthresh: Bytes::new(ssthresh),
            smss: Bytes::new(1),
        };
        let decision = vegas.judge(&window)?;
        Some((decision.cwnd.get(), decision.ssthresh.get()))
    }

    #[test]
    fn between_two_and_four_segments_the_window_stays() {
        assert_eq!(after(50, 40, 100, 110), Some((49, 40)));
        assert_eq!(after(50, 40, 100, 102), Some((51, 40)));
        assert_eq!(after(50, 40, 100, 106), Some((50, 40)));
        // The threshold follows at three quarters.
        assert_eq!(after(80, 40, 100, 104), Some((80, 60)));
    }

    #[test]
    fn slow_start_ends_above_one_segment() {
        assert_eq!(after(10, 1_000, 100, 125), Some((9, 9)));
        assert_eq!(after(10, 1_000, 100, 119), None);
        // The window has a floor of two; the driver gives the threshold the same.
        assert_eq!(after(2, 2, 100, 900), Some((2, 1)));
    }
}

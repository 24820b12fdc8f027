//! FAST TCP: Wei, Jin, Low and Hegde, "FAST TCP: motivation, architecture, algorithms,
//! performance", IEEE/ACM Transactions on Networking 14(6), 2006; the control law is its equation
//! for the window.
//!
//! Each flow keeps `alpha` segments in the queues of its path. Every `period` round trips the window
//! moves toward that, `w = min(2w, (1 - gamma) w + gamma (base_rtt / avg_rtt * w + alpha))`, with an
//! average of round-trip times whose weight is `min(3/w, 1/4)`. Slow start ends once the average is
//! more than `exit_delay` above the smallest round-trip time, or by the start-up it is combined with.
//! A loss halves the window, as Reno does. Windows are in 2^-20 segments.
//!
//! `personalised=true` is the variant of Ye, Huang and Chen (2021), of which only the abstract is
//! known: the flow's own backlog `B` ends slow start, at `theta * alpha`, and `gamma` is
//! `|alpha - B| / max(alpha, B)`, between 0.1 and 1. Threshold and law of `gamma` are our
//! reconstruction.
//!
//! ## Deviations
//!
//! - `alpha` is one number. The prototype chose it by the rate of the flow in steps of 8, 20 and 200,
//!   and made it a part of the window while nothing queued; its schedule is not published.
//! - `period=2` is the prototype's (a round trip to act, one to observe); the equation is also used
//!   with one. The threshold of 0.75 ms is that of the ns-2 module.
//! - The prototype spreads a change of the window over a round trip by pacing; here the window rises
//!   by what each ACK acknowledges and no faster, which takes at most a round trip.
//! - While the window does not limit the sender, it does not rise.
//! - A first flight that leaves at once queues behind itself: where that takes longer than
//!   `exit_delay`, slow start ends as that flight is acknowledged. An `exit_delay` of seconds leaves
//!   the end to the start-up.

use units::{Bytes, Duration};

use crate::{Ack, Avoidance, Congestion, Decision, ExitReason, Window};
use crate::{options, settings};

/// One segment in the unit of windows.
const ONE: u128 = 1 << 20;
/// `1` in the unit of `gamma` and `theta`.
const PERMILLE: u128 = 1_000;
/// Parts of a nanosecond that the average keeps.
const PARTS: u128 = 1 << 16;

settings! {
    /// Settings of [`Fast`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FastConfig {
        /// Segments that the flow keeps in queues.
        alpha: u64 {
            name: "alpha",
            default: "20",
            help: "segments that the flow keeps in queues (published: 8 to 200, 20 at 10 Mbit/s, \
                   200 at 1 Gbit/s)",
            read: |value| {
                options::integer(value, 1, 100_000, "a number of segments from 1 to 100000")
            },
        }

        /// How much of the way to the equation's window one update goes, in thousandths.
        gamma_permille: u64 {
            name: "gamma",
            default: "0.5",
            help: "how much of the way to the equation's window one update goes, from 0.001 to 1",
            read: |value| options::thousandths(value, 1, 1_000, "a number from 0.001 to 1"),
        }

        /// Round trips from one update to the next.
        period: u64 {
            name: "period",
            default: "2",
            help: "round trips from one update to the next",
            read: |value| options::integer(value, 1, 100, "a number of round trips from 1 to 100"),
        }

        /// Queueing delay that ends slow start.
        exit_delay: Duration {
            name: "exit_delay",
            default: "0.75ms",
            help: "queueing delay that ends slow start",
            read: |value| {
                options::duration(
                    value,
                    Duration::from_secs(60),
                    "a time from 0 to 60 s, such as 0.75ms",
                )
            },
        }

        /// Whether the backlog ends slow start and sets `gamma`.
        personalised: bool {
            name: "personalised",
            default: "false",
            help: "the variant of Ye, Huang and Chen (our reconstruction): the backlog ends slow \
                   start and sets gamma",
            read: options::boolean,
        }

        /// The part of `alpha` that ends slow start then, in thousandths.
        theta_permille: u64 {
            name: "theta",
            default: "0.5",
            help: "with personalised: the part of alpha in queues that ends slow start, from \
                   0.001 to 100",
            read: |value| options::thousandths(value, 1, 100_000, "a number from 0.001 to 100"),
        }
    }
}

/// FAST TCP.
#[derive(Clone, Debug)]
pub struct Fast {
    config: FastConfig,
    /// Smallest round-trip time; none before the first sample.
    base_rtt: Option<u64>,
    /// Average round-trip time, in [`PARTS`] of a nanosecond.
    avg_rtt: u128,
    /// The window that the last update decided on; zero before the first.
    target: u128,
    /// The round ends when more than this is acknowledged.
    round_end: u64,
    /// Rounds since the last update.
    rounds: u64,
}

impl Fast {
    /// A new connection.
    #[must_use]
    pub const fn new(config: FastConfig) -> Self {
        Self {
            config,
            base_rtt: None,
            avg_rtt: 0,
            target: 0,
            round_end: 0,
            rounds: 0,
        }
    }

    fn sample(&mut self, rtt: Duration, cwnd: u64) {
        let rtt = rtt.as_nanos().max(1);
        let scaled = u128::from(rtt) * PARTS;
        let Some(base) = self.base_rtt else {
            self.base_rtt = Some(rtt);
            self.avg_rtt = scaled;
            return;
        };
        self.base_rtt = Some(base.min(rtt));
        // The weight min(3 / w, 1 / 4).
        let (part, of) = if cwnd > 12 { (3, cwnd) } else { (1, 4) };
        let step = scaled.abs_diff(self.avg_rtt) * part / u128::from(of);
        if scaled > self.avg_rtt {
            self.avg_rtt += step;
        } else {
            self.avg_rtt -= step;
        }
    }

    /// The smallest and the average round-trip time, in the same unit.
    fn rtts(&self) -> (u128, u128) {
        let base = u128::from(self.base_rtt.unwrap_or(0)) * PARTS;
        (base, self.avg_rtt.max(base).max(1))
    }

    /// The flow's own segments in queues, `w (1 - base_rtt / avg_rtt)`.
    fn backlog(&self, w: u128) -> u128 {
        let (base, avg) = self.rtts();
        w * ((avg - base) / PARTS) / (avg / PARTS).max(1)
    }

    fn gamma_permille(&self, w: u128) -> u128 {
        if !self.config.personalised {
            return u128::from(self.config.gamma_permille);
        }
        let alpha = u128::from(self.config.alpha) * ONE;
        let backlog = self.backlog(w);
        (alpha.abs_diff(backlog) * PERMILLE / alpha.max(backlog)).clamp(100, PERMILLE)
    }

    /// The window after an update of one of `w`.
    fn update(&self, w: u128) -> u128 {
        let (base, avg) = self.rtts();
        let gamma = self.gamma_permille(w);
        let alpha = u128::from(self.config.alpha) * ONE;
        let aim = w * (base / PARTS) / (avg / PARTS).max(1) + alpha;
        let moved = ((PERMILLE - gamma) * w + gamma * aim) / PERMILLE;
        moved.min(2 * w)
    }

    /// Whether slow start has found the queue, with the evidence.
    fn ends_slow_start(&self, window: &Window) -> Option<ExitReason> {
        let (base, avg) = self.rtts();
        let span = |value: u128| Duration::from_nanos(u64::try_from(value).unwrap_or(u64::MAX));
        let (rtt, base) = (span(avg / PARTS), span(base / PARTS));
        let evidence = |threshold| ExitReason::Delay {
            rtt,
            threshold,
            base,
            samples: 0,
        };
        if self.config.personalised {
            let w = u128::from(window.cwnd_segments()) * ONE;
            let limit = u128::from(self.config.alpha * self.config.theta_permille) * ONE / PERMILLE;
            return (self.backlog(w) >= limit).then_some(evidence(base));
        }
        let threshold = base + self.config.exit_delay;
        (rtt > threshold).then_some(evidence(threshold))
    }
}

impl Avoidance for Fast {
    #[inline]
    fn on_delivery(&mut self, ack: &Ack, window: &Window) {
        if let Some(rtt) = ack.latest_rtt {
            self.sample(rtt, window.cwnd_segments());
        }
    }

    #[inline]
    fn decide(&mut self, ack: &Ack, window: &Window) -> Option<Decision> {
        let round_ended = ack.snd_una > self.round_end;
        if round_ended {
            self.round_end = ack.snd_nxt;
        }
        self.base_rtt?;
        if window.in_slow_start() {
            self.rounds = 0;
            self.target = 0;
            return self.ends_slow_start(window).map(|reason| Decision {
                cwnd: window.cwnd,
                ssthresh: window.cwnd,
                reason,
            });
        }
        let cwnd = u128::from(window.cwnd_segments());
        if round_ended {
            self.rounds += 1;
            if self.rounds >= self.config.period {
                self.rounds = 0;
                // The fraction of a segment is kept where the window followed the last update.
                let followed = self.target / ONE == cwnd;
                self.target = self.update(if followed { self.target } else { cwnd * ONE });
            }
        }
        let target = u64::try_from(self.target / ONE).unwrap_or(u64::MAX).max(2);
        (self.target > 0 && u128::from(target) < cwnd).then(|| {
            // The sender waits until the window is free again; this is no new slow start.
            let cwnd = window.smss * target;
            Decision {
                cwnd,
                ssthresh: window.ssthresh.min(cwnd),
                reason: ExitReason::Threshold,
            }
        })
    }

    #[inline]
    fn on_ack(&mut self, acked: Bytes, _ack: &Ack, window: &Window) -> Bytes {
        let smss = window.smss;
        let target = smss * u64::try_from(self.target / ONE).unwrap_or(u64::MAX);
        target.saturating_sub(window.cwnd).min(acked)
    }

    fn on_mtu(&mut self, _from: Bytes, _to: Bytes) {
        // The next update begins from the window.
        self.target = 0;
    }

    fn on_congestion(&mut self, _congestion: &Congestion, window: &Window) -> Bytes {
        self.target = 0;
        self.rounds = 0;
        window.smss * (window.cwnd_segments() / 2).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow that has seen round trips of `base` and then, for long, of `rtt` nanoseconds.
    fn flow(config: FastConfig, base: u64, rtt: u64) -> Fast {
        let mut fast = Fast::new(config);
        fast.base_rtt = Some(base);
        fast.avg_rtt = u128::from(rtt) * PARTS;
        fast
    }

    /// Hundred-thousandths of a segment.
    fn digits(w: u128) -> u128 {
        (w * 100_000 + ONE / 2) / ONE
    }

    #[test]
    fn one_update() {
        for (alpha, w, rtt, after) in [
            (20, 100, 100, 11_000_000),
            (20, 100, 120, 10_166_667),
            (20, 100, 200, 8_500_000),
            (20, 120, 120, 12_000_000),
            (200, 10, 100, 2_000_000),
        ] {
            let config = FastConfig {
                alpha,
                ..FastConfig::default()
            };
            let fast = flow(config, 100_000_000, rtt * 1_000_000);
            assert_eq!(digits(fast.update(w * ONE)), after, "{w} at {rtt} ms");
        }
    }

    /// One flow alone on 10 Mbit/s (833.33 packets per second) and 100 ms: windows and backlogs.
    #[test]
    fn the_way_to_equilibrium() {
        let windows = [
            1_000_000, 2_000_000, 3_000_000, 4_000_000, 5_000_000, 6_000_000, 7_000_000, 8_000_000,
            9_000_000, 9_666_667, 10_000_000, 10_166_667, 10_250_000, 10_291_667, 10_312_500,
            10_322_917,
        ];
        let backlogs = [
            666_667, 1_333_333, 1_666_667, 1_833_333, 1_916_667, 1_958_333, 1_979_167, 1_989_583,
        ];
        let mut w = 10 * ONE;
        for (round, window) in windows.into_iter().enumerate() {
            let rtt = u64::try_from(w * 1_200_000 / ONE).unwrap().max(100_000_000);
            let fast = flow(FastConfig::default(), 100_000_000, rtt);
            let backlog = round.checked_sub(8).map_or(0, |late| backlogs[late]);
            assert_eq!(
                (digits(w), digits(fast.backlog(w))),
                (window, backlog),
                "{round}"
            );
            w = fast.update(w);
        }
    }

    /// Our reconstruction: far from equilibrium the whole way, near it a tenth.
    #[test]
    fn the_personalised_gain() {
        let config = FastConfig {
            personalised: true,
            ..FastConfig::default()
        };
        for (rtt, w, gamma) in [
            (100, 100, 1_000),
            (200, 20, 500),
            (200, 40, 100),
            (200, 80, 500),
        ] {
            let fast = flow(config, 100_000_000, rtt * 1_000_000);
            assert_eq!(fast.gamma_permille(w * ONE), gamma, "{w} at {rtt} ms");
        }
        let window = |cwnd| Window {
            cwnd: Bytes::new(cwnd),
            ssthresh: Bytes::MAX,
            smss: Bytes::new(1),
        };
        let fast = flow(config, 100_000_000, 200_000_000);
        assert!(fast.ends_slow_start(&window(19)).is_none());
        assert!(fast.ends_slow_start(&window(20)).is_some());
    }

    #[test]
    fn the_average_weighs_three_in_a_window() {
        let mut fast = flow(FastConfig::default(), 100_000_000, 100_000_000);
        fast.sample(Duration::from_millis(200), 300);
        assert_eq!(fast.avg_rtt, 101_000_000 * PARTS);
        fast.sample(Duration::from_millis(201), 4);
        assert_eq!(fast.avg_rtt, 126_000_000 * PARTS);
    }
}

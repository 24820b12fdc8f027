//! The modes of BBR: detection of a full pipe, the cycle of gains, and PROBE_RTT.
//!
//! `bbr_check_full_bw_reached`, `bbr_check_drain`, `bbr_update_cycle_phase`, `bbr_update_min_rtt`
//! and `bbr_update_gains` of Linux.

use units::{Duration, Instant};

use super::{Bbr, HIGH_GAIN, MIN_CWND, rate};
use crate::monolithic::random::Random;
use crate::{Ack, ExitReason, SlowStartExit};

/// `bbr_drain_gain`: the inverse of the high gain.
const DRAIN_GAIN: u64 = 88;
/// `bbr_cwnd_gain` of PROBE_BW: two BDP tolerate delayed and stretched ACKs.
const CWND_GAIN: u64 = 512;
/// `bbr_pacing_gain`: probe, drain the resulting queue, cruise.
const CYCLE_GAINS: [u64; 8] = [320, 192, 256, 256, 256, 256, 256, 256];
/// `bbr_cycle_rand`: PROBE_BW begins in any phase except the draining one.
const RANDOM_PHASES: u64 = 7;
/// `bbr_full_bw_thresh`: growth by less than a quarter does not count.
const FULL_THRESHOLD: u64 = rate::UNIT * 5 / 4;
/// `bbr_full_bw_cnt`: the pipe is full after this many rounds without growth.
const FULL_ROUNDS: u32 = 3;
/// `bbr_min_rtt_win_sec`.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// `bbr_probe_rtt_mode_ms`.
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);

/// The modes of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Doubling the rate each round.
    Startup,
    /// Draining the queue of STARTUP.
    Drain,
    /// Cycling around the estimate.
    ProbeBw,
    /// Four segments in flight, to measure the path without a queue.
    ProbeRtt,
}

impl Mode {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Startup => "STARTUP",
            Self::Drain => "DRAIN",
            Self::ProbeBw => "PROBE_BW",
            Self::ProbeRtt => "PROBE_RTT",
        }
    }
}

/// Whether the pipe is full: three rounds in which the bandwidth grew by less than a quarter.
#[derive(Clone, Debug, Default)]
pub struct FullPipe {
    bandwidth: u64,
    rounds: u32,
    reached: bool,
}

impl FullPipe {
    #[inline]
    pub fn reached(&self) -> bool {
        self.reached
    }

    /// A round without application limit has begun; true if the pipe is full.
    pub fn on_round(&mut self, bandwidth: u64) -> bool {
        if bandwidth >= (self.bandwidth * FULL_THRESHOLD) >> 8 {
            self.bandwidth = bandwidth;
            self.rounds = 0;
        } else {
            self.rounds += 1;
            self.reached = self.rounds >= FULL_ROUNDS;
        }
        self.reached
    }

    /// Restarts the comparison; `reached` stays set.
    pub fn forget(&mut self) {
        self.bandwidth = 0;
        self.rounds = 0;
    }
}

/// The cycle of gains.
#[derive(Clone, Debug)]
pub struct Cycle {
    index: usize,
    start: Instant,
    random: Random,
}

impl Cycle {
    pub const fn new(seed: u64) -> Self {
        Self {
            index: 0,
            start: Instant::ZERO,
            random: Random::new(seed),
        }
    }

    /// Whether this phase sends above the estimate.
    #[inline]
    pub fn is_probing(&self) -> bool {
        self.index == 0
    }

    fn advance(&mut self, now: Instant) {
        self.index = (self.index + 1) % CYCLE_GAINS.len();
        self.start = now;
    }

    fn begin(&mut self, now: Instant) {
        let draw = self.random.below(RANDOM_PHASES);
        self.index = CYCLE_GAINS.len() - 1 - draw as usize;
        self.advance(now);
    }
}

/// The state of PROBE_RTT.
#[derive(Clone, Debug, Default)]
pub struct ProbeRtt {
    /// When four segments have been in flight for long enough; `None` until they are.
    done: Option<Instant>,
    round_done: bool,
    /// Samples of segments sent between these counts of delivered segments say nothing about the
    /// bandwidth.
    limited: Option<(u64, u64)>,
}

impl ProbeRtt {
    /// Whether PROBE_RTT limited a segment sent when `delivered` segments were delivered.
    #[inline]
    pub fn limited(&self, delivered: u64) -> bool {
        self.limited
            .is_some_and(|(from, to)| (from..=to).contains(&delivered))
    }
}

impl Bbr {
    /// Everything between the bandwidth sample and the new rate and window, in Linux's order.
    pub(super) fn update_mode(&mut self, ack: &Ack, app_limited: bool) {
        if self.mode == Mode::ProbeBw && self.phase_is_over(ack) {
            self.cycle.advance(ack.now);
        }
        self.check_full_pipe(ack, app_limited);
        self.check_drain(ack);
        self.update_min_rtt(ack);
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.bandwidth().is_some() => (rate::UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE_GAINS[self.cycle.index], CWND_GAIN),
            Mode::ProbeRtt => (rate::UNIT, rate::UNIT),
        };
    }

    /// `bbr_is_next_cycle_phase`.
    fn phase_is_over(&self, ack: &Ack) -> bool {
        let elapsed = ack.now.saturating_since(self.cycle.start);
        let full_length = elapsed > self.min_rtt.unwrap_or(Duration::MAX);
        if self.pacing_gain == rate::UNIT {
            return full_length;
        }
        let prior = self.segments(ack.prior_in_flight);
        let in_flight = self.in_net_at_departure(prior, ack.now);
        if self.pacing_gain > rate::UNIT {
            // Until the probe has had its effect: losses, or the intended queue.
            let full = !ack.newly_lost.is_zero() || in_flight >= self.inflight(self.pacing_gain);
            full_length && full
        } else {
            full_length || in_flight <= self.inflight(rate::UNIT)
        }
    }

    fn check_full_pipe(&mut self, ack: &Ack, app_limited: bool) {
        if self.full.reached() || !self.round_start || app_limited {
            return;
        }
        if self.full.on_round(self.bandwidth.get()) && self.exit.is_none() {
            self.exit = Some(SlowStartExit {
                at: ack.now,
                cwnd: self.smss * self.cwnd,
                reason: ExitReason::FullPipe {
                    bandwidth: rate::payload_rate(self.full.bandwidth, self.smss),
                    rounds: FULL_ROUNDS,
                },
            });
        }
    }

    fn check_drain(&mut self, ack: &Ack) {
        if self.mode == Mode::Startup && self.full.reached() {
            self.mode = Mode::Drain;
            self.ssthresh = self.smss * self.inflight(rate::UNIT);
        }
        if self.mode == Mode::Drain {
            let in_flight = self.in_net_at_departure(self.segments(ack.in_flight), ack.now);
            if in_flight <= self.inflight(rate::UNIT) {
                self.enter_probe_bw(ack.now);
            }
        }
    }

    pub(super) fn enter_probe_bw(&mut self, now: Instant) {
        self.mode = Mode::ProbeBw;
        self.cycle.begin(now);
    }

    fn update_min_rtt(&mut self, ack: &Ack) {
        let expired = ack.now > self.min_rtt_stamp + MIN_RTT_WINDOW;
        let ack_delayed = ack.rate.is_some_and(|sample| sample.ack_delayed);
        let improves =
            |rtt: &Duration| self.min_rtt.is_none_or(|min| *rtt < min) || expired && !ack_delayed;
        if let Some(rtt) = ack.latest_rtt.filter(improves) {
            self.min_rtt = Some(rtt);
            self.min_rtt_stamp = ack.now;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_cwnd();
            self.mode = Mode::ProbeRtt;
            self.probe_rtt = ProbeRtt::default();
        }
        if self.mode == Mode::ProbeRtt {
            self.hold_probe_rtt(ack);
        }
        if ack.rate.is_some_and(|sample| !sample.delivered.is_zero()) {
            self.idle_restart = false;
        }
    }

    fn hold_probe_rtt(&mut self, ack: &Ack) {
        let in_flight = self.segments(ack.in_flight);
        let from = self
            .probe_rtt
            .limited
            .map_or(self.delivered, |(from, _)| from);
        self.probe_rtt.limited = Some((from, (self.delivered + in_flight).max(1)));
        if self.probe_rtt.done.is_none() {
            if in_flight <= MIN_CWND {
                self.probe_rtt.done = Some(ack.now + PROBE_RTT_TIME);
                self.probe_rtt.round_done = false;
                self.next_round_delivered = self.delivered;
            }
            return;
        }
        self.probe_rtt.round_done |= self.round_start;
        if self.probe_rtt.round_done {
            self.check_probe_rtt_done(ack.now);
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.probe_rtt.done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt_stamp = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full.reached() {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of 100, 200, 400, 450, 470, 480: the baseline stays 400, full at the sixth.
    #[test]
    fn three_rounds_without_growth() {
        let mut full = FullPipe::default();
        let found = [100, 200, 400, 450, 470, 480].map(|bandwidth| full.on_round(bandwidth));
        assert_eq!(found, [false, false, false, false, false, true]);
        assert_eq!((full.bandwidth, full.rounds), (400, 3));
    }

    /// The cycle never begins in the draining phase, before a probe has built a queue.
    #[test]
    fn the_first_phase_is_random() {
        let mut seen = [0; 8];
        let mut cycle = Cycle::new(7);
        for _ in 0..700 {
            cycle.begin(Instant::ZERO);
            seen[cycle.index] += 1;
        }
        assert_eq!(seen[1], 0);
        let mut others = seen[..1].iter().chain(&seen[2..]);
        assert!(others.all(|count| (60..=140).contains(count)), "{seen:?}");
    }
}

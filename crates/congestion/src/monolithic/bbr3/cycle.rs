//! ProbeBW: DOWN, CRUISE, REFILL and UP, and the result of a probe (section "ProbeBW Algorithm
//! Details").

use units::{Bytes, Duration, Instant};

use super::model::Sample;
use super::{Bbr3, HEADROOM, State, UNIT};
use crate::Ack;
use crate::monolithic::random::Random;

/// Additive growth in segments doubles each round, up to this power of two
/// (`RaiseInflightLongtermSlope`).
const MOST_PROBE_UP_ROUNDS: u32 = 30;
/// `T_reno_bound`: a probe is due after this many rounds at any window.
const RENO_ROUNDS: u64 = 63;
/// `T_bbr` lies between 2 and 3 s (`PickProbeWait`).
const LEAST_WAIT: Duration = Duration::from_secs(2);
const RANDOM_WAIT: Duration = Duration::from_secs(1);

/// `BBR.ack_phase`: the part of a probe that arriving ACKs belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The state of the cycle.
#[derive(Clone, Debug)]
pub struct Cycle {
    random: Random,
    pub ack_phase: AckPhase,
    pub is_bw_probe_sample: bool,
    pub prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    pub rounds_since_probe_up: u64,
    /// `BBR.bw_probe_wait`, since `BBR.cycle_stamp`.
    wait: Duration,
    stamp: Instant,
    probe_up_rounds: u32,
    probe_up_acked: Bytes,
    acked_per_inc: Bytes,
}

impl Cycle {
    pub const fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            rounds_since_probe_up: 0,
            wait: Duration::ZERO,
            stamp: Instant::ZERO,
            probe_up_rounds: 0,
            probe_up_acked: Bytes::ZERO,
            acked_per_inc: Bytes::MAX,
        }
    }

    /// `PickProbeWait`.
    fn pick_probe_wait(&mut self) {
        self.rounds_since_probe_up = self.random.below(2);
        let random = self.random.below(RANDOM_WAIT.as_nanos());
        self.wait = LEAST_WAIT + Duration::from_nanos(random);
    }

    /// `RaiseInflightLongtermSlope`.
    fn raise_slope(&mut self, cwnd: Bytes, smss: Bytes) {
        let growth_this_round = 1 << self.probe_up_rounds;
        self.probe_up_rounds = (self.probe_up_rounds + 1).min(MOST_PROBE_UP_ROUNDS);
        self.acked_per_inc = (cwnd / growth_this_round).max(smss);
    }
}

impl Bbr3 {
    /// `StartProbeBW_DOWN`; `EnterProbeBW` does nothing else.
    pub(super) fn start_probe_bw_down(&mut self, now: Instant) {
        self.reset_congestion_signals();
        self.cycle.acked_per_inc = Bytes::MAX;
        self.cycle.pick_probe_wait();
        self.cycle.stamp = now;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::ProbeBwDown;
    }

    /// `StartProbeBW_CRUISE`.
    pub(super) fn start_probe_bw_cruise(&mut self) {
        self.state = State::ProbeBwCruise;
    }

    /// `StartProbeBW_REFILL`.
    pub(super) fn start_probe_bw_refill(&mut self) {
        self.short_term.reset();
        self.cycle.probe_up_rounds = 0;
        self.cycle.probe_up_acked = Bytes::ZERO;
        self.cycle.prev_probe_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::ProbeBwRefill;
    }

    /// `StartProbeBW_UP`.
    fn start_probe_bw_up(&mut self, sample: &Sample) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full_bw.reset(sample.delivery_rate);
        self.state = State::ProbeBwUp;
        self.cycle.raise_slope(self.cwnd, self.smss);
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_probe_bw_cycle_phase(&mut self, ack: &Ack, sample: &Sample) {
        if !self.full_bw.reached || self.adapt_long_term_model(ack, sample) {
            return;
        }
        let state = self.state;
        match state {
            State::ProbeBwDown | State::ProbeBwCruise if self.check_time_to_probe_bw(ack.now) => {}
            State::ProbeBwDown if self.is_time_to_cruise(ack) => self.start_probe_bw_cruise(),
            State::ProbeBwRefill if self.rounds.start => {
                self.cycle.is_bw_probe_sample = true;
                self.start_probe_bw_up(sample);
            }
            State::ProbeBwUp if self.is_time_to_go_down(ack, sample) => {
                self.cycle.prev_probe_too_high = false;
                self.start_probe_bw_down(ack.now);
            }
            _ => {}
        }
    }

    /// `IsTimeToProbeBW`.
    fn check_time_to_probe_bw(&mut self, now: Instant) -> bool {
        let waited = now > self.cycle.stamp + self.cycle.wait;
        let due = waited || self.is_reno_coexistence_probe_time();
        if due {
            self.start_probe_bw_refill();
        }
        due
    }

    /// `IsRenoCoexistenceProbeTime`.
    fn is_reno_coexistence_probe_time(&self) -> bool {
        let reno_rounds = self.target_inflight().segments(self.smss);
        self.cycle.rounds_since_probe_up >= reno_rounds.min(RENO_ROUNDS)
    }

    /// `IsTimeToCruise`.
    fn is_time_to_cruise(&self, ack: &Ack) -> bool {
        ack.in_flight <= self.inflight_with_headroom()
            && ack.in_flight <= self.inflight(self.max_bw(), UNIT)
    }

    /// `IsTimeToGoDown`.
    fn is_time_to_go_down(&mut self, ack: &Ack, sample: &Sample) -> bool {
        if self.cycle.prev_probe_too_high && ack.in_flight >= self.inflight_longterm {
            self.cycle.prev_probe_precautionary = true;
            return true;
        }
        if ack.cwnd_limited && self.cwnd >= self.inflight_longterm {
            self.full_bw.reset(sample.delivery_rate);
            return false;
        }
        self.full_bw.now
    }

    /// `InflightWithHeadroom`.
    pub(super) fn inflight_with_headroom(&self) -> Bytes {
        if self.inflight_longterm == Bytes::MAX {
            return Bytes::MAX;
        }
        let headroom = self
            .inflight_longterm
            .mul_div(HEADROOM, UNIT)
            .max(self.smss);
        self.inflight_longterm
            .saturating_sub(headroom)
            .max(self.min_pipe_cwnd())
    }

    /// `ProbeInflightLongtermUpward`.
    fn probe_inflight_longterm_upward(&mut self, ack: &Ack, sample: &Sample) {
        if !ack.cwnd_limited || self.cwnd < self.inflight_longterm {
            return;
        }
        let cycle = &mut self.cycle;
        cycle.probe_up_acked += sample.newly_acked;
        if cycle.probe_up_acked >= cycle.acked_per_inc {
            let steps = cycle.probe_up_acked.get() / cycle.acked_per_inc.get();
            cycle.probe_up_acked -= cycle.acked_per_inc * steps;
            self.inflight_longterm += self.smss * steps;
        }
        if self.rounds.start {
            self.cycle.raise_slope(self.cwnd, self.smss);
        }
    }

    /// `AdaptLongTermModel`: true if it has set the state.
    fn adapt_long_term_model(&mut self, ack: &Ack, sample: &Sample) -> bool {
        if self.rounds.start {
            match self.cycle.ack_phase {
                AckPhase::ProbeStarting => self.cycle.ack_phase = AckPhase::ProbeFeedback,
                AckPhase::ProbeStopping => {
                    if self.end_probe(sample) {
                        return true;
                    }
                }
                AckPhase::Init | AckPhase::Refilling | AckPhase::ProbeFeedback => {}
            }
        }
        if self.inflight_longterm != Bytes::MAX && !Self::is_inflight_too_high(sample) {
            self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight);
            if self.state == State::ProbeBwUp {
                self.probe_inflight_longterm_upward(ack, sample);
            }
        }
        false
    }

    /// Processes the last ACKs of a probe. True if the next probe begins at once, because this one
    /// stopped early as a precaution and lost nothing.
    fn end_probe(&mut self, sample: &Sample) -> bool {
        self.cycle.is_bw_probe_sample = false;
        self.cycle.ack_phase = AckPhase::Init;
        if !self.state.is_probe_bw() {
            return false;
        }
        if !sample.is_app_limited {
            self.advance_max_bw_filter();
        }
        let again = self.cycle.prev_probe_precautionary && !self.cycle.prev_probe_too_high;
        if again {
            self.start_probe_bw_refill();
        }
        again
    }
}

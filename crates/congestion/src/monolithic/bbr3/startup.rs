//! Startup and Drain: detection of a full pipe by bandwidth that stops growing or by losses.

use units::Rate;

use super::model::Sample;
use super::{Bbr3, State, UNIT};
use crate::{Ack, CongestionControl, ExitReason, Phase, SlowStartExit};

/// Growth by less than a quarter does not count (`CheckFullBWReached`).
const FULL_BW_THRESH: u64 = 125;
/// The pipe is full after this many rounds without growth.
const FULL_BW_COUNT: u32 = 3;
/// `BBRStartupFullLossCnt`: sequence ranges lost in one round.
const STARTUP_FULL_LOSS_CNT: u32 = 6;
/// Drain ends after this many rounds with any inflight data.
const DRAIN_ROUNDS: u64 = 3;

/// The full-pipe estimator.
#[derive(Clone, Debug, Default)]
pub struct FullBw {
    /// `BBR.full_bw`: the baseline.
    pub bw: Rate,
    pub count: u32,
    pub now: bool,
    /// Whether the pipe was ever full; never cleared by [`Self::reset`].
    pub reached: bool,
}

impl FullBw {
    /// `ResetFullBW`, with a baseline.
    pub fn reset(&mut self, baseline: Rate) {
        self.bw = baseline;
        self.count = 0;
        self.now = false;
    }

    /// A round without application limit has ended with this rate.
    fn on_round(&mut self, delivery_rate: Rate) {
        if delivery_rate >= self.bw.mul_div(FULL_BW_THRESH, UNIT) {
            self.reset(delivery_rate);
            return;
        }
        self.count += 1;
        self.now = self.count >= FULL_BW_COUNT;
        self.reached |= self.now;
    }
}

impl Bbr3 {
    /// `EnterStartup`.
    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
        self.update_ssthresh();
    }

    /// `CheckFullBWReached`.
    pub(super) fn check_full_bw_reached(&mut self, sample: &Sample) {
        if !self.full_bw.now && self.rounds.start && !sample.is_app_limited {
            self.full_bw.on_round(sample.delivery_rate);
        }
    }

    /// `CheckStartupDone`.
    pub(super) fn check_startup_done(&mut self, ack: &Ack, sample: &Sample) {
        self.check_startup_high_loss(ack, sample);
        if self.state == State::Startup && self.full_bw.reached {
            // A mark is reported before the ACK that carries it, and already set `reached`.
            let reason = match self.undo.state {
                Some(State::Startup) => ExitReason::Ecn,
                _ => ExitReason::FullPipe {
                    bandwidth: self.full_bw.bw,
                    rounds: self.full_bw.count,
                },
            };
            self.leave_startup(ack, reason);
        }
    }

    /// `CheckStartupHighLoss`: a full round of recovery with more than 2 % lost, in six ranges.
    fn check_startup_high_loss(&mut self, ack: &Ack, sample: &Sample) {
        if !self.rounds.loss_round_start {
            return;
        }
        let ranges = self.losses.take_ranges();
        let a_round_of_recovery = ack.phase == Phase::Recovery
            && sample
                .prior_delivered
                .is_some_and(|prior| self.losses.recovery_start <= prior);
        if self.state == State::Startup
            && !self.full_bw.reached
            && a_round_of_recovery
            && ranges >= STARTUP_FULL_LOSS_CNT
            && Self::is_inflight_too_high(sample)
        {
            self.full_by_congestion();
            self.leave_startup(ack, ExitReason::Loss);
        }
    }

    /// Marks the pipe full because of congestion in Startup.
    pub(super) fn full_by_congestion(&mut self) {
        self.undo.state = Some(State::Startup);
        self.full_bw.now = true;
        self.full_bw.reached = true;
        let bdp = self.bdp_multiple(self.bw, UNIT);
        self.inflight_longterm = bdp.max(self.short_term.inflight_latest);
    }

    fn leave_startup(&mut self, ack: &Ack, reason: ExitReason) {
        if self.exit.is_none() {
            self.exit = Some(SlowStartExit {
                at: ack.now,
                cwnd: self.window().cwnd,
                reason,
            });
        }
        self.state = State::Drain;
        self.drain_start_round = self.rounds.count;
        self.update_ssthresh();
    }

    /// `CheckDrainDone`.
    pub(super) fn check_drain_done(&mut self, ack: &Ack) {
        if self.state == State::Drain
            && (ack.in_flight <= self.inflight(self.bw, UNIT)
                || self.rounds.count > self.drain_start_round + DRAIN_ROUNDS)
        {
            self.start_probe_bw_down(ack.now);
        }
    }
}

//! What the end of an era brings: the measured RTTs, and the next state (section "States and
//! Transition").

use units::{Duration, Rate};

use super::{C4, Era, LEAST_MAX_RTT, PROBING, PROBING_MARKED, PUSHING, State, UNIT};
use crate::{Ack, ExitReason};

const MAX_JITTER: Duration = Duration::from_millis(250);
/// Eras without growth that end Initial.
const ERAS_WITHOUT_GROWTH: u32 = 3;
const CRUISING_ERAS: u32 = 2;
const RESUMING_ERAS: u32 = 2;
const PUSHING_ERAS: u32 = 3;

impl C4 {
    /// Follows the RTTs of an era that was sent at the nominal rate or below it.
    fn update_rtts(&mut self) -> bool {
        let Era {
            min_rtt,
            max_rtt,
            alpha_previous,
            ..
        } = self.era;
        if alpha_previous > UNIT || max_rtt.is_zero() {
            return false;
        }
        self.running_min_rtt = if min_rtt < self.running_min_rtt {
            min_rtt
        } else {
            (self.running_min_rtt * 7 + min_rtt) / 8
        };
        let max_rtt = max_rtt.min(self.running_min_rtt + MAX_JITTER);
        let followed = if max_rtt > self.nominal_max_rtt {
            max_rtt
        } else {
            (self.nominal_max_rtt * 7 + max_rtt) / 8
        };
        self.nominal_max_rtt = followed.max(LEAST_MAX_RTT);
        true
    }

    /// Whether jitter is so high that Initial may have ended too early.
    fn has_high_jitter(&mut self) -> bool {
        if self.running_min_rtt == Duration::MAX
            || self.running_min_rtt * 5 >= self.nominal_max_rtt * 2
        {
            return false;
        }
        if !self.is_picoquic() {
            return true;
        }
        let is_first = !self.has_restarted
            && self.nominal_max_rtt > Duration::from_millis(50)
            && self.nominal_rate < Rate::from_bits_per_sec(8_000_000);
        self.has_restarted |= is_first;
        is_first
    }

    pub(super) fn end_era(&mut self, ack: &Ack) {
        self.eras += 1;
        let is_updated = self.update_rtts();
        match self.state {
            State::Initial => {
                let target = self.era.rate.mul_div(5, 4);
                if self.nominal_rate > Rate::ZERO && self.nominal_rate >= target {
                    self.eras_no_increase = 0;
                } else if self.era.is_used {
                    self.eras_no_increase += 1;
                }
                if self.eras_no_increase >= ERAS_WITHOUT_GROWTH {
                    let reason = ExitReason::FullPipe {
                        bandwidth: self.nominal_rate,
                        rounds: ERAS_WITHOUT_GROWTH,
                    };
                    self.exit_initial(reason, ack);
                } else {
                    self.start_era(ack.snd_nxt);
                }
            }
            State::Resuming if self.eras >= RESUMING_ERAS => {
                self.leave_slow_start(ExitReason::Threshold, ack);
                self.enter_recovery(false, ack.snd_nxt);
            }
            State::Recovery => self.exit_recovery(is_updated, ack),
            State::Cruising if self.eras >= CRUISING_ERAS && !ack.app_limited => {
                let alpha = if self.has_marks {
                    PROBING_MARKED
                } else {
                    PROBING
                };
                self.enter(State::Probing, alpha, ack.snd_nxt);
            }
            State::Probing => self.enter_recovery(false, ack.snd_nxt),
            State::Pushing if self.eras > 1 => {
                let has_grown = self.nominal_rate >= self.era.rate.mul_div(19, 16);
                if !has_grown {
                    self.enter_recovery(false, ack.snd_nxt);
                } else if self.eras >= PUSHING_ERAS {
                    self.enter_initial(ack.snd_nxt);
                } else {
                    self.start_era(ack.snd_nxt);
                }
            }
            State::Resuming | State::Cruising | State::Pushing => self.start_era(ack.snd_nxt),
        }
    }

    fn exit_recovery(&mut self, is_updated: bool, ack: &Ack) {
        self.successive = if self.is_congested {
            self.successive + 1
        } else {
            0
        };
        if self.successive > 1 && self.recent_max_rate > Rate::ZERO {
            self.nominal_rate = self.nominal_rate.min(self.recent_max_rate);
        }
        let probed = self.probed_from.take();
        let is_success = !self.is_congested && probed.is_some_and(|from| self.nominal_rate > from);
        self.is_congested = false;
        self.recent_max_rate = Rate::ZERO;
        self.loss = 0;
        self.ecn_alpha = 0;
        if is_success {
            self.enter(State::Pushing, PUSHING, ack.snd_nxt);
        } else if is_updated && self.has_high_jitter() {
            self.enter_initial(ack.snd_nxt);
        } else {
            self.enter(State::Cruising, UNIT, ack.snd_nxt);
        }
    }
}

//! The response of the model to a lost segment, and its undo after a spurious recovery (sections
//! "Updating the Model Upon Packet Loss" and "... Upon Detecting a Spurious Loss Recovery").

use units::{Bytes, Instant, Rate};

use super::model::Sample;
use super::{BETA, Bbr3, LOSS_THRESH, State, UNIT};
use crate::{Congestion, Lost};

/// Losses of the round.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    /// `BBR.is_loss_in_round`.
    pub in_round: bool,
    /// Whether the state before the current loss has been saved since the last ACK.
    pub saved: bool,
    /// Discontiguous sequence ranges lost in this round, and where the last one ends.
    ranges: u32,
    range_end: u64,
    /// `C.delivered` when the last recovery began.
    pub recovery_start: Bytes,
}

impl Losses {
    fn count_range(&mut self, lost: &Lost) {
        if self.ranges == 0 || lost.seq != self.range_end {
            self.ranges = self.ranges.saturating_add(1);
        }
        self.range_end = lost.end;
    }

    /// The ranges lost in the round that ends.
    pub fn take_ranges(&mut self) -> u32 {
        core::mem::take(&mut self.ranges)
    }

    /// Fast recovery begins.
    pub fn begin_recovery(&mut self, delivered: Bytes) {
        self.recovery_start = delivered;
    }
}

/// `BBR.undo_*`.
#[derive(Clone, Debug)]
pub struct Undo {
    /// The state that a loss ended: Startup or `ProbeBW_UP`.
    pub state: Option<State>,
    bw_shortterm: Rate,
    inflight_shortterm: Bytes,
    inflight_longterm: Bytes,
}

impl Default for Undo {
    fn default() -> Self {
        Self {
            state: None,
            bw_shortterm: Rate::ZERO,
            inflight_shortterm: Bytes::ZERO,
            inflight_longterm: Bytes::ZERO,
        }
    }
}

impl Bbr3 {
    /// `IsInflightTooHigh`.
    pub(super) fn is_inflight_too_high(sample: &Sample) -> bool {
        sample.lost > sample.tx_in_flight.mul_div(LOSS_THRESH, UNIT)
    }

    /// `NoteLoss`.
    pub(super) fn note_loss(&mut self) {
        if !self.losses.in_round {
            self.rounds.loss_round_delivered = self.delivered;
            if !self.losses.saved {
                self.save_state_upon_loss();
            }
        }
        self.losses.in_round = true;
    }

    /// `SaveStateUponLoss`.
    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            state: None,
            bw_shortterm: self.short_term.bw,
            inflight_shortterm: self.short_term.inflight,
            inflight_longterm: self.inflight_longterm,
        };
        self.losses.saved = true;
    }

    /// `HandleLostPacket`.
    pub(super) fn handle_lost_packet(&mut self, lost: &Lost) {
        self.delivered = lost.delivered;
        self.note_loss();
        if !self.losses.saved && !Self::in_loss_recovery(self.phase) {
            // The transport enters recovery for this loss.
            self.save_state_upon_loss();
        }
        self.losses.count_range(lost);
        if !self.cycle.is_bw_probe_sample {
            return;
        }
        let sample = Sample {
            tx_in_flight: lost.tx_in_flight,
            lost: lost.lost,
            is_app_limited: lost.app_limited,
            ..Sample::default()
        };
        if Self::is_inflight_too_high(&sample) {
            self.handle_inflight_too_high(inflight_at_loss(lost), sample.is_app_limited, lost.now);
        }
    }

    /// `HandleInflightTooHigh`.
    fn handle_inflight_too_high(&mut self, tx_in_flight: Bytes, app_limited: bool, now: Instant) {
        self.cycle.prev_probe_too_high = true;
        self.cycle.is_bw_probe_sample = false;
        if !app_limited {
            let beta = self.target_inflight().mul_div(BETA, UNIT);
            self.inflight_longterm = tx_in_flight.max(beta);
        }
        if self.state == State::ProbeBwUp {
            self.undo.state = Some(State::ProbeBwUp);
            self.start_probe_bw_down(now);
        }
    }

    /// An ECN mark counts as congestion, and ends probing.
    pub(super) fn handle_mark(&mut self, congestion: &Congestion) {
        if self.cycle.is_bw_probe_sample {
            self.handle_inflight_too_high(congestion.in_flight, false, congestion.now);
        } else if self.state == State::Startup && self.bw > Rate::ZERO {
            self.full_by_congestion();
        }
    }

    /// `HandleSpuriousLossDetection`.
    pub(super) fn handle_spurious_loss_detection(&mut self, _now: Instant) {
        self.restore_cwnd();
        self.losses.in_round = false;
        self.full_bw.reset(Rate::ZERO);
        self.short_term.bw = self.short_term.bw.max(self.undo.bw_shortterm);
        self.short_term.inflight = self.short_term.inflight.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw.reached = false;
                self.exit = None;
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(State::ProbeBwUp) if !matches!(self.state, State::ProbeBwUp | State::ProbeRtt) => {
                self.start_probe_bw_refill();
            }
            _ => {}
        }
    }
}

/// `InflightAtLoss`: the inflight volume, within this segment, at which losses crossed
/// `BBR.LossThresh`.
fn inflight_at_loss(lost: &Lost) -> Bytes {
    let inflight_prev = lost.tx_in_flight.saturating_sub(lost.size);
    let lost_prev = lost.lost.saturating_sub(lost.size);
    let spare = (inflight_prev * LOSS_THRESH).saturating_sub(lost_prev * UNIT);
    inflight_prev + spare / (UNIT - LOSS_THRESH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(tx_in_flight: u64, lost: u64) -> Lost {
        Lost {
            now: Instant::ZERO,
            size: Bytes::new(1_000),
            seq: 0,
            end: 1_000,
            delivered: Bytes::ZERO,
            tx_in_flight: Bytes::new(tx_in_flight),
            lost: Bytes::new(lost),
            app_limited: false,
        }
    }

    /// Of 100 segments, the third lost one crosses 2 %: (2 % of 99,000 - 2,000) is below zero. Of
    /// 120, (2 % of 119,000 - 2,000) / 98 % = 387 bytes of it still fit.
    #[test]
    fn the_fraction_of_a_segment_that_fits() {
        assert_eq!(inflight_at_loss(&lost(100_000, 3_000)).get(), 99_000);
        assert_eq!(inflight_at_loss(&lost(120_000, 3_000)).get(), 119_387);
        assert_eq!(inflight_at_loss(&lost(500, 3_000)).get(), 0);
    }
}

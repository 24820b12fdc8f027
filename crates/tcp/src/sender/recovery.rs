//! The state machine: entering and leaving recovery, undo (Linux `tcp_fastretrans_alert`,
//! `tcp_process_loss` in `frto.rs`).

use congestion::{Congestion, CongestionControl, CongestionKind, Lost, Phase};
use units::{Bytes, Duration, Instant};

use super::Sender;
use super::ack::AckFacts;
use crate::rack::TIMER_SLACK;
use crate::repair::Retransmit;
use crate::retransmission_timer::Timer;
use crate::scoreboard::EVER_RETRANS;
use crate::tlp::{ProbeAck, Verdict};

impl Sender {
    /// Linux `tcp_fastretrans_alert`.
    pub(super) fn react(&mut self, now: Instant, facts: &mut AckFacts) {
        if facts.ece {
            self.refuse_undo(now);
        }
        if self.suspicion.is_some() && !self.settle_suspicion(now, facts) {
            return;
        }
        if self.phase == Phase::Open {
            self.undo.forget_retransmission();
        } else if self.snd_una >= self.high_seq {
            match self.phase {
                // Held until data above is acknowledged, so that the CWR mark arrives first.
                Phase::Cwr if self.snd_una != self.high_seq => {
                    self.end_reduction(now);
                    self.phase = Phase::Open;
                }
                Phase::Recovery => {
                    self.forget_duplicates();
                    let undone = self.try_undo_recovery(now, facts);
                    if self.phase == Phase::Recovery {
                        return;
                    }
                    if !undone && self.undo.is_open() {
                        self.end_reduction(now);
                    }
                }
                _ => {}
            }
        }
        match self.phase {
            Phase::Recovery => {
                if facts.advanced && self.try_undo_partial(now, facts) {
                    return;
                }
                if !facts.advanced {
                    self.count_duplicate(now, facts);
                }
                if self.try_undo_dsack(now) {
                    self.try_to_open(now, facts);
                }
                self.find_losses(now, facts);
                if self.phase != Phase::Recovery {
                    if self.board.lost_out() == 0 {
                        return;
                    }
                    self.enter_recovery(now, facts.ece);
                }
                self.repair.allow(Retransmit::Lost);
                return;
            }
            Phase::Loss => {
                self.process_loss(now, facts);
                self.find_losses(now, facts);
                if self.phase != Phase::Open && !facts.retransmission_lost {
                    return;
                }
            }
            Phase::Open | Phase::Disorder => {
                self.try_undo_dsack(now);
            }
            Phase::Cwr => {}
        }
        if facts.advanced {
            self.forget_duplicates();
        }
        self.count_duplicate(now, facts);
        self.find_losses(now, facts);
        if self.board.lost_out() == 0 {
            self.try_to_open(now, facts);
            return;
        }
        self.enter_recovery(now, facts.ece);
        self.repair.allow(Retransmit::Lost);
    }

    /// An ECN echo: the reduction becomes final.
    fn refuse_undo(&mut self, now: Instant) {
        if !self.undo.is_refused() && self.phase == Phase::Recovery {
            self.congest(now, CongestionKind::Ecn);
        }
        self.undo.refuse();
    }

    pub(super) fn congest(&mut self, now: Instant, kind: CongestionKind) {
        self.cc.on_congestion(&Congestion {
            now,
            kind,
            phase: self.phase,
            in_flight: self.bytes_in_flight(),
            snd_nxt: self.snd_nxt,
            first_of_window: true,
        });
        self.read_window();
        self.validation.on_window_change(now);
    }

    /// Linux `tcp_init_cwnd_reduction`.
    pub(super) fn begin_reduction(&mut self, now: Instant, kind: CongestionKind) {
        self.congest(now, kind);
        self.high_seq = self.snd_nxt;
        self.tlp.forget();
        self.ecn.on_reduction();
    }

    /// Linux `tcp_end_cwnd_reduction`.
    fn end_reduction(&mut self, now: Instant) {
        self.cc.on_recovery_exit(now);
        self.read_window();
        self.validation.on_window_change(now);
    }

    /// Linux `tcp_enter_recovery`.
    pub(super) fn enter_recovery(&mut self, now: Instant, ece: bool) {
        if !self.any_retransmission() {
            self.undo.forget_retransmission();
        }
        self.begin_undo();
        if ece {
            self.undo.refuse();
        }
        self.partial_acks.reset();
        self.stats.recoveries += 1;
        if self.phase.is_reducing() {
            // One reduction is enough, and it can no longer be undone.
            self.undo.refuse();
            self.congest(now, CongestionKind::Loss);
        } else {
            self.begin_reduction(now, CongestionKind::Loss);
        }
        self.phase = Phase::Recovery;
    }

    /// Linux `tcp_init_undo`.
    pub(super) fn begin_undo(&mut self) {
        let probe = u32::from(self.tlp.is_retransmission_in_flight());
        self.undo
            .begin(self.snd_una, self.board.retrans_out() + probe);
    }

    /// Linux `tcp_enter_cwr`.
    fn enter_cwr(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Open | Phase::Disorder) {
            self.undo.close();
            self.begin_reduction(now, CongestionKind::Ecn);
            self.phase = Phase::Cwr;
        }
    }

    /// Linux `tcp_any_retrans_done`.
    fn any_retransmission(&self) -> bool {
        self.board.retrans_out() > 0 || self.board.head().is_some_and(|head| head.has(EVER_RETRANS))
    }

    /// Linux `tcp_try_to_open`.
    fn try_to_open(&mut self, now: Instant, facts: &AckFacts) {
        if !self.any_retransmission() {
            self.undo.forget_retransmission();
        }
        if facts.ece {
            self.enter_cwr(now);
        }
        if self.phase != Phase::Cwr {
            self.keep_open();
        }
    }

    /// Linux `tcp_try_keep_open`.
    fn keep_open(&mut self) {
        let left_out = self.board.sacked_out() + self.board.lost_out() > 0;
        let phase = if left_out || self.any_retransmission() {
            Phase::Disorder
        } else {
            Phase::Open
        };
        if self.phase != phase {
            self.phase = phase;
            self.high_seq = self.snd_nxt;
        }
    }

    /// Linux `tcp_undo_cwnd_reduction`.
    fn undo_reduction(&mut self, now: Instant, unmark: bool) {
        if unmark {
            self.stats.losses_withdrawn += u64::from(self.board.lost_out());
            self.board.unmark_lost();
        }
        self.stats.undone += 1;
        if !self.undo.is_refused() {
            let ssthresh = self.ssthresh();
            self.cc.undo(now);
            self.read_window();
            // A reduction that did not lower the threshold is still reported.
            if self.ssthresh() > ssthresh {
                self.ecn.on_undo();
            }
        }
        self.validation.on_window_change(now);
        self.undo.close();
        self.rack.check_again();
    }

    /// Linux `tcp_try_undo_recovery`: all data of the episode is acknowledged.
    pub(super) fn try_undo_recovery(&mut self, now: Instant, facts: &AckFacts) -> bool {
        let undo = self.undo.is_possible(facts.ts_ecr);
        if undo {
            self.undo_reduction(now, false);
        } else {
            self.rack.on_recovery_end();
        }
        if !self.holds_state() {
            self.phase = Phase::Open;
        }
        undo
    }

    /// Linux `tcp_try_undo_partial`. Returns true if nothing more may be marked or retransmitted
    /// for now.
    fn try_undo_partial(&mut self, now: Instant, facts: &AckFacts) -> bool {
        if !self.undo.is_open() || !self.undo.packet_was_delayed(facts.ts_ecr) {
            return false;
        }
        self.check_reordering(facts.prior_una);
        if self.board.retrans_out() > 0 {
            self.repair.allow(Retransmit::Nothing);
            return true;
        }
        if !self.any_retransmission() {
            self.undo.forget_retransmission();
        }
        self.undo_reduction(now, true);
        self.keep_open();
        false
    }

    /// Linux `tcp_try_undo_dsack`.
    fn try_undo_dsack(&mut self, now: Instant) -> bool {
        if !self.undo.all_were_duplicates() {
            return false;
        }
        self.rack.on_dsack_undo();
        self.undo_reduction(now, false);
        true
    }

    /// Linux `tcp_try_undo_loss`.
    pub(super) fn try_undo_loss(&mut self, now: Instant, facts: &AckFacts, spurious: bool) -> bool {
        if !spurious && !self.undo.is_possible(facts.ts_ecr) {
            return false;
        }
        self.undo_reduction(now, true);
        if spurious {
            self.stats.spurious_timeouts += 1;
        }
        self.timer.on_progress();
        if !self.holds_state() && (spurious || self.config.sack) {
            self.phase = Phase::Open;
        }
        true
    }

    /// Linux `tcp_identify_packet_loss`, with RACK if there is SACK.
    pub(super) fn find_losses(&mut self, now: Instant, facts: &mut AckFacts) {
        if !self.config.sack {
            self.mark_head(now, facts);
            return;
        }
        if self.is_fack() {
            self.find_unacknowledged(now, facts);
            return;
        }
        if !self.rack.has_advanced() || self.board.is_empty() {
            return;
        }
        self.rack.on_detection();
        let found = self
            .board
            .detect_losses(&self.rack, self.reordering_window(), now);
        self.count_losses(now, found.lost);
        facts.newly_lost += found.lost;
        facts.retransmission_lost |= found.retransmission;
        if let Some(wait) = found.wait {
            let delay = wait + TIMER_SLACK;
            self.timer.arm(now, now, delay, Timer::Reordering);
            facts.sets_timer = false;
        }
    }

    /// Restores the window of the congestion control.
    pub(super) fn release_window(&mut self, now: Instant) {
        self.cwnd.release(self.cc.window());
        self.validation.on_window_change(now);
    }

    pub(super) fn count_losses(&mut self, now: Instant, lost: u32) {
        if lost > 0 {
            self.stats.segments_lost += u64::from(lost);
            self.stats.first_loss.get_or_insert(now);
            if self.board.is_watched() {
                self.report_losses(now);
            }
        }
    }

    /// Reports each loss to a congestion control that watches losses.
    #[cold]
    fn report_losses(&mut self, now: Instant) {
        let new_losses = self.board.take_new_losses();
        let before = self.stats.segments_lost - new_losses.len() as u64;
        for (&index, lost) in new_losses.iter().zip(before + 1..) {
            let segment = *self.board.slot(index);
            let flight = self.board.flight(index);
            self.cc.on_lost(&Lost {
                now,
                size: self.size(1),
                seq: segment.seq,
                end: segment.end(),
                delivered: self.rate.delivered(),
                tx_in_flight: flight.in_flight,
                lost: Bytes::new(lost * self.smss()).saturating_sub(flight.lost),
                app_limited: segment.is_app_limited(),
            });
        }
        self.board.return_new_losses(new_losses);
        self.read_window();
    }

    /// Linux `tcp_rack_reo_wnd`.
    pub(super) fn reordering_window(&self) -> Duration {
        // RFC8985-6.2c
        if self.reordering.seen() == 0
            && (matches!(self.phase, Phase::Recovery | Phase::Loss)
                // RFC5681-3.2c
                || self.board.sacked_out() >= self.reordering.limit())
        {
            return Duration::ZERO;
        }
        let min_rtt = self.rtt.min().unwrap_or(Duration::ZERO);
        self.rack
            .window(min_rtt, self.rtt.srtt().unwrap_or(Duration::ZERO))
    }

    /// Linux `tcp_check_sack_reordering`: `low` was delivered after data above it.
    pub(super) fn check_reordering(&mut self, low: u64) {
        let fack = if self.config.sack || self.board.sacked_out() == 0 {
            self.board.fack(self.snd_una)
        } else {
            self.snd_nxt
        };
        if low >= fack {
            return;
        }
        let smss = self.smss();
        self.reordering.on_late(fack - low, smss);
    }

    /// Linux `tcp_process_tlp_ack`.
    pub(super) fn settle_probe(&mut self, now: Instant, facts: &AckFacts) {
        let ack = ProbeAck {
            ack: facts.ack,
            dsack_of_probe: facts.dsack_of_probe,
            pure_duplicate: !facts.advanced && !facts.is_not_duplicate() && facts.sacked == 0,
        };
        if self.tlp.on_ack(&ack) == Verdict::Repaired {
            if self.phase.is_reducing() {
                return;
            }
            self.begin_reduction(now, CongestionKind::Loss);
            self.end_reduction(now);
            self.phase = Phase::Cwr;
            self.keep_open();
        }
    }
}

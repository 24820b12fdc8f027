//! Loss detection and timeouts as in Linux 2.6.24 of January 2008 (`tcp_input.c`): forward
//! acknowledgment (Mathis and Mahdavi, SIGCOMM 1996), F-RTO (RFC 4138 with SACK) and its response.
//!
//! - A recovery begins when more than three segments (`reordering`), delivered or not, lie between
//!   `snd_una` and the end of the SACKed data (`tcp_time_to_recover`), or when an ACK that is not
//!   plain arrives more than an RTO after the head was sent. All but the last three of these
//!   segments are lost (`tcp_update_scoreboard`), and so is each segment older than the RTO.
//! - In a recovery, a retransmission is lost when a segment first sent after it is SACKed
//!   (`tcp_mark_lost_retrans`). After a timeout, only the next timeout detects its loss.
//! - A timeout retransmits only the head (`tcp_enter_frto`). If the next ACK advances, two new
//!   segments leave. If the ACK after that delivers data sent before the timeout, the timeout was
//!   spurious: the window is reduced as after a loss, and no other state is reset
//!   (`tcp_ratehalving_spur_to_response`, the default of that version). Otherwise the timeout is
//!   genuine (`tcp_enter_frto_loss`): all data that is not SACKed is lost, and the congestion
//!   control restarts.
//!
//! There are no tail loss probes and no reordering timer. SACKs give no RTT samples, and therefore
//! do not restart the timeout either. After reordering was seen, SACKed segments are counted
//! instead of all segments below the highest one, and only the head is marked (`tcp_disable_fack`).
//!
//! ## Deviations
//!
//! - Written from knowledge of that version and from later public copies of the file; not compared
//!   with a run of it.
//! - The threshold is requested when F-RTO has decided, from the window before the timeout. Linux
//!   requests it at once, with the same window. Westwood+'s estimate is then that of two ACKs
//!   later, and a spurious timeout does not reset its smallest RTT.
//! - Segments that were never SACKed are not retransmitted ahead of time when no new data may be
//!   sent (the forward retransmissions of `tcp_xmit_retransmit_queue`).
//! - The head does not count as in flight twice while F-RTO examines the timeout.
//! - The first timeout of a SYN is one second, as in current kernels (three in that version).
//!   Metrics of earlier connections are not reused. The estimator counts microseconds, not jiffies.

use alloc::boxed::Box;

use congestion::{Congestion, CongestionControl, CongestionKind, Phase};
use units::Instant;

use super::Sender;
use super::ack::AckFacts;
use crate::repair::Retransmit;

/// A timeout that F-RTO examines (`frto_counter`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Suspicion {
    /// An ACK advanced, and new data was sent so that the next ACK can decide.
    is_probing: bool,
    /// The end of the data sent before the timeout (`frto_highmark`).
    end: u64,
    /// The state that the timeout interrupted.
    before: Phase,
    /// The threshold was not yet reduced in this window.
    first_of_window: bool,
}

impl Sender {
    /// `tcp_enter_frto`.
    pub(super) fn suspect_timeout(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        let again = self.suspicion.take();
        let before = again.as_ref().map_or(self.phase, |earlier| earlier.before);
        let was_repairing = matches!(before, Phase::Recovery | Phase::Loss) || again.is_some();
        let first_of_window = again.as_ref().map_or_else(
            || {
                matches!(before, Phase::Open | Phase::Disorder)
                    || self.high_seq <= self.snd_una
                    || before == Phase::Loss && self.timer.is_first_timeout()
            },
            |earlier| earlier.first_of_window,
        );
        if first_of_window && again.is_none() {
            self.begin_undo();
        }
        let end = if was_repairing && self.high_seq > self.snd_una {
            self.high_seq
        } else {
            self.snd_nxt
        };
        let lost = u32::from(self.board.mark_lost(self.board.base()));
        self.count_losses(now, lost);
        self.cwnd.hold(self.board.in_flight(), 1);
        self.suspicion = Some(Box::new(Suspicion {
            is_probing: false,
            end,
            before,
            first_of_window,
        }));
        self.phase = Phase::Disorder;
        self.high_seq = end;
        self.repair.allow(Retransmit::Nothing);
    }

    /// `tcp_process_frto`: an ACK while F-RTO examines a timeout. Returns true once the timeout is
    /// settled.
    pub(super) fn settle_suspicion(&mut self, now: Instant, facts: &mut AckFacts) -> bool {
        let Some(suspicion) = self.suspicion.as_deref().copied() else {
            return true;
        };
        facts.holds_window = true;
        if self.snd_una >= suspicion.end {
            self.confirm_timeout(now, suspicion);
            return true;
        }
        if !suspicion.is_probing {
            if !facts.advanced {
                // No new data until the head is known to have arrived.
                self.cwnd.hold(self.board.in_flight(), 0);
                return false;
            }
            self.cwnd.hold(self.board.in_flight(), 2);
            if self.can_send_new() {
                self.suspicion = Some(Box::new(Suspicion {
                    is_probing: true,
                    ..suspicion
                }));
                return false;
            }
            self.confirm_timeout(now, suspicion);
            return true;
        }
        let progress = facts.advanced || facts.sacked > 0;
        if !progress && facts.is_not_duplicate() {
            return false;
        }
        let told_of_new = facts.sacked > 0
            && (self.board.fack(self.snd_una) > suspicion.end || !facts.original_before_high);
        if !progress || told_of_new {
            self.confirm_timeout(now, suspicion);
            return true;
        }
        facts.holds_window = false;
        self.refute_timeout(now, suspicion);
        true
    }

    /// `tcp_enter_frto_loss`.
    fn confirm_timeout(&mut self, now: Instant, suspicion: Suspicion) {
        self.suspicion = None;
        let end = self.board.index_at(suspicion.end);
        let lost = self.board.mark_below(end);
        self.count_losses(now, lost);
        // Two segments may leave, or three after new data has left.
        let grant = 1 + u32::from(suspicion.is_probing);
        self.cc.on_congestion(&Congestion {
            now,
            kind: CongestionKind::Timeout,
            phase: suspicion.before,
            in_flight: self.bytes_in_flight() + self.size(grant),
            snd_nxt: self.snd_nxt,
            first_of_window: suspicion.first_of_window,
        });
        self.release_window(now);
        self.phase = Phase::Loss;
        self.high_seq = suspicion.end;
    }

    /// `tcp_ratehalving_spur_to_response`.
    fn refute_timeout(&mut self, now: Instant, suspicion: Suspicion) {
        self.suspicion = None;
        self.stats.spurious_timeouts += 1;
        self.undo.close();
        self.phase = suspicion.before;
        self.begin_reduction(now, CongestionKind::Loss);
        self.release_window(now);
        self.phase = Phase::Cwr;
    }

    /// `tcp_time_to_recover`, `tcp_update_scoreboard` and `tcp_mark_lost_retrans`.
    #[cold]
    pub(super) fn find_unacknowledged(&mut self, now: Instant, facts: &mut AckFacts) {
        let in_recovery = self.phase == Phase::Recovery;
        let top = self.board.sacked_top();
        self.board.forget_settled();
        if self.phase == Phase::Loss || self.board.is_empty() {
            return;
        }
        let mut lost = 0;
        if in_recovery {
            lost += self.board.mark_lost_again(top);
        }
        let span = (top - self.board.base()) as u32;
        let is_exact = self.reordering.seen() > 0;
        let count = if is_exact {
            self.board.sacked_out() + 1
        } else {
            span
        };
        let limit = self.reordering.limit();
        let is_old = self
            .board
            .head()
            .is_some_and(|head| now.saturating_since(head.sent) > self.timer.rto());
        let is_due = if in_recovery {
            facts.is_duplicate || (facts.sacked > 0 || facts.advanced) && count > limit
        } else {
            count > limit || self.board.lost_out() > 0
        };
        if is_due || is_old {
            let reach = if is_exact {
                1
            } else {
                span.saturating_sub(limit).max(1)
            };
            lost += self.board.mark_untouched(u64::from(reach));
        }
        if is_old {
            lost += self.board.mark_older(now - self.timer.rto());
        }
        self.count_losses(now, lost);
        facts.newly_lost += lost;
    }
}

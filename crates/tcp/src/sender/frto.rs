//! F-RTO: was the timeout spurious (RFC 5682 section 3.1, as in Linux 6.12 `tcp_process_loss`)?
//!
//! After a timeout, only the head is retransmitted. If an ACK then delivers data sent before the
//! timeout and never retransmitted, the timeout was spurious and is undone. If the first ACK
//! advances, new data is sent instead of retransmissions, so that the second ACK can decide.

use congestion::Phase;
use units::Instant;

use super::Sender;
use super::ack::AckFacts;
use crate::repair::Retransmit;

/// Whether the last timeout may still prove spurious.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frto {
    is_undecided: bool,
}

impl Frto {
    /// A timeout has occurred. The first one within a recovery is no candidate, because the loss
    /// was known.
    pub(super) const fn on_timeout(&mut self, is_candidate: bool) {
        self.is_undecided = is_candidate;
    }

    /// The timeout was genuine, or later ACKs cannot show otherwise.
    pub(super) const fn decide(&mut self) {
        self.is_undecided = false;
    }

    pub(super) const fn is_undecided(&self) -> bool {
        self.is_undecided
    }
}

impl Sender {
    /// Processes an ACK in the state Loss.
    pub(super) fn process_loss(&mut self, now: Instant, facts: &mut AckFacts) {
        debug_assert_eq!(self.phase, Phase::Loss);
        let recovered = self.snd_una >= self.high_seq;
        if facts.advanced && self.try_undo_loss(now, facts, false) {
            return;
        }
        if self.frto.is_undecided() {
            // Step 3.b: data that was not retransmitted has arrived.
            if facts.original_before_high && self.try_undo_loss(now, facts, true) {
                return;
            }
            if self.snd_nxt > self.high_seq {
                // Step 3.a: new data was sent and caused duplicate ACKs, so the loss is genuine.
                if facts.sacked > 0 || facts.is_duplicate {
                    self.frto.decide();
                }
            } else if facts.advanced && !recovered {
                // Step 2.b.
                self.high_seq = self.snd_nxt;
                if self.can_send_new() {
                    self.repair.allow(Retransmit::AfterNew);
                    return;
                }
                self.frto.decide();
            }
        }
        if recovered {
            self.try_undo_recovery(now, facts);
            return;
        }
        // A duplicate ACK reports that the new data of step 2.b has arrived.
        if self.snd_nxt > self.high_seq && facts.is_duplicate {
            self.count_duplicate(now, facts);
        } else if facts.advanced {
            self.forget_duplicates();
        }
        self.repair.allow(Retransmit::Lost);
    }
}

//! Without SACK: NewReno as Linux 6.12 does it (RFC 6582 and 3042; `tcp_add_reno_sack`,
//! `tcp_remove_reno_sacks`, `tcp_newreno_mark_lost`).
//!
//! A duplicate ACK says that *something* arrived: it counts as a SACK of an unknown segment
//! (`sacked_out`), so that what is in flight, and with it limited transmit and the recovery part,
//! are those of a connection with SACK. Three of them (`reordering`) mark the head lost; during
//! recovery each ACK that advances and does not end it (a partial ACK) marks the new head.
//! Recovery, and the state after a timeout, is held until something *above* the recovery point is
//! acknowledged. There is no RACK and no tail loss probe.
//!
//! Every function here does nothing where there is SACK.
//!
//! ## Deviations
//!
//! - RFC 6582 inflates the window by what Linux takes off what is in flight. With the recovery part
//!   `newreno` both send the same segments at the same ACKs; with `prr`, the default, sends are
//!   spread as in Linux. Test: `newreno::the_example_of_the_notes`.
//! - RFC 6582 starts the retransmission timer anew at the first partial ACK alone ("Impatient");
//!   Linux does at each. `impatient` has the RFC's.
//! - The RFC's check that guards against a second reduction (`recover`) is Linux's: the state is
//!   held, so that duplicates of the old flight are those of the old episode.

use congestion::Phase;
use units::Instant;

use super::Sender;
use super::ack::AckFacts;
use crate::rack::Rack;
use crate::scoreboard::Delivery;

/// ACKs of the recovery under way that advanced and did not end it; without SACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PartialAcks(u32);

impl PartialAcks {
    /// A recovery begins.
    pub(super) const fn reset(&mut self) {
        self.0 = 0;
    }

    const fn count(&mut self) {
        self.0 = self.0.saturating_add(1);
    }

    const fn is_past_first(self) -> bool {
        self.0 > 1
    }
}

impl Sender {
    /// `tcp_remove_reno_sacks`: of the segments that left the ring, one filled the hole, and the
    /// rest are those of the duplicate ACKs before.
    #[cold]
    pub(super) fn settle_duplicates(&mut self, delivery: &mut Delivery) {
        // RACK must not learn from ACKs that may be of either transmission.
        self.rack = Rack::new();
        if delivery.acked == 0 {
            return;
        }
        delivery.delivered = self.board.remove_duplicates(delivery.acked);
        self.limit_duplicates(delivery.acked);
        // Which transmission arrived is not known (`FLAG_RETRANS_DATA_ACKED`).
        delivery.original_before_high &= !delivery.retransmission_acked;
    }

    /// `tcp_add_reno_sack`: a duplicate ACK delivers one segment.
    pub(super) fn count_duplicate(&mut self, now: Instant, facts: &mut AckFacts) {
        if self.config.sack || !facts.is_duplicate {
            return;
        }
        let before = self.board.sacked_out();
        self.board.add_duplicate();
        self.limit_duplicates(0);
        if self.board.sacked_out() > before {
            facts.delivered_unseen += 1;
            self.rate.on_delivered(now, self.size(1));
        }
    }

    /// `tcp_reset_reno_sack`.
    pub(super) fn forget_duplicates(&mut self) {
        if !self.config.sack {
            self.board.forget_duplicates();
        }
    }

    /// `tcp_check_reno_reordering`: no more can have arrived than is out and not lost, and the head
    /// is missing. More duplicates than that are reordering; `gone` segments left the ring just
    /// now.
    fn limit_duplicates(&mut self, gone: u32) {
        if self.board.limit_duplicates() {
            self.reordering
                .on_excess_duplicates(self.board.packets_out() + gone);
        }
    }

    /// `tcp_newreno_mark_lost`.
    pub(super) fn mark_head(&mut self, now: Instant, facts: &mut AckFacts) {
        let is_lost = match self.phase {
            Phase::Recovery => facts.advanced,
            Phase::Loss => false,
            Phase::Open | Phase::Disorder | Phase::Cwr => {
                self.board.sacked_out() >= self.reordering.limit()
            }
        };
        if is_lost && self.board.mark_head_lost() {
            self.count_losses(now, 1);
            facts.newly_lost += 1;
        }
    }

    /// `tcp_is_non_sack_preventing_reopen`: an ACK of the recovery point alone leaves the state, so
    /// that duplicates of the old flight begin no new episode. (Linux forgets here when the first
    /// retransmission left, and must then take care that this does not look like none at all.)
    pub(super) fn holds_state(&self) -> bool {
        !self.config.sack && self.snd_una == self.high_seq
    }

    /// Whether this ACK leaves the retransmission timer as it is: impatient, and not the first
    /// partial ACK.
    pub(super) fn keeps_timer(&mut self, facts: &AckFacts) -> bool {
        if self.phase == Phase::Recovery && facts.advanced && self.snd_una < self.high_seq {
            self.partial_acks.count();
        }
        self.is_impatient()
    }

    /// The timer runs on through the recovery.
    pub(super) fn is_impatient(&self) -> bool {
        self.config.impatient
            && !self.config.sack
            && self.phase == Phase::Recovery
            && self.partial_acks.is_past_first()
    }
}

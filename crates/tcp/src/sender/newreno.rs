//! Recovery without SACK: NewReno as in Linux 6.12 (RFC 6582 and 3042; `tcp_add_reno_sack`,
//! `tcp_remove_reno_sacks`, `tcp_newreno_mark_lost`).
//!
//! A duplicate ACK reports that *some* segment arrived. It counts as a SACK of an unknown segment
//! (`sacked_out`), so that the data in flight, and with it limited transmit and the recovery part,
//! are those of a connection with SACK. Three duplicates (`reordering`) mark the head lost. During
//! recovery, each partial ACK (one that advances without ending the recovery) marks the new head.
//! Recovery, and the state after a timeout, last until data *above* the recovery point is
//! acknowledged. There is no RACK and no tail loss probe.
//!
//! With SACK, the functions here do nothing.
//!
//! ## Deviations
//!
//! - RFC 6582 inflates the window; Linux instead subtracts the same amount from the data in flight.
//!   With the recovery part `newreno`, both send the same segments at the same ACKs. With `prr`,
//!   the default, transmissions are spread as in Linux. Test:
//!   `newreno::an_example_worked_from_rfc_6582`.
//! - In RFC 6582, only the first partial ACK restarts the retransmission timer ("Impatient"); in
//!   Linux, each does. `impatient` selects the RFC's behaviour.
//! - Linux's rule replaces the RFC's check that prevents a second reduction (`recover`): the state
//!   persists, so that duplicates of the old flight belong to the old episode.

use congestion::Phase;
use units::Instant;

use super::Sender;
use super::ack::AckFacts;
use crate::rack::Rack;
use crate::scoreboard::Delivery;

/// Partial ACKs of the current recovery, without SACK.
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
    /// `tcp_remove_reno_sacks`: of the segments that left the ring, one filled the hole, and
    /// earlier duplicate ACKs counted the others.
    #[cold]
    pub(super) fn settle_duplicates(&mut self, delivery: &mut Delivery) {
        // RACK must not learn from ACKs that may answer either transmission.
        self.rack = Rack::new();
        if delivery.acked == 0 {
            return;
        }
        delivery.delivered = self.board.remove_duplicates(delivery.acked);
        self.limit_duplicates(delivery.acked);
        // It is unknown which transmission arrived (`FLAG_RETRANS_DATA_ACKED`).
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

    /// `tcp_check_reno_reordering`: no more segments can have arrived than are in flight and not
    /// lost, and the head is missing. More duplicates than that are reordering. `gone` segments
    /// have just left the ring.
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
                // RFC5681-3.2c
                self.board.sacked_out() >= self.reordering.limit()
            }
        };
        if is_lost && self.board.mark_head_lost() {
            self.count_losses(now, 1);
            facts.newly_lost += 1;
        }
    }

    /// `tcp_is_non_sack_preventing_reopen`: an ACK of exactly the recovery point keeps the state,
    /// so that duplicates of the old flight begin no new episode. (Linux also clears the time of
    /// the first retransmission here, and then needs care not to treat this as no retransmission.)
    pub(super) fn holds_state(&self) -> bool {
        !self.config.sack && self.snd_una == self.high_seq
    }

    /// Whether this ACK leaves the retransmission timer unchanged: impatient, and not the first
    /// partial ACK.
    pub(super) fn keeps_timer(&mut self, facts: &AckFacts) -> bool {
        if self.phase == Phase::Recovery && facts.advanced && self.snd_una < self.high_seq {
            self.partial_acks.count();
        }
        self.is_impatient()
    }

    /// Whether the timer continues through the recovery.
    pub(super) fn is_impatient(&self) -> bool {
        self.config.impatient
            && !self.config.sack
            && self.phase == Phase::Recovery
            && self.partial_acks.is_past_first()
    }
}

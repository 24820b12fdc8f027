//! The scoreboard's part of forward acknowledgment (Mathis and Mahdavi, "Forward acknowledgement:
//! refining TCP congestion control", SIGCOMM 1996). Segments are lost by their distance from the
//! highest SACKed segment, or by their age.
//!
//! Assumes SACK. A sender that uses RACK calls nothing here.

use units::Instant;

use super::{LOST, RETRANS, Retransmission, SACKED, Scoreboard};

impl Scoreboard {
    /// One past the highest SACKed segment, or the head if there is none.
    pub(crate) fn sacked_top(&self) -> u64 {
        if self.sacked_out == 0 {
            self.base
        } else {
            self.index_at(self.highest_sacked)
        }
    }

    /// Marks, among the first `count` segments, those not SACKed, lost or retransmitted.
    pub(crate) fn mark_untouched(&mut self, count: u64) -> u32 {
        let end = (self.base + count).min(self.next);
        let mut lost = 0;
        // The head may have been checked before a reduction was undone.
        for index in core::iter::once(self.base).chain(self.rack_next.max(self.base)..end) {
            if !self.slot(index).has(SACKED | LOST | RETRANS) {
                lost += u32::from(self.mark_lost(index));
            }
        }
        self.rack_next = self.rack_next.max(end);
        lost
    }

    /// Marks segments from the head on that were last sent before `time` (`tcp_skb_timedout`).
    pub(crate) fn mark_older(&mut self, time: Instant) -> u32 {
        let mut lost = 0;
        for index in self.base..self.next {
            if self.slot(index).sent >= time {
                break;
            }
            if !self.slot(index).has(SACKED | LOST | RETRANS) {
                lost += u32::from(self.mark_lost(index));
            }
        }
        lost
    }

    /// Marks every segment below `end` that is not SACKed, including retransmissions in flight.
    pub(crate) fn mark_below(&mut self, end: u64) -> u32 {
        (self.base..end).fold(0, |lost, index| lost + u32::from(self.mark_lost(index)))
    }

    /// Marks retransmissions that preceded the first transmission of a SACKed segment.
    pub(crate) fn mark_lost_again(&mut self, top: u64) -> u32 {
        let mut lost = 0;
        while let Some(&Retransmission { index, turn, next }) = self.retransmissions.front() {
            if self.is_retransmission_alive(index, turn) {
                if top <= next {
                    break;
                }
                lost += u32::from(self.mark_lost(index));
            }
            self.retransmissions.pop_front();
        }
        lost
    }

    /// Removes the earliest retransmissions whose outcome is known.
    pub(crate) fn forget_settled(&mut self) {
        while let Some(&Retransmission { index, turn, .. }) = self.retransmissions.front() {
            if self.is_retransmission_alive(index, turn) {
                break;
            }
            self.retransmissions.pop_front();
        }
    }
}

//! The counters without SACK: a duplicate ACK counts as a SACK of an unknown segment (RFC 6582 and
//! 5681; Linux 6.12 `tcp_add_reno_sack`, `tcp_remove_reno_sacks`).
//!
//! Assumes that no segment is marked SACKed. `sender/newreno.rs` acts on the counters.

use super::{LOST, Scoreboard};

impl Scoreboard {
    /// A duplicate ACK has arrived.
    pub(crate) fn add_duplicate(&mut self) {
        self.sacked_out += 1;
    }

    pub(crate) fn forget_duplicates(&mut self) {
        self.sacked_out = 0;
    }

    /// `acked` segments left the ring: one filled the hole, and earlier duplicate ACKs counted the
    /// others. Returns the number not yet counted as delivered.
    pub(crate) fn remove_duplicates(&mut self, acked: u32) -> u32 {
        let duplicates = self.sacked_out;
        self.sacked_out = duplicates.saturating_sub(acked - 1);
        acked.saturating_sub(duplicates).max(1)
    }

    /// Limits the count: no more segments can have arrived than are in flight and not lost, and the
    /// head is missing. Returns whether there were more duplicates than that.
    pub(crate) fn limit_duplicates(&mut self) -> bool {
        let out = self.packets_out();
        let most = out - self.lost_out.max(1).min(out);
        let is_excess = self.sacked_out > most;
        self.sacked_out = self.sacked_out.min(most);
        is_excess
    }

    /// Marks the head lost, which removes it from the segments assumed delivered. Returns whether
    /// it was not marked before.
    pub(crate) fn mark_head_lost(&mut self) -> bool {
        if self.head().is_none_or(|head| head.has(LOST)) {
            return false;
        }
        self.mark_lost(self.base);
        self.sacked_out = self.sacked_out.min(self.packets_out() - self.lost_out);
        true
    }
}

#[cfg(test)]
mod tests {
    use congestion::rate_sample::SendStamp;
    use units::{Bytes, Instant};

    use super::*;

    fn out(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::new(1_000);
        let stamp = SendStamp {
            delivered: Bytes::ZERO,
            delivered_time: Instant::ZERO,
            first_sent: Instant::ZERO,
            app_limited: false,
        };
        for index in 0..segments {
            board.push(index * 1_000, 1_000, Instant::ZERO, stamp);
        }
        board
    }

    #[test]
    fn duplicates_never_exceed_the_segments_that_can_have_arrived() {
        let mut board = out(4);
        for _ in 0..3 {
            board.add_duplicate();
            assert!(!board.limit_duplicates());
        }
        board.add_duplicate();
        assert!(board.limit_duplicates());
        assert_eq!((board.sacked_out(), board.in_flight()), (3, 1));
        assert!(board.mark_head_lost() && !board.mark_head_lost());
        assert_eq!((board.sacked_out(), board.in_flight()), (3, 0));
    }

    #[test]
    fn a_segment_counted_by_a_duplicate_is_not_counted_again() {
        let mut board = out(6);
        for _ in 0..3 {
            board.add_duplicate();
        }
        // The hole and two of the three duplicates; one of the six is still missing.
        assert_eq!((board.remove_duplicates(3), board.sacked_out()), (1, 1));
        assert_eq!((board.remove_duplicates(3), board.sacked_out()), (2, 0));
    }
}

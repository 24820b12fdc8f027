//! Two short segments become one (Linux `tcp_collapse_retrans`), because both fit into one that is
//! retransmitted.
//!
//! The segments below take the numbers after theirs. So this takes time in proportion to the window,
//! and is for the rare case.
//!
//! ## Deviations
//!
//! - Linux splits the whole again where a SACK block covers its second part alone. Here, such a block
//!   marks nothing.
//! - The last segment of a stream that has ended is not joined: the simulated receiver takes no FIN from
//!   a segment whose data it has.

use super::{ENDS_PACKET, EVER_RETRANS, LOST, RETRANS, SACKED, Scoreboard};

impl Scoreboard {
    /// Joins the segment after `index` to it. Both are packets of their own, because a short segment ends
    /// its packet. Returns the number of the whole, which is that of the second. Returns `None`, and
    /// changes nothing, if there is none, if one of the two is SACKed or its retransmission is in flight,
    /// or if the congestion control watches losses. Without `sack`, one duplicate ACK less counts.
    #[cold]
    pub(crate) fn join_next(&mut self, index: u64, sack: bool) -> Option<u64> {
        let whole = index + 1;
        if whole >= self.next || self.is_watched() {
            return None;
        }
        let (first, second) = (*self.slot(index), *self.slot(whole));
        let len = first.len.checked_add(second.len)?;
        if first.has(SACKED | RETRANS) || second.has(SACKED | RETRANS) {
            return None;
        }
        self.lost_out -= u32::from(second.has(LOST));
        if !sack {
            self.sacked_out = self.sacked_out.saturating_sub(1);
        }
        for below in (self.base..=index).rev() {
            self.relocate(below, below + 1);
        }
        let joined = self.slot_mut(whole);
        joined.len = len;
        joined.flags |= second.flags & (EVER_RETRANS | ENDS_PACKET);
        let moved = |first: u64, number: u64| number + u64::from((first..whole).contains(&number));
        let base = self.base;
        self.renumber(|bound| moved(base + 1, bound), |number| moved(base, number));
        self.base += 1;
        Some(whole)
    }
}

#[cfg(test)]
mod tests {
    use congestion::rate_sample::SendStamp;
    use units::Instant;

    use super::*;

    /// Segments of these lengths, each sent at its own millisecond.
    fn board(lengths: &[u16]) -> Scoreboard {
        let mut board = Scoreboard::new(1_000);
        let mut seq = 0;
        for (&len, at) in lengths.iter().zip(0..) {
            board.push(seq, len, Instant::from_millis(at), SendStamp::default());
            seq += u64::from(len);
        }
        board
    }

    #[test]
    fn two_lost_segments_become_one_lost_segment() {
        let mut board = board(&[1_000, 300, 400, 1_000]);
        for index in 0..3 {
            board.mark_lost(index);
        }
        assert_eq!(board.join_next(1, true), Some(2));
        assert_eq!(
            (board.base(), board.packets_out(), board.lost_out()),
            (1, 3, 2)
        );
        let kept = |index| (board.slot(index).seq, board.slot(index).len);
        assert_eq!(
            [kept(1), kept(2), kept(3)],
            [(0, 1_000), (1_000, 700), (1_700, 1_000)]
        );
        assert!(board.is_consistent(true));
        assert_eq!(board.next_pending(), Some(1));
    }

    #[test]
    fn a_segment_that_is_delivered_or_in_flight_again_stays() {
        let mut board = board(&[300, 300, 300]);
        board.mark_lost(0);
        board.mark_lost(1);
        board.retransmit(1, Instant::from_millis(9), SendStamp::default(), false);
        let before = board.clone();
        assert_eq!(board.join_next(0, true), None);
        assert_eq!(board.join_next(1, true), None);
        assert_eq!(board.join_next(2, true), None);
        assert_eq!(board, before);
    }

    #[test]
    fn without_sack_a_duplicate_ack_is_forgotten() {
        let mut board = board(&[300, 300, 300]);
        board.sacked_out = 2;
        board.mark_lost(0);
        assert_eq!(board.join_next(0, false), Some(1));
        assert_eq!((board.packets_out(), board.sacked_out()), (2, 1));
    }
}

//! What an ACK delivers, by SACK blocks and cumulatively.

use congestion::rate_sample::Newest;
use units::Instant;

use super::{EVER_RETRANS, LOST, RETRANS, SACKED, Scoreboard, Segment, Turn};
use crate::rack::{Rack, RackContext};

/// The largest packet into which Linux merges SACKed segments, in bytes (`tcp_skb_shift`).
const LARGEST_MERGED: u64 = 65_535 * 8;

/// What one ACK delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// Segments delivered, each counted once in its life.
    pub(crate) delivered: u32,
    /// Of these, newly SACKed ones.
    pub(crate) sacked: u32,
    /// Segments that left the ring.
    pub(crate) acked: u32,
    /// Number and transmission of the most recently sent delivered segment, if any.
    newest: u64,
    newest_turn: Turn,
    /// Send times of the first and last segment acknowledged cumulatively without a retransmission.
    pub(crate) acked_sent: Option<(Instant, Instant)>,
    /// The same for SACKed segments.
    pub(crate) sacked_sent: Option<(Instant, Instant)>,
    /// A retransmitted segment was acknowledged cumulatively.
    pub(crate) retransmission_acked: bool,
    /// Lowest never-retransmitted segment delivered below a segment SACKed earlier.
    pub(crate) reordered_sack: Option<u64>,
    /// The same for cumulative acknowledgment: the lowest offset, whatever lies above it.
    pub(crate) lowest_acked: Option<u64>,
    /// A never-retransmitted segment that ends at or below `high_seq` was delivered.
    pub(crate) original_before_high: bool,
}

impl Delivery {
    pub(crate) const NONE: Self = Self {
        delivered: 0,
        sacked: 0,
        acked: 0,
        newest: 0,
        newest_turn: Turn::NONE,
        acked_sent: None,
        sacked_sent: None,
        retransmission_acked: false,
        reordered_sack: None,
        lowest_acked: None,
        original_before_high: false,
    };

    #[inline]
    fn count(&mut self, index: u64, segment: &Segment) {
        if self.delivered == 0 || segment.turn() > self.newest_turn {
            self.newest = index;
            self.newest_turn = segment.turn();
        }
        self.delivered += 1;
    }
}

/// A report of duplicates above the cumulative ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Duplicate {
    /// Segments of it that were retransmitted.
    pub(crate) retransmitted: u32,
    /// The lowest of these that was SACKed before.
    pub(crate) low: Option<u64>,
}

impl Scoreboard {
    /// The receiver reports that it received `start..end` twice (the D-SACK part of
    /// `tcp_sacktag_one`).
    #[cold]
    pub(crate) fn take_duplicate(&mut self, start: u64, end: u64) -> Duplicate {
        let mut duplicate = Duplicate::default();
        let first = self.index_at(start);
        for index in first..self.next {
            let segment = *self.slot(index);
            if segment.end() > end {
                break;
            }
            if !segment.has(EVER_RETRANS) && !self.is_merged_with_retransmission(index) {
                continue;
            }
            duplicate.retransmitted += 1;
            if segment.has(SACKED) {
                duplicate.low.get_or_insert(segment.seq);
            }
            if segment.has(RETRANS) && !segment.has(LOST) {
                // An undo had left the retransmission counted as in flight.
                self.slot_mut(index).flags &= !RETRANS;
                self.retrans_out -= 1;
            }
        }
        duplicate
    }

    /// Linux merges a SACKed segment into the SACKed packet below it (`tcp_shift_skb_data`). The
    /// packet counts as retransmitted if one of its segments was. The lowest segment of a run usually
    /// fills a hole, and is then not merged with those above it.
    fn is_merged_with_retransmission(&self, index: u64) -> bool {
        let segment = self.slot(index);
        if !segment.has(SACKED) {
            return false;
        }
        let is_of_packet = |other: &u64| {
            let other = self.slot(*other);
            let is_near = other.seq.abs_diff(segment.seq) < LARGEST_MERGED;
            other.has(SACKED) && !other.has(RETRANS) && is_near
        };
        let below = (self.base..index).rev().take_while(is_of_packet);
        let above = (index + 1..self.next).take_while(is_of_packet);
        below.chain(above).any(|other| {
            let is_merged = other > self.base && is_of_packet(&(other - 1));
            is_merged && self.slot(other).has(EVER_RETRANS)
        })
    }

    /// The receiver reports that it holds `start..end`.
    pub(crate) fn sack(
        &mut self,
        start: u64,
        end: u64,
        context: &RackContext,
        rack: &mut Rack,
        delivery: &mut Delivery,
    ) {
        let first = self.index_at(start);
        let mut index = self.unsacked_from(first);
        while index < self.next {
            let segment = *self.slot(index);
            if segment.end() > end {
                break;
            }
            if segment.is_plain() {
                index = self.sack_plain(index, end, context, rack, delivery);
            } else {
                self.sack_one(index, &segment, context, rack, delivery);
                index += 1;
            }
            index = self.unsacked_from(index);
        }
    }

    /// The same as [`Self::sack_one`] for segments up to `end`, `first` and those behind it, of which
    /// each was sent once and nothing else is known. They are in the order of transmission, so the
    /// first and the last suffice. Returns the number behind them.
    fn sack_plain(
        &mut self,
        first: u64,
        end: u64,
        context: &RackContext,
        rack: &mut Rack,
        delivery: &mut Delivery,
    ) -> u64 {
        let oldest = *self.slot(first);
        let (mut newest, mut bytes, mut index) = (oldest, 0, first);
        while index < self.next {
            let slot = self.slot_mut(index);
            if !slot.is_plain() || slot.end() > end {
                break;
            }
            newest = *slot;
            bytes += u32::from(newest.len);
            slot.flags |= SACKED;
            slot.order_or_reach = 1;
            index += 1;
        }
        rack.on_original_acked(newest.turn(), context.now);
        if oldest.seq < self.fack(0) && delivery.reordered_sack.is_none_or(|low| oldest.seq < low) {
            delivery.reordered_sack = Some(oldest.seq);
        }
        delivery.original_before_high |= oldest.end() <= context.high_seq;
        widen(&mut delivery.sacked_sent, oldest.sent);
        widen(&mut delivery.sacked_sent, newest.sent);
        let count = (index - first) as u32;
        delivery.count(index - 1, &newest);
        delivery.delivered += count - 1;
        delivery.sacked += count;
        if self.sacked_out == 0 || newest.end() > self.highest_sacked {
            self.highest_sacked = newest.end();
        }
        self.sacked_out += count;
        self.sacked_bytes += bytes;
        index
    }

    fn sack_one(
        &mut self,
        index: u64,
        segment: &Segment,
        context: &RackContext,
        rack: &mut Rack,
        delivery: &mut Delivery,
    ) {
        rack.on_delivered(segment, context);
        let mut flags = segment.flags;
        if flags & EVER_RETRANS == 0 {
            if segment.seq < self.fack(0)
                && delivery.reordered_sack.is_none_or(|low| segment.seq < low)
            {
                delivery.reordered_sack = Some(segment.seq);
            }
            delivery.original_before_high |= segment.end() <= context.high_seq;
            widen(&mut delivery.sacked_sent, segment.sent);
        }
        if flags & LOST != 0 {
            self.lost_out -= 1;
            if flags & RETRANS != 0 {
                // Without the loss mark (after an undo), the retransmission counts as in flight.
                self.retrans_out -= 1;
            }
            self.clear_pending(index);
            flags &= !(LOST | RETRANS);
        }
        delivery.count(index, segment);
        delivery.sacked += 1;
        if self.sacked_out == 0 || segment.end() > self.highest_sacked {
            self.highest_sacked = segment.end();
        }
        self.sacked_out += 1;
        self.sacked_bytes += u32::from(segment.len);
        let slot = self.slot_mut(index);
        slot.flags = flags | SACKED;
        slot.order_or_reach = 1;
    }

    /// Everything below `ack` has arrived.
    #[inline]
    pub(crate) fn acknowledge(
        &mut self,
        ack: u64,
        context: &RackContext,
        rack: &mut Rack,
        delivery: &mut Delivery,
    ) {
        // The common case: originals in the order of transmission, so that the first and last
        // suffice.
        let first = self.base;
        let mut index = first;
        while index < self.next {
            let segment = self.slot(index);
            if !segment.is_plain() || segment.end() > ack {
                break;
            }
            index += 1;
        }
        if index > first {
            let oldest = *self.slot(first);
            let newest = *self.slot(index - 1);
            delivery.count(index - 1, &newest);
            let more = (index - 1 - first) as u32;
            delivery.delivered += more;
            delivery.acked += more + 1;
            delivery.acked_sent = Some((oldest.sent, newest.sent));
            delivery.lowest_acked = Some(oldest.seq);
            delivery.original_before_high |= oldest.end() <= context.high_seq;
            rack.on_acked(&newest, context);
            self.base = index;
        }
        if index < self.next && self.slot(index).end() <= ack {
            self.acknowledge_rest(ack, context, rack, delivery);
        }
    }

    /// The same for segments that were SACKed, lost or retransmitted.
    fn acknowledge_rest(
        &mut self,
        ack: u64,
        context: &RackContext,
        rack: &mut Rack,
        delivery: &mut Delivery,
    ) {
        while self.base < self.next {
            let index = self.base;
            let segment = *self.slot(index);
            if segment.end() > ack {
                break;
            }
            let flags = segment.flags;
            if flags & EVER_RETRANS != 0 {
                if flags & RETRANS != 0 {
                    self.retrans_out -= 1;
                }
                delivery.retransmission_acked = true;
            } else if flags & SACKED == 0 {
                widen(&mut delivery.acked_sent, segment.sent);
                if delivery.lowest_acked.is_none() {
                    delivery.lowest_acked = Some(segment.seq);
                }
                delivery.original_before_high |= segment.end() <= context.high_seq;
            }
            if flags & SACKED == 0 {
                delivery.count(index, &segment);
                rack.on_acked(&segment, context);
            } else {
                self.sacked_out -= 1;
                self.sacked_bytes -= u32::from(segment.len);
            }
            if flags & LOST != 0 {
                self.lost_out -= 1;
                self.clear_pending(index);
            }
            self.base = index + 1;
            delivery.acked += 1;
        }
    }

    /// The stamp and the send time of the most recently sent segment of a delivery. Valid until the
    /// next segment is sent.
    #[inline]
    pub(crate) fn newest(&self, delivery: &Delivery) -> Option<Newest> {
        (delivery.delivered > 0).then(|| {
            self.newest_of(
                delivery.newest,
                self.slot(delivery.newest),
                delivery.newest_turn.sent,
            )
        })
    }

    /// The same for the segment `index`.
    #[inline]
    pub(crate) fn newest_of(&self, index: u64, segment: &Segment, sent: Instant) -> Newest {
        let flight = self.flight(index);
        Newest {
            stamp: self.stamp(index, segment),
            sent,
            tx_in_flight: flight.in_flight,
            lost: flight.lost,
        }
    }
}

fn widen(span: &mut Option<(Instant, Instant)>, sent: Instant) {
    *span = Some(span.map_or((sent, sent), |(first, _)| (first, sent)));
}

#[cfg(test)]
mod tests {
    use congestion::rate_sample::SendStamp;
    use units::Bytes;

    use super::*;

    /// Eight segments of 1,000 bytes, of which two were lost and retransmitted: the third, above the
    /// SACKed second one, and the lowest of those that are SACKed beyond a hole.
    fn board() -> Scoreboard {
        let stamp = SendStamp {
            delivered: Bytes::ZERO,
            delivered_time: Instant::ZERO,
            first_sent: Instant::ZERO,
            app_limited: false,
        };
        let mut board = Scoreboard::new(1_000);
        for index in 0..8 {
            board.push(index * 1_000, 1_000, Instant::ZERO, stamp);
        }
        for index in [2, 5] {
            board.mark_lost(index);
            board.retransmit(index, Instant::from_millis(1), stamp, false);
        }
        for index in [1, 2, 3, 5, 6] {
            let segment = board.slot_mut(index);
            segment.flags = segment.flags & !(LOST | RETRANS) | SACKED;
        }
        board
    }

    #[test]
    fn a_duplicate_of_a_segment_merged_with_a_retransmission_counts_as_one() {
        let low_of = |start: u64| {
            let duplicate = board().take_duplicate(start, start + 1_000);
            (duplicate.retransmitted, duplicate.low)
        };
        for start in [1_000, 2_000, 3_000] {
            assert_eq!(low_of(start), (1, Some(start)));
        }
        // A hole, a retransmission that filled one, and the segment above it.
        assert_eq!(low_of(4_000), (0, None));
        assert_eq!(low_of(5_000), (1, Some(5_000)));
        assert_eq!(low_of(6_000), (0, None));
    }
}

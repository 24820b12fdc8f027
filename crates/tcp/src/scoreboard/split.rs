//! A segment becomes two (Linux `tcp_fragment`), because only its first part fits into a window that
//! the receiver has shrunk.
//!
//! What follows in the same packet is counted in full segments from the cut on: a SACK that ends
//! elsewhere is rounded to them (`tcp_match_skb_to_sack`), and so is a retransmission. Segments that
//! left at one time are one packet, as far as a packet goes today.
//!
//! The segments below it take the numbers before theirs. So this takes time in proportion to the
//! window, and is for the rare case.

use super::{ENDS_PACKET, LOST, RETRANS, SACKED, Scoreboard, Segment};

impl Scoreboard {
    /// Splits `index`: a segment of its first `len` bytes takes the number before it, and the rest
    /// keeps its own. Both are lost if it was. The rest of its packet, which has at most `most`
    /// segments of `smss`, is divided anew. Returns false, and changes nothing, if the segment is SACKed
    /// or its retransmission is in flight, if no number is free below the lowest segment, or if the
    /// congestion control watches losses.
    #[cold]
    pub(crate) fn split(&mut self, index: u64, len: u16, (smss, most): (u16, u32)) -> bool {
        let whole = *self.slot(index);
        if self.base == 0 || whole.has(SACKED | RETRANS) || self.is_watched() {
            return false;
        }
        if self.next - self.base == self.slots.len() as u64 {
            self.grow();
        }
        let stamp = self.stamp(index, &whole);
        for below in self.base..index {
            self.relocate(below, below - 1);
        }
        self.base -= 1;
        let first = index - 1;
        self.clear_pending(first);
        *self.slot_mut(first) = Segment {
            len,
            flags: whole.flags & !LOST,
            ..whole
        };
        self.remember_times(first, &stamp);
        let rest = self.slot_mut(index);
        rest.seq += u64::from(len);
        rest.len -= len;
        // Zero is before any segment, and stays.
        let moved = |end: u64, number: u64| number - u64::from((1..end).contains(&number));
        self.renumber(
            |bound| moved(index + 1, bound),
            |number| moved(index, number),
        );
        if whole.has(LOST) {
            self.mark_lost(first);
        }
        self.divide_anew(index, smss, most);
        true
    }

    /// Each segment from `index` on takes from the next one of its packet what it lacks of `smss`.
    fn divide_anew(&mut self, index: u64, smss: u16, most: u32) {
        let last = (self.next - 1).min(index + u64::from(most.saturating_sub(1)));
        for index in index..last {
            let (short, next) = (*self.slot(index), *self.slot(index + 1));
            let lacks = smss.saturating_sub(short.len);
            let is_one_packet = short.sent == next.sent && !short.has(ENDS_PACKET);
            if !is_one_packet || next.has(SACKED | RETRANS) || next.len <= lacks {
                return;
            }
            self.slot_mut(index).len += lacks;
            let next = self.slot_mut(index + 1);
            next.seq += u64::from(lacks);
            next.len -= lacks;
        }
    }
}

//! Segments that take other numbers, where one is split or two are joined.

use super::{Scoreboard, is_pending};

impl Scoreboard {
    /// The segment with the number `from` has the number `to`, whose segment has gone.
    pub(super) fn relocate(&mut self, from: u64, to: u64) {
        let segment = *self.slot(from);
        let stamp = self.stamp(from, &segment);
        self.clear_pending(to);
        if is_pending(segment.flags) {
            self.clear_pending(from);
            self.set_pending(to);
        }
        *self.slot_mut(to) = segment;
        self.remember_times(to, &stamp);
    }

    /// What refers to numbers follows them: those of segments, and bounds, which stand for all segments
    /// below.
    pub(super) fn renumber(&mut self, bound: impl Fn(u64) -> u64, segment: impl Fn(u64) -> u64) {
        self.rack_next = bound(self.rack_next);
        self.rack_seen = bound(self.rack_seen);
        self.pending_hint = bound(self.pending_hint);
        self.rack_waiting = self.rack_waiting.map(&segment);
        for retransmission in &mut self.retransmissions {
            retransmission.index = segment(retransmission.index);
            retransmission.next = bound(retransmission.next);
        }
    }
}

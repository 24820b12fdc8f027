//! The shortcut of a full segment behind a hole: one that only prolongs the highest data received.
//!
//! It is exact because it is [`Receiver::handle_any_data`] with its conditions inserted. The segment is
//! new and out of order, within the window, of the size of all others, and without flags and
//! congestion mark. The SACK block that lists the data before it is the first one, and grows with it.
//! What is left are the counters, the memory, the limit of the window and the decision to
//! acknowledge.

use units::Instant;

use super::{Receiver, headers, span};
use crate::AckPolicy;

impl Receiver {
    /// Takes such a segment. For any other, it changes nothing and returns false.
    #[inline(never)]
    pub fn prolong_beyond(&mut self, now: Instant, seq: u64, len: u32, ts_val: u32) -> bool {
        let end = seq + u64::from(len);
        let is_expected = len == self.rcv_mss
            && len <= self.merged
            && len <= self.window.mss()
            && self.beyond.last().is_some_and(|(_, last)| last == seq)
            && end <= self.rcv_nxt + self.window.remaining(self.rcv_nxt)
            && !self.window.is_measured_before(now)
            && self.sack
            && self.marks.is_none()
            && self.aside.is_none()
            && self.thinning.is_none()
            && self.sacks.prolong_first(seq, end);
        if !is_expected {
            return false;
        }
        self.stats.segments_received += 1;
        self.stats.out_of_order += 1;
        self.last_small = 0;
        self.pending.scheduled = true;
        self.beyond.insert(seq, end, |_, _| {});
        let memory = self.window.memory_of(u64::from(len), headers(ts_val));
        self.grow_window(len, memory, self.held_memory());
        self.buffers.hold_beyond(memory);
        self.window
            .grow_for_out_of_order(span(&self.beyond, self.rcv_nxt));
        self.decide(now);
        if self.policy == AckPolicy::EverySegment {
            self.pending.now = true;
        }
        true
    }
}

//! The fast path: a full segment in order while nothing is missing and nothing is due (what header
//! prediction is in Linux), and the ACK that it causes.
//!
//! [`Receiver::handle_any_data`] and [`Receiver::poll_ack`] define what is right. The fast path
//! leaves out the questions whose answer is known in advance, and never defers a change: after each
//! segment, the receiver is in the state in which the general path would have left it.
//!
//! ## When it applies
//!
//! The receiver keeps one instant, [`Receiver::fast_until`]. The general path withdraws it
//! ([`Instant::ZERO`]) and sets it anew after a segment in order ([`Receiver::predict`]). Before
//! this instant, all of the following holds, because only the general path can change it:
//!
//! - No data lies beyond a hole. No SACK block is listed, no ACK is compressed, and no SYN-ACK waits.
//! - The stream has not ended, and neither a pushed nor a small segment waits for its ACK.
//! - The ATO is at its minimum. A gap of at most half the minimum leaves it there, and a full
//!   segment after a longer gap takes the general path. (An ACK can only set the ATO to the
//!   minimum.)
//! - The measurement of a round trip has begun in both ways, and none ends. The two ends are known:
//!   - By window, the round ends with the segment that reaches `round_end`. Only a segment that ends
//!     a round moves `round_end`.
//!   - By the application, the round ends with the first segment that arrives the estimated RTT
//!     after the round began. [`ReceiveWindow::quiet_until`] is this instant. Once the round is
//!     over, the space may rise with the first segment of a *later* instant; until then, nothing
//!     happens, so `quiet_until` is the next nanosecond.
//!
//! The space is therefore constant, the buffer holds nothing but the segment itself, and these
//! changes remain: the counters, the time of the last data, the timestamp to echo (with the first
//! segment after an ACK only), the limit of the window (by two segments, up to the space less one
//! segment), quick ACKs, and the decision to acknowledge. A new timestamp echo changes the
//! estimated RTT, and `fast_until` with it.
//!
//! ## What takes the general path
//!
//! Anything but a full segment in order, flags, and congestion marks. Full segments while data is
//! missing, and while the ATO is above its minimum (after a delayed-ACK timer, until 26 segments
//! have arrived or quick ACKs have run out). The first segment after a pause of 20 ms. Two to three
//! segments in each round trip, which end a round or raise the space.

use units::Instant;

use super::policy::ATO_MIN;
use super::{Pending, Receiver, timestamp};
use crate::AckPolicy;

/// An ACK without SACK blocks and flags ([`crate::segment::AckSegment`] describes the fields).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainAck {
    /// Next byte that the receiver expects.
    pub ack: u64,
    /// Receive window in bytes, starting at `ack`.
    pub window: u32,
    /// Timestamp value in milliseconds.
    pub ts_val: u32,
    /// Timestamp echo in milliseconds.
    pub ts_ecr: u32,
}

impl Receiver {
    /// [`Self::handle_data`] for a segment without flags and congestion mark that is full and in
    /// order, where the fast path applies. Otherwise changes nothing and returns false.
    #[inline(always)]
    pub fn handle_full_segment(
        &mut self,
        now: Instant,
        seq: u64,
        len: u32,
        ts_val: u32,
        ts_ecr: u32,
    ) -> bool {
        let full = u64::from(len);
        let end = seq + full;
        if seq != self.rcv_nxt
            || len != self.rcv_mss
            || now >= self.fast_until
            || self.window.ends_round(end)
            || now.saturating_since(self.last_data) > ATO_MIN / 2
        {
            return false;
        }
        self.stats.segments_received += 1;
        if seq == self.window.advertised_at() && ts_val.wrapping_sub(self.ts_recent) as i32 >= 0 {
            self.ts_recent = ts_val;
        }
        self.rcv_nxt = end;
        self.last_data = now;
        self.pending.scheduled = true;
        if self.window.is_new_echo(ts_ecr) {
            self.take_echo(now, ts_ecr);
        }
        if self.window.grow(full, full, full) {
            self.quick |= 1;
        }
        if self.quick > 0 || self.unacknowledged() > full {
            self.pending.now = true;
        } else {
            if self.delayed_ack_at == Instant::MAX {
                self.delayed_ack_at = now + ATO_MIN;
            } else {
                self.delay_ack(now);
            }
            if self.window.is_half_used(end) {
                self.decide_after_read();
            }
            self.pending.now |= self.policy == AckPolicy::EverySegment;
        }
        true
    }

    /// A full segment echoes another timestamp than the last one: measures the round trip.
    #[inline(never)]
    fn take_echo(&mut self, now: Instant, ts_ecr: u32) {
        self.window
            .measure_by_timestamp(timestamp(now), ts_ecr, true);
        self.window
            .on_read(now, self.rcv_nxt, u64::from(self.rcv_mss));
        self.fast_until = self.window.quiet_until();
    }

    /// [`Self::poll_ack`] for an ACK without SACK blocks and flags, where the fast path applies.
    /// `None`: there is no ACK, or [`Self::poll_ack`] returns it.
    #[inline]
    pub fn poll_plain_ack(&mut self, now: Instant) -> Option<PlainAck> {
        if !self.pending.now || self.fast_until == Instant::ZERO || self.echo_marks {
            return None;
        }
        let window = self
            .window
            .advertise(self.rcv_nxt, u64::from(self.rcv_mss), 0);
        // The ATO is at its minimum: leaving quick-ACK mode would set it to that.
        self.quick -= u32::from(self.quick > 0 && self.pending.scheduled);
        self.pending = Pending::default();
        self.delayed_ack_at = Instant::MAX;
        self.stats.acks_sent += 1;
        Some(PlainAck {
            ack: self.rcv_nxt,
            window,
            ts_val: timestamp(now),
            ts_ecr: self.ts_recent,
        })
    }

    /// The end of a segment in order on the general path: until when the fast path applies.
    pub(super) fn predict(&mut self) {
        let pending = &self.pending;
        let applies = self.ato == ATO_MIN
            && self.beyond.is_empty()
            && self.sacks.is_empty()
            && self.compressed == 0
            && self.early_ack.is_none()
            && self.end.is_none()
            && !(pending.pushed | pending.pushed_twice | pending.immediate | pending.syn_ack);
        if applies {
            self.fast_until = self.window.quiet_until();
        }
    }
}

#[cfg(test)]
mod tests;

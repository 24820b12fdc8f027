//! The fast path: a full segment in order while nothing is missing and nothing else is due (what
//! header prediction is in Linux), and the ACK that it causes.
//!
//! [`Receiver::handle_any_data`] and [`Receiver::poll_ack`] define what is right. The fast path
//! leaves out the questions whose answer is known in advance. It never defers a change: after each
//! segment and each ACK, the receiver is in the state in which the general path would have left it.
//!
//! ## When it applies
//!
//! While [`Receiver::is_clear`] is set, to segments of the largest size so far, in order, without
//! flags and congestion mark. The general path sets `is_clear` at the end of each segment in order
//! ([`Receiver::look_ahead`]) and withdraws it at the beginning of any other. While it is set:
//!
//! - No data lies beyond a hole. No SACK block is listed, no ACK is compressed, and no SYN-ACK or
//!   early ACK waits. The receiver complies. The buffer holds nothing but the segment itself, so the
//!   window that an ACK advertises depends on the space and the limit (`rcv_ssthresh`) only.
//! - The ACKs are not thinned. The stream has not ended. Neither a pushed nor a small segment waits for its ACK.
//! - Data has arrived before, so that the ATO is set and both round-trip measurements have begun.
//!
//! Neither an ACK, a timer nor a segment on the fast path can change any of this. (A pause, a timer
//! or a mark may change the number of quick ACKs, the ATO and the ECN echo. The fast path reads the
//! first two as they are, and leaves an ACK with an ECN echo to [`Receiver::poll_ack`].)
//!
//! ## Quiet stretches
//!
//! Between two known points, a segment does not change what the receiver has measured, so that the
//! counters, the limit and the decision to acknowledge remain. The stretch ends with the first
//! segment for which one of these holds:
//!
//! - It arrives at [`Receiver::quiet_until`] or later. A measured round trip ends with the first
//!   read the estimated RTT after the round trip began. `quiet_until` is this instant. Once the
//!   round trip is over, the space may rise with the first segment of a *later* instant, so
//!   `quiet_until` is the next nanosecond.
//! - It ends at `round_end` or beyond: the window that was advertised one round trip ago has
//!   arrived. Only such a segment moves `round_end`.
//! - It echoes a new timestamp, which changes the estimated RTT, and `quiet_until` with it.
//!
//! These segments take the same measurements as on the general path, in the same order
//! ([`Receiver::begin_full_segment`]). Within a stretch, the space stands still, and the limit rises
//! by two segments with each segment until it is one segment below the space. The ATO stands still
//! at its minimum while segments are at most half of it apart.
//!
//! ## What takes the general path
//!
//! Anything but a full segment in order; flags and congestion marks; full segments while data is
//! missing; and the segment after each of these.

use units::Instant;

use super::policy::ATO_MIN;
use super::{Pending, Receiver, SMALLEST_TO_GROW, timestamp};
use crate::AckPolicy;
use crate::segment::AckSegment;

/// An ACK without SACK blocks and flags ([`AckSegment`] describes the fields).
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

impl PlainAck {
    /// An ACK, if it has no SACK blocks, SYN and ECE.
    #[inline(always)]
    #[must_use]
    pub fn of(ack: &AckSegment) -> Option<Self> {
        if ack.ece || ack.syn || !ack.sack.is_empty() {
            return None;
        }
        Some(Self {
            ack: ack.ack,
            window: ack.window,
            ts_val: ack.ts_val,
            ts_ecr: ack.ts_ecr,
        })
    }
}

impl From<PlainAck> for AckSegment {
    fn from(plain: PlainAck) -> Self {
        Self {
            ack: plain.ack,
            window: plain.window,
            ts_val: plain.ts_val,
            ts_ecr: plain.ts_ecr,
            ..Self::default()
        }
    }
}

/// What is known of pairs of full segments that cause an ACK each.
#[derive(Clone, Copy, Debug)]
pub struct Pairs {
    len: u32,
    /// The window that each ACK advertises, unless the one before has promised more.
    window: u32,
    quiet_until: Instant,
}

impl Receiver {
    /// [`Self::handle_data`] for a segment without flags and congestion mark, where the fast path
    /// applies. Otherwise changes nothing and returns false.
    #[inline(always)]
    pub fn handle_full_segment(
        &mut self,
        now: Instant,
        seq: u64,
        len: u32,
        ts_val: u32,
        ts_ecr: u32,
    ) -> bool {
        let is_full = self.begin_full_segment(now, seq, len, ts_ecr);
        if is_full {
            self.take_full_segment(now, len, ts_val);
        }
        is_full
    }

    /// The first half of [`Self::handle_full_segment`], which measures. Where it returns true, the second
    /// half is [`Self::take_full_segment`], or [`Self::take_pair`] of this segment and the next one.
    #[inline(always)]
    pub fn begin_full_segment(&mut self, now: Instant, seq: u64, len: u32, ts_ecr: u32) -> bool {
        if seq != self.rcv_nxt || len != self.rcv_mss || !self.is_clear {
            return false;
        }
        if now >= self.quiet_until
            || self.window.ends_round(seq + u64::from(len))
            || self.window.is_new_echo(ts_ecr)
            || now.saturating_since(self.last_data) > ATO_MIN / 2
            || self.ato != ATO_MIN
        {
            self.measure_full_segment(now, len, ts_ecr);
        }
        true
    }

    /// Whether the next two full segments, from `seq` on, may cause one ACK that is known in advance, and
    /// what is known of it. Nothing but [`Self::take_pair`] may change the receiver while that is used.
    #[inline(always)]
    pub fn expect_pairs(&self, seq: u64, len: u32, ts_ecr: u32) -> Option<Pairs> {
        let window = &self.window;
        let is_due = seq == self.rcv_nxt
            && len == self.rcv_mss
            && self.is_clear
            && !self.pending.now
            && self.quick == 0
            && !self.echo_marks
            && self.ato == ATO_MIN
            && self.delayed_ack_at == Instant::MAX
            && self.policy == AckPolicy::Delayed
            && window.advertised_at() == seq
            && !window.is_new_echo(ts_ecr)
            && !window.grows();
        is_due.then(|| Pairs {
            len,
            window: window.candidate(len, 0),
            quiet_until: self.quiet_until,
        })
    }

    /// The next two full segments without flags and congestion mark arrive at `first` and at `second`,
    /// within a quiet stretch: returns their ACK. Otherwise changes nothing and returns `None`.
    ///
    /// It is two calls of [`Self::handle_full_segment`], and [`Self::poll_plain_ack`] after the second.
    /// The timer that the first one would start is the one that the ACK stops.
    #[inline(always)]
    pub fn take_pair(
        &mut self,
        pairs: &Pairs,
        (first, second): (Instant, Instant),
        ts_val: u32,
    ) -> Option<PlainAck> {
        let full = u64::from(pairs.len);
        let end = self.rcv_nxt + 2 * full;
        if second >= pairs.quiet_until
            || self.window.ends_round(end)
            || self.window.is_half_used(self.rcv_nxt + full)
            || first.saturating_since(self.last_data) > ATO_MIN / 2
            || second.saturating_since(first) > ATO_MIN / 2
        {
            return None;
        }
        self.stats.segments_received += 2;
        if ts_val.wrapping_sub(self.ts_recent) as i32 >= 0 {
            self.ts_recent = ts_val;
        }
        self.rcv_nxt = end;
        self.last_data = second;
        self.pending = Pending::default();
        self.stats.acks_sent += 1;
        Some(PlainAck {
            ack: end,
            window: self.window.advertise_candidate(end, pairs.window),
            ts_val: timestamp(second),
            ts_ecr: self.ts_recent,
        })
    }

    /// A full segment beyond a quiet stretch. (Out of line, so that the code within a stretch makes
    /// no calls.)
    #[inline(never)]
    fn measure_full_segment(&mut self, now: Instant, len: u32, ts_ecr: u32) {
        let full = u64::from(len);
        let end = self.rcv_nxt + full;
        let window = &mut self.window;
        window.settle(now, self.rcv_nxt, full, || 0);
        window.measure_by_window(now, end);
        window.measure_by_timestamp(timestamp(now), ts_ecr, true);
        window.on_read(now, end, 0);
        self.quiet_until = window.quiet_until();
        self.adapt_ato(now.saturating_since(self.last_data));
    }

    /// The second half of [`Self::handle_full_segment`]: what each full segment changes.
    #[inline(always)]
    pub fn take_full_segment(&mut self, now: Instant, len: u32, ts_val: u32) {
        let full = u64::from(len);
        self.stats.segments_received += 1;
        let is_newer = ts_val.wrapping_sub(self.ts_recent) as i32 >= 0;
        if self.rcv_nxt == self.window.advertised_at() && is_newer {
            self.ts_recent = ts_val;
        }
        self.rcv_nxt += full;
        self.last_data = now;
        self.pending.scheduled = true;
        if self.window.grow_by_full(len) {
            self.quick |= 1;
        }
        if self.acks_quickly() || self.unacknowledged() > full {
            self.pending.now = true;
            return;
        }
        if self.delayed_ack_at == Instant::MAX && self.ato == ATO_MIN {
            self.delayed_ack_at = self.tick.expiry(now, ATO_MIN);
        } else {
            self.delay_ack(now);
        }
        if self.window.is_half_used(self.rcv_nxt) {
            self.decide_after_read();
        }
        self.pending.now |= self.policy == AckPolicy::EverySegment;
    }

    /// [`Self::poll_ack`] for an ACK without SACK blocks and flags, where the fast path applies.
    /// `None`: there is no ACK, or [`Self::poll_ack`] returns it.
    #[inline]
    pub fn poll_plain_ack(&mut self, now: Instant) -> Option<PlainAck> {
        if !self.pending.now || !self.is_clear || self.echo_marks {
            return None;
        }
        let window = self.window.advertise(self.rcv_nxt, self.rcv_mss, 0);
        if self.quick > 0 && self.pending.scheduled {
            self.use_quick_ack();
        }
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

    /// The end of a segment in order on the general path: whether the fast path takes the next one.
    pub(super) fn look_ahead(&mut self, headers: u64) {
        let pending = &self.pending;
        self.is_clear = self.reads_at_once()
            && self.marks.is_none()
            && self.beyond.is_empty()
            && self.sacks.is_empty()
            && self.compressed == 0
            && self.aside.is_none()
            && self.last_small == 0
            && self.thinned_to().is_none()
            && self.end == u64::MAX
            && !(pending.pushed | pending.pushed_twice | pending.immediate | pending.syn_ack);
        self.quiet_until = self.window.quiet_until();
        let full = u64::from(self.rcv_mss);
        let memory = self.window.memory_of(full, headers);
        let grows = self.rcv_mss >= SMALLEST_TO_GROW;
        self.window.expect_full(full, memory, grows);
    }
}

#[cfg(test)]
mod tests;

//! The shortcut of a burst of new data: its segments leave in one step.
//!
//! The segments of a burst leave at the same time without further checks, so they differ only in
//! their sequence number, unless the first carries CWR, or one of them ends the stream (PSH, FIN)
//! or is partial. Those leave one by one, and so do the segments of a start-up that changes window
//! and pacing as segments leave, the segments that carry requests to routers, retransmissions and
//! probes. Every other burst takes the shortcut, in any state, with any congestion control, paced
//! or not, with or without small queues.
//!
//! It is exact, because only four things count segments: the scoreboard, the counters, the
//! congestion control, and the pacer. All segments of a burst get the same stamp, since the rate
//! estimator changes only with the first of them, and only that one can find nothing in flight. The
//! pacer computes when the next burst may leave from the bytes of the whole burst.
//!
//! After a burst or a segment that used up the windows or the data, nothing more can leave at this
//! time, so the pass ends at once and not with the next call. Nor can a lost segment leave without a
//! window, so a pass that begins without one ends at once, too.
//!
//! The tests of `shortcuts_tests.rs` compare each burst with the segments of [`Sender::poll_transmit`].

use congestion::{CongestionControl, Phase, Sent};
use units::Instant;

use super::Sender;
use super::transmit::Choice;
use crate::rack::timestamp;
use crate::retransmission_timer::Timer;
use crate::segment::{Burst, DataSegment, FullSegments};

impl Sender {
    /// The next segments that leave at `now`, or `None` if no more may leave. They are those of
    /// [`Self::poll_transmit`], several at once where they are alike.
    #[inline(always)]
    pub fn poll_burst(&mut self, now: Instant) -> Option<Burst> {
        if self.pass.is_over() {
            return None;
        }
        if !self.pass.has_new_burst()
            && let Some(segment) = self.choose_burst(now)?
        {
            return Some(Burst::Single(segment));
        }
        let count = self.alike();
        if count <= 1 {
            return Some(Burst::Single(self.send_single(now)));
        }
        self.pass.take_segments(count);
        let full = self.send_many(now, count);
        self.end_exhausted_pass(now);
        Some(Burst::Full(full))
    }

    /// Decides what leaves next: a segment, or a burst of new data, which has begun if there is no
    /// segment. `None`: nothing more leaves.
    #[inline(never)]
    fn choose_burst(&mut self, now: Instant) -> Option<Option<DataSegment>> {
        if self.sends_only_new() {
            self.pacer.unblock();
            if self.begin_burst(now) {
                return Some(None);
            }
            self.end_pass(now);
            return None;
        }
        match self.choose(now) {
            Choice::New => Some(None),
            Choice::Nothing => None,
            Choice::Segment(segment) => {
                self.end_exhausted_pass(now);
                Some(Some(segment))
            }
        }
    }

    /// The next segment of a burst of new data.
    #[inline(never)]
    fn send_single(&mut self, now: Instant) -> DataSegment {
        self.pass.take_segment();
        let segment = self.send_new(now);
        self.end_exhausted_pass(now);
        segment
    }

    /// Whether [`Self::poll_burst`] may return anything after an ordinary ACK. If not, the pass that the
    /// ACK has begun is over.
    #[inline(always)]
    pub fn begins_burst_after_ack(&mut self, now: Instant) -> bool {
        if !self.sends_only_new() {
            return true;
        }
        self.pacer.unblock();
        let begins = self.begin_burst(now);
        if !begins {
            self.end_pass_here(now);
        }
        begins
    }

    /// Whether nothing but new data may leave, so that [`Self::choose`] would ask only for that. A
    /// lost segment needs a window.
    #[inline]
    fn sends_only_new(&self) -> bool {
        self.shortcuts.bursts
            && !self.repair.is_under_way()
            && (!self.board.has_pending() || !self.has_cwnd_left())
    }

    /// Ends the pass if the next call would only do that.
    #[inline]
    fn end_exhausted_pass(&mut self, now: Instant) {
        if !self.pass.has_new_burst() && self.is_exhausted() {
            self.pacer.unblock();
            self.end_pass(now);
        }
    }

    /// How many of the burst's remaining segments are alike.
    #[inline]
    fn alike(&self) -> u32 {
        if !self.shortcuts.bursts || self.ecn.is_cwr_due() {
            return 1;
        }
        let left = self.pass.left();
        let unsent = self.unsent();
        let usable = self.peer_window.usable(self.snd_nxt);
        let bytes = u64::from(left) * self.smss();
        let packet = match &self.portions {
            Some(portions) => usable.min(portions.head_len(self.snd_nxt)),
            None => usable,
        };
        if bytes < unsent && bytes <= packet {
            left
        } else {
            ((unsent - 1).min(packet) / self.smss()) as u32
        }
    }

    /// Whether the next call would only end the pass.
    #[inline]
    fn is_exhausted(&self) -> bool {
        // A packet that does not fit into the peer's window may still grow.
        let nothing_fits = !self.has_portions() && !self.can_send_new();
        self.sends_only_new() && (!self.has_cwnd_left() || nothing_fits)
    }

    /// `count` full segments, as by [`Self::send_new`].
    #[inline]
    fn send_many(&mut self, now: Instant, count: u32) -> FullSegments {
        let nothing_out = self.board.is_empty();
        let in_flight = self.bytes_in_flight();
        let stamp = self.rate.on_sent(now, nothing_out);
        let seq = self.snd_nxt;
        let len = self.config.smss;
        let bytes = u64::from(len) * u64::from(count);
        self.board.push_many(seq, len as u16, count, now, &stamp);
        self.snd_nxt += bytes;
        self.pass.on_new_segments(count);
        let is_probing = matches!(self.phase, Phase::Open | Phase::Cwr);
        if nothing_out || !is_probing && self.timer.is_armed_for(Timer::LossProbe) {
            self.rearm_rto(now);
        }
        let first = Sent {
            now,
            size: self.size(1),
            in_flight,
            snd_nxt: seq + u64::from(len),
            retransmission: false,
            idle_since: in_flight.is_zero().then_some(self.validation.last_sent()),
            app_limited: stamp.app_limited,
        };
        self.cc.on_sent_burst(&first, count);
        self.pacer
            .on_sent_burst(u64::from(len), self.stats.segments_sent, count);
        self.stats.segments_sent += u64::from(count);
        self.stats.bytes_sent += bytes;
        self.validation.on_sent(now);
        FullSegments {
            seq,
            len,
            count,
            ts_val: timestamp(now),
            ts_ecr: self.ts_recent,
        }
    }
}

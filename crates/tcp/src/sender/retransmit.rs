//! Retransmissions and forced transmissions: lost segments (RFC 5681, section 3.2; Linux 6.12
//! `tcp_xmit_retransmit_queue`), segments that a timer forces, and a start-up's copies.

use units::Instant;

use super::Sender;
use crate::rack::timestamp;
use crate::repair::{Forced, Retransmit};
use crate::retransmission_timer::Timer;
use crate::scoreboard::{LOST, SACKED};
use crate::segment::DataSegment;

impl Sender {
    pub(super) fn transmit_forced(&mut self, now: Instant, forced: Forced) -> Option<DataSegment> {
        match forced {
            Forced::Head if !self.board.is_empty() => {
                Some(self.retransmit(now, self.board.base(), false))
            }
            Forced::LossProbe if !self.board.is_empty() => {
                // RFC8985-7.3a
                let is_retransmission = !self.can_send_new();
                let last = self.board.next() - 1;
                let segment = if is_retransmission && self.lies_beyond_window(last) {
                    return None;
                } else if is_retransmission {
                    self.pass.ask_nothing();
                    self.retransmit(now, last, true)
                } else {
                    self.grow_packet();
                    let segment = self.send_new(now);
                    self.pass.forget_sent();
                    segment
                };
                self.stats.tlp_probes += 1;
                self.tlp.on_sent(self.snd_nxt, is_retransmission);
                Some(segment)
            }
            Forced::WindowProbe if self.unsent() > 0 => self.transmit_window_probe(now),
            Forced::Copy => self.transmit_copy(now),
            _ => None,
        }
    }

    /// A copy of the last segment that has no copy, was not delivered and is not lost. It counts as
    /// a probe: not in flight, and no sign of loss.
    fn transmit_copy(&mut self, now: Instant) -> Option<DataSegment> {
        while let Some(index) = self.repair.next_copy(self.board.base(), self.board.next()) {
            if !self.board.slot(index).has(SACKED | LOST) {
                return Some(self.retransmit(now, index, true));
            }
        }
        None
    }

    /// Linux `tcp_write_wakeup`: data that fits into the window, or else a segment without data
    /// that the receiver answers.
    fn transmit_window_probe(&mut self, now: Instant) -> Option<DataSegment> {
        let left = self.peer_window.usable(self.snd_nxt);
        if left > 0 {
            let len = left.min(self.unsent()).min(self.smss()) as u16;
            return Some(self.send_new_of(now, len));
        }
        Some(DataSegment {
            seq: self.snd_una,
            len: 0,
            ts_val: timestamp(now),
            ts_ecr: self.ts_recent,
            syn: false,
            fin: false,
            psh: false,
            cwr: false,
            retransmission: false,
        })
    }

    /// The lowest lost segment. None leaves while as many retransmissions are in flight as segments
    /// are lost (`tcp_xmit_retransmit_queue`): after an undone timeout, that of a segment which is lost
    /// no more counts, too.
    pub(super) fn transmit_lost(&mut self, now: Instant) -> Option<DataSegment> {
        if self.board.retrans_out() >= self.board.lost_out() {
            return None;
        }
        if !self.has_cwnd_left() || !self.may_begin_burst(now) {
            return None;
        }
        if self.config.small_queue.is_some() && self.is_device_full(1, 1) {
            return None;
        }
        let index = self.board.next_pending()?;
        if self.lies_beyond_window(index) {
            return None;
        }
        if !self.pass.has_burst() {
            let full = self.full_burst();
            let burst = if self.pacer.is_on() {
                self.board.pending_run(index, full)
            } else {
                full
            };
            self.pass.begin_retransmissions(burst);
            self.pacer.begin(now);
        }
        self.pass.take_segment();
        let is_head = index == self.board.base();
        let segment = self.retransmit(now, index, false);
        if is_head && !self.timer.is_armed_for(Timer::Reordering) && !self.is_impatient() {
            self.arm_after_pacing(now, self.timer.rto(), Timer::Retransmission);
        }
        Some(segment)
    }

    /// Whether the receiver has shrunk its window so that the segment begins beyond it. The lowest
    /// segment is retransmitted all the same, as a probe of the window.
    fn lies_beyond_window(&self, index: u64) -> bool {
        index != self.board.base() && self.peer_window.usable(self.board.slot(index).seq) == 0
    }

    /// Splits a segment where a window ends that the receiver has shrunk. Returns the number of the
    /// part that fits, or else of the whole segment.
    fn trim(&mut self, index: u64) -> u64 {
        let segment = self.board.slot(index);
        let room = self.peer_window.usable(segment.seq);
        if room == 0 || room >= u64::from(segment.len) {
            return index;
        }
        let packet = (self.smss() as u16, self.full_burst());
        index - u64::from(self.board.split(index, room as u16, packet))
    }

    /// Joins to a short segment those after it that fit into one of full size and into the peer's window
    /// (Linux `tcp_retrans_try_collapse`). Returns the number of the whole.
    #[cold]
    #[inline(never)]
    fn join(&mut self, mut index: u64) -> u64 {
        while index + 1 < self.board.next() {
            let (first, second) = (*self.board.slot(index), *self.board.slot(index + 1));
            let room = self.peer_window.usable(second.seq);
            if second.end() - first.seq > self.smss()
                || u64::from(second.len) > room
                || self.stream.ends_at(second.end())
            {
                break;
            }
            match self.board.join_next(index, self.config.sack) {
                Some(whole) => index = whole,
                None => break,
            }
        }
        index
    }

    /// F-RTO step 2.b: retransmits a lost segment if no new data could be sent.
    pub(super) fn transmit_instead_of_new(&mut self, now: Instant) -> Option<DataSegment> {
        if self.snd_nxt > self.high_seq || self.pacer.is_blocked() {
            return None;
        }
        self.frto.decide();
        self.repair.allow(Retransmit::Lost);
        self.transmit_lost(now)
    }

    /// Linux `tcp_retransmit_skb`.
    #[inline(never)]
    fn retransmit(&mut self, now: Instant, index: u64, probe: bool) -> DataSegment {
        let mut index = self.trim(index);
        if u64::from(self.board.slot(index).len) < self.smss() {
            index = self.join(index);
        }
        let in_flight = self.bytes_in_flight();
        let stamp = self.rate.on_sent(now, self.board.is_empty());
        self.board.retransmit(index, now, stamp, probe);
        if !probe {
            self.undo.on_retransmit(timestamp(now));
        }
        self.stats.segments_retransmitted += 1;
        let segment = *self.board.slot(index);
        let payload = u32::from(segment.len) - self.stream.fin_below(segment.end());
        self.after_sending(now, payload, in_flight, stamp.app_limited, true);
        DataSegment {
            seq: segment.seq,
            len: payload,
            ts_val: timestamp(now),
            ts_ecr: self.ts_recent,
            syn: false,
            fin: self.stream.ends_at(segment.end()),
            psh: segment.end() == self.stream.written(),
            cwr: false,
            retransmission: true,
        }
    }
}

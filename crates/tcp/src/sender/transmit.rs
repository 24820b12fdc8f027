//! Which segments leave, and when (Linux 6.12 `tcp_write_xmit`).

use congestion::{CongestionControl, Phase, Sent};
use units::Instant;

use super::Sender;
use crate::burst::{Deferral, LEAST_SEGMENTS};
use crate::device::small_queue;
use crate::pass::{Ended, Limit};
use crate::rack::timestamp;
use crate::repair::Retransmit;
use crate::retransmission_timer::Timer;
use crate::segment::{DataSegment, HEADER_BYTES};

/// What leaves next.
pub(super) enum Choice {
    Nothing,
    /// New data of a burst.
    New,
    Segment(DataSegment),
}

impl Sender {
    /// The next segment that leaves at `now`, or `None` if no more may leave.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<DataSegment> {
        if self.pass.is_over() {
            return None;
        }
        if !self.pass.has_new_burst() {
            match self.choose(now) {
                Choice::New => {}
                Choice::Nothing => return None,
                Choice::Segment(segment) => return Some(segment),
            }
        }
        self.pass.take_segment();
        Some(self.send_new(now))
    }

    /// Decides what leaves next. If this is new data, a burst of it has begun.
    pub(super) fn choose(&mut self, now: Instant) -> Choice {
        if !self.handshake.is_established() {
            return self
                .transmit_syn(now)
                .map_or(Choice::Nothing, Choice::Segment);
        }
        loop {
            self.pacer.unblock();
            if let Some(forced) = self.repair.take_forced()
                && let Some(segment) = self.transmit_forced(now, forced)
            {
                return Choice::Segment(segment);
            }
            if self.repair.allows(Retransmit::Lost)
                && self.board.has_pending()
                && let Some(segment) = self.transmit_lost(now)
            {
                return Choice::Segment(segment);
            }
            if self.begin_burst(now) {
                return Choice::New;
            }
            if self.repair.allows(Retransmit::AfterNew)
                && let Some(segment) = self.transmit_instead_of_new(now)
            {
                return Choice::Segment(segment);
            }
            self.end_pass(now);
            if !self.queue_portion() {
                return Choice::Nothing;
            }
        }
    }

    fn transmit_syn(&mut self, now: Instant) -> Option<DataSegment> {
        if !self.handshake.take_syn() {
            return None;
        }
        Some(DataSegment {
            seq: 0,
            len: 0,
            ts_val: timestamp(now),
            ts_ecr: 0,
            syn: true,
            fin: false,
            psh: false,
            cwr: false,
            retransmission: self.stats.syn_retransmitted > 0,
        })
    }

    /// Bytes that the application has written and that were never sent.
    pub(super) const fn unsent(&self) -> u64 {
        self.stream.end() - self.snd_nxt
    }

    /// The end of the next new segment.
    pub(super) fn next_end(&self) -> u64 {
        self.snd_nxt + self.unsent().min(self.smss())
    }

    /// Whether there is new data that fits into the receive window.
    pub(super) fn can_send_new(&self) -> bool {
        self.unsent() > 0 && self.peer_window.holds(self.next_end())
    }

    /// Begins a burst of new data, as large as windows and data permit. Its segments follow without
    /// further checks. Returns false if nothing may be sent.
    #[inline(always)]
    pub(super) fn begin_burst(&mut self, now: Instant) -> bool {
        let unsent = self.unsent();
        let usable = self.peer_window.usable(self.snd_nxt);
        let left = self.cwnd_left();
        if unsent == 0 || left == 0 {
            return false;
        }
        if usable < unsent.min(self.smss()) {
            return self.has_portions() && self.begin_packet(now, (left, usable));
        }
        // A sender that never paces, with data in flight and a full segment to send: the general
        // decision without what cannot apply.
        if !self.shortcuts.unpaced || unsent < self.smss() || self.board.is_empty() {
            return self.begin_any_burst(now, (left, usable));
        }
        if self.has_portions() {
            return self.begin_full_packet(now, (left, usable));
        }
        let limit = self.sendable(left, unsent.min(usable));
        let full = self.full_burst.segments(
            self.pacer.quotient(),
            self.rtt.min(),
            self.smss(),
            (LEAST_SEGMENTS, self.config.tso_segments),
        );
        if limit < full && self.defers(now, full, (left, usable)) {
            return false;
        }
        let mut burst = limit.min(full);
        if usable < unsent {
            burst += self.part_at_end(burst, left.min(full), usable);
        }
        self.pass.begin_new(burst);
        true
    }

    /// The same for any sender with data to send, where the windows permit `left` segments and
    /// `usable` bytes.
    #[inline(never)]
    pub(super) fn begin_any_burst(&mut self, now: Instant, (mut left, usable): (u32, u64)) -> bool {
        let unsent = self.unsent();
        if self.board.is_empty() {
            self.restart_after_idle(now);
            left = self.cwnd_left();
        }
        if self.has_portions() {
            return self.begin_packet(now, (left, usable));
        }
        if unsent < self.smss() && self.nagle_holds() {
            return false;
        }
        if !self.pacer.may_begin(now) {
            return false;
        }
        let limit = self.sendable(left, unsent.min(usable));
        let mut burst = limit;
        if self.config.tso_segments > 1 {
            let full = self.full_burst();
            let steered = self.pacer.is_spread() && self.is_steered;
            if limit < full && !steered && self.defers(now, full, (left, usable)) {
                return false;
            }
            burst = limit.min(full);
            if usable < unsent || self.pacer.is_on() {
                burst += self.part_at_end(burst, left.min(full), usable.min(unsent));
            }
        } else if self.pacer.is_on() || self.config.small_queue.is_some() {
            // Each segment is a packet of its own, for which the pacer or the device is asked.
            burst = 1;
        }
        if self.pacer.is_on() {
            // A burst takes at most half of the window.
            burst = burst.min((self.cwnd.segments() / 2).max(1));
        }
        if self.config.small_queue.is_some() && self.is_device_full(burst, 0) {
            return false;
        }
        if self.pacer.is_on() {
            self.pacer.begin(now);
            self.board.end_packet();
        }
        self.pass.begin_new(burst);
        true
    }

    /// Linux `tcp_small_queue_check`: whether a burst of `segments` waits for the device. Each
    /// increment of `factor` doubles the device's limit.
    #[cold]
    #[inline(never)]
    pub(super) fn is_device_full(&mut self, segments: u32, factor: u32) -> bool {
        let Some(shift) = self.config.small_queue else {
            return false;
        };
        let bytes = u64::from(segments) * (self.smss() + u64::from(HEADER_BYTES));
        let limit = small_queue(self.pacer.rate(), shift, bytes, self.pacer.is_on()) << factor;
        self.device.throttle(limit, self.board.packets_out() > 1)
    }

    /// `bytes` of IP from this sender are queued in its device until [`Self::handle_transmitted`].
    /// For senders with small queues.
    pub fn handle_queued(&mut self, bytes: u64) {
        self.device.on_queued(bytes);
    }

    /// The device has sent `bytes` of IP.
    pub fn handle_transmitted(&mut self, bytes: u64) {
        if self.device.on_transmitted(bytes) {
            self.pass.resume();
        }
    }

    /// Whether the sender waits for its device.
    #[must_use]
    pub const fn is_throttled(&self) -> bool {
        self.device.is_throttled()
    }

    /// Segments of `bytes`, at most `left` and at least one.
    #[inline]
    fn sendable(&self, left: u32, bytes: u64) -> u32 {
        let smss = self.smss();
        if bytes >= smss * u64::from(left) {
            left
        } else {
            ((bytes / smss) as u32).max(1)
        }
    }

    /// Linux `tcp_mss_split_point`: 1 if the receive window or what was written, `usable` bytes, ends
    /// within a segment, and the part leaves as the end of a burst of `burst` full segments. At most
    /// `most` segments may leave, and at most half of the congestion window (`tcp_cwnd_test`).
    #[cold]
    #[inline(never)]
    fn part_at_end(&self, burst: u32, most: u32, usable: u64) -> u32 {
        let most = most.min((self.cwnd.segments() / 2).max(1));
        let is_held = self.holds_part();
        let ends_in_part = u64::from(burst) * self.smss() < usable;
        u32::from(burst < most && ends_in_part && !is_held)
    }

    /// Whether Nagle's rule holds a part of a segment back.
    pub(super) fn holds_part(&self) -> bool {
        !self.board.is_empty() && self.stream.nagle_holds_part(self.snd_una)
    }

    pub(super) fn may_begin_burst(&mut self, now: Instant) -> bool {
        self.pass.has_burst() || self.pacer.may_begin(now)
    }

    /// A partial segment waits while another one is in flight (Minshall's form of Nagle's rule,
    /// `tcp_nagle_check`), unless it is the last.
    pub(super) fn nagle_holds(&self) -> bool {
        !self.board.is_empty() && self.stream.nagle_holds(self.snd_una)
    }

    /// Segments of a full burst.
    #[inline]
    pub(super) fn full_burst(&mut self) -> u32 {
        if self.config.tso_segments == 1 {
            return 1;
        }
        let least = if self.pacer.is_on() {
            self.cc.least_burst_segments()
        } else {
            LEAST_SEGMENTS
        };
        self.full_burst.segments(
            self.pacer.quotient(),
            self.rtt.min(),
            self.smss(),
            (least, self.config.tso_segments),
        )
    }

    /// Linux `tcp_tso_should_defer`: whether less than a burst of `full` segments waits. The windows
    /// permit `left` segments and `usable` bytes. A single segment never waits here.
    #[inline(always)]
    fn defers(&mut self, now: Instant, full: u32, (left, usable): (u32, u64)) -> bool {
        self.defers_packet(now, full, (left, usable), (self.unsent(), true))
    }

    /// The same for a first packet of the queue with `unsent` bytes, which may be the last one.
    #[inline(always)]
    pub(super) fn defers_packet(
        &mut self,
        now: Instant,
        full: u32,
        (left, usable): (u32, u64),
        (unsent, is_last): (u64, bool),
    ) -> bool {
        if matches!(self.phase, Phase::Recovery | Phase::Loss) || unsent <= self.smss() {
            return false;
        }
        let permitted = u64::from(left) * self.smss();
        let deferral = Deferral {
            now,
            last_sent: self.pacer.clock(self.validation.last_sent()),
            limit: permitted.min(usable),
            window: self.window().cwnd.get().min(self.peer_window.advertised()),
            full: u64::from(full) * self.smss(),
            unsent,
            is_last,
            has_fin: is_last && self.stream.is_closed(),
            head_sent: self.board.head().map(|head| head.sent),
            srtt: self.rtt.srtt().unwrap_or_default(),
        };
        let waits = deferral.should_wait();
        if waits && permitted < usable && permitted <= unsent {
            self.pass.defer();
        }
        waits
    }

    #[inline]
    pub(super) fn send_new(&mut self, now: Instant) -> DataSegment {
        let usable = self.peer_window.usable(self.snd_nxt);
        let mut len = self.unsent().min(self.smss()).min(usable);
        if let Some(portions) = &self.portions {
            len = len.min(portions.head_len(self.snd_nxt));
        }
        self.send_new_of(now, len as u16)
    }

    /// Linux `tcp_event_new_data_sent`.
    #[inline]
    pub(super) fn send_new_of(&mut self, now: Instant, len: u16) -> DataSegment {
        let nothing_out = self.board.is_empty();
        let in_flight = self.bytes_in_flight();
        let stamp = self.rate.on_sent(now, nothing_out);
        let seq = self.snd_nxt;
        self.board.push(seq, len, now, stamp);
        self.snd_nxt += u64::from(len);
        if u64::from(len) < self.smss() {
            self.stream.on_small_segment(self.snd_nxt);
        }
        self.pass.on_new_segment();
        // In the states that probe, the end of the pass reschedules the probe.
        let is_probing = matches!(self.phase, Phase::Open | Phase::Cwr);
        if nothing_out || !is_probing && self.timer.is_armed_for(Timer::LossProbe) {
            self.rearm_rto(now);
        }
        let cwr = self.ecn.take_cwr();
        let (mut payload, mut fin, mut psh) = (u32::from(len), false, false);
        if self.snd_nxt == self.stream.end() {
            // The sequence number of a FIN that leaves alone is no payload.
            let fin_len = self.stream.fin_below(self.snd_nxt);
            payload -= fin_len;
            fin = self.stream.is_closed();
            psh = fin_len == 0;
        }
        self.after_sending(now, payload, in_flight, stamp.app_limited, false);
        DataSegment {
            seq,
            len: payload,
            ts_val: timestamp(now),
            ts_ecr: self.ts_recent,
            syn: false,
            fin,
            psh,
            cwr,
            retransmission: false,
        }
    }

    #[inline]
    pub(super) fn after_sending(
        &mut self,
        now: Instant,
        len: u32,
        in_flight: units::Bytes,
        app_limited: bool,
        retransmission: bool,
    ) {
        let sent = Sent {
            now,
            size: self.size(1),
            in_flight,
            snd_nxt: self.snd_nxt,
            retransmission,
            idle_since: in_flight.is_zero().then_some(self.validation.last_sent()),
            app_limited,
        };
        self.cc.on_sent(&sent);
        self.stats.segments_sent += 1;
        self.pacer.on_sent(u64::from(len), self.stats.segments_sent);
        self.stats.bytes_sent += u64::from(len);
        self.validation.on_sent(now);
        if self.is_steered {
            self.read_window();
            self.update_pacing_rate();
        }
    }

    /// Ends the pass: nothing more may leave (the end of `tcp_write_xmit`).
    #[inline(never)]
    pub(super) fn end_pass(&mut self, now: Instant) {
        self.end_pass_here(now);
    }

    /// The same in the code of its caller.
    #[inline(always)]
    pub(super) fn end_pass_here(&mut self, now: Instant) {
        let Ended {
            sent,
            limit,
            sets_timer,
        } = self.pass.end();
        // Without data to send, and where a timer retransmits, Linux does not call `tcp_write_xmit`:
        // the window limits nothing.
        let is_limited = limit == Limit::Deferred || !self.has_cwnd_left();
        if sent > 0 || is_limited && limit != Limit::Unasked && self.unsent() > 0 {
            self.validate_window(now, is_limited);
        }
        if sent > 0 || sets_timer {
            if self.schedule_probe(now, sent == 0) {
                return;
            }
            if sets_timer {
                self.rearm_rto(now);
            }
        }
        if self.board.is_empty() {
            self.rest(now);
        }
    }

    /// Nothing is in flight after a pass: another event may be far away.
    #[cold]
    fn rest(&mut self, now: Instant) {
        if self.unsent() > 0 {
            if !self.timer.is_armed() && !self.can_send_new() {
                self.timer.arm_window_probe(now);
            }
        } else if !self.stream.is_closed() {
            // A stream that is closed is over: the next connection takes the ring.
            self.board.rest();
        }
    }
}

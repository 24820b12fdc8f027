//! Processing of an ACK, from the scoreboard to the congestion control (Linux `tcp_ack`).

use congestion::rate_sample::{Newest, RateSample};
use congestion::{Ack, CongestionControl, Phase};
use units::{Bytes, Duration, Instant};

use super::Sender;
use crate::rack::RackContext;
use crate::round_trip::{RttSample, echoed_rtt};
use crate::scoreboard::Delivery;
use crate::segment::{AckSegment, MAX_SACK_BLOCKS};

/// What an ACK reports (Linux's `flag`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckFacts {
    pub(super) ack: u64,
    pub(super) prior_una: u64,
    pub(super) ts_ecr: u32,
    /// `FLAG_SND_UNA_ADVANCED`.
    pub(super) advanced: bool,
    /// `FLAG_WIN_UPDATE`.
    window_updated: bool,
    /// `FLAG_DATA`: the segment with the ACK carries data.
    has_data: bool,
    /// Segments acknowledged cumulatively (`FLAG_ACKED`), and newly SACKed (`FLAG_DATA_SACKED`).
    acked: u32,
    pub(super) sacked: u32,
    /// Duplicates that the receiver reports: unnecessary retransmissions that arrived.
    duplicates: u32,
    /// `FLAG_DSACKING_ACK`, `FLAG_DSACK_TLP`.
    dsack: bool,
    pub(super) dsack_of_probe: bool,
    /// `FLAG_ECE`.
    pub(super) ece: bool,
    /// `FLAG_ORIG_SACK_ACKED`.
    pub(super) original_before_high: bool,
    /// A duplicate ACK (`num_dupack`).
    pub(super) is_duplicate: bool,
    /// `FLAG_LOST_RETRANS`.
    pub(super) retransmission_lost: bool,
    pub(super) newly_lost: u32,
    /// This ACK lets F-RTO set the window (`frto_cwnd`).
    pub(super) holds_window: bool,
    /// Segments delivered by a duplicate ACK without SACK, so that it is unknown which ones.
    pub(super) delivered_unseen: u32,
    /// `FLAG_SET_XMIT_TIMER`.
    pub(super) sets_timer: bool,
}

impl AckFacts {
    /// The facts of the header, before the scoreboard is consulted.
    #[inline]
    fn new(ack: &AckSegment, prior_una: u64, ece: bool) -> Self {
        Self {
            ack: ack.ack,
            prior_una,
            ts_ecr: ack.ts_ecr,
            advanced: ack.ack > prior_una,
            ece,
            ..Self::default()
        }
    }

    /// `FLAG_NOT_DUP`.
    pub(super) const fn is_not_duplicate(&self) -> bool {
        self.window_updated || self.acked > 0 || self.has_data
    }

    /// Linux `tcp_ack_is_dubious`, outside its check of the state.
    const fn is_alarming(&self) -> bool {
        !self.is_not_duplicate() || self.sacked > 0 || self.ece || self.dsack
    }
}

impl Sender {
    /// `rides`: a data segment carries the ACK.
    pub(super) fn process_ack(&mut self, now: Instant, ack: &AckSegment, rides: bool) {
        if ack.ts_val != 0 {
            self.ts_recent = ack.ts_val;
        }
        let mut facts = AckFacts::new(ack, self.snd_una, self.ecn.is_echo(ack.ece));
        facts.has_data = rides;
        let context = RackContext {
            now,
            min_rtt: self.rtt.min().unwrap_or(Duration::MAX),
            ts_ecr: ack.ts_ecr,
            high_seq: self.high_seq,
        };
        let prior_packets = self.board.packets_out();
        let prior_in_flight = self.board.in_flight();
        let prior_fack = self.board.fack(self.snd_una);
        let prior_sacked = self.board.sacked_out() > 0;
        let mut delivery = Delivery::NONE;
        if ack.ack < self.snd_una {
            self.process_old_ack(now, ack, &context, &mut facts);
            return;
        }
        facts.window_updated = self.peer_window.update(ack.ack, ack.window, facts.advanced);
        self.snd_una = ack.ack;
        if facts.advanced {
            self.timer.on_progress();
            let fin = self.stream.fin_below(ack.ack);
            self.stats.bytes_acked += ack.ack - facts.prior_una - u64::from(fin);
        }
        if !ack.sack.is_empty() {
            self.read_sacks(ack, &context, &mut facts, &mut delivery);
            if facts.duplicates > 0 {
                self.rate.on_delivered(now, self.size(facts.duplicates));
            }
        }
        if prior_packets == 0 {
            self.process_ack_of_nothing(now, &mut facts);
            return;
        }
        self.take_deliveries(&context, &mut facts, &mut delivery);
        let newest = self.board.newest(&delivery);
        let maybe_delayed = !prior_sacked && self.may_be_delayed(&facts, &delivery, newest);
        let (latest_rtt, took_sample) = self.measure_rtt(now, &delivery, &facts, maybe_delayed);
        if delivery.acked > 0 {
            facts.sets_timer = true;
            if let Some(low) = delivery.lowest_acked.filter(|&low| low < prior_fack) {
                self.check_reordering(low);
            }
        } else if took_sample && self.precedes_head(&delivery) {
            facts.sets_timer = true;
        }

        let mut signal = Ack {
            delivered: self.size(delivery.delivered),
            prior_in_flight: self.size(prior_in_flight),
            advanced: facts.advanced,
            latest_rtt,
            ..self.signal(now)
        };
        if delivery.delivered > 0 {
            self.cc.on_delivery(&signal);
            self.read_window();
        }
        signal.delivered += self.size(facts.duplicates);
        if self.marks.is_some() {
            let delivered = delivery.delivered + facts.duplicates;
            self.read_marks(ack.ace, delivered, &mut facts);
        }
        self.rack.adapt(
            newest.map(|newest| newest.stamp.delivered),
            self.rate.delivered(),
        );
        if self.tlp.is_in_flight() {
            self.settle_probe(now, &facts);
        }
        if self.phase != Phase::Open || facts.is_alarming() {
            facts.is_duplicate = !(facts.advanced || facts.is_not_duplicate() || facts.dsack);
            self.react(now, &mut facts);
            signal.delivered += self.size(facts.delivered_unseen);
            signal.newly_lost = self.size(facts.newly_lost);
            signal.in_flight = self.bytes_in_flight();
            signal.phase = self.phase;
            // The window does not grow while F-RTO examines a timeout.
            signal.advanced &= !facts.holds_window;
        }
        if facts.sets_timer {
            self.restart_timer(now, &facts);
        }
        signal.rate = self.sample_rate(now, newest, maybe_delayed);
        signal.cwnd_limited = self.is_cwnd_limited();
        if !self.phase.is_reducing() && self.reordering.exceeds_expected() {
            signal.advanced = facts.advanced || delivery.delivered > 0;
        }
        if signal.advanced && !self.phase.is_reducing() {
            // Linux `tcp_cong_avoid`: the window was asked to grow, so it counts as in use.
            self.validation.on_window_change(now);
        }
        if !self.phase.is_reducing() {
            signal.delivered = self.credited(signal.delivered);
        }
        self.cc.on_ack(&signal);
        self.read_window();
        self.update_pacing_rate();
        if self.needs.copies && self.cc.sends_copies() {
            self.repair.force_copy();
        }
    }

    /// What the ACE field says. A congestion control that does not respond to each mark responds once
    /// per round trip, as to an ECN echo.
    #[inline(never)]
    fn read_marks(&mut self, field: u8, delivered: u32, facts: &mut AckFacts) {
        let Some(marks) = &mut self.marks else {
            return;
        };
        let marked = marks.read(field, delivered);
        if self.cc.reads_marks() {
            self.cc.on_marks(self.size(marked));
        } else {
            facts.ece = marked > 0;
        }
    }

    /// The segments that an ACK above `SND.UNA` acknowledges (Linux `tcp_clean_rtx_queue`).
    #[inline]
    fn take_deliveries(
        &mut self,
        context: &RackContext,
        facts: &mut AckFacts,
        delivery: &mut Delivery,
    ) {
        if facts.advanced {
            self.board
                .acknowledge(facts.ack, context, &mut self.rack, delivery);
            facts.acked = delivery.acked;
            if !self.config.sack {
                self.settle_duplicates(delivery);
            }
        }
        facts.original_before_high = delivery.original_before_high;
        if delivery.delivered > 0 {
            self.rate
                .on_delivered(context.now, self.size(delivery.delivered));
        }
    }

    /// Whether the receiver may have delayed the ACK (`FLAG_ACK_MAYBE_DELAYED`): it acknowledges
    /// one partial segment in order, with nothing delivered since the segment left.
    #[inline]
    fn may_be_delayed(
        &self,
        facts: &AckFacts,
        delivery: &Delivery,
        newest: Option<Newest>,
    ) -> bool {
        delivery.acked == 1
            && !facts.is_alarming()
            && facts.ack - facts.prior_una < self.smss()
            && newest.is_some_and(|newest| {
                newest.stamp.delivered + self.size(1) == self.rate.delivered()
            })
    }

    /// Restarts the retransmission timer at the end of the pass, unless there is a loss.
    #[inline]
    fn restart_timer(&mut self, now: Instant, facts: &AckFacts) {
        if self.phase == Phase::Open {
            self.pass.set_timer_at_end();
        } else if !self.keeps_timer(facts) {
            self.set_timer(now);
        }
    }

    /// Whether the SACKed data left before the last transmission of the head. Then the head is not
    /// overdue yet, and the timer restarts. Data sent after the head proves nothing; restarting for
    /// it would postpone the timeout forever.
    #[inline]
    fn precedes_head(&self, delivery: &Delivery) -> bool {
        delivery
            .sacked_sent
            .is_some_and(|(first, _)| self.board.head().is_some_and(|head| first < head.sent))
    }

    /// The state of the connection that is available at any time.
    #[inline]
    fn signal(&self, now: Instant) -> Ack {
        Ack {
            now,
            delivered: Bytes::ZERO,
            newly_lost: Bytes::ZERO,
            prior_in_flight: self.bytes_in_flight(),
            in_flight: self.bytes_in_flight(),
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            advanced: false,
            bytes_sent: self.stats.bytes_sent,
            latest_rtt: None,
            srtt: self.rtt.srtt().unwrap_or(Duration::ZERO),
            min_rtt: self.rtt.min().unwrap_or(Duration::ZERO),
            rate: None,
            cwnd_limited: self.is_cwnd_limited(),
            app_limited: self.rate.is_app_limited(),
            phase: self.phase,
            paced: self.pacer.is_on(),
            pacing_rate: self.pacer.rate(),
        }
    }

    /// A timer began a recovery. Deliveries clock a reduction, and Linux grants it one segment.
    pub(super) fn grant_one(&mut self, now: Instant, lost: u32) {
        let signal = Ack {
            delivered: self.size(1),
            newly_lost: self.size(lost),
            ..self.signal(now)
        };
        self.cc.on_ack(&signal);
        self.read_window();
    }

    pub(super) fn sample_rate(
        &mut self,
        now: Instant,
        newest: Option<Newest>,
        maybe_delayed: bool,
    ) -> Option<RateSample> {
        if !self.needs.rate_samples {
            self.rate.skip_sample(newest.map(|newest| newest.sent));
            return None;
        }
        let min_rtt = self.rtt.min().unwrap_or(Duration::ZERO);
        let lost = Bytes::new(self.stats.segments_lost * self.smss());
        self.rate.sample(now, newest, min_rtt, lost, maybe_delayed)
    }

    /// An ACK below `snd_una`, whose SACK blocks may still be new.
    fn process_old_ack(
        &mut self,
        now: Instant,
        ack: &AckSegment,
        context: &RackContext,
        facts: &mut AckFacts,
    ) {
        if ack.sack.is_empty() {
            return;
        }
        let mut delivery = Delivery::NONE;
        self.read_sacks(ack, context, facts, &mut delivery);
        if delivery.delivered > 0 {
            self.rate.on_delivered(now, self.size(delivery.delivered));
        }
        facts.original_before_high = delivery.original_before_high;
        // It is not a duplicate of the last ACK, and its congestion mark was echoed before.
        facts.ece = false;
        self.react(now, facts);
    }

    /// An ACK with nothing in flight.
    fn process_ack_of_nothing(&mut self, now: Instant, facts: &mut AckFacts) {
        if facts.dsack {
            self.react(now, facts);
        }
        // Linux `tcp_ack_probe`.
        if self.unsent() > 0 {
            if self.peer_window.holds(self.next_end()) {
                self.timer.on_window_open();
            } else {
                self.timer.arm_window_probe(now);
            }
        }
        if self.tlp.is_in_flight() {
            self.settle_probe(now, facts);
        }
    }

    /// Linux `tcp_sacktag_write_queue`.
    fn read_sacks(
        &mut self,
        ack: &AckSegment,
        context: &RackContext,
        facts: &mut AckFacts,
        delivery: &mut Delivery,
    ) {
        let mut blocks = [(0, 0); MAX_SACK_BLOCKS];
        let mut count = 0;
        let mut low = None;
        for (place, (start, end)) in ack.sack.iter(ack.ack).enumerate() {
            if place == 0 && is_dsack(ack, start, end) {
                low = self.take_dsack(start, end, facts);
            } else if end > self.snd_una && end <= self.snd_nxt && start < end {
                blocks[count] = (start, end);
                count += 1;
            }
        }
        blocks[..count].sort_unstable();
        for &(start, end) in &blocks[..count] {
            self.board
                .sack(start, end, context, &mut self.rack, delivery);
        }
        facts.sacked = delivery.sacked;
        if let Some(low) = low.into_iter().chain(delivery.reordered_sack).min()
            && (self.phase != Phase::Loss || self.undo.is_open())
        {
            self.check_reordering(low);
        }
    }

    /// Linux `tcp_dsack_seen`, `tcp_check_dsack` and the D-SACK part of `tcp_sacktag_one`. Returns
    /// the start of a segment that was SACKed before and has arrived again: its original was late.
    fn take_dsack(&mut self, start: u64, end: u64, facts: &mut AckFacts) -> Option<u64> {
        if start >= end || end > self.snd_nxt {
            return None;
        }
        let duplicates = u32::try_from((end - start).div_ceil(self.smss())).unwrap_or(u32::MAX);
        if duplicates == 1 && self.tlp.retransmits_up_to(end) {
            facts.dsack_of_probe = true;
        }
        self.stats.dsacks += u64::from(duplicates);
        // More duplicates than retransmissions: the network duplicates packets, so the report shows
        // nothing.
        if self.stats.dsacks > self.stats.segments_retransmitted {
            return None;
        }
        facts.dsack = true;
        if self.reordering.seen() > 0 && !facts.dsack_of_probe {
            self.rack.on_dsack();
        }
        // The duplicate may be a copy that the sender made, which undoes nothing.
        if self.repair.has_copies() {
            return None;
        }
        if !self.is_fack() {
            facts.duplicates = duplicates;
        }
        // The sender has forgotten the segments below the last ACK, so every duplicate counts. Above
        // it, only a segment that was retransmitted counts: the network made the other duplicates.
        if end <= facts.prior_una {
            self.undo.on_dsack(end, duplicates);
            return None;
        }
        let duplicate = self.board.take_duplicate(start.max(facts.prior_una), end);
        self.undo.on_dsack(end, duplicate.retransmitted);
        duplicate.low
    }

    /// The RTT samples of an ACK (Linux `tcp_ack_update_rtt`). The estimator takes that of the
    /// oldest segment, the congestion control that of the newest. Returns the latter, and whether
    /// there was a sample at all.
    fn measure_rtt(
        &mut self,
        now: Instant,
        delivery: &Delivery,
        facts: &AckFacts,
        maybe_delayed: bool,
    ) -> (Option<Duration>, bool) {
        let mut oldest = None;
        let mut newest = None;
        if let Some((first, last)) = delivery.acked_sent
            // RFC6298-3a
            && !delivery.retransmission_acked
        {
            oldest = Some(now.saturating_since(first));
            newest = Some(now.saturating_since(last));
        }
        if let Some((first, last)) = delivery.sacked_sent
            && !self.is_fack()
        {
            oldest = oldest.or(Some(now.saturating_since(first)));
            newest = Some(now.saturating_since(last));
        }
        if oldest.is_none() && facts.acked > 0 {
            oldest = echoed_rtt(now, facts.ts_ecr);
            newest = oldest;
        }
        let (Some(oldest), Some(newest)) = (oldest, newest) else {
            return (None, false);
        };
        self.take_rtt_sample(
            now,
            RttSample {
                oldest,
                newest,
                maybe_delayed,
            },
        );
        (Some(newest), true)
    }

    #[inline(never)]
    pub(super) fn take_rtt_sample(&mut self, now: Instant, sample: RttSample) {
        self.take_plain_sample(now, sample);
    }

    /// The same, for the shortcut.
    #[inline(always)]
    pub(super) fn take_plain_sample(&mut self, now: Instant, sample: RttSample) {
        let rto = self.rtt.on_sample(now, sample, self.snd_una, self.snd_nxt);
        self.timer.on_sample(rto);
    }

    /// Linux `tcp_is_cwnd_limited`.
    #[inline]
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.validation.is_cwnd_limited(&self.cwnd)
    }
}

/// RFC 2883: the first block, `start..end`, lies below the ACK, or inside the second.
fn is_dsack(ack: &AckSegment, start: u64, end: u64) -> bool {
    start < ack.ack
        || ack
            .sack
            .iter(ack.ack)
            .nth(1)
            .is_some_and(|(from, to)| from <= start && end <= to)
}

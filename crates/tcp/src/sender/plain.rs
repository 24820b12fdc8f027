//! The shortcut of an ordinary ACK: one that only reports that data has arrived, on a connection
//! where all is well.
//!
//! It applies to any congestion control, paced or not, of a connection with SACK and RACK, in the
//! state Open, without a probe in flight, with nothing SACKed, lost or retransmitted, if the ACK
//! carries neither SACK blocks nor an ECN echo and acknowledges whole segments, each of which was
//! sent once. (It excludes SYN-ACKs, connections without SACK, forward acknowledgment, old and
//! duplicate ACKs, and an ACK after one that ended inside a segment.)
//!
//! It is exact, because it is [`Sender::process_ack`] with these conditions inserted. The ACK is
//! neither a duplicate nor alarming (`tcp_ack_is_dubious`), so the state machine does not run, and
//! neither do loss detection and undo. No delivery came late, so there is no reordering. The newest
//! segment of the run stands for all of them in RACK and in the rate sample, because the ring is in
//! the order of transmission. What is left are the window, the round-trip time, the two calls of
//! the congestion control, and the pacing rate.
//!
//! CUBIC and Reno above slow start take both calls in one step (`ControlSlot::on_ordinary_ack`).
//! For all others, [`Sender::report_plain_run`] makes the whole report.
//!
//! The tests of `shortcuts_tests.rs` compare each of its results with those of the general code.

use congestion::{Ack, CongestionControl, OrdinaryAck, Phase};
use units::{Bytes, Duration, Instant, Rate};

use super::Sender;
use crate::receiver::PlainAck;
use crate::round_trip::RttSample;
use crate::scoreboard::PlainRun;
use crate::segment::AckSegment;

impl Sender {
    /// [`Self::handle_ack`] for an ACK without SACK blocks and flags, if it is an ordinary one. Otherwise
    /// it changes nothing and returns false.
    #[inline(always)]
    pub fn handle_ordinary_ack(&mut self, now: Instant, ack: &PlainAck) -> bool {
        let is_ordinary = self.process_ordinary_ack(now, ack);
        if is_ordinary {
            self.pass.begin();
        }
        is_ordinary
    }

    /// Processes an ordinary ACK. Returns false, and changes nothing, if it is not one.
    #[inline]
    pub(super) fn process_plain_ack(&mut self, now: Instant, ack: &AckSegment) -> bool {
        let plain = PlainAck::of(ack);
        plain.is_some_and(|plain| self.process_ordinary_ack(now, &plain))
    }

    /// The same for an ACK without SACK blocks and flags.
    #[inline(always)]
    pub(super) fn process_ordinary_ack(&mut self, now: Instant, ack: &PlainAck) -> bool {
        if !self.shortcuts.acks || self.phase != Phase::Open || self.tlp.is_in_flight() {
            return false;
        }
        let prior_packets = self.board.packets_out();
        let Some(run) = self.board.take_plain(self.snd_una, ack.ack) else {
            return false;
        };
        self.take_plain_run(now, ack, &run, prior_packets);
        true
    }

    #[inline(always)]
    fn take_plain_run(&mut self, now: Instant, ack: &PlainAck, run: &PlainRun, prior_packets: u32) {
        if ack.ts_val != 0 {
            self.ts_recent = ack.ts_val;
        }
        self.peer_window.update(ack.ack, ack.window, true);
        let bytes = ack.ack - self.snd_una;
        self.snd_una = ack.ack;
        self.timer.on_progress();
        self.stats.bytes_acked += bytes;
        self.rack.on_original_acked(run.turn, now);
        let delivered = self.size(run.count);
        self.rate.on_delivered(now, delivered);
        let newest_delivered = run.delivered;
        let maybe_delayed = run.count == 1
            && bytes < self.smss()
            && newest_delivered + self.size(1) == self.rate.delivered();
        let newest_rtt = now.saturating_since(run.turn.sent);
        self.take_plain_sample(
            now,
            RttSample {
                oldest: now.saturating_since(run.oldest_sent),
                newest: newest_rtt,
                maybe_delayed,
            },
        );
        self.rack
            .adapt(Some(newest_delivered), self.rate.delivered());
        self.pass.set_timer_at_end();
        self.validation.on_window_change(now);
        let ordinary = OrdinaryAck {
            now,
            delivered: self.credited(delivered),
            rtt: newest_rtt,
            cwnd_limited: self.is_cwnd_limited(),
        };
        let growth = self.cc.on_ordinary_ack(&ordinary);
        if growth.is_some() {
            // A common congestion control reads no rate samples.
            self.rate.skip_sample(Some(run.turn.sent));
        } else {
            let (newest, count) = (run.newest, run.count);
            self.report_plain_run(now, (newest, count), prior_packets, maybe_delayed);
        }
        if growth != Some(Bytes::ZERO) {
            self.read_window();
        }
        self.update_pacing_rate();
        if self.needs.copies && self.cc.sends_copies() {
            self.repair.force_copy();
        }
    }

    /// What may be credited of that which an ACK delivered.
    #[inline]
    pub(super) fn credited(&self, delivered: Bytes) -> Bytes {
        if self.config.byte_counting {
            delivered
        } else {
            delivered.min(self.size(1))
        }
    }

    /// Reports an ordinary ACK of `count` segments up to `newest`, which have just left the ring, to any
    /// congestion control.
    #[inline(never)]
    fn report_plain_run(
        &mut self,
        now: Instant,
        (newest, count): (u64, u32),
        prior_packets: u32,
        maybe_delayed: bool,
    ) {
        let segment = *self.board.slot(newest);
        let mut signal = Ack {
            now,
            delivered: self.size(count),
            newly_lost: Bytes::ZERO,
            prior_in_flight: self.size(prior_packets),
            in_flight: self.size(self.board.packets_out()),
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            advanced: true,
            bytes_sent: self.stats.bytes_sent,
            latest_rtt: Some(now.saturating_since(segment.sent)),
            srtt: self.rtt.srtt().unwrap_or(Duration::ZERO),
            min_rtt: self.rtt.min().unwrap_or(Duration::ZERO),
            rate: None,
            cwnd_limited: self.is_cwnd_limited(),
            app_limited: self.rate.is_app_limited(),
            phase: Phase::Open,
            paced: self.pacer.is_on(),
            pacing_rate: if self.needs.pacing_rate {
                self.pacer.rate()
            } else {
                Rate::MAX
            },
        };
        self.cc.on_delivery(&signal);
        if self.window().in_slow_start() {
            self.read_window();
            signal.cwnd_limited = self.is_cwnd_limited();
        }
        if self.needs.rate_samples {
            let newest = self.board.newest_of(newest, &segment, segment.sent);
            signal.rate = self.sample_rate(now, Some(newest), maybe_delayed);
        } else {
            self.rate.skip_sample(Some(segment.sent));
        }
        signal.delivered = self.credited(signal.delivered);
        self.cc.on_ack(&signal);
    }
}

//! When the receiver acknowledges: at once, with the next segment, after a delay, or compressed.
//! While ACKs are [thinned](super::thinning), after as many segments as that says.
//!
//! Linux 6.18 `tcp_event_data_recv`, `__tcp_ack_snd_check`, `tcp_send_delayed_ack` and
//! `tcp_cleanup_rbuf`; RFC 5681 section 4.2.

use units::{Duration, Instant};

use super::Receiver;
use crate::accecn::MarkCounter;

/// `TCP_MAX_QUICKACKS`.
pub(super) const QUICK_ACKS: u32 = 16;
/// Quick ACKs after a congestion mark (`__tcp_ecn_check_ce`).
const QUICK_ACKS_AFTER_MARK: u32 = 2;
/// `TCP_ATO_MIN` and `TCP_DELACK_MIN`: HZ / 25.
pub(super) const ATO_MIN: Duration = Duration::from_millis(40);
/// `TCP_DELACK_MAX`: HZ / 5.
const DELAYED_ACK_MAX: Duration = Duration::from_millis(200);
/// The shortest tick of Linux, with 1,000 Hz.
const SHORTEST_TICK: Duration = Duration::from_millis(1);
/// Duplicate ACKs before SACK compression begins (`TCP_FASTRETRANS_THRESH`).
pub(super) const UNCOMPRESSED_DUPLICATES: u8 = 3;
/// Largest delay of a compressed ACK (`tcp_comp_sack_delay_ns`).
const COMPRESSION_DELAY: Duration = Duration::from_millis(1);
/// Most ACKs that are compressed into one (`tcp_comp_sack_nr`).
pub(super) const COMPRESSION_LIMIT: u8 = 44;

impl Receiver {
    /// The delayed-ACK timeout follows the time between segments.
    pub(super) fn adapt_ato(&mut self, gap: Duration) {
        if gap <= ATO_MIN / 2 {
            self.ato = self.ato / 2 + ATO_MIN / 2;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(self.rtt.rto());
        } else if gap > self.rtt.rto() {
            // The sender may have restarted with a small window.
            self.raise_quick_acks(QUICK_ACKS);
        }
    }

    /// `tcp_incr_quickack`.
    pub(super) fn raise_quick_acks(&mut self, most: u32) {
        let half_window =
            self.window.remaining(self.window.advertised_at()) / (2 * u64::from(self.rcv_mss));
        let quick = if half_window == 0 {
            2
        } else {
            u32::try_from(half_window).unwrap_or(most)
        };
        self.quick = self.quick.max(quick.min(most));
    }

    /// `tcp_enter_quickack_mode`.
    pub(super) fn enter_quick_acks(&mut self, most: u32) {
        self.raise_quick_acks(most);
        self.ato = ATO_MIN;
        self.leave_interactive_mode();
    }

    /// RFC 3168 section 6.1.3: echo until CWR. The first mark is acknowledged without delay.
    pub(super) fn on_mark(&mut self) {
        if let Some(marks) = &mut self.marks {
            self.pending.immediate |= marks.on_mark();
            return;
        }
        if !self.echo_marks {
            self.echo_marks = true;
            self.enter_quick_acks(QUICK_ACKS_AFTER_MARK);
        }
    }

    /// The ACE field of the ACK that leaves now (RFC 9768); zero without AccECN.
    pub(super) fn report_marks(&mut self) -> u8 {
        self.marks.as_mut().map_or(0, MarkCounter::report)
    }

    /// `tcp_in_quickack_mode`.
    #[inline]
    pub(super) const fn acks_quickly(&self) -> bool {
        self.quick & self.quick_mask > 0
    }

    /// `tcp_delack_timer_handler`: nothing carried the ACK, and the timer sends it. (Or the third
    /// segment of the handshake did not arrive.)
    pub(super) fn on_delayed_ack(&mut self) {
        if self.awaits_third {
            self.pending.syn_ack = true;
            return;
        }
        self.pending.now = true;
        if self.is_interactive() {
            self.leave_interactive_mode();
            self.ato = ATO_MIN;
        } else {
            // Expect longer gaps.
            self.ato = (self.ato * 2).min(self.rtt.rto());
        }
    }

    /// `tcp_dec_quickack_mode`.
    #[inline]
    pub(super) fn use_quick_ack(&mut self) {
        self.quick -= 1;
        if self.quick == 0 {
            // Leaving quick-ACK mode resets the ATO to its minimum.
            self.ato = ATO_MIN;
        }
    }

    /// Bytes received and not acknowledged.
    pub(super) const fn unacknowledged(&self) -> u64 {
        self.rcv_nxt - self.window.advertised_at()
    }

    /// `__tcp_ack_snd_check`: at once, delayed, or compressed.
    pub(super) fn decide(&mut self, now: Instant) {
        let full = u64::from(self.rcv_mss);
        // RFC5681-4.2a
        let is_due = match self.thinned_to() {
            None => self.unacknowledged() > full && self.may_advance_edge() || self.acks_quickly(),
            Some(packets) => self.unacknowledged() >= packets.saturating_mul(full),
        };
        if is_due || self.pending.immediate {
            self.pending.now = true;
        } else if self.beyond.is_empty() {
            self.delay_ack(now);
        } else {
            self.compress_ack(now);
        }
    }

    /// `tcp_cleanup_rbuf`: a pushed segment, or a window that could at least double.
    pub(super) fn decide_after_read(&mut self) {
        if self.pending.now {
            return;
        }
        let drained = self.beyond.is_empty() && self.unread() == 0;
        let pushed = self.pending.pushed && !self.is_interactive();
        if drained && (pushed || self.pending.pushed_twice) {
            self.pending.now = true;
            return;
        }
        // No window update leaves after the end of the stream.
        if self.window.is_half_used(self.rcv_nxt) && self.end > self.rcv_nxt {
            let left = self.window.remaining(self.rcv_nxt);
            let candidate = self.window.candidate(self.rcv_mss, self.held_memory());
            self.pending.now = candidate > 0 && u64::from(candidate) >= 2 * left;
        }
    }

    /// `tcp_send_delayed_ack`.
    pub(super) fn delay_ack(&mut self, now: Instant) {
        let mut ato = self.ato;
        // Less a tick, so that the ACK precedes a timeout of `rto_min` (`tcp_delack_max`).
        let longest = DELAYED_ACK_MAX.saturating_sub(self.tick.length().max(SHORTEST_TICK));
        if ato > ATO_MIN {
            let most = if self.pending.pushed || self.is_interactive() {
                longest
            } else {
                Duration::from_millis(500)
            };
            ato = ato.min(
                self.rtt
                    .srtt()
                    .map_or(most, |srtt| srtt.max(ATO_MIN).min(most)),
            );
        }
        // RFC5681-4.2b
        ato = ato.min(longest);
        if self.delayed_ack_at == Instant::MAX {
            self.delayed_ack_at = self.tick.expiry(now, ato);
        } else if self.delayed_ack_at <= self.tick.expiry(now, self.tick.round_down(ato / 4)) {
            self.pending.now = true;
        } else {
            self.delayed_ack_at = self.delayed_ack_at.min(self.tick.expiry(now, ato));
        }
    }

    /// The end of `__tcp_ack_snd_check`: data lies beyond a hole.
    pub(super) fn compress_ack(&mut self, now: Instant) {
        if !self.compression || self.compressed >= COMPRESSION_LIMIT {
            self.pending.now = true;
            return;
        }
        if self.duplicates_of != self.rcv_nxt {
            self.duplicates_of = self.rcv_nxt;
            self.duplicate_acks = 0;
        }
        if self.duplicate_acks < UNCOMPRESSED_DUPLICATES {
            self.duplicate_acks += 1;
            self.pending.now = true;
            return;
        }
        self.compressed += 1;
        if self.compressed_ack_at == Instant::MAX {
            let srtt = self.rtt.srtt().map_or(u64::MAX, |srtt| srtt.as_micros());
            let rtt = (self.window.rtt_x8() >> 3).min(srtt);
            self.compressed_ack_at = now + (Duration::from_micros(rtt) / 20).min(COMPRESSION_DELAY);
        }
    }
}

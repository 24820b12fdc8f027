//! RACK: loss detection by time (RFC 8985 section 6, as in Linux 6.12 `tcp_recovery.c`).
//!
//! A segment is lost if a segment sent later has been delivered, and the round trip of that segment
//! plus a reordering window has passed since the first one was sent.
//!
//! This module holds RACK's record of deliveries. The search through the segments is in
//! `scoreboard/rack.rs`.
//!
//! Assumes that the caller reports each delivered segment, and checks for losses after each ACK.

use units::{Bytes, Duration, Instant};

use crate::scoreboard::{EVER_RETRANS, Segment, Turn};

/// Rounds that a widened reordering window lasts (`TCP_RACK_RECOVERY_THRESH`).
pub(crate) const PERSIST: u8 = 16;
/// Added to the reordering timer and to the probe timeout (`TCP_TIMEOUT_MIN_US`).
pub(crate) const TIMER_SLACK: Duration = Duration::from_millis(2);

/// What RACK needs to know about the current ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RackContext {
    pub(crate) now: Instant,
    /// Smallest RTT so far; [`Duration::MAX`] before the first.
    pub(crate) min_rtt: Duration,
    /// The timestamp echo, or zero.
    pub(crate) ts_ecr: u32,
    /// Recovery point, for F-RTO.
    pub(crate) high_seq: u64,
}

/// The timestamp value of a segment sent at `now`: milliseconds, never zero for 49 days.
pub(crate) const fn timestamp(now: Instant) -> u32 {
    (now.as_millis() as u32).wrapping_add(1)
}

/// Whether timestamp `a` was taken before `b`, modulo 2^32.
pub(crate) const fn timestamp_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// State of RACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// The most recently sent segment that was delivered.
    newest: Turn,
    /// Round-trip time of the last delivered segment.
    rtt: Duration,
    /// Something was delivered since the last detection.
    advanced: bool,
    /// Multiplier of the reordering window.
    steps: u8,
    /// Recoveries until the multiplier is reset.
    persist: u8,
    /// A duplicate was reported, and has not yet raised the multiplier.
    dsack_seen: bool,
    /// `delivered` when the multiplier was last raised.
    last_delivered: Bytes,
}

impl Rack {
    pub(crate) const fn new() -> Self {
        Self {
            newest: Turn::NONE,
            rtt: Duration::ZERO,
            advanced: false,
            steps: 1,
            persist: 0,
            dsack_seen: false,
            last_delivered: Bytes::ZERO,
        }
    }

    /// Linux `tcp_clean_rtx_queue`: `segment` is acknowledged cumulatively. The ACK echoes the
    /// segment that filled the hole, so the echo shows whether that was the original.
    #[inline]
    pub(crate) fn on_acked(&mut self, segment: &Segment, context: &RackContext) {
        // RFC8985-6.2b
        let is_original = segment.has(EVER_RETRANS)
            && context.ts_ecr != 0
            && timestamp_before(context.ts_ecr, timestamp(segment.sent));
        if !is_original {
            self.on_delivered(segment, context);
        }
    }

    /// Linux `tcp_rack_advance`: this ACK delivers `segment`. An ACK that only SACKs it echoes a
    /// segment from before the hole, so its echo shows nothing about `segment`.
    #[inline]
    pub(crate) fn on_delivered(&mut self, segment: &Segment, context: &RackContext) {
        let rtt = context.now.saturating_since(segment.sent);
        // RFC8985-6.2b
        // A retransmission cannot be answered faster than the path allows: the original arrived.
        if segment.has(EVER_RETRANS) && rtt < context.min_rtt {
            return;
        }
        // RFC8985-6.2a
        self.advanced = true;
        self.rtt = rtt;
        self.newest = self.newest.max(segment.turn());
    }

    /// [`Self::on_acked`] for a segment that was sent once.
    #[inline]
    pub(crate) fn on_original_acked(&mut self, turn: Turn, now: Instant) {
        self.advanced = true;
        self.rtt = now.saturating_since(turn.sent);
        if turn > self.newest {
            self.newest = turn;
        }
    }

    /// Linux `tcp_rack_update_reo_wnd`: `newest_delivered` is the total stored with the newest
    /// delivered segment, `delivered` the current total.
    #[inline]
    pub(crate) fn adapt(&mut self, newest_delivered: Option<Bytes>, delivered: Bytes) {
        let Some(newest_delivered) = newest_delivered else {
            return;
        };
        // RFC8985-6.2e
        // Once per round trip is enough.
        if newest_delivered < self.last_delivered {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.steps = self.steps.saturating_add(1);
            self.dsack_seen = false;
            self.last_delivered = delivered;
            self.persist = PERSIST;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// Whether something was delivered since the last detection.
    #[inline]
    pub(crate) const fn has_advanced(&self) -> bool {
        self.advanced
    }

    /// A detection begins.
    pub(crate) const fn on_detection(&mut self) {
        self.advanced = false;
    }

    /// An undo removed loss marks: the next ACK checks for losses, whatever it delivers.
    pub(crate) const fn check_again(&mut self) {
        self.advanced = true;
    }

    /// The receiver reported a duplicate: the reordering window was too small.
    pub(crate) const fn on_dsack(&mut self) {
        self.dsack_seen = true;
    }

    /// A recovery ended without an undo.
    pub(crate) fn on_recovery_end(&mut self) {
        // RFC8985-6.2f
        self.persist = self.persist.saturating_sub(1);
    }

    /// A recovery was undone because of duplicates.
    pub(crate) fn on_dsack_undo(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }

    /// The reordering window after reordering was seen (or is to be expected).
    pub(crate) fn window(&self, min_rtt: Duration, srtt: Duration) -> Duration {
        // RFC8985-6.2d
        ((min_rtt / 4) * u64::from(self.steps)).min(srtt)
    }

    /// Whether a segment sent later than `turn` has been delivered.
    #[inline]
    pub(crate) fn is_after(&self, turn: Turn) -> bool {
        self.newest > turn
    }

    /// Whether `turn` is the newest delivered transmission, or came before it.
    #[inline]
    pub(crate) fn has_reached(&self, turn: Turn) -> bool {
        turn <= self.newest
    }

    /// The remaining time that a segment sent at `sent` may take.
    pub(crate) fn remaining(&self, sent: Instant, reo_wnd: Duration, now: Instant) -> Duration {
        // RFC8985-6.2g
        (self.rtt + reo_wnd).saturating_sub(now.saturating_since(sent))
    }
}

//! RACK: loss detection by time (RFC 8985 section 6, as in Linux 6.12 `tcp_recovery.c`).
//!
//! A segment is lost when one that was sent later has been delivered and more than the round trip
//! of that one, plus a window for reordering, has passed since it was sent.
//!
//! Linux keeps all segments in one list in the order of sending. Here the originals are in that
//! order in the ring already, and retransmissions wait in a queue; a number that only moves up
//! says how far the originals were looked at, so that each transmission is looked at a constant
//! number of times.
//!
//! ## Deviations
//!
//! The reordering timer fires for the last segment that it waits for, as in Linux. When that one
//! has meanwhile been delivered and the segments before it are all accounted for too (64 are tried),
//! the timer keeps its time instead of looking further: it fires later than Linux's by less than
//! the time those segments took to send.

use units::{Bytes, Duration, Instant};

use crate::scoreboard::{
    DETACHED, EVER_RETRANS, LOST, RETRANS, Resent, SACKED, Scoreboard, Segment, Turn,
};

/// Rounds that a widened reordering window lasts (`TCP_RACK_RECOVERY_THRESH`).
pub(crate) const PERSIST: u8 = 16;
/// Added to the reordering timer and to the probe timeout (`TCP_TIMEOUT_MIN_US`).
pub(crate) const TIMER_SLACK: Duration = Duration::from_millis(2);
/// How many segments are tried for the reordering timer.
const WAITING_TRIES: u64 = 64;

/// What RACK must know about the ACK in hand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RackContext {
    pub(crate) now: Instant,
    /// Smallest RTT so far; [`Duration::MAX`] before the first.
    pub(crate) min_rtt: Duration,
    /// The timestamp echo; zero when there is none.
    pub(crate) ts_ecr: u32,
    /// Recovery point, for F-RTO.
    pub(crate) high_seq: u64,
}

/// The timestamp value of a segment that is sent now: milliseconds, never zero for 49 days.
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
    /// Round-trip time of the last delivered one.
    rtt: Duration,
    /// Something was delivered since the last detection.
    advanced: bool,
    /// Multiplier of the reordering window.
    steps: u8,
    /// Recoveries until the multiplier falls back.
    persist: u8,
    /// A duplicate was reported, and the multiplier not yet raised for it.
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

    /// Linux `tcp_clean_rtx_queue`: `segment` is acknowledged cumulatively. The echo is that of what filled
    /// the hole, so it tells when the original did.
    #[inline]
    pub(crate) fn on_acked(&mut self, segment: &Segment, context: &RackContext) {
        let is_original = segment.has(EVER_RETRANS)
            && context.ts_ecr != 0
            && timestamp_before(context.ts_ecr, timestamp(segment.sent));
        if !is_original {
            self.on_delivered(segment, context);
        }
    }

    /// Linux `tcp_rack_advance`: `segment` is delivered by this ACK. The echo of an ACK that only SACKs it is
    /// older than the hole, and says nothing of it.
    #[inline]
    pub(crate) fn on_delivered(&mut self, segment: &Segment, context: &RackContext) {
        let rtt = context.now.saturating_since(segment.sent);
        // The original may be what arrived, or it cannot have been so fast.
        if segment.has(EVER_RETRANS) && rtt < context.min_rtt {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        self.newest = self.newest.max(segment.turn());
    }

    /// Linux `tcp_rack_update_reo_wnd`: `newest_delivered` is the total that the newest delivered
    /// segment remembers, `delivered` the total now.
    pub(crate) fn adapt(&mut self, newest_delivered: Option<Bytes>, delivered: Bytes) {
        let Some(newest_delivered) = newest_delivered else {
            return;
        };
        // Once in a round trip is enough.
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

    /// Losses are looked for now.
    pub(crate) const fn on_detection(&mut self) {
        self.advanced = false;
    }

    /// Marks were taken back: losses are looked for with the next ACK, whatever it delivers.
    pub(crate) const fn look_again(&mut self) {
        self.advanced = true;
    }

    /// A duplicate was reported although reordering is expected: the window was too small.
    pub(crate) const fn on_dsack(&mut self) {
        self.dsack_seen = true;
    }

    /// A recovery ended without an undo.
    pub(crate) fn on_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// A recovery was undone because of duplicates.
    pub(crate) fn on_dsack_undo(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }

    /// The reordering window once reordering was seen (or may be expected).
    pub(crate) fn window(&self, min_rtt: Duration, srtt: Duration) -> Duration {
        ((min_rtt / 4) * u64::from(self.steps)).min(srtt)
    }

    /// Whether what was sent later than `turn` has been delivered.
    fn is_after(&self, turn: Turn) -> bool {
        self.newest > turn
    }

    /// How long a segment sent at `sent` may still take.
    pub(crate) fn remaining(&self, sent: Instant, reo_wnd: Duration, now: Instant) -> Duration {
        (self.rtt + reo_wnd).saturating_sub(now.saturating_since(sent))
    }
}

/// What a look at the segments found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Detection {
    /// Segments declared lost.
    pub(crate) lost: u32,
    /// A retransmission was among them.
    pub(crate) retransmission: bool,
    /// How long to wait for what may still arrive.
    pub(crate) wait: Option<Duration>,
}

/// No longer an original that RACK looks at.
const PASSED: u8 = SACKED | EVER_RETRANS | DETACHED | LOST;

impl Scoreboard {
    /// Linux `tcp_rack_detect_loss`.
    pub(crate) fn detect_losses(
        &mut self,
        rack: &Rack,
        reo_wnd: Duration,
        now: Instant,
    ) -> Detection {
        let mut found = Detection::default();
        self.detect_originals(rack, reo_wnd, now, &mut found);
        self.detect_resent(rack, reo_wnd, now, &mut found);
        found
    }

    fn detect_originals(
        &mut self,
        rack: &Rack,
        reo_wnd: Duration,
        now: Instant,
        found: &mut Detection,
    ) {
        let mut index = self.rack_next.max(self.base);
        while index < self.next {
            let segment = *self.slot(index);
            if !segment.has(PASSED) {
                if !rack.is_after(segment.turn()) {
                    break;
                }
                if !rack.remaining(segment.sent, reo_wnd, now).is_zero() {
                    self.rack_next = index;
                    let last = self.last_waiting(rack, index);
                    found.wait = Some(rack.remaining(self.slot(last).sent, reo_wnd, now));
                    return;
                }
                self.slot_mut(index).flags |= DETACHED;
                found.lost += u32::from(self.mark_lost(index));
            }
            index += 1;
        }
        self.rack_next = index;
    }

    /// The last original that is waited for; `first` is the first.
    fn last_waiting(&mut self, rack: &Rack, first: u64) -> u64 {
        let mut index = self.rack_seen.max(first);
        while index < self.next {
            let segment = self.slot(index);
            if !segment.has(PASSED) {
                if !rack.is_after(segment.turn()) {
                    break;
                }
                self.rack_waiting = Some(index);
            }
            index += 1;
        }
        self.rack_seen = index;
        let last = self.rack_waiting.map_or(first, |last| last.max(first));
        let lowest = first.max(last.saturating_sub(WAITING_TRIES));
        let found = (lowest..=last)
            .rev()
            .find(|&index| !self.slot(index).has(PASSED));
        // A retransmitted segment's time is not that of its original.
        let fallback = if self.slot(last).has(EVER_RETRANS) {
            first
        } else {
            last
        };
        let last = found.unwrap_or(fallback);
        self.rack_waiting = Some(last);
        last
    }

    fn detect_resent(
        &mut self,
        rack: &Rack,
        reo_wnd: Duration,
        now: Instant,
        found: &mut Detection,
    ) {
        while let Some(&Resent { index, turn, .. }) = self.resent.front() {
            if self.is_resent_alive(index, turn) {
                if !rack.is_after(turn) {
                    return;
                }
                if !rack.remaining(turn.sent, reo_wnd, now).is_zero() {
                    break;
                }
                found.retransmission |= self.slot(index).has(RETRANS);
                self.slot_mut(index).flags |= DETACHED;
                found.lost += u32::from(self.mark_lost(index));
            }
            self.resent.pop_front();
        }
        if self.resent.is_empty() {
            return;
        }
        let candidates = self
            .resent
            .partition_point(|resent| resent.turn <= rack.newest);
        for &Resent { index, turn, .. } in self
            .resent
            .range(..candidates)
            .rev()
            .take(WAITING_TRIES as usize)
        {
            if self.is_resent_alive(index, turn) && rack.is_after(turn) {
                let wait = rack.remaining(turn.sent, reo_wnd, now);
                found.wait = Some(found.wait.map_or(wait, |other| other.max(wait)));
                return;
            }
        }
        if let Some(&Resent { turn, .. }) = self.resent.front() {
            let wait = rack.remaining(turn.sent, reo_wnd, now);
            found.wait = Some(found.wait.map_or(wait, |other| other.max(wait)));
        }
    }

    /// Whether the transmission `turn` of `index` is its last, and its fate unknown.
    pub(crate) fn is_resent_alive(&self, index: u64, turn: Turn) -> bool {
        if index < self.base {
            return false;
        }
        let segment = self.slot(index);
        segment.sent == turn.sent
            && !segment.has(SACKED)
            && (segment.flags & (LOST | RETRANS)) != LOST
    }

    /// Linux `tcp_timeout_mark_lost`: after a timeout the head is lost, and whatever is older than
    /// a round trip. Returns how many.
    pub(crate) fn mark_timed_out(&mut self, rack: &Rack, now: Instant) -> u32 {
        let mut lost = 0;
        for index in self.base..self.next {
            let recent = !rack
                .remaining(self.slot(index).sent, Duration::ZERO, now)
                .is_zero();
            if index == self.base || !recent {
                lost += u32::from(self.mark_lost(index));
            }
        }
        lost
    }
}

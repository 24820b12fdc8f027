//! RACK's search for lost segments (RFC 8985, section 6.2, step 5; Linux 6.12
//! `tcp_rack_detect_loss`).
//!
//! Assumes SACK.
//!
//! Linux keeps all segments in one list in the order of transmission. Here the ring already has the
//! originals in that order, and a queue holds the retransmissions. A number that only increases
//! marks the originals already checked, so that each transmission is checked a constant number of
//! times.
//!
//! ## Deviations
//!
//! The reordering timer fires for the last segment that it waits for, as in Linux. If that segment
//! has meanwhile been delivered and the segments before it are all accounted for (64 are tried),
//! the timer keeps its time instead of searching further. It then fires later than Linux's by less
//! than the time that those segments took to send.

use units::{Duration, Instant};

use super::{DETACHED, EVER_RETRANS, LOST, RETRANS, Retransmission, SACKED, Scoreboard, Turn};
use crate::rack::Rack;

/// Number of segments tried for the reordering timer.
const WAITING_TRIES: u64 = 64;

/// The result of a search.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Detection {
    /// Segments declared lost.
    pub(crate) lost: u32,
    /// These include a retransmission.
    pub(crate) retransmission: bool,
    /// How long to wait for segments that may still arrive.
    pub(crate) wait: Option<Duration>,
}

/// RACK does not consider segments with one of these flags as originals.
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
        self.detect_lost_retransmissions(rack, reo_wnd, now, &mut found);
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

    /// The last original that RACK waits for; `first` is the first one.
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
        // The send time of a retransmitted segment is not that of its original.
        let fallback = if self.slot(last).has(EVER_RETRANS) {
            first
        } else {
            last
        };
        let last = found.unwrap_or(fallback);
        self.rack_waiting = Some(last);
        last
    }

    fn detect_lost_retransmissions(
        &mut self,
        rack: &Rack,
        reo_wnd: Duration,
        now: Instant,
        found: &mut Detection,
    ) {
        while let Some(&Retransmission { index, turn, .. }) = self.retransmissions.front() {
            if self.is_retransmission_alive(index, turn) {
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
            self.retransmissions.pop_front();
        }
        if self.retransmissions.is_empty() {
            return;
        }
        let candidates = self
            .retransmissions
            .partition_point(|sent| rack.has_reached(sent.turn));
        for &Retransmission { index, turn, .. } in self
            .retransmissions
            .range(..candidates)
            .rev()
            .take(WAITING_TRIES as usize)
        {
            if self.is_retransmission_alive(index, turn) && rack.is_after(turn) {
                let wait = rack.remaining(turn.sent, reo_wnd, now);
                found.wait = Some(found.wait.map_or(wait, |other| other.max(wait)));
                return;
            }
        }
        if let Some(&Retransmission { turn, .. }) = self.retransmissions.front() {
            let wait = rack.remaining(turn.sent, reo_wnd, now);
            found.wait = Some(found.wait.map_or(wait, |other| other.max(wait)));
        }
    }

    /// Whether the transmission `turn` of `index` is its last one, with an unknown outcome.
    pub(super) fn is_retransmission_alive(&self, index: u64, turn: Turn) -> bool {
        if index < self.base {
            return false;
        }
        let segment = self.slot(index);
        segment.sent == turn.sent
            && !segment.has(SACKED)
            && (segment.flags & (LOST | RETRANS)) != LOST
    }

    /// Linux `tcp_timeout_mark_lost`: after a timeout, the head and every segment older than a
    /// round trip are lost. Returns their number.
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

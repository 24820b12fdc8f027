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

    // RFC8985-6.2g, RFC8985-6.2h
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rack::{PERSIST, RackContext, timestamp};
    use crate::scoreboard::Segment;
    use units::Bytes;

    fn ms(value: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(value)
    }

    fn segment(sent: Instant, order: u32, flags: u8) -> Segment {
        Segment {
            sent,
            order_or_reach: order,
            flags,
            ..Segment::default()
        }
    }

    fn ack(now: Instant, ts_ecr: u32) -> RackContext {
        RackContext {
            now,
            min_rtt: Duration::from_millis(100),
            ts_ecr,
            high_seq: 0,
        }
    }

    // Tests RFC8985-6.2a, RFC8985-6.2g
    #[test]
    fn the_newest_delivered_segment_decides_what_is_late() {
        let mut rack = Rack::new();
        let (older, newer) = (segment(ms(10), 1, 0), segment(ms(30), 3, 0));
        rack.on_delivered(&newer, &ack(ms(150), 0));
        rack.on_delivered(&older, &ack(ms(151), 0));
        let between = segment(ms(20), 2, 0);
        assert!(rack.is_after(between.turn()));
        assert!(!rack.is_after(segment(ms(40), 4, 0).turn()));
        // The last sample is 141 ms; with a window of 25 ms the segment of 20 ms may take until 186.
        let window = Duration::from_millis(25);
        let left = rack.remaining(between.sent, window, ms(151));
        assert_eq!(left, Duration::from_millis(35));
        assert!(rack.remaining(between.sent, window, ms(186)).is_zero());
    }

    // Tests RFC8985-6.2b
    #[test]
    fn a_retransmission_whose_original_arrived_is_no_sample() {
        let again = segment(ms(200), 5, EVER_RETRANS);
        // The echo is older than the retransmission.
        let mut rack = Rack::new();
        rack.on_acked(&again, &ack(ms(320), timestamp(ms(60))));
        assert!(!rack.has_advanced());
        // The ACK comes sooner after it than the path allows.
        rack.on_delivered(&again, &ack(ms(299), 0));
        assert!(!rack.has_advanced());
        // An ACK of the retransmission itself counts.
        rack.on_acked(&again, &ack(ms(320), timestamp(ms(200))));
        assert!(rack.has_advanced());
    }

    // Tests RFC8985-6.2d, RFC8985-6.2e, RFC8985-6.2f
    #[test]
    fn duplicates_widen_the_window_once_a_round_trip_and_for_sixteen_recoveries() {
        let (min_rtt, srtt) = (Duration::from_millis(100), Duration::from_millis(120));
        let mut rack = Rack::new();
        assert_eq!(rack.window(min_rtt, srtt), Duration::from_millis(25));
        rack.on_dsack();
        rack.adapt(Some(Bytes::new(10)), Bytes::new(50));
        assert_eq!(rack.window(min_rtt, srtt), Duration::from_millis(50));
        // What was sent before the window grew is of the same round trip.
        rack.on_dsack();
        rack.adapt(Some(Bytes::new(40)), Bytes::new(60));
        assert_eq!(rack.window(min_rtt, srtt), Duration::from_millis(50));
        for round in 0..9 {
            rack.on_dsack();
            rack.adapt(Some(Bytes::new(100 + round)), Bytes::new(100 + round));
        }
        assert_eq!(rack.window(min_rtt, srtt), srtt);
        for _ in 0..PERSIST {
            rack.adapt(Some(Bytes::new(1_000)), Bytes::new(1_000));
            assert_eq!(rack.window(min_rtt, srtt), srtt);
            rack.on_recovery_end();
        }
        rack.adapt(Some(Bytes::new(1_000)), Bytes::new(1_000));
        assert_eq!(rack.window(min_rtt, srtt), Duration::from_millis(25));
    }
}

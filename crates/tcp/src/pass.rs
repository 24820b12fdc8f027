//! A pass: the segments that leave after one event, in one or several bursts (one run of Linux's
//! `tcp_write_xmit`; no RFC describes it).
//!
//! An event (an ACK, a timer, a write) begins a pass. The pass ends when nothing more may leave.
//! The sender decides once for each burst: if the first segment may leave, all may.
//!
//! Assumes that the caller polls one segment at a time, and ends the pass when it sends nothing.

/// The pass under way, and its burst.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pass {
    /// Segments that the current burst may still send, and whether the burst carries new data.
    burst_left: u32,
    burst_is_new: bool,
    /// New segments sent since the last pass ended.
    sent: u32,
    /// Nothing may leave until the next event.
    is_over: bool,
    sets_timer: bool,
    limit: Limit,
}

/// What a pass says about the congestion window, beside what is in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Limit {
    #[default]
    Flight,
    /// It held back a partial burst.
    Deferred,
    /// Nothing: a timer retransmits, and Linux does not call `tcp_write_xmit`.
    Unasked,
}

/// The record of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// New segments sent.
    pub(crate) sent: u32,
    pub(crate) limit: Limit,
    /// The retransmission timer is to be restarted (`FLAG_SET_XMIT_TIMER`).
    pub(crate) sets_timer: bool,
}

impl Pass {
    /// An event may allow segments to leave. The current burst continues.
    #[inline]
    pub(crate) const fn resume(&mut self) {
        self.is_over = false;
    }

    /// An event requires a new decision. The current burst ends.
    #[inline]
    pub(crate) const fn begin(&mut self) {
        self.is_over = false;
        self.burst_left = 0;
    }

    #[inline]
    pub(crate) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// A burst of new data begins.
    #[inline]
    pub(crate) const fn begin_new(&mut self, segments: u32) {
        self.burst_left = segments;
        self.burst_is_new = true;
    }

    /// A burst of retransmissions begins.
    pub(crate) const fn begin_retransmissions(&mut self, segments: u32) {
        self.burst_left = segments;
        self.burst_is_new = false;
    }

    /// Whether a burst of either kind is in progress.
    pub(crate) const fn has_burst(&self) -> bool {
        self.burst_left > 0
    }

    /// Whether a burst of new data is in progress.
    #[inline]
    pub(crate) const fn has_new_burst(&self) -> bool {
        self.burst_left > 0 && self.burst_is_new
    }

    /// A segment of the burst leaves.
    #[inline]
    pub(crate) const fn take_segment(&mut self) {
        self.burst_left -= 1;
    }

    /// Segments that the burst may still send.
    #[inline]
    pub(crate) const fn left(&self) -> u32 {
        self.burst_left
    }

    /// So many segments of the burst leave.
    #[inline]
    pub(crate) const fn take_segments(&mut self, count: u32) {
        self.burst_left -= count;
    }

    /// A new segment was sent.
    #[inline]
    pub(crate) const fn on_new_segment(&mut self) {
        self.on_new_segments(1);
    }

    /// So many new segments were sent.
    #[inline]
    pub(crate) const fn on_new_segments(&mut self, count: u32) {
        self.sent += count;
    }

    /// The segments of the pass so far were a probe, which does not count.
    pub(crate) const fn forget_sent(&mut self) {
        self.sent = 0;
    }

    /// A partial burst is held back because of the congestion window.
    pub(crate) const fn defer(&mut self) {
        self.limit = Limit::Deferred;
    }

    /// A timer retransmits, which does not ask the congestion window for new data.
    pub(crate) const fn ask_nothing(&mut self) {
        self.limit = Limit::Unasked;
    }

    /// The end of the pass sets the timer once, whatever the pass sends.
    #[inline]
    pub(crate) const fn set_timer_at_end(&mut self) {
        self.sets_timer = true;
    }

    /// Nothing more leaves.
    #[inline]
    pub(crate) const fn end(&mut self) -> Ended {
        let ended = Ended {
            sent: self.sent,
            limit: self.limit,
            sets_timer: self.sets_timer,
        };
        self.is_over = true;
        self.burst_left = 0;
        self.sent = 0;
        self.limit = Limit::Flight;
        self.sets_timer = false;
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_cuts_a_burst_short_and_a_write_does_not() {
        let mut pass = Pass::default();
        pass.begin_new(3);
        pass.take_segment();
        pass.resume();
        assert!(pass.has_new_burst());
        pass.begin();
        assert!(!pass.has_burst());
        pass.begin_retransmissions(2);
        assert!(pass.has_burst() && !pass.has_new_burst());
    }

    #[test]
    fn the_end_of_a_pass_reports_its_record_once() {
        let mut pass = Pass::default();
        pass.on_new_segment();
        pass.forget_sent();
        pass.on_new_segment();
        pass.defer();
        pass.set_timer_at_end();
        let noted = Ended {
            sent: 1,
            limit: Limit::Deferred,
            sets_timer: true,
        };
        let nothing = Ended {
            sent: 0,
            limit: Limit::Flight,
            sets_timer: false,
        };
        assert_eq!((pass.end(), pass.is_over()), (noted, true));
        pass.begin();
        assert_eq!(pass.end(), nothing);
    }
}

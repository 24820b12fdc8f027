//! What a sender's packets carry for the routers of the path, and what comes back. Nothing here is
//! called for a sender that asks no router.

use congestion::CongestionControl;
use units::feedback::Feedback;
use units::{Bytes, Duration, Instant};

use super::Sender;
use crate::quick_start::drawn;
use crate::rtt::RTO_FALLBACK;
use crate::segment::DataSegment;

impl Sender {
    /// Whether segments carry something for routers: then [`Self::feedback`] is to be asked for
    /// each segment that leaves, and [`Self::handle_feedback`] told what each ACK brings. It never
    /// changes.
    #[must_use]
    pub fn asks_routers(&mut self) -> bool {
        self.cc.header_bytes().is_some() || self.cc.requested_rate(Bytes::MAX).is_some()
    }

    /// What `segment`, which leaves now, carries for the routers.
    pub fn feedback(&mut self, now: Instant, segment: &DataSegment) -> Option<Feedback> {
        if self.cc.header_bytes().is_some() {
            return self.cc.feedback();
        }
        if !segment.syn {
            return self.quick_start.report();
        }
        let queued = self.unsent();
        if segment.retransmission || queued <= self.smss() * u64::from(self.config.initial_window) {
            // The initial window carries all of it, or the option may be what was lost.
            self.quick_start.withdraw();
            return None;
        }
        let rate = self.cc.requested_rate(Bytes::new(queued))?;
        // RFC 4782, section 4.7.2: an initial timeout of three seconds.
        self.timer.start(now, RTO_FALLBACK);
        Some(self.quick_start.ask(rate, drawn(self.config.seed)))
    }

    /// What the ACK brings that is handled next.
    pub fn handle_feedback(&mut self, now: Instant, feedback: Feedback) {
        if self.handshake.is_established() {
            self.cc.on_feedback(now, &feedback);
            self.read_window();
            self.update_pacing_rate();
        } else if self.handshake.is_under_way() {
            self.handshake.keep_answer(feedback);
        }
    }

    /// The handshake took `rtt`, and is over: what it brought.
    pub(super) fn settle_feedback(&mut self, now: Instant, rtt: Option<Duration>) {
        let answer = self.handshake.take_answer();
        if let (Some(rate), Some(rtt)) = (self.quick_start.settle(answer.as_ref()), rtt) {
            self.cc.on_approval(now, rate, rtt);
        }
        if let Some(answer) = answer {
            self.cc.on_feedback(now, &answer);
        }
    }
}

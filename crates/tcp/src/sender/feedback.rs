//! The sender's requests to routers and their answers. A sender without explicit router support
//! calls nothing here.

use congestion::{CongestionControl, KnownPath};
use units::feedback::Feedback;
use units::{Bytes, Duration, Instant};

use super::Sender;
use crate::quick_start::drawn;
use crate::rtt::RTO_FALLBACK;
use crate::segment::DataSegment;

impl Sender {
    /// Whether segments carry requests to routers. If so, call [`Self::feedback`] for each segment
    /// that leaves, and [`Self::handle_feedback`] for each ACK that carries an answer. The value is
    /// constant.
    #[must_use]
    pub fn asks_routers(&mut self) -> bool {
        self.cc.header_bytes().is_some() || self.cc.requested_rate(Bytes::MAX).is_some()
    }

    /// Whether the receiver should [thin its ACKs](crate::Receiver::thin_acks) of data that leaves at
    /// an approved rate. The value is constant.
    #[must_use]
    pub fn thins_acks(&mut self) -> bool {
        self.cc.thins_acks()
    }

    /// Whether its start-up needs a simulator's knowledge of the path ([`Self::on_path`]). The
    /// value is constant.
    #[must_use]
    pub fn knows_path(&mut self) -> bool {
        self.cc.knows_path()
    }

    /// Takes what a simulator knows of the path. Call it between an ACK and what that releases.
    pub fn on_path(&mut self, now: Instant, path: &KnownPath) {
        self.cc.on_path(now, path);
        self.read_window();
        self.update_pacing_rate();
    }

    /// The request to routers in `segment`, which leaves at `now`.
    pub fn feedback(&mut self, now: Instant, segment: &DataSegment) -> Option<Feedback> {
        if self.cc.header_bytes().is_some() {
            return self.cc.feedback();
        }
        if !segment.syn {
            return self.quick_start.report();
        }
        let queued = self.unsent();
        if segment.retransmission || queued <= self.smss() * u64::from(self.config.initial_window) {
            // The initial window holds all data, or the option itself may have caused the loss.
            self.quick_start.withdraw();
            return None;
        }
        let rate = self.cc.requested_rate(Bytes::new(queued))?;
        // RFC 4782, section 4.7.2: an initial timeout of three seconds.
        self.timer.start(now, RTO_FALLBACK);
        Some(self.quick_start.ask(rate, drawn(self.config.seed)))
    }

    /// Takes the routers' answer in the ACK that is handled next.
    pub fn handle_feedback(&mut self, now: Instant, feedback: Feedback) {
        if self.handshake.is_established() {
            self.cc.on_feedback(now, &feedback);
            self.read_window();
            self.update_pacing_rate();
        } else {
            self.handshake.keep_answer(feedback);
        }
    }

    /// The handshake is over and took `rtt`: evaluates the routers' answer.
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

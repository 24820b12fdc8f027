//! A connection in which both sides send: the passive opener, and acknowledgments in data segments
//! of the other direction (Linux 6.12 `tcp_rcv_state_process` in `TCP_SYN_RECV`, `FLAG_DATA` of
//! `tcp_ack`; RFC 9293, section 3.10.7.4; RFC 5681, section 2).
//!
//! Such a connection consists of two halves, one for each direction, and each half of a
//! [`Sender`] and a [`crate::Receiver`]. The active opener sends its SYN with [`Sender::open`]; the
//! passive one never opens, and waits for [`Sender::accept`].
//!
//! ## Deviations
//!
//! - A passive opener requests a Quick-Start rate in its SYN-ACK (RFC 4782, section 4.1), before the
//!   application has data: the configured rate, or with `auto` the largest. The retransmission
//!   timeout of the SYN-ACK stays 1 s. Requests in data after idle time are not implemented.
//! - Each half has its own timestamps of the peer. Linux has one for both.
//! - SACK blocks in a data segment enlarge the packet ([`AckSegment::options_size`]); Linux reduces
//!   the payload instead.

use units::feedback::Feedback;
use units::{Bytes, Duration, Instant};

use super::Sender;
use crate::quick_start::drawn;
use crate::round_trip::echoed_rtt;
use crate::segment::AckSegment;

impl Sender {
    /// The passive opener's handshake is over: the third segment has arrived, or data that carries
    /// its acknowledgment `third`. Before that, writes wait, and nothing leaves.
    ///
    /// `rtt` is the time since the SYN-ACK, or `None` if it was retransmitted; the timestamp that
    /// `third` echoes then gives the time to a millisecond. `retransmitted` counts the
    /// retransmissions of the SYN-ACK: more than one reduces the initial window to one segment.
    /// [`crate::Receiver::complete_handshake`] returns both. Does nothing if the connection is
    /// open.
    pub fn accept(
        &mut self,
        now: Instant,
        third: &AckSegment,
        rtt: Option<Duration>,
        retransmitted: u32,
    ) {
        if !self.handshake.accept() {
            return;
        }
        self.pass.begin();
        self.rtt.begin_ack();
        let rtt = rtt.or_else(|| echoed_rtt(now, third.ts_ecr));
        self.establish(now, third, rtt, u64::from(retransmitted));
    }

    /// [`Self::handle_ack`] for an ACK in a segment that carries data or a FIN: it is never a
    /// duplicate ACK (RFC 5681, section 2).
    #[inline]
    pub fn handle_ack_with_data(&mut self, now: Instant, ack: &AckSegment) {
        self.take_ack(now, ack, true);
    }

    /// A segment of the peer without a new ACK carried the timestamp `ts_val`.
    pub const fn handle_timestamp(&mut self, ts_val: u32) {
        if ts_val != 0 {
            self.ts_recent = ts_val;
        }
    }

    /// The request to routers in the SYN-ACK of a passive opener, if it carries one: call it for each
    /// SYN-ACK that leaves. The third segment carries the answer; report it with
    /// [`Self::handle_feedback`] before [`Self::accept`]. A SYN-ACK after the first carries no
    /// Quick-Start request, because the option itself may have caused the loss.
    pub fn syn_ack_feedback(&mut self) -> Option<Feedback> {
        use congestion::CongestionControl;
        if self.cc.header_bytes().is_some() {
            return self.cc.feedback();
        }
        if self.quick_start.has_asked() {
            self.quick_start.withdraw();
            return None;
        }
        let rate = self.cc.requested_rate(Bytes::MAX)?;
        Some(self.quick_start.ask(rate, drawn(self.config.seed)))
    }
}

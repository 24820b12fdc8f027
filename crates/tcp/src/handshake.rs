//! The handshake: RFC 9293, section 3.5, and its round-trip time for an active opener (RFC 6298;
//! Linux 6.12 `tcp_connect`, `tcp_rcv_synsent_state_process`).
//!
//! Assumes that the caller runs the timer of the SYN, and that a connection is opened once. The
//! SYN-ACK of a passive opener is the receiver's.

use units::feedback::Feedback;
use units::{Duration, Instant};

use crate::round_trip::echoed_rtt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    SynSent,
    Established,
}

/// Progress of the handshake.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Handshake {
    state: State,
    syn_due: bool,
    /// When the first SYN was due.
    opened: Instant,
    /// The routers' answer, if the SYN-ACK carried one.
    answer: Option<Feedback>,
}

impl Handshake {
    pub(crate) const fn new() -> Self {
        Self {
            state: State::Closed,
            syn_due: false,
            opened: Instant::ZERO,
            answer: None,
        }
    }

    /// Makes a SYN due. Returns false if the connection was opened before.
    pub(crate) fn open(&mut self, now: Instant) -> bool {
        let is_first = self.state == State::Closed;
        if is_first {
            self.state = State::SynSent;
            self.syn_due = true;
            self.opened = now;
        }
        is_first
    }

    /// The peer's third segment has arrived. Returns false if this side opened the connection, or
    /// if it is established.
    pub(crate) fn accept(&mut self) -> bool {
        let is_passive = self.state == State::Closed;
        if is_passive {
            self.state = State::Established;
        }
        is_passive
    }

    #[inline]
    pub(crate) fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// A SYN is due or in flight.
    pub(crate) fn is_under_way(&self) -> bool {
        self.state == State::SynSent
    }

    /// The SYN timed out.
    pub(crate) const fn on_timeout(&mut self) {
        self.syn_due = true;
    }

    /// Whether a SYN leaves now.
    pub(crate) const fn take_syn(&mut self) -> bool {
        core::mem::replace(&mut self.syn_due, false)
    }

    /// The SYN-ACK, which echoes `ts_ecr`, has arrived. Returns the round-trip time. It is
    /// ambiguous if the SYN was retransmitted (Karn's rule); the timestamp then identifies the SYN
    /// that was answered, and gives the time to a millisecond.
    pub(crate) fn complete(
        &mut self,
        now: Instant,
        ts_ecr: u32,
        is_ambiguous: bool,
    ) -> Option<Duration> {
        self.state = State::Established;
        self.syn_due = false;
        if is_ambiguous {
            echoed_rtt(now, ts_ecr)
        } else {
            Some(now.saturating_since(self.opened))
        }
    }

    /// The next SYN-ACK carries the routers' `answer`.
    pub(crate) const fn keep_answer(&mut self, answer: Feedback) {
        self.answer = Some(answer);
    }

    pub(crate) const fn take_answer(&mut self) -> Option<Feedback> {
        self.answer.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ambiguous_round_trip_uses_the_timestamp() {
        let mut handshake = Handshake::new();
        assert!(handshake.open(Instant::from_millis(10)));
        assert!(!handshake.open(Instant::from_millis(20)));
        assert!(handshake.take_syn() && !handshake.take_syn());
        let now = Instant::from_millis(1_100);
        let sent = crate::rack::timestamp(Instant::from_millis(1_010));
        let rtt = |is_ambiguous, ts_ecr| {
            let mut handshake = handshake;
            let rtt = handshake.complete(now, ts_ecr, is_ambiguous);
            assert!(handshake.is_established());
            rtt
        };
        assert_eq!(rtt(false, sent), Some(Duration::from_millis(1_090)));
        assert_eq!(rtt(true, sent), Some(Duration::from_millis(90)));
        assert_eq!(rtt(true, 0), None);
    }
}

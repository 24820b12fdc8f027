//! Reno (RFC 5681, section 3.1) as Linux's `tcp_reno_cong_avoid` and `tcp_reno_ssthresh`.
//!
//! Grows by one segment for each window acknowledged and halves the window on congestion.
//!
//! ## Deviations
//!
//! - As in Linux the threshold is half of `cwnd`; RFC 5681 (equation 4) halves `FlightSize`.
//! - As in Linux a stretch ACK is credited in full; RFC 3465 allows one segment per ACK.
//! - The overshoot of slow start ends on a knife's edge, in Linux too: whether one of many
//!   retransmissions is dropped again. 5 MB over 50 Mbit/s, 100 ms and 413 packets of buffer take
//!   1.436 s simulated, and 1.50 s at 19 of 21 rates within 1 %. Linux 6.18 takes 1.438 s in one run
//!   and 1.503 s in another; Linux 6.1 and 6.12 in virtual time take 1.502 s. Compare distributions
//!   over several rates, not single runs. Test: `first_overshoot.rs`.

use units::Bytes;

use super::AdditiveIncrease;
use crate::settings;
use crate::{Ack, Avoidance, Congestion, OrdinaryAck, Window};

settings! {
    /// Reno has no options.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RenoConfig {}
}

/// Reno's additive increase and halving.
#[derive(Clone, Debug, Default)]
pub struct Reno {
    increase: AdditiveIncrease,
}

impl Reno {
    /// A new connection.
    #[must_use]
    pub fn new(_config: RenoConfig) -> Self {
        Self::default()
    }

    /// See [`ControlSlot::on_ordinary_ack`](crate::ControlSlot::on_ordinary_ack).
    #[inline(always)]
    pub(crate) fn on_ordinary_ack(&mut self, ack: &OrdinaryAck, window: &Window) -> Bytes {
        if !ack.cwnd_limited {
            return Bytes::ZERO;
        }
        self.increase
            .on_acked(ack.delivered, window.cwnd, window.smss)
    }
}

impl Avoidance for Reno {
    #[inline]
    fn on_ack(&mut self, acked: Bytes, _ack: &Ack, window: &Window) -> Bytes {
        self.increase.on_acked(acked, window.cwnd, window.smss)
    }

    fn on_congestion(&mut self, _congestion: &Congestion, window: &Window) -> Bytes {
        self.increase.reset();
        // RFC5681-3.1h
        window.smss * (window.cwnd_segments() / 2).max(2)
    }

    fn on_timeout(&mut self) {
        self.increase.reset();
    }

    /// `tcp_reno_min_cwnd` of Linux 2.6.
    fn recovery_floor(&self, window: &Window) -> Bytes {
        window.smss * (window.ssthresh.segments(window.smss) / 2).max(1)
    }
}

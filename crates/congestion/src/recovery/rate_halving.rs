//! Rate halving: the recovery of Linux until 3.1 (`tcp_cwnd_down`, `tcp_complete_cwr`; Mathis, Semke
//! and Mahdavi, "The Rate-Halving Algorithm for TCP Congestion Control", 1999).
//!
//! While a reduction is in progress every second ACK takes one segment off the window, so that one
//! segment leaves for every two that arrive, and the window is never more than one segment above what
//! is in flight. At the end it is the threshold, or less where less is left: slow start then makes up
//! for it, which is what PRR was invented against.
//!
//! Assumes a transport that reports the ACK that began an episode to [`Recovery::on_ack`] too.
//!
//! ## Deviations
//!
//! - Linux ends an episode with at most three segments above what is in flight
//!   (`tcp_moderate_cwnd`), which bounds the window that Westwood+ then sets. Here Westwood+ sets the
//!   threshold, and the window stays what the episode left of it.
//! - The least window of Westwood+ during an episode is the estimate at its beginning; Linux takes
//!   the estimate of each ACK.

use units::Bytes;

use crate::settings;
use crate::{Ack, Recovery, Window};

settings! {
    /// Rate halving has no options.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RateHalvingConfig {}
}

/// Rate halving.
#[derive(Clone, Debug, Default)]
pub struct RateHalving {
    /// An ACK was counted, and the next one takes a segment (`snd_cwnd_cnt`).
    is_second: bool,
    /// The window does not shrink below this (`min_cwnd`, else the threshold).
    floor: Bytes,
}

impl RateHalving {
    /// No episode in progress.
    #[must_use]
    pub fn new(_config: RateHalvingConfig) -> Self {
        Self::default()
    }
}

impl Recovery for RateHalving {
    fn enter(&mut self, window: &Window, ssthresh: Bytes, in_flight: Bytes) -> Bytes {
        *self = Self {
            is_second: false,
            floor: ssthresh,
        };
        window.cwnd.min(in_flight + window.smss)
    }

    fn bound(&mut self, floor: Bytes) {
        self.floor = floor;
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Bytes {
        let mut cwnd = window.cwnd;
        if ack.delivered.is_zero() && !ack.advanced {
            return cwnd;
        }
        if self.is_second && cwnd > self.floor {
            cwnd -= window.smss;
        }
        self.is_second = !self.is_second;
        cwnd.min(ack.in_flight + window.smss)
    }

    fn on_exit(&self, window: &Window) -> Bytes {
        window.cwnd.min(window.ssthresh)
    }
}

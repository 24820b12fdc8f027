//! The window of NewReno's fast recovery: RFC 6582, section 3.2.
//!
//! The window is the threshold at once, and a segment that is found lost is repeated at once,
//! whatever is in flight. The RFC counts what is in flight from the sequence numbers and inflates the
//! window by one segment for each duplicate ACK, and deflates it by what a partial ACK acknowledges;
//! here, as in Linux, a duplicate ACK takes one segment off what is in flight, which sends the same.
//!
//! Assumes a transport that reports the loss with the ACK that shows it, one segment at a time
//! without SACK; with SACK one loss for each ACK is repeated at once, and the others as the window
//! allows.
//!
//! ## Deviations
//!
//! - At the end the window is the threshold (the RFC's second choice, with Linux's limits of a
//!   burst), not `min(ssthresh, FlightSize + SMSS)`.

use units::Bytes;

use crate::settings;
use crate::{Ack, Recovery, Window};

settings! {
    /// NewReno's recovery has no options.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct NewRenoConfig {}
}

/// NewReno's recovery.
#[derive(Clone, Debug, Default)]
pub struct NewReno {}

impl NewReno {
    /// No episode in progress.
    #[must_use]
    pub fn new(_config: NewRenoConfig) -> Self {
        Self {}
    }
}

impl Recovery for NewReno {
    fn enter(&mut self, window: &Window, ssthresh: Bytes, in_flight: Bytes) -> Bytes {
        ssthresh.max(in_flight + window.smss)
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Bytes {
        if ack.newly_lost.is_zero() {
            window.ssthresh
        } else {
            window.ssthresh.max(ack.in_flight + window.smss)
        }
    }
}

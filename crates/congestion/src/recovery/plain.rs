//! Recovery without a transition: the window is the threshold at once (RFC 5681 with the pipe of
//! RFC 6675, section 5).
//!
//! The transport sends when `in_flight < cwnd`, so that after a loss nothing leaves until half of
//! the window has been acknowledged, and then one segment for each.
//!
//! ## Deviations
//!
//! - Duplicate ACKs do not inflate the window (RFC 5681, section 3.2, step 3): the pipe of RFC 6675
//!   takes delivered segments out of flight instead.

use units::Bytes;

use crate::settings;
use crate::{Ack, Recovery, Window};

settings! {
    /// Plain recovery has no options.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PlainConfig {}
}

/// The window is the threshold, limited by the pipe alone.
#[derive(Clone, Debug, Default)]
pub struct Plain {}

impl Plain {
    /// No episode in progress.
    #[must_use]
    pub fn new(_config: PlainConfig) -> Self {
        Self {}
    }
}

impl Recovery for Plain {
    // RFC5681-3.2e
    fn enter(&mut self, _window: &Window, ssthresh: Bytes, _in_flight: Bytes) -> Bytes {
        ssthresh
    }

    #[inline]
    fn on_ack(&mut self, _ack: &Ack, window: &Window) -> Bytes {
        window.ssthresh
    }
}

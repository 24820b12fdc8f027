//! Standard slow start: RFC 5681 section 3.1, as in Linux (`tcp_slow_start`).
//!
//! The window grows by what each ACK delivered. The driver stops the growth at the threshold and
//! gives the rest to congestion avoidance. Only a loss, a mark, a timeout or the threshold ends
//! slow start.
//!
//! Assumes that the driver calls it only while the window is below the threshold and limits the
//! sender.
//!
//! # Deviations
//! RFC 5681 credits at most one segment for an ACK and RFC 3465 at most two. Linux has no such
//! limit: an ACK of 44 segments adds 44. Tests: `limited.rs` (`standard_has_no_stretch_ack_limit`).

use units::Instant;

use crate::settings;
use crate::{Ack, Needs, Startup, Step, Window};

settings! {
    /// Standard slow start has no options.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct StandardConfig {}
}

/// Standard slow start.
#[derive(Clone, Debug, Default)]
pub struct Standard {}

impl Standard {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(_config: StandardConfig, _now: Instant, _snd_nxt: u64) -> Self {
        Self {}
    }
}

impl Startup for Standard {
    fn needs(&self) -> Needs {
        Needs::NONE
    }

    fn on_ack(&mut self, ack: &Ack, _window: &Window) -> Step {
        // RFC5681-3.1f
        Step::Grow(ack.delivered)
    }
}

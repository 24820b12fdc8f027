//! XCP: the eXplicit Control Protocol (Katabi et al. 2002).
//!
//! Every packet carries its flow's round-trip time and the time between its packets to the routers.
//! The feedback states by how many bytes per second the flow may or must change its rate; the
//! window changes by that times the RTT. The flow begins with the initial window: XCP is not a fast
//! start-up. A loss is handled as in Reno.
//!
//! If one router of the path does not support XCP, the flow uses slow start and Reno.
//!
//! Assumes routers that distribute feedback (`network::router`), and a transport that carries it.
//!
//! # Deviations
//! - How a sender learns that a router does not support XCP is our choice, see `units::feedback`.
//! - While a loss is being repaired the feedback does not change the window.
//! - The first data already knows the handshake's RTT, so that it requests feedback.

use units::feedback::{Feedback, HOST_TTL};
use units::{Bytes, Duration, Instant, Rate};

use super::Ordinary;
use crate::parts::congestion_control_hooks;
use crate::parts::hooks::{delegate, own_hooks};
use crate::settings;
use crate::{
    Ack, BuildContext, Congestion, CongestionControl, Established, KnownPath, Lost, Needs,
    PathMemory, Resumption, Sent, SlowStartExit, Window,
};

/// IP and TCP headers of a full segment with timestamps, and XCP's own.
const HEADERS: i128 = 52 + HEADER as i128;
pub(crate) const HEADER: u32 = 20;
/// Fraction of a byte in which the window is kept.
const PARTS: i128 = 1 << 20;
/// Largest window, in bytes.
const LARGEST: i128 = 1 << 40;

settings! {
    /// XCP has no options.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct XcpConfig {}
}

/// XCP.
#[derive(Clone, Debug)]
pub struct Xcp {
    /// Keeps the window, handles losses, and controls alone on a path without support.
    ordinary: Ordinary,
    /// The window in [`PARTS`] of a byte, while `ordinary` holds its whole segments.
    exact: i128,
    is_supported: bool,
    /// Zero before the first sample.
    srtt: Duration,
    is_reducing: bool,
}

impl Xcp {
    /// A new connection.
    #[must_use]
    pub fn new(_config: XcpConfig, context: &BuildContext) -> Self {
        Self {
            ordinary: super::ordinary(context),
            exact: 0,
            is_supported: false,
            srtt: context.handshake_rtt.unwrap_or(Duration::ZERO),
            is_reducing: false,
        }
    }

    /// Changes the window by `delta` bytes per second over a round trip.
    fn move_window(&mut self, delta: i64) {
        let window = self.ordinary.window();
        let smss = i128::from(window.smss.get());
        let whole = i128::from(window.cwnd.get());
        if self.exact / PARTS / smss * smss != whole {
            // A loss has set the window.
            self.exact = whole * PARTS;
        }
        let rtt = i128::from(self.srtt.as_nanos());
        // The routers count headers, the window does not.
        let change = i128::from(delta) * rtt / 1_000_000_000 * PARTS * smss / (smss + HEADERS);
        self.exact = self
            .exact
            .saturating_add(change)
            .clamp(smss * PARTS, LARGEST * PARTS);
        let cwnd = u64::try_from(self.exact / PARTS).unwrap_or(u64::MAX);
        self.ordinary.set_cwnd(Bytes::new(cwnd));
    }
}

own_hooks! {
    ($) own: paces_first_segments reduces_by_deliveries
        header_bytes feedback on_feedback on_ack on_recovery_exit undo
}

impl CongestionControl for Xcp {
    // `ordinary` implements all other hooks.
    congestion_control_hooks!(delegate!(ordinary but own));

    fn header_bytes(&self) -> Option<u32> {
        Some(HEADER)
    }

    fn feedback(&self) -> Option<Feedback> {
        let window = self.ordinary.window().cwnd_segments().max(1);
        Some(Feedback::Xcp {
            interval: self.srtt / window,
            rtt: self.srtt,
            delta: if self.srtt.is_zero() { 0 } else { i64::MAX },
            ttl: HOST_TTL,
        })
    }

    fn on_feedback(&mut self, _now: Instant, feedback: &Feedback) {
        if let Feedback::XcpEcho { delta } = feedback {
            self.is_supported = delta.is_some();
            if let Some(delta) = delta
                && !self.is_reducing
            {
                self.move_window(*delta);
            }
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        self.is_reducing = ack.phase.is_reducing();
        // Only the routers' feedback grows the window.
        if self.is_reducing || !self.is_supported {
            self.ordinary.on_ack(ack);
        }
    }

    fn on_recovery_exit(&mut self, now: Instant) {
        self.is_reducing = false;
        self.ordinary.on_recovery_exit(now);
    }

    fn undo(&mut self, now: Instant) {
        self.is_reducing = false;
        self.ordinary.undo(now);
    }
}

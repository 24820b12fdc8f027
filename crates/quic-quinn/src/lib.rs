//! slowstart's congestion controls in quinn: `cubic+search`, `cubic+hystart++` and most others.
//!
//! ```
//! use std::sync::Arc;
//!
//! let mut transport = quinn_proto::TransportConfig::default();
//! let search = slowstart_quinn::Slowstart::named("cubic+search")?;
//! transport.congestion_controller_factory(Arc::new(search));
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
//!
//! The README of the crate has a whole program, which sends 5 MB over the loopback interface.
//!
//! Written for the trait of quinn-proto 0.11, which `quinn` 0.11 re-exports. The trait reports neither
//! which packets were lost nor the end of the handshake, and lets no controller set the pace: quinn
//! paces at 1.25 windows per smoothed round-trip time. [`Slowstart::new`] refuses an algorithm that
//! needs more.
//!
//! ## Deviations
//!
//! - quinn reports all datagrams of one transmission (with segmentation offload) as one, and also
//!   packets that carry nothing but an ACK, which the peer does not acknowledge: what was sent, which
//!   SEARCH 4.0 reads, is too large on a connection that mostly receives.
//! - quinn sends while `in_flight + datagram < window`, so that a window of n datagrams holds n - 1.

use std::any::Any;
use std::sync::Arc;
use std::time;

use quic_core::{Capabilities, CongestionKind, Core, Pacing, SlowStartExit};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use units::{Bytes, Duration, Instant};

/// What quinn 0.11 offers.
pub const CAPABILITIES: Capabilities = Capabilities {
    stack: "quinn 0.11",
    pacing: Pacing::Fixed,
    paces: true,
    send_times: true,
    lost_packets: false,
    handshake: false,
};

quic_core::factory!(
    CAPABILITIES,
    "quinn",
    "`TransportConfig::congestion_controller_factory`"
);

impl Slowstart {
    /// The controller of a path whose datagrams carry `mtu` bytes, and that begins at `now`.
    #[must_use]
    pub fn controller(&self, now: time::Instant, mtu: u16) -> SlowstartController {
        let setup = self.setup(mtu);
        let initial_window = setup.initial_window;
        SlowstartController {
            core: Self::core(setup),
            epoch: now,
            initial_window,
        }
    }
}

impl ControllerFactory for Slowstart {
    fn build(self: Arc<Self>, now: time::Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(self.controller(now, current_mtu))
    }
}

/// The congestion control of one path. `Connection::congestion_state` gives it, as a
/// `Box<dyn Controller>` to downcast.
#[derive(Clone, Debug)]
pub struct SlowstartController {
    core: Core,
    epoch: time::Instant,
    initial_window: Bytes,
}

impl SlowstartController {
    /// The end of the first slow start, once it has happened: its time since the path began, its
    /// window, its reason with the numbers that decided it.
    #[must_use]
    pub fn slow_start_exit(&self) -> Option<SlowStartExit> {
        self.core.slow_start_exit()
    }

    fn time(&self, at: time::Instant) -> Instant {
        let since = at.saturating_duration_since(self.epoch).as_nanos();
        Instant::ZERO + Duration::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
    }
}

impl Controller for SlowstartController {
    fn on_sent(&mut self, now: time::Instant, bytes: u64, _last_packet_number: u64) {
        self.core.on_sent(self.time(now), Bytes::new(bytes), None);
    }

    fn on_ack(
        &mut self,
        now: time::Instant,
        sent: time::Instant,
        bytes: u64,
        _app_limited: bool,
        _rtt: &RttEstimator,
    ) {
        let (now, sent) = (self.time(now), self.time(sent));
        self.core.on_acked(now, sent, Bytes::new(bytes), None);
    }

    fn on_end_acks(
        &mut self,
        now: time::Instant,
        in_flight: u64,
        app_limited: bool,
        _largest_packet_num_acked: Option<u64>,
    ) {
        let now = self.time(now);
        self.core
            .on_batch_end(now, Bytes::new(in_flight), app_limited);
    }

    fn on_congestion_event(
        &mut self,
        now: time::Instant,
        sent: time::Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let kind = if is_persistent_congestion {
            CongestionKind::Timeout
        } else if lost_bytes == 0 {
            CongestionKind::Ecn
        } else {
            CongestionKind::Loss
        };
        let (now, sent) = (self.time(now), self.time(sent));
        self.core
            .on_congestion(now, sent, kind, Bytes::new(lost_bytes));
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.core.on_mtu(Bytes::new(u64::from(new_mtu)));
    }

    fn window(&self) -> u64 {
        self.core.window().cwnd.get()
    }

    fn metrics(&self) -> ControllerMetrics {
        let window = self.core.window();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = window.cwnd.get();
        metrics.ssthresh = (window.ssthresh != Bytes::MAX).then(|| window.ssthresh.get());
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.initial_window.get()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

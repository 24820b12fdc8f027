//! slowstart's congestion controls in noq: `cubic+search`, `cubic+hystart++` and most others.
//!
//! ```
//! use std::sync::Arc;
//!
//! let mut transport = noq_proto::TransportConfig::default();
//! let search = slowstart_noq::Slowstart::named("cubic+search")?;
//! transport.congestion_controller_factory(Arc::new(search));
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
//!
//! Written for the trait of noq-proto 1.4, which `noq` 1 re-exports. The trait reports each packet and
//! takes a pacing rate from the controller. It does not report the end of the handshake, so a start-up
//! that jumps at once has no round-trip time to pace by: [`Slowstart::new`] refuses it.
//!
//! ## Deviations
//!
//! - Where the algorithm sets no pace, noq paces at 1.25 windows per smoothed round-trip time.

use std::any::Any;
use std::sync::Arc;
use std::time;

use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quic_core::{Capabilities, CongestionKind, Core, Pacing, SlowStartExit};
use units::{Bytes, Duration, Instant};

/// What noq 1 offers.
pub const CAPABILITIES: Capabilities = Capabilities {
    stack: "noq 1",
    pacing: Pacing::Rate,
    paces: true,
    send_times: true,
    lost_packets: true,
    handshake: false,
};

quic_core::factory!(
    CAPABILITIES,
    "noq",
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
    fn on_packet_sent(&mut self, now: time::Instant, bytes: u16, packet_number: u64) {
        let size = Bytes::new(u64::from(bytes));
        self.core.on_sent(self.time(now), size, Some(packet_number));
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, packet_number: u64, now: time::Instant) {
        let size = Bytes::new(u64::from(lost_bytes));
        self.core.on_lost(self.time(now), size, packet_number);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.core.on_spurious();
    }

    fn on_ack(
        &mut self,
        now: time::Instant,
        sent: time::Instant,
        bytes: u64,
        packet_number: u64,
        _app_limited: bool,
        _rtt: &RttEstimator,
    ) {
        let (now, sent) = (self.time(now), self.time(sent));
        self.core
            .on_acked(now, sent, Bytes::new(bytes), Some(packet_number));
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
        is_ecn: bool,
        lost_bytes: u64,
        _largest_lost: u64,
    ) {
        let kind = if is_persistent_congestion {
            CongestionKind::Timeout
        } else if is_ecn {
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
        // Bytes per second, as noq's pacer reads it.
        metrics.pacing_rate = self.core.pace().map(|pace| pace.rate.bytes_per_sec());
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

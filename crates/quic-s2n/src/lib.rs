//! slowstart's congestion controls in s2n-quic: `cubic+search`, `cubic+hystart++` and most others.
//!
//! ```
//! let search = slowstart_s2n_quic::Slowstart::named("cubic+search")?;
//! // s2n_quic::Server::builder().with_congestion_controller(search)?
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
//!
//! Written for the trait of s2n-quic 1.91 (s2n-quic-core 0.91), which is unstable: s2n-quic-core seals
//! it unless its feature `unstable-congestion-controller` is on, as it is wherever this crate is used.
//! The trait keeps a record of ours with each packet, tells packets of the handshake from others,
//! reports the losses of an ACK frame before what it acknowledges, and takes the departure time of the
//! next packet. [`Slowstart::new`] refuses an algorithm that needs more.
//!
//! s2n-quic's event `slow_start_exited` has the end of slow start: its cause and the window. What no
//! cause of s2n-quic names, such as SEARCH, is `Other`.
//!
//! ## Deviations
//!
//! - s2n-quic leaves pacing to its controllers. Where the algorithm sets no pace, this one paces as
//!   s2n-quic's own do: at 2 windows per smoothed round-trip time in slow start and at 1.25 after it,
//!   and not at all below a round-trip time of 2 ms. s2n-quic sends a packet up to 1 ms early.
//! - Packets of the handshake are in flight, and change neither the window nor a round. Their last
//!   round-trip time is that of the handshake, and the algorithm learns it when data begin to leave.
//! - No packet is sent beyond the window when recovery begins, which RFC 9002, section 7.3.2 allows.

mod pacer;

use core::time;

use quic_core::{Capabilities, CongestionKind, Core, ExitReason, Pacing, Packet};
use s2n_quic_core::event::builder::SlowStartExitCause;
use s2n_quic_core::random::Generator;
use s2n_quic_core::recovery::RttEstimator;
use s2n_quic_core::recovery::congestion_controller::{
    CongestionController, Endpoint, PathInfo, Publisher,
};
use s2n_quic_core::time::Timestamp;
use units::{Bytes, Duration, Instant};

use crate::pacer::Pacer;

/// What s2n-quic 1 offers.
pub const CAPABILITIES: Capabilities = Capabilities {
    stack: "s2n-quic 1",
    pacing: Pacing::Departure,
    paces: true,
    send_times: true,
    lost_packets: true,
    handshake: true,
};

quic_core::factory!(
    CAPABILITIES,
    "s2n-quic",
    "`with_congestion_controller` of the builders of s2n-quic"
);

impl Slowstart {
    /// The controller of a path whose datagrams carry `mtu` bytes.
    #[must_use]
    pub fn controller(&self, mtu: u16) -> SlowstartController {
        let setup = self.setup(mtu);
        SlowstartController {
            core: Self::core(setup),
            pacer: Pacer::default(),
            datagram: setup.datagram,
            epoch: None,
            in_flight: Bytes::ZERO,
            of_handshake: Bytes::ZERO,
            handshake_rtt: None,
            is_established: false,
            app_limited: true,
            newest_sent: Instant::ZERO,
            timed_out: None,
            srtt: None,
            has_exited: false,
        }
    }
}

impl Endpoint for Slowstart {
    type CongestionController = SlowstartController;

    fn new_congestion_controller(&mut self, path_info: PathInfo<'_>) -> SlowstartController {
        self.controller(path_info.max_datagram_size)
    }
}

/// What s2n-quic keeps with a packet.
#[derive(Clone, Copy, Debug)]
pub enum Record {
    /// It is of the handshake.
    Handshake,
    /// It has only an ACK, and is not congestion-controlled.
    Free,
    /// It has data.
    Data(Packet),
}

/// The congestion control of one path.
#[derive(Clone, Debug)]
pub struct SlowstartController {
    core: Core,
    pacer: Pacer,
    datagram: Bytes,
    /// When the first packet left: the time zero of the algorithm.
    epoch: Option<Timestamp>,
    in_flight: Bytes,
    /// What of it is of the handshake.
    of_handshake: Bytes,
    /// Until data leave.
    handshake_rtt: Option<Duration>,
    /// Data have left.
    is_established: bool,
    app_limited: bool,
    /// Send time of the newest packet of the last round-trip sample.
    newest_sent: Instant,
    /// The last persistent congestion, which s2n-quic reports with each of its packets.
    timed_out: Option<Instant>,
    srtt: Option<Duration>,
    has_exited: bool,
}

impl SlowstartController {
    fn time(&mut self, at: Timestamp) -> Instant {
        let epoch = *self.epoch.get_or_insert(at);
        Instant::ZERO + here(at.saturating_duration_since(epoch))
    }

    /// `size` of the handshake is no longer in flight.
    fn forget(&mut self, size: Bytes) {
        self.of_handshake = self.of_handshake.saturating_sub(size);
    }

    /// Passes the end of the first slow start on to s2n-quic's events.
    fn publish(&mut self, publisher: &mut impl Publisher) {
        if self.has_exited {
            return;
        }
        if let Some(exit) = self.core.slow_start_exit() {
            self.has_exited = true;
            let cause = match exit.reason {
                ExitReason::Loss | ExitReason::Timeout => SlowStartExitCause::PacketLoss,
                ExitReason::Ecn => SlowStartExitCause::Ecn,
                ExitReason::Delay { .. } | ExitReason::ConservativeRounds { .. } => {
                    SlowStartExitCause::Rtt
                }
                _ => SlowStartExitCause::Other,
            };
            publisher.on_slow_start_exited(cause, narrow(exit.cwnd));
        }
    }
}

impl CongestionController for SlowstartController {
    type PacketInfo = Record;

    fn congestion_window(&self) -> u32 {
        narrow(self.core.window().cwnd)
    }

    fn bytes_in_flight(&self) -> u32 {
        narrow(self.in_flight)
    }

    fn is_congestion_limited(&self) -> bool {
        self.in_flight + self.datagram > self.core.window().cwnd
    }

    fn requires_fast_retransmission(&self) -> bool {
        false
    }

    fn on_packet_sent<Pub: Publisher>(
        &mut self,
        time_sent: Timestamp,
        sent_bytes: usize,
        app_limited: Option<bool>,
        _rtt_estimator: &RttEstimator,
        _publisher: &mut Pub,
    ) -> Record {
        let now = self.time(time_sent);
        let size = wide(sent_bytes);
        self.in_flight += size;
        let Some(app_limited) = app_limited else {
            self.of_handshake += size;
            return Record::Handshake;
        };
        if size.is_zero() {
            return Record::Free;
        }
        self.app_limited = app_limited;
        if let Some(rtt) = self.handshake_rtt.take() {
            self.core.on_handshake(now, rtt);
        }
        let packet = self.core.on_packet_sent(now, size);
        self.pacer
            .on_sent(now, size, &self.core, self.srtt, self.datagram);
        self.is_established = true;
        Record::Data(packet)
    }

    fn on_rtt_update<Pub: Publisher>(
        &mut self,
        time_sent: Timestamp,
        now: Timestamp,
        rtt_estimator: &RttEstimator,
        _publisher: &mut Pub,
    ) {
        let (sent, now) = (self.time(time_sent), self.time(now));
        self.newest_sent = sent;
        self.srtt = Some(here(rtt_estimator.smoothed_rtt()));
        if !self.is_established {
            self.handshake_rtt = Some(now.saturating_since(sent));
        }
    }

    fn on_ack<Pub: Publisher>(
        &mut self,
        newest_acked_time_sent: Timestamp,
        bytes_acknowledged: usize,
        newest_acked_packet_info: Record,
        _rtt_estimator: &RttEstimator,
        _random_generator: &mut dyn Generator,
        ack_receive_time: Timestamp,
        publisher: &mut Pub,
    ) {
        let (sent, now) = (
            self.time(newest_acked_time_sent),
            self.time(ack_receive_time),
        );
        let size = wide(bytes_acknowledged);
        self.in_flight = self.in_flight.saturating_sub(size);
        match newest_acked_packet_info {
            Record::Handshake => return self.forget(size),
            Record::Data(packet) => self.core.on_packet_acked(now, &packet, size),
            Record::Free => self.core.on_acked(now, sent, size, None),
        }
        let in_flight = self.in_flight.saturating_sub(self.of_handshake);
        self.core.on_batch_end(now, in_flight, self.app_limited);
        self.publish(publisher);
    }

    fn on_packet_lost<Pub: Publisher>(
        &mut self,
        lost_bytes: u32,
        packet_info: Record,
        persistent_congestion: bool,
        _new_loss_burst: bool,
        _random_generator: &mut dyn Generator,
        timestamp: Timestamp,
        publisher: &mut Pub,
    ) {
        let now = self.time(timestamp);
        let size = Bytes::new(u64::from(lost_bytes));
        self.in_flight = self.in_flight.saturating_sub(size);
        let Record::Data(packet) = packet_info else {
            return self.forget(size);
        };
        let kind = if persistent_congestion && self.timed_out != Some(now) {
            self.timed_out = Some(now);
            CongestionKind::Timeout
        } else {
            CongestionKind::Loss
        };
        self.core.on_packet_lost(now, &packet);
        self.core.on_congestion(now, packet.sent(), kind, size);
        self.publish(publisher);
    }

    fn on_explicit_congestion<Pub: Publisher>(
        &mut self,
        _ce_count: u64,
        event_time: Timestamp,
        publisher: &mut Pub,
    ) {
        let now = self.time(event_time);
        self.core
            .on_congestion(now, self.newest_sent, CongestionKind::Ecn, Bytes::ZERO);
        self.publish(publisher);
    }

    fn on_mtu_update<Pub: Publisher>(&mut self, max_data_size: u16, _publisher: &mut Pub) {
        self.datagram = Bytes::new(u64::from(max_data_size));
        self.core.on_mtu(self.datagram);
    }

    fn on_packet_discarded<Pub: Publisher>(&mut self, bytes_sent: usize, _publisher: &mut Pub) {
        let size = wide(bytes_sent);
        self.in_flight = self.in_flight.saturating_sub(size);
        // Probes of the path's MTU leave after the keys of the handshake were discarded.
        if self.of_handshake.is_zero() {
            self.core.on_discarded(size);
        } else {
            self.forget(size);
        }
    }

    fn earliest_departure_time(&self) -> Option<Timestamp> {
        let at = self.pacer.departure(&self.core)?;
        let since = at.saturating_since(Instant::ZERO).as_nanos();
        Some(self.epoch? + time::Duration::from_nanos(since))
    }
}

fn here(span: time::Duration) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

fn wide(bytes: usize) -> Bytes {
    Bytes::new(bytes as u64)
}

fn narrow(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).unwrap_or(u32::MAX)
}

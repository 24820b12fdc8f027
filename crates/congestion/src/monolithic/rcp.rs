//! RCP: the Rate Control Protocol (Dukkipati and McKeown).
//!
//! Every packet collects the smallest rate that a router of its path offers to every flow. The
//! receiver echoes it, and the sender paces at it, from the first data on because the SYN has
//! collected a rate. There is no slow start, and a loss causes only a retransmission.
//!
//! If one router of the path does not support RCP, the flow uses slow start and Reno.
//!
//! Assumes routers that offer a rate (`network::router`), and a transport that carries it.
//!
//! # Deviations
//! - The publications assume that every router supports RCP. How a sender learns that one does not
//!   is our choice, see `units::feedback`.
//! - The window does not control the sender; two round trips at the rate bound what is in flight,
//!   where the publications have no bound.
//! - A rate below one packet per round trip is refreshed by data packets, not by the header-only
//!   packets of the publications.
//! - Lost packets are detected and retransmitted as in any other congestion control (SACK, RACK).
//!   The simulation code waits for the end and retransmits by count.

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

/// IP and TCP headers of a full segment with timestamps, and RCP's own.
const HEADERS: u64 = 52 + HEADER as u64;
pub(crate) const HEADER: u32 = 12;
/// At most this many round trips at the rate are in flight.
const ROUND_TRIPS: u64 = 2;
/// Smallest window, in segments.
const LEAST_WINDOW: u64 = 4;

settings! {
    /// RCP has no options.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RcpConfig {}
}

/// RCP.
#[derive(Clone, Debug)]
pub struct Rcp {
    /// Controls alone on a path without support.
    ordinary: Ordinary,
    smss: Bytes,
    /// The rate of the path with headers; `None` if a router does not support RCP.
    rate: Option<Rate>,
    /// Zero before the first sample.
    srtt: Duration,
}

impl Rcp {
    /// A new connection.
    #[must_use]
    pub fn new(_config: RcpConfig, context: &BuildContext) -> Self {
        Self {
            ordinary: super::ordinary(context),
            smss: context.smss.max(Bytes::new(1)),
            rate: None,
            srtt: context.handshake_rtt.unwrap_or(Duration::ZERO),
        }
    }
}

own_hooks! {
    ($) own: needs window pacing_rate requires_pacing paces_first_segments reduces_by_deliveries
        on_mtu header_bytes feedback on_feedback on_delivery on_ack on_congestion
}

impl CongestionControl for Rcp {
    // `ordinary` implements all other hooks.
    congestion_control_hooks!(delegate!(ordinary but own));

    fn needs(&self) -> Needs {
        Needs {
            pacing: true,
            ..self.ordinary.needs()
        }
    }

    fn on_mtu(&mut self, now: Instant, smss: Bytes) {
        self.smss = smss.max(Bytes::new(1));
        self.ordinary.on_mtu(now, smss);
    }

    fn window(&self) -> Window {
        let Some(rate) = self.rate else {
            return self.ordinary.window();
        };
        let packet = self.smss + Bytes::new(HEADERS);
        let segments = rate.bytes_in(self.srtt * ROUND_TRIPS).segments(packet);
        Window {
            cwnd: self.smss * segments.max(LEAST_WINDOW),
            ssthresh: Bytes::MAX,
            smss: self.smss,
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let payload = self.smss.get();
        self.rate
            .map(|rate| rate.mul_div(payload, payload + HEADERS))
    }

    fn requires_pacing(&self) -> bool {
        self.rate.is_some()
    }

    fn paces_first_segments(&self) -> bool {
        true
    }

    fn header_bytes(&self) -> Option<u32> {
        Some(HEADER)
    }

    fn feedback(&self) -> Option<Feedback> {
        Some(Feedback::Rcp {
            rate: Rate::MAX,
            rtt: self.srtt,
            ttl: HOST_TTL,
        })
    }

    fn on_feedback(&mut self, _now: Instant, feedback: &Feedback) {
        if let Feedback::RcpEcho { rate } = feedback {
            self.rate = *rate;
        }
    }

    fn on_delivery(&mut self, ack: &Ack) {
        if self.rate.is_none() {
            self.ordinary.on_delivery(ack);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        if self.rate.is_none() {
            self.ordinary.on_ack(ack);
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        if self.rate.is_none() {
            self.ordinary.on_congestion(congestion);
        }
    }
}

//! The report of a run.

use measure::{LinkResult, LinkTrace};
use network::Counters;
use units::{Duration, Instant};

use crate::check::SelfCheck;
use crate::flows::{Delivery, Drop, FlowFacts};
use crate::link::LinkState;
use crate::side::Direction;

/// One link of a run.
#[derive(Clone, Debug)]
pub struct LinkReport {
    /// The link's entry in a result document.
    pub result: LinkResult,
    /// All counters.
    pub counters: Counters,
    /// Packets inside the link at the end.
    pub held: u64,
    /// When the first packet was offered.
    pub first_packet: Option<Instant>,
    /// Start and end of each busy period that lasted at least one base RTT, in order; the last is
    /// cut off at the end of the run.
    pub busy_periods: Vec<(Instant, Instant)>,
    /// The queue over time, on request.
    pub trace: Option<LinkTrace>,
}

impl LinkReport {
    pub(crate) fn new(mut state: LinkState, end: Instant) -> Self {
        let summary = state.link.summary(end);
        let counters = summary.counters;
        Self {
            result: LinkResult {
                name: state.link.name().to_owned(),
                utilization: summary.utilization,
                packets: counters.packets_out,
                drops: counters.dropped(),
                marks: counters.marks,
                queue_max_packets: summary.queue_max_packets,
                queue_mean_packets: summary.queue_mean_packets,
                queue_distribution: None,
            },
            counters,
            held: state.link.held(),
            first_packet: state.link.first_packet(),
            busy_periods: state.periods,
            trace: state.trace,
        }
    }

    /// Whether every packet is accounted for.
    #[must_use]
    pub const fn conserved(&self) -> bool {
        self.counters.conserve(self.held)
    }

    /// When a flow that began at `start` reached the capacity of the link: the first moment, no
    /// earlier than `start`, from which the link stays busy for `base_rtt`.
    #[must_use]
    pub fn capacity_reached(&self, start: Instant, base_rtt: Duration) -> Option<Instant> {
        self.busy_periods
            .iter()
            .map(|&(since, until)| (since.max(start), until))
            .find(|&(since, until)| until.saturating_since(since) >= base_rtt)
            .map(|(since, _)| since)
    }
}

/// The report of a run. Instants are since the run began.
#[derive(Clone, Debug)]
pub struct Report {
    /// CLOCK_MONOTONIC when the run began, in nanoseconds: the time base shared with other
    /// programs.
    pub zero_monotonic_nanos: u64,
    /// When the run ended.
    pub end: Instant,
    /// The link that carries the data.
    pub forward: LinkReport,
    /// The link that carries the ACKs.
    pub reverse: LinkReport,
    /// Each connection, in each direction, in the order of first packets.
    pub flows: Vec<FlowFacts>,
    /// Each drop of an offered packet, in order (the first four million).
    pub drops: Vec<Drop>,
    /// Number of drops beyond these.
    pub drops_not_kept: u64,
    /// Deliveries of packets with payload, in order, on request.
    pub deliveries: Vec<Delivery>,
    /// The timing self-check.
    pub check: SelfCheck,
}

impl Report {
    /// One of the links.
    #[must_use]
    pub const fn link(&self, direction: Direction) -> &LinkReport {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Reverse => &self.reverse,
        }
    }
}

//! What a run leaves.

use measure::{LinkResult, LinkTrace};
use network::Counters;
use units::{Duration, Instant};

use crate::flows::{Delivery, Drop, FlowFacts};
use crate::link::LinkState;
use crate::{Direction, SelfCheck};

/// One link of a run.
#[derive(Clone, Debug)]
pub struct LinkReport {
    /// As in every result document.
    pub result: LinkResult,
    /// All that was counted.
    pub counters: Counters,
    /// Packets that were inside at the end.
    pub held: u64,
    /// When the first packet was offered.
    pub first_packet: Option<Instant>,
    /// Beginning and end of each busy period that lasted at least one base RTT, in order; the last
    /// is cut at the end of the run.
    pub busy_periods: Vec<(Instant, Instant)>,
    /// The queue over time, where asked for.
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

    /// When a flow that began at `start` reached the capacity of the link: the first moment from
    /// which the link stays busy for `base_rtt`, no earlier than the flow.
    #[must_use]
    pub fn capacity_reached(&self, start: Instant, base_rtt: Duration) -> Option<Instant> {
        self.busy_periods
            .iter()
            .map(|&(since, until)| (since.max(start), until))
            .find(|&(since, until)| until.saturating_since(since) >= base_rtt)
            .map(|(since, _)| since)
    }
}

/// What a run leaves. Instants are since the run began.
#[derive(Clone, Debug)]
pub struct Report {
    /// CLOCK_MONOTONIC when the run began, in nanoseconds: the time base shared with others.
    pub zero_monotonic_nanos: u64,
    /// When it ended.
    pub end: Instant,
    /// The link of the data.
    pub forward: LinkReport,
    /// The link of the ACKs.
    pub reverse: LinkReport,
    /// Each connection, in each direction, in the order of first packets.
    pub flows: Vec<FlowFacts>,
    /// Each drop of a packet that was offered, in order (of the first four million).
    pub drops: Vec<Drop>,
    /// Drops after those.
    pub drops_not_kept: u64,
    /// Deliveries of packets with payload, in order, where asked for.
    pub deliveries: Vec<Delivery>,
    /// Whether to believe it.
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

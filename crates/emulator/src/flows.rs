//! Facts about each connection that only the network knows: when its packets arrived, which of them
//! were dropped, and the latency of the others.
//!
//! Memory is bounded: a limited number of flows, drops and deliveries is kept.

use std::collections::BTreeMap;

use network::{Admission, DropReason};
use units::{Duration, Instant};

use crate::packet::{FlowKey, Headers};
use crate::side::Direction;

/// What the network observed of one connection in one direction. Times are since the run began.
#[derive(Clone, Copy, Debug)]
pub struct FlowFacts {
    /// The connection and its direction.
    pub key: FlowKey,
    /// The link that they were offered to.
    pub direction: Direction,
    /// When the first packet was offered: for TCP, when the SYN (or SYN-ACK) left.
    pub first_packet: Instant,
    /// Packets offered, of any kind.
    pub packets: u64,
    /// Packets with payload among them.
    pub data_packets: u64,
    /// Bytes of payload offered, retransmissions included.
    pub data_bytes: u64,
    /// Retransmitted TCP segments: their payload began below the highest sequence number seen.
    pub retransmitted: u64,
    /// Packets with payload that were dropped.
    pub data_drops: u64,
    /// When the first of these was dropped.
    pub first_data_drop: Option<Instant>,
    /// The end of the highest TCP segment.
    highest: Option<u32>,
}

/// A packet that the network dropped.
#[derive(Clone, Copy, Debug)]
pub struct Drop {
    /// When it was dropped.
    pub at: Instant,
    /// The link that dropped it.
    pub direction: Direction,
    /// The reason.
    pub reason: DropReason,
    /// Its connection; `None` for a packet that is neither TCP nor UDP over IPv4.
    pub key: Option<FlowKey>,
    /// TCP sequence number; zero for other protocols.
    pub seq: u32,
    /// Bytes of payload.
    pub payload: u32,
}

/// A packet with payload that the network delivered.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// When it was due.
    pub due: Instant,
    /// One-way latency: the time from being offered to being due.
    pub latency: Duration,
    /// Index of its flow in [`crate::Report::flows`].
    pub flow: u32,
    /// Bytes of payload.
    pub payload: u32,
}

/// No flow: neither TCP nor UDP, or beyond the limit.
pub(crate) const NO_FLOW: u32 = u32::MAX;

const MOST_FLOWS: usize = 65_536;
const MOST_DROPS: usize = 4_000_000;
const MOST_DELIVERIES: usize = 40_000_000;

/// The flows, drops and deliveries of a run.
#[derive(Debug, Default)]
pub(crate) struct FlowLog {
    index: BTreeMap<FlowKey, u32>,
    /// The flow of the last packet in each direction: most packets belong to the same flow as the
    /// one before.
    last: [Option<(FlowKey, u32)>; 2],
    pub(crate) flows: Vec<FlowFacts>,
    pub(crate) drops: Vec<Drop>,
    pub(crate) drops_not_kept: u64,
    /// Kept on request.
    pub(crate) deliveries: Option<Vec<Delivery>>,
}

impl FlowLog {
    pub(crate) fn new(deliveries: bool) -> Self {
        Self {
            deliveries: deliveries.then(Vec::new),
            ..Self::default()
        }
    }

    /// The flow of a packet, created by its first packet; [`NO_FLOW`] where it has none.
    pub(crate) fn find_flow(
        &mut self,
        now: Instant,
        direction: Direction,
        headers: Option<&Headers>,
    ) -> u32 {
        headers.map_or(NO_FLOW, |headers| self.find(now, direction, headers.key))
    }

    /// A packet of `flow` was offered to a link.
    pub(crate) fn offered(
        &mut self,
        now: Instant,
        direction: Direction,
        flow: u32,
        headers: Option<&Headers>,
        admission: Admission,
    ) {
        if let Admission::Dropped(reason) = admission {
            self.note_drop(now, direction, headers, reason);
        }
        let (Some(headers), Some(facts)) = (headers, self.flows.get_mut(flow as usize)) else {
            return;
        };
        facts.packets += 1;
        if headers.payload > 0 {
            facts.data_packets += 1;
            facts.data_bytes += u64::from(headers.payload);
            if let Some(tcp) = headers.tcp {
                let end = tcp.seq.wrapping_add(headers.payload);
                match facts.highest {
                    // Sequence numbers are compared modulo 2^32 (RFC 9293, section 3.4).
                    Some(highest) if tcp.seq.wrapping_sub(highest) as i32 >= 0 => {
                        facts.highest = Some(end);
                    }
                    Some(highest) => {
                        facts.retransmitted += 1;
                        if end.wrapping_sub(highest) as i32 > 0 {
                            facts.highest = Some(end);
                        }
                    }
                    None => facts.highest = Some(end),
                }
            }
            if admission != Admission::Accepted {
                facts.data_drops += 1;
                facts.first_data_drop.get_or_insert(now);
            }
        }
    }

    /// An accepted packet of `flow` was dropped.
    pub(crate) fn dropped(
        &mut self,
        at: Instant,
        direction: Direction,
        flow: u32,
        headers: Option<&Headers>,
        reason: DropReason,
    ) {
        self.note_drop(at, direction, headers, reason);
        if let (Some(headers), Some(facts)) = (headers, self.flows.get_mut(flow as usize))
            && headers.payload > 0
        {
            facts.data_drops += 1;
            facts.first_data_drop.get_or_insert(at);
        }
    }

    fn find(&mut self, now: Instant, direction: Direction, key: FlowKey) -> u32 {
        if let Some((last, flow)) = self.last[direction.index()]
            && last == key
        {
            return flow;
        }
        let flow = match self.index.get(&key) {
            Some(&flow) => flow,
            None if self.flows.len() < MOST_FLOWS => {
                let flow = self.flows.len() as u32;
                self.index.insert(key, flow);
                self.flows.push(FlowFacts {
                    key,
                    direction,
                    first_packet: now,
                    packets: 0,
                    data_packets: 0,
                    data_bytes: 0,
                    retransmitted: 0,
                    data_drops: 0,
                    first_data_drop: None,
                    highest: None,
                });
                flow
            }
            None => return NO_FLOW,
        };
        self.last[direction.index()] = Some((key, flow));
        flow
    }

    #[cold]
    fn note_drop(
        &mut self,
        at: Instant,
        direction: Direction,
        headers: Option<&Headers>,
        reason: DropReason,
    ) {
        if self.drops.len() >= MOST_DROPS {
            self.drops_not_kept += 1;
            return;
        }
        self.drops.push(Drop {
            at,
            direction,
            reason,
            key: headers.map(|headers| headers.key),
            seq: headers
                .and_then(|headers| headers.tcp)
                .map_or(0, |tcp| tcp.seq),
            payload: headers.map_or(0, |headers| headers.payload),
        });
    }

    pub(crate) fn delivered(&mut self, due: Instant, latency: Duration, flow: u32, payload: u32) {
        if let Some(deliveries) = &mut self.deliveries
            && flow != NO_FLOW
            && payload > 0
            && deliveries.len() < MOST_DELIVERIES
        {
            deliveries.push(Delivery {
                due,
                latency,
                flow,
                payload,
            });
        }
    }
}

//! The path of each packet of a flow: when it left one host, and when it reached the other.

use std::collections::{BTreeMap, VecDeque};

use measure::{PacketKind, PacketRecord, PacketTrace, Vantage};
use serde::Serialize;

/// The packets of a flow in the order in which they left. Times are in microseconds; a packet that
/// did not arrive has none.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Journeys {
    /// Index of the flow in the scenario.
    flow: u32,
    /// Payload of a full segment.
    smss_bytes: u64,
    /// Data: when it left the sender.
    sent_us: Vec<u64>,
    /// When it reached the receiver.
    arrived_us: Vec<Option<u64>>,
    /// Offset of its first byte.
    offset: Vec<u64>,
    /// Payload.
    amount: Vec<u32>,
    /// ACKs: when one left the receiver.
    ack_sent_us: Vec<u64>,
    /// When it reached the sender.
    ack_arrived_us: Vec<Option<u64>>,
    /// The next byte that it expects.
    ack: Vec<u64>,
}

/// What makes two records those of one packet.
type Key = (u64, u32, (u32, u32), [(u64, u64); 3]);

const fn key(record: &PacketRecord) -> Key {
    (record.offset, record.amount, record.timestamps, record.sack)
}

impl Journeys {
    /// The packets of `trace`, without its handshake.
    #[must_use]
    pub fn of(trace: &PacketTrace) -> Self {
        let data = Pairs::of(trace, PacketKind::Data, Vantage::Sender);
        let acks = Pairs::of(trace, PacketKind::Ack, Vantage::Receiver);
        Self {
            flow: trace.flow,
            smss_bytes: trace.smss.get(),
            offset: data.records.iter().map(|record| record.offset).collect(),
            amount: data.records.iter().map(|record| record.amount).collect(),
            ack: acks.records.iter().map(|record| record.offset).collect(),
            sent_us: data.left(),
            arrived_us: data.arrived,
            ack_sent_us: acks.left(),
            ack_arrived_us: acks.arrived,
        }
    }
}

/// Records of packets that left a host, with their arrivals.
struct Pairs<'a> {
    records: Vec<&'a PacketRecord>,
    arrived: Vec<Option<u64>>,
}

impl<'a> Pairs<'a> {
    fn of(trace: &'a PacketTrace, kind: PacketKind, from: Vantage) -> Self {
        let records = trace.packets.iter().filter(|record| record.kind == kind);
        let (left, reached): (Vec<_>, Vec<_>) = records.partition(|record| record.seen_by == from);
        let mut arrivals: BTreeMap<Key, VecDeque<u64>> = BTreeMap::new();
        for record in reached {
            let times = arrivals.entry(key(record)).or_default();
            times.push_back(micros(record));
        }
        let arrived = left.iter().map(|record| {
            let times = arrivals.get_mut(&key(record))?;
            times.pop_front()
        });
        let arrived = arrived.collect();
        Self {
            records: left,
            arrived,
        }
    }

    fn left(&self) -> Vec<u64> {
        self.records.iter().map(|record| micros(record)).collect()
    }
}

fn micros(record: &PacketRecord) -> u64 {
    record.at.as_nanos() / 1_000
}

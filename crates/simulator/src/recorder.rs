//! What a run records besides its results: the packets of measured flows at both of their hosts,
//! and which flows have no capacity point yet.

use measure::{Limit, PacketKind, PacketRecord, PacketTrace, Vantage};
use network::Ecn;
use tcp::segment::{AckSegment, DataSegment};
use units::{Bytes, Instant};

use crate::RunOptions;

/// The records of a run.
#[derive(Debug)]
pub struct Recorder {
    traced: bool,
    /// The packets of each measured flow, if they are recorded.
    packets: Option<Vec<Recorded>>,
    /// Running flows whose capacity point is not known yet, and some that have ended.
    unresolved: Vec<u32>,
}

/// What is recorded of a flow.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    packets: Vec<PacketRecord>,
    limits: Vec<(Instant, Limit)>,
}

impl Recorder {
    /// The records that `options` ask for, of `flows` measured flows.
    pub fn new(options: &RunOptions, flows: usize) -> Self {
        Self {
            traced: options.traces,
            packets: options.packets.then(|| vec![Recorded::default(); flows]),
            unresolved: Vec::new(),
        }
    }

    /// Whether time series are recorded.
    pub const fn is_traced(&self) -> bool {
        self.traced
    }

    /// Whether packets are recorded.
    pub const fn has_packets(&self) -> bool {
        self.packets.is_some()
    }

    /// The records of a measured flow, if packets are recorded.
    pub fn of_flow(&mut self, flow: u32) -> Option<&mut Recorded> {
        self.packets.as_mut()?.get_mut(flow as usize)
    }

    /// The capacity point of a flow that starts is not known.
    pub fn await_capacity(&mut self, flow: u32) {
        self.unresolved.push(flow);
    }

    /// Asks of each flow without a capacity point whether that is still so.
    pub fn keep_unresolved(&mut self, mut keep: impl FnMut(u32) -> bool) {
        self.unresolved.retain(|&flow| keep(flow));
    }

    /// The packets that were recorded, without flows that left none; `smss` is the full segment of
    /// a flow.
    pub fn take_packets(&mut self, smss: impl Fn(u32) -> u16) -> Vec<PacketTrace> {
        let recorded = self.packets.take().unwrap_or_default();
        let numbered = (0..).zip(recorded);
        numbered
            .filter(|(_, recorded)| !recorded.packets.is_empty())
            .map(|(flow, recorded)| PacketTrace {
                flow,
                smss: Bytes::new(smss(flow).into()),
                packets: recorded.packets,
                limits: recorded.limits,
            })
            .collect()
    }
}

impl Recorded {
    /// What limits a sender that has nothing to send now.
    pub fn see_limit(&mut self, now: Instant, limit: tcp::Limit) {
        let limit = match limit {
            tcp::Limit::CongestionWindow => Limit::CongestionWindow,
            tcp::Limit::ReceiveWindow => Limit::ReceiveWindow,
            tcp::Limit::Application => Limit::Application,
            tcp::Limit::Pacing => Limit::Pacing,
            tcp::Limit::Recovery => Limit::Recovery,
        };
        if self.limits.last().is_none_or(|(_, last)| *last != limit) {
            self.limits.push((now, limit));
        }
    }

    /// A data segment or SYN leaves or arrives.
    pub fn see_data(&mut self, at: Instant, data: &DataSegment, ecn: Ecn, seen_by: Vantage) {
        self.packets.push(PacketRecord {
            kind: if data.syn {
                PacketKind::Syn
            } else {
                PacketKind::Data
            },
            offset: data.seq,
            amount: data.len,
            timestamps: (data.ts_val, data.ts_ecr),
            fin: data.fin,
            psh: data.psh,
            cwr: data.cwr,
            ecn: (ecn != Ecn::NotEct, ecn == Ecn::Ce),
            ..third(at, seen_by)
        });
    }

    /// The third segment of the handshake leaves or arrives.
    pub fn see_third(&mut self, at: Instant, seen_by: Vantage) {
        self.packets.push(third(at, seen_by));
    }

    /// An ACK leaves or arrives.
    pub fn see_ack(&mut self, at: Instant, ack: &AckSegment, seen_by: Vantage) {
        let mut sack = [(0, 0); 3];
        for (place, block) in sack.iter_mut().zip(ack.sack.iter(ack.ack)) {
            *place = block;
        }
        self.packets.push(PacketRecord {
            kind: if ack.syn {
                PacketKind::SynAck
            } else {
                PacketKind::Ack
            },
            offset: ack.ack,
            amount: ack.window,
            timestamps: (ack.ts_val, ack.ts_ecr),
            sack,
            ece: ack.ece,
            ..third(at, seen_by)
        });
    }
}

/// The record of a third segment of the handshake.
const fn third(at: Instant, seen_by: Vantage) -> PacketRecord {
    PacketRecord {
        at,
        seen_by,
        kind: PacketKind::ThirdAck,
        offset: 0,
        amount: 0,
        timestamps: (0, 0),
        sack: [(0, 0); 3],
        fin: false,
        psh: false,
        cwr: false,
        ece: false,
        ecn: (false, false),
    }
}

//! Records the packets of measured flows at both of their hosts.

use measure::{Limit, PacketKind, PacketRecord, PacketTrace, Vantage};
use network::Ecn;
use tcp::segment::{AckSegment, DataSegment};
use units::{Bytes, Instant};

use super::World;
use crate::carried::Carried;
use crate::numbers::BACKGROUND;

/// What is recorded of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorded {
    packets: Vec<PacketRecord>,
    limits: Vec<(Instant, Limit)>,
}

impl World<'_> {
    /// The records of a flow whose packets are recorded.
    fn records_of(&mut self, flow: u32) -> Option<&mut Vec<PacketRecord>> {
        self.recorded(flow).map(|recorded| &mut recorded.packets)
    }

    /// Records what limits a sender that has nothing to send now.
    #[cold]
    pub(super) fn note_limit(&mut self, flow: u32) {
        let now = self.now;
        if self.packets.is_none() {
            return;
        }
        let Some(endpoints) = self.endpoints(flow) else {
            return;
        };
        let Some(limit) = endpoints.sender.limit() else {
            return;
        };
        let limit = match limit {
            tcp::Limit::CongestionWindow => Limit::CongestionWindow,
            tcp::Limit::ReceiveWindow => Limit::ReceiveWindow,
            tcp::Limit::Application => Limit::Application,
            tcp::Limit::Pacing => Limit::Pacing,
            tcp::Limit::Recovery => Limit::Recovery,
        };
        if let Some(Recorded { limits, .. }) = self.recorded(flow)
            && limits.last().is_none_or(|(_, last)| *last != limit)
        {
            limits.push((now, limit));
        }
    }

    fn recorded(&mut self, flow: u32) -> Option<&mut Recorded> {
        let packets = self.packets.as_mut()?;
        if flow & BACKGROUND != 0 {
            return None;
        }
        let state = &self.flows.measured[flow as usize];
        let is_split = state.relay.is_some() || state.peer.is_some();
        packets.get_mut(flow as usize).filter(|_| !is_split)
    }

    fn see_data(&mut self, flow: u32, data: &DataSegment, ecn: Ecn, seen_by: Vantage) {
        let at = self.now;
        let Some(records) = self.records_of(flow) else {
            return;
        };
        records.push(PacketRecord {
            at,
            seen_by,
            kind: if data.syn {
                PacketKind::Syn
            } else {
                PacketKind::Data
            },
            offset: data.seq,
            amount: data.len,
            timestamps: (data.ts_val, data.ts_ecr),
            sack: [(0, 0); 3],
            fin: data.fin,
            psh: data.psh,
            cwr: data.cwr,
            ece: false,
            ecn: (ecn != Ecn::NotEct, ecn == Ecn::Ce),
        });
    }

    /// A segment leaves the sender.
    #[cold]
    pub(super) fn see_data_leave(&mut self, flow: u32, data: &DataSegment, ecn: Ecn) {
        self.see_data(flow, data, ecn, Vantage::Sender);
    }

    /// A segment reaches the receiver.
    #[cold]
    pub(super) fn see_data_arrive(&mut self, flow: u32, carried: &Carried, ecn: Ecn) {
        if carried.is_handshake_ack() {
            self.see_third_at(flow, Vantage::Receiver);
        } else {
            self.see_data(flow, &carried.data_segment(), ecn, Vantage::Receiver);
        }
    }

    /// The third segment of the handshake leaves the sender.
    #[cold]
    pub(super) fn see_third(&mut self, flow: u32) {
        self.see_third_at(flow, Vantage::Sender);
    }

    fn see_third_at(&mut self, flow: u32, seen_by: Vantage) {
        let at = self.now;
        let Some(records) = self.records_of(flow) else {
            return;
        };
        records.push(PacketRecord {
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
        });
    }

    /// An ACK leaves the receiver or reaches the sender.
    #[cold]
    pub(super) fn see_ack(&mut self, flow: u32, ack: &AckSegment, seen_by: Vantage) {
        let at = self.now;
        let Some(records) = self.records_of(flow) else {
            return;
        };
        let mut sack = [(0, 0); 3];
        for (place, block) in sack.iter_mut().zip(ack.sack.iter(ack.ack)) {
            *place = block;
        }
        records.push(PacketRecord {
            at,
            seen_by,
            kind: if ack.syn {
                PacketKind::SynAck
            } else {
                PacketKind::Ack
            },
            offset: ack.ack,
            amount: ack.window,
            timestamps: (ack.ts_val, ack.ts_ecr),
            sack,
            fin: false,
            psh: false,
            cwr: false,
            ece: ack.ece,
            ecn: (false, false),
        });
    }

    /// What was recorded, without flows that left nothing.
    pub(super) fn take_packets(&mut self) -> Vec<PacketTrace> {
        let recorded = self.packets.take().unwrap_or_default();
        let numbered = (0..).zip(recorded);
        numbered
            .filter(|(_, recorded)| !recorded.packets.is_empty())
            .map(|(flow, recorded)| PacketTrace {
                flow,
                smss: Bytes::new(self.flows.measured[flow as usize].smss().into()),
                packets: recorded.packets,
                limits: recorded.limits,
            })
            .collect()
    }
}

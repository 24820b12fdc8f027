//! Which packets the recorder sees: those of measured flows, at both of their hosts.

use measure::Vantage;
use network::Ecn;
use tcp::segment::{AckSegment, DataSegment};

use super::World;
use crate::carried::Carried;
use crate::numbers::BACKGROUND;
use crate::recorder::Recorded;

impl World<'_> {
    /// The records of a flow whose packets are recorded.
    fn recorded(&mut self, flow: u32) -> Option<&mut Recorded> {
        if !self.recorder.has_packets() || flow & BACKGROUND != 0 {
            return None;
        }
        let state = &self.flows.measured[flow as usize];
        let is_split = state.member().is_some();
        self.recorder.of_flow(flow).filter(|_| !is_split)
    }

    /// Records what limits a sender that has nothing to send now.
    #[cold]
    pub(super) fn note_limit(&mut self, flow: u32) {
        let now = self.now;
        if !self.recorder.has_packets() {
            return;
        }
        let limit = self.endpoints(flow).and_then(|it| it.sender().limit());
        if let Some(limit) = limit
            && let Some(recorded) = self.recorded(flow)
        {
            recorded.see_limit(now, limit);
        }
    }

    /// A segment leaves the sender.
    #[cold]
    pub(super) fn see_data_leave(&mut self, flow: u32, data: &DataSegment, ecn: Ecn) {
        let now = self.now;
        if let Some(recorded) = self.recorded(flow) {
            recorded.see_data(now, data, ecn, Vantage::Sender);
        }
    }

    /// A segment reaches the receiver.
    #[cold]
    pub(super) fn see_data_arrive(&mut self, flow: u32, carried: &Carried, ecn: Ecn) {
        let now = self.now;
        let Some(recorded) = self.recorded(flow) else {
            return;
        };
        if carried.is_handshake_ack() {
            recorded.see_third(now, Vantage::Receiver);
        } else {
            recorded.see_data(now, &carried.data_segment(), ecn, Vantage::Receiver);
        }
    }

    /// The third segment of the handshake leaves the sender.
    #[cold]
    pub(super) fn see_third(&mut self, flow: u32) {
        let now = self.now;
        if let Some(recorded) = self.recorded(flow) {
            recorded.see_third(now, Vantage::Sender);
        }
    }

    /// An ACK leaves the receiver or reaches the sender.
    #[cold]
    pub(super) fn see_ack(&mut self, flow: u32, ack: &AckSegment, seen_by: Vantage) {
        let now = self.now;
        if let Some(recorded) = self.recorded(flow) {
            recorded.see_ack(now, ack, seen_by);
        }
    }
}

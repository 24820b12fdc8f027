//! Router feedback in packets: requests of senders, answers of routers, echoes of receivers.

use network::Packet;
use tcp::segment::{AckSegment, DataSegment};
use workload::Side;

use super::World;
use crate::carried::Carried;
use crate::connection::Member;

impl World<'_> {
    /// Passes the router feedback of an arrived packet to its host.
    #[cold]
    #[inline(never)]
    pub(super) fn hand_over(&mut self, flow: u32, mut carried: Carried) {
        let (now, ttl) = (self.now, self.fabric.ttl_at(carried.hop()));
        if carried.is_ack() && self.is_syn_ack_of_both(flow) {
            return self.note_request(flow, carried);
        }
        let (Some(feedback), Some(endpoints)) =
            (carried.detach(self.fabric.aside()), self.endpoints(flow))
        else {
            return;
        };
        if carried.is_ack() {
            endpoints.sender().handle_feedback(now, feedback);
        } else {
            endpoints.receiver().handle_feedback(&feedback, ttl);
        }
    }

    /// Attaches the sender's request to routers to a packet of `data`.
    #[cold]
    #[inline(never)]
    pub(super) fn ask(&mut self, data: &DataSegment, packet: &mut Packet<Carried>) {
        let now = self.now;
        let endpoints = self.endpoints(packet.flow);
        let feedback = endpoints.and_then(|endpoints| endpoints.sender().feedback(now, data));
        packet.size += packet.payload.attach(feedback, self.fabric.aside());
    }

    /// Whether an ACK for `flow` that arrives now is the SYN-ACK of a connection in which both
    /// sides write.
    fn is_syn_ack_of_both(&mut self, flow: u32) -> bool {
        let state = self.flows.get_mut(flow);
        let opens = |it: &Member| it.side() == Side::Initiator;
        state.conversation().is_some()
            && state.member().is_some_and(opens)
            && state
                .endpoints_mut()
                .is_some_and(|it| !it.sender().is_established())
    }

    /// The SYN-ACK of a connection in which both sides write has arrived with the request of the
    /// acceptor to routers.
    fn note_request(&mut self, flow: u32, mut syn_ack: Carried) {
        let ttl = self.fabric.ttl_at(syn_ack.hop());
        let peer = self.flows.get_mut(flow).peer();
        let feedback = syn_ack.detach(self.fabric.aside());
        if let (Some(feedback), Some(peer)) = (feedback, peer)
            && let Some(endpoints) = self.endpoints(peer)
        {
            endpoints.receiver().handle_feedback(&feedback, ttl);
        }
    }

    /// Attaches the receiver's echo of router feedback to an ACK. A packet has room for one: the
    /// SYN-ACK of a connection in which both sides write carries the request of the acceptor, and
    /// no answer to the initiator.
    #[cold]
    #[inline(never)]
    pub(super) fn echo(&mut self, ack: &AckSegment, packet: &mut Packet<Carried>) {
        let peer = self.flows.get_mut(packet.flow).peer();
        if ack.syn
            && let Some(peer) = peer
        {
            let endpoints = self.endpoints(peer);
            let feedback = endpoints.and_then(|endpoints| endpoints.sender().syn_ack_feedback());
            packet.size += packet.payload.attach(feedback, self.fabric.aside());
            return;
        }
        let endpoints = self.endpoints(packet.flow);
        let feedback = endpoints.and_then(|endpoints| endpoints.receiver().feedback(ack));
        packet.size += packet.payload.attach(feedback, self.fabric.aside());
    }
}

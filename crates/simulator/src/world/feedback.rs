//! Router feedback in packets: requests of senders, answers of routers, echoes of receivers.

use network::Packet;
use tcp::segment::{AckSegment, DataSegment};
use units::Instant;
use units::feedback::HOST_TTL;

use super::World;
use crate::carried::{Aside, Carried};
use crate::links::LinkState;
use crate::routes::Hop;

impl World<'_> {
    /// Passes the router feedback of an arrived packet to its host.
    #[cold]
    #[inline(never)]
    pub(super) fn hand_over(&mut self, flow: u32, mut carried: Carried) {
        let (now, ttl) = (self.now, self.ttl_at(carried.hop()));
        let (Some(feedback), Some(endpoints)) =
            (carried.detach(&mut self.aside), self.endpoints(flow))
        else {
            return;
        };
        if carried.is_ack() {
            endpoints.sender.handle_feedback(now, feedback);
        } else {
            endpoints.receiver.handle_feedback(&feedback, ttl);
        }
    }

    /// The TTL of a packet that arrives over its last hop: each router but those at the edge of the
    /// network has decreased it.
    fn ttl_at(&self, last: Hop) -> u8 {
        let links = self.routes.links_to(last);
        let hops = links.filter(|&link| self.links[link as usize].is_hop);
        HOST_TTL.wrapping_sub(hops.count() as u8)
    }

    /// Attaches the sender's request to routers to a packet of `data`.
    #[cold]
    #[inline(never)]
    pub(super) fn ask(&mut self, data: &DataSegment, packet: &mut Packet<Carried>) {
        let now = self.now;
        let endpoints = self.endpoints(packet.flow);
        let feedback = endpoints.and_then(|endpoints| endpoints.sender.feedback(now, data));
        packet.size += packet.payload.attach(feedback, &mut self.aside);
    }

    /// Attaches the receiver's echo of router feedback to an ACK.
    #[cold]
    #[inline(never)]
    pub(super) fn echo(&mut self, ack: &AckSegment, packet: &mut Packet<Carried>) {
        let endpoints = self.endpoints(packet.flow);
        let feedback = endpoints.and_then(|endpoints| endpoints.receiver.feedback(ack));
        packet.size += packet.payload.attach(feedback, &mut self.aside);
    }
}

/// Shows a packet to the router in front of a link.
#[cold]
#[inline(never)]
pub(super) fn consult(
    state: &mut LinkState,
    packet: &Packet<Carried>,
    now: Instant,
    aside: &mut Aside,
) {
    state.watch(now);
    if let Some(router) = &mut state.router {
        let size = u64::from(packet.size) + u64::from(state.link.overhead());
        let feedback = packet.payload.feedback_mut(aside);
        router.on_arrival(now, size, &mut state.link, feedback);
    }
}

//! The hops of packets that lie in the agenda ([`crate::in_flight`]): each goes from one link to the next
//! one in its place, and to its host behind the last one.

use units::Instant;

use super::{NANO, World};
use crate::agenda::{Position, Side};
use crate::fabric::FORWARD;

impl World<'_> {
    /// Handles packets that lie in the agenda, the next one first: those that leave their links before
    /// `until`, before which nothing else is scheduled, up to one that causes more than that another link
    /// has it.
    #[inline(never)]
    pub(super) fn packets_arrive(&mut self, side: Side, until: Instant) {
        while let Some((position, place)) = self.agendas.pop_before(side, until) {
            self.now = position.at;
            self.turns.position = position;
            if !self.leaves_link(place, side, until) {
                return;
            }
        }
    }

    /// Handles the next of the packets that lie in the agenda, where something else acts at the same
    /// time.
    #[cold]
    #[inline(never)]
    pub(super) fn packet_of_equals_arrives(&mut self, side: Side, position: Position) {
        self.now = position.at;
        self.turns.position = position;
        if let Some((_, place)) = self.agendas.pop_before(side, self.now + NANO) {
            self.leaves_link(place, side, self.now);
        }
    }

    /// A packet leaves a link that keeps none, and enters the next one or reaches its host. Returns
    /// whether this has changed nothing but what lies in the agenda. Nothing but packets is scheduled on
    /// this side before `until`.
    #[inline(always)]
    fn leaves_link(&mut self, place: u32, side: Side, until: Instant) -> bool {
        let now = self.now;
        let packet = self.agendas.packet(place);
        let Some(mut link) = self.fabric.routes().behind(packet.payload.hop()) else {
            let packet = self.agendas.take(place);
            self.reach_host(&packet);
            return false;
        };
        packet.payload.pass_hop();
        // Shortcut: its entry in the calendar would be the next one.
        if self.fabric.only_passes(link, side)
            && now < until
            && let Some(next) = self.fabric.routes().behind(packet.payload.hop())
            && self.agendas[side].packets.soonest() > now
        {
            let packet = self.agendas.packet(place);
            packet.payload.pass_hop();
            self.fabric.link(link).pass(now, packet.size);
            link = next;
        }
        if self.send(link, place).is_some() {
            return true;
        }
        let packet = self.agendas.take(place);
        self.offer(&packet);
        false
    }

    /// Offers the packet at `place` to a link. Returns whether it was accepted, and does nothing and
    /// returns `None` if the link keeps its packets.
    #[inline(never)]
    pub(super) fn send(&mut self, link: u32, place: u32) -> Option<bool> {
        let agendas = &mut self.agendas;
        if self.fabric.send_idle(self.now, link, place, agendas) {
            return Some(true);
        }
        self.send_any(link, place)
    }

    #[inline(never)]
    fn send_any(&mut self, link: u32, place: u32) -> Option<bool> {
        let now = self.now;
        let accepted = self.fabric.send(now, link, place, &mut self.agendas)?;
        if link == FORWARD {
            self.note_busy_periods();
        }
        if !accepted {
            let packet = self.agendas.take(place);
            self.note_drop(now, packet);
        }
        Some(accepted)
    }

    /// Handles the packets that leave a link together with the one that ended the last flow.
    #[cold]
    #[inline(never)]
    pub(super) fn end_instant(&mut self, side: Side) {
        while self.agendas[side].packets.continues() {
            self.packet_of_equals_arrives(side, self.turns.position);
        }
    }
}

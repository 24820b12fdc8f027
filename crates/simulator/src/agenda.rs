//! When the parts of a run act next: its links, sources and flows.
//!
//! The order is total: time first; then arrivals, links and sources in the order in which the run
//! was built; then flows, by their entry. An agenda has one calendar for flows and one for the
//! rest, which has few entries and changes most.
//!
//! A run has two agendas, one for each side of the path (`world::turns`). A part has the same rank
//! on either, so the order of two events does not depend on how the parts are distributed.

use std::ops::{Index, IndexMut};

use engine::{Calendar, Component};
use network::Packet;
use units::Instant;

use crate::carried::Carried;
use crate::in_flight::{InFlight, Places};

/// One of the two agendas.
pub type Side = u8;
/// The hosts that start the measured flows; without turns, everything.
pub const LEFT: Side = 0;
/// The hosts at the other end of the path.
pub const RIGHT: Side = 1;

/// Ranks of flows are at least this.
const FLOWS: u32 = 1 << 31;

/// A part of a run that acts at times of its own.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// Starts the measured flows.
    Arrivals,
    Link(u32),
    /// The ad-hoc network or constellation.
    Cloud,
    /// Starts the flows of background traffic.
    Source(u32),
    /// Sends datagrams.
    Datagrams(u32),
    /// The flow that has this entry.
    Flow(Component),
}

/// A position in the order of events. Of two at the same time, the one of lower rank is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub at: Instant,
    rank: u32,
}

impl Position {
    /// Before all events at `at`.
    pub const fn before(at: Instant) -> Self {
        Self { at, rank: 0 }
    }

    /// The same part's position at `at`.
    pub const fn later(self, at: Instant) -> Self {
        Self { at, ..self }
    }
}

/// The next events of a side.
#[derive(Debug, Default)]
pub struct Agenda {
    /// Everything but flows.
    pub fixed: Calendar,
    /// The part of each entry in `fixed`, and its rank.
    parts: Vec<(Part, u32)>,
    pub flows: Calendar,
    /// Packets on their way over links that keep none. They have the ranks of their links.
    pub packets: InFlight,
}

impl Agenda {
    /// Adds a part that is not a flow. Parts are added in order of their rank.
    pub fn add(&mut self, part: Part, rank: u32) -> Component {
        self.parts.push((part, rank));
        self.fixed.add()
    }

    /// When the next part acts; [`Instant::MAX`] is never.
    #[inline]
    pub fn soonest(&self) -> Instant {
        let parts = self.fixed.soonest().min(self.flows.soonest());
        parts.min(self.packets.soonest())
    }

    /// When the next part other than that of the entry `component` of `fixed` acts.
    #[inline]
    pub fn soonest_other(&self, component: Component) -> Instant {
        let fixed = self.fixed.soonest_other(component);
        fixed.min(self.flows.soonest()).min(self.packets.soonest())
    }

    /// Before this, nothing but packets acts, whatever `bound` comes before.
    #[inline(always)]
    pub fn only_packets_until(&self, bound: Position) -> Instant {
        let parts = self.fixed.soonest().min(self.flows.soonest());
        parts.min(bound.at)
    }

    /// The position of the next packet.
    #[inline(always)]
    const fn first_packet(&self) -> Position {
        Position {
            at: self.packets.soonest(),
            rank: self.packets.rank(),
        }
    }

    /// The position of the next packet, unless another part acts before it at its time, or it does not
    /// come before `bound`. It is not later than [`Self::only_packets_until`]. Nothing comes between
    /// two packets that a link passes on in one instant.
    #[cold]
    #[inline(never)]
    pub fn packet_of_equals(&self, bound: Position) -> Option<Position> {
        let position = self.first_packet();
        if self.packets.continues() {
            return Some(position);
        }
        let other = self.fixed.next().filter(|(at, _)| *at == position.at);
        let rank = other.map(|(_, component)| self.parts[component.index()].1);
        let is_first = rank.is_none_or(|rank| position.rank < rank);
        (is_first && position < bound).then_some(position)
    }

    /// Numbers that change with the agenda.
    #[inline]
    pub const fn changes(&self) -> (u32, u32) {
        // Neither of the two goes back, so their sum does not stay.
        let fixed = self.fixed.changes().wrapping_add(self.packets.changes());
        (fixed, self.flows.changes())
    }

    /// The next event, unless a packet arrives before it.
    #[inline(always)]
    pub fn next(&self) -> Option<(Position, Part)> {
        if self.flows.soonest() < self.fixed.soonest() {
            let (at, component) = self.flows.next()?;
            let rank = FLOWS + component.index() as u32;
            return Some((Position { at, rank }, Part::Flow(component)));
        }
        let (at, component) = self.fixed.next()?;
        let (part, rank) = self.parts[component.index()];
        Some((Position { at, rank }, part))
    }
}

/// The agendas of both sides, and the parts that have no place in them yet.
#[derive(Debug)]
pub struct Agendas {
    sides: [Agenda; 2],
    /// Where the packets on their way lie, whatever side they arrive on.
    places: Places,
    /// While a run is built, in the order in which it is built.
    unplaced: Vec<Part>,
    /// The rank of the next part.
    ranks: u32,
}

impl Default for Agendas {
    /// The start of measured flows is the first part of each run.
    fn default() -> Self {
        Self {
            sides: Default::default(),
            places: Places::default(),
            unplaced: vec![Part::Arrivals],
            ranks: 0,
        }
    }
}

impl Agendas {
    /// Adds parts, which get their places later.
    pub fn announce(&mut self, parts: impl IntoIterator<Item = Part>) {
        self.unplaced.extend(parts);
    }

    /// The parts that have no place yet.
    pub fn take_unplaced(&mut self) -> Vec<Part> {
        std::mem::take(&mut self.unplaced)
    }

    /// Whether the run is built, so that new parts get their places at once.
    pub const fn is_built(&self) -> bool {
        self.ranks > 0
    }

    /// Gives a part that is not a flow its place on `side`, behind all others. Returns its entry
    /// and its rank.
    pub fn place(&mut self, side: Side, part: Part) -> (Component, u32) {
        let rank = self.take_rank();
        (self.sides[usize::from(side)].add(part, rank), rank)
    }

    /// The rank of a part without an entry, behind all others.
    pub const fn take_rank(&mut self) -> u32 {
        let rank = self.ranks;
        self.ranks += 1;
        rank
    }

    /// When the next part of either side acts; [`Instant::MAX`] is never.
    pub fn soonest(&self) -> Instant {
        self[LEFT].soonest().min(self[RIGHT].soonest())
    }

    /// Adds an entry to the calendars of flows.
    pub fn add_flow(&mut self) -> Component {
        self[RIGHT].flows.add();
        self[LEFT].flows.add()
    }

    /// Gives a packet that enters a link which keeps none a place.
    #[inline(always)]
    pub fn keep(&mut self, packet: &Packet<Carried>) -> u32 {
        self.places.put(packet)
    }

    /// The packet at a place.
    #[inline(always)]
    pub fn packet(&mut self, place: u32) -> &mut Packet<Carried> {
        self.places.packet(place)
    }

    /// Takes the packet out of its place.
    #[inline(always)]
    pub fn take(&mut self, place: u32) -> Packet<Carried> {
        self.places.take(place)
    }

    /// The packet at `place` leaves a link of this rank on `side` at `due`.
    #[inline(always)]
    pub fn send(&mut self, side: Side, due: Instant, rank: u32, place: u32) {
        let packets = &mut self.sides[usize::from(side)].packets;
        packets.add(&mut self.places, due, rank, place);
    }

    /// The next packet leaves its link, if that is before `until`. Returns its position and its place.
    #[inline(always)]
    pub fn pop_before(&mut self, side: Side, until: Instant) -> Option<(Position, u32)> {
        let agenda = &mut self.sides[usize::from(side)];
        let position = agenda.first_packet();
        if position.at >= until {
            return None;
        }
        let place = agenda.packets.pop(&self.places)?;
        Some((position, place))
    }

    /// Takes the next packet on its way over a link that keeps none.
    pub fn take_packet(&mut self) -> Option<Packet<Carried>> {
        let [left, right] = &mut self.sides;
        let place = left.packets.pop(&self.places);
        let place = place.or_else(|| right.packets.pop(&self.places))?;
        Some(self.take(place))
    }

    /// Removes what is scheduled for the flow of an entry.
    pub fn clear_flow(&mut self, component: Component) {
        for side in &mut self.sides {
            side.flows.schedule(component, None);
        }
    }
}

impl Index<Side> for Agendas {
    type Output = Agenda;

    #[inline(always)]
    fn index(&self, side: Side) -> &Agenda {
        &self.sides[usize::from(side)]
    }
}

impl IndexMut<Side> for Agendas {
    #[inline(always)]
    fn index_mut(&mut self, side: Side) -> &mut Agenda {
        &mut self.sides[usize::from(side)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_times_flows_come_last() {
        let mut agenda = Agenda::default();
        let [first, second] = [3, 5].map(|rank| agenda.add(Part::Link(rank), rank));
        let flow = agenda.flows.add();
        let now = Instant::from_millis(1);
        let mut positions = Vec::new();
        agenda.flows.schedule(flow, Some(now));
        positions.extend(agenda.next());
        agenda.fixed.schedule(second, Some(now));
        positions.extend(agenda.next());
        agenda.fixed.schedule(first, Some(now));
        positions.extend(agenda.next());
        let ranks: Vec<u32> = positions
            .iter()
            .map(|(position, _)| position.rank)
            .collect();
        assert_eq!(ranks, [FLOWS, 5, 3]);
        assert!(
            positions
                .iter()
                .all(|(position, _)| *position > Position::before(now))
        );
        assert_eq!(agenda.soonest(), now);
        agenda.fixed.schedule(second, None);
        agenda.flows.schedule(flow, None);
        assert_eq!(agenda.soonest_other(first), Instant::MAX);
    }
}

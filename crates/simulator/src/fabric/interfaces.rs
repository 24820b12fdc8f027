//! The access links of hosts, where those of a table are a drop-tail queue before a constant rate.
//!
//! Shortcut: such a link is an [`Interface`], in one line of the cache. It has no entry in a calendar
//! and keeps no packets, which lie in the agenda ([`crate::in_flight`]).

use measure::LinkResult;
use network::{Interface, InterfaceClass, Packet, Payload};
use scenario::{Hosts, Node};
use units::{Duration, Instant};

use super::Fabric;
use super::accesses::{Access, link_of};
use crate::agenda::{Agendas, LEFT, Side};
use crate::carried::Carried;

/// The number of the first one: no other link has so high a number, and each crossing of the cloud a
/// higher one.
const FIRST: u32 = 1 << 30;

/// The interfaces of a run.
#[derive(Debug, Default)]
pub(super) struct Interfaces {
    all: Vec<HostLink>,
    classes: Vec<Class>,
    /// For each table of hosts, the class of its interfaces from a host to its node; that of those to
    /// the host is the next one. `None` where its links are no interfaces.
    tables: Vec<Option<u32>>,
}

/// A direction of the access link of a host.
#[derive(Debug)]
struct HostLink {
    interface: Interface,
    /// The propagation delay.
    delay: Duration,
    rank: u32,
    class: u32,
}

const _: () = assert!(size_of::<HostLink>() == 64);

/// What the interfaces of a table have in common, in one direction.
#[derive(Debug)]
struct Class {
    shared: InterfaceClass,
    /// The side on which packets leave them.
    side: Side,
    /// Whether packets leave them to hosts at the right end.
    to_right: bool,
}

impl Interfaces {
    /// The classes of all `tables` of hosts.
    pub(super) fn new(tables: &[Hosts]) -> Self {
        let mut interfaces = Self::default();
        for hosts in tables {
            let config = link_of(hosts, hosts.delay(0));
            let classes = [false, hosts.at == Node::RIGHT].map(|to_right| {
                let shared = InterfaceClass::new(&config)?;
                Some(Class {
                    shared,
                    side: LEFT,
                    to_right,
                })
            });
            let first = interfaces.classes.len() as u32;
            let known = classes.iter().all(Option::is_some).then_some(first);
            interfaces.tables.push(known);
            interfaces.classes.extend(classes.into_iter().flatten());
        }
        interfaces
    }

    /// Adds the access link of a host of `table`. `None` if it is no interface.
    pub(super) fn add(&mut self, table: u32, delay: Duration) -> Option<Access> {
        let class = self.tables.get(table as usize).copied().flatten()?;
        let [up, down] = [class, class + 1].map(|class| {
            self.all.push(HostLink {
                interface: Interface::default(),
                delay,
                rank: 0,
                class,
            });
            FIRST + (self.all.len() - 1) as u32
        });
        Some(Access { up, down })
    }

    /// [`Self::send`] to an interface that is idle. Otherwise it does nothing, and returns false.
    #[inline(always)]
    pub(super) fn send_idle(
        &mut self,
        now: Instant,
        number: u32,
        place: u32,
        agendas: &mut Agendas,
    ) -> bool {
        let Some((link, class)) = self.get(number) else {
            return false;
        };
        let size = agendas.packet(place).size;
        let Some(leaves) = link.interface.send_idle(&mut class.shared, now, size) else {
            return false;
        };
        agendas.send(class.side, leaves + link.delay, link.rank, place);
        true
    }

    /// Offers the packet at `place` in the agendas to an interface.
    #[inline(always)]
    pub(super) fn send(
        &mut self,
        now: Instant,
        number: u32,
        place: u32,
        agendas: &mut Agendas,
    ) -> Option<bool> {
        let (link, class) = self.get(number)?;
        let size = agendas.packet(place).size;
        let Some(leaves) = link.interface.send(&mut class.shared, now, size) else {
            return Some(false);
        };
        agendas.send(class.side, leaves + link.delay, link.rank, place);
        Some(true)
    }

    /// [`Self::send`] of `count` packets that are not in the agendas yet. `packet` is the first, and
    /// those behind it are [`Payload::following`]. Returns how many are accepted.
    #[inline(always)]
    pub(super) fn send_burst(
        &mut self,
        now: Instant,
        number: u32,
        packet: &Packet<Carried>,
        count: u32,
        agendas: &mut Agendas,
    ) -> Option<u32> {
        let (link, class) = self.get(number)?;
        let (side, delay, rank) = (class.side, link.delay, link.rank);
        let burst = (packet.size, count);
        let (interface, shared) = (&mut link.interface, &mut class.shared);
        let mut k = 0;
        let taken = interface.send_burst(shared, now, burst, |leaves| {
            let payload = packet.payload.following(k);
            let place = agendas.keep(&Packet { payload, ..*packet });
            agendas.send(side, leaves + delay, rank, place);
            k += 1;
        });
        Some(taken)
    }

    /// The result of an interface at the end of a run.
    pub(super) fn result(&mut self, number: u32, now: Instant) -> Option<LinkResult> {
        let (link, class) = self.get(number)?;
        let summary = link.interface.summary(&mut class.shared, now);
        Some(LinkResult {
            name: String::new(),
            utilization: Some(summary.utilization),
            packets: summary.packets,
            drops: summary.drops,
            marks: 0,
            queue_max_packets: summary.queue_max_packets,
            queue_mean_packets: summary.queue_mean_packets,
            queue_distribution: None,
        })
    }

    fn is_to_right(&self, number: u32) -> bool {
        let link = self.all.get(number.wrapping_sub(FIRST) as usize);
        link.is_some_and(|link| self.classes[link.class as usize].to_right)
    }

    #[inline(always)]
    fn get(&mut self, number: u32) -> Option<(&mut HostLink, &mut Class)> {
        let link = self.all.get_mut(number.wrapping_sub(FIRST) as usize)?;
        let class = self.classes.get_mut(link.class as usize)?;
        Some((link, class))
    }
}

impl Fabric<'_> {
    /// Whether a link is an interface.
    pub fn is_interface(&self, number: u32) -> bool {
        (number.wrapping_sub(FIRST) as usize) < self.interfaces.all.len()
    }

    /// Whether packets leave a link to hosts at the right end.
    pub fn is_to_right(&self, number: u32) -> bool {
        match self.links.get(number as usize) {
            Some(link) => link.to_right,
            None => self.interfaces.is_to_right(number),
        }
    }

    /// Gives an interface its rank, and the side on which packets leave it.
    pub fn place_interface(&mut self, number: u32, side: Side, rank: u32) {
        if let Some((link, class)) = self.interfaces.get(number) {
            class.side = side;
            link.rank = rank;
        }
    }

    /// When the last packet leaves, or left, an interface.
    pub fn interface_busy_until(&mut self, number: u32) -> Option<Instant> {
        let (link, _) = self.interfaces.get(number)?;
        Some(link.interface.busy_until())
    }

    /// A packet of `size` bytes that a link has accepted and does not keep is still on its way at the
    /// end of the run.
    pub fn recall(&mut self, number: u32, size: u32) {
        if let Some((link, _)) = self.interfaces.get(number) {
            link.interface.recall();
        } else {
            self.link(number).link.recall(size);
        }
    }

    /// Whether links of hosts may be interfaces.
    pub fn has_interfaces(&self) -> bool {
        !self.interfaces.classes.is_empty()
    }
}

//! The network of a run: links with their routers and media, access links of hosts, the cloud, and
//! the routes over them.
//!
//! A packet is offered to the link at its hop, and comes out of it later. The fabric knows packets
//! and their routes, but no flow and no host: it reports which packets it dropped, and its caller
//! draws the conclusions. A link that is added during a run is announced by [`Fabric::take_added`],
//! so that it gets a place in an agenda.

mod accesses;
mod cloud;
mod graph;
mod interfaces;
mod ledger;
mod links;

use measure::{LinkResult, LinkTrace};
use network::router::Router;
use network::{Link, LinkConfig, Packet, Sent, Streams};
use scenario::PathModel;
use units::Instant;
use units::feedback::HOST_TTL;

use crate::agenda::{Agendas, Side};
use crate::carried::{Aside, Carried};
use crate::routes::{Hop, Routes};
use accesses::Access;
pub use accesses::Way;
use cloud::Crossed;
pub use cloud::drawn;
use graph::Graph;
use interfaces::Interfaces;
pub use links::LinkState;

/// The path's links come first.
pub const FORWARD: u32 = 0;
/// The link of its reverse direction.
pub const REVERSE: u32 = 1;

/// What a link is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// It is one of the scenario's, between two routers.
    Own,
    /// It replaces the path's reverse link for some flows.
    StandIn,
    /// It leads to a host, or only delays.
    Aside,
}

/// The links, routes and packets in flight of a run.
pub struct Fabric<'a> {
    path: &'a PathModel,
    streams: Streams,
    traced: bool,
    links: Vec<LinkState>,
    interfaces: Interfaces,
    /// Links that have been added since the last call of [`Self::take_added`].
    added: Vec<u32>,
    routes: Routes,
    graph: Graph,
    /// The access links of hosts that have had a flow, by table and number of the host.
    accesses: Vec<Vec<Option<Access>>>,
    cloud: Option<Box<Crossed>>,
    /// Links of shared media that report the packets of senders with small queues.
    radios: Vec<u32>,
    aside: Aside,
}

impl<'a> Fabric<'a> {
    /// The links of `path`, and its cloud. Links of the scenario are traced if `traced`. Links of hosts
    /// take no shortcut if `is_plain`.
    pub fn new(path: &'a PathModel, streams: Streams, traced: bool, is_plain: bool) -> Self {
        let mut fabric = Self {
            path,
            streams,
            traced,
            links: Vec::new(),
            interfaces: Interfaces::new(if is_plain { &[] } else { &path.hosts }),
            added: Vec::new(),
            routes: Routes::default(),
            graph: Graph::default(),
            accesses: Vec::new(),
            cloud: None,
            radios: Vec::new(),
            aside: Aside::default(),
        };
        fabric.add_own_links();
        fabric.add_cloud();
        fabric
    }

    /// The links that have been added since the last call.
    pub fn take_added(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.added)
    }

    /// A link by its number.
    #[inline(always)]
    pub fn link(&mut self, number: u32) -> &mut LinkState {
        &mut self.links[number as usize]
    }

    /// Two links by their numbers; `None` if they are one, or one is an interface or a crossing of the
    /// cloud.
    #[inline(always)]
    pub fn two_links(&mut self, one: u32, other: u32) -> Option<[&mut LinkState; 2]> {
        let numbers = [one as usize, other as usize];
        self.links.get_disjoint_mut(numbers).ok()
    }

    /// All links.
    pub fn links(&self) -> &[LinkState] {
        &self.links
    }

    /// Measures all links of now from `from` on.
    pub fn measure_from(&mut self, from: Instant) {
        for link in &mut self.links {
            link.measure_from(from);
        }
    }

    /// All routes.
    #[inline(always)]
    pub const fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Whether a route takes the path's forward link.
    pub fn takes_path(&self, route: Hop) -> bool {
        self.routes.contains(route, FORWARD)
    }

    /// The parts of packets in flight that are stored separately.
    #[inline(always)]
    pub const fn aside(&mut self) -> &mut Aside {
        &mut self.aside
    }

    /// Offers a packet to a link that keeps it, and returns whether it was accepted. `None` for the
    /// number of a crossing of the cloud, which takes packets elsewhere.
    #[inline(always)]
    pub fn offer(
        &mut self,
        now: Instant,
        link: u32,
        packet: &Packet<Carried>,
        agendas: &mut Agendas,
    ) -> Option<bool> {
        let state = self.links.get_mut(link as usize)?;
        if state.router.is_some() {
            state.consult(packet, now, &mut self.aside);
        }
        Some(state.push(now, packet, agendas))
    }

    /// Offers the packet at `place` in the agendas to a link, and returns whether it was accepted. `None`
    /// unless [`Self::keeps_none`].
    #[inline(always)]
    pub fn send(
        &mut self,
        now: Instant,
        link: u32,
        place: u32,
        agendas: &mut Agendas,
    ) -> Option<bool> {
        let Some(state) = self.links.get_mut(link as usize) else {
            return self.interfaces.send(now, link, place, agendas);
        };
        state.keeps_none().then(|| state.send(now, place, agendas))
    }

    /// [`Self::send`] to an interface that is idle. Otherwise it does nothing, and returns false.
    #[inline(always)]
    pub fn send_idle(
        &mut self,
        now: Instant,
        link: u32,
        place: u32,
        agendas: &mut Agendas,
    ) -> bool {
        self.interfaces.send_idle(now, link, place, agendas)
    }

    /// Offers `count` packets that differ only in their sequence numbers to an interface; `packet` is the
    /// first. Returns how many were accepted. `None` for any other link.
    #[inline(never)]
    pub fn send_burst(
        &mut self,
        now: Instant,
        link: u32,
        packet: &Packet<Carried>,
        count: u32,
        agendas: &mut Agendas,
    ) -> Option<u32> {
        let interfaces = &mut self.interfaces;
        interfaces.send_burst(now, link, packet, count, agendas)
    }

    /// Whether the packets on a link lie in the agendas.
    #[inline(always)]
    pub fn keeps_none(&self, link: u32) -> bool {
        match self.links.get(link as usize) {
            Some(state) => state.keeps_none(),
            None => self.is_interface(link),
        }
    }

    /// Whether packets leave a link on `side` in the instant in which they enter it, and nothing else
    /// happens to them.
    #[inline(always)]
    pub fn only_passes(&self, link: u32, side: Side) -> bool {
        let state = self.links.get(link as usize);
        state.is_some_and(|state| state.only_passes(side))
    }

    /// Whether a link has dropped packets that it had accepted.
    #[inline(always)]
    pub fn has_dropped(&self, link: u32) -> bool {
        let state = self.links.get(link as usize);
        state.is_some_and(|state| state.link.has_dropped())
    }

    /// Frees the entries in [`Aside`] of a packet that reaches no host.
    #[cold]
    pub fn discard(&mut self, mut packet: Packet<Carried>) {
        let _ = packet.payload.detach(&mut self.aside);
        let _ = packet.payload.take_carried(&mut self.aside);
        if packet.payload.is_datagram() {
            let _ = packet.payload.take_datagram(&mut self.aside);
        }
        if packet.payload.is_ack() {
            let _ = packet.payload.into_ack(&mut self.aside);
        }
    }

    /// The TTL of a packet that arrives over its last hop: each router but those at the edge of the
    /// network has decreased it.
    pub fn ttl_at(&self, last: Hop) -> u8 {
        let links = self.routes.links_to(last);
        let hops = links.filter(|&link| {
            match self.links.get(link as usize) {
                Some(link) => link.is_hop,
                // A cloud is one hop.
                None => !self.is_interface(link),
            }
        });
        HOST_TTL.wrapping_sub(hops.count() as u8)
    }

    /// Lets the first link of a route report its packets, if it is a shared medium.
    pub fn watch_device(&mut self, route: Hop) {
        let link = self.routes.link(route);
        let Some(device) = self.links.get_mut(link as usize) else {
            return;
        };
        if device.link.decides_late() && !self.radios.contains(&link) {
            device.link.keep_sent();
            self.radios.push(link);
        }
    }

    /// Whether any link reports its packets.
    #[inline(always)]
    pub const fn has_radios(&self) -> bool {
        !self.radios.is_empty()
    }

    /// Whether a link reports its packets.
    pub fn is_radio(&self, link: u32) -> bool {
        self.radios.contains(&link)
    }

    /// The next report of a packet that a link has sent, with the number of the link.
    pub fn take_sent(&mut self) -> Option<(u32, Sent)> {
        let links = &mut self.links;
        self.radios.iter().find_map(|&radio| {
            let sent = links[radio as usize].link.take_sent()?;
            Some((radio, sent))
        })
    }

    /// Adds a link, with the router in front of it.
    fn place_link(&mut self, mut link: Link<Carried>, router: Option<Router>, role: Role) -> u32 {
        link.filter_acks(Carried::plain_ack);
        let number = self.links.len() as u32;
        let traced = role == Role::Own && self.traced;
        let mut state = LinkState::new(link, router, traced);
        state.is_hop = role != Role::Aside;
        self.links.push(state);
        self.added.push(number);
        number
    }

    /// Adds a link that draws no random numbers.
    fn add_link(&mut self, config: &LinkConfig, role: Role) -> u32 {
        let link = Link::steady(config);
        let link = link.unwrap_or_else(|| Link::new(config, self.streams.stream("")));
        self.place_link(link, None, role)
    }

    /// The results of the links at the end of a run, and their time series.
    pub fn finish(&mut self, now: Instant) -> (Vec<LinkResult>, Vec<LinkTrace>) {
        let reverse_paths = self.graph.reverse_links();
        let own = self.graph.own_links(&self.path.routers);
        let mut links = Vec::with_capacity(self.links.len());
        let mut traces = Vec::new();
        for link in std::mem::take(&mut self.links) {
            let (summary, trace) = link.finish(now);
            links.push(summary);
            traces.extend(trace);
        }
        let accesses = self.summarize_accesses(&links, now);
        let others = links.split_off(own);
        // A link that replaces the path's reverse link for some flows counts there.
        let reverse = &mut links[REVERSE as usize];
        for (link, index) in others.iter().zip(own as u32..) {
            if reverse_paths.contains(&index) {
                reverse.packets += link.packets;
                reverse.drops += link.drops;
                reverse.marks += link.marks;
            }
        }
        if self.path.is_absent {
            links.drain(..=REVERSE as usize);
        }
        links.extend(accesses);
        (links, traces)
    }
}

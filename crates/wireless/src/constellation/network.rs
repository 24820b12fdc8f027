//! Packets through a constellation.
//!
//! Every link has a drop-tail queue and a transmitter in each direction: a terminal's uplink, the
//! downlink from a satellite to each of its terminals, and both directions of each inter-satellite
//! link. A node forwards a packet by the routes of that instant, one hop at a time.
//!
//! A packet whose transmission has started arrives, even if the link goes down meanwhile. A packet
//! that waits is served in order: when its turn comes and its link has gone down, the node routes
//! it again. The packets of a satellite then follow their terminal over inter-satellite links to
//! its new satellite; with `reroute = false` they are lost. Those of a terminal go up to its new
//! satellite in any case. A terminal without a satellite loses the packets that it sends.
//!
//! An event is the arrival of a packet at a node, or the turn of a queue. Handovers and changes of
//! links need no events: a satellite's position follows from the time, and a terminal catches up
//! with its checks when a packet needs it.

use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use network::{Packet, Payload, Streams};
use units::Instant;

use super::config::ConstellationConfig;
use super::link::{Link, Offered, Way};
use super::links::Port;
use super::tracker::{NextHop, Terminal, Tracker, index};
use crate::{Cloud, CloudCounters, CloudMap, Delivery, DropCause, Lost, NodeId};

/// Satellites and terminals that a packet may visit, as of the hop limit of IP (RFC 791).
const HOP_LIMIT: u8 = 255;

/// A packet inside.
#[derive(Debug)]
struct Stored<T> {
    packet: Packet<T>,
    to: u32,
    /// Links that it has taken.
    hops: u8,
}

/// What happens at an instant. Nodes are terminals, then satellites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A packet arrives at a node.
    Arrives { handle: u32, node: u32 },
    /// The next packet of a link has its turn.
    Turn { link: u32 },
    /// A packet that was offered is lost.
    Fails {
        handle: u32,
        node: u32,
        cause: DropCause,
    },
}

/// A satellite constellation that carries packets between terminals.
///
/// Its nodes are the terminals. A lost packet may name a node beyond them: number
/// [`Cloud::node_count`] is satellite 0.
#[derive(Debug)]
pub struct Constellation<T> {
    tracker: Tracker,
    /// Uplinks of terminals, four links of each satellite, then downlinks as they come into use.
    links: Vec<Link>,
    /// Downlinks of each terminal, or all of them in the first list if terminals share them.
    downlinks: Vec<Vec<u32>>,
    packets: Vec<Option<Stored<T>>>,
    free: Vec<u32>,
    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    sequence: u64,
    delivered: VecDeque<Delivery<T>>,
    lost: VecDeque<Lost<T>>,
    counters: CloudCounters,
    rerouted: u64,
}

impl<T: Payload> Constellation<T> {
    /// A constellation with terminals, which are its nodes in this order.
    #[must_use]
    pub fn new(config: &ConstellationConfig, terminals: &[Terminal], streams: &Streams) -> Self {
        let tracker = Tracker::new(config, terminals, streams);
        let link = |way, rate| Link::new(way, rate, config.queue);
        let up = (0..terminals.len() as u32).map(|terminal| link(Way::Up(terminal), config.uplink));
        let across = (0..tracker.orbits().satellites())
            .flat_map(|satellite| Port::ALL.map(|port| Way::Across(satellite, port)))
            .map(|way| link(way, config.isl));
        Self {
            links: up.chain(across).collect(),
            tracker,
            downlinks: vec![Vec::new(); terminals.len()],
            packets: Vec::new(),
            free: Vec::new(),
            events: BinaryHeap::new(),
            sequence: 0,
            delivered: VecDeque::new(),
            lost: VecDeque::new(),
            counters: CloudCounters::default(),
            rerouted: 0,
        }
    }

    /// Positions, links and handovers. Its handovers are those of the packets' latest instant.
    #[must_use]
    pub const fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// Packets that were routed again because the link for which they waited went down.
    #[must_use]
    pub const fn rerouted(&self) -> u64 {
        self.rerouted
    }

    /// The most packets that have waited for any one link.
    #[must_use]
    pub fn most_waiting(&self) -> usize {
        let queues = self.links.iter().map(Link::most_waiting);
        queues.max().unwrap_or_default()
    }

    fn terminals(&self) -> u32 {
        self.tracker.terminals() as u32
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((at, self.sequence, event)));
    }

    fn store(&mut self, stored: Stored<T>) -> u32 {
        if let Some(handle) = self.free.pop() {
            self.packets[handle as usize] = Some(stored);
            return handle;
        }
        self.packets.push(Some(stored));
        self.packets.len() as u32 - 1
    }

    fn inside(&mut self, handle: u32) -> &mut Stored<T> {
        self.packets[handle as usize]
            .as_mut()
            .expect("a handle belongs to a packet inside")
    }

    fn release(&mut self, handle: u32) -> Stored<T> {
        self.free.push(handle);
        self.packets[handle as usize]
            .take()
            .expect("a handle belongs to a packet inside")
    }

    fn lose(&mut self, at: Instant, node: u32, handle: u32, cause: DropCause) {
        let Stored { packet, .. } = self.release(handle);
        self.counters.count_drop(cause);
        self.lost.push_back(Lost {
            at,
            node: NodeId(node),
            cause,
            packet,
        });
    }

    fn perform(&mut self, now: Instant, event: Event) {
        match event {
            Event::Arrives { handle, node } => {
                if node == self.inside(handle).to {
                    let Stored { packet, .. } = self.release(handle);
                    self.counters.delivered += 1;
                    self.delivered.push_back(Delivery {
                        at: now,
                        node: NodeId(node),
                        packet,
                    });
                } else if let Err(cause) = self.forward(now, node, handle) {
                    self.lose(now, node, handle, cause);
                }
            }
            Event::Turn { link } => self.turn(now, link),
            Event::Fails {
                handle,
                node,
                cause,
            } => self.lose(now, node, handle, cause),
        }
    }

    /// A node sends a packet on.
    fn forward(&mut self, now: Instant, node: u32, handle: u32) -> Result<(), DropCause> {
        let packet = self.inside(handle);
        let to = packet.to;
        if packet.hops == HOP_LIMIT {
            return Err(DropCause::HopLimit);
        }
        packet.hops += 1;
        let link = self.link(now, node, to)?;
        match self.links[link as usize].offer(now, handle) {
            Offered::Starts => self.start(now, link, handle),
            Offered::WaitsFor(turn) => self.schedule(turn, Event::Turn { link }),
            Offered::Waits => {}
            Offered::Full => return Err(DropCause::QueueFull),
        }
        Ok(())
    }

    /// The link that a node takes for terminal `to`.
    fn link(&mut self, now: Instant, node: u32, to: u32) -> Result<u32, DropCause> {
        let terminals = self.terminals();
        let Some(satellite) = node.checked_sub(terminals) else {
            let satellite = self.tracker.satellite(node as usize, now);
            return satellite.map(|_| node).ok_or(DropCause::NoRoute);
        };
        match self.tracker.next_hop(satellite, to as usize, now) {
            None => Err(DropCause::NoRoute),
            Some(NextHop::Link(port)) => Ok(terminals + index(satellite, port) as u32),
            Some(NextHop::Ground) => Ok(self.downlink(now, satellite, to)),
        }
    }

    /// The downlink of a satellite to a terminal. A link that is not in use becomes another's.
    fn downlink(&mut self, now: Instant, satellite: u32, terminal: u32) -> u32 {
        let config = self.tracker.config();
        let (rate, limit) = (config.downlink, config.queue);
        let list = if config.shared_downlink {
            0
        } else {
            terminal as usize
        };
        let (links, list) = (&mut self.links, &mut self.downlinks[list]);
        let way = Way::Down(satellite);
        let place = |wanted: &dyn Fn(&Link) -> bool| {
            list.iter()
                .copied()
                .find(|link| wanted(&links[*link as usize]))
        };
        if let Some(link) = place(&|link| link.way == way) {
            return link;
        }
        if let Some(link) = place(&|link| link.is_idle(now)) {
            links[link as usize].reuse(way);
            return link;
        }
        links.push(Link::new(way, rate, limit));
        let link = links.len() as u32 - 1;
        list.push(link);
        link
    }

    /// Transmits a packet, which then arrives at the other end of the link.
    fn start(&mut self, now: Instant, link: u32, handle: u32) {
        let terminals = self.terminals();
        let Stored { packet, to, .. } = self.inside(handle);
        let (bytes, to) = (packet.size, *to);
        let way = self.links[link as usize].way;
        let end = self.links[link as usize].start(now, bytes);
        let tracker = &mut self.tracker;
        let reached = match way {
            Way::Up(terminal) => tracker.satellite(terminal as usize, now).map(|satellite| {
                let delay = tracker.ground_delay(terminal as usize, satellite, end);
                (terminals + satellite, delay)
            }),
            Way::Down(satellite) => Some((to, tracker.ground_delay(to as usize, satellite, end))),
            Way::Across(satellite, port) => {
                let other = tracker.grid().neighbour(satellite, port);
                other.map(|other| (terminals + other, tracker.link_delay(satellite, port, end)))
            }
        };
        let (node, delay) = reached.expect("a packet starts on a link that is up");
        let at = self.links[link as usize].arrival(end + delay);
        self.schedule(at, Event::Arrives { handle, node });
    }

    /// The transmitter of a link is free: it takes the next packet whose link is still up.
    fn turn(&mut self, now: Instant, link: u32) {
        let way = self.links[link as usize].way;
        while let Some(handle) = self.links[link as usize].take() {
            if self.is_up(way, handle, now) {
                self.start(now, link, handle);
                break;
            }
            let node = match way {
                Way::Up(terminal) => terminal,
                Way::Down(satellite) | Way::Across(satellite, _) => self.terminals() + satellite,
            };
            let outcome = if self.tracker.config().reroute {
                self.rerouted += 1;
                self.forward(now, node, handle)
            } else {
                Err(DropCause::LinkDown)
            };
            if let Err(cause) = outcome {
                self.lose(now, node, handle, cause);
            }
        }
        if let Some(at) = self.links[link as usize].turn() {
            self.schedule(at, Event::Turn { link });
        }
    }

    /// Whether a packet that waited for a link can still take it.
    fn is_up(&mut self, way: Way, handle: u32, now: Instant) -> bool {
        let to = self.inside(handle).to as usize;
        let tracker = &mut self.tracker;
        match way {
            Way::Up(terminal) => tracker.satellite(terminal as usize, now).is_some(),
            Way::Down(satellite) => tracker.satellite(to, now) == Some(satellite),
            Way::Across(satellite, port) => {
                tracker.grid().is_up(tracker.orbits(), satellite, port, now)
            }
        }
    }
}

impl<T: Payload> Cloud<T> for Constellation<T> {
    fn node_count(&self) -> usize {
        self.tracker.terminals()
    }

    fn send(&mut self, now: Instant, from: NodeId, to: NodeId, packet: Packet<T>) {
        self.counters.offered += 1;
        let (node, to) = (from.0, to.0);
        let handle = self.store(Stored {
            packet,
            to,
            hops: 0,
        });
        if node == to {
            self.schedule(now, Event::Arrives { handle, node });
        } else if let Err(cause) = self.forward(now, node, handle) {
            self.schedule(
                now,
                Event::Fails {
                    handle,
                    node,
                    cause,
                },
            );
        }
    }

    fn next_event(&self) -> Instant {
        self.events
            .peek()
            .map_or(Instant::MAX, |Reverse((at, ..))| *at)
    }

    fn advance(&mut self, now: Instant) {
        let outcomes = |own: &Self| own.counters.delivered + own.counters.dropped();
        let before = outcomes(self);
        let mut at = self.next_event();
        while at <= now && at != Instant::MAX {
            while self.next_event() == at {
                let Some(Reverse((_, _, event))) = self.events.pop() else {
                    return;
                };
                self.perform(at, event);
            }
            if outcomes(self) != before {
                return;
            }
            at = self.next_event();
        }
    }

    fn pop(&mut self) -> Option<Delivery<T>> {
        self.delivered.pop_front()
    }

    fn take_lost(&mut self) -> Option<Lost<T>> {
        self.lost.pop_front()
    }

    fn held(&self) -> u64 {
        (self.packets.len() - self.free.len()) as u64
    }

    fn counters(&self) -> &CloudCounters {
        &self.counters
    }

    fn map(&mut self, now: Instant) -> CloudMap {
        self.tracker.clone().map(now)
    }

    fn route(&mut self, now: Instant, from: NodeId, to: NodeId) -> Option<Vec<u32>> {
        if from == to {
            return Some(vec![from.0]);
        }
        let route = self.tracker.clone().route(from.index(), to.index(), now)?;
        let satellites = route
            .satellites
            .iter()
            .map(|satellite| self.terminals() + satellite);
        Some(
            [from.0]
                .into_iter()
                .chain(satellites)
                .chain([to.0])
                .collect(),
        )
    }
}

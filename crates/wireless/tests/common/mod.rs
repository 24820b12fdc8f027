//! Nodes that exchange the messages of a routing protocol, and packets, over links that are given:
//! no radio, no medium access, one delay for each transmission, and losses by chance.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::print_stdout, reason = "tests print their measurements")]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use network::Streams;
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use units::{Duration, Instant};
use wireless::adhoc::routing::{Action, Decision, Header, Routing};
use wireless::adhoc::topology::Topology;
use wireless::{DropCause, NodeId};

/// The time of one transmission.
const AIRTIME: Duration = Duration::from_millis(2);

/// What is on its way, until it is on the air.
enum Flight<M> {
    Message(M, Option<NodeId>),
    Packet(u32, NodeId),
}

/// A message that a node sent.
pub struct SentMessage<M> {
    pub at: Instant,
    pub from: NodeId,
    pub to: Option<NodeId>,
    pub message: M,
}

/// A network of nodes with a routing protocol.
pub struct Net<R: Routing> {
    pub now: Instant,
    pub nodes: Vec<R>,
    pub links: Topology,
    /// The probability that a transmission does not arrive.
    pub loss: f64,
    pub sent: Vec<SentMessage<R::Message>>,
    pub delivered: Vec<(Instant, u32)>,
    pub dropped: Vec<(Instant, u32, DropCause)>,
    /// The nodes that each packet visited.
    pub visited: BTreeMap<u32, Vec<NodeId>>,
    packets: BTreeMap<u32, Header>,
    offered: u32,
    flights: BTreeMap<u64, (NodeId, Flight<R::Message>)>,
    due: BinaryHeap<Reverse<(Instant, u64)>>,
    count: u64,
    rng: ChaCha8Rng,
}

impl<R: Routing> Net<R> {
    pub fn new(nodes: Vec<R>, links: Topology) -> Self {
        Self {
            now: Instant::ZERO,
            nodes,
            links,
            loss: 0.0,
            sent: Vec::new(),
            delivered: Vec::new(),
            dropped: Vec::new(),
            visited: BTreeMap::new(),
            packets: BTreeMap::new(),
            offered: 0,
            flights: BTreeMap::new(),
            due: BinaryHeap::new(),
            count: 0,
            rng: Streams::new(0).stream("losses"),
        }
    }

    /// Offers a packet; returns its handle.
    pub fn offer(&mut self, from: NodeId, to: NodeId) -> u32 {
        let handle = self.offered;
        self.offered += 1;
        let header = Header {
            from,
            to,
            hop_limit: 32,
            bytes: 1000,
        };
        self.packets.insert(handle, header);
        self.decide(from, handle);
        handle
    }

    pub fn is_delivered(&self, handle: u32) -> bool {
        self.delivered
            .iter()
            .any(|(_, delivered)| *delivered == handle)
    }

    /// Packets inside.
    pub fn held(&self) -> usize {
        self.packets.len()
    }

    pub fn offered(&self) -> usize {
        self.offered as usize
    }

    /// Performs all events up to `until`, with `check` after each.
    pub fn run(&mut self, until: Instant, mut check: impl FnMut(&Self)) {
        loop {
            let timers = self.nodes.iter().map(Routing::next_event).enumerate();
            let timer = timers.map(|(node, at)| (at, node)).min();
            let flight = self.due.peek().map(|Reverse(next)| *next);
            let (timer_at, node) = timer.unwrap_or((Instant::MAX, 0));
            let flight_at = flight.map_or(Instant::MAX, |(at, _)| at);
            if timer_at.min(flight_at) > until {
                break;
            }
            assert!(timer_at.min(flight_at) >= self.now, "a timer in the past");
            self.now = timer_at.min(flight_at);
            if let Some((_, number)) = flight.filter(|(at, _)| *at <= timer_at) {
                self.due.pop();
                self.transmit(number);
            } else {
                let mut actions = Vec::new();
                self.nodes[node].handle_timeout(self.now, &mut actions);
                self.act(NodeId(node as u32), actions);
                let next = self.nodes[node].next_event();
                assert!(
                    next > self.now,
                    "node {node} at {:?} is still due",
                    self.now
                );
            }
            check(self);
        }
        self.now = until;
    }

    fn is_lost(&mut self) -> bool {
        (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 - self.loss < 0.0
    }

    fn send(&mut self, node: NodeId, after: Duration, flight: Flight<R::Message>) {
        self.count += 1;
        self.flights.insert(self.count, (node, flight));
        self.due
            .push(Reverse((self.now + after + AIRTIME, self.count)));
    }

    fn transmit(&mut self, number: u64) {
        let Some((from, flight)) = self.flights.remove(&number) else {
            panic!("flight {number} is unknown");
        };
        let neighbours = self.links.neighbours(from).to_vec();
        match flight {
            Flight::Message(message, None) => {
                for neighbour in neighbours {
                    if !self.is_lost() {
                        self.hear(neighbour, from, message.clone());
                    }
                }
            }
            Flight::Message(message, Some(to)) => {
                if neighbours.contains(&to) {
                    self.hear(to, from, message);
                } else {
                    let mut actions = Vec::new();
                    self.nodes[from.index()].message_failed(self.now, to, &mut actions);
                    self.act(from, actions);
                }
            }
            Flight::Packet(handle, to) => {
                if neighbours.contains(&to) {
                    self.arrive(to, handle);
                } else {
                    let header = self.packets[&handle];
                    let mut actions = Vec::new();
                    let node = &mut self.nodes[from.index()];
                    let decision = node.link_failed(self.now, to, &header, handle, &mut actions);
                    self.apply(from, handle, decision);
                    self.act(from, actions);
                }
            }
        }
    }

    fn hear(&mut self, node: NodeId, from: NodeId, message: R::Message) {
        let mut actions = Vec::new();
        self.nodes[node.index()].receive(self.now, from, message, &mut actions);
        self.act(node, actions);
    }

    fn arrive(&mut self, node: NodeId, handle: u32) {
        let Some(header) = self.packets.get_mut(&handle) else {
            panic!("packet {handle} is not inside");
        };
        if header.to == node {
            self.visited.entry(handle).or_default().push(node);
            self.packets.remove(&handle);
            self.delivered.push((self.now, handle));
        } else if header.hop_limit == 1 {
            self.drop_packet(handle, DropCause::HopLimit);
        } else {
            header.hop_limit -= 1;
            self.decide(node, handle);
        }
    }

    fn decide(&mut self, node: NodeId, handle: u32) {
        let header = self.packets[&handle];
        let mut actions = Vec::new();
        let decision = self.nodes[node.index()].route(self.now, &header, handle, &mut actions);
        self.apply(node, handle, decision);
        self.act(node, actions);
    }

    fn apply(&mut self, node: NodeId, handle: u32, decision: Decision) {
        match decision {
            Decision::Forward(to) => {
                self.visited.entry(handle).or_default().push(node);
                self.send(node, Duration::ZERO, Flight::Packet(handle, to));
            }
            Decision::Hold => {}
            Decision::Drop(cause) => self.drop_packet(handle, cause),
        }
    }

    fn drop_packet(&mut self, handle: u32, cause: DropCause) {
        assert!(
            self.packets.remove(&handle).is_some(),
            "dropped twice: {handle}"
        );
        self.dropped.push((self.now, handle, cause));
    }

    fn act(&mut self, node: NodeId, actions: Vec<Action<R::Message>>) {
        for action in actions {
            match action {
                Action::Send { message, to, after } => {
                    self.sent.push(SentMessage {
                        at: self.now,
                        from: node,
                        to,
                        message: message.clone(),
                    });
                    self.send(node, after, Flight::Message(message, to));
                }
                Action::Release(handle) => self.decide(node, handle),
                Action::Drop(handle, cause) => self.drop_packet(handle, cause),
                // There is no queue: each packet is on the air at once.
                Action::Recall(_) => {}
            }
        }
    }

    /// The nodes on the way of packets from `from` to `to`, both included; `Err` is a loop.
    pub fn way(&self, from: NodeId, to: NodeId) -> Result<Option<Vec<NodeId>>, Vec<NodeId>> {
        let mut way = vec![from];
        let mut at = from;
        while at != to {
            let Some(next) = self.nodes[at.index()].next_hop(to) else {
                return Ok(None);
            };
            at = next;
            way.push(at);
            if way.len() > self.nodes.len() {
                return Err(way);
            }
        }
        Ok(Some(way))
    }

    /// Fails if next hops form a loop anywhere.
    pub fn assert_no_loop(&self) {
        let count = self.nodes.len() as u32;
        for to in (0..count).map(NodeId) {
            for from in (0..count).map(NodeId) {
                if let Err(way) = self.way(from, to) {
                    panic!("a loop at {:?}: {way:?}", self.now);
                }
            }
        }
    }
}

/// The node with this number.
pub const fn node(number: u32) -> NodeId {
    NodeId(number)
}

/// A chain of `count` nodes.
pub fn chain(count: usize) -> Topology {
    use wireless::adhoc::mobility::Position;
    let places: Vec<_> = (0..count)
        .map(|place| Position::new(place as f64, 0.0))
        .collect();
    Topology::new(&places, 1.0)
}

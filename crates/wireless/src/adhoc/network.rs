//! The layers of all nodes, and the loop that performs their events.
//!
//! A packet goes from its user to the routing protocol of its node, which names a neighbour, then
//! through ARP to the interface queue and to the MAC. The neighbour delivers it to its own user or
//! forwards it in the same way.
//!
//! ## Assumptions
//!
//! - A packet whose acknowledgement is lost after the frame arrived is not forwarded a second time:
//!   the routing protocol learns of the failed link, but the copy at the sender is discarded. So a
//!   cloud never duplicates packets.
//! - Nodes process packets in no time, except for a delay between the queue and the network layer
//!   where the configuration has one.

mod cloud;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::fmt::{self, Debug, Formatter};
use core::mem;

use network::{Packet, Payload};
use units::{Duration, Instant};

use super::arp::{ARP_BYTES, Arp, ArpAction, ArpConfig, ArpMessage};
use super::mac::{Mac, MacEvent, Outgoing};
use super::queue::InterfaceQueue;
use super::routing::{Action, Decision, Header, Routing};
use crate::{
    ArpSummary, CloudCounters, Delivery, DropCause, Lost, NodeId, NodeSummary, RoutingSummary,
};

/// What a frame carries.
#[derive(Debug)]
enum Body<T, M> {
    /// A packet of a user.
    User(Packet<T>),
    /// A message of the routing protocol.
    Routing(M),
    /// A message of ARP.
    Arp(ArpMessage),
    /// Nothing: the packet arrived at the next node, or the slot is free.
    Gone,
}

/// A packet at a node.
#[derive(Debug)]
struct Slot<T, M> {
    node: NodeId,
    /// The neighbour to which it goes, once that is known.
    next_hop: Option<NodeId>,
    header: Header,
    body: Body<T, M>,
}

/// The packets inside, by handle.
#[derive(Debug)]
struct Store<T, M> {
    slots: Vec<Slot<T, M>>,
    free: Vec<u32>,
}

impl<T, M> Store<T, M> {
    fn add(&mut self, slot: Slot<T, M>) -> u32 {
        match self.free.pop() {
            Some(handle) => {
                self.slots[handle as usize] = slot;
                handle
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        }
    }

    fn get(&self, handle: u32) -> &Slot<T, M> {
        &self.slots[handle as usize]
    }

    fn get_mut(&mut self, handle: u32) -> &mut Slot<T, M> {
        &mut self.slots[handle as usize]
    }

    /// Frees a slot and returns what it carried.
    fn take(&mut self, handle: u32) -> Body<T, M> {
        self.free.push(handle);
        mem::replace(&mut self.get_mut(handle).body, Body::Gone)
    }
}

/// The network layer of a node.
#[derive(Debug)]
struct Node<R> {
    routing: R,
    /// `None` where neighbours need no resolution.
    arp: Option<Arp>,
    queue: InterfaceQueue,
    summary: NodeSummary,
    /// When its routing protocol or its ARP is due, as in the set of all timers.
    timer: Instant,
}

/// A message that a node sends later, and the neighbour for which it is.
type Later<M> = (NodeId, Option<NodeId>, M);

/// An ad-hoc network.
pub struct AdHoc<T, R: Routing> {
    mac: Box<dyn Mac>,
    nodes: Vec<Node<R>>,
    store: Store<T, R::Message>,
    /// When the routing protocol of a node is due.
    timers: BTreeSet<(Instant, NodeId)>,
    /// Messages that nodes send later, by time and order.
    later: BTreeMap<(Instant, u64), Later<R::Message>>,
    /// How many messages have been delayed.
    delayed: u64,
    /// The earliest time in `timers` and `later`.
    due: Instant,
    now: Instant,
    delivered: VecDeque<Delivery<T>>,
    lost: VecDeque<Lost<T>>,
    counters: CloudCounters,
    routing: RoutingSummary,
    arp: ArpSummary,
    /// Empty lists that are used again.
    events: Vec<MacEvent>,
    spare: Vec<Vec<Action<R::Message>>>,
    spare_arp: Vec<Vec<ArpAction>>,
}

impl<T: Debug, R: Routing> Debug for AdHoc<T, R> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdHoc")
            .field("now", &self.now)
            .field("nodes", &self.nodes.len())
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

impl<T: Payload, R: Routing> AdHoc<T, R> {
    /// A network of nodes with these routing protocols, over `mac`. `queue` is the limit of the
    /// interface queues in packets. Without `arp`, nodes know the addresses of their neighbours.
    #[must_use]
    pub fn new(mac: Box<dyn Mac>, routing: Vec<R>, queue: usize, arp: Option<ArpConfig>) -> Self {
        let nodes = routing.into_iter().enumerate().map(|(number, routing)| {
            let id = NodeId(number as u32);
            Node {
                timer: Instant::MAX,
                routing,
                arp: arp.map(|config| Arp::new(id, config)),
                queue: InterfaceQueue::new(queue),
                summary: NodeSummary::default(),
            }
        });
        let mut network = Self {
            mac,
            nodes: nodes.collect(),
            store: Store {
                slots: Vec::new(),
                free: Vec::new(),
            },
            timers: BTreeSet::new(),
            later: BTreeMap::new(),
            delayed: 0,
            due: Instant::MAX,
            now: Instant::ZERO,
            delivered: VecDeque::new(),
            lost: VecDeque::new(),
            counters: CloudCounters::default(),
            routing: RoutingSummary::default(),
            arp: ArpSummary::default(),
            events: Vec::new(),
            spare: Vec::new(),
            spare_arp: Vec::new(),
        };
        for number in 0..network.nodes.len() {
            network.keep_timer(NodeId(number as u32));
        }
        network
    }

    /// The medium-access protocol.
    #[must_use]
    pub fn mac(&self) -> &dyn Mac {
        &*self.mac
    }

    /// The neighbour to which `node` forwards packets for `to` now.
    #[must_use]
    pub fn next_hop(&self, node: NodeId, to: NodeId) -> Option<NodeId> {
        self.nodes[node.index()].routing.next_hop(to)
    }

    /// Calls the routing protocol of a node, and performs what it asks for.
    fn with_routing<A>(
        &mut self,
        node: NodeId,
        call: impl FnOnce(&mut R, Instant, &mut Vec<Action<R::Message>>) -> A,
    ) -> A {
        let mut actions = self.spare.pop().unwrap_or_default();
        let answer = call(
            &mut self.nodes[node.index()].routing,
            self.now,
            &mut actions,
        );
        self.keep_timer(node);
        for action in actions.drain(..) {
            self.act(node, action);
        }
        self.spare.push(actions);
        answer
    }

    /// Calls ARP of a node, and performs what it asks for; `None` where there is no ARP.
    fn with_arp<A>(
        &mut self,
        node: NodeId,
        call: impl FnOnce(&mut Arp, Instant, &mut Vec<ArpAction>) -> A,
    ) -> Option<A> {
        let now = self.now;
        let arp = self.nodes[node.index()].arp.as_mut()?;
        let mut actions = self.spare_arp.pop().unwrap_or_default();
        let answer = call(arp, now, &mut actions);
        self.keep_timer(node);
        for action in actions.drain(..) {
            match action {
                ArpAction::Send(message) => {
                    match message {
                        ArpMessage::Request { .. } => self.arp.requests += 1,
                        ArpMessage::Reply { .. } => self.arp.replies += 1,
                    }
                    let to = message.to();
                    let handle = self.add(node, to, ARP_BYTES, Body::Arp(message));
                    self.enqueue(node, handle);
                }
                ArpAction::Release(handle, _) => self.enqueue(node, handle),
                ArpAction::Drop(handle) => self.drop_packet(handle, DropCause::Arp),
            }
        }
        self.spare_arp.push(actions);
        Some(answer)
    }

    /// Brings the timer of a node in line with its routing protocol and its ARP.
    fn keep_timer(&mut self, node: NodeId) {
        let state = &mut self.nodes[node.index()];
        let arp = state.arp.as_ref().map_or(Instant::MAX, Arp::next_event);
        let due = state.routing.next_event().min(arp);
        if due != state.timer {
            self.timers.remove(&(state.timer, node));
            state.timer = due;
            if due < Instant::MAX {
                self.timers.insert((due, node));
            }
            self.find_due();
        }
    }

    fn find_due(&mut self) {
        let later = self.later.first_key_value();
        let timer = self.timers.first();
        let later = later.map_or(Instant::MAX, |((at, _), _)| *at);
        self.due = timer.map_or(later, |(at, _)| later.min(*at));
    }

    fn act(&mut self, node: NodeId, action: Action<R::Message>) {
        match action {
            Action::Send { message, to, after } if after == Duration::ZERO => {
                self.send_message(node, to, message);
            }
            Action::Send { message, to, after } => {
                self.later
                    .insert((self.now + after, self.delayed), (node, to, message));
                self.delayed += 1;
                self.find_due();
            }
            Action::Release(handle) => self.route(node, handle),
            Action::Drop(handle, cause) => self.drop_packet(handle, cause),
            Action::Recall(neighbour) => self.recall(node, neighbour),
        }
    }

    /// Takes all packets for a neighbour back from ARP and the queue, and decides anew on each.
    fn recall(&mut self, node: NodeId, neighbour: NodeId) {
        let state = &mut self.nodes[node.index()];
        let held = state.arp.as_mut().and_then(|arp| arp.recall(neighbour));
        let mut frames = Vec::new();
        state.queue.recall(neighbour, &mut frames);
        for handle in held
            .into_iter()
            .chain(frames.iter().map(|frame| frame.handle))
        {
            if matches!(self.store.get(handle).body, Body::User(_)) {
                self.route(node, handle);
            } else {
                self.drop_packet(handle, DropCause::NoRoute);
            }
        }
        self.keep_timer(node);
    }

    fn send_message(&mut self, node: NodeId, to: Option<NodeId>, message: R::Message) {
        let bytes = R::bytes(&message);
        self.routing.messages += 1;
        self.routing.bytes += u64::from(bytes);
        let handle = self.add(node, to, bytes, Body::Routing(message));
        match to {
            Some(neighbour) => self.resolve(node, neighbour, handle),
            None => self.enqueue(node, handle),
        }
    }

    /// Adds a packet that starts at `node` for a neighbour.
    fn add(
        &mut self,
        node: NodeId,
        to: Option<NodeId>,
        bytes: u32,
        body: Body<T, R::Message>,
    ) -> u32 {
        self.store.add(Slot {
            node,
            next_hop: to,
            header: Header {
                from: node,
                to: to.unwrap_or(node),
                hop_limit: 1,
                bytes,
            },
            body,
        })
    }

    /// Lets the routing protocol of a node decide on a packet of a user.
    fn route(&mut self, node: NodeId, handle: u32) {
        let header = self.store.get(handle).header;
        let decision = self.with_routing(node, |routing, now, actions| {
            routing.route(now, &header, handle, actions)
        });
        self.follow(node, handle, decision);
    }

    fn follow(&mut self, node: NodeId, handle: u32, decision: Decision) {
        match decision {
            Decision::Forward(neighbour) => {
                self.store.get_mut(handle).next_hop = Some(neighbour);
                self.resolve(node, neighbour, handle);
            }
            Decision::Hold => {}
            Decision::Drop(cause) => self.drop_packet(handle, cause),
        }
    }

    /// Finds the address of a neighbour, then queues the packet.
    fn resolve(&mut self, node: NodeId, neighbour: NodeId, handle: u32) {
        let arp = self.nodes[node.index()].arp.as_ref();
        let knows = arp.is_none_or(|arp| arp.knows(neighbour));
        let resolve = |arp: &mut Arp, now, actions: &mut Vec<ArpAction>| {
            arp.resolve(now, neighbour, handle, actions)
        };
        if knows || self.with_arp(node, resolve) == Some(true) {
            self.enqueue(node, handle);
        }
    }

    /// Puts a packet into the interface queue of a node, and starts its MAC if that is idle.
    fn enqueue(&mut self, node: NodeId, handle: u32) {
        let slot = self.store.get(handle);
        let frame = Outgoing {
            to: slot.next_hop,
            bytes: slot.header.bytes,
            handle,
        };
        let is_routing = matches!(slot.body, Body::Routing(_));
        let queue = &mut self.nodes[node.index()].queue;
        let dropped = if is_routing {
            queue.push_routing(frame)
        } else {
            queue.push(frame)
        };
        if let Some(frame) = dropped {
            self.drop_packet(frame.handle, DropCause::QueueFull);
        }
        self.serve(node);
    }

    /// Hands the next packet of a node's queue to its MAC, if that is idle.
    fn serve(&mut self, node: NodeId) {
        if !self.mac.is_idle(node) {
            return;
        }
        if let Some(frame) = self.nodes[node.index()].queue.pop() {
            self.mac.send(self.now, node, frame);
        }
    }

    fn drop_packet(&mut self, handle: u32, cause: DropCause) {
        let node = self.store.get(handle).node;
        match self.store.take(handle) {
            Body::User(packet) => {
                self.counters.count_drop(cause);
                self.nodes[node.index()].summary.dropped += 1;
                self.lost.push_back(Lost {
                    at: self.now,
                    node,
                    cause,
                    packet,
                });
            }
            Body::Routing(_) | Body::Arp(_) | Body::Gone => {}
        }
    }

    fn take_event(&mut self, event: MacEvent) {
        match event {
            MacEvent::Received { node, from, handle } => self.receive(node, from, handle),
            MacEvent::Sent { node, handle } => {
                // A packet that is still here did not arrive, and its sender does not know it.
                self.drop_packet(handle, DropCause::Reassembly);
                self.serve(node);
            }
            MacEvent::Failed {
                node,
                handle,
                cause,
            } => {
                self.fail(node, handle, cause);
                self.serve(node);
            }
        }
    }

    fn receive(&mut self, node: NodeId, from: NodeId, handle: u32) {
        let slot = self.store.get_mut(handle);
        let header = slot.header;
        match &mut slot.body {
            Body::Gone => {}
            Body::Arp(message) => {
                let message = *message;
                let _ = self.with_arp(node, |arp, _, actions| arp.receive(message, actions));
            }
            Body::Routing(message) => {
                let message = message.clone();
                self.with_routing(node, |routing, now, actions| {
                    routing.receive(now, from, message, actions);
                });
            }
            body @ Body::User(_) => {
                if let Body::User(packet) = mem::replace(body, Body::Gone) {
                    self.arrive(node, header, packet);
                }
            }
        }
    }

    /// A packet of a user arrives at `node`, its last one or one that forwards it.
    fn arrive(&mut self, node: NodeId, mut header: Header, packet: Packet<T>) {
        if header.to == node {
            return self.deliver(node, packet);
        }
        let is_loop = header.from == node;
        header.hop_limit = header.hop_limit.saturating_sub(1);
        let handle = self.store.add(Slot {
            node,
            next_hop: None,
            header,
            body: Body::User(packet),
        });
        if is_loop {
            self.drop_packet(handle, DropCause::Loop);
        } else if header.hop_limit == 0 {
            self.drop_packet(handle, DropCause::HopLimit);
        } else {
            self.nodes[node.index()].summary.forwarded += 1;
            self.route(node, handle);
        }
    }

    fn deliver(&mut self, node: NodeId, packet: Packet<T>) {
        self.counters.delivered += 1;
        self.delivered.push_back(Delivery {
            at: self.now,
            node,
            packet,
        });
    }

    /// The MAC of a node gave up a frame.
    fn fail(&mut self, node: NodeId, handle: u32, cause: DropCause) {
        let slot = self.store.get(handle);
        let (header, next_hop) = (slot.header, slot.next_hop);
        let is_broken = matches!(cause, DropCause::RetryLimit);
        let (Some(neighbour), true) = (next_hop, is_broken) else {
            return self.drop_packet(handle, cause);
        };
        match slot.body {
            Body::User(_) => {}
            // ARP does not notify the routing protocol.
            Body::Arp(_) => return self.drop_packet(handle, cause),
            Body::Routing(_) | Body::Gone => {
                self.with_routing(node, |routing, now, actions| {
                    routing.message_failed(now, neighbour, actions);
                });
                return self.drop_packet(handle, cause);
            }
        }
        let decision = self.with_routing(node, |routing, now, actions| {
            routing.link_failed(now, neighbour, &header, handle, actions)
        });
        match decision {
            Decision::Drop(_) => self.drop_packet(handle, cause),
            decision => self.follow(node, handle, decision),
        }
    }

    /// Performs events of the MAC up to `until`, or to the first that reports something: few do.
    fn run_mac(&mut self, until: Instant) {
        self.now = self.mac.run(until, &mut self.events);
        if !self.events.is_empty() {
            let mut events = mem::take(&mut self.events);
            for event in events.drain(..) {
                self.take_event(event);
            }
            self.events = events;
        }
    }

    /// Performs the next event of another layer, which is due at `at`.
    fn perform(&mut self, at: Instant) {
        if let Some(entry) = self.later.first_entry().filter(|entry| entry.key().0 <= at) {
            let (node, to, message) = entry.remove();
            self.find_due();
            self.send_message(node, to, message);
        } else if let Some(&(_, node)) = self.timers.first() {
            let arp_is_due = |arp: &Arp| arp.next_event() <= at;
            if self.nodes[node.index()]
                .arp
                .as_ref()
                .is_some_and(arp_is_due)
            {
                let _ = self.with_arp(node, Arp::handle_timeout);
            } else {
                self.with_routing(node, R::handle_timeout);
            }
        }
    }
}

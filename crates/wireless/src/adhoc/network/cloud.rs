//! The network as a cloud: a simulation hands it packets, lets time pass, and reads its account.

use alloc::vec::Vec;

use network::{Packet, Payload};
use units::Instant;

use super::{AdHoc, Body, Slot};
use crate::adhoc::mobility::Position;
use crate::adhoc::routing::{Header, Routing};
use crate::{
    AirSummary, Cloud, CloudCounters, CloudMap, CloudSummary, Delivery, Lost, MapLink, NodeId,
    NodeSummary,
};

/// The hop limit of a new packet, as in ns-2.
const HOP_LIMIT: u8 = 32;

impl<T: Payload, R: Routing> Cloud<T> for AdHoc<T, R> {
    fn node_count(&self) -> usize {
        self.nodes.len()
    }

    fn send(&mut self, now: Instant, from: NodeId, to: NodeId, packet: Packet<T>) {
        self.now = now;
        self.counters.offered += 1;
        if from == to {
            return self.deliver(to, packet);
        }
        let handle = self.store.add(Slot {
            node: from,
            next_hop: None,
            header: Header {
                from,
                to,
                hop_limit: HOP_LIMIT,
                bytes: packet.size,
            },
            body: Body::User(packet),
        });
        self.route(from, handle);
    }

    fn next_event(&self) -> Instant {
        if !self.delivered.is_empty() || !self.lost.is_empty() {
            return self.now;
        }
        self.mac.next_event().min(self.due)
    }

    fn advance(&mut self, now: Instant) {
        while self.delivered.is_empty() && self.lost.is_empty() {
            let mac = self.mac.next_event();
            let at = mac.min(self.due);
            if at > now {
                break;
            }
            if mac <= at {
                self.run_mac(now.min(self.due));
            } else {
                self.now = at;
                self.perform(at);
            }
        }
    }

    fn pop(&mut self) -> Option<Delivery<T>> {
        self.delivered.pop_front()
    }

    fn take_lost(&mut self) -> Option<Lost<T>> {
        self.lost.pop_front()
    }

    fn held(&self) -> u64 {
        let inside = |slot: &&Slot<T, R::Message>| matches!(slot.body, Body::User(_));
        self.store.slots.iter().filter(inside).count() as u64
    }

    fn counters(&self) -> &CloudCounters {
        &self.counters
    }

    fn summary(&mut self, now: Instant) -> CloudSummary {
        let [data_frames, retries] = self.mac.tries();
        let mut nodes: Vec<NodeSummary> = self.nodes.iter().map(|node| node.summary).collect();
        let mut air = None;
        if let Some(radios) = self.mac.radios() {
            for (number, node) in nodes.iter_mut().enumerate() {
                node.energy = radios.battery(now, NodeId(number as u32));
            }
            air = Some(AirSummary {
                data_frames,
                retries,
                ..radios.frames(now)
            });
        }
        CloudSummary {
            packets: self.counters.clone(),
            held: self.held(),
            air,
            routing: Some(self.routing),
            arp: self
                .nodes
                .iter()
                .any(|node| node.arp.is_some())
                .then_some(self.arp),
            nodes,
        }
    }

    fn map(&mut self, now: Instant) -> CloudMap {
        let Some(radios) = self.mac.radios() else {
            return CloudMap::default();
        };
        let nodes = || (0..self.nodes.len() as u32).map(NodeId);
        let mut links = Vec::new();
        for node in nodes() {
            let others = radios.neighbours(now, node).into_iter();
            links.extend(
                others
                    .filter(|other| other.node > node)
                    .map(|other| MapLink {
                        ends: [node.0, other.node.0],
                        delay: other.delay,
                    }),
            );
        }
        let place = |node| {
            let Position { x, y } = radios.position(now, node);
            [x, y]
        };
        CloudMap {
            points: nodes().map(place).collect(),
            links,
        }
    }

    fn route(&mut self, _now: Instant, from: NodeId, to: NodeId) -> Option<Vec<u32>> {
        let mut passed = Vec::from([from.0]);
        let mut at = from;
        while at != to {
            at = self.next_hop(at, to)?;
            if passed.contains(&at.0) {
                return None;
            }
            passed.push(at.0);
        }
        Some(passed)
    }
}

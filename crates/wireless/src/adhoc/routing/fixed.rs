//! Routes that never change: given, or shortest paths at the start.
//!
//! The protocol sends no messages, holds no packets, and drops the packet of a link that fails. It
//! separates the effects of medium access from those of routing.

use alloc::vec;
use alloc::vec::Vec;
use core::convert::Infallible;

use units::Instant;

use super::{Action, Decision, Header, Routing};
use crate::adhoc::topology::Topology;
use crate::{DropCause, NodeId};

/// A route that a user gives: packets at `at` for `to` go to `via`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FixedRoute {
    /// The node.
    pub at: NodeId,
    /// The destination.
    pub to: NodeId,
    /// The neighbour.
    pub via: NodeId,
}

/// The fixed routes of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// For each destination.
    next_hops: Vec<Option<NodeId>>,
}

impl Fixed {
    /// The routes of `count` nodes from a list; of two for the same destination the later one counts.
    ///
    /// # Errors
    /// The index of the first route that names a node that does not exist, or that sends a packet to
    /// the node itself.
    pub fn given(count: usize, routes: &[FixedRoute]) -> Result<Vec<Self>, usize> {
        let mut nodes = vec![
            Self {
                next_hops: vec![None; count]
            };
            count
        ];
        for (index, route) in routes.iter().enumerate() {
            let exist = [route.at, route.to, route.via].map(|node| node.index() < count);
            if exist.contains(&false) || route.via == route.at || route.to == route.at {
                return Err(index);
            }
            nodes[route.at.index()].next_hops[route.to.index()] = Some(route.via);
        }
        Ok(nodes)
    }

    /// Shortest paths for every node. Among several, the neighbour with the lowest number.
    #[must_use]
    pub fn shortest(topology: &Topology) -> Vec<Self> {
        let count = topology.node_count();
        let mut nodes = vec![
            Self {
                next_hops: vec![None; count]
            };
            count
        ];
        for to in 0..count {
            let next = topology.next_hops(NodeId(to as u32));
            for (node, next) in nodes.iter_mut().zip(next) {
                node.next_hops[to] = next;
            }
        }
        nodes
    }
}

impl Routing for Fixed {
    type Message = Infallible;

    fn bytes(message: &Infallible) -> u32 {
        match *message {}
    }

    fn next_event(&self) -> Instant {
        Instant::MAX
    }

    fn handle_timeout(&mut self, _now: Instant, _actions: &mut Vec<Action<Infallible>>) {}

    fn route(
        &mut self,
        _now: Instant,
        header: &Header,
        _handle: u32,
        _actions: &mut Vec<Action<Infallible>>,
    ) -> Decision {
        self.next_hop(header.to)
            .map_or(Decision::Drop(DropCause::NoRoute), Decision::Forward)
    }

    fn receive(
        &mut self,
        _now: Instant,
        _from: NodeId,
        message: Infallible,
        _actions: &mut Vec<Action<Infallible>>,
    ) {
        match message {}
    }

    fn link_failed(
        &mut self,
        _now: Instant,
        _neighbour: NodeId,
        _header: &Header,
        _handle: u32,
        _actions: &mut Vec<Action<Infallible>>,
    ) -> Decision {
        Decision::Drop(DropCause::RetryLimit)
    }

    fn next_hop(&self, to: NodeId) -> Option<NodeId> {
        self.next_hops.get(to.index()).copied().flatten()
    }
}

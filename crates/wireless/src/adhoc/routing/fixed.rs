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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adhoc::mobility::Position;

    const fn header(to: u32) -> Header {
        Header {
            from: NodeId(0),
            to: NodeId(to),
            hop_limit: 32,
            bytes: 40,
        }
    }

    #[test]
    fn shortest_paths_lead_to_their_destination() {
        // 0 - 1 - 2 with 3 above 1, in range of all; 4 is alone.
        let places = [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (1.0, 0.5), (9.0, 0.0)];
        let places: Vec<_> = places.iter().map(|(x, y)| Position::new(*x, *y)).collect();
        let mut nodes = Fixed::shortest(&Topology::new(&places, 1.2));
        let mut decide =
            |at: usize, to| nodes[at].route(Instant::ZERO, &header(to), 0, &mut Vec::new());
        assert_eq!(
            decide(0, 2),
            Decision::Forward(NodeId(1)),
            "the lowest of two"
        );
        assert_eq!(decide(1, 2), Decision::Forward(NodeId(2)));
        assert_eq!(decide(0, 4), Decision::Drop(DropCause::NoRoute));
        let failed = nodes[0].link_failed(Instant::ZERO, NodeId(1), &header(2), 0, &mut Vec::new());
        assert_eq!(failed, Decision::Drop(DropCause::RetryLimit));
        assert_eq!(nodes[0].next_event(), Instant::MAX);
    }

    #[test]
    fn given_routes_are_checked() {
        let route = |at, to, via| FixedRoute {
            at: NodeId(at),
            to: NodeId(to),
            via: NodeId(via),
        };
        let nodes = Fixed::given(3, &[route(0, 2, 1), route(1, 2, 2), route(0, 2, 2)]);
        let nodes = nodes.expect("the routes are right");
        assert_eq!(
            nodes[0].next_hop(NodeId(2)),
            Some(NodeId(2)),
            "the later one counts"
        );
        assert_eq!(nodes[2].next_hop(NodeId(0)), None);
        for wrong in [
            route(3, 1, 0),
            route(0, 3, 1),
            route(0, 1, 3),
            route(0, 0, 1),
            route(0, 1, 0),
        ] {
            assert_eq!(
                Fixed::given(3, &[route(0, 1, 1), wrong]),
                Err(1),
                "{wrong:?}"
            );
        }
    }
}

//! The nodes and links around the path, and the routes over them.
//!
//! The path is a link like the others: number 0, between the nodes "left" and "right". A route is the
//! shortest by propagation delay; of equal ones that with the fewest links; of equal ones the one
//! with the link that stands first in the file, among those in which they differ. The last rule gives
//! both directions the same links where both have the same delays.
//!
//! A cloud is one step from any of its nodes to any other. A route crosses it at most once, and only
//! where no route avoids it: a crossing counts as longer than all links together. Between the nodes
//! of its crossing the cloud finds the way itself.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use network::LinkConfig;
use units::Duration;
use wireless::NodeId;

use super::{Direction, Ends, PathModel, Place, RouterModel};

/// A node: an end of the path, or a `[[node]]`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct Node(pub u32);

impl Node {
    /// Where the path's forward direction begins.
    pub const LEFT: Self = Self(0);
    /// Where it ends.
    pub const RIGHT: Self = Self(1);
    /// The first of the nodes that the file declares.
    pub(crate) const FIRST: u32 = 2;

    /// Whether it is an end of the path.
    pub(crate) const fn is_end(self) -> bool {
        self.0 < Self::FIRST
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A `[[link]]` between two nodes.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LinkModel {
    /// Where its forward direction begins.
    pub from: Node,
    /// Where it ends.
    pub to: Node,
    /// The link from `from` to `to`, and the support of the router in front of it.
    pub forward: RouterModel,
    /// The same from `to` to `from`; `None` for a link of one direction.
    pub reverse: Option<RouterModel>,
}

/// A step of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// One direction of a link.
    Link {
        /// The path (0), or one more than the index of a `[[link]]`.
        link: u32,
        /// Its direction.
        direction: Direction,
    },
    /// Through the cloud.
    Cloud {
        /// Where packets enter it.
        from: NodeId,
        /// Where they leave it.
        to: NodeId,
    },
}

/// A way from node to node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The links, in order.
    pub steps: Vec<Step>,
    /// Propagation on an idle network, one way, without the cloud.
    pub delay: Duration,
}

impl Route {
    /// Whether it crosses the cloud.
    #[must_use]
    pub fn crosses(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step, Step::Cloud { .. }))
    }
}

/// A direction of a link as the search sees it.
#[derive(Clone, Copy, Debug)]
struct Edge {
    link: u32,
    direction: Direction,
    to: Node,
    delay: Duration,
}

/// The best way to a node that is known so far. Its order is the preference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Label {
    crosses: bool,
    delay: Duration,
    links: usize,
    /// The numbers of its links, sorted.
    sorted: Vec<u32>,
    node: Node,
}

/// Propagation over an idle link.
fn one_way(link: &LinkConfig) -> Duration {
    link.delay + link.service.idle_delay()
}

impl PathModel {
    /// Number of nodes; the first two are the ends of the path.
    #[must_use]
    pub fn node_count(&self) -> usize {
        Node::FIRST as usize + self.nodes.len()
    }

    /// The node of the cloud that a node is.
    #[must_use]
    pub fn cloud_node(&self, node: Node) -> Option<NodeId> {
        let number = node.0.checked_sub(Node::FIRST)?;
        let count = self.cloud.as_ref()?.node_count();
        (number < count).then_some(NodeId(number))
    }

    /// The nodes of the cloud.
    pub fn cloud_nodes(&self) -> impl Iterator<Item = Node> + use<> {
        let count = self.cloud.as_ref().map_or(0, |cloud| cloud.node_count());
        (Node::FIRST..Node::FIRST + count).map(Node)
    }

    /// The name of a node.
    #[must_use]
    pub fn node_name(&self, node: Node) -> &str {
        match node {
            Node::LEFT => "left",
            Node::RIGHT => "right",
            Node(number) => {
                let declared = self.nodes.get((number - Node::FIRST) as usize);
                declared.map_or("", String::as_str)
            }
        }
    }

    /// The nodes at which a link begins and ends; the path is number 0.
    #[must_use]
    pub fn link_ends(&self, link: u32) -> [Node; 2] {
        let declared = link
            .checked_sub(1)
            .and_then(|at| self.links.get(at as usize));
        declared.map_or([Node::LEFT, Node::RIGHT], |link| [link.from, link.to])
    }

    /// The link configurations of a step, in order: several where routers stand before the path's
    /// forward link, none through the cloud.
    pub fn configs(&self, step: Step) -> impl Iterator<Item = &LinkConfig> {
        let declared = |link: u32| link.checked_sub(1).map(|at| self.links.get(at as usize));
        let (before, last): (&[RouterModel], _) = match step {
            Step::Cloud { .. } => (&[], None),
            Step::Link { link, direction } => match (declared(link), direction) {
                (None, _) if self.is_absent => (&[], None),
                (None, Direction::Forward) => (&self.routers, Some(&self.forward)),
                (None, Direction::Reverse) => (&[], Some(&self.reverse)),
                (Some(link), Direction::Forward) => (&[], link.map(|link| &link.forward.link)),
                (Some(link), Direction::Reverse) => {
                    let reverse = link.and_then(|link| link.reverse.as_ref());
                    (&[], reverse.map(|hop| &hop.link))
                }
            },
        };
        before.iter().map(|router| &router.link).chain(last)
    }

    /// Propagation over a step on an idle network.
    #[must_use]
    pub fn delay_of(&self, step: Step) -> Duration {
        let delays = self.configs(step).map(one_way);
        delays.fold(Duration::ZERO, |sum, delay| sum + delay)
    }

    /// The edges that leave each node.
    fn edges(&self) -> Vec<Vec<Edge>> {
        let mut edges = vec![Vec::new(); self.node_count()];
        for number in 0..=self.links.len() as u32 {
            let [from, to] = self.link_ends(number);
            for (direction, from, to) in [
                (Direction::Forward, from, to),
                (Direction::Reverse, to, from),
            ] {
                let link = number;
                let step = Step::Link { link, direction };
                if self.configs(step).next().is_some() {
                    let delay = self.delay_of(step);
                    edges[from.index()].push(Edge {
                        link,
                        direction,
                        to,
                        delay,
                    });
                }
            }
        }
        edges
    }

    /// The routes from a node to each node, in the order of the nodes; `None` where there is none.
    /// (Dijkstra 1959.)
    #[must_use]
    pub fn routes_from(&self, from: Node) -> Vec<Option<Route>> {
        let mut edges = self.edges();
        // The cloud is a node of its own, which packets enter once.
        let hub = edges.len();
        edges.push(Vec::new());
        let mut best: Vec<Option<Label>> = vec![None; edges.len()];
        let mut last: Vec<Option<(Node, Step)>> = vec![None; edges.len()];
        let mut open = BinaryHeap::new();
        let start = Label {
            crosses: false,
            delay: Duration::ZERO,
            links: 0,
            sorted: Vec::new(),
            node: from,
        };
        best[from.index()] = Some(start.clone());
        open.push(Reverse(start));
        while let Some(Reverse(label)) = open.pop() {
            let at = label.node;
            if best[at.index()].as_ref() != Some(&label) {
                continue;
            }
            let entry = last[hub];
            let mut reach = |found: Label, before: Node, step: Step| {
                let to = found.node.index();
                let known = &mut best[to];
                if known.as_ref().is_none_or(|known| found < *known) {
                    *known = Some(found.clone());
                    last[to] = Some((before, step));
                    open.push(Reverse(found));
                }
            };
            if at.index() == hub {
                let Some((before, Step::Cloud { from, .. })) = entry else {
                    continue;
                };
                for node in self.cloud_nodes() {
                    let to = NodeId(node.0 - Node::FIRST);
                    let found = Label {
                        node,
                        ..label.clone()
                    };
                    reach(found, before, Step::Cloud { from, to });
                }
                continue;
            }
            if let (Some(from), false) = (self.cloud_node(at), label.crosses) {
                let found = Label {
                    crosses: true,
                    links: label.links + 1,
                    node: Node(hub as u32),
                    ..label.clone()
                };
                let step = Step::Cloud { from, to: from };
                reach(found, at, step);
            }
            for edge in &edges[at.index()] {
                let mut sorted = label.sorted.clone();
                let place = sorted.partition_point(|&link| link < edge.link);
                sorted.insert(place, edge.link);
                let found = Label {
                    delay: label.delay + edge.delay,
                    links: label.links + 1,
                    sorted,
                    node: edge.to,
                    crosses: label.crosses,
                };
                let Edge {
                    link, direction, ..
                } = *edge;
                reach(found, at, Step::Link { link, direction });
            }
        }
        best.truncate(hub);
        best.into_iter()
            .map(|label| {
                let label = label?;
                let mut steps = Vec::with_capacity(label.links);
                let mut node = label.node;
                while let (true, Some((before, step))) = (node != from, last[node.index()]) {
                    steps.push(step);
                    node = before;
                }
                steps.reverse();
                Some(Route {
                    steps,
                    delay: label.delay,
                })
            })
            .collect()
    }

    /// The route between two nodes, if there is one.
    #[must_use]
    pub fn route(&self, from: Node, to: Node) -> Option<Route> {
        let mut routes = self.routes_from(from);
        routes.get_mut(to.index())?.take()
    }

    /// The nodes that a route passes, the first and the last one included; a route of no links passes
    /// none.
    #[must_use]
    pub fn nodes_of(&self, route: &Route) -> Vec<Node> {
        let ends = |step: &Step| match *step {
            Step::Cloud { from, to } => [from, to].map(|node| Node(node.0 + Node::FIRST)),
            Step::Link { link, direction } => {
                let [from, to] = self.link_ends(link);
                match direction {
                    Direction::Forward => [from, to],
                    Direction::Reverse => [to, from],
                }
            }
        };
        let first = route.steps.first().map(|step| ends(step)[0]);
        let others = route.steps.iter().map(|step| ends(step)[1]);
        first.into_iter().chain(others).collect()
    }

    /// The name of a place.
    #[must_use]
    pub fn place_name(&self, place: Place) -> &str {
        match place {
            Place::Hosts(table) => self
                .hosts
                .get(table as usize)
                .map_or("", |hosts| &hosts.name),
            Place::Node(node) => self.node_name(node),
            Place::Any => "any",
        }
    }

    /// The node of a place. The first one of the cloud stands for one that is drawn at random.
    #[must_use]
    pub fn node_of(&self, place: Place) -> Node {
        match place {
            Place::Hosts(table) => self.hosts[table as usize].at,
            Place::Node(node) => node,
            Place::Any => Node(Node::FIRST),
        }
    }

    /// The nodes between which data of `direction` goes.
    #[must_use]
    pub fn ends_of(&self, ends: Ends, direction: Direction) -> [Node; 2] {
        let usual = match direction {
            Direction::Forward => [Node::LEFT, Node::RIGHT],
            Direction::Reverse => [Node::RIGHT, Node::LEFT],
        };
        let node = |place: Option<Place>, usual| match place {
            Some(place) => self.node_of(place),
            None if self.is_absent => self.node_of(Place::Any),
            None => usual,
        };
        [node(ends.from, usual[0]), node(ends.to, usual[1])]
    }
}

//! The network of a run: the links between nodes, and the routes over them.
//!
//! The path is a link between the nodes "left" and "right"; the scenario may have more nodes and
//! links. Each route is found once, when the first flow takes it.
//!
//! ## Assumptions
//!
//! - A flow's access delay (`extra_delay`, both directions) is added to the path's reverse
//!   direction where its ACKs take that, and at the end of their route where they do not. (For data
//!   in the reverse direction, to the route of the data.)

use std::collections::BTreeMap;

use network::{Discipline, LinkConfig, LossConfig, QueueConfig, QueueLimit, Service};
use scenario::{Direction, Node, Route, RouterModel, Step};
use units::Duration;

use super::{FORWARD, Fabric, REVERSE, Role};
use crate::carried::Carried;
use crate::channel::{Channel, ChannelLink};
use crate::routes::Hop;

/// The reverse direction of a link of one direction.
const NONE: u32 = u32::MAX;

/// Links and routes between nodes.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// The links of each `[[link]]`, by direction; [`NONE`] where there is none.
    links: Vec<[u32; 2]>,
    /// The routes from a node to all others.
    from: BTreeMap<Node, Vec<Option<Route>>>,
    /// The ways that flows have taken, by ends, direction and extra delay.
    ways: BTreeMap<(Node, Node, bool, Duration), Between>,
    /// The links of the path's reverse direction, by the delay added to it.
    reverse_paths: BTreeMap<Duration, Vec<u32>>,
    /// Delay lines at the ends of other routes.
    lines: BTreeMap<Duration, u32>,
}

/// The way between two nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Between {
    /// The routes of data and ACKs.
    pub data: Hop,
    pub acks: Hop,
    /// Propagation there and back, with the extra delay.
    pub base_rtt: Duration,
}

impl Graph {
    /// The first link of each reverse path: the path's own, or one that replaces it.
    pub(super) fn reverse_links(&self) -> Vec<u32> {
        let paths = self.reverse_paths.values();
        paths.filter_map(|links| links.first().copied()).collect()
    }

    /// How many links the scenario has; they come before all others.
    pub(super) fn own_links(&self, routers: &[RouterModel]) -> usize {
        let between = self.links.iter().flatten().filter(|&&link| link != NONE);
        2 + routers.len() + between.count()
    }
}

impl Fabric<'_> {
    /// Adds the path's own links, those of its routers, and those of the graph, in this order.
    pub(super) fn add_own_links(&mut self) {
        let Channel {
            path,
            routers,
            links,
        } = Channel::new(self.path, &self.streams);
        for link in path.into_iter().chain(routers) {
            self.add_own_link(link);
        }
        for (forward, reverse) in links {
            let forward = self.add_own_link(forward);
            let reverse = reverse.map_or(NONE, |link| self.add_own_link(link));
            self.graph.links.push([forward, reverse]);
        }
        self.graph
            .reverse_paths
            .insert(Duration::ZERO, vec![REVERSE]);
    }

    fn add_own_link(&mut self, link: ChannelLink<'_, Carried>) -> u32 {
        self.place_link(link.link, link.router, Role::Own)
    }

    /// The first link of each reverse path: the path's own, or one that replaces it.
    pub fn reverse_links(&self) -> Vec<u32> {
        self.graph.reverse_links()
    }

    /// The way between two nodes. The scenario has refused nodes without a route.
    pub(super) fn between(
        &mut self,
        direction: Direction,
        nodes: [Node; 2],
        extra_delay: Duration,
    ) -> Between {
        let [from, to] = nodes;
        let is_reverse = direction == Direction::Reverse;
        let key = (from, to, is_reverse, extra_delay);
        if let Some(&way) = self.graph.ways.get(&key) {
            return way;
        }
        let [there, back] = [self.find(from, to), self.find(to, from)];
        let base_rtt = there.delay + back.delay + extra_delay * 2;
        let [mut data, mut acks] = [there, back].map(|route| self.links_of(&route));
        if !extra_delay.is_zero() {
            let longer = if is_reverse { &mut data } else { &mut acks };
            self.lengthen(longer, extra_delay);
        }
        let way = Between {
            data: self.routes.over(&data),
            acks: self.routes.over(&acks),
            base_rtt,
        };
        self.graph.ways.insert(key, way);
        way
    }

    /// The route between two nodes; one of no links if there is none.
    fn find(&mut self, from: Node, to: Node) -> Route {
        let path = self.path;
        let known = self
            .graph
            .from
            .entry(from)
            .or_insert_with(|| path.routes_from(from));
        known[to.0 as usize].clone().unwrap_or(Route {
            steps: Vec::new(),
            delay: Duration::ZERO,
        })
    }

    /// The links of a route. Routers stand before the path's forward link.
    fn links_of(&mut self, route: &Route) -> Vec<u32> {
        let mut links = Vec::with_capacity(route.steps.len());
        for &step in &route.steps {
            let (link, direction) = match step {
                Step::Link { link, direction } => (link.checked_sub(1), direction),
                Step::Cloud { from, to } => {
                    links.push(self.routes.crossing(from, to));
                    continue;
                }
            };
            match (link, direction) {
                (None, Direction::Forward) => {
                    links.extend((REVERSE + 1..).take(self.path.routers.len()));
                    links.push(FORWARD);
                }
                (None, Direction::Reverse) => links.push(REVERSE),
                (Some(link), direction) => {
                    links.push(self.graph.links[link as usize][direction as usize]);
                }
            }
        }
        links
    }

    /// Adds the access delay of a flow, there and back, to a route.
    fn lengthen(&mut self, links: &mut Vec<u32>, extra_delay: Duration) {
        if let Some(place) = links.iter().position(|&link| link == REVERSE) {
            let longer = self.reverse_path(extra_delay);
            links.splice(place..=place, longer);
            return;
        }
        let delay = extra_delay * 2;
        let line = match self.graph.lines.get(&delay) {
            Some(&line) => line,
            None => {
                let line = self.add_link(&delay_line(delay), Role::Aside);
                self.graph.lines.insert(delay, line);
                line
            }
        };
        links.push(line);
    }

    /// The path's reverse direction for an access delay of `extra_delay` in each direction. Flows
    /// with equal access delays share one delay line, which adds no queueing.
    pub fn reverse_path(&mut self, extra_delay: Duration) -> Vec<u32> {
        let extra = extra_delay * 2;
        if let Some(links) = self.graph.reverse_paths.get(&extra) {
            return links.clone();
        }
        let links = self.longer_reverse_path(extra);
        self.graph.reverse_paths.insert(extra, links.clone());
        links
    }

    /// The links of a reverse path that is `delay` longer than the path's own. If the path's own is
    /// only a delay, one delay line replaces both.
    fn longer_reverse_path(&mut self, delay: Duration) -> Vec<u32> {
        let shared = &self.path.reverse;
        let mut own = LinkConfig {
            service: Service::Unlimited,
            loss: LossConfig::None,
            jitter: None,
            reordering: None,
            delay,
            ..shared.clone()
        };
        let is_only_delay = LinkConfig {
            delay: shared.delay,
            ..own.clone()
        } == *shared;
        if is_only_delay {
            own.delay = shared.delay + delay;
            vec![self.add_link(&own, Role::StandIn)]
        } else {
            vec![REVERSE, self.add_link(&own, Role::Aside)]
        }
    }
}

/// A link that only delays.
fn delay_line(delay: Duration) -> LinkConfig {
    LinkConfig {
        name: String::new(),
        service: Service::Unlimited,
        overhead: 0,
        queue: QueueConfig {
            limit: QueueLimit::Unlimited,
            discipline: Discipline::DropTail,
        },
        delay,
        ..LinkConfig::DEFAULT
    }
}

//! The map of a topology, for people who look at it: nodes, links, hosts, and the routes that flows
//! and background traffic take.

use network::LinkConfig;
use serde::ser::{Serialize, SerializeMap, Serializer};
use units::{Duration, Rate};
use workload::TrafficKind;
use workload::kinds::{BulkTraffic, DatagramTraffic, VideoTraffic};

use crate::error::Error;
use crate::file::read_path;
use crate::model::{Direction, Ends, Flow, Hosts, Node, PathModel, Place, ProxyModel, Route, Step};
use crate::resolved::{Cloud, Served, Stands, discipline, limits};
use crate::write::{map, millis};

/// The topology of a path, with the routes of a file's flows. It serializes as one document:
/// `nodes` (with their distance from the left end of the path), `links` (the path first), `hosts`,
/// and `routes`.
#[derive(Clone, Debug)]
pub struct Map {
    path: PathModel,
    flows: Vec<Flow>,
}

impl Map {
    /// The map of a path that [`PathModel::resolve`] finds; with the flows of its file, if it has
    /// any.
    ///
    /// # Errors
    /// As [`PathModel::resolve`].
    pub fn resolve(spec: &str) -> Result<Self, Error> {
        let (path, flows) = read_path(spec)?;
        Ok(Self { path, flows })
    }

    /// The path.
    #[must_use]
    pub const fn path(&self) -> &PathModel {
        &self.path
    }

    /// The flows of the file.
    #[must_use]
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// The routes that differ in their ends, in order of their first flow.
    fn routes(&self) -> Vec<Way<'_>> {
        let mut ways: Vec<Way<'_>> = Vec::new();
        let mut add = |what, name, direction, ends, count: Option<u64>| {
            let same = |way: &&mut Way<'_>| {
                way.what == what && way.direction == direction && way.ends == ends
            };
            if let Some(way) = ways.iter_mut().find(same) {
                if !way.names.contains(&name) {
                    way.names.push(name);
                }
                way.count = way.count.zip(count).map(|(one, other)| one + other);
                return;
            }
            ways.push(Way {
                path: &self.path,
                what,
                names: vec![name],
                direction,
                ends,
                count,
            });
        };
        for flow in &self.flows {
            add("flow", &flow.name, Direction::Forward, flow.ends, Some(1));
        }
        for traffic in &self.path.traffic {
            let count = match traffic.kind {
                TrafficKind::Bulk(BulkTraffic { count, .. })
                | TrafficKind::Video(VideoTraffic { count, .. })
                | TrafficKind::Datagrams(DatagramTraffic { count, .. }) => Some(u64::from(count)),
                _ => None,
            };
            add(
                "traffic",
                &traffic.name,
                traffic.direction,
                traffic.flow.ends,
                count,
            );
        }
        ways
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let path = &self.path;
        let distances = path.routes_from(Node::LEFT);
        let first = if path.is_absent { 2 } else { 0 };
        let nodes: Vec<_> = (0..path.node_count() as u32)
            .map(Node)
            .zip(&distances)
            .skip(first)
            .map(|(node, route)| Point {
                name: path.node_name(node),
                route: route.as_ref(),
                proxy: path.proxy(node),
                in_network: path.cloud_node(node).is_some(),
            })
            .collect();
        let links: Vec<_> = (u32::from(path.is_absent)..=path.links.len() as u32)
            .map(|link| Line { path, link })
            .collect();
        let hosts: Vec<_> = path.hosts.iter().map(|hosts| Stands(hosts, path)).collect();
        map!(serializer,
            "nodes": nodes,
            "links": links,
            "hosts": hosts,
            "routes": self.routes();
            "network": path.cloud.as_ref().map(Cloud)
        )
    }
}

/// A node.
struct Point<'a> {
    name: &'a str,
    route: Option<&'a Route>,
    proxy: Option<&'a ProxyModel>,
    in_network: bool,
}

impl Serialize for Point<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let wired = self.route.filter(|route| !route.crosses());
        map!(serializer,
            "name": self.name,
            "distance_ms": wired.map(|route| millis(route.delay)),
            "hops": wired.map(|route| route.steps.len());
            "proxy_buffer_bytes": self.proxy.map(|proxy| proxy.buffer.get()),
            "in_network": self.in_network.then_some(true)
        )
    }
}

/// A link in both directions.
struct Line<'a> {
    path: &'a PathModel,
    link: u32,
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [from, to] = self.path.link_ends(self.link);
        let side = |direction| {
            let step = Step::Link {
                link: self.link,
                direction,
            };
            let config = self.path.configs(step).last()?;
            Some(Side {
                path: self.path,
                step,
                config,
            })
        };
        map!(serializer,
            "from": self.path.node_name(from),
            "to": self.path.node_name(to),
            "is_path": self.link == 0,
            "forward": side(Direction::Forward),
            "reverse": side(Direction::Reverse),
        )
    }
}

/// A direction of a link.
struct Side<'a> {
    path: &'a PathModel,
    step: Step,
    config: &'a LinkConfig,
}

impl Serialize for Side<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { path, step, config } = self;
        let (packets, bytes) = limits(config.queue.limit);
        let routers = path.configs(*step).count() - 1;
        map!(serializer,
            "name": config.name,
            "service": Served(&config.service),
            "mean_bps": config.service.mean_rate().map(Rate::bits_per_sec),
            "delay_ms": millis(path.delay_of(*step)),
            "queue_limit_packets": packets,
            "queue_limit_bytes": bytes,
            "aqm": discipline(&config.queue.discipline),
            "routers": routers,
        )
    }
}

/// Flows, or tables of background traffic, between the same places.
struct Way<'a> {
    path: &'a PathModel,
    what: &'static str,
    names: Vec<&'a str>,
    direction: Direction,
    ends: Ends,
    /// How many flows; `None` for arrivals without end.
    count: Option<u64>,
}

impl Way<'_> {
    fn hosts(&self, place: Option<Place>) -> Option<&Hosts> {
        match place {
            Some(Place::Hosts(table)) => self.path.hosts.get(table as usize),
            _ => None,
        }
    }
}

impl Serialize for Way<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { path, ends, .. } = self;
        if ends.is_drawn() {
            let names = [ends.from, ends.to].map(|place| place.map(|place| path.place_name(place)));
            return map!(serializer,
                "what": self.what,
                "names": self.names,
                "count": self.count,
                "from": names[0],
                "to": names[1],
                "is_drawn": true,
            );
        }
        let nodes = path.ends_of(*ends, self.direction);
        let find = |from, to| path.route(from, to);
        let (Some(there), Some(back)) = (find(nodes[0], nodes[1]), find(nodes[1], nodes[0])) else {
            return serializer.serialize_none();
        };
        let places = [(ends.from, nodes[0]), (ends.to, nodes[1])];
        let names = places.map(|(place, node)| path.place_name(place.unwrap_or(Place::Node(node))));
        let hosts = places.map(|(place, _)| self.hosts(place));
        let access = |of: fn(&Hosts) -> Option<&Duration>| {
            let delays = hosts.iter().flatten().filter_map(|hosts| of(hosts));
            delays.fold(Duration::ZERO, |sum, delay| sum + *delay)
        };
        let rtt = |access: Duration| millis(there.delay + back.delay + access * 2);
        let rates = there.steps.iter().flat_map(|step| path.configs(*step));
        let rates = rates.filter_map(|config| config.service.mean_rate());
        let slowest = rates
            .chain(hosts.iter().flatten().filter_map(|hosts| hosts.rate))
            .min();
        let passed = |route: &Route, usual: Node| -> Vec<&str> {
            let mut nodes = path.nodes_of(route);
            if nodes.is_empty() {
                nodes.push(usual);
            }
            nodes.into_iter().map(|node| path.node_name(node)).collect()
        };
        let links = |route: &Route| -> Vec<&str> {
            let name = |step: &Step| match step {
                Step::Cloud { .. } => Some("network"),
                Step::Link { .. } => path.configs(*step).last().map(|link| link.name.as_str()),
            };
            route.steps.iter().filter_map(name).collect()
        };
        // What the cloud adds is not known beforehand.
        let is_wired = !there.crosses() && !back.crosses();
        let slowest = slowest.filter(|_| is_wired);
        map!(serializer,
            "what": self.what,
            "names": self.names,
            "count": self.count,
            "from": names[0],
            "to": names[1],
            "nodes": passed(&there, nodes[0]),
            "links": links(&there),
            "back_nodes": passed(&back, nodes[1]),
            "back_links": links(&back),
            "base_rtt_min_ms": is_wired.then(|| rtt(access(|hosts| hosts.delays.iter().min()))),
            "base_rtt_max_ms": is_wired.then(|| rtt(access(|hosts| hosts.delays.iter().max()))),
            "bottleneck_bps": slowest.map(Rate::bits_per_sec),
        )
    }
}

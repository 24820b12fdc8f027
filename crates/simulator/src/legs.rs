//! The settings of connections that proxies split.
//!
//! A connection that passes n proxies has n + 1 legs. They are known before a run starts, because
//! routes do not change.

use std::collections::BTreeMap;

use scenario::{Direction, Ends, Flow, Node, PathModel, ProxyModel, Scenario, TrafficKind};

/// How the proxies of a scenario split its flows and background traffic.
#[derive(Debug, Default)]
pub struct Legs {
    measured: Vec<Course>,
    traffic: Vec<Course>,
}

/// How a connection is split; without legs if it is not.
#[derive(Debug, Default)]
pub struct Course {
    /// The nodes of the proxies, in the direction of the data.
    pub nodes: Vec<Node>,
    /// The settings of each leg in that direction.
    pub there: Vec<Flow>,
    /// The same for data in the other direction, for the same order of the legs.
    pub back: Vec<Flow>,
}

impl Legs {
    pub fn of(scenario: &Scenario) -> Self {
        let path = &scenario.path;
        if path.proxies.is_empty() {
            return Self::default();
        }
        let mut known = BTreeMap::new();
        let mut course = |flow: &Flow, direction: Direction| {
            let nodes = path.ends_of(flow.ends, direction);
            let hosts = [flow.ends.from, flow.ends.to]
                .map(|place| matches!(place, Some(scenario::Place::Hosts(_))));
            let proxies: &Vec<Node> = known
                .entry((nodes, hosts))
                .or_insert_with(|| passed(path, flow.ends, direction));
            Course::new(path, flow, proxies)
        };
        Self {
            measured: scenario
                .flows
                .iter()
                .map(|flow| course(flow, Direction::Forward))
                .collect(),
            traffic: path
                .traffic
                .iter()
                .map(|traffic| match traffic.kind {
                    TrafficKind::Datagrams { .. } => Course::default(),
                    _ => course(&traffic.flow, traffic.direction),
                })
                .collect(),
        }
    }

    /// How a measured flow is split.
    pub fn of_flow(&self, flow: usize) -> Option<&Course> {
        self.measured.get(flow).filter(|it| !it.nodes.is_empty())
    }

    /// How the connections of a table of background traffic are split.
    pub fn of_traffic(&self, table: u32) -> Option<&Course> {
        let course = self.traffic.get(table as usize);
        course.filter(|it| !it.nodes.is_empty())
    }
}

fn passed(path: &PathModel, ends: Ends, direction: Direction) -> Vec<Node> {
    let proxies = path.proxies_between(ends, direction);
    proxies.into_iter().map(|proxy| proxy.at).collect()
}

impl Course {
    fn new(path: &PathModel, flow: &Flow, nodes: &[Node]) -> Self {
        if nodes.is_empty() {
            return Self::default();
        }
        let proxies = nodes.iter().map(|&node| path.proxy(node));
        let host: Option<&ProxyModel> = None;
        let stations: Vec<_> = std::iter::once(host)
            .chain(proxies)
            .chain(std::iter::once(host))
            .collect();
        let legs = stations.windows(2);
        Self {
            nodes: nodes.to_vec(),
            there: legs.clone().map(|leg| flow.leg(leg[0], leg[1])).collect(),
            back: legs.map(|leg| flow.leg(leg[1], leg[0])).collect(),
        }
    }
}

//! Hosts behind access links, and the routes between them.
//!
//! Data takes the access link of its host up to its node, the route from there to the node of the
//! other host, and the access link of that host down from it; its ACKs take the other direction of
//! both access links, and the route between the nodes in the other direction. A host without a flow
//! costs nothing: its links exist from its first flow on.
//!
//! ## Assumptions
//!
//! - The routers at the nodes pass explicit requests on to the access links unchanged,
//!   and do not count as hops.

use measure::LinkResult;
use network::{Discipline, LinkConfig, QueueConfig, Service};
use scenario::{Direction, Ends, Hosts, Node, Place};
use units::{Duration, Instant};

use super::graph::Between;
use super::{Fabric, Role};
use crate::routes::Hop;

/// The access link of a host, in both directions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// From the host to its node.
    pub up: u32,
    /// From its node to the host.
    pub down: u32,
}

/// The way between two hosts.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub data: Hop,
    pub acks: Hop,
    /// Propagation there and back, with access links and extra delay.
    pub base_rtt: Duration,
}

impl Way {
    /// The way in the other direction.
    pub const fn back(self) -> Self {
        Self {
            data: self.acks,
            acks: self.data,
            base_rtt: self.base_rtt,
        }
    }
}

impl Fabric<'_> {
    /// The way of the `turn`-th of the flows between `ends` whose data goes in `direction`.
    pub fn way(
        &mut self,
        direction: Direction,
        ends: Ends,
        turn: u64,
        extra_delay: Duration,
    ) -> Way {
        let nodes = self.path.ends_of(ends, direction);
        self.way_between(direction, nodes, ends, turn, extra_delay)
    }

    /// The way between two nodes, and the hosts of `ends` behind them.
    pub(super) fn way_between(
        &mut self,
        direction: Direction,
        nodes: [Node; 2],
        ends: Ends,
        turn: u64,
        extra_delay: Duration,
    ) -> Way {
        let between = self.between(direction, nodes, extra_delay);
        let Between {
            data,
            acks,
            base_rtt,
        } = between;
        let from = self.access_of(ends.from, turn);
        let to = self.access_of(ends.to, turn);
        if from.is_none() && to.is_none() {
            return Way {
                data,
                acks,
                base_rtt,
            };
        }
        let up = |access: Option<(Access, Duration)>| access.map(|(access, _)| access.up);
        let down = |access: Option<(Access, Duration)>| access.map(|(access, _)| access.down);
        let delay =
            |access: Option<(Access, Duration)>| access.map_or(Duration::ZERO, |(_, delay)| delay);
        Way {
            data: self.routes.between(up(from), data, down(to)),
            acks: self.routes.between(up(to), acks, down(from)),
            base_rtt: base_rtt + (delay(from) + delay(to)) * 2,
        }
    }

    /// The ways of the legs of a connection whose data goes in `direction` between `ends`.
    /// `proxies` split it. The extra delay is that of the first one.
    pub fn ways(
        &mut self,
        proxies: &[Node],
        direction: Direction,
        ends: Ends,
        turn: u64,
        extra_delay: Duration,
    ) -> Vec<Way> {
        let [first, last] = self.path.ends_of(ends, direction);
        let mut stations = vec![first];
        stations.extend(proxies);
        stations.push(last);
        let count = stations.len() - 1;
        (0..count)
            .map(|leg| {
                let is_first = leg == 0;
                let places = Ends {
                    from: ends.from.filter(|_| is_first),
                    to: ends.to.filter(|_| leg + 1 == count),
                };
                let nodes = [stations[leg], stations[leg + 1]];
                let extra = if is_first {
                    extra_delay
                } else {
                    Duration::ZERO
                };
                self.way_between(direction, nodes, places, turn, extra)
            })
            .collect()
    }

    fn access_of(&mut self, place: Option<Place>, turn: u64) -> Option<(Access, Duration)> {
        match place {
            Some(Place::Hosts(table)) => Some(self.access(table, turn)),
            Some(Place::Node(_) | Place::Any) | None => None,
        }
    }

    /// The access link of the host that takes the `turn`-th flow, and its one-way delay.
    fn access(&mut self, table: u32, turn: u64) -> (Access, Duration) {
        let hosts = &self.path.hosts[table as usize];
        let host = hosts.host(turn);
        let delay = hosts.delay(host);
        let number = host as usize;
        let known = self.accesses.get(table as usize);
        if let Some(&Some(access)) = known.and_then(|of_table| of_table.get(number)) {
            return (access, delay);
        }
        let access = self.add_access(table, delay);
        let tables = self.accesses.len().max(table as usize + 1);
        self.accesses.resize_with(tables, Vec::new);
        let of_table = &mut self.accesses[table as usize];
        let known = of_table.len().max(number + 1);
        of_table.resize(known, None);
        of_table[number] = Some(access);
        (access, delay)
    }

    /// Adds the access link of a host of `table`.
    fn add_access(&mut self, table: u32, delay: Duration) -> Access {
        if let Some(access) = self.interfaces.add(table, delay) {
            self.added.extend([access.up, access.down]);
            return access;
        }
        let hosts = &self.path.hosts[table as usize];
        let config = link_of(hosts, delay);
        let [up, down] = [(), ()].map(|()| self.add_link(&config, Role::Aside));
        let at_right = hosts.at == Node::RIGHT;
        self.links[up as usize].from_right = at_right;
        self.links[down as usize].to_right = at_right;
        Access { up, down }
    }

    /// Adds up the access links of each table, in each direction.
    pub(super) fn summarize_accesses(
        &mut self,
        links: &[LinkResult],
        now: Instant,
    ) -> Vec<LinkResult> {
        let mut results = Vec::new();
        for (table, hosts) in self.path.hosts.iter().enumerate() {
            let own = self.accesses.get_mut(table).map(std::mem::take);
            let own: Vec<Access> = own.into_iter().flatten().flatten().collect();
            let mut sum = |word: &str, of: fn(&Access) -> u32| {
                let mut total = none(format!("{} ({word})", hosts.name), hosts);
                for access in &own {
                    let number = of(access);
                    match self.interfaces.result(number, now) {
                        Some(interface) => add(&mut total, &interface, hosts),
                        None => add(&mut total, &links[number as usize], hosts),
                    }
                }
                total.queue_mean_packets /= f64::from(hosts.count);
                total
            };
            let up = sum("up", |access| access.up);
            results.extend([up, sum("down", |access| access.down)]);
        }
        results
    }
}

/// One direction of the access link of a host.
pub(super) fn link_of(hosts: &Hosts, delay: Duration) -> LinkConfig {
    LinkConfig {
        // Results name the table of hosts (`summarize_accesses`), not each of its links.
        name: String::new(),
        service: hosts.rate.map_or(Service::Unlimited, Service::Fixed),
        overhead: hosts.overhead,
        queue: QueueConfig {
            limit: hosts.buffer,
            discipline: Discipline::DropTail,
        },
        delay,
        ..LinkConfig::DEFAULT
    }
}

/// The result of no link: sums over links of hosts, the largest of their queues, and means over all
/// hosts.
fn none(name: String, hosts: &Hosts) -> LinkResult {
    LinkResult {
        name,
        utilization: hosts.rate.map(|_| 0.0),
        packets: 0,
        drops: 0,
        marks: 0,
        queue_max_packets: 0,
        queue_mean_packets: 0.0,
        queue_distribution: None,
    }
}

/// Adds the result of a link to that of all; its mean queue, which is still a sum.
fn add(total: &mut LinkResult, link: &LinkResult, hosts: &Hosts) {
    total.packets += link.packets;
    total.drops += link.drops;
    total.marks += link.marks;
    total.queue_max_packets = total.queue_max_packets.max(link.queue_max_packets);
    if let (Some(sum), Some(link)) = (&mut total.utilization, link.utilization) {
        *sum += link / f64::from(hosts.count);
    }
    total.queue_mean_packets += link.queue_mean_packets;
}

//! `[[hosts]]`: hosts behind access links of their own, and the flows that use them.
//!
//! In the dumbbell of the Common TCP Evaluation Suite (Hayes, Ros, Andrew and Floyd 2014, section 3)
//! the path is the central link, and each host has an edge link. With `[[link]]`s, hosts stand at any
//! node. Connections take the hosts of a table in turn.

use network::QueueLimit;
use tables::{Table as Known, Value};
use units::{Bytes, Duration};

use crate::document::{Item, Table};
use crate::error::{Error, suggestion};
use crate::limits::{MAX_DELAYS, MAX_HOST_TABLES, MAX_HOSTS, MAX_OVERHEAD};
use crate::model::{Direction, Ends, FULL_PACKET, Hosts, Node, PathModel, Place};
use crate::quantity::{self, Buffer};
use crate::tables::HOSTS;
use crate::topology::Network;

/// The transmit queue that Linux gives a network device.
const DEFAULT_BUFFER: u64 = 1000;

/// Reads `hosts` of a table, if present; the overhead of their links is the path's.
pub(crate) fn read(table: &Table<'_>, network: &Network) -> Result<Option<Vec<Hosts>>, Error> {
    const KNOWN: &Known = &HOSTS;
    let Some(item) = table.get("hosts") else {
        return Ok(None);
    };
    let expected = || item.refuse("hosts are written as tables [[hosts]]");
    let tables = item
        .as_tables(KNOWN, MAX_HOST_TABLES)
        .ok_or_else(expected)??;
    let mut all: Vec<Hosts> = Vec::with_capacity(tables.len());
    for table in &tables {
        let hosts = one(table, network)?;
        if all.iter().any(|other| other.name == hosts.name) {
            return Err(table.refuse_at("name", "another table of hosts has this name"));
        }
        if network.declares(&hosts.name) {
            return Err(table.refuse_at("name", "a [[node]] has this name"));
        }
        all.push(hosts);
        let count: u64 = all.iter().map(|hosts| u64::from(hosts.count)).sum();
        if count > MAX_HOSTS {
            return Err(table.refuse_at("count", format!("the limit is {MAX_HOSTS} hosts")));
        }
    }
    Ok(Some(all))
}

fn one(table: &Table<'_>, network: &Network) -> Result<Hosts, Error> {
    let rate = table.read("rate")?;
    let buffer = match (table.get("buffer"), rate) {
        (Some(item), _) => buffer(&item)?,
        (None, Some(_)) => QueueLimit::Packets(DEFAULT_BUFFER),
        (None, None) => QueueLimit::Unlimited,
    };
    Ok(Hosts {
        name: table.need("name")?.words()?,
        at: network.node(&table.need("at")?)?,
        count: table.or("count", 1)?,
        rate,
        buffer,
        overhead: 0,
        delays: delays(table, "delay")?,
    })
}

fn buffer(item: &Item<'_>) -> Result<QueueLimit, Error> {
    let largest = Bytes::new(u64::from(FULL_PACKET) + MAX_OVERHEAD);
    match item.parse(quantity::buffer)? {
        Buffer::Bdp { .. } => {
            Err(item.refuse("hosts differ in their round-trip times: give it in packets or bytes"))
        }
        Buffer::Bytes(bytes) if bytes < largest => Err(item.refuse(format!(
            "one full packet, with all that a link may count, has {largest}"
        ))),
        buffer => Ok(buffer.resolve(Bytes::ZERO, largest)),
    }
}

/// Adds hosts to a path whose links are known.
pub(crate) fn settle(mut hosts: Vec<Hosts>, path: &mut PathModel) {
    for one in &mut hosts {
        one.overhead = path.forward.overhead;
    }
    path.hosts = hosts;
}

/// `from` and `to` of a table whose data goes in `direction`, if routes lead there and back.
pub(crate) fn ends(
    table: &Table<'_>,
    hosts: &[Hosts],
    network: &Network,
    direction: Direction,
) -> Result<Ends, Error> {
    let usual = match direction {
        Direction::Forward => [Node::LEFT, Node::RIGHT],
        Direction::Reverse => [Node::RIGHT, Node::LEFT],
    };
    let places = [
        end(table, "from", hosts, network)?,
        end(table, "to", hosts, network)?,
    ];
    let ends = Ends {
        from: places[0],
        to: places[1],
    };
    let node = |side: usize| match places[side] {
        Some(Place::Hosts(number)) => hosts[number as usize].at,
        Some(Place::Node(node)) => node,
        Some(Place::Any) => Node(Node::FIRST),
        None => usual[side],
    };
    let nodes = [node(0), node(1)];
    let refuse = |key: &str, reason: String| match table.get(key) {
        Some(item) => item.refuse(reason),
        None => table.refuse(reason),
    };
    let key = if places[1].is_some() { "to" } else { "from" };
    if ends.is_drawn() {
        if network.cloud_size() < 2 {
            let reason = "the [network] has one node, which is no choice".to_owned();
            return Err(refuse(key, reason));
        }
        if network.has_proxies() {
            let reason = "with proxies, data comes from and goes to nodes that the file names";
            return Err(refuse(key, reason.to_owned()));
        }
    }
    if network.is_path_alone() {
        for (side, key) in [(0, "from"), (1, "to")] {
            if nodes[side] == usual[1 - side] {
                return Err(refuse(key, wrong_end(places[side], side, nodes[side])));
            }
        }
    }
    if nodes[0] == nodes[1] && !ends.is_drawn() && (places[0] == places[1] || !is_at_hosts(places))
    {
        return Err(refuse(
            key,
            "data does not leave the place that it comes from".to_owned(),
        ));
    }
    let [from, to] = nodes.map(|node| network.name(node));
    if !network.reaches(nodes[0], nodes[1]) {
        return Err(refuse(
            key,
            format!("there is no route from {from} to {to}"),
        ));
    }
    if !network.reaches(nodes[1], nodes[0]) {
        let reason = format!("there is no route back from {to} to {from}, which ACKs need");
        return Err(refuse(key, reason));
    }
    Ok(ends)
}

/// Whether an access link stands between two places.
const fn is_at_hosts(places: [Option<Place>; 2]) -> bool {
    matches!(places[0], Some(Place::Hosts(_))) || matches!(places[1], Some(Place::Hosts(_)))
}

/// Why data of a dumbbell does not come from there (side 0) or go there (side 1).
fn wrong_end(place: Option<Place>, side: usize, node: Node) -> String {
    let (here, there) = match node {
        Node::LEFT => ("left", "right"),
        _ => ("right", "left"),
    };
    let what = match place {
        Some(Place::Hosts(_)) => "these hosts are at",
        _ => "this is",
    };
    let verb = ["comes from", "goes to"][side];
    format!("{what} the {here} end of the path, and this data {verb} the {there} end")
}

fn end(
    table: &Table<'_>,
    key: &str,
    hosts: &[Hosts],
    network: &Network,
) -> Result<Option<Place>, Error> {
    let Some(item) = table.get(key) else {
        return Ok(network.is_pathless().then_some(Place::Any));
    };
    let name = item.words()?;
    if let Some((number, _)) = (0..).zip(hosts).find(|(_, hosts)| hosts.name == name) {
        return Ok(Some(Place::Hosts(number)));
    }
    if let Some(node) = network.find(&name) {
        return Ok(Some(Place::Node(node)));
    }
    if name == "any" && network.cloud_size() > 0 {
        return Ok(Some(Place::Any));
    }
    let known = hosts.iter().map(|hosts| hosts.name.as_str());
    let hint = suggestion(&name, known.chain(network.names()));
    let usual = format!("no table [[hosts]] and no [[node]] has this name{hint}");
    Err(item.refuse(network.unknown(&name, &usual)))
}

/// A delay, or several that are taken in turn.
pub(crate) fn delays(table: &Table<'_>, key: &str) -> Result<Vec<Duration>, Error> {
    let Some(item) = table.get(key) else {
        return Ok(vec![Duration::ZERO]);
    };
    let read = |item: Item<'_>| match item.value()? {
        Value::Time(delay) => Ok(delay),
        _ => Ok(Duration::ZERO),
    };
    let Some(items) = item.items() else {
        return Ok(vec![read(item)?]);
    };
    if items.is_empty() || items.len() > MAX_DELAYS as usize {
        return Err(item.refuse(format!("expected 1 to {MAX_DELAYS} delays")));
    }
    items.into_iter().map(read).collect()
}

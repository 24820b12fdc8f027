//! `[[hosts]]`: hosts behind access links of their own, and the flows that use them.
//!
//! The dumbbell of the Common TCP Evaluation Suite (Hayes, Ros, Andrew and Floyd 2014, section 3):
//! the path is the central link, and each host has an edge link. Connections take the hosts of a
//! table in turn.

use network::QueueLimit;
use tables::{Table as Known, Value};
use units::{Bytes, Duration};

use crate::document::{Item, Table};
use crate::error::{Error, suggestion};
use crate::limits::{MAX_DELAYS, MAX_HOST_TABLES, MAX_HOSTS, MAX_OVERHEAD};
use crate::model::{Direction, End, Ends, FULL_PACKET, Hosts, PathModel};
use crate::quantity::{self, Buffer};
use crate::tables::HOSTS;

/// The transmit queue that Linux gives a network device.
const DEFAULT_BUFFER: u64 = 1000;

/// Reads `hosts` of a table, if present; the overhead of their links is the path's.
pub(crate) fn read(table: &Table<'_>) -> Result<Option<Vec<Hosts>>, Error> {
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
        let hosts = one(table)?;
        if all.iter().any(|other| other.name == hosts.name) {
            return Err(table.refuse_at("name", "another table of hosts has this name"));
        }
        all.push(hosts);
        let count: u64 = all.iter().map(|hosts| u64::from(hosts.count)).sum();
        if count > MAX_HOSTS {
            return Err(table.refuse_at("count", format!("the limit is {MAX_HOSTS} hosts")));
        }
    }
    Ok(Some(all))
}

fn one(table: &Table<'_>) -> Result<Hosts, Error> {
    let at = table.word("at", &[End::Left, End::Right])?;
    let rate = table.read("rate")?;
    let buffer = match (table.get("buffer"), rate) {
        (Some(item), _) => buffer(&item)?,
        (None, Some(_)) => QueueLimit::Packets(DEFAULT_BUFFER),
        (None, None) => QueueLimit::Unlimited,
    };
    Ok(Hosts {
        name: table.need("name")?.words()?,
        at: at.ok_or_else(|| table.missing("at"))?,
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

/// `from` and `to` of a table whose data goes in `direction`.
pub(crate) fn ends(
    table: &Table<'_>,
    hosts: &[Hosts],
    direction: Direction,
) -> Result<Ends, Error> {
    let [first, last] = match direction {
        Direction::Forward => [End::Left, End::Right],
        Direction::Reverse => [End::Right, End::Left],
    };
    Ok(Ends {
        from: end(table, "from", hosts, first)?,
        to: end(table, "to", hosts, last)?,
    })
}

fn end(table: &Table<'_>, key: &str, hosts: &[Hosts], at: End) -> Result<Option<u32>, Error> {
    let Some(item) = table.get(key) else {
        return Ok(None);
    };
    let name = item.words()?;
    let Some((number, found)) = (0..).zip(hosts).find(|(_, hosts)| hosts.name == name) else {
        let hint = suggestion(&name, hosts.iter().map(|hosts| hosts.name.as_str()));
        return Err(item.refuse(format!("no table [[hosts]] has this name{hint}")));
    };
    if found.at != at {
        let (here, there) = match at {
            End::Left => ("right", "left"),
            End::Right => ("left", "right"),
        };
        return Err(item.refuse(format!(
            "these hosts are at the {here} end of the path, and this data {} the {there} end",
            if key == "from" {
                "comes from"
            } else {
                "goes to"
            }
        )));
    }
    Ok(Some(number))
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

//! A file of positions: lines `node,x,y`, or `time,node,x,y` with which nodes move. A first line of
//! words is a header; `#` begins a comment.

use std::path::Path;
use std::sync::Arc;

use units::Instant;
use wireless::NodeId;
use wireless::adhoc::mobility::{Mobility, Position, Waypoint, WaypointError};

use crate::error::Error;
use crate::trace_file::read_text;

/// Largest file.
const MOST_BYTES: u64 = 64_000_000;
/// Latest time in seconds: a week.
const LATEST: f64 = 7.0 * 24.0 * 3600.0;
/// Farthest coordinate in metres.
const FARTHEST: f64 = 1e6;

/// Reads a file; the number of nodes is `wanted`, or that of the file. A mistake in the file itself
/// names its line; `refuse` makes the error about the file as a whole.
pub(super) fn read(
    path: &Path,
    wanted: Option<u32>,
    refuse: impl Fn(String) -> Error,
) -> Result<(u32, Arc<[Waypoint]>), Error> {
    let text = read_text(path, MOST_BYTES).map_err(&refuse)?;
    let file = path.to_string_lossy();
    let mut found: Vec<(u32, Waypoint)> = Vec::new();
    let mut is_first = true;
    for (number, line) in (1_u32..).zip(text.lines()) {
        let content = line.split('#').next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        let is_header = std::mem::take(&mut is_first)
            && content.starts_with(|first: char| first.is_ascii_alphabetic());
        if is_header {
            continue;
        }
        let waypoint = waypoint(content).map_err(|reason| Error::at(&file, number, 1, reason))?;
        found.push((number, waypoint));
    }
    let last = found.iter().map(|(_, waypoint)| waypoint.node.0).max();
    let Some(last) = last else {
        return Err(Error::in_file(&file, "the file has no position"));
    };
    let count = wanted.unwrap_or(last + 1);
    if !(2..=wireless::MAX_NODES as u32).contains(&count) {
        let reason = format!("a network has 2 to {} nodes", wireless::MAX_NODES);
        return Err(Error::in_file(&file, reason));
    }
    // Of one node in order of time; the file may be sorted by either.
    found.sort_by_key(|(_, waypoint)| waypoint.at);
    let list: Vec<Waypoint> = found.iter().map(|(_, waypoint)| *waypoint).collect();
    let line = |index: usize| found.get(index).map_or(1, |(number, _)| *number);
    match Mobility::listed(count as usize, &list) {
        Ok(_) => Ok((count, list.into())),
        Err(WaypointError::Missing(node)) => Err(Error::in_file(
            &file,
            format!("node {} has no position", node.0),
        )),
        Err(WaypointError::UnknownNode(index)) => Err(Error::at(
            &file,
            line(index),
            1,
            format!(
                "the network has {count} nodes, from node 0 to node {}",
                count - 1
            ),
        )),
        Err(WaypointError::NotFinite(index)) => Err(Error::at(
            &file,
            line(index),
            1,
            "a coordinate is not a number",
        )),
        Err(WaypointError::NotLater(index)) => Err(Error::at(
            &file,
            line(index),
            1,
            "the node has another position at this time",
        )),
    }
}

fn waypoint(line: &str) -> Result<Waypoint, String> {
    let expected = || "expected node,x,y or time,node,x,y".to_owned();
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let (time, rest) = match fields.len() {
        3 => ("0", &fields[..]),
        4 => (fields[0], &fields[1..]),
        _ => return Err(expected()),
    };
    let number = |text: &str, most: f64| {
        let number: f64 = text.parse().map_err(|_| expected())?;
        match number.abs() <= most {
            true => Ok(number),
            false => Err(format!("{text} is too large")),
        }
    };
    let seconds = number(time, LATEST)?;
    if seconds < 0.0 {
        return Err("a time is not negative".to_owned());
    }
    let node: u32 = rest[0].parse().map_err(|_| expected())?;
    if u64::from(node) >= wireless::MAX_NODES {
        return Err(format!("the limit is {} nodes", wireless::MAX_NODES));
    }
    Ok(Waypoint {
        at: Instant::from_nanos((seconds * 1e9).round() as u64),
        node: NodeId(node),
        position: Position::new(number(rest[1], FARTHEST)?, number(rest[2], FARTHEST)?),
    })
}

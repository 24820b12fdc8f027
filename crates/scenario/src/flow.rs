//! `[[flow]]`: which flows send what, when and how. Defaults are those of Linux 6.x.

use std::sync::OnceLock;

use congestion::Algorithm;
use units::{Bytes, Duration, Rate};

use crate::described;
use crate::document::{Item, Table};
use crate::error::Error;
use crate::hosts;
use crate::limits::MIN_INTERVAL;
use crate::model::{Application, Direction, Flow, FlowStack, Hosts};
use crate::tables::APPLICATION;
use crate::topology::Network;

/// Reads a `[[flow]]` table: as many flows as its `count`.
pub(crate) fn read(
    table: &Table<'_>,
    hosts: &[Hosts],
    network: &Network,
) -> Result<Vec<Flow>, Error> {
    let mut flow = Flow::new(algorithm(&table.need("algorithm")?)?);
    table.either("size", "duration")?;
    if let Some(stack) = table.word("stack", FlowStack::ALL)? {
        flow.stack = stack;
    }
    if flow.stack.is_foreign() {
        // As the flows of a comparison of stacks are called.
        flow.name = format!("{} on {}", flow.name, flow.stack.name());
    }
    if let Some(item) = table.get("name") {
        flow.name = item.words()?;
    }
    flow.size = table.read("size")?;
    flow.duration = table.read("duration")?;
    table.set("start", &mut flow.start)?;
    described::read(table, &mut flow.settings)?;
    if let Some(item) = table.get("application") {
        flow.application = application(&item.table(&APPLICATION)?, flow.mss)?;
    }
    flow.ends = hosts::ends(table, hosts, network, Direction::Forward)?;
    copies(table, flow)
}

/// Finds an algorithm whose start-up is not in the registry by its description: `None` if it is one
/// of the registry, and a sentence if it is wrong.
pub type FindAlgorithm = fn(&str) -> Option<Result<Algorithm, String>>;

static ELSEWHERE: OnceLock<FindAlgorithm> = OnceLock::new();

/// Makes every file that is read from now on ask `find` first. Only the first call has an effect: a
/// program has one other place of start-ups.
pub fn find_algorithms(find: FindAlgorithm) {
    ELSEWHERE.get_or_init(|| find);
}

/// An algorithm by its name.
pub(crate) fn algorithm(item: &Item<'_>) -> Result<Algorithm, Error> {
    item.parse(|text| {
        let elsewhere = ELSEWHERE.get().and_then(|find| find(text));
        elsewhere.unwrap_or_else(|| Algorithm::parse(text).map_err(|error| error.to_string()))
    })
}

fn application(table: &Table<'_>, mss: Bytes) -> Result<Application, Error> {
    table.either("write", "rate")?;
    if let Some(item) = table.get("rate") {
        if let Some(key) = ["every", "pause"].into_iter().find(|key| table.has(key)) {
            return Err(table.refuse_at(key, format!("an application with a rate has no {key}")));
        }
        let every = table.needed::<Rate>("rate")?.time_for(mss);
        if every < MIN_INTERVAL {
            return Err(item.refuse("the rate of an application is at most 11 Gbit/s"));
        }
        return Ok(Application::Periodic { write: mss, every });
    }
    let write = table.needed("write")?;
    table.either("every", "pause")?;
    if let Some(pause) = table.read("pause")? {
        return Ok(Application::Pausing { write, pause });
    }
    let every = table.needed("every")?;
    Ok(Application::Periodic { write, every })
}

/// `count` flows, each `stagger` after the one before.
fn copies(table: &Table<'_>, flow: Flow) -> Result<Vec<Flow>, Error> {
    let count = table.or("count", 1)?;
    if let (Some(item), 1) = (table.get("stagger"), count) {
        return Err(item.refuse("there is only one flow"));
    }
    let stagger = table.or("stagger", Duration::ZERO)?;
    Ok(staggered(&flow, count, stagger))
}

/// `count` copies of a flow, each `stagger` after the one before.
pub(crate) fn staggered(flow: &Flow, count: u64, stagger: Duration) -> Vec<Flow> {
    (0..count)
        .map(|n| Flow {
            start: flow.start + stagger * n,
            ..flow.clone()
        })
        .collect()
}

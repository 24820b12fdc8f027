//! From a file, or from a path's name, to a [`Scenario`] or a [`PathModel`].

use std::path::Path;

use network::LinkConfig;
use units::{Duration, Instant};

use crate::cloud;
use crate::document::{Document, Item, Table};
use crate::error::{Error, quoted};
use crate::flow;
use crate::hosts;
use crate::limits::{MAX_FLOWS, MAX_TRAFFIC};
use crate::model::{Direction, Flow, Hosts, PathModel, Place, Scenario, Step};
use crate::path::{PathSpec, names};
use crate::tables::{FLOW, PATH, SCENARIO, TRAFFIC};
use crate::topology::Network;
use crate::trace_file::read_text;
use crate::traffic;
use crate::{named, presets, standstill};

/// Longest scenario file.
const MAX_FILE: u64 = 4_000_000;
/// A file that was parsed; it may have no flows.
struct Parsed {
    name: Option<String>,
    summary: Option<String>,
    path: PathModel,
    flows: Vec<Flow>,
    runs: Option<u32>,
    seed: Option<u64>,
    duration: Option<Duration>,
    time_limit: Option<Duration>,
}

impl Scenario {
    /// Reads a scenario file. Trace names are relative to its folder.
    ///
    /// # Errors
    /// One sentence with file, line and column: the file cannot be read, is invalid TOML, has an
    /// unknown key, a wrong unit, a value out of range, or neither a flow nor traffic with a
    /// duration.
    pub fn load(file: impl AsRef<Path>) -> Result<Self, Error> {
        let file = file.as_ref();
        let (name, text) = open(file)?;
        Self::parse(&text, &name, file.parent().unwrap_or(Path::new("")))
    }

    /// Reads a scenario from `text`. `file` is its name in messages; trace names are relative to
    /// `folder`.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn parse(text: &str, file: &str, folder: &Path) -> Result<Self, Error> {
        let parsed = parse(text, file, folder)?;
        let idle = match (parsed.path.traffic.is_empty(), parsed.duration) {
            (true, _) => Some("there is no [[flow]], so there is nothing to run"),
            (false, None) => Some(
                "there is no [[flow]], and [[traffic]] alone never ends: give the scenario a \
                 duration, such as duration = \"60 s\"",
            ),
            (false, Some(_)) => None,
        };
        if let (Some(reason), true) = (idle, parsed.flows.is_empty()) {
            return Err(Error::in_file(file, reason));
        }
        let Parsed {
            name,
            summary,
            path,
            flows,
            runs,
            seed,
            duration,
            time_limit,
        } = parsed;
        let mut scenario = Self::new(path, flows);
        let warm_up = scenario.path.warm_up;
        scenario.name = name.unwrap_or(scenario.name);
        scenario.summary = summary.unwrap_or(scenario.summary);
        scenario.runs = runs.unwrap_or(scenario.runs);
        scenario.seed = seed.unwrap_or(scenario.seed);
        scenario.duration = duration.map(|duration| duration + warm_up);
        scenario.time_limit = warm_up
            + time_limit.unwrap_or(scenario.time_limit.max(duration.unwrap_or(Duration::ZERO)));
        for flow in &mut scenario.flows {
            flow.start += warm_up;
        }
        scenario
            .check()
            .map_err(|message| Error::in_file(file, message))?;
        Ok(scenario)
    }

    /// The first link that data of a flow takes; `None` if that is the access link of a host, which
    /// is a drop-tail one.
    fn device(&self, flow: &Flow) -> Option<&LinkConfig> {
        if let Some(Place::Hosts(_)) = flow.ends.from {
            return None;
        }
        let [from, to] = self.path.ends_of(flow.ends, Direction::Forward);
        let route = self.path.route(from, to)?;
        self.path.configs(*route.steps.first()?).next()
    }

    /// Whether data of a flow enters the cloud before any link.
    fn enters_cloud(&self, flow: &Flow) -> bool {
        if let Some(Place::Hosts(_)) = flow.ends.from {
            return false;
        }
        let [from, to] = self.path.ends_of(flow.ends, Direction::Forward);
        let route = self.path.route(from, to);
        let first = route.and_then(|route| route.steps.first().copied());
        flow.ends.is_drawn() || matches!(first, Some(Step::Cloud { .. }))
    }

    /// Checks that need more than one key.
    pub(crate) fn check(&self) -> Result<(), String> {
        let end = Instant::ZERO
            + self
                .duration
                .unwrap_or(self.time_limit)
                .min(self.time_limit);
        for flow in &self.flows {
            let lacks_report = |link: &LinkConfig| link.decides_late() && !link.is_medium();
            if flow.small_queue.is_some() && self.device(flow).is_some_and(lacks_report) {
                return Err(format!(
                    "the flow {} has a small_queue, for which its device, the path's first link, is Wi-Fi or has a drop-tail queue \
                     that knows on arrival when a packet leaves: no other aqm, no dama",
                    quoted(&flow.name)
                ));
            }
            if flow.small_queue.is_some() && self.enters_cloud(flow) {
                return Err(format!(
                    "the flow {} has a small_queue, whose device is the first link of its route, and \
                     its data comes from a node of the [network]",
                    quoted(&flow.name)
                ));
            }
            if flow.size.is_none() && flow.duration.is_none() && self.duration.is_none() {
                let name = quoted(&flow.name);
                return Err(format!(
                    "the flow {name} never ends: give it a size or a duration, or the scenario a duration"
                ));
            }
            if flow.start >= end {
                return Err(format!(
                    "the flow {} starts when the run is already over",
                    quoted(&flow.name)
                ));
            }
        }
        Ok(())
    }
}

impl PathModel {
    /// Finds a path: a preset's name, `trace:FILE`, `trace:DOWN,UP`, or a TOML file.
    ///
    /// # Errors
    /// One sentence: there is no such preset or file (with the nearest preset), or the file is
    /// wrong at a line and column.
    pub fn resolve(spec: &str) -> Result<Self, Error> {
        read_path(spec).map(|(path, _)| path)
    }

    /// Reads the path of a file from its `text`, with or without flows. `file` is its name in
    /// messages; trace names are relative to `folder`.
    ///
    /// # Errors
    /// As [`Scenario::load`], but a file without flows is accepted.
    pub fn parse(text: &str, file: &str, folder: &Path) -> Result<Self, Error> {
        parse(text, file, folder).map(|parsed| parsed.path)
    }
}

/// As [`PathModel::resolve`], with the flows of a file.
pub(crate) fn read_path(spec: &str) -> Result<(PathModel, Vec<Flow>), Error> {
    if let Some(files) = spec.strip_prefix("trace:") {
        return named::trace(files).map(|path| (path, Vec::new()));
    }
    if let Some(preset) = presets::find(spec) {
        return named::path(preset).map(|path| (path, Vec::new()));
    }
    if spec.is_empty() {
        return Err(Error::new(format!(
            "the path has no name{}",
            presets::hint(spec)
        )));
    }
    let file = Path::new(spec);
    if !file.exists() && !spec.ends_with(".toml") && !spec.contains('/') {
        return Err(Error::new(format!(
            "{} is neither the name of a path nor a file{}",
            quoted(spec),
            presets::hint(spec)
        )));
    }
    let (name, text) = open(file)?;
    let parsed = parse(&text, &name, file.parent().unwrap_or(Path::new("")))?;
    Ok((parsed.path, parsed.flows))
}

/// The name of a file in messages, and its text.
fn open(file: &Path) -> Result<(String, String), Error> {
    let name = file.to_string_lossy().into_owned();
    let text = read_text(file, MAX_FILE).map_err(|reason| Error::in_file(&name, reason))?;
    Ok((name, text))
}

fn parse(text: &str, file: &str, folder: &Path) -> Result<Parsed, Error> {
    let document = Document { file, text };
    let tree = document.parse()?;
    let root = Table::new(document, &SCENARIO, tree.get_ref(), 0)?;
    let (name, summary) = names(&root)?;
    let cloud = cloud::read(&root, folder)?;
    let table = match (root.get("path"), &cloud) {
        (None, Some(_)) => None,
        (None, None) => return Err(root.missing("path")),
        (Some(item), _) => Some(item.table(&PATH)?),
    };
    let (cloud, warm_up) = cloud.unzip();
    let network = Network::read(&root, cloud, folder)?;
    let mut spec = match &table {
        Some(table) => PathSpec::read(table, folder, &network)?,
        None => PathSpec::default(),
    };
    spec.name = spec.name.or_else(|| name.clone());
    spec.summary = spec.summary.or_else(|| summary.clone());
    let said = |key: &str| table.as_ref().is_some_and(|table| table.has(key));
    if let Some(item) = root.get("hosts") {
        if said("hosts") {
            return Err(item.refuse("hosts and path.hosts are the same thing: keep one"));
        }
        spec.hosts = hosts::read(&root, &network)?;
    }
    if let Some(item) = root.get("traffic") {
        if said("traffic") {
            return Err(item.refuse("traffic and path.traffic are the same thing: keep one"));
        }
        let hosts = spec.hosts.as_deref().unwrap_or_default();
        spec.traffic = traffic::read(&root, hosts, &network, folder)?;
    }
    let others = spec.traffic.take().unwrap_or_default();
    let stem = Path::new(file).file_stem().map_or_else(
        || "path".to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    );
    let mut path = match &table {
        Some(table) => spec
            .resolve(&stem)
            .map_err(|reason| table.refuse(format!("[path] {reason}")))?,
        None => spec.without_path(&stem),
    };
    traffic::settle(others, warm_up.unwrap_or_default(), &mut path)?;
    let flows = flows(&root, &path.hosts, &network)?;
    network.settle(&root, &mut path)?;
    let traffic = root
        .get("traffic")
        .or(table.as_ref().and_then(|table| table.get("traffic")));
    refuse_standstill(&root, traffic.as_ref(), &path, &flows)?;
    let flows = flows.into_iter().flatten().collect();
    Ok(Parsed {
        name,
        summary,
        path,
        flows,
        runs: root.read("runs")?,
        seed: root.read("seed")?,
        duration: root.read("duration")?,
        time_limit: root.read("time_limit")?,
    })
}

/// The flows of each table.
fn flows(root: &Table<'_>, hosts: &[Hosts], network: &Network) -> Result<Vec<Vec<Flow>>, Error> {
    let Some(item) = root.get("flow") else {
        return Ok(Vec::new());
    };
    let expected = || item.refuse("flows are written as tables [[flow]]");
    let tables = item.as_tables(&FLOW, MAX_FLOWS).ok_or_else(expected)??;
    let mut flows = Vec::new();
    let mut count = 0;
    for table in &tables {
        let own = flow::read(table, hosts, network)?;
        count += own.len();
        if count > MAX_FLOWS as usize {
            return Err(table.refuse(format!("the limit is {MAX_FLOWS} flows")));
        }
        flows.push(own);
    }
    Ok(flows)
}

/// Refuses flows and traffic that take no time over the network, whose links are known.
fn refuse_standstill(
    root: &Table<'_>,
    traffic: Option<&Item<'_>>,
    path: &PathModel,
    flows: &[Vec<Flow>],
) -> Result<(), Error> {
    for (table, flows) in tables(root.get("flow").as_ref(), &FLOW, MAX_FLOWS)?
        .iter()
        .zip(flows)
    {
        // Its copies have the same ends.
        if let Some(flow) = flows.first() {
            let extra = [flow.extra_delay];
            standstill::refuse(table, path, flow.ends, Direction::Forward, &extra)?;
        }
    }
    let tables = tables(traffic, &TRAFFIC, MAX_TRAFFIC)?;
    for (table, traffic) in tables.iter().zip(&path.traffic) {
        let (ends, extra) = (traffic.flow.ends, &traffic.extra_delays);
        standstill::refuse(table, path, ends, traffic.direction, extra)?;
    }
    Ok(())
}

fn tables<'a>(
    item: Option<&Item<'a>>,
    known: &'static tables::Table,
    most: u32,
) -> Result<Vec<Table<'a>>, Error> {
    let tables = item.and_then(|item| item.as_tables(known, most));
    tables.transpose().map(Option::unwrap_or_default)
}

//! `[[traffic]]`: background traffic. What it sends, and when, follows from the run's seed alone,
//! so that all algorithms of a comparison meet the same traffic.
//!
//! The kinds, their keys and what these mean come from the crate `workload`; [`replay`] reads the
//! files of one of them.

mod replay;

use std::path::Path;

use congestion::Algorithm;
use units::{Duration, Instant};
use workload::kinds::{Around, Found, VideoTraffic};
use workload::suite::{Framing, arrivals_per_s};
use workload::{KnownTraffic, TrafficKind};

use crate::described;
use crate::document::Table;
use crate::error::Error;
use crate::flow;
use crate::hosts;
use crate::limits::{ARRIVALS, MAX_TRAFFIC};
use crate::model::{Application, Direction, Flow, Hosts, PathModel, Traffic};
use crate::tables::{TRAFFIC, TRAFFIC_SETTINGS};
use crate::topology::Network;
use replay::Replay;

/// What a table says about its kind.
type Read = Result<(TrafficKind, Pending), Error>;

/// Reads the keys of a kind.
fn read_kind(known: &KnownTraffic, table: &Table<'_>, folder: &Path) -> Read {
    let mut keys = (known.defaults)();
    for group in keys.groups() {
        described::fill(table, group)?;
    }
    let around = Around {
        given: &|key| table.has(key),
        duration: table.read("duration")?,
    };
    match keys.traffic(&around).map_err(|wrong| table.wrong(wrong))? {
        Found::File(keys) => replay::tmix(keys.replay(), table, folder),
        Found::Traffic(kind) if known.own_keys().any(|key| key == "arrivals") => {
            Ok((kind, open(table)?))
        }
        Found::Traffic(kind) => Ok((kind, Pending::Nothing)),
    }
}

/// Refuses keys of kinds other than `kind`.
fn refuse_foreign(kind: &KnownTraffic, table: &Table<'_>) -> Result<(), Error> {
    let is_own = |key: &&str| kind.own_keys().any(|own| own == *key);
    let settings = TRAFFIC_SETTINGS.iter().map(|key| key.name);
    let connections = std::iter::once("algorithm").chain(settings);
    let foreign = KnownTraffic::all()
        .iter()
        .flat_map(KnownTraffic::own_keys)
        .filter(|key| !is_own(key))
        .chain(connections.filter(|_| !kind.connects))
        .find(|key| table.has(key));
    let Some(key) = foreign else {
        return Ok(());
    };
    let own: Vec<&str> = kind.own_keys().collect();
    let own = own.join(", ");
    Err(table.refuse_at(
        key,
        format!("{key} belongs to another kind of traffic; this kind has {own}"),
    ))
}

/// What is left to do when the rates of the path are known.
#[derive(Clone, Debug)]
enum Pending {
    Nothing,
    /// The number of starts per second is known.
    Arrivals(f64),
    /// It follows from a load.
    Load(Load),
    /// The connections of a file.
    Replay(Box<Replay>),
}

/// A fraction of the rate, with the error if there is no rate, and the error if it gives too many
/// starts.
#[derive(Clone, Debug)]
struct Load {
    fraction: f64,
    refusals: Box<[Error; 2]>,
}

impl Load {
    /// Reads `load`, of traffic that ends or that does not.
    fn read(table: &Table<'_>, ends: bool) -> Result<Self, Error> {
        let item = table.need("load")?;
        let fraction: f64 = table.needed("load")?;
        if fraction >= 1.0 && !ends && !table.has("duration") {
            return Err(item.refuse(
                "a load of 100 % or more that does not end never drains: give it a duration",
            ));
        }
        let refusals = [
            item.refuse("this direction has no rate limit to take a fraction of"),
            item.refuse(format!(
                "this gives more than {} starts per second: lower it, or increase the sizes",
                ARRIVALS.1
            )),
        ];
        Ok(Self {
            fraction,
            refusals: Box::new(refusals),
        })
    }

    /// The starts per second if each brings so many bytes.
    fn arrivals(self, path: &PathModel, direction: Direction, bytes: f64) -> Result<f64, Error> {
        let [unrated, too_many] = *self.refusals;
        let rate = path.rate_of(direction).ok_or(unrated)?;
        let arrivals = arrivals_per_s(self.fraction, rate, bytes, Framing::PAYLOAD);
        match arrivals > ARRIVALS.1 {
            true => Err(too_many),
            false => Ok(arrivals),
        }
    }
}

/// Reads `load` or `arrivals` of endless traffic.
fn open(table: &Table<'_>) -> Result<Pending, Error> {
    table.either("load", "arrivals")?;
    match table.read("arrivals")? {
        Some(arrivals) => Ok(Pending::Arrivals(arrivals)),
        None => Load::read(table, false).map(Pending::Load),
    }
}

/// What the file says about background traffic; times count from the start of the scenario's flows.
#[derive(Clone, Debug)]
pub(crate) struct TrafficSpec {
    pending: Pending,
    traffic: Traffic,
    warm_up: Duration,
    duration: Option<Duration>,
}

/// Reads `traffic` of a table, if present. Names of files are relative to `folder`.
pub(crate) fn read(
    table: &Table<'_>,
    hosts: &[Hosts],
    network: &Network,
    folder: &Path,
) -> Result<Option<Vec<TrafficSpec>>, Error> {
    let Some(item) = table.get("traffic") else {
        return Ok(None);
    };
    let expected = || item.refuse("background traffic is written as tables [[traffic]]");
    let tables = item
        .as_tables(&TRAFFIC, MAX_TRAFFIC)
        .ok_or_else(expected)??;
    let mut specs: Vec<TrafficSpec> = Vec::with_capacity(tables.len());
    for table in &tables {
        let mut spec = TrafficSpec::read(table, hosts, network, folder)?;
        spec.name(table, &specs)?;
        specs.push(spec);
    }
    Ok(Some(specs))
}

/// Adds traffic to a path whose links are known. The network itself needs `warm_up`.
pub(crate) fn settle(
    specs: Vec<TrafficSpec>,
    warm_up: Duration,
    path: &mut PathModel,
) -> Result<(), Error> {
    let warm_ups = specs.iter().map(|spec| spec.warm_up);
    path.warm_up = warm_ups.fold(warm_up, Duration::max);
    let settled = specs.into_iter().map(|spec| spec.settle(path));
    path.traffic = settled.collect::<Result<_, _>>()?;
    Ok(())
}

impl TrafficSpec {
    fn read(
        table: &Table<'_>,
        hosts: &[Hosts],
        network: &Network,
        folder: &Path,
    ) -> Result<Self, Error> {
        let kinds = KnownTraffic::all().iter();
        let kinds: Vec<_> = kinds.map(|kind| (kind.name, kind)).collect();
        let known = table.need("kind")?.choice(&kinds)?;
        refuse_foreign(known, table)?;
        let (kind, pending) = read_kind(known, table, folder)?;
        table.either("start", "warm_up")?;
        let direction = table
            .word("direction", &[Direction::Forward, Direction::Reverse])?
            .unwrap_or(Direction::Forward);
        let mut flow = connection(table, &kind)?;
        flow.ends = hosts::ends(table, hosts, network, direction)?;
        Ok(Self {
            pending,
            warm_up: table.or("warm_up", Duration::ZERO)?,
            duration: table.read("duration")?,
            traffic: Traffic {
                name: String::new(),
                kind,
                direction,
                flow,
                extra_delays: hosts::delays(table, "extra_delay")?,
                start: table.or("start", Instant::ZERO)?,
                stop: None,
                list_flows: table.or("list_flows", false)?,
            },
        })
    }

    /// Its own name, or that of its kind, with a number if the name is taken.
    fn name(&mut self, table: &Table<'_>, others: &[Self]) -> Result<(), Error> {
        let taken = |name: &str| others.iter().any(|other| other.traffic.name == name);
        let name = match table.get("name") {
            Some(item) => {
                let name = item.words()?;
                if taken(&name) {
                    return Err(item.refuse("another traffic table has this name"));
                }
                name
            }
            None => {
                let kind = self.traffic.kind.name();
                let numbered = (2..).map(|number| format!("{kind} {number}"));
                let mut names = std::iter::once(kind.to_owned()).chain(numbered);
                names.find(|name| !taken(name)).unwrap_or_default()
            }
        };
        self.traffic.flow.name.clone_from(&name);
        self.traffic.name = name;
        Ok(())
    }

    fn settle(self, path: &PathModel) -> Result<Traffic, Error> {
        let mut traffic = self.traffic;
        traffic.start += path.warm_up.saturating_sub(self.warm_up);
        traffic.stop = self.duration.map(|duration| traffic.start + duration);
        let arrivals = match self.pending {
            Pending::Nothing => return Ok(traffic),
            Pending::Arrivals(arrivals) => arrivals,
            Pending::Load(load) => {
                let bytes = traffic.kind.bytes_per_arrival(Framing::default());
                load.arrivals(path, traffic.direction, bytes.unwrap_or(0.0))?
            }
            Pending::Replay(replay) => {
                traffic.kind = replay.settle(path.rate_of(traffic.direction))?;
                return Ok(traffic);
            }
        };
        traffic.kind.set_arrivals_per_s(arrivals);
        Ok(traffic)
    }
}

/// The settings of each connection.
fn connection(table: &Table<'_>, kind: &TrafficKind) -> Result<Flow, Error> {
    let algorithm = match table.get("algorithm") {
        Some(item) => flow::algorithm(&item)?,
        None => Algorithm::parse("cubic").map_err(|error| table.refuse(error.to_string()))?,
    };
    let mut flow = Flow::new(algorithm);
    let is_setting = |key: &str| TRAFFIC_SETTINGS.iter().any(|setting| setting.name == key);
    described::fill_only(table, &mut flow.settings, is_setting)?;
    described::check(table, &flow.settings)?;
    if let TrafficKind::Video(VideoTraffic { segment, every, .. }) = *kind {
        flow.application = Application::Periodic {
            write: segment,
            every,
        };
    }
    Ok(flow)
}

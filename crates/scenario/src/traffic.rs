//! `[[traffic]]`: background traffic. What it sends, and when, follows from the run's seed alone,
//! so that all algorithms of a comparison meet the same traffic. Results do not measure its flows
//! one by one.
//!
//! Web traffic follows Scharf 2011: responses of truncated Pareto size that arrive as a Poisson
//! process. `load` is their payload as a fraction of the link's rate in that direction; headers,
//! ACKs and retransmissions come on top.
//!
//! ## Deviations
//!
//! - Each response has a connection of its own, as under HTTP/1.0.
//! - The segments of a video follow each other at fixed times over one connection and do not adapt:
//!   data that the path cannot carry in time waits at the sender.

use congestion::Algorithm;
use tables::Wrong;
use units::{Bytes, Duration, Instant, Rate};

use crate::document::Table;
use crate::error::Error;
use crate::flow;
use crate::hosts;
use crate::limits::{ARRIVALS, MAX_TRAFFIC};
use crate::model::{Application, Direction, Flow, Hosts, PathModel, Traffic, TrafficKind};
use crate::tables::TRAFFIC;
use crate::topology::Network;

/// Sizes of Scharf 2011.
const WEB: (Bytes, f64, Bytes) = (Bytes::new(14_000), 1.1, Bytes::new(10_000_000));
/// A common choice for DASH.
const SEGMENT: Duration = Duration::from_secs(4);

/// The arrivals of web traffic.
#[derive(Clone, Debug)]
enum Amount {
    /// A fraction of the rate, with the error if there is no rate, and the error if it gives too
    /// many.
    Load(f64, Box<[Error; 2]>),
    /// Arrivals per second.
    Arrivals(f64),
}

/// What the file says about background traffic; times count from the start of the scenario's flows.
#[derive(Clone, Debug)]
pub(crate) struct TrafficSpec {
    amount: Option<Amount>,
    traffic: Traffic,
    warm_up: Duration,
    duration: Option<Duration>,
}

/// Reads `traffic` of a table, if present.
pub(crate) fn read(
    table: &Table<'_>,
    hosts: &[Hosts],
    network: &Network,
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
        let mut spec = TrafficSpec::read(table, hosts, network)?;
        spec.name(table, &specs)?;
        specs.push(spec);
    }
    Ok(Some(specs))
}

/// Adds traffic to a path whose links are known.
pub(crate) fn settle(specs: Vec<TrafficSpec>, path: &mut PathModel) -> Result<(), Error> {
    let warm_ups = specs.iter().map(|spec| spec.warm_up);
    path.warm_up = warm_ups.max().unwrap_or_default();
    let settled = specs.into_iter().map(|spec| spec.settle(path));
    path.traffic = settled.collect::<Result<_, _>>()?;
    Ok(())
}

impl TrafficSpec {
    fn read(table: &Table<'_>, hosts: &[Hosts], network: &Network) -> Result<Self, Error> {
        type Reader = fn(&Table<'_>) -> Result<(TrafficKind, Option<Amount>), Error>;
        let kinds: [(&str, (Reader, &[&str])); 4] = [
            ("web", (web, &["load", "arrivals", "mean", "shape", "cut"])),
            ("bulk", (bulk, &["count", "spread", "size"])),
            ("video", (video, &["count", "spread", "bitrate", "segment"])),
            (
                "datagrams",
                (datagrams, &["count", "spread", "rate", "on", "off"]),
            ),
        ];
        let (kind, own) = table.need("kind")?.choice(&kinds)?;
        refuse_foreign(table, own)?;
        let (kind, amount) = kind(table)?;
        table.either("start", "warm_up")?;
        let direction = table
            .word("direction", &[Direction::Forward, Direction::Reverse])?
            .unwrap_or(Direction::Forward);
        let mut flow = connection(table, &kind)?;
        flow.ends = hosts::ends(table, hosts, network, direction)?;
        Ok(Self {
            amount,
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
        let TrafficKind::Web {
            arrivals_per_s,
            mean,
            ..
        } = &mut traffic.kind
        else {
            return Ok(traffic);
        };
        *arrivals_per_s = match self.amount {
            None => 0.0,
            Some(Amount::Arrivals(arrivals)) => arrivals,
            Some(Amount::Load(load, refusals)) => {
                let [unrated, too_many] = *refusals;
                let rate = path.rate_of(traffic.direction).ok_or(unrated)?;
                let arrivals = load * rate.bits_per_sec() as f64 / (8 * mean.get()) as f64;
                if arrivals > ARRIVALS.1 {
                    return Err(too_many);
                }
                arrivals
            }
        };
        Ok(traffic)
    }
}

/// Refuses keys of other kinds.
fn refuse_foreign(table: &Table<'_>, own: &[&str]) -> Result<(), Error> {
    const OF_KINDS: &[&str] = &[
        "load", "arrivals", "mean", "shape", "cut", "count", "spread", "size", "bitrate",
        "segment", "rate", "on", "off",
    ];
    const OF_CONNECTIONS: &[&str] = &["algorithm", "initial_window", "pacing", "ecn"];
    let connects = !own.contains(&"on");
    let foreign = OF_KINDS
        .iter()
        .filter(|key| !own.contains(key))
        .chain(OF_CONNECTIONS.iter().filter(|_| !connects))
        .find(|key| table.has(key));
    match foreign {
        None => Ok(()),
        Some(key) => Err(table.refuse_at(
            key,
            format!(
                "{key} belongs to another kind of traffic; this kind has {}",
                own.join(", ")
            ),
        )),
    }
}

fn web(table: &Table<'_>) -> Result<(TrafficKind, Option<Amount>), Error> {
    table.either("load", "arrivals")?;
    let amount = match table.read("arrivals")? {
        Some(arrivals) => Amount::Arrivals(arrivals),
        None => {
            let item = table.need("load")?;
            let load: f64 = table.needed("load")?;
            if load >= 1.0 {
                return Err(item.refuse("a load of 100 % never ends"));
            }
            let refusals = [
                item.refuse("this direction has no rate limit to take a fraction of"),
                item.refuse(format!(
                    "this gives more than {} responses per second: lower it, or increase the mean",
                    ARRIVALS.1
                )),
            ];
            Amount::Load(load, Box::new(refusals))
        }
    };
    let (mean, cut) = (table.or("mean", WEB.0)?, table.or("cut", WEB.2)?);
    if mean >= cut {
        let key = if table.has("mean") { "mean" } else { "cut" };
        return Err(table.refuse_at(
            key,
            format!(
                "no distribution has a mean of {} and a largest size of {}: the mean must be below the cut",
                mean,
                cut
            ),
        ));
    }
    let shape = table.or("shape", WEB.1)?;
    let kind = TrafficKind::Web {
        arrivals_per_s: 0.0,
        mean,
        shape,
        cut,
    };
    Ok((kind, Some(amount)))
}

fn count_and_spread(table: &Table<'_>, usual: Duration) -> Result<(u32, Duration), Error> {
    Ok((table.or("count", 1)?, table.or("spread", usual)?))
}

fn bulk(table: &Table<'_>) -> Result<(TrafficKind, Option<Amount>), Error> {
    let (count, spread) = count_and_spread(table, Duration::from_secs(1))?;
    let kind = TrafficKind::Bulk {
        count,
        spread,
        size: table.read("size")?,
    };
    Ok((kind, None))
}

fn video(table: &Table<'_>) -> Result<(TrafficKind, Option<Amount>), Error> {
    let every = table.or("segment", SEGMENT)?;
    let (count, spread) = count_and_spread(table, every)?;
    let segment = table.needed::<Rate>("bitrate")?.bytes_in(every);
    if segment.is_zero() {
        let reason = "a segment would have no bytes";
        return Err(table.wrong(Wrong::value("bitrate", reason)));
    }
    let kind = TrafficKind::Video {
        count,
        spread,
        segment,
        every,
    };
    Ok((kind, None))
}

fn datagrams(table: &Table<'_>) -> Result<(TrafficKind, Option<Amount>), Error> {
    let rate = table.needed("rate")?;
    let on = table.or("on", Duration::from_secs(1))?;
    let off = table.or("off", Duration::ZERO)?;
    let (count, spread) = count_and_spread(table, on + off)?;
    let kind = TrafficKind::Datagrams {
        count,
        spread,
        rate,
        on,
        off,
    };
    Ok((kind, None))
}

/// The settings of each connection.
fn connection(table: &Table<'_>, kind: &TrafficKind) -> Result<Flow, Error> {
    let algorithm = match table.get("algorithm") {
        Some(item) => flow::algorithm(&item)?,
        None => Algorithm::parse("cubic").map_err(|error| table.refuse(error.to_string()))?,
    };
    let mut flow = Flow::new(algorithm);
    table.set("initial_window", &mut flow.initial_window)?;
    table.set("pacing", &mut flow.pacing)?;
    table.set("ecn", &mut flow.ecn)?;
    if let TrafficKind::Video { segment, every, .. } = *kind {
        flow.application = Application::Periodic {
            write: segment,
            every,
        };
    }
    Ok(flow)
}

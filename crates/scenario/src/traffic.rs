//! `[[traffic]]`: who else is on the path. Nobody measures these flows one by one; what they send, and
//! when, follows from the run's seed alone, so that every algorithm compared meets the same.
//!
//! Web-like traffic is that of document 003 (network-models, section A.11): responses of truncated
//! Pareto size that begin at random (Poisson). A `load` counts their payload bytes against the rate of
//! the direction's link; headers, ACKs and retransmissions come on top.
//!
//! ## Deviations
//!
//! - Each response has a connection of its own, as under HTTP/1.0.
//! - A video's segments follow each other at fixed times over one connection and are never made smaller: what
//!   the path does not carry in time waits at the sender.

use congestion::Algorithm;
use tables::{Value, Wrong};
use units::{Bytes, Duration, Instant, Rate};

use crate::document::{Item, Table};
use crate::error::Error;
use crate::flow;
use crate::limits::{ARRIVALS, MAX_DELAYS, MAX_TRAFFIC};
use crate::model::{Application, Direction, Flow, PathModel, Traffic, TrafficKind};
use crate::tables::TRAFFIC;

/// Sizes of document 003.
const WEB: (Bytes, f64, Bytes) = (Bytes::new(14_000), 1.1, Bytes::new(10_000_000));
/// What DASH commonly has.
const SEGMENT: Duration = Duration::from_secs(4);

/// How often web-like traffic begins.
#[derive(Clone, Debug)]
enum Amount {
    /// A share of the rate, and what to say where there is none, and where it comes to too many.
    Load(f64, Box<[Error; 2]>),
    /// So many in a second.
    Arrivals(f64),
}

/// What was said about some traffic; times count from the start of the scenario's flows.
#[derive(Clone, Debug)]
pub(crate) struct TrafficSpec {
    amount: Option<Amount>,
    traffic: Traffic,
    warm_up: Duration,
    duration: Option<Duration>,
}

/// Reads `traffic` of a table, if it is there.
pub(crate) fn read(table: &Table<'_>) -> Result<Option<Vec<TrafficSpec>>, Error> {
    let Some(item) = table.get("traffic") else {
        return Ok(None);
    };
    let expected = || item.refuse("other traffic is written as tables [[traffic]]");
    let tables = item
        .as_tables(&TRAFFIC, MAX_TRAFFIC)
        .ok_or_else(expected)??;
    let mut specs: Vec<TrafficSpec> = Vec::with_capacity(tables.len());
    for table in &tables {
        let mut spec = TrafficSpec::read(table)?;
        spec.name(table, &specs)?;
        specs.push(spec);
    }
    Ok(Some(specs))
}

/// Puts traffic on a path whose links are known.
pub(crate) fn settle(specs: Vec<TrafficSpec>, path: &mut PathModel) -> Result<(), Error> {
    let warm_ups = specs.iter().map(|spec| spec.warm_up);
    path.warm_up = warm_ups.max().unwrap_or_default();
    let settled = specs.into_iter().map(|spec| spec.settle(path));
    path.traffic = settled.collect::<Result<_, _>>()?;
    Ok(())
}

impl TrafficSpec {
    fn read(table: &Table<'_>) -> Result<Self, Error> {
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
        Ok(Self {
            amount,
            warm_up: table.or("warm_up", Duration::ZERO)?,
            duration: table.read("duration")?,
            traffic: Traffic {
                name: String::new(),
                kind,
                direction: table
                    .word("direction", &[Direction::Forward, Direction::Reverse])?
                    .unwrap_or(Direction::Forward),
                flow: connection(table, &kind)?,
                extra_delays: delays(table)?,
                start: table.or("start", Instant::ZERO)?,
                stop: None,
                list_flows: table.or("list_flows", false)?,
            },
        })
    }

    /// Its own name, or that of its kind, with a number where others have it.
    fn name(&mut self, table: &Table<'_>, others: &[Self]) -> Result<(), Error> {
        let taken = |name: &str| others.iter().any(|other| other.traffic.name == name);
        let name = match table.get("name") {
            Some(item) => {
                let name = item.words()?;
                if taken(&name) {
                    return Err(item.refuse("other traffic has this name"));
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

/// Refuses what other kinds alone have.
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
                "{key} is of another kind of traffic; this one has {}",
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
                return Err(item.refuse("a load of all there is never ends"));
            }
            let refusals = [
                item.refuse("this direction has no rate to take a share of"),
                item.refuse(format!(
                    "this comes to more than {} responses in a second: lower it, or say a larger mean",
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
                "a mean of {} and a largest size of {} leave no distribution: the mean is below the cut",
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
        let reason = "a segment would have no byte";
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

/// `extra_delay`: one, or several of which each flow takes the next.
fn delays(table: &Table<'_>) -> Result<Vec<Duration>, Error> {
    let Some(item) = table.get("extra_delay") else {
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
        return Err(item.refuse(format!("1 to {MAX_DELAYS} delays are expected")));
    }
    items.into_iter().map(read).collect()
}

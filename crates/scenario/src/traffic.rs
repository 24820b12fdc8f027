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
use units::{Bytes, Duration, Instant};

use crate::document::{Item, Table};
use crate::error::Error;
use crate::flow::{initial_window, interval, transfer};
use crate::model::{Application, Direction, Flow, PathModel, Traffic, TrafficKind};
use crate::quantity::{self, MAX_DURATION};
use crate::read::{MAX_RTT, positive, time_up_to};
use crate::schema::TRAFFIC;

/// Most tables of a path.
pub(crate) const MAX_TRAFFIC: usize = 64;
/// Most flows that one of them names.
const MAX_COUNT: u64 = 10_000;
/// Most delays of a set.
const MAX_DELAYS: usize = 1_000;
/// Most arrivals in a second, and the least: one in a day or so.
const ARRIVALS: (f64, f64) = (1e-5, 1e5);
/// Shapes that are heavy-tailed, and more.
const SHAPES: (f64, f64) = (0.1, 10.0);
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
        let (kind, own) = table.need("kind", "\"web\"")?.choice(&kinds)?;
        refuse_foreign(table, own)?;
        let (kind, amount) = kind(table)?;
        table.either("start", "warm_up")?;
        let time = |key| {
            table.get(key).map_or(Ok(Duration::ZERO), |item: Item<'_>| {
                item.read("\"10 s\"", |text| time_up_to(text, MAX_DURATION))
            })
        };
        let start = time("start")?;
        Ok(Self {
            amount,
            warm_up: time("warm_up")?,
            duration: table
                .get("duration")
                .map(|item| item.read("\"60 s\"", positive))
                .transpose()?,
            traffic: Traffic {
                name: String::new(),
                kind,
                direction: match table.get("direction") {
                    None => Direction::Forward,
                    Some(item) => item.choice(&[
                        ("forward", Direction::Forward),
                        ("reverse", Direction::Reverse),
                    ])?,
                },
                flow: connection(table, &kind)?,
                extra_delays: delays(table)?,
                start: Instant::ZERO + start,
                stop: None,
                list: match table.get("list") {
                    None => false,
                    Some(item) => item.boolean()?,
                },
            },
        })
    }

    /// Its own name, or that of its kind, with a number where others have it.
    fn name(&mut self, table: &Table<'_>, others: &[Self]) -> Result<(), Error> {
        let taken = |name: &str| others.iter().any(|other| other.traffic.name == name);
        let name = match table.get("name") {
            Some(item) => {
                let name = item.words(80)?;
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
    let amount = match table.get("arrivals") {
        Some(item) => Amount::Arrivals(item.read("\"30 /s\"", |text| {
            let arrivals = quantity::frequency(text)?;
            if arrivals < ARRIVALS.0 || arrivals > ARRIVALS.1 {
                return Err(format!(
                    "from {} to {} /s are expected",
                    ARRIVALS.0, ARRIVALS.1
                ));
            }
            Ok(arrivals)
        })?),
        None => {
            let item = table.need("load", "\"35 %\"")?;
            let load = item.read("\"35 %\"", |text| match quantity::share(text, 100)? {
                load if load > 0.0 && load < 1.0 => Ok(load),
                load if load > 0.0 => Err("a load of all there is never ends".to_owned()),
                _ => Err("it is zero".to_owned()),
            })?;
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
    let size = |key, usual| {
        table
            .get(key)
            .map_or(Ok(usual), |item: Item<'_>| item.read("\"14 kB\"", transfer))
    };
    let (mean, cut) = (size("mean", WEB.0)?, size("cut", WEB.2)?);
    if mean >= cut {
        let key = if table.has("mean") { "mean" } else { "cut" };
        return Err(table.refuse_at(
            key,
            format!(
                "a mean of {} and a largest size of {} leave no distribution: the mean is below the cut",
                quantity::format_size(mean),
                quantity::format_size(cut)
            ),
        ));
    }
    let shape = match table.get("shape") {
        None => WEB.1,
        Some(item) => item.number(SHAPES.0, SHAPES.1)?,
    };
    let kind = TrafficKind::Web {
        arrivals_per_s: 0.0,
        mean,
        shape,
        cut,
    };
    Ok((kind, Some(amount)))
}

fn count_and_spread(table: &Table<'_>, usual: Duration) -> Result<(u32, Duration), Error> {
    let count = match table.get("count") {
        None => 1,
        Some(item) => item.integer(1, MAX_COUNT)? as u32,
    };
    let spread = match table.get("spread") {
        None => usual,
        Some(item) => item.read("\"5 s\"", |text| time_up_to(text, MAX_DURATION))?,
    };
    Ok((count, spread))
}

fn bulk(table: &Table<'_>) -> Result<(TrafficKind, Option<Amount>), Error> {
    let (count, spread) = count_and_spread(table, Duration::from_secs(1))?;
    let size = table
        .get("size")
        .map(|item| item.read("\"100 MB\"", transfer))
        .transpose()?;
    let kind = TrafficKind::Bulk {
        count,
        spread,
        size,
    };
    Ok((kind, None))
}

fn video(table: &Table<'_>) -> Result<(TrafficKind, Option<Amount>), Error> {
    let every = match table.get("segment") {
        None => SEGMENT,
        Some(item) => item.read("\"4 s\"", interval)?,
    };
    let (count, spread) = count_and_spread(table, every)?;
    let item = table.need("bitrate", "\"5 Mbit/s\"")?;
    let segment = item.read("\"5 Mbit/s\"", quantity::rate)?.bytes_in(every);
    if segment.is_zero() {
        return Err(item.refuse("a segment would have no byte"));
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
    let rate = table
        .need("rate", "\"5 Mbit/s\"")?
        .read("\"5 Mbit/s\"", quantity::rate)?;
    let on = match table.get("on") {
        None => Duration::from_secs(1),
        Some(item) => item.read("\"1 s\"", interval)?,
    };
    let off = match table.get("off") {
        None => Duration::ZERO,
        Some(item) => item.read("\"1 s\"", |text| time_up_to(text, MAX_DURATION))?,
    };
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
    let parse = |text: &str| Algorithm::parse(text).map_err(|error| error.to_string());
    let algorithm = match table.get("algorithm") {
        None => parse("cubic").map_err(|reason| table.refuse(reason))?,
        Some(item) => item.read("\"cubic\"", parse)?,
    };
    let mut flow = Flow::new(algorithm);
    initial_window(table, &mut flow)?;
    for (key, switch) in [("pacing", &mut flow.pacing), ("ecn", &mut flow.ecn)] {
        if let Some(item) = table.get(key) {
            *switch = item.boolean()?;
        }
    }
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
    let read = |item: Item<'_>| item.read("\"10 ms\"", |text| time_up_to(text, MAX_RTT));
    let Some(items) = item.items() else {
        return Ok(vec![read(item)?]);
    };
    if items.is_empty() || items.len() > MAX_DELAYS {
        return Err(item.refuse(format!("1 to {MAX_DELAYS} delays are expected")));
    }
    items.into_iter().map(read).collect()
}

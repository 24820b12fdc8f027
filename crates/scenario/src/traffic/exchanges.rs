//! Kinds of traffic in which both sides of a connection write: the generators of the crate
//! `workload`. Their defaults are those of the generators.

use std::path::Path;

use units::{Bytes, Duration, Instant, Rate};
use workload::draw::{Sizes, Times};
use workload::generate::{
    Epochs, Http10Config, MultiplexedConfig, OnOffConfig, PersistentConfig, REQUEST,
    RequestResponseConfig, SyntheticConfig,
};
use workload::{Plan, Side, TruncatedPareto, Truncation, VideoClients, VideoConfig};

use super::one_way::{SEGMENT, pareto};
use super::{Pending, Read, empty_segment, open, sources};
use crate::document::Table;
use crate::error::Error;
use crate::model::TrafficKind;

/// How long an on-off source lives if its table has no duration.
const LIFETIME: Duration = Duration::from_secs(3600);
/// Requests of a client in a closed loop.
const CLOSED_LOOP: u32 = 100;
/// The arrivals per second until the rate of the path is known.
const UNKNOWN: f64 = 1.0;

fn read(plan: Plan, pending: Pending) -> Read {
    Ok((TrafficKind::Exchanges(plan), pending))
}

/// Sizes of responses.
fn responses(table: &Table<'_>) -> Result<Sizes, Error> {
    if let Some(size) = table.read("size")? {
        let others = ["mean", "shape", "cut", "truncation"];
        return match others.into_iter().find(|key| table.has(key)) {
            Some(key) => Err(table.refuse_at(
                key,
                format!("[[traffic]] takes size, or {}, not both", others.join(", ")),
            )),
            None => Ok(Sizes::Constant(size)),
        };
    }
    let (mean, shape, cut) = pareto(table)?;
    let readings = [
        Truncation::Bounded,
        Truncation::Capped,
        Truncation::MeanBeforeCut,
    ];
    let truncation = table.word("truncation", &readings)?.unwrap_or_default();
    if truncation == Truncation::MeanBeforeCut && shape <= 1.0 {
        let key = if table.has("shape") {
            "shape"
        } else {
            "truncation"
        };
        return Err(table.refuse_at(key, "without a cut, a shape of at most 1 has no mean"));
    }
    let (mean, cut) = (mean.get() as f64, cut.get() as f64);
    Ok(Sizes::Pareto(TruncatedPareto::new(
        truncation, mean, shape, cut,
    )))
}

/// Sizes of requests; `sigma` is the usual spread.
fn requests(table: &Table<'_>, sigma: f64) -> Result<Sizes, Error> {
    let size: Bytes = table.or("request", REQUEST)?;
    let sigma = table.or("request_sigma", sigma)?;
    Ok(match sigma > 0.0 {
        true => Sizes::LogNormal {
            median: size.get() as f64,
            sigma,
        },
        false => Sizes::Constant(size),
    })
}

/// How long the server works on a request.
fn server_delay(table: &Table<'_>, usual: Times) -> Result<Times, Error> {
    Ok(match table.read::<Duration>("server_delay")? {
        None => usual,
        Some(mean) if mean.is_zero() => Times::Constant(mean),
        Some(mean) => Times::Exponential { mean },
    })
}

fn epochs(table: &Table<'_>) -> Result<Epochs, Error> {
    let usual = Epochs::default();
    let median = table.or("think", Duration::from_secs(1))?;
    let sigma = table.or("think_sigma", 1.3)?;
    Ok(Epochs {
        request: requests(table, 0.6)?,
        delay: server_delay(table, usual.delay)?,
        response: responses(table)?,
        think: match sigma > 0.0 {
            true => Times::LogNormal { median, sigma },
            false => Times::Constant(median),
        },
    })
}

pub(super) fn synthetic(table: &Table<'_>, _: &Path) -> Read {
    let usual = SyntheticConfig::new(UNKNOWN);
    let config = SyntheticConfig {
        epochs: epochs(table)?,
        last: table
            .read::<f64>("requests")?
            .map_or(usual.last, |mean| 1.0 / mean),
        concurrent: table.or("concurrent", usual.concurrent)?,
        small_segments: table.read("small_segments")?,
        ..usual
    };
    read(Plan::Synthetic(config), open(table)?)
}

pub(super) fn http10(table: &Table<'_>, _: &Path) -> Read {
    let usual = Http10Config::new(UNKNOWN);
    let config = Http10Config {
        request: requests(table, 0.0)?,
        delay: server_delay(table, usual.delay)?,
        response: responses(table)?,
        ..usual
    };
    read(Plan::Http10(config), open(table)?)
}

pub(super) fn persistent(table: &Table<'_>, _: &Path) -> Read {
    let usual = PersistentConfig::new(UNKNOWN);
    let config = PersistentConfig {
        epochs: epochs(table)?,
        requests: table.or("requests", usual.requests)?,
        idle_timeout: table.or("idle_timeout", usual.idle_timeout)?,
        ..usual
    };
    read(Plan::Persistent(config), open(table)?)
}

pub(super) fn multiplexed(table: &Table<'_>, _: &Path) -> Read {
    let usual = MultiplexedConfig::new(UNKNOWN);
    let sizes = responses(table)?;
    let config = MultiplexedConfig {
        request: requests(table, 0.0)?,
        delay: server_delay(table, usual.delay)?,
        document: sizes,
        parse: table.read("parse")?.map_or(usual.parse, Times::Constant),
        objects: table.or("objects", usual.objects)?,
        object: sizes,
        ..usual
    };
    read(Plan::Multiplexed(config), open(table)?)
}

pub(super) fn request_response(table: &Table<'_>, _: &Path) -> Read {
    let (clients, spread) = sources(table, Duration::from_secs(1))?;
    let requests = table.or("requests", f64::from(CLOSED_LOOP))?;
    if requests.fract() != 0.0 {
        return Err(table.refuse_at("requests", "a client sends a whole number of requests"));
    }
    let config = RequestResponseConfig {
        clients,
        begin: Instant::ZERO,
        spread,
        requests: requests as u32,
        epochs: epochs(table)?,
    };
    read(Plan::RequestResponse(config), Pending::Nothing)
}

pub(super) fn on_off(table: &Table<'_>, _: &Path) -> Read {
    let second = Duration::from_secs(1);
    let (on, off) = (table.or("on", second)?, table.or("off", second)?);
    let (count, spread) = sources(table, on + off)?;
    let config = OnOffConfig {
        count,
        begin: Instant::ZERO,
        spread,
        lifetime: table.or("duration", LIFETIME)?,
        rate: table.needed("rate")?,
        on: Times::Exponential { mean: on },
        off: Times::Exponential { mean: off },
        sender: Side::Acceptor,
    };
    read(Plan::OnOff(config), Pending::Nothing)
}

pub(super) fn adaptive_video(table: &Table<'_>, _: &Path) -> Read {
    let item = table.need("bitrates")?;
    let entries = item.items().unwrap_or_else(|| vec![item]);
    let bitrates = entries
        .into_iter()
        .map(|entry| match entry.value()? {
            tables::Value::Rate(rate) => Ok(rate),
            _ => Err(entry.refuse("expected a rate")),
        })
        .collect::<Result<Vec<Rate>, Error>>()?;
    if bitrates.is_empty() || !bitrates.is_sorted_by(|one, next| one < next) {
        return Err(item.refuse("expected one or more bitrates, each above the one before"));
    }
    let usual = VideoConfig::new(bitrates, table.read("segments")?);
    let segment = table.or("segment", SEGMENT)?;
    if usual.bitrates[0].bytes_in(segment).is_zero() {
        return Err(empty_segment(table, "bitrates"));
    }
    let (clients, spread) = sources(table, segment)?;
    let client = VideoConfig {
        segment,
        request: table.or("request", usual.request)?,
        reservoir: table.or("reservoir", usual.reservoir)?,
        cushion: table.or("cushion", usual.cushion)?,
        buffer: table.or("playback_buffer", usual.buffer)?,
        ..usual
    };
    if client.buffer < client.segment {
        return Err(table.refuse_at("playback_buffer", "a segment must fit in playback_buffer"));
    }
    let plan = VideoClients {
        clients,
        begin: Instant::ZERO,
        spread,
        client,
    };
    read(Plan::AdaptiveVideo(plan), Pending::Nothing)
}

//! Measurements of a path without a transport, for `slowstart path`.

use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use scenario::{Application, CompareOptions, FULL_PACKET, PathModel};
use serde_json::json;
use simulator::RunError;
use units::{Bytes, Duration};

use crate::attend::attend;
use crate::results::Table;
use crate::scenarios::Scenario;
use crate::{classes, errors};

/// Interval between probes during background traffic, as a multiple of a full packet's service
/// time. At one in a hundred packets, probes hardly change what they measure.
const SELDOM: u64 = 100;

/// The resolved path, the deliveries, each link with its end and packet size, the probes.
type Seen = (String, Table, Vec<(String, f64, u32)>, Table);

/// A scenario of `duration` after the warm-up, with the background traffic of `path` and one flow
/// of occasional full packets, each acknowledged separately.
#[pyfunction]
#[pyo3(signature = (path, *, seed, duration))]
pub fn probing(
    py: Python<'_>,
    path: &str,
    seed: Bound<'_, PyAny>,
    duration: &str,
) -> PyResult<Scenario> {
    let path = PathModel::resolve(path).map_err(errors::input)?;
    let options = CompareOptions {
        duration: Some(scenario::parse_duration(duration).map_err(errors::input)?),
        seed: crate::scenarios::whole(&seed, "the seed")?,
        ack_policy: scenario::AckPolicy::EverySegment,
        ..CompareOptions::default()
    };
    let algorithm = classes::parse(py, "cubic")?;
    let mut made = scenario::Scenario::compare(&path, &[algorithm], &options)
        .map_err(errors::input)?
        .remove(0);
    let flow = &mut made.flows[0];
    flow.name = "probe".to_owned();
    flow.restart_after_idle = false;
    flow.application = Application::Periodic {
        write: Bytes::new(u64::from(FULL_PACKET) - 52),
        every: path.rate.time_for(Bytes::new(u64::from(FULL_PACKET))) * SELDOM,
    };
    Ok(Scenario::new(made))
}

/// The nodes, links, hosts and routes of a path and its file's flows, as JSON.
#[pyfunction]
pub fn topology(path: &str) -> PyResult<String> {
    let map = scenario::Map::resolve(path).map_err(errors::input)?;
    Ok(json!(map).to_string())
}

/// An ad-hoc network or a constellation over `duration` after its warm-up, as JSON; `None` if the
/// path has none.
#[pyfunction]
#[pyo3(signature = (path, *, seed, duration))]
pub fn characterize_network(
    py: Python<'_>,
    path: &str,
    seed: Bound<'_, PyAny>,
    duration: &str,
) -> PyResult<Option<String>> {
    let seed: u64 = crate::scenarios::whole(&seed, "the seed")?;
    let map = scenario::Map::resolve(path).map_err(errors::input)?;
    let span = scenario::parse_duration(duration).map_err(errors::input)?;
    let cancel = AtomicBool::new(false);
    let found = attend(
        py,
        &cancel,
        || Ok(()),
        || simulator::characterize_network(&map, seed, span, &cancel),
    )?
    .map_err(|error: RunError| errors::run(error))?;
    Ok(found.map(|found| json!(found).to_string()))
}

/// The resolved path as JSON, the deliveries of its saturated links, the end of each link's
/// measurement with its packet size, and the probes.
#[pyfunction]
#[pyo3(signature = (path, *, seed, duration, every))]
pub fn characterize(
    py: Python<'_>,
    path: &str,
    seed: Bound<'_, PyAny>,
    duration: &str,
    every: &str,
) -> PyResult<Seen> {
    let seed: u64 = crate::scenarios::whole(&seed, "the seed")?;
    let path = PathModel::resolve(path).map_err(errors::input)?;
    if path.is_absent {
        return Err(errors::input(
            "there is no [path] to measure, only a [network]",
        ));
    }
    let span = |text, least: Duration, what| {
        let span = scenario::parse_duration(text).map_err(errors::input)?;
        if span < least {
            let least = scenario::format_duration(least);
            return Err(errors::input(format!(
                "{what} must be at least {least}, not {text}"
            )));
        }
        Ok(span)
    };
    let duration = span(duration, Duration::from_secs(1), "the duration")? + path.warm_up;
    let every = span(every, Duration::from_micros(100), "the probe interval")?;
    let cancel = AtomicBool::new(false);
    let found = attend(
        py,
        &cancel,
        || Ok(()),
        || simulator::characterize(&path, seed, duration, every, &cancel),
    )?
    .map_err(|error: RunError| errors::run(error))?;
    let ends = found
        .deliveries
        .iter()
        .map(|each| (each.link.clone(), each.end_s, each.packet_bytes))
        .collect();
    Ok((
        json!(path).to_string(),
        Table::new(measure::tables::deliveries(&found))?,
        ends,
        Table::new(measure::tables::probes(&found))?,
    ))
}

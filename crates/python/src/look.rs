//! A look at a path, for `slowstart path`.

use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use scenario::PathModel;
use serde_json::json;
use simulator::RunError;

use crate::attend::attend;
use crate::errors;
use crate::results::Table;

/// The resolved path, packets, each link with its end and the size of its packets, probes.
type Seen = (String, Table, Vec<(String, f64, u32)>, Table);

/// The resolved path as JSON, what comes out of its links when their queues are never empty, until when
/// each was watched, and probes.
#[pyfunction]
#[pyo3(signature = (path, *, seed, duration, every))]
pub fn look(
    py: Python<'_>,
    path: &str,
    seed: Bound<'_, PyAny>,
    duration: &str,
    every: &str,
) -> PyResult<Seen> {
    let seed: u64 = crate::scenarios::whole(&seed, "the seed")?;
    let path = PathModel::resolve(path).map_err(errors::input)?;
    let span = |text, least: units::Duration, what| {
        let span = scenario::parse_duration(text).map_err(errors::input)?;
        if span < least {
            let least = scenario::format_duration(least);
            return Err(errors::input(format!(
                "{what} is at least {least}, not {text}"
            )));
        }
        Ok(span)
    };
    let duration = span(duration, units::Duration::from_secs(1), "the duration")?;
    let every = span(
        every,
        units::Duration::from_micros(100),
        "the time from probe to probe",
    )?;
    let cancel = AtomicBool::new(false);
    let look = attend(
        py,
        &cancel,
        || Ok(()),
        || simulator::look(&path, seed, duration, every, &cancel),
    )?
    .map_err(|error: RunError| errors::run(error))?;
    let ends = look
        .deliveries
        .iter()
        .map(|each| (each.link.clone(), each.end_s, each.packet_bytes))
        .collect();
    Ok((
        json!(path).to_string(),
        Table::new(measure::tables::deliveries(&look))?,
        ends,
        Table::new(measure::tables::probes(&look))?,
    ))
}

//! QUIC stacks in real time, over emulated paths.

use pyo3::prelude::*;
use quic_real::{RealError, RealOptions, Sent};
use quic_stacks::Stack;
use serde_json::json;

use crate::errors;
use crate::linux::emulator_error;
use crate::real_time::{Made, Wanted, one_by_one};
use crate::results::Result as Results;
use crate::scenarios::Scenario;

fn real_error(error: &RealError) -> PyErr {
    match error {
        RealError::Unsupported(_) => errors::input(error),
        RealError::Emulator(error) => emulator_error(error),
        RealError::System(..) | RealError::Cancelled => errors::run(error),
    }
}

/// The stack of a scenario, and the controller of its own that all flows have.
fn placed(scenario: &Scenario) -> PyResult<(&'static Stack, Option<String>)> {
    let stack = scenario.on.stack().ok_or_else(|| {
        errors::input("the simulated TCP runs in virtual time only: it has no sockets")
    })?;
    Ok((stack, scenario.on.own().map(str::to_owned)))
}

/// Raises an error if this machine, user or stack does not support the scenarios in real time.
/// Leaves nothing behind.
#[pyfunction]
pub fn check_real(scenarios: Vec<PyRef<'_, Scenario>>) -> PyResult<()> {
    for scenario in &scenarios {
        let (stack, own) = placed(scenario)?;
        quic_real::supports(&scenario.inner, stack, own.as_deref())
            .map_err(|error| real_error(&error))?;
    }
    match emulator::missing() {
        Some(sentence) => Err(errors::input(sentence)),
        None => Ok(()),
    }
}

/// Executes every run of every scenario in real time, one at a time. A run that failed the timing
/// self-check appears in the result document, but only `force` includes it in tables and statistics.
#[pyfunction]
#[pyo3(signature = (scenarios, *, traces = "none", runs = None, force = false, progress = None))]
pub fn run_real(
    py: Python<'_>,
    scenarios: Vec<PyRef<'_, Scenario>>,
    traces: &str,
    runs: Option<u32>,
    force: bool,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Results> {
    let places = scenarios.iter().map(|scenario| {
        let (stack, own) = placed(scenario)?;
        Ok((scenario.inner.clone(), stack, own))
    });
    let places = places.collect::<PyResult<Vec<_>>>()?;
    let wanted = Wanted {
        scenarios: &scenarios,
        traces,
        runs,
        force,
        progress,
    };
    let kernel = emulator::release();
    one_by_one(py, &wanted, real_error, |place, run, traces, cancel| {
        let (scenario, stack, own) = &places[place];
        let options = RealOptions {
            traces,
            ..RealOptions::default()
        };
        let output = quic_real::run(scenario, run, (stack, own.as_deref()), &options, cancel)?;
        let sent = output.sent.iter().map(|&sent| {
            let Sent {
                calls,
                datagrams,
                most,
                offered,
            } = sent;
            json!({
                "calls": calls,
                "datagrams": datagrams,
                "most_in_a_call": most,
                "offered_in_a_call": offered,
            })
        });
        Ok(Made {
            facts: json!({
                "clock": "real",
                "kernel": kernel,
                "sent": sent.collect::<Vec<_>>(),
            }),
            result: output.result,
            traces: output.traces,
            check: output.check,
        })
    })
}

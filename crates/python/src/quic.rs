//! `run_stacks`: QUIC stacks beside the simulated TCP, in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use quic_stacks::{STACKS, Stack};
use simulator::RunOptions;

use crate::attend::attend;
use crate::batch::threads_of;
use crate::errors;
use crate::results::Result as Results;
use crate::scenarios::{Scenario, runs_of};

/// The stack of this name; `None` is the simulated TCP.
fn named(name: &str) -> PyResult<Option<&'static Stack>> {
    if name == "simulated" {
        return Ok(None);
    }
    Stack::named(name).map(Some).ok_or_else(|| {
        let known: Vec<_> = STACKS.iter().map(|stack| stack.name).collect();
        errors::input(format!(
            "unknown stack {name:?}: in virtual time there are simulated, {}",
            known.join(", ")
        ))
    })
}

/// The QUIC stacks: dictionaries with `name`, `version` and `own`, a list of pairs of a name and a
/// summary.
#[pyfunction]
pub fn stacks(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let stacks = STACKS.iter().map(|stack| {
        let entry = PyDict::new(py);
        entry.set_item("name", stack.name)?;
        entry.set_item("version", stack.version)?;
        let own = stack.own.iter().map(|own| (own.name, own.summary));
        entry.set_item("own", own.collect::<Vec<_>>())?;
        Ok(entry)
    });
    stacks.collect()
}

/// Why the QUIC stack `stack` does not run the algorithm; `None` if it does.
#[pyfunction]
pub fn refusal(stack: &str, algorithm: &str) -> PyResult<Option<String>> {
    let algorithm: congestion::Algorithm = algorithm.parse().map_err(errors::input)?;
    let Some(stack) = named(stack)? else {
        return Ok(None);
    };
    let checked = stack.capabilities.check(&algorithm);
    Ok(checked.err().map(|refusal| refusal.to_string()))
}

/// Raises an error if a stack does not support its scenario. `stacks` names one for each scenario;
/// `own` names the stack's own controller that all flows of a scenario have, or nothing.
#[pyfunction]
pub fn check_stacks(
    scenarios: Vec<PyRef<'_, Scenario>>,
    stacks: Vec<String>,
    own: Vec<Option<String>>,
) -> PyResult<()> {
    for ((scenario, stack), own) in scenarios.iter().zip(&stacks).zip(&own) {
        if let Some(stack) = named(stack)? {
            quic_stacks::check(&scenario.inner, stack, own.as_deref()).map_err(errors::input)?;
        } else if let Some(own) = own {
            return Err(errors::input(format!(
                "{own}: the simulated TCP has no controllers of its own: choose a QUIC stack, as \
                 in --stack quinn"
            )));
        }
    }
    Ok(())
}

/// One run of one scenario.
struct Job {
    scenario: Arc<scenario::Scenario>,
    run: u32,
    stack: Option<&'static Stack>,
    own: Option<String>,
}

/// Executes every run of every scenario on its stack, without the interpreter lock; see
/// [`check_stacks`].
#[pyfunction]
#[pyo3(signature = (scenarios, stacks, own, *, threads = None, traces = false, runs = None,
    progress = None))]
#[allow(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub fn run_stacks(
    py: Python<'_>,
    scenarios: Vec<PyRef<'_, Scenario>>,
    stacks: Vec<String>,
    own: Vec<Option<String>>,
    threads: Option<usize>,
    traces: bool,
    runs: Option<u32>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Results> {
    let (scenarios, counts) = runs_of(&scenarios, runs);
    let mut jobs = Vec::new();
    for (((scenario, &count), stack), own) in scenarios.iter().zip(&counts).zip(&stacks).zip(&own) {
        let stack = named(stack)?;
        jobs.extend((0..count as u32).map(|run| Job {
            scenario: Arc::clone(scenario),
            run,
            stack,
            own: own.clone(),
        }));
    }
    let threads = threads_of(&scenarios, threads, jobs.len())?;
    let options = RunOptions {
        traces,
        ..RunOptions::default()
    };
    let cancel = AtomicBool::new(false);
    let done = AtomicUsize::new(0);
    let report = || match &progress {
        Some(progress) => progress
            .call1((done.load(Ordering::Relaxed), jobs.len()))
            .map(drop),
        None => Ok(()),
    };
    let outputs = attend(py, &cancel, report, || {
        let count = |so_far| {
            done.fetch_max(so_far, Ordering::Relaxed);
        };
        simulator::run_each(&jobs, threads, &count, &|job: &Job| match job.stack {
            None => simulator::run(&job.scenario, job.run, &options, &cancel),
            Some(stack) => {
                let own = job.own.as_deref();
                quic_stacks::run(&job.scenario, job.run, stack, own, &options, &cancel)
            }
        })
    })?
    .map_err(errors::run)?;
    Ok(Results::new(scenarios, counts, outputs))
}

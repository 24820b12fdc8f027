//! `run_batch`: simulations, in parallel on all cores.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pyo3::prelude::*;
use simulator::RunOptions;

use crate::attend::attend;
use crate::classes;
use crate::errors;
use crate::quic::{Job, On};
use crate::results::Result as Results;
use crate::scenarios::{Scenario, runs_of};

/// Executes every run of every scenario without the interpreter lock. `progress` is called with
/// `(done, total)`. Any exception, such as `KeyboardInterrupt`, stops the runs. Without `links`, the
/// time series are those of flows alone.
#[pyfunction]
#[pyo3(signature = (
    scenarios, *, threads = None, traces = false, runs = None, progress = None, links = true
))]
pub fn run_batch(
    py: Python<'_>,
    scenarios: Vec<PyRef<'_, Scenario>>,
    threads: Option<usize>,
    traces: bool,
    runs: Option<u32>,
    progress: Option<Bound<'_, PyAny>>,
    links: bool,
) -> PyResult<Results> {
    let on = stacks_of(&scenarios);
    let (scenarios, counts) = runs_of(&scenarios, runs);
    let jobs: Vec<Job> = scenarios
        .iter()
        .zip(&on)
        .zip(&counts)
        .flat_map(|((scenario, on), &count)| jobs_of(scenario, on, 0..count as u32))
        .collect();

    let threads = threads_of(&scenarios, threads, jobs.len())?;
    classes::forget_failures();
    let options = RunOptions {
        traces,
        flows_only: !links,
        ..RunOptions::default()
    };
    let shared = match traces {
        true => (0..jobs.len()).map(|place| vec![place]).collect(),
        false => shared_by(&jobs),
    };
    let cancel = AtomicBool::new(false);
    let done = AtomicUsize::new(0);
    let report = || {
        classes::failure()?;
        match &progress {
            Some(progress) => progress
                .call1((done.load(Ordering::Relaxed), jobs.len()))
                .map(drop),
            None => Ok(()),
        }
    };
    let made = attend(py, &cancel, report, || {
        simulator::run_each(&shared, threads, &|_| {}, &|places: &Vec<usize>| {
            let outputs = match places.as_slice() {
                [place] => vec![jobs[*place].execute(&options, &cancel)?],
                _ => simulator::run_alike(&numbered(&jobs, places.iter().copied()), &cancel)?,
            };
            done.fetch_add(outputs.len(), Ordering::Relaxed);
            Ok(outputs)
        })
    })?
    .map_err(errors::run)?;
    let mut outputs: Vec<_> = shared
        .into_iter()
        .flatten()
        .zip(made.into_iter().flatten())
        .collect();
    outputs.sort_unstable_by_key(|(place, _)| *place);
    let outputs = outputs.into_iter().map(|(_, output)| output).collect();
    classes::failure()?;
    Ok(Results::new(scenarios, counts, outputs))
}

/// The places of the jobs, those that are one simulation together.
fn shared_by(jobs: &[Job]) -> Vec<Vec<usize>> {
    let (quic, simulated): (Vec<usize>, Vec<usize>) =
        (0..jobs.len()).partition(|&place| jobs[place].on.is_quic());
    let groups = simulator::groups_of_alike(&numbered(jobs, simulated.iter().copied()));
    let groups = groups.into_iter();
    let shared = groups.map(|group| group.into_iter().map(|each| simulated[each]).collect());
    shared
        .chain(quic.into_iter().map(|place| vec![place]))
        .collect()
}

/// The scenario and the run number of some jobs.
fn numbered(jobs: &[Job], places: impl Iterator<Item = usize>) -> Vec<(&scenario::Scenario, u32)> {
    let chosen = places.map(|place| &jobs[place]);
    chosen.map(|job| (&*job.scenario, job.run)).collect()
}

/// The stack of each scenario.
pub fn stacks_of(scenarios: &[PyRef<'_, Scenario>]) -> Vec<On> {
    let stacks = scenarios.iter().map(|scenario| scenario.on.clone());
    stacks.collect()
}

/// Some runs of a scenario on its stack.
pub fn jobs_of(
    scenario: &Arc<scenario::Scenario>,
    on: &On,
    runs: std::ops::Range<u32>,
) -> impl Iterator<Item = Job> {
    runs.map(move |run| Job {
        scenario: Arc::clone(scenario),
        on: on.clone(),
        run,
    })
}

/// The number of threads for `runs` runs, of which a caller may request a number.
pub fn threads_of(
    scenarios: &[Arc<scenario::Scenario>],
    requested: Option<usize>,
    runs: usize,
) -> PyResult<usize> {
    if requested == Some(0) {
        return Err(errors::input(
            "the number of threads is 0; it must be at least 1",
        ));
    }
    // Python classes run one at a time anyway; one thread makes their order deterministic.
    let is_foreign = |scenario: &Arc<scenario::Scenario>| {
        let mut flows = scenario.flows.iter();
        flows.any(|flow| flow.algorithm.is_foreign())
    };
    if scenarios.iter().any(is_foreign) {
        return Ok(1);
    }
    // Each run keeps a core busy, so more threads than cores only cost time.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(requested.unwrap_or(cores).min(cores).min(runs.max(1)))
}

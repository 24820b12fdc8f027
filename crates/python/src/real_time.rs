//! Runs in real time: one after the other, each with a timing self-check.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use emulator::SelfCheck;
use measure::{RunResult, Traces};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::attend::attend;
use crate::results::{Keep, Kernel, Result as Results};
use crate::scenarios::{Scenario, runs_of};

/// One run.
pub struct Made {
    pub result: RunResult,
    pub traces: Option<Traces>,
    pub check: SelfCheck,
    /// Further fields of its entry in the result document: an object, without the self-check.
    pub facts: Value,
}

/// Which runs are made, and what is kept of them.
pub struct Wanted<'a, 'py> {
    pub scenarios: &'a [PyRef<'py, Scenario>],
    /// `none`, `first` or `all`.
    pub traces: &'a str,
    pub runs: Option<u32>,
    /// Whether a run that failed the self-check counts.
    pub force: bool,
    pub progress: Option<Bound<'py, PyAny>>,
}

/// Makes every run of every scenario. `make` gets the place of the scenario, the number of the run,
/// and whether its time series are kept.
pub fn one_by_one<E: Send>(
    py: Python<'_>,
    wanted: &Wanted<'_, '_>,
    to_error: impl Fn(&E) -> PyErr,
    make: impl Fn(usize, u32, bool, &AtomicBool) -> Result<Made, E> + Sync,
) -> PyResult<Results> {
    let keep = Keep::named(wanted.traces)?;
    let (scenarios, counts) = runs_of(wanted.scenarios, wanted.runs);
    let (force, progress) = (wanted.force, &wanted.progress);
    let total: usize = counts.iter().sum();
    let cancel = AtomicBool::new(false);
    let done = AtomicUsize::new(0);
    let report = || match progress {
        Some(progress) => progress
            .call1((done.load(Ordering::Relaxed), total))
            .map(drop),
        None => Ok(()),
    };
    let batch = attend(py, &cancel, report, || {
        let mut batch = Batch::default();
        for (place, &count) in counts.iter().enumerate() {
            let mut traced = false;
            for run in 0..count as u32 {
                let traces = keep == Keep::All || keep == Keep::First && !traced;
                let mut made = make(place, run, traces, &cancel)?;
                let counts = force || made.check.valid;
                traced |= counts;
                batch.results.push(made.result);
                batch
                    .traces
                    .push(made.traces.filter(|_| counts).unwrap_or_default());
                made.facts["check"] = json!(made.check);
                batch.kernels.push(Kernel {
                    counts,
                    reasons: made.check.reasons,
                    facts: made.facts,
                });
                done.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(batch)
    })?
    .map_err(|error: E| to_error(&error))?;
    let traces = match keep {
        Keep::None => Vec::new(),
        Keep::First | Keep::All => batch.traces,
    };
    Ok(Results::of_kernel(
        scenarios,
        counts,
        batch.results,
        traces,
        batch.kernels,
    ))
}

#[derive(Default)]
struct Batch {
    results: Vec<RunResult>,
    traces: Vec<Traces>,
    kernels: Vec<Kernel>,
}

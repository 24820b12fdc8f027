//! `run_batch`: runs on other threads while this one listens for Ctrl-C.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use simulator::{Job, RunError, RunOptions, RunOutput};

use crate::errors;
use crate::results::Result as Results;
use crate::scenarios::Scenario;

/// How often signals are looked at and progress is told: well below what a person notices.
const TICK: Duration = Duration::from_millis(50);

/// A flag that can be waited for.
#[derive(Default)]
struct Finished {
    flag: Mutex<bool>,
    changed: Condvar,
}

impl Finished {
    fn set(&self) {
        *self.flag.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for at most [`TICK`]; whether the flag is set.
    fn wait(&self) -> bool {
        let flag = self.flag.lock().unwrap_or_else(PoisonError::into_inner);
        if *flag {
            return true;
        }
        let (flag, _) = self
            .changed
            .wait_timeout(flag, TICK)
            .unwrap_or_else(PoisonError::into_inner);
        *flag
    }
}

/// Runs every run of every scenario. The interpreter lock is released meanwhile; `progress` is
/// called with `(done, total)`, and any exception, `KeyboardInterrupt` among them, stops the runs.
#[pyfunction]
#[pyo3(signature = (scenarios, *, threads = None, traces = false, runs = None, progress = None))]
pub fn run_batch(
    py: Python<'_>,
    scenarios: Vec<PyRef<'_, Scenario>>,
    threads: Option<usize>,
    traces: bool,
    runs: Option<u32>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Results> {
    if threads == Some(0) {
        return Err(errors::input(
            "the number of threads is 0; it has to be at least 1",
        ));
    }
    let scenarios: Vec<Arc<scenario::Scenario>> = scenarios
        .iter()
        .map(|scenario| Arc::clone(&scenario.inner))
        .collect();
    let counts: Vec<usize> = scenarios
        .iter()
        .map(|scenario| runs.unwrap_or(scenario.runs) as usize)
        .collect();
    let jobs: Vec<Job> = scenarios
        .iter()
        .zip(&counts)
        .flat_map(|(scenario, &count)| {
            (0..count as u32).map(move |run| Job {
                scenario: Arc::clone(scenario),
                run,
            })
        })
        .collect();

    let options = RunOptions { traces };
    let cancel = AtomicBool::new(false);
    let done = AtomicUsize::new(0);
    let finished = Finished::default();
    let mut interruption = None;
    let outcome = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            // A panic must not leave the waiting thread waiting.
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                let count = |so_far| {
                    done.fetch_max(so_far, Ordering::Relaxed);
                };
                simulator::run_all(&jobs, &options, threads.unwrap_or(0), &cancel, &count)
            }));
            finished.set();
            outcome
        });
        while !py.detach(|| finished.wait()) {
            let told = py.check_signals().and_then(|()| match &progress {
                Some(progress) => progress
                    .call1((done.load(Ordering::Relaxed), jobs.len()))
                    .map(drop),
                None => Ok(()),
            });
            if let Err(error) = told {
                cancel.store(true, Ordering::Relaxed);
                interruption = Some(error);
                break;
            }
        }
        py.detach(|| worker.join())
    });
    if let Some(error) = interruption {
        return Err(error);
    }
    // A signal that came with the last run counts too.
    py.check_signals()?;
    let outputs: Vec<RunOutput> = match outcome {
        Ok(Ok(Ok(outputs))) => outputs,
        Ok(Ok(Err(error))) => return Err(run_error(error)),
        Ok(Err(_)) | Err(_) => {
            return Err(errors::run(
                "a run broke off because of a mistake in slowstart; please report the command",
            ));
        }
    };
    Ok(Results::new(scenarios, counts, outputs))
}

fn run_error(error: RunError) -> PyErr {
    errors::run(error)
}

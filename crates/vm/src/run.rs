//! Makes several runs in parallel.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use kernel_stack::{self as stack, Sampler, StackOptions};
use scenario::Scenario;

use crate::exchange::{Job, Output};
pub use crate::machine::{Machine, PROGRAM};

/// The reason why a run was not made.
#[derive(Debug)]
pub enum VmError {
    /// The kernel does not support the scenario: one sentence.
    Unsupported(String),
    /// The machine failed, with its message.
    Failed(String),
    /// A system call failed: its object and its error.
    System(String, io::Error),
    /// The caller cancelled the run.
    Cancelled,
}

impl VmError {
    pub(crate) fn system(what: impl AsRef<Path>) -> impl Fn(io::Error) -> Self {
        let what = what.as_ref().display().to_string();
        move |error| Self::System(what.clone(), error)
    }
}

impl fmt::Display for VmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(sentence) => f.write_str(sentence),
            Self::Failed(sentence) => write!(f, "the virtual machine failed: {sentence}"),
            Self::System(what, error) => write!(f, "the virtual machine failed: {what}: {error}"),
            Self::Cancelled => f.write_str("the run was cancelled"),
        }
    }
}

impl std::error::Error for VmError {}

/// The options with which the emulator runs, inside the machine and for questions about it.
#[must_use]
pub fn stack_options(traces: bool) -> StackOptions {
    StackOptions {
        traces,
        // Nothing else uses the machine.
        hystart_switch: true,
        guests: false,
        sampler: Some(Sampler::TcpInfo),
        names: crate::algorithms::names(),
        ..StackOptions::default()
    }
}

/// Whether the machine's kernel supports `scenario`. Starts nothing.
///
/// # Errors
/// [`VmError::Unsupported`] with the reason.
pub fn supports(machine: &Machine, scenario: &Scenario) -> Result<(), VmError> {
    let options = StackOptions {
        available: Some(machine.congestion_controls()?),
        ..stack_options(false)
    };
    stack::supports(scenario, &options).map_err(|error| VmError::Unsupported(error.to_string()))
}

/// Makes all runs, `threads` at a time, and returns their output in the order of `jobs`. Calls
/// `done` with the number of completed runs.
///
/// # Errors
/// The first failure. The other runs then end at once.
pub fn run_all(
    machine: &Machine,
    jobs: &[Job],
    threads: usize,
    cancel: &AtomicBool,
    done: &(dyn Fn(usize) + Sync),
) -> Result<Vec<Output>, VmError> {
    let next = AtomicUsize::new(0);
    let over = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let outcome: Mutex<Result<Vec<Option<Output>>, VmError>> =
        Mutex::new(Ok(jobs.iter().map(|_| None).collect()));
    let work = || {
        while let Some((place, job)) = {
            let place = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(place).map(|job| (place, job))
        } {
            let made = machine.run(job, &[cancel, &stop]);
            let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
            match (made, &mut *outcome) {
                (Ok(output), Ok(outputs)) => outputs[place] = Some(output),
                (Err(error), Ok(_)) => {
                    *outcome = Err(error);
                    stop.store(true, Ordering::Relaxed);
                    return;
                }
                (_, Err(_)) => return,
            }
            drop(outcome);
            done(over.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            scope.spawn(work);
        }
    });
    let outputs = outcome
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)?;
    Ok(outputs.into_iter().flatten().collect())
}

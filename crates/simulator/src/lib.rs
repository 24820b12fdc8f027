//! Where engine, tcp and network meet: a scenario goes in, what was measured comes out.
//!
//! A run is single-threaded and depends on the scenario and its number alone; [`run_all`] spreads
//! runs over threads and returns them in the order they were asked for, so the bytes of a result
//! do not depend on the number of threads.
//!
//! ## Assumptions
//!
//! - The sender opens the connection: its SYN leaves at the flow's start, data follows the
//!   SYN-ACK, one base RTT later.
//! - Hosts take no time, and their own interfaces no rate: a burst reaches the first link at once.
//! - A flow's own access delay (`extra_delay`, both directions) is spent on its ACK path, so the
//!   receiver sees data earlier by it than it would; the sender sees no difference.

mod carried;
mod flow;
mod flows;
mod links;
mod look;
mod traffic;
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::prelude::*;
use scenario::Scenario;

pub use look::look;

/// What a run keeps.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions {
    /// Whether time series are kept.
    pub traces: bool,
}

/// What a run leaves.
#[derive(Clone, Debug)]
pub struct RunOutput {
    /// Its measurements.
    pub result: measure::RunResult,
    /// Its time series, where asked for.
    pub traces: Option<measure::Traces>,
}

/// Why a run did not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunError {
    /// Somebody asked it to stop.
    Cancelled,
    /// The threads could not be started.
    Threads,
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Cancelled => "the run was cancelled",
            Self::Threads => "the threads for the runs could not be started",
        })
    }
}

impl std::error::Error for RunError {}

/// One run of one scenario.
#[derive(Clone, Debug)]
pub struct Job {
    /// What is run.
    pub scenario: Arc<Scenario>,
    /// Its number; the seed is the scenario's plus this.
    pub run: u32,
}

/// Runs `scenario` once, as run number `run`.
///
/// # Errors
/// [`RunError::Cancelled`] when `cancel` became true.
pub fn run(
    scenario: &Scenario,
    run: u32,
    options: &RunOptions,
    cancel: &AtomicBool,
) -> Result<RunOutput, RunError> {
    world::World::new(scenario, run, options).run(cancel)
}

/// Runs all `jobs` on `threads` threads (0: one for each core) and returns their outputs in the
/// order of the jobs. `progress` is told how many are done.
///
/// # Errors
/// [`RunError::Cancelled`] when `cancel` became true; nothing is returned then.
pub fn run_all(
    jobs: &[Job],
    options: &RunOptions,
    threads: usize,
    cancel: &AtomicBool,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Vec<RunOutput>, RunError> {
    let done = AtomicUsize::new(0);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|_| RunError::Threads)?;
    pool.install(|| {
        jobs.par_iter()
            .with_max_len(1)
            .map(|job| {
                let output = run(&job.scenario, job.run, options, cancel)?;
                progress(done.fetch_add(1, Ordering::Relaxed) + 1);
                Ok(output)
            })
            .collect()
    })
}

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
//! - A flow's own access delay (`extra_delay`, both directions) is spent on the path's reverse
//!   direction. The sender sees no difference. The receiver of forward data sees it earlier by one
//!   access delay than it would; completion times add that delay, `delivered_bytes` of a trace does
//!   not.

mod carried;
mod flow;
mod flows;
mod links;
mod look;
mod traffic;
mod world;

use std::num::NonZero;
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

/// More threads than this for each core only wait for each other.
const THREADS_PER_CORE: usize = 4;

/// How many threads `jobs` runs are spread over, where `asked` were asked for (0: one for each core).
fn workers(asked: usize, jobs: usize, cores: usize) -> usize {
    let wanted = if asked == 0 { cores } else { asked };
    wanted.min(cores * THREADS_PER_CORE).min(jobs).max(1)
}

/// Runs all `jobs` on `threads` threads (0: one for each core) and returns their outputs in the
/// order of the jobs. There are no more threads than jobs, and at most four for each core.
/// `progress` is called with the number of jobs that are done.
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
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(workers(threads, jobs.len(), cores))
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn threads_are_as_many_as_runs_and_cores_need() {
        assert_eq!(workers(0, 100, 8), 8);
        assert_eq!(workers(0, 3, 8), 3);
        assert_eq!(workers(12, 100, 8), 12);
        assert_eq!(workers(4096, 100, 8), 32);
        assert_eq!(workers(4096, 100, 64), 100);
        assert_eq!(workers(1, 0, 8), 1);
    }

    #[test]
    fn thousands_of_threads_are_not_started() {
        let text = "[path]\npreset = \"wired\"\n[[flow]]\nalgorithm = \"cubic\"\nsize = \"1 B\"\n";
        let scenario = Scenario::parse(text, "tiny.toml", ".".as_ref()).expect("it is valid");
        let scenario = Arc::new(scenario);
        let jobs: Vec<Job> = (0..100)
            .map(|run| Job {
                scenario: Arc::clone(&scenario),
                run,
            })
            .collect();
        let started = Mutex::new(0);
        let progress = |_| *started.lock().expect("no panic") = rayon::current_num_threads();
        let cancel = AtomicBool::new(false);
        let outputs = run_all(&jobs, &RunOptions::default(), 4096, &cancel, &progress);
        assert_eq!(outputs.map(|outputs| outputs.len()), Ok(100));
        assert!((1..=100).contains(&*started.lock().expect("no panic")));
    }
}

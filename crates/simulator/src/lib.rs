//! Runs a scenario: connects engine, tcp and network, and returns the measurements.
//!
//! A run is single-threaded and depends only on the scenario and the run number. [`run_all`]
//! distributes runs over threads and returns them in the order requested, so the bytes of a result
//! do not depend on the number of threads.
//!
//! ## Assumptions
//!
//! - The sender opens the connection: its SYN leaves at the flow's start, and data follows the
//!   SYN-ACK one base RTT later.
//! - Hosts have no processing delay and their interfaces no rate limit: a burst reaches the first
//!   link at once.
//! - A flow's access delay (`extra_delay`, both directions) is added to the path's reverse
//!   direction. The sender sees no difference. Forward data reaches its receiver one access delay
//!   too early. Completion times add that delay; `delivered_bytes` of a trace does not.

mod agenda;
mod alike;
mod carried;
mod channel;
mod characterize;
mod characterize_network;
mod connection;
mod conversation;
mod fabric;
mod flow;
mod flows;
mod host;
mod in_flight;
mod legs;
mod numbers;
mod oracle;
mod recorder;
mod routes;
mod starts;
mod traffic;
mod ways;
mod world;

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::prelude::*;
use scenario::Scenario;
use units::Instant;

pub use alike::{groups_of_alike, run_alike};
pub use channel::{Channel, ChannelLink};
pub use characterize::characterize;
pub use characterize_network::characterize_network;
pub use flow::exit_result;
pub use host::{Act, Call, Ended, Facts, Host, LEAST_DATA, Meter, Pair, Passing, Stacks, Transmit};

/// What a run records.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions {
    /// Whether to record time series.
    pub traces: bool,
    /// Whether the time series are those of flows alone. Those of links have most of the rows.
    pub flows_only: bool,
    /// Whether to record the packets of the measured flows at both of their hosts. Flows whose
    /// connection a proxy splits, or whose receiver sends data too, are left out.
    pub packets: bool,
    /// Which event loop to use. Results do not depend on it.
    pub event_loop: EventLoop,
}

/// The event loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventLoop {
    /// The faster one for the scenario.
    #[default]
    Fastest,
    /// The one in which the two sides of the path act in turns, wherever it is possible.
    Turns,
    /// The one that takes all events of a run in the order of their times.
    Plain,
}

/// The output of a run.
#[derive(Clone, Debug)]
pub struct RunOutput {
    /// Its measurements.
    pub result: measure::RunResult,
    /// Its time series, if requested.
    pub traces: Option<measure::Traces>,
    /// The packets of its flows, if requested.
    pub packets: Vec<measure::PacketTrace>,
}

/// Why a run did not finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The caller cancelled it.
    Cancelled,
    /// The threads could not be started.
    Threads,
    /// A flow names a stack that the caller does not have.
    UnknownStack,
    /// Simulated time stood still at this instant: packets pass over routes that take no time.
    Standstill(Instant),
    /// A stack of others did what it must not: one sentence.
    Stack(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cancelled => f.write_str("the run was cancelled"),
            Self::Stack(sentence) => f.write_str(sentence),
            Self::Threads => f.write_str("the threads for the runs could not be started"),
            Self::UnknownStack => f.write_str("a flow names a stack other than the simulated TCP"),
            Self::Standstill(at) => write!(
                f,
                "simulated time stands still at {} s: packets pass over a route whose links have \
                 neither a rate nor a delay",
                at.as_secs_f64()
            ),
        }
    }
}

impl std::error::Error for RunError {}

/// One run of one scenario.
#[derive(Clone, Debug)]
pub struct Job {
    /// The scenario to run.
    pub scenario: Arc<Scenario>,
    /// The run number. The seed is the scenario's seed plus this number.
    pub run: u32,
}

/// Runs `scenario` once, as run number `run`.
///
/// # Errors
/// [`RunError::Cancelled`] when `cancel` became true, [`RunError::Standstill`], and
/// [`RunError::Stack`].
pub fn run(
    scenario: &Scenario,
    run: u32,
    options: &RunOptions,
    cancel: &AtomicBool,
) -> Result<RunOutput, RunError> {
    if scenario.flows.iter().any(|flow| flow.stack.is_foreign()) {
        return Err(RunError::UnknownStack);
    }
    let legs = legs::Legs::of(scenario);
    let world = world::World::new(scenario, &legs, run, options);
    world.run(cancel).map(|(output, _)| output)
}

/// [`run`] of a scenario in which flows may name other stacks, with what connects these. Each packet
/// of their hosts is shown to `observe` as it leaves.
///
/// # Errors
/// [`RunError::Cancelled`] when `cancel` became true, and [`RunError::Standstill`].
pub fn run_with(
    scenario: &Scenario,
    run: u32,
    options: &RunOptions,
    cancel: &AtomicBool,
    stacks: &dyn Stacks,
    observe: &mut dyn FnMut(Passing<'_>),
) -> Result<RunOutput, RunError> {
    let legs = legs::Legs::of(scenario);
    let world = world::World::new(scenario, &legs, run, options);
    let world = world.with(stacks, observe);
    world.run(cancel).map(|(output, _)| output)
}

/// More threads per core than this gain nothing.
const THREADS_PER_CORE: usize = 4;

/// Number of threads for `jobs` runs if the caller requests `requested` (0: one per core).
fn workers(requested: usize, jobs: usize, cores: usize) -> usize {
    let threads = if requested == 0 { cores } else { requested };
    threads.min(cores * THREADS_PER_CORE).min(jobs).max(1)
}

/// Runs all `jobs` on `threads` threads (0: one per core) and returns their outputs in the order
/// of the jobs. It starts no more threads than jobs, and at most four per core. It calls
/// `progress` with the number of finished jobs.
///
/// # Errors
/// [`RunError::Cancelled`] when `cancel` became true, and [`RunError::Standstill`]; nothing is
/// returned then.
pub fn run_all(
    jobs: &[Job],
    options: &RunOptions,
    threads: usize,
    cancel: &AtomicBool,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Vec<RunOutput>, RunError> {
    run_each(jobs, threads, progress, &|job: &Job| {
        run(&job.scenario, job.run, options, cancel)
    })
}

/// As [`run_all`], for jobs of any kind, each of which `run` makes.
///
/// # Errors
/// Those of `run`; nothing is returned then.
pub fn run_each<J: Sync, O: Send>(
    jobs: &[J],
    threads: usize,
    progress: &(dyn Fn(usize) + Sync),
    run: &(dyn Fn(&J) -> Result<O, RunError> + Sync),
) -> Result<Vec<O>, RunError> {
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
                let output = run(job)?;
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
    fn jobs_and_cores_limit_the_number_of_threads() {
        assert_eq!(workers(0, 100, 8), 8);
        assert_eq!(workers(0, 3, 8), 3);
        assert_eq!(workers(12, 100, 8), 12);
        assert_eq!(workers(4096, 100, 8), 32);
        assert_eq!(workers(4096, 100, 64), 100);
        assert_eq!(workers(1, 0, 8), 1);
    }

    #[test]
    fn a_request_for_thousands_of_threads_starts_at_most_one_per_job() {
        let text = "[path]\npreset = \"wired\"\n[[flow]]\nalgorithm = \"cubic\"\nsize = \"1 B\"\n";
        let scenario = Scenario::parse(text, "tiny.toml", ".".as_ref()).expect("a valid scenario");
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

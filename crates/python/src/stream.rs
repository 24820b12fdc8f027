//! `run_to_files`: simulations whose tables go to Parquet files while the next ones run.
//!
//! The runs are simulated in parts, on all cores, while one thread writes the part before. Parts and
//! row groups depend on the scenarios only, so the bytes of the files do not depend on the number of
//! threads. No result stays in memory; only `Tally` needs a few bytes a run, at the end.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use measure::tables::{self, TableFile};
use measure::{Overview, RunResult, Tally};
use pyo3::prelude::*;
use scenario::Scenario as Resolved;
use simulator::RunOptions;

use crate::attend::attend;
use crate::batch::{jobs_of, stacks_of, threads_of};
use crate::quic::{Job, On};
use crate::results::{Table, scenarios_json};
use crate::scenarios::{Scenario, runs_of};
use crate::{VERSION, classes, errors};

/// Flows in a part, and the least number of runs in it: enough to keep all cores busy.
const PART_FLOWS: usize = 4096;
const PART_RUNS: usize = 64;

type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The runs of a part, and the time limit of their scenario in seconds.
type Part = (f64, Vec<RunResult>);

/// A table that is written while runs end.
struct Growing {
    rows: fn(&[RunResult]) -> Result<RecordBatch, ArrowError>,
    file: TableFile,
}

impl Growing {
    fn create(name: &str, path: &Path) -> PyResult<Self> {
        let rows = match name {
            "flows" => tables::flows,
            "links" => tables::links,
            "traffic" => tables::traffic,
            "responses" => tables::responses,
            "epochs" => tables::epochs,
            "queues" => tables::queues,
            other => {
                return Err(errors::input(format!(
                    "there is no table {other}: use flows, links, traffic, \
                     responses, epochs or queues"
                )));
            }
        };
        let schema = rows(&[]).map_err(errors::run)?.schema();
        let file = File::create(path).map_err(errors::run)?;
        let file = TableFile::new(file, &schema).map_err(errors::run)?;
        Ok(Self { rows, file })
    }
}

/// Executes every run of every scenario as `run_batch` does, and writes the tables of `files` (by
/// `flows`, `links`, `traffic`, `responses`, `epochs` and `queues`) to new Parquet files. `scratch` is a file for numbers that the
/// summary needs again. Returns the summary, and the overview as JSON.
#[pyfunction]
#[pyo3(signature = (scenarios, files, scratch, *, threads = None, runs = None, progress = None))]
pub fn run_to_files(
    py: Python<'_>,
    scenarios: Vec<PyRef<'_, Scenario>>,
    files: BTreeMap<String, PathBuf>,
    scratch: PathBuf,
    threads: Option<usize>,
    runs: Option<u32>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(Table, String)> {
    let on = stacks_of(&scenarios);
    let (scenarios, counts) = runs_of(&scenarios, runs);
    let total = counts.iter().sum();
    let threads = threads_of(&scenarios, threads, total)?;
    let resolved = scenarios_json(&scenarios)?.to_string();
    let files = files
        .iter()
        .map(|(name, path)| Growing::create(name, path))
        .collect::<PyResult<Vec<_>>>()?;
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    let tally = Tally::with_file(options.open(scratch).map_err(errors::run)?);

    classes::forget_failures();
    let cancel = AtomicBool::new(false);
    let done = AtomicUsize::new(0);
    let report = || {
        classes::failure()?;
        match &progress {
            Some(progress) => progress
                .call1((done.load(Ordering::Relaxed), total))
                .map(drop),
            None => Ok(()),
        }
    };
    let overview = attend(py, &cancel, report, || {
        let (parts, finished) = sync_channel(1);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let written = write(finished, files, tally, &resolved);
                if written.is_err() {
                    cancel.store(true, Ordering::Relaxed);
                }
                written
            });
            let simulated = simulate(&scenarios, &on, &counts, threads, &cancel, &done, &parts);
            drop(parts);
            // A failure of the writer also stops the simulation, so it comes first.
            let overview = writer.join().unwrap_or_else(|panic| {
                std::panic::resume_unwind(panic);
            })?;
            simulated.map(|()| overview)
        })
    })?
    .map_err(errors::run)?;
    classes::failure()?;
    let json = serde_json::to_string(&overview).map_err(errors::run)?;
    Ok((Table::new(tables::summary(&overview.summary))?, json))
}

/// Simulates all runs part by part, in order, and passes each part on.
fn simulate(
    scenarios: &[Arc<Resolved>],
    on: &[On],
    counts: &[usize],
    threads: usize,
    cancel: &AtomicBool,
    done: &AtomicUsize,
    parts: &SyncSender<Part>,
) -> Fallible<()> {
    let mut before = 0;
    for ((scenario, on), &count) in scenarios.iter().zip(on).zip(counts) {
        let limit_s = scenario.time_limit.as_secs_f64();
        let part = (PART_FLOWS / scenario.flows.len().max(1)).max(PART_RUNS);
        for begin in (0..count).step_by(part) {
            let numbers = begin..count.min(begin + part);
            let numbers = numbers.start as u32..numbers.end as u32;
            let jobs: Vec<Job> = jobs_of(scenario, on, numbers).collect();
            let count_done = |so_far| {
                done.fetch_max(before + so_far, Ordering::Relaxed);
            };
            let options = RunOptions::default();
            let execute = |job: &Job| job.execute(&options, cancel);
            let outputs = simulator::run_each(&jobs, threads, &count_done, &execute)?;
            before += outputs.len();
            let results = outputs.into_iter().map(|output| output.result).collect();
            if parts.send((limit_s, results)).is_err() {
                return Ok(()); // the writer has failed, and says why
            }
        }
    }
    Ok(())
}

/// Writes parts until there are no more.
fn write(
    parts: Receiver<Part>,
    mut files: Vec<Growing>,
    mut tally: Tally,
    scenarios: &str,
) -> Fallible<Overview> {
    for (limit_s, results) in parts {
        for result in &results {
            tally.add(result, limit_s, true)?;
        }
        for file in &mut files {
            file.file.write(&(file.rows)(&results)?)?;
        }
    }
    let facts = [
        ("slowstart.version", VERSION),
        ("slowstart.scenario", scenarios),
    ];
    for each in files {
        each.file.finish(&format!("slowstart {VERSION}"), &facts)?;
    }
    Ok(tally.finish()?)
}

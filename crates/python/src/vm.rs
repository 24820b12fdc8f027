//! Runs on the kernel of a virtual machine in virtual time.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use kernel_stack::Sampler;
use measure::RunResult;
use pyo3::prelude::*;
use scenario::ExactScenario;
use serde_json::json;
use vm::exchange::Job;
use vm::{Machine, VmError};

use crate::attend::attend;
use crate::errors;
use crate::results::{Keep, Kernel, Result as Results};
use crate::scenarios::{Scenario, runs_of};

/// Paths of QEMU, the kernel, the folder of its modules, and the program inside the machine.
type Parts = (PathBuf, PathBuf, PathBuf, PathBuf);

fn machine((qemu, kernel, modules, guest): Parts) -> Machine {
    Machine {
        qemu,
        kernel,
        modules,
        guest,
    }
}

fn vm_error(error: &VmError) -> PyErr {
    match error {
        VmError::Unsupported(_) => errors::input(error),
        _ => errors::run(error),
    }
}

/// Raises an error if the machine's kernel does not support the scenarios. Starts nothing.
#[pyfunction]
pub fn check_vm(parts: Parts, scenarios: Vec<PyRef<'_, Scenario>>) -> PyResult<()> {
    let machine = machine(parts);
    for scenario in &scenarios {
        vm::supports(&machine, &scenario.inner).map_err(|error| vm_error(&error))?;
    }
    Ok(())
}

/// Executes every run of every scenario in its own virtual machine, `threads` at a time. A run that
/// failed the timing self-check appears in the result document, but only `force` includes it in
/// tables and statistics.
#[pyfunction]
#[pyo3(signature = (parts, scenarios, *, traces = "none", runs = None, threads = None,
    force = false, progress = None))]
#[allow(
    clippy::too_many_arguments,
    reason = "they are keyword arguments in Python"
)]
pub fn run_vm(
    py: Python<'_>,
    parts: Parts,
    scenarios: Vec<PyRef<'_, Scenario>>,
    traces: &str,
    runs: Option<u32>,
    threads: Option<usize>,
    force: bool,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Results> {
    let keep = Keep::named(traces)?;
    let machine = machine(parts);
    let (scenarios, counts) = runs_of(&scenarios, runs);
    let jobs: Vec<Job> = scenarios
        .iter()
        .zip(&counts)
        .flat_map(|(scenario, &count)| {
            (0..count as u32).map(move |run| Job {
                scenario: ExactScenario((**scenario).clone()),
                run,
                traces: keep == Keep::All || keep == Keep::First && run == 0,
            })
        })
        .collect();
    let threads = threads
        .or_else(|| std::thread::available_parallelism().ok().map(usize::from))
        .unwrap_or(1);
    let cancel = AtomicBool::new(false);
    let done = AtomicUsize::new(0);
    let report = || match &progress {
        Some(progress) => progress
            .call1((done.load(Ordering::Relaxed), jobs.len()))
            .map(drop),
        None => Ok(()),
    };
    let outputs = attend(py, &cancel, report, || {
        vm::run_all(&machine, &jobs, threads, &cancel, &|so_far| {
            done.fetch_max(so_far, Ordering::Relaxed);
        })
    })?
    .map_err(|error| vm_error(&error))?;
    let mut results = Vec::with_capacity(outputs.len());
    let mut traces = Vec::new();
    let mut kernels = Vec::with_capacity(outputs.len());
    for (output, job) in outputs.into_iter().zip(&jobs) {
        let counts = force || output.check.valid;
        results.push(RunResult {
            scenario: job.scenario.0.name.clone(),
            ..output.result
        });
        if keep != Keep::None {
            traces.push(output.traces.filter(|_| counts).unwrap_or_default());
        }
        kernels.push(Kernel {
            counts,
            reasons: output.check.reasons.clone(),
            facts: json!({
                "congestion": output.congestion,
                "kernel": output.kernel,
                "sampler": Sampler::TcpInfo.name(),
                "samples": output.samples,
                "longest_gap_ms": output.longest_gap_ms,
                "check": output.check,
            }),
        });
    }
    Ok(Results::of_kernel(
        scenarios, counts, results, traces, kernels,
    ))
}

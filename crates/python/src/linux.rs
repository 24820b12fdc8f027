//! The running kernel's TCP over emulated paths, and commands that run over them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use ::conformance::scripts::{Simulated, stream};
use ::packetdrill::replay::{self, Step};
use ::packetdrill::{Run, Script, run};
use emulator::{
    CaptureTo, Direction, EmulateOptions, EmulatorError, Existing, LogTo, Point, SelfCheck, Side,
    Snapshot,
};
use kernel_stack::{GuestExit, StackError, StackOptions};
use pyo3::prelude::*;
use scenario::PathModel;
use serde_json::json;
use units::Duration;

use crate::attend::attend;
use crate::errors;
use crate::real_time::{Made, Wanted, one_by_one};
use crate::results::Result as Results;
use crate::scenarios::Scenario;

/// Captures include whole packets: a TUN device never passes larger ones.
const WHOLE_PACKETS: u32 = 65_535;

pub(crate) fn emulator_error(error: &EmulatorError) -> PyErr {
    match error {
        EmulatorError::System(..) | EmulatorError::ServerEnded(_) => errors::run(error),
        EmulatorError::File(_, why) if why.kind() == std::io::ErrorKind::StorageFull => {
            errors::run(error)
        }
        _ => errors::input(error),
    }
}

fn stack_error(error: &StackError) -> PyErr {
    match error {
        StackError::Unsupported(_) => errors::input(error),
        StackError::Emulator(error) => emulator_error(error),
        StackError::System(..) | StackError::Cancelled => errors::run(error),
    }
}

fn options(switch_hystart: bool) -> StackOptions {
    StackOptions {
        hystart_switch: switch_hystart,
        ..StackOptions::default()
    }
}

/// Moves this process into its own user namespace if it may not create network namespaces.
#[pyfunction]
pub fn enter_user_namespace() -> PyResult<()> {
    emulator::enter_user_namespace().map_err(|error| emulator_error(&error))
}

/// The length of the running kernel's tick, in microseconds; zero if it is unknown.
#[pyfunction]
pub fn kernel_tick_us() -> u64 {
    kernel_stack::tick().as_micros()
}

/// Raises an error if this machine, user or kernel does not support the scenarios. Leaves nothing
/// behind.
#[pyfunction]
#[pyo3(signature = (scenarios, *, switch_hystart = false))]
pub fn check_linux(scenarios: Vec<PyRef<'_, Scenario>>, switch_hystart: bool) -> PyResult<()> {
    if let Some(sentence) = emulator::missing() {
        return Err(errors::input(sentence));
    }
    let options = options(switch_hystart);
    for scenario in &scenarios {
        kernel_stack::supports(&scenario.inner, &options).map_err(|error| stack_error(&error))?;
    }
    Ok(())
}

/// Executes every run of every scenario on the running kernel, one at a time, in real time. A run
/// that failed the timing self-check appears in the result document, but only `force` includes it
/// in tables and statistics.
#[pyfunction]
#[pyo3(signature = (scenarios, *, traces = "none", runs = None, force = false,
    switch_hystart = false, progress = None))]
pub fn run_linux(
    py: Python<'_>,
    scenarios: Vec<PyRef<'_, Scenario>>,
    traces: &str,
    runs: Option<u32>,
    force: bool,
    switch_hystart: bool,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Results> {
    let inner: Vec<_> = scenarios.iter().map(|each| each.inner.clone()).collect();
    let wanted = Wanted {
        scenarios: &scenarios,
        traces,
        runs,
        force,
        progress,
    };
    one_by_one(py, &wanted, stack_error, |place, run, traces, cancel| {
        let options = StackOptions {
            traces,
            ..options(switch_hystart)
        };
        let output = kernel_stack::run(&inner[place], run, &options, cancel)?;
        Ok(Made {
            facts: json!({
                "congestion": output.congestion,
                "decisions": output.decisions.iter().map(decision).collect::<Vec<_>>(),
                "sampler": output.sampler.name(),
                "samples": output.samples,
                "samples_lost": output.samples_lost,
                "longest_gap_ms": output.longest_gap.as_nanos() as f64 / 1e6,
            }),
            result: output.result,
            traces: output.traces,
            check: output.check,
        })
    })
}

/// The values from which one of our congestion controls decided the slow-start exit.
fn decision(exit: &Option<GuestExit>) -> Option<serde_json::Value> {
    exit.map(|exit| {
        json!({
            "cwnd_segments": exit.cwnd,
            "bin": exit.bin,
            "norm_permille": exit.norm_permille,
        })
    })
}

/// Runs a command over an emulated path. Returns its exit status, the reasons why it failed the
/// timing self-check, and whether the server command listened in time (true without one). With
/// `host`, the other end is this host.
///
/// `watch` is called with the elapsed seconds, and the forward link's IP bytes, queue length in
/// packets, drops and marks so far. An exception from it asks the command to end.
#[pyfunction]
#[pyo3(signature = (path, command, *, seed, upload = false, capture = None,
    capture_side = "sender", log = None, force = false, server_command = None, watch = None, host = false))]
#[allow(
    clippy::too_many_arguments,
    reason = "they are keyword arguments in Python"
)]
pub fn emulate(
    py: Python<'_>,
    path: &str,
    command: Vec<OsString>,
    seed: Bound<'_, PyAny>,
    upload: bool,
    capture: Option<PathBuf>,
    capture_side: &str,
    log: Option<PathBuf>,
    force: bool,
    server_command: Option<OsString>,
    watch: Option<Bound<'_, PyAny>>,
    host: bool,
) -> PyResult<(i32, Vec<String>, bool)> {
    let seed: u64 = crate::scenarios::whole(&seed, "the seed")?;
    let path = PathModel::resolve(path).map_err(errors::input)?;
    let at = match capture_side {
        "sender" => Side::Sender.into(),
        "receiver" => Side::Receiver.into(),
        "middle" => Point::Middle,
        other => {
            return Err(errors::input(format!(
                "the side of a capture must be sender, receiver or middle, not {other}"
            )));
        }
    };
    if let Some(sentence) = emulator::missing() {
        return Err(errors::input(sentence));
    }
    let mut options = EmulateOptions {
        command,
        server_command,
        upload,
        host,
        ..EmulateOptions::default()
    };
    options.emulation.captures = capture
        .map(|file| CaptureTo {
            at,
            file,
            snap_length: WHOLE_PACKETS,
        })
        .into_iter()
        .collect();
    options.emulation.logs = log
        .map(|file| LogTo {
            direction: Direction::Forward,
            file,
        })
        .into_iter()
        .collect();

    if force {
        options.emulation.existing = Existing::Replace;
    }

    let cancel = AtomicBool::new(false);
    let latest: Mutex<Snapshot> = Mutex::default();
    let report = || match &watch {
        Some(watch) => {
            let now = *latest.lock().unwrap_or_else(PoisonError::into_inner);
            let forward = now.forward;
            let figures = (
                now.at.as_secs_f64(),
                forward.bytes.get(),
                forward.queue_packets,
                forward.drops,
                forward.marks,
            );
            watch.call1(figures).map(drop)
        }
        None => Ok(()),
    };
    let outcome = attend(py, &cancel, report, || {
        emulator::emulate(&path, seed, options, &cancel, &mut |now| {
            *latest.lock().unwrap_or_else(PoisonError::into_inner) = *now;
        })
    })?
    .map_err(|error| emulator_error(&error))?;
    let SelfCheck { reasons, .. } = outcome.report.check;
    Ok((outcome.status, reasons, outcome.server_listens))
}

/// How often a script runs at most: a host that was busy makes packets late.
const TRIES: usize = 3;

/// Runs a packetdrill script on the kernel, until a try passes.
pub(crate) fn run_script_on_kernel(
    script: &Script,
    algorithm: Option<&str>,
    tolerance: Duration,
) -> PyResult<Run> {
    let mut outcome = None;
    for _ in 0..TRIES {
        let done = kernel_stack::with_kernel(script, algorithm, false, |stack| {
            run(script, stack, tolerance)
        })
        .map_err(|error| stack_error(&error))?
        .map_err(errors::input)?;
        let passed = done.difference.is_none();
        outcome = Some(done);
        if passed {
            break;
        }
    }
    outcome.ok_or_else(|| errors::run("no try"))
}

/// How many shorter streams are tried on both stacks.
const SHRINKINGS: usize = 48;

/// The simulation's recording of a stream.
fn record_simulated(script: &Script) -> PyResult<Vec<Step>> {
    let mut simulated = Simulated::new(script, None, kernel_stack::tick()).map_err(errors::run)?;
    replay::replay(script, &mut simulated).map_err(errors::run)
}

/// The kernel's recording of a stream, and whether the phase of its timers was known.
fn record_kernel(script: &Script) -> PyResult<(Vec<Step>, bool)> {
    kernel_stack::with_kernel(script, None, true, |stack| {
        replay::replay(script, stack).map(|steps| (steps, stack.is_aligned()))
    })
    .map_err(|error| stack_error(&error))?
    .map_err(errors::run)
}

/// A stream differs if this many runs in which the host was in time, and the phase of the kernel's
/// timers known, differ from the simulation.
const DIFFERING: usize = 3;
/// How often the kernel runs a stream at most.
const STREAM_RUNS: usize = 12;

/// What the runs of one stream on the kernel say.
enum Verdict {
    /// One run was identical with the simulation.
    Identical,
    /// The event, the difference, and what the kernel did in the last run.
    Differs(usize, String, Vec<Step>),
    /// In most runs, the host was late or the phase of the kernel's timers unknown.
    NotJudged,
}

/// Runs `script` on the kernel until a run is identical, or enough differ. The simulation gets the
/// events at the times of the script, and if that differs, at those at which the kernel took them.
fn judge(script: &Script) -> PyResult<Verdict> {
    let simulated = record_simulated(script)?;
    let mut differing = 0;
    for _ in 0..STREAM_RUNS {
        let (theirs, is_aligned) = record_kernel(script)?;
        let Some((at, difference)) = replay::compare(&simulated, &theirs) else {
            return Ok(Verdict::Identical);
        };
        for taken in replay::as_taken(script, &theirs) {
            if replay::compare(&record_simulated(&taken)?, &theirs).is_none() {
                return Ok(Verdict::Identical);
            }
        }
        differing += usize::from(is_aligned && replay::is_punctual(&theirs));
        if differing == DIFFERING {
            return Ok(Verdict::Differs(at, difference, theirs));
        }
    }
    Ok(Verdict::NotJudged)
}

/// Compares the simulated TCP with the kernel over the random stream of `profile` and `seed`. With
/// `shrinks`, the result has the shortest script that still differs. Returns a JSON object whose
/// `identical` is null if the host was late too often, or the kernel does not show its ticks.
#[pyfunction]
pub fn compare_stream(py: Python<'_>, profile: &str, seed: u64, shrinks: bool) -> PyResult<String> {
    py.detach(|| {
        let script = stream::stream(profile, seed, kernel_stack::tick()).map_err(errors::input)?;
        let verdict = judge(&script)?;
        let mut report = json!({
            "profile": profile,
            "seed": seed,
            "events": script.events.len(),
            "identical": match verdict {
                Verdict::Identical => Some(true),
                Verdict::Differs(..) => Some(false),
                Verdict::NotJudged => None,
            },
        });
        if let Verdict::Differs(at, difference, steps) = verdict {
            report["event"] = json!(at);
            report["difference"] = json!(difference);
            let mut shortest = (script.clone(), steps);
            if shrinks {
                let short =
                    replay::shrink(&script, at, SHRINKINGS, |shorter| match judge(shorter) {
                        Ok(Verdict::Differs(at, _, theirs)) => {
                            replay::acknowledges_what_was_sent(shorter, &theirs, at).then_some(at)
                        }
                        _ => None,
                    });
                let (steps, _) = record_kernel(&short)?;
                shortest = (short, steps);
            }
            report["script"] = json!(replay::text(&shortest.0, &shortest.1));
        }
        serde_json::to_string(&report).map_err(errors::run)
    })
}

/// The profiles of random streams.
#[pyfunction]
pub fn stream_profiles() -> Vec<&'static str> {
    stream::PROFILES.to_vec()
}

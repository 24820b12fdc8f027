//! The TCP of the running kernel as a stack: a scenario goes in, the same measurements come out
//! as of a simulation.
//!
//! The path is an [`Emulation`]; a sender and a receiver of our own use real
//! sockets on its two sides. A probe in the sender's kernel tells of each ACK where that is allowed
//! ([`Sampler::TcpProbe`]); otherwise the kernel is asked once a millisecond (TCP_INFO). The
//! network's side (drops, queue, true capacity) is known because the network is ours. Design,
//! sections 1 and 4; notes on Linux, sections 1 to 4.
//!
//! | setting | how the kernel is told |
//! | --- | --- |
//! | `algorithm` | TCP_CONGESTION, by the table in `names`; extended by [`StackOptions::names`] |
//! | `initial_window`, `ecn` | metrics of a route of the flow's own (`initcwnd`, `features ecn`) |
//! | `ack_policy = "every-segment"` | a metric of the route back (`quickack`) |
//! | `pacing` | SO_MAX_PACING_RATE without a limit to speak of: TCP's own timer paces, no `fq` needed |
//! | `receive_buffer`, `restart_after_idle` | sysctls of the namespace: one value for all flows |
//! | `tso_segments` | the device's `gso_max_segs`: one value for all flows |
//! | `cubic+search`, `cubic+hystart++`, `cubic+standard` | an eBPF program of this project, loaded for the time of the run (`kernel::Guest`) or before, by whoever may |
//! | `cubic+standard` without it | where allowed, HyStart is switched off for the whole machine while the run lasts (`hystart`) |
//! | `extra_delay`, `sack = false`, `syn_window`, `small_queue`, `autotuning`, `loss_detection`, `byte_counting = false`, other algorithms | refused |
//!
//! ## Deviations
//!
//! - The run, and with it the channel, begins when namespaces, sockets and threads are ready; a
//!   flow starts up to a fraction of a millisecond after its `start`. `start_s` is when connect() was
//!   called.
//! - Without the probe, times of the exit and of the first loss are up to one look late. What else is
//!   approximate stands in `observe`.
//! - The connection is closed when all is acknowledged, not when all is written.
//! - The kernel's limit is on memory, not on the receive window; it is chosen so that full segments
//!   make the window `receive_buffer`, within one percent (`hosts`).
//! - Sender and receiver have large socket buffers and go before ordinary threads where that is
//!   allowed, so that no application makes the kernel wait: what is measured is its TCP.

mod acks;
mod hosts;
mod hystart;
mod info;
mod names;
mod observe;
mod outcome;
mod plan;
pub(crate) mod routes;
mod sampler;
mod shared;
mod sys;

use std::fmt;
use std::fs::File;
use std::io;
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread;

use kernel::{Guest, Probe};
use measure::{RunResult, SlowStartExitResult, Traces};
use scenario::Scenario;
use units::Duration;

use crate::{Emulation, EmulationOptions, EmulatorError, Report, SelfCheck, Side};
use hystart::Held;
use plan::Plan;
use sampler::{Looking, Seen, Watched};
use shared::Shared;

pub use kernel::GuestExit;
pub use names::{KernelName, Kind};

/// How a run is made.
#[derive(Clone, Debug)]
pub struct StackOptions {
    /// Whether time series are kept.
    pub traces: bool,
    /// Time from one look at the kernel to the next.
    pub period: Duration,
    /// Leave to switch HyStart off for the whole machine while a run of `cubic+standard` lasts,
    /// where `ss_cubic_std` is not loaded. Needs root.
    pub hystart_switch: bool,
    /// Leave to load what the kernel does not bring, for the time of the run.
    pub guests: bool,
    /// How each ACK becomes known; by the best way there is where it is `None`.
    pub sampler: Option<Sampler>,
    /// Whether TCP_INFO is asked beside the probe, to compare the two.
    pub cross_check: bool,
    /// Congestion controls of the kernel beside those that are known.
    pub names: Vec<KernelName>,
    /// What the kernel has of them, by its own names, where it is not the running one; `None`: the
    /// running one is asked.
    pub available: Option<Vec<String>>,
    /// How the path is made. Whether queues are traced and deliveries kept is decided here.
    pub emulation: EmulationOptions,
}

impl Default for StackOptions {
    /// No time series, the best sampler or a look each millisecond, nothing switched for the whole
    /// machine.
    fn default() -> Self {
        Self {
            traces: false,
            period: Duration::from_millis(1),
            hystart_switch: false,
            guests: true,
            sampler: None,
            cross_check: false,
            names: Vec::new(),
            available: None,
            emulation: EmulationOptions::default(),
        }
    }
}

/// How the state of a sender becomes known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampler {
    /// The kernel is asked, once a period.
    TcpInfo,
    /// A probe in the kernel tells of each ACK. Needs root and the feature `bpf`.
    TcpProbe,
}

impl Sampler {
    /// Its name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TcpInfo => "tcp_info",
            Self::TcpProbe => "tcp_probe",
        }
    }
}

/// What a run leaves.
#[derive(Clone, Debug)]
pub struct StackOutput {
    /// Its measurements.
    pub result: RunResult,
    /// Its time series, where asked for.
    pub traces: Option<Traces>,
    /// Whether to believe it.
    pub check: SelfCheck,
    /// The longest time from one look at the kernel to the next.
    pub longest_gap: Duration,
    /// How the senders' state became known.
    pub sampler: Sampler,
    /// How often: one for each ACK by the probe, or one for each time a flow was looked at.
    pub samples: u64,
    /// ACK events that were dropped because the probe's ring buffer was full.
    pub samples_lost: u64,
    /// The slow-start exit of each flow as TCP_INFO shows it beside the probe, where asked for.
    pub cross_checked: Vec<Option<SlowStartExitResult>>,
    /// The congestion control of each flow, as the kernel calls it.
    pub congestion: Vec<String>,
    /// What the congestion control of each flow ended the first slow start for, where it did and
    /// tells; its times are those of CLOCK_MONOTONIC.
    pub decisions: Vec<Option<GuestExit>>,
    /// What the network saw, without its deliveries.
    pub report: Report,
}

/// Why a run did not finish.
#[derive(Debug)]
pub enum StackError {
    /// The kernel cannot do what the scenario says: one sentence.
    Unsupported(String),
    /// The path could not be made.
    Emulator(EmulatorError),
    /// A system call failed: what was being done, and what it said.
    System(String, io::Error),
    /// Somebody asked it to stop.
    Cancelled,
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(sentence) => f.write_str(sentence),
            Self::Emulator(error) => error.fmt(f),
            Self::System(what, error) => write!(f, "the kernel's TCP failed: {what}: {error}"),
            Self::Cancelled => f.write_str("the run was cancelled"),
        }
    }
}

impl std::error::Error for StackError {}

impl From<EmulatorError> for StackError {
    fn from(error: EmulatorError) -> Self {
        Self::Emulator(error)
    }
}

/// Whether the running kernel can do what `scenario` says. Creates nothing.
///
/// # Errors
/// [`StackError::Unsupported`] with the reason.
pub fn supports(scenario: &Scenario, options: &StackOptions) -> Result<(), StackError> {
    Plan::new(scenario, options).map(drop)
}

/// From the last preparation to the beginning of a run: the threads start in this time.
const LEAD: Duration = Duration::from_millis(10);

/// Runs `scenario` once on the running kernel, as run number `run`: in real time.
///
/// # Errors
/// [`StackError::Unsupported`] before anything is created; others when something fails on the way,
/// or `cancel` became true. Nothing is left behind.
pub fn run(
    scenario: &Scenario,
    run: u32,
    options: &StackOptions,
    cancel: &AtomicBool,
) -> Result<StackOutput, StackError> {
    let mut plan = Plan::new(scenario, options)?;
    let seed = scenario.seed.wrapping_add(u64::from(run));
    let _hystart = Held::new(plan.hystart, cancel)?;
    let guests = register_guests(&mut plan)?;
    let prepared = Emulation::prepare(
        &scenario.path,
        seed,
        EmulationOptions {
            trace: options.traces,
            deliveries: true,
            ..options.emulation.clone()
        },
    )?;
    let listener = prepared.within(Side::Receiver, || hosts::prepare_receivers(&plan))??;
    let (sockets, counters) = prepared.within(Side::Sender, || {
        let sockets = hosts::prepare_senders(&plan)?;
        let netstat = "/proc/thread-self/net/netstat";
        let counters =
            File::open(netstat).map_err(|error| StackError::System(netstat.to_owned(), error))?;
        Ok::<_, StackError>((sockets, counters))
    })??;
    let probe = attach_probe(options, &sockets)?;
    let sampler = if probe.is_some() {
        Sampler::TcpProbe
    } else {
        Sampler::TcpInfo
    };
    let emulation = prepared.begin(LEAD)?;
    let shared = Shared::new(emulation.zero_monotonic_nanos(), plan.flows.len());
    let (news_to, news) = mpsc::channel();
    let seen = thread::scope(|scope| {
        let (shared, plan, listener) = (&shared, &plan, &listener);
        scope.spawn(move || hosts::receive(shared, plan, listener));
        scope.spawn(move || hosts::send(shared, plan, sockets, &news_to));
        let looking = Looking {
            plan,
            period: options.period.max(Duration::from_micros(50)),
            traces: options.traces,
            cross_check: options.cross_check,
            counters,
            probe,
            guests,
        };
        let watcher = scope.spawn(move || sampler::watch(shared, looking, news, cancel));
        match watcher.join() {
            Ok(seen) => seen,
            Err(panic) => {
                shared.end();
                std::panic::resume_unwind(panic)
            }
        }
    });
    if seen.cancelled {
        return Err(StackError::Cancelled);
    }
    let mut report = emulation.finish()?;
    let (longest_gap, samples, samples_lost) = (seen.longest_gap, seen.looks, seen.lost);
    let decisions = of_each(&plan, &seen, |watched| watched.decision);
    let cross_checked = of_each(&plan, &seen, |watched| {
        watched.beside.as_ref().and_then(outcome::exit_of)
    });
    let (result, traces) = outcome::result_of(scenario, (run, seed), &plan, &shared, seen, &report);
    if let Some((what, error)) = shared.failure() {
        return Err(StackError::System(what, error));
    }
    report.deliveries = Vec::new();
    Ok(StackOutput {
        result,
        traces: options.traces.then_some(traces),
        check: report.check.clone(),
        longest_gap,
        sampler,
        samples,
        samples_lost,
        decisions,
        cross_checked,
        congestion: plan.flows.iter().map(|flow| flow.kernel.clone()).collect(),
        report,
    })
}

/// What is known of each flow of the plan.
fn of_each<T>(plan: &Plan, seen: &Seen, what: impl Fn(&Watched) -> Option<T>) -> Vec<Option<T>> {
    let flows = plan.flows.iter().map(|flow| {
        let mut watched = seen.flows.iter();
        what(watched.find(|watched| watched.flow == flow.index)?)
    });
    flows.collect()
}

/// Loads what the flows need that the kernel does not bring.
fn register_guests(plan: &mut Plan) -> Result<Vec<Guest>, StackError> {
    let mut guests: Vec<Guest> = Vec::new();
    for flow in &mut plan.flows {
        let Some(wanted) = flow.guest else { continue };
        let there = guests.iter().find(|guest| *guest.wanted() == wanted);
        if let Some(guest) = there {
            guest.name().clone_into(&mut flow.selected);
            continue;
        }
        let guest = Guest::register(&wanted).map_err(|error| {
            StackError::System(
                format!("loading `{}`", flow.kernel),
                io::Error::other(error),
            )
        })?;
        guest.name().clone_into(&mut flow.selected);
        guests.push(guest);
    }
    Ok(guests)
}

/// Attaches the probe to the senders' namespace, where it is wanted and possible.
fn attach_probe(
    options: &StackOptions,
    sockets: &[TcpStream],
) -> Result<Option<Probe>, StackError> {
    let Some(socket) = sockets.first() else {
        return Ok(None);
    };
    if options.sampler == Some(Sampler::TcpInfo) {
        return Ok(None);
    }
    let attached = sys::namespace_cookie(socket)
        .map_err(io::Error::other)
        .and_then(|cookie| Probe::attach(cookie).map_err(io::Error::other));
    match attached {
        Ok(probe) => Ok(Some(probe)),
        Err(error) if options.sampler.is_some() => {
            Err(StackError::System("telling of each ACK".to_owned(), error))
        }
        Err(_) => Ok(None),
    }
}

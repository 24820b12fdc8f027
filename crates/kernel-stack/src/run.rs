//! A run on the running kernel, from its preparation to its measurements.

use std::fs::File;
use std::io;
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread;

use emulator::{Emulation, EmulationOptions, Report, SelfCheck, Side};
use kernel::{Guest, GuestExit, Probe};
use measure::{RunResult, SlowStartExitResult, Traces};
use scenario::{PathModel, Scenario};
use units::Duration;

use crate::error::StackError;
use crate::exchanges::{self, Talks};
use crate::hystart::HystartSetting;
use crate::options::{Sampler, StackOptions};
use crate::plan::Plan;
use crate::sampler::{self, Seen, Setup, Watched};
use crate::shared::{self, Shared};
use crate::{hosts, outcome, sys};

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct StackOutput {
    /// Its measurements.
    pub result: RunResult,
    /// Its time series, on request.
    pub traces: Option<Traces>,
    /// The timing self-check.
    pub check: SelfCheck,
    /// The longest time between two polls of the kernel.
    pub longest_gap: Duration,
    /// How the senders were observed.
    pub sampler: Sampler,
    /// Number of observations: one per ACK with the probe, otherwise one per poll of a flow.
    pub samples: u64,
    /// ACK events that were dropped because the probe's ring buffer was full.
    pub samples_lost: u64,
    /// The slow-start exit of each flow as TCP_INFO shows it beside the probe, on request.
    pub cross_checked: Vec<Option<SlowStartExitResult>>,
    /// The kernel's name of each flow's congestion control.
    pub congestion: Vec<String>,
    /// The decision of each flow's congestion control to end the first slow start, where it made
    /// and reported one; its times are those of CLOCK_MONOTONIC.
    pub decisions: Vec<Option<GuestExit>>,
    /// What the network observed, without its deliveries.
    pub report: Report,
}

/// Whether the running kernel can run `scenario`. Creates nothing.
///
/// # Errors
/// [`StackError::Unsupported`] with the reason.
pub fn supports(scenario: &Scenario, options: &StackOptions) -> Result<(), StackError> {
    Plan::new(scenario, options).map(drop)
}

/// Time from the last preparation to the beginning of a run, in which the threads start.
const LEAD: Duration = Duration::from_millis(10);

/// Runs `scenario` once on the running kernel, as run number `run`, in real time.
///
/// # Errors
/// [`StackError::Unsupported`] before anything is created; others if something fails later, or
/// `cancel` becomes true. Nothing is left behind.
pub fn run(
    scenario: &Scenario,
    run: u32,
    options: &StackOptions,
    cancel: &AtomicBool,
) -> Result<StackOutput, StackError> {
    let mut plan = Plan::new(scenario, options)?;
    let seed = scenario.seed.wrapping_add(u64::from(run));
    let talks = Talks::draw(scenario, &plan.traffic, seed, plan.end)?;
    let path = PathModel {
        // Sockets send it.
        traffic: Vec::new(),
        ..scenario.path.clone()
    };
    let _hystart = HystartSetting::new(plan.hystart, cancel)?;
    let guests = register_guests(&mut plan)?;
    let prepared = Emulation::prepare(
        &path,
        seed,
        EmulationOptions {
            trace: options.traces,
            deliveries: true,
            access_delays: plan
                .flows
                .iter()
                .map(|flow| {
                    (
                        shared::address(shared::SENDERS, flow.index),
                        flow.extra_delay,
                    )
                })
                .chain(talks.delays.iter().copied())
                .collect(),
            ..options.emulation.clone()
        },
    )?;
    let listener = prepared.within(Side::Receiver, || hosts::prepare_receivers(&plan))??;
    if !talks.is_empty() {
        sys::raise_file_limit();
    }
    let (sockets, counters, listeners) = prepared.within(Side::Sender, || {
        let sockets = hosts::prepare_senders(&plan)?;
        let netstat = "/proc/thread-self/net/netstat";
        let counters =
            File::open(netstat).map_err(|error| StackError::System(netstat.to_owned(), error))?;
        Ok::<_, StackError>((sockets, counters, talks.listen()?))
    })??;
    let clients = prepared.namespace(Side::Receiver)?;
    let probe = attach_probe(options, &sockets)?;
    let sampler = if probe.is_some() {
        Sampler::TcpProbe
    } else {
        Sampler::TcpInfo
    };
    let emulation = prepared.begin(LEAD)?;
    let shared = Shared::new(emulation.zero_monotonic_nanos(), plan.flows.len());
    let (news_to, news) = mpsc::channel();
    let (seen, heard) = thread::scope(|scope| {
        let (shared, plan, listener) = (&shared, &plan, &listener);
        let (talks, listeners) = (&talks, &listeners);
        scope.spawn(move || hosts::receive(shared, plan, listener));
        scope.spawn(move || hosts::send(shared, plan, sockets, &news_to));
        let asking = (!talks.is_empty()).then(|| {
            scope.spawn(move || exchanges::answer(shared, talks, listeners));
            scope.spawn(move || {
                if let Err(error) = clients.enter() {
                    shared.fail("entering a network namespace", error);
                }
                exchanges::ask(shared, talks, scenario)
            })
        });
        let setup = Setup {
            plan,
            period: options.period.max(Duration::from_micros(50)),
            traces: options.traces,
            cross_check: options.cross_check,
            counters,
            probe,
            guests,
        };
        let watcher = scope.spawn(move || sampler::watch(shared, setup, news, cancel));
        let seen = watcher.join().unwrap_or_else(|panic| {
            shared.end();
            std::panic::resume_unwind(panic)
        });
        let heard = asking.map(|asking| {
            let heard = asking.join();
            heard.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        (seen, heard)
    });
    if seen.cancelled {
        return Err(StackError::Cancelled);
    }
    let mut report = emulation.finish()?;
    let (longest_gap, samples, samples_lost) = (seen.longest_gap, seen.observations, seen.lost);
    let decisions = of_each(&plan, &seen, |watched| watched.decision);
    let cross_checked = of_each(&plan, &seen, |watched| {
        watched.beside.as_ref().and_then(outcome::exit_of)
    });
    let (mut result, traces) =
        outcome::result_of(scenario, (run, seed), &plan, &shared, seen, &report);
    if let Some((what, error)) = shared.failure() {
        return Err(StackError::System(what, error));
    }
    if let Some(heard) = heard {
        result.traffic = exchanges::results(scenario, &talks, heard, &report);
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

/// A fact about each flow of the plan.
fn of_each<T>(plan: &Plan, seen: &Seen, what: impl Fn(&Watched) -> Option<T>) -> Vec<Option<T>> {
    let flows = plan.flows.iter().map(|flow| {
        let mut watched = seen.flows.iter();
        what(watched.find(|watched| watched.flow == flow.index)?)
    });
    flows.collect()
}

/// Loads what the flows need and the kernel lacks.
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
            Err(StackError::System("attaching the probe".to_owned(), error))
        }
        Err(_) => Ok(None),
    }
}

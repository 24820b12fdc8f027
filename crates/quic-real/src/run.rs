//! A run in real time, from its preparation to its measurements.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use emulator::{Emulation, EmulationOptions, Report, SelfCheck, Side};
use measure::{RunResult, Traces};
use quic_stacks::{RealClient, Stack, control};
use scenario::{FlowStack, PathModel, Scenario, stacks};
use units::{Duration, Instant};

use crate::error::RealError;
use crate::hosts::{self, End};
use crate::outcome;
use crate::shared::Shared;
use crate::socket::{self, Sent};
use crate::tls;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct RealOptions {
    /// Whether to keep time series.
    pub traces: bool,
    /// Whether quinn may give the kernel several datagrams in one call, as it does by default.
    pub segmentation_offload: bool,
    /// Options of the path. The run itself decides whether to trace queues and keep deliveries.
    pub emulation: EmulationOptions,
}

impl Default for RealOptions {
    /// No time series; what quinn does by default.
    fn default() -> Self {
        Self {
            traces: false,
            segmentation_offload: true,
            emulation: EmulationOptions::default(),
        }
    }
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct RealOutput {
    /// Its measurements.
    pub result: RunResult,
    /// Its time series, on request.
    pub traces: Option<Traces>,
    /// The timing self-check.
    pub check: SelfCheck,
    /// What the client of each flow sent.
    pub sent: Vec<Sent>,
    /// What the network observed, without its deliveries.
    pub report: Report,
}

/// Whether `stack` runs `scenario` in real time, with one of its own controllers in all flows if
/// `own` names one. Creates nothing.
///
/// # Errors
/// [`RealError::Unsupported`] with the reason.
pub fn supports(scenario: &Scenario, stack: &Stack, own: Option<&str>) -> Result<(), RealError> {
    let refuse = |sentence| Err(RealError::Unsupported(sentence));
    if stack.flows != FlowStack::Quinn {
        return refuse(format!(
            "{} runs in virtual time only: of the QUIC stacks, quinn runs in real time",
            stack.name
        ));
    }
    if let Err(sentence) = quic_stacks::check(scenario, stack, own) {
        return refuse(sentence.to_string());
    }
    match scenario::refusal(&stacks::QUIC_REAL, scenario) {
        Some(sentence) => refuse(sentence),
        None => Ok(()),
    }
}

/// Time from the last preparation to the beginning of a run, in which the threads start.
const LEAD: Duration = Duration::from_millis(50);

/// The longest wait before the run checks whether it is cancelled.
const LONGEST_WAIT: Duration = Duration::from_millis(20);

/// Runs `scenario` once with `stack` in real time, as run number `run`.
///
/// # Errors
/// [`RealError::Unsupported`] before anything is created; others if something fails later, or
/// `cancel` becomes true. Nothing is left behind.
pub fn run(
    scenario: &Scenario,
    run: u32,
    (stack, own): (&Stack, Option<&str>),
    options: &RealOptions,
    cancel: &AtomicBool,
) -> Result<RealOutput, RealError> {
    supports(scenario, stack, own)?;
    let seed = scenario.seed.wrapping_add(u64::from(run));
    let (server, client) = tls::configs()?;
    let clients: Vec<RealClient> = (0..)
        .zip(&scenario.flows)
        .map(|(flow, settings)| {
            let control = control(stack, own, settings).expect("`supports` has checked it");
            RealClient::new(control, flow, settings, options.traces)
        })
        .collect();
    let path: &PathModel = &scenario.path;
    let prepared = Emulation::prepare(
        path,
        seed,
        EmulationOptions {
            trace: options.traces,
            deliveries: true,
            ..options.emulation.clone()
        },
    )?;
    let addresses = [Side::Sender, Side::Receiver].map(|side| prepared.address(side));
    let bind = |side: Side| {
        prepared.within(side, || {
            let flows = 0..scenario.flows.len() as u16;
            let own = |flow| hosts::addresses(addresses, flow)[side as usize];
            let sockets = flows.map(|flow| socket::bind(own(flow)));
            sockets.collect::<Result<Vec<_>, _>>()
        })
    };
    let opened = RealError::system("opening a socket");
    let sockets = [
        bind(Side::Sender)?.map_err(&opened)?,
        bind(Side::Receiver)?.map_err(&opened)?,
    ];
    let emulation = prepared.begin(LEAD)?;
    let shared = Arc::new(Shared::new(
        emulation.zero_monotonic_nanos(),
        scenario.flows.len(),
    ));
    let zero = shared.at(Instant::ZERO);
    let (mut sending, mut receiving) = (Vec::new(), Vec::new());
    let [senders, receivers] = sockets;
    for (flow, (sender, receiver)) in senders.into_iter().zip(receivers).enumerate() {
        let (settings, observed) = (&scenario.flows[flow], &clients[flow]);
        let mut transports = observed.transports(zero, flow as u32, settings, seed);
        for transport in &mut transports {
            transport.enable_segmentation_offload(options.segmentation_offload);
        }
        let [ours, theirs] = transports.map(Arc::new);
        let (mut client, mut server) = (client.clone(), server.clone());
        client.transport_config(ours);
        server.transport_config(theirs);
        let [_, to] = hosts::addresses(addresses, flow as u16);
        sending.push((end(flow, settings, sender, client), to));
        receiving.push((end(flow, settings, receiver, server), observed.clone()));
    }
    let limit = scenario.duration.unwrap_or(scenario.time_limit);
    let limit = Instant::ZERO + limit.min(scenario.time_limit);
    let ended = thread::scope(|scope| {
        scope.spawn(|| hosts::receive(&shared, receiving));
        scope.spawn(|| hosts::send(&shared, sending));
        while !cancel.load(Ordering::Relaxed) {
            let left = limit.saturating_since(shared.now());
            if left.is_zero() || shared.wait(left.min(LONGEST_WAIT)) {
                break;
            }
        }
        let now = shared.now();
        shared.end().map(|flows| outcome::ends(flows, now))
    })?;
    if cancel.load(Ordering::Relaxed) {
        return Err(RealError::Cancelled);
    }
    let refused = [Side::Sender, Side::Receiver]
        .into_iter()
        .map(|side| emulation.within(side, socket::refused))
        .sum::<Result<u64, _>>()?;
    let mut report = emulation.finish()?;
    if refused > 0 {
        let sentence = format!("a socket had no space for {refused} datagrams");
        report.check.reasons.push(sentence);
        report.check.valid = false;
    }
    let sent = ended.flows.iter().map(|flow| flow.sent).collect();
    let (result, traces) =
        outcome::result_of(scenario, (run, seed), stack, clients, &ended, &report);
    report.deliveries = Vec::new();
    Ok(RealOutput {
        result,
        traces: options.traces.then_some(traces),
        check: report.check.clone(),
        sent,
        report,
    })
}

fn end<C>(
    flow: usize,
    settings: &scenario::Flow,
    socket: std::net::UdpSocket,
    config: C,
) -> End<C> {
    End {
        flow,
        settings: settings.clone(),
        socket,
        config,
    }
}

//! Runs scenarios whose flows, all or some, have QUIC stacks, in the simulator.

use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use measure::FlowResult;
use rand_core::RngCore;
use scenario::{Flow, Scenario};
use simulator::{Call, Pair, Passing, RunError, RunOptions, RunOutput, Stacks};

use crate::dial::{Control, Dial};
use crate::observer::Observer;
use crate::outcome::{Fault, Watch};
use crate::stack::Stack;
use crate::support;

/// Connects the flows of QUIC stacks.
struct Dialer<'a> {
    /// The stack of all flows; `None` if each flow names its own.
    stack: Option<&'a Stack>,
    /// The controller of the stack's own that all flows have.
    own: Option<&'a str>,
    fault: Fault,
}

impl Dialer<'_> {
    fn place(&self, config: &Flow) -> (&Stack, Control) {
        let stack = self.stack.or_else(|| Stack::of(config.stack));
        let stack = stack.expect("only flows of QUIC stacks are connected");
        let control = support::control(stack, self.own, config);
        (stack, control.expect("`check` accepts the scenario"))
    }
}

impl Stacks for Dialer<'_> {
    fn label(&self, config: &Flow, result: &mut FlowResult) {
        let (stack, control) = self.place(config);
        result.algorithm = control.name().into();
        result.stack = Some(stack.kind);
    }

    fn connect(&self, call: &Call<'_>) -> Pair {
        let (stack, control) = self.place(call.config);
        let observer = Observer::new(call.traced.then(|| measure::FlowTrace {
            flow: call.flow,
            name: call.config.name.clone(),
            algorithm: control.name(),
            ..Default::default()
        }));
        let seeds = ["client", "server"].map(|side| {
            let mut seed = [0; 32];
            let name = format!("quic {side} {}", call.flow);
            call.streams.stream(&name).fill_bytes(&mut seed);
            seed
        });
        let dial = Dial {
            flow: call.flow,
            control: &control,
            initial_window: call.config.initial_window,
            receive_window: call.config.receive_buffer.get(),
            seed: call.seed.wrapping_add(call.flow.into()),
            seeds,
        };
        let hosts = stack.connect(call.now, &dial, &observer);
        let fault = Rc::clone(&self.fault);
        let meter = Box::new(Watch {
            observer,
            control,
            fault,
        });
        Pair { hosts, meter }
    }
}

/// Runs `scenario` once, as run number `run`: each flow with the stack that it names.
///
/// # Errors
/// Those of [`simulator::run`].
///
/// # Panics
/// If [`crate::check_named`] refuses the scenario.
pub fn run_named(
    scenario: &Scenario,
    run: u32,
    options: &RunOptions,
    cancel: &AtomicBool,
) -> Result<RunOutput, RunError> {
    if !scenario.flows.iter().any(|flow| flow.stack.is_foreign()) {
        return simulator::run(scenario, run, options, cancel);
    }
    let stacks = Dialer {
        stack: None,
        own: None,
        fault: Fault::default(),
    };
    simulator::run_with(scenario, run, options, cancel, &stacks, &mut |_| {})
}

/// Runs `scenario` once, as run number `run`, with `stack` at both ends of each flow, and with one
/// of its own controllers if `own` names one.
///
/// # Errors
/// [`RunError::Cancelled`] when `cancel` became true, and [`RunError::Stack`] for what a stack of
/// others did wrong.
///
/// # Panics
/// If [`crate::check`] refuses the scenario.
pub fn run(
    scenario: &Scenario,
    run: u32,
    stack: &Stack,
    own: Option<&str>,
    options: &RunOptions,
    cancel: &AtomicBool,
) -> Result<RunOutput, RunError> {
    run_observed(scenario, run, stack, own, options, cancel, &mut |_| {})
}

/// [`run`] that shows each datagram of the flows as it leaves a host and as it arrives at one.
///
/// # Errors
/// As [`run`].
///
/// # Panics
/// As [`run`].
pub fn run_observed(
    scenario: &Scenario,
    run: u32,
    stack: &Stack,
    own: Option<&str>,
    options: &RunOptions,
    cancel: &AtomicBool,
    observe: &mut dyn FnMut(Passing<'_>),
) -> Result<RunOutput, RunError> {
    let mut placed = scenario.clone();
    for flow in &mut placed.flows {
        flow.stack = stack.flows;
    }
    let stacks = Dialer {
        stack: Some(stack),
        own,
        fault: Fault::default(),
    };
    let mut output = simulator::run_with(&placed, run, options, cancel, &stacks, observe)?;
    if let Some(sentence) = stacks.fault.take() {
        return Err(RunError::Stack(sentence));
    }
    output.result.stack = stack.kind;
    output.result.stack_version = Some(stack.version.to_owned());
    for flow in &mut output.result.flows {
        flow.stack = None;
    }
    Ok(output)
}

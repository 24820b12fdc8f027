//! What a QUIC stack supports of a scenario.

use std::fmt;

use scenario::{Scenario, stacks};

use crate::dial::Control;
use crate::stack::Stack;

/// Flows in a run: each keeps two endpoints of a stack.
const MOST_FLOWS: usize = 256;

/// Why a stack does not run a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

/// Whether `stack` runs `scenario`, with one of its own controllers in all flows if `own` names one.
///
/// # Errors
/// The first thing that it does not support.
pub fn check(scenario: &Scenario, stack: &Stack, own: Option<&str>) -> Result<(), Unsupported> {
    if let Some(flow) = scenario.flows.iter().find(|flow| flow.stack.is_foreign()) {
        let sentence = format!(
            "flow `{}` names its stack: leave out `stack`, or run the scenario without --stack",
            flow.name
        );
        return Err(Unsupported(sentence));
    }
    if let Some(sentence) = scenario::refusal(&stacks::QUIC, scenario) {
        return Err(Unsupported(sentence));
    }
    if scenario.flows.len() > MOST_FLOWS {
        let sentence = format!("{} runs at most {MOST_FLOWS} flows", stack.name);
        return Err(Unsupported(sentence));
    }
    for flow in &scenario.flows {
        control(stack, own, flow)?;
    }
    Ok(())
}

/// Whether each flow of `scenario` runs on the stack that it names.
///
/// # Errors
/// The first thing that a stack does not support.
pub fn check_named(scenario: &Scenario) -> Result<(), Unsupported> {
    let mut flows = 0;
    for flow in &scenario.flows {
        let Some(stack) = Stack::of(flow.stack) else {
            continue;
        };
        flows += 1;
        if let Some(sentence) = scenario::refusal_of_flow(&stacks::QUIC, scenario, flow) {
            return Err(Unsupported(sentence));
        }
        control(stack, None, flow)?;
    }
    if flows > MOST_FLOWS {
        let sentence = format!("at most {MOST_FLOWS} flows of a run have QUIC stacks");
        return Err(Unsupported(sentence));
    }
    Ok(())
}

/// The congestion control of `flow`: one of the stack's own if `own` names one.
///
/// # Errors
/// The stack has no such controller, or lacks what the algorithm needs.
pub fn control(
    stack: &Stack,
    own: Option<&str>,
    flow: &scenario::Flow,
) -> Result<Control, Unsupported> {
    match own {
        None if stack.is_foreign() => {
            let own: Vec<_> = stack.own.iter().map(|own| own.name).collect();
            Err(Unsupported(format!(
                "{} runs its own controllers only: choose -a own, or own:NAME of {}",
                stack.name,
                own.join(", ")
            )))
        }
        None => {
            let checked = stack.capabilities.check(&flow.algorithm);
            checked.map_err(|error| Unsupported(error.to_string()))?;
            Ok(Control::Ours(flow.algorithm.clone()))
        }
        Some(own) => stack.own(own).map(Control::Own).ok_or_else(|| {
            let known: Vec<_> = stack.own.iter().map(|own| own.name).collect();
            Unsupported(format!(
                "{own}: {} has no such controller of its own; it has {}",
                stack.name,
                known.join(", ")
            ))
        }),
    }
}

//! What a QUIC stack supports of a scenario.

use std::fmt;

use scenario::{Scenario, stacks};

use crate::dial::Control;
use crate::stack::Stack;

/// Flows in a run: each instant looks at all of them.
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

/// The congestion control of `flow`.
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

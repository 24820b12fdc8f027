//! What a QUIC stack supports of a scenario.

use std::fmt;

use scenario::{Application, FlowSettings, Scenario};

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
    let name = stack.name;
    let path = &scenario.path;
    let lacks = [
        (
            path.is_absent || path.cloud.is_some(),
            "an ad-hoc network or a constellation",
        ),
        (
            !path.nodes.is_empty() || !path.links.is_empty(),
            "a topology",
        ),
        (!path.proxies.is_empty(), "a proxy"),
        (
            path.has_routers(),
            "routers before the bottleneck, or their explicit support",
        ),
        (!path.hosts.is_empty(), "hosts behind access links"),
        (!path.traffic.is_empty(), "background traffic"),
        (scenario.flows.len() > MOST_FLOWS, "more than 256 flows"),
    ];
    for (lack, what) in lacks {
        if lack {
            return Err(Unsupported(format!(
                "{what}: available with the simulated TCP only, not with {name}"
            )));
        }
    }
    for flow in &scenario.flows {
        if let Application::Pausing { .. } = flow.application {
            return Err(Unsupported(format!(
                "flow `{}`: an application that pauses until its data is acknowledged is \
                 available with the simulated TCP only, not with {name}",
                flow.name
            )));
        }
        let usual = FlowSettings {
            initial_window: flow.initial_window,
            pacing: flow.pacing,
            receive_buffer: flow.receive_buffer,
            ecn: flow.ecn,
            ..FlowSettings::USUAL
        };
        if flow.settings != usual {
            return Err(Unsupported(format!(
                "flow `{}`: {name} knows `initial_window`, `pacing`, `receive_buffer` and `ecn` of \
                 the settings of a flow: leave out the others",
                flow.name
            )));
        }
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

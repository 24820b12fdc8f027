//! What the kernel supports of a scenario.

use std::sync::Arc;

use scenario::{Direction, Flow, Scenario, TrafficKind};

/// Flows of a scenario with traffic, so that no address is used twice.
const MOST_FLOWS_BESIDE: usize = 60_000;
/// Access delays of traffic: each has an address of the servers.
pub(crate) const MOST_DELAYS: usize = 254;

/// Why the kernel cannot run the traffic of `scenario`.
pub(crate) fn refusal(scenario: &Scenario) -> Option<String> {
    for traffic in &scenario.path.traffic {
        let name = &traffic.name;
        let TrafficKind::Exchanges(_) = traffic.kind else {
            return Some(format!(
                "traffic `{name}`: background traffic of kind {} is available in simulations only, \
                 not on the kernel: leave out this `[[traffic]]`",
                traffic.kind.name()
            ));
        };
        if traffic.direction != Direction::Forward {
            return Some(format!(
                "traffic `{name}`: on the kernel the servers are at the sender's side: leave out \
                 `direction`"
            ));
        }
        let plain = Flow::new(Arc::unwrap_or_clone(Arc::clone(&traffic.flow.algorithm)));
        let settings = scenario::FlowSettings {
            restart_after_idle: traffic.flow.restart_after_idle,
            receive_buffer: traffic.flow.receive_buffer,
            ..plain.settings
        };
        if traffic.flow.settings != settings || traffic.flow.ends != plain.ends {
            return Some(format!(
                "traffic `{name}`: on the kernel, `algorithm`, `extra_delay`, `restart_after_idle` \
                 and `receive_buffer` are the settings of a `[[traffic]]`: leave out the others"
            ));
        }
        if traffic.extra_delays.len() > MOST_DELAYS {
            return Some(format!(
                "traffic `{name}`: the kernel runs at most {MOST_DELAYS} access delays"
            ));
        }
    }
    if !scenario.path.traffic.is_empty() && scenario.flows.len() > MOST_FLOWS_BESIDE {
        return Some(format!(
            "the kernel runs at most {MOST_FLOWS_BESIDE} flows beside `[[traffic]]`"
        ));
    }
    None
}

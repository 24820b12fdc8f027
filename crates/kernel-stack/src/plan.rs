//! The kernel's settings for a scenario, or one sentence on why the kernel cannot run it; decided
//! before anything is created.

use emulator::routes::Metrics;
use kernel::Wanted;
use scenario::{AckPolicy, Application, Flow, FlowSettings, Scenario, stacks};
use units::{Bytes, Duration, Instant};

use crate::error::StackError;
use crate::names::{self, Kind};
use crate::options::StackOptions;

/// The kernel's initial window (`TCP_INIT_CWND`), which needs no setting.
const INITIAL_WINDOW: u32 = 10;
/// A TSO packet holds at most 64 KiB: 45 segments of 1448 bytes.
const TSO_SEGMENTS: u32 = 45;
/// Each flow has its own address on both sides, from networks of 2^16.
const MOST_FLOWS: usize = 65_534;
/// Beside traffic, so that no address is used twice.
const MOST_FLOWS_BESIDE: usize = 60_000;

/// Whether HyStart of the kernel's CUBIC must be on or off for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HyStart {
    /// No flow uses the kernel's CUBIC.
    Unused,
    /// On, which is the kernel's default.
    On,
    /// Off, for the whole machine.
    Off,
}

/// One flow, as the kernel is to run it.
#[derive(Clone, Debug)]
pub(crate) struct FlowPlan {
    /// Its place in the scenario.
    pub(crate) index: u32,
    /// Its name in results.
    pub(crate) name: String,
    /// Its algorithm, in canonical form.
    pub(crate) algorithm: String,
    /// The kernel's name of the congestion control.
    pub(crate) kernel: String,
    /// The congestion control that is loaded for it, for the run.
    pub(crate) guest: Option<Wanted>,
    /// The value of TCP_CONGESTION: the same, except that a guest has a name of its own.
    pub(crate) selected: String,
    /// How it leaves slow start.
    pub(crate) kind: Kind,
    /// When its SYN leaves, since the run began.
    pub(crate) start: Instant,
    /// When it stops, whatever is unsent.
    pub(crate) stop: Instant,
    /// The delay of its access link, in each direction.
    pub(crate) extra_delay: Duration,
    /// How much it sends.
    pub(crate) size: Option<u64>,
    /// When it has data to send.
    pub(crate) application: Application,
    /// Whether TCP paces.
    pub(crate) pacing: bool,
    /// Metrics of the route to the receiver.
    pub(crate) route: Metrics,
    /// Metrics of the reverse route.
    pub(crate) route_back: Metrics,
}

/// The whole run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) flows: Vec<FlowPlan>,
    pub(crate) hystart: HyStart,
    /// Whether every pause longer than the RTO shrinks the window.
    pub(crate) restart_after_idle: bool,
    /// Largest receive window.
    pub(crate) receive_buffer: Bytes,
    /// Largest TSO packet in segments, where it differs from the kernel's.
    pub(crate) tso_segments: Option<u32>,
    /// TCP_CONGESTION of each table of traffic.
    pub(crate) traffic: Vec<String>,
    /// Latest end of the run.
    pub(crate) end: Instant,
}

impl Plan {
    pub(crate) fn new(scenario: &Scenario, options: &StackOptions) -> Result<Self, StackError> {
        let silent = scenario.flows.is_empty() && scenario.path.traffic.is_empty();
        let most = if scenario.path.traffic.is_empty() {
            MOST_FLOWS
        } else {
            MOST_FLOWS_BESIDE
        };
        if silent || scenario.flows.len() > most {
            let count = scenario.flows.len();
            return refuse(format!(
                "the kernel runs 1 to {most} flows in one scenario, not {count}"
            ));
        }
        if let Some(sentence) = scenario::refusal(&stacks::LINUX, scenario) {
            return refuse(sentence);
        }
        let offer = Offer {
            available: match &options.available {
                Some(available) => available.clone(),
                None => names::available(),
            },
            lacking: if options.guests {
                kernel::missing_for_guests()
            } else {
                vec!["this run is not allowed to load programs".to_owned()]
            },
        };
        let mut hystart = HyStart::Unused;
        let mut flows = Vec::with_capacity(scenario.flows.len());
        for (index, flow) in scenario.flows.iter().enumerate() {
            let planned = plan_flow(index, flow, options, &offer, &mut hystart)?;
            flows.push(planned);
        }
        let traffic = scenario.path.traffic.iter().map(|traffic| {
            let flow = Flow {
                name: format!("of traffic `{}`", traffic.name),
                ..traffic.flow.clone()
            };
            let planned = plan_flow(0, &flow, options, &offer, &mut hystart)?;
            match planned.guest {
                None => Ok(planned.selected),
                Some(_) => refuse(format!(
                    "traffic `{}`: the kernel runs its own congestion controls only, not `{}`",
                    traffic.name, planned.kernel
                )),
            }
        });
        let traffic = traffic.collect::<Result<Vec<_>, _>>()?;
        let mut traffic_flows = scenario.path.traffic.iter().map(|traffic| &traffic.flow);
        // Settings of a namespace are the same for all flows.
        let first = match scenario.flows.first().or_else(|| traffic_flows.next()) {
            Some(flow) => flow.settings,
            None => FlowSettings::DEFAULT,
        };
        let limit = scenario.duration.unwrap_or(scenario.time_limit);
        Ok(Self {
            flows,
            hystart,
            restart_after_idle: first.restart_after_idle,
            receive_buffer: first.receive_buffer,
            traffic,
            tso_segments: (first.tso_segments < TSO_SEGMENTS).then_some(first.tso_segments),
            end: Instant::ZERO + limit.min(scenario.time_limit),
        })
    }
}

/// What the kernel offers.
struct Offer {
    /// Its congestion controls.
    available: Vec<String>,
    /// Sentences on why nothing can be loaded for a run; empty where it can.
    lacking: Vec<String>,
}

impl Offer {
    fn has(&self, name: &str) -> bool {
        self.available.iter().any(|other| other == name)
    }

    /// How to get a congestion control that has to be loaded.
    fn advice(&self, algorithm: &str) -> String {
        format!(
            "is not loaded, and this run cannot load it: {}; once that is possible, `slowstart \
             kernel load {algorithm}` loads it for all users",
            self.lacking.join("; ")
        )
    }
}

fn refuse<T>(sentence: String) -> Result<T, StackError> {
    Err(StackError::Unsupported(sentence))
}

fn plan_flow(
    index: usize,
    flow: &Flow,
    options: &StackOptions,
    offer: &Offer,
    hystart: &mut HyStart,
) -> Result<FlowPlan, StackError> {
    let name = &flow.name;
    if flow.tso_segments == 0 || flow.tso_segments > TSO_SEGMENTS {
        return refuse(format!(
            "flow `{name}`: `tso_segments = {}` is not supported: the kernel's TSO packets hold 1 \
            to \
             {TSO_SEGMENTS} segments",
            flow.tso_segments
        ));
    }
    let algorithm = flow.algorithm.to_string();
    if flow.algorithm.needs().known_path {
        return refuse(format!(
            "flow `{name}`: `{algorithm}` needs the simulator's knowledge of the path, so only the \
             simulator can run it"
        ));
    }
    let Some((mut found, wanted)) = names::find(&flow.algorithm, &options.names) else {
        return refuse(format!(
            "flow `{name}`: no congestion control of the kernel implements `{algorithm}`: {}",
            names::refusal(&flow.algorithm, &options.names)
        ));
    };
    let mut guest = wanted.filter(|_| offer.lacking.is_empty());
    let mut needs = None;
    if let (Some(wanted), None) = (wanted, guest) {
        // One that is already loaded may have options, which cannot be read back. A flow that asks
        // for none takes it as it is.
        let there = wanted.options == kernel::Options::default() && offer.has(&found.kernel);
        if !there && found.kernel == names::PLAIN_CUBIC && options.hystart_switch {
            names::CUBIC_MODULE.clone_into(&mut found.kernel);
            needs = Some(HyStart::Off);
        } else if !there {
            let otherwise = if found.kernel == names::PLAIN_CUBIC {
                ", or permission to switch HyStart off for the whole machine during the run"
            } else {
                ""
            };
            return refuse(format!(
                "flow `{name}`: `{algorithm}` needs `{}`, which {}{otherwise}",
                found.kernel,
                offer.advice(&algorithm),
            ));
        }
    } else if found.kind.hystart {
        needs = Some(HyStart::On);
    }
    if guest.is_none() && !offer.has(&found.kernel) {
        return refuse(format!(
            "flow `{name}`: `{algorithm}` needs the kernel's `{0}`, which is not loaded (`modprobe \
             tcp_{0}` may load it)",
            found.kernel
        ));
    }
    if let Some(needs) = needs {
        if *hystart != HyStart::Unused && *hystart != needs {
            return refuse(format!(
                "flow `{name}`: `cubic+hystart` and `cubic+standard` in one run need `{}`, which \
                 {}",
                names::PLAIN_CUBIC,
                offer.advice("cubic+standard"),
            ));
        }
        *hystart = needs;
    }
    Ok(FlowPlan {
        index: index as u32,
        name: name.clone(),
        algorithm,
        selected: found.kernel.clone(),
        kernel: found.kernel,
        guest: guest.take(),
        kind: found.kind,
        start: flow.start,
        stop: flow
            .duration
            .map_or(Instant::MAX, |duration| flow.start + duration),
        extra_delay: flow.extra_delay,
        size: flow.size.map(Bytes::get),
        application: flow.application,
        pacing: flow.pacing,
        route: Metrics {
            initial_window: (flow.initial_window != INITIAL_WINDOW).then_some(flow.initial_window),
            ecn: flow.ecn,
            quick_ack: false,
        },
        route_back: Metrics {
            quick_ack: flow.ack_policy == AckPolicy::EverySegment,
            ..Metrics::default()
        },
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The plan of a scenario: `keys` before its path, `flow` in its flow.
    fn plan(keys: &str, flow: &str) -> String {
        let text = format!(
            "{keys}\n[path]\nrate = '10 Mbit/s'\nrtt = '20 ms'\n[[flow]]\nname = 'f'\n{flow}\n"
        );
        let scenario = Scenario::parse(&text, "f.toml", Path::new("")).unwrap();
        let options = StackOptions {
            guests: false,
            available: Some(vec!["cubic".to_owned(), "reno".to_owned()]),
            ..StackOptions::default()
        };
        let plan = Plan::new(&scenario, &options).unwrap_or_else(|error| panic!("{error}"));
        format!("{plan:?}")
    }

    #[test]
    fn each_declared_key_changes_the_plan() {
        const DEFAULT: &str = "algorithm = 'cubic'\nsize = '1 MB'";
        let usual = plan("", DEFAULT);
        let mut judged = 0;
        let of_flows = |name: &str| matches!(name, "scenario" | "flow" | "application");
        let tables = stacks::LINUX.tables.iter();
        for (table, known) in tables.filter(|(name, _)| of_flows(name)) {
            for held in *known {
                let write = "application = { write = '1 kB', ";
                let flow = match (*table, held.key) {
                    // Others are about what traffic there is.
                    ("scenario", "flow" | "traffic") => continue,
                    ("scenario", key) => {
                        let changed = plan(&format!("{key} = '1 s'"), DEFAULT);
                        assert_ne!(changed, usual, "{key}");
                        continue;
                    }
                    ("flow", "algorithm") => "algorithm = 'reno'\nsize = '1 MB'".to_owned(),
                    ("flow", "size") => "algorithm = 'cubic'\nsize = '2 MB'".to_owned(),
                    ("flow", "duration") => "algorithm = 'cubic'\nduration = '2 s'".to_owned(),
                    ("flow", "application") | ("application", "write" | "every") => {
                        format!("{DEFAULT}\n{write}every = '10 ms' }}")
                    }
                    ("application", "rate") => {
                        format!("{DEFAULT}\napplication = {{ rate = '1 Mbit/s' }}")
                    }
                    (_, key) => {
                        let value = match key {
                            "start" | "extra_delay" => "'5 ms'",
                            "initial_window" | "tso_segments" => "4",
                            "receive_buffer" => "'1 MB'",
                            "pacing" | "ecn" => "true",
                            "restart_after_idle" => "false",
                            "ack_policy" => "'every-segment'",
                            _ => panic!("give a value of `{key}`, which the kernel declares"),
                        };
                        format!("{DEFAULT}\n{key} = {value}")
                    }
                };
                assert_ne!(plan("", &flow), usual, "{table}: {}", held.key);
                judged += 1;
            }
        }
        assert!(judged >= 16, "{judged}");
    }
}

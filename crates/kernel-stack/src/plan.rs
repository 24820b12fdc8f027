//! The kernel's settings for a scenario, or one sentence on why the kernel cannot run it; decided
//! before anything is created.

use emulator::routes::Metrics;
use kernel::Wanted;
use scenario::{AckPolicy, Application, Autotuning, Flow, FlowSettings, LossDetection, Scenario};
use units::{Bytes, Duration, Instant};

use crate::error::StackError;
use crate::names::{self, Kind};
use crate::options::StackOptions;
use crate::support;

/// The kernel's initial window (`TCP_INIT_CWND`), which needs no setting.
const INITIAL_WINDOW: u32 = 10;
/// A TSO packet holds at most 64 KiB: 45 segments of 1448 bytes.
const TSO_SEGMENTS: u32 = 45;
/// Each flow has its own address on both sides, from networks of 2^16.
const MOST_FLOWS: usize = 65_534;

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
        if silent || scenario.flows.len() > MOST_FLOWS {
            let count = scenario.flows.len();
            return refuse(format!(
                "the kernel runs 1 to {MOST_FLOWS} flows in one scenario, not {count}"
            ));
        }
        if scenario.path.cloud.is_some() {
            return refuse(
                "a kernel runs over an emulated path, and an ad-hoc network or a constellation is \
                 available in simulations only: leave out `[network]`"
                    .to_owned(),
            );
        }
        if let Some(sentence) = support::refusal(scenario) {
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
        let traffic_flows = scenario.path.traffic.iter().map(|traffic| &traffic.flow);
        let all: Vec<&Flow> = scenario.flows.iter().chain(traffic_flows).collect();
        let first = all[0];
        // A setting of a whole namespace must be the same for all flows.
        if !all_same(&all, |flow| u64::from(flow.restart_after_idle)) {
            return refuse(
                "`restart_after_idle` must be the same for all flows on the kernel".into(),
            );
        }
        if !all_same(&all, |flow| flow.receive_buffer.get()) {
            return refuse(
                "`receive_buffer` must be the same for all flows on the kernel, whose autotuning \
                 has one limit"
                    .into(),
            );
        }
        if !all_same(&all, |flow| u64::from(flow.tso_segments)) {
            return refuse("`tso_segments` must be the same for all flows on the kernel".into());
        }
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

fn all_same(flows: &[&Flow], setting: impl Fn(&Flow) -> u64) -> bool {
    let mut settings = flows.iter().map(|flow| setting(flow));
    let first = settings.next();
    settings.all(|other| Some(other) == first)
}

fn plan_flow(
    index: usize,
    flow: &Flow,
    options: &StackOptions,
    offer: &Offer,
    hystart: &mut HyStart,
) -> Result<FlowPlan, StackError> {
    let name = &flow.name;
    if flow.ends != scenario::Ends::default() {
        return refuse(format!(
            "flow `{name}`: `from` and `to` are not supported on the kernel, where all flows share \
             one path"
        ));
    }
    if flow.syn_window != Flow::new(*flow.algorithm).syn_window {
        return refuse(format!(
            "flow `{name}`: `syn_window` is not supported: the kernel chooses the window of its \
             SYN-ACK"
        ));
    }
    if let Application::Pausing { .. } = flow.application {
        return refuse(format!(
            "flow `{name}`: `pause` is not supported on the kernel, because an application does \
             not learn when all data are acknowledged; `every` is supported"
        ));
    }
    if flow.small_queue.is_some() {
        return refuse(format!(
            "flow `{name}`: `small_queue` is not supported: the kernel uses its own TCP small \
             queues"
        ));
    }
    if !flow.tick.is_zero() {
        return refuse(format!(
            "flow `{name}`: `tick` is not supported: the kernel has the tick with which it was built"
        ));
    }
    if !flow.sack {
        return refuse(format!(
            "flow `{name}`: `sack = false` is not supported: the kernel's flows use SACK"
        ));
    }
    if flow.autotuning != Autotuning::default() {
        return refuse(format!(
            "flow `{name}`: `autotuning` is not supported: the kernel has its own autotuning"
        ));
    }
    if flow.loss_detection != LossDetection::Rack || !flow.byte_counting {
        return refuse(format!(
            "flow `{name}`: `loss_detection` and `byte_counting` are not supported: the kernel has \
             its own"
        ));
    }
    if flow.misbehavior.is_some() {
        return refuse(format!(
            "flow `{name}`: `misbehavior` is not supported: the kernel's receivers comply"
        ));
    }
    if flow.mss != FlowSettings::USUAL.mss {
        return refuse(format!(
            "flow `{name}`: `mss` is not supported: the kernel derives its own from the device"
        ));
    }
    if flow.tso_segments == 0 || flow.tso_segments > TSO_SEGMENTS {
        return refuse(format!(
            "flow `{name}`: `tso_segments = {}` is not supported: the kernel's TSO packets hold 1 \
            to \
             {TSO_SEGMENTS} segments",
            flow.tso_segments
        ));
    }
    let algorithm = flow.algorithm.to_string();
    if flow.algorithm.knows_path() {
        return refuse(format!(
            "flow `{name}`: `{algorithm}` needs the simulator's knowledge of the path, so only the \
             simulator can run it"
        ));
    }
    let Some((mut found, wanted)) = names::find(&flow.algorithm, &options.names) else {
        return refuse(format!(
            "flow `{name}`: no congestion control of the kernel implements `{algorithm}`; known \
             are {}",
            names::known(&options.names)
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

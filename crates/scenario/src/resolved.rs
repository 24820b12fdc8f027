//! The resolved form of a scenario, which every result contains. The name of a number includes its
//! unit; `null` is "no limit" or "none".

use network::router::RouterSupport;
use network::{
    Discipline, GilbertElliott, JitterConfig, JitterDistribution, LinkConfig, LossConfig,
    QueueLimit, Service,
};
use serde::ser::{Serialize, SerializeMap, Serializer};
use tables::{Described, Field};
use units::{Bytes, Duration, Instant, Rate};
use wireless::CloudConfig;
use workload::TrafficKind;

use crate::access::Access;
use crate::cloud;
use crate::described::{self, Chosen};
use crate::model::{
    Application, Ends, Flow, FlowSettings, Hosts, LinkModel, PathModel, ProxyModel, RouterModel,
    Scenario, Traffic,
};
use crate::write::{map, millis};

/// The most steps of a rate that are listed; longer lists are given by number, length and mean.
const MAX_LISTED: usize = 1000;

fn seconds(span: Option<Duration>) -> Option<f64> {
    span.map(Duration::as_secs_f64)
}

impl Serialize for Scenario {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        map!(serializer,
            "name": self.name,
            "summary": self.summary,
            "runs": self.runs,
            "seed": self.seed,
            "duration_s": seconds(self.duration),
            "time_limit_s": self.time_limit.as_secs_f64(),
            "path": self.path,
            "flows": self.flows.iter().map(|flow| Sends(flow, &self.path)).collect::<Vec<_>>(),
        )
    }
}

impl Serialize for PathModel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_absent {
            return map!(serializer,
                "name": self.name,
                "summary": self.summary,
                "traffic": self.traffic.iter().map(|one| Others(one, self)).collect::<Vec<_>>(),
                "warm_up_s": self.warm_up.as_secs_f64();
                "hosts": some(self.hosts.iter().map(|hosts| Stands(hosts, self)).collect()),
                "network": self.cloud.as_ref().map(Cloud),
                "nodes": some(self.declared().collect()),
                "proxies": some(self.proxies.iter().map(|proxy| Splits(proxy, self)).collect()),
                "links": some(self.links.iter().map(|link| Between(link, self)).collect())
            );
        }
        map!(serializer,
            "name": self.name,
            "summary": self.summary,
            "rate_bps": self.rate.bits_per_sec(),
            "base_rtt_ms": millis(self.base_rtt),
            "bdp_bytes": self.bdp.get(),
            "bdp_packets": self.bdp_packets(),
            "buffer_bytes": self.buffer.map(Bytes::get),
            "forward": Link(&self.forward),
            "reverse": Link(&self.reverse),
            "router_support": support(&self.router_support),
            "routers": self.routers.iter().map(Hop).collect::<Vec<_>>(),
            "traffic": self.traffic.iter().map(|one| Others(one, self)).collect::<Vec<_>>(),
            "warm_up_s": self.warm_up.as_secs_f64();
            "hosts": some(self.hosts.iter().map(|hosts| Stands(hosts, self)).collect()),
            "network": self.cloud.as_ref().map(Cloud),
            "nodes": some(self.declared().collect()),
            "proxies": some(self.proxies.iter().map(|proxy| Splits(proxy, self)).collect()),
            "links": some(self.links.iter().map(|link| Between(link, self)).collect())
        )
    }
}

impl PathModel {
    /// The names of the nodes that the file declares.
    fn declared(&self) -> impl Iterator<Item = &String> {
        self.nodes.iter().skip(self.cloud_nodes().count())
    }
}

/// A cloud with its kind.
pub(crate) struct Cloud<'a>(pub(crate) &'a CloudConfig);

impl Serialize for Cloud<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", self.0.kind())?;
        cloud::write(&mut map, self.0)?;
        map.end()
    }
}

/// A list, unless it is empty.
fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    Some(list).filter(|list| !list.is_empty())
}

/// A proxy at a node of a path.
struct Splits<'a>(&'a ProxyModel, &'a PathModel);

impl Serialize for Splits<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(proxy, path) = self;
        map!(serializer,
            "node": path.node_name(proxy.at),
            "buffer_bytes": proxy.buffer.get(),
            "algorithm": proxy.algorithm.as_ref().map(ToString::to_string),
            "initial_window_segments": proxy.initial_window,
            "pacing": proxy.pacing,
        )
    }
}

/// A link between nodes of a path.
struct Between<'a>(&'a LinkModel, &'a PathModel);

impl Serialize for Between<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(link, path) = self;
        map!(serializer,
            "from": path.node_name(link.from),
            "to": path.node_name(link.to),
            "forward": Hop(&link.forward),
            "reverse": link.reverse.as_ref().map(Hop),
        )
    }
}

/// A flow, and its path.
struct Sends<'a>(&'a Flow, &'a PathModel);

impl Serialize for Sends<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(flow, path) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &flow.name)?;
        map.serialize_entry("algorithm", &flow.algorithm.to_string())?;
        if flow.stack.is_foreign() {
            map.serialize_entry("stack", flow.stack.name())?;
        }
        map.serialize_entry("size_bytes", &flow.size.map(Bytes::get))?;
        map.serialize_entry("duration_s", &seconds(flow.duration))?;
        map.serialize_entry("start_s", &flow.start.as_secs_f64())?;
        described::write(&mut map, &flow.settings, |_, _| Ok(false))?;
        map.serialize_entry("application", &flow.application)?;
        write_ends::<S>(&mut map, flow.ends, path)?;
        map.end()
    }
}

/// The names of hosts or nodes, where data does not go from end to end of the path.
fn write_ends<S: Serializer>(
    map: &mut S::SerializeMap,
    ends: Ends,
    path: &PathModel,
) -> Result<(), S::Error> {
    for (key, place) in [("from", ends.from), ("to", ends.to)] {
        if let Some(place) = place {
            map.serialize_entry(key, path.place_name(place))?;
        }
    }
    Ok(())
}

/// Hosts at a node of a path.
pub(crate) struct Stands<'a>(pub(crate) &'a Hosts, pub(crate) &'a PathModel);

impl Serialize for Stands<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(hosts, path) = self;
        let (packets, bytes) = limits(hosts.buffer);
        let delays_ms: Vec<f64> = hosts.delays.iter().copied().map(millis).collect();
        map!(serializer,
            "name": hosts.name,
            "at": path.node_name(hosts.at),
            "count": hosts.count,
            "rate_bps": hosts.rate.map(Rate::bits_per_sec),
            "overhead_bytes": hosts.overhead,
            "queue_limit_packets": packets,
            "queue_limit_bytes": bytes,
            "delays_ms": delays_ms,
        )
    }
}

/// The limit of a queue in packets, and in bytes.
pub(crate) const fn limits(limit: QueueLimit) -> (Option<u64>, Option<u64>) {
    match limit {
        QueueLimit::Unlimited => (None, None),
        QueueLimit::Packets(packets) => (Some(packets), None),
        QueueLimit::Bytes(bytes) => (None, Some(bytes.get())),
    }
}

impl Serialize for Application {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bulk => map!(serializer, "kind": "bulk"),
            Self::Periodic { write, every } => {
                map!(serializer, "kind": "periodic", "write_bytes": write.get(), "every_s": every.as_secs_f64())
            }
            Self::Pausing { write, pause } => {
                map!(serializer, "kind": "pausing", "write_bytes": write.get(), "pause_s": pause.as_secs_f64())
            }
        }
    }
}

/// Traffic, and its path.
struct Others<'a>(&'a Traffic, &'a PathModel);

impl Serialize for Others<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Traffic {
            name,
            kind,
            direction,
            flow,
            extra_delays,
            start,
            stop,
            list_flows,
        } = self.0;
        let connects = !matches!(kind, TrafficKind::Datagrams { .. });
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", name)?;
        map.serialize_entry("kind", kind.name())?;
        map.serialize_entry("direction", direction)?;
        kind.write(&mut map)?;
        if connects {
            map.serialize_entry("algorithm", &flow.algorithm.to_string())?;
            described::write(&mut map, &flow.settings, |_, key| Ok(!is_shown(flow, key)))?;
        }
        let delays_ms: Vec<f64> = extra_delays.iter().copied().map(millis).collect();
        map.serialize_entry("extra_delays_ms", &delays_ms)?;
        map.serialize_entry("start_s", &start.as_secs_f64())?;
        map.serialize_entry("stop_s", &stop.map(Instant::as_secs_f64))?;
        map.serialize_entry("list_flows", list_flows)?;
        write_ends::<S>(&mut map, flow.ends, self.1)?;
        map.end()
    }
}

/// Whether the resolved form of traffic has a setting of its connections: some always, and the
/// others only where they differ from their defaults.
fn is_shown(flow: &Flow, key: &str) -> bool {
    let keys = FlowSettings::TABLE.keys;
    let value = |settings, place| Described::value(settings, place);
    let differs = |place| value(&flow.settings, place) != value(&FlowSettings::DEFAULT, place);
    matches!(key, "initial_window" | "pacing" | "ecn")
        || keys
            .iter()
            .position(|one| one.name == key)
            .is_some_and(differs)
}

struct Link<'a>(&'a LinkConfig);

impl Serialize for Link<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let link = self.0;
        let (packets, bytes) = limits(link.queue.limit);
        let mut map = serializer.serialize_map(None)?;
        described::write(&mut map, link, |map, key| {
            match key {
                "name" => map.serialize_entry(key, &link.name)?,
                "service" => map.serialize_entry(key, &Served(&link.service))?,
                "overhead" => map.serialize_entry("overhead_bytes", &link.overhead)?,
                "queue" => {
                    map.serialize_entry("queue_limit_packets", &packets)?;
                    map.serialize_entry("queue_limit_bytes", &bytes)?;
                    map.serialize_entry("aqm", &discipline(&link.queue.discipline))?;
                }
                "loss" => map.serialize_entry(key, &Loss(link.loss))?,
                "jitter" => map.serialize_entry(key, &link.jitter.as_ref().map(Jitter))?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        map.end()
    }
}

struct Hop<'a>(&'a RouterModel);

impl Serialize for Hop<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        map!(serializer, "link": Link(&self.0.link), "router_support": support(&self.0.router_support))
    }
}

/// A kind of a key with its settings.
pub(crate) fn support(support: &RouterSupport) -> Chosen<'_> {
    Chosen(support.word(), support.inner())
}

/// A queue discipline with its settings. The rate determines what is `null` for RED.
pub(crate) fn discipline(discipline: &Discipline) -> Chosen<'_> {
    Chosen(discipline.word(), discipline.inner())
}

pub(crate) struct Served<'a>(pub(crate) &'a Service);

impl Serialize for Served<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Service::Unlimited => map!(serializer, "kind": "unlimited"),
            Service::Fixed(rate) => {
                map!(serializer, "kind": "fixed", "rate_bps": rate.bits_per_sec())
            }
            Service::Steps { steps } => {
                let listed = (steps.len() <= MAX_LISTED).then(|| {
                    let step = |&(span, rate): &(Duration, Rate)| {
                        (span.as_secs_f64(), rate.bits_per_sec())
                    };
                    steps.iter().map(step).collect::<Vec<_>>()
                });
                let lap = steps.iter().fold(Duration::ZERO, |lap, step| lap + step.0);
                map!(serializer,
                    "kind": "steps",
                    "steps": steps.len(),
                    "lap_s": lap.as_secs_f64(),
                    "mean_bps": self.0.mean_rate().map(Rate::bits_per_sec),
                    "steps_s_bps": listed,
                )
            }
            Service::Varying(config) => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("kind", "varying")?;
                described::write(&mut map, config, |_, _| Ok(false))?;
                map.end()
            }
            Service::Access(access) => Access(access).serialize(serializer),
            Service::Trace(trace) => map!(serializer,
                "kind": "trace",
                "opportunities": trace.opportunities_ms.len(),
                "lap_ms": trace.lap_ms(),
                "mean_bps": trace.mean_rate().bits_per_sec(),
                "repeat": trace.repeat,
            ),
        }
    }
}

struct Loss(LossConfig);

impl Serialize for Loss {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            LossConfig::None => serializer.serialize_none(),
            LossConfig::Bernoulli(probability) => {
                map!(serializer, "kind": "bernoulli", "probability": probability)
            }
            LossConfig::GilbertElliott(config) => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("kind", GilbertElliott::TABLE.name)?;
                described::write(&mut map, &config, |_, _| Ok(false))?;
                map.end()
            }
        }
    }
}

struct Jitter<'a>(&'a JitterConfig);

impl Serialize for Jitter<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, period, additions) = match &self.0.distribution {
            JitterDistribution::Uniform => ("uniform", None, None),
            JitterDistribution::Exponential => ("exponential", None, None),
            JitterDistribution::Sine { period } => ("sine", Some(millis(*period)), None),
            JitterDistribution::Recorded { additions } => ("recorded", None, Some(additions)),
        };
        let steps = additions.and_then(|additions| {
            let same = additions.chunk_by(|a, b| a == b);
            let step = |run: &[Duration]| {
                (
                    (self.0.slot * run.len() as u64).as_secs_f64(),
                    millis(run[0]),
                )
            };
            let steps: Vec<(f64, f64)> = same.take(MAX_LISTED + 1).map(step).collect();
            (steps.len() <= MAX_LISTED).then_some(steps)
        });
        map!(serializer,
            "distribution": kind,
            "amount_ms": millis(self.0.amount),
            "period_ms": period,
            "slot_ms": millis(self.0.slot),
            "slots": additions.map(|additions| additions.len()),
            "steps_s_ms": steps,
        )
    }
}

//! A complete scenario in transit, so that another machine runs exactly the same one.
//!
//! The resolved form ([`crate::Scenario`]'s own serialisation) is for people: it rounds to
//! milliseconds and leaves long series out. This form has every field, with quantities as numbers in
//! their smallest unit. Sender and receiver are of the same version; the format is
//! private.

use std::sync::Arc;

use congestion::Algorithm;
use network::router::RouterSupport;
use network::{LinkConfig, QueueLimit};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::{Bytes, Duration, Instant, Rate};
use wireless::CloudConfig;
use workload::TrafficKind;

use crate::model::{
    Application, Direction, Ends, Flow, FlowSettings, FlowStack, Hosts, LinkModel, Node, PathModel,
    ProxyModel, RouterModel, Scenario, Traffic,
};

/// A scenario that is written and read without loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExactScenario(#[serde(with = "WholeScenario")] pub Scenario);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Scenario")]
struct WholeScenario {
    name: String,
    summary: String,
    #[serde(with = "WholePath")]
    path: PathModel,
    #[serde(with = "flows")]
    flows: Vec<Flow>,
    runs: u32,
    seed: u64,
    time_limit: Duration,
    duration: Option<Duration>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "PathModel")]
struct WholePath {
    name: String,
    summary: String,
    is_absent: bool,
    forward: LinkConfig,
    reverse: LinkConfig,
    router_support: RouterSupport,
    routers: Vec<RouterModel>,
    base_rtt: Duration,
    rate: Rate,
    bdp: Bytes,
    buffer: Option<Bytes>,
    cloud: Option<CloudConfig>,
    nodes: Vec<String>,
    #[serde(with = "proxies")]
    proxies: Vec<ProxyModel>,
    links: Vec<LinkModel>,
    #[serde(with = "hosts")]
    hosts: Vec<Hosts>,
    #[serde(with = "traffic")]
    traffic: Vec<Traffic>,
    warm_up: Duration,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Flow")]
struct WholeFlow {
    name: String,
    #[serde(with = "algorithm")]
    algorithm: Arc<Algorithm>,
    // Absent for the simulated TCP, so that scenarios without other stacks keep their keys.
    #[serde(default, skip_serializing_if = "is_simulated")]
    stack: FlowStack,
    size: Option<Bytes>,
    duration: Option<Duration>,
    start: Instant,
    settings: FlowSettings,
    #[serde(with = "WholeApplication")]
    application: Application,
    ends: Ends,
}

const fn is_simulated(stack: &FlowStack) -> bool {
    !stack.is_foreign()
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Hosts")]
struct WholeHosts {
    name: String,
    at: Node,
    count: u32,
    rate: Option<Rate>,
    buffer: QueueLimit,
    overhead: u32,
    delays: Vec<Duration>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ProxyModel")]
struct WholeProxy {
    at: Node,
    buffer: Bytes,
    #[serde(with = "own_algorithm")]
    algorithm: Option<Arc<Algorithm>>,
    initial_window: Option<u32>,
    pacing: Option<bool>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Traffic")]
struct WholeTraffic {
    name: String,
    kind: TrafficKind,
    direction: Direction,
    #[serde(with = "WholeFlow")]
    flow: Flow,
    extra_delays: Vec<Duration>,
    start: Instant,
    stop: Option<Instant>,
    list_flows: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Application")]
enum WholeApplication {
    Bulk,
    Periodic { write: Bytes, every: Duration },
    Pausing { write: Bytes, pause: Duration },
}

/// A list of values written as `$whole`.
macro_rules! list {
    ($name:ident, $inner:ident, $whole:ident, $text:literal) => {
        mod $name {
            use super::{Deserialize, Deserializer, Serialize, Serializer, $inner, $whole};

            struct Lent<'a>(&'a $inner);

            impl Serialize for Lent<'_> {
                fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                    $whole::serialize(self.0, to)
                }
            }

            #[derive(Deserialize)]
            struct Owned(#[serde(with = $text)] $inner);

            pub fn serialize<S: Serializer>(list: &[$inner], to: S) -> Result<S::Ok, S::Error> {
                to.collect_seq(list.iter().map(Lent))
            }

            pub fn deserialize<'de, D: Deserializer<'de>>(
                from: D,
            ) -> Result<Vec<$inner>, D::Error> {
                let list = Vec::<Owned>::deserialize(from)?;
                Ok(list.into_iter().map(|entry| entry.0).collect())
            }
        }
    };
}

list!(flows, Flow, WholeFlow, "WholeFlow");
list!(hosts, Hosts, WholeHosts, "WholeHosts");
list!(proxies, ProxyModel, WholeProxy, "WholeProxy");
list!(traffic, Traffic, WholeTraffic, "WholeTraffic");

/// An algorithm by its canonical name.
mod algorithm {
    use super::{Algorithm, Arc, Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(algorithm: &Algorithm, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(algorithm)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<Algorithm>, D::Error> {
        let name = String::deserialize(from)?;
        let algorithm = name.parse().map(Arc::new);
        algorithm.map_err(serde::de::Error::custom)
    }
}

/// An algorithm by its canonical name, if there is one.
mod own_algorithm {
    use super::{Algorithm, Arc, Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(
        algorithm: &Option<Arc<Algorithm>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        algorithm.as_ref().map(ToString::to_string).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Arc<Algorithm>>, D::Error> {
        let name = Option::<String>::deserialize(from)?;
        let algorithm = name.map(|name| name.parse().map(Arc::new)).transpose();
        algorithm.map_err(serde::de::Error::custom)
    }
}

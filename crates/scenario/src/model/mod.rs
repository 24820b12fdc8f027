//! A scenario as data, without a file.

use network::router::RouterSupport;
use network::{Discipline, LinkConfig, QueueConfig, QueueLimit, Service};
use units::{Bytes, Duration, Rate};
use wireless::CloudConfig;

mod flow;
mod hosts;
mod proxy;
mod topology;
mod traffic;

pub use flow::{Application, Flow, FlowSettings, FlowStack};
pub use hosts::{Ends, Hosts, Place};
pub use proxy::ProxyModel;
pub use topology::{LinkModel, Node, Route, Step};
pub use traffic::{Direction, Traffic};

/// IP bytes of a full packet. A link counts its `overhead` on top.
pub const FULL_PACKET: u32 = 1500;

/// Bytes of Ethernet that a link counts for each packet by default, as `netem` does (header without
/// preamble and checksum).
pub const DEFAULT_OVERHEAD: u32 = 14;

/// A scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name in results; the path's where none is given.
    pub name: String,
    /// One line about it.
    pub summary: String,
    /// The path of the packets.
    pub path: PathModel,
    /// The flows.
    pub flows: Vec<Flow>,
    /// Number of runs, each with its own seed.
    pub runs: u32,
    /// Seed of the first run.
    pub seed: u64,
    /// Safety limit: a run that reaches it is stopped, and its flows are incomplete.
    pub time_limit: Duration,
    /// Time at which every run stops, even if flows have data left.
    pub duration: Option<Duration>,
}

/// A router before the bottleneck, and the link behind it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RouterModel {
    /// The link; `router 1` is the one next to the senders.
    pub link: LinkConfig,
    /// Its explicit support.
    pub router_support: RouterSupport,
}

/// The path of a scenario: one bottleneck in each direction, and routers before the forward one. It
/// may be one link of a network with more nodes and links. A scenario with a cloud may have no path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathModel {
    /// Its name in results: a preset's, a file's, or the one that the file gives.
    pub name: String,
    /// One line about it.
    pub summary: String,
    /// Whether there is no path, only a cloud with nodes and links around it. Then both directions,
    /// base round trip, rate, BDP and buffer mean nothing, and no packet takes the path.
    pub is_absent: bool,
    /// From the senders to the receivers.
    pub forward: LinkConfig,
    /// From the receivers to the senders: the path of the ACKs.
    pub reverse: LinkConfig,
    /// The explicit support of the router in front of the forward link.
    pub router_support: RouterSupport,
    /// The routers that data passes before the forward link, from the senders on.
    pub routers: Vec<RouterModel>,
    /// Propagation in both directions, without jitter, queues and serialisation.
    pub base_rtt: Duration,
    /// Rate of the forward link, with `overhead`; the mean where it varies.
    pub rate: Rate,
    /// `rate` times `base_rtt`, `overhead` included, rounded down.
    pub bdp: Bytes,
    /// The forward link's queue limit in bytes, `overhead` included; a limit in packets counts full
    /// ones. `None` if unlimited.
    pub buffer: Option<Bytes>,
    /// The ad-hoc network or constellation.
    pub cloud: Option<CloudConfig>,
    /// The names of the nodes beside the ends of the path: first those of the cloud.
    pub nodes: Vec<String>,
    /// The proxies, in the order of their nodes.
    pub proxies: Vec<ProxyModel>,
    /// The links beside the path.
    pub links: Vec<LinkModel>,
    /// Hosts behind access links.
    pub hosts: Vec<Hosts>,
    /// Background traffic.
    pub traffic: Vec<Traffic>,
    /// Time for which background traffic runs before the flows' starts are counted.
    pub warm_up: Duration,
}

/// Time at which a run that does not end by itself is stopped.
pub(crate) const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(600);

impl Scenario {
    /// One run of `flows` over `path`, with seed 1 and the default safety limit of ten minutes.
    #[must_use]
    pub fn new(path: PathModel, flows: Vec<Flow>) -> Self {
        Self {
            name: path.name.clone(),
            summary: path.summary.clone(),
            path,
            flows,
            runs: 1,
            seed: 1,
            time_limit: DEFAULT_TIME_LIMIT,
            duration: None,
        }
    }

    /// Puts one host behind an access link of `rate` in front of the path, which sends all flows that
    /// begin there: a kernel takes time for each packet of a burst. A path with hosts of its own, or
    /// of a cloud, keeps them.
    pub fn limit_bursts(&mut self, rate: Rate) {
        if !self.path.hosts.is_empty() || self.path.cloud.is_some() {
            return;
        }
        self.path.hosts.push(Hosts {
            name: "sending host".into(),
            at: Node::LEFT,
            count: 1,
            rate: Some(rate),
            buffer: QueueLimit::Unlimited,
            overhead: self.path.forward.overhead,
            delays: vec![Duration::ZERO],
        });
        let flows = self.flows.iter_mut();
        for flow in flows.filter(|flow| flow.ends == Ends::default()) {
            flow.ends.from = Some(Place::Hosts(0));
        }
    }
}

/// Of an idle path.
fn round_trip(forward: &LinkConfig, reverse: &LinkConfig) -> Duration {
    let both = [forward, reverse];
    let one_way = |link: &LinkConfig| link.delay + link.service.idle_delay();
    both.into_iter()
        .map(one_way)
        .fold(Duration::ZERO, |sum, delay| sum + delay)
}

impl PathModel {
    /// A path of two links. Rate, base round trip, BDP and buffer are taken from them.
    #[must_use]
    pub fn from_links(
        name: impl Into<String>,
        summary: impl Into<String>,
        forward: LinkConfig,
        reverse: LinkConfig,
    ) -> Self {
        let base_rtt = round_trip(&forward, &reverse);
        let rate = forward.service.mean_rate().unwrap_or(Rate::MAX);
        let buffer = buffer_bytes(&forward);
        Self {
            name: name.into(),
            summary: summary.into(),
            is_absent: false,
            base_rtt,
            rate,
            bdp: rate.bytes_in(base_rtt),
            buffer,
            forward,
            reverse,
            router_support: RouterSupport::None,
            routers: Vec::new(),
            cloud: None,
            nodes: Vec::new(),
            proxies: Vec::new(),
            links: Vec::new(),
            hosts: Vec::new(),
            traffic: Vec::new(),
            warm_up: Duration::ZERO,
        }
    }

    /// Nothing, yet.
    pub(crate) fn without_path(name: impl Into<String>, summary: impl Into<String>) -> Self {
        let [forward, reverse] = ["forward", "reverse"].map(nowhere);
        let mut path = Self::from_links(name, summary, forward, reverse);
        path.is_absent = true;
        path.rate = Rate::ZERO;
        path.bdp = Bytes::ZERO;
        path
    }

    /// Adds routers before the forward link, and router support in front of it. The base round trip
    /// and the BDP include what they add; the buffer stays.
    pub fn set_routers(&mut self, routers: Vec<RouterModel>, router_support: RouterSupport) {
        let before = routers.iter().fold(Duration::ZERO, |sum, router| {
            sum + router.link.delay + router.link.service.idle_delay()
        });
        self.base_rtt = round_trip(&self.forward, &self.reverse) + before;
        self.bdp = self.rate.bytes_in(self.base_rtt);
        self.routers = routers;
        self.router_support = router_support;
    }

    /// Whether packets meet router features that an emulated path does not have.
    #[must_use]
    pub fn has_routers(&self) -> bool {
        !self.routers.is_empty() || self.router_support != RouterSupport::None
    }

    /// Bytes that the forward link counts for a full packet.
    #[must_use]
    pub fn full_packet(&self) -> Bytes {
        Bytes::new(u64::from(FULL_PACKET) + u64::from(self.forward.overhead))
    }

    /// The BDP in full packets, to the nearest: 413 at 50 Mbit/s and 100 ms (SUSS developers 2025).
    #[must_use]
    pub fn bdp_packets(&self) -> u64 {
        let packet = self.full_packet().get();
        self.bdp.get().saturating_add(packet / 2) / packet
    }
}

/// A link that no packet takes.
fn nowhere(name: &str) -> LinkConfig {
    LinkConfig {
        name: name.to_owned(),
        service: Service::Unlimited,
        overhead: DEFAULT_OVERHEAD,
        queue: QueueConfig {
            limit: QueueLimit::Unlimited,
            discipline: Discipline::DropTail,
        },
        delay: Duration::ZERO,
        ..LinkConfig::DEFAULT
    }
}

/// The queue limit of a link in bytes, `overhead` included.
fn buffer_bytes(link: &LinkConfig) -> Option<Bytes> {
    match link.queue.limit {
        QueueLimit::Unlimited => None,
        QueueLimit::Bytes(bytes) => Some(bytes),
        QueueLimit::Packets(packets) => {
            Some(Bytes::new(u64::from(FULL_PACKET) + u64::from(link.overhead)) * packets)
        }
    }
}

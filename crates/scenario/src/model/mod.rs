//! What a scenario is once it is read: data, without a file.

use network::router::Help;
use network::{LinkConfig, QueueLimit};
use units::{Bytes, Duration, Rate};

mod flow;
mod traffic;

pub use flow::{Application, Flow};
pub(crate) use flow::{DEFAULT_INITIAL_WINDOW, DEFAULT_RECEIVE_BUFFER};
pub use traffic::{Direction, Traffic, TrafficKind};

/// IP bytes of a full packet. A link counts its `overhead` on top.
pub const FULL_PACKET: u32 = 1500;

/// Bytes of Ethernet that a link counts for each packet unless told otherwise, as `netem` does
/// (header without preamble and checksum; network-models A.1).
pub const DEFAULT_OVERHEAD: u32 = 14;

/// What is run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name in results; the path's where none is given.
    pub name: String,
    /// One line about it.
    pub summary: String,
    /// What the packets pass through.
    pub path: PathModel,
    /// Who sends.
    pub flows: Vec<Flow>,
    /// How often it is run, each time with another seed.
    pub runs: u32,
    /// Seed of the first run.
    pub seed: u64,
    /// Safety limit: a run that is not over by then is stopped and its flows are incomplete.
    pub time_limit: Duration,
    /// Where every run stops, whatever its flows still have to send.
    pub duration: Option<Duration>,
}

/// A router before the bottleneck, and the link behind it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RouterModel {
    /// The link; its name is `router 1` for the one next to the senders.
    pub link: LinkConfig,
    /// How it helps.
    pub help: Help,
}

/// What the packets of a scenario pass through: one bottleneck in each direction, and on the way
/// to the receivers other routers before it.
#[derive(Clone, Debug, PartialEq)]
pub struct PathModel {
    /// Its name in results: a preset's, a file's, or the one that the file gives.
    pub name: String,
    /// One line about it.
    pub summary: String,
    /// From the senders to the receivers.
    pub forward: LinkConfig,
    /// From the receivers to the senders: the path of the ACKs.
    pub reverse: LinkConfig,
    /// How the router in front of the forward link helps.
    pub help: Help,
    /// What data passes through before the forward link, from the senders on.
    pub routers: Vec<RouterModel>,
    /// Propagation in both directions, without jitter, queues and serialisation.
    pub base_rtt: Duration,
    /// Rate of the forward link, with `overhead`; the mean where it varies.
    pub rate: Rate,
    /// `rate` times `base_rtt`, `overhead` included, rounded down.
    pub bdp: Bytes,
    /// The forward link's waiting room in bytes, `overhead` included; a room in packets is
    /// counted in full ones. `None` where it has no end.
    pub buffer: Option<Bytes>,
    /// Who else sends.
    pub traffic: Vec<Traffic>,
    /// How long other traffic goes on before the time from which a file's flows count their starts.
    pub warm_up: Duration,
}

/// Where a run that does not end by itself is stopped.
pub(crate) const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(600);

impl Scenario {
    /// One run of `flows` over `path`, with seed 1 and the usual safety limit of ten minutes.
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
            base_rtt,
            rate,
            bdp: rate.bytes_in(base_rtt),
            buffer,
            forward,
            reverse,
            help: Help::None,
            routers: Vec::new(),
            traffic: Vec::new(),
            warm_up: Duration::ZERO,
        }
    }

    /// Puts routers before the forward link, and has the one in front of it help. The base round trip
    /// and the BDP count what they add; the buffer stays.
    pub fn set_routers(&mut self, routers: Vec<RouterModel>, help: Help) {
        let before = routers.iter().fold(Duration::ZERO, |sum, router| {
            sum + router.link.delay + router.link.service.idle_delay()
        });
        self.base_rtt = round_trip(&self.forward, &self.reverse) + before;
        self.bdp = self.rate.bytes_in(self.base_rtt);
        self.routers = routers;
        self.help = help;
    }

    /// Whether packets meet routers of which an emulated path has none.
    #[must_use]
    pub fn has_routers(&self) -> bool {
        !self.routers.is_empty() || self.help != Help::None
    }

    /// Bytes that the forward link counts for a full packet.
    #[must_use]
    pub fn full_packet(&self) -> Bytes {
        Bytes::new(u64::from(FULL_PACKET) + u64::from(self.forward.overhead))
    }

    /// The BDP in full packets, to the nearest: 413 at 50 Mbit/s and 100 ms (network-models A.1).
    #[must_use]
    pub fn bdp_packets(&self) -> u64 {
        let packet = self.full_packet().get();
        self.bdp.get().saturating_add(packet / 2) / packet
    }
}

/// The waiting room of a link in bytes, `overhead` included.
fn buffer_bytes(link: &LinkConfig) -> Option<Bytes> {
    match link.queue.limit {
        QueueLimit::Unlimited => None,
        QueueLimit::Bytes(bytes) => Some(bytes),
        QueueLimit::Packets(packets) => {
            Some(Bytes::new(u64::from(FULL_PACKET) + u64::from(link.overhead)) * packets)
        }
    }
}

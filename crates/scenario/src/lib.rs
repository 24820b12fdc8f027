//! The scenario: what is run, over which path, by which flows. Data only.
//!
//! A scenario comes from a TOML file ([`Scenario::load`]), from the words of a command
//! ([`Scenario::compare`] over [`PathModel::resolve`]), or is built in code. What it resolves to
//! is serialised into every result, with the unit of each number in its name.
//!
//! The format of the file is described in `docs/reference/scenario.md`; a JSON Schema of it is
//! `docs/reference/scenario.schema.json`. Every refusal is one sentence that names file, line,
//! column and the nearest known key ([`Error`]).
//!
//! Assumes that a full packet is 1500 bytes of IP ([`FULL_PACKET`]).

mod access;
mod aqm;
mod compare;
mod decimal;
mod document;
mod error;
mod file;
mod flow;
mod link;
mod parcel;
mod path;
mod presets;
mod quantity;
mod resolved;
mod router;
mod schema;
mod trace_file;
mod traffic;

use congestion::Algorithm;
use network::LinkConfig;
use network::router::Help;
use units::{Bytes, Duration, Instant, Rate};

pub use compare::CompareOptions;
pub use error::Error;
pub use parcel::Parcel;
pub use presets::{PRESETS, Preset};
pub use quantity::{
    Buffer, format_buffer, format_duration, format_rate, format_size, parse_buffer, parse_duration,
    parse_probability, parse_rate, parse_size,
};
pub use schema::{KnownTable, known_tables};
pub use tcp::{AckPolicy, Autotuning, LossDetection};
pub use trace_file::{read_bytes, read_text};
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

/// One sender, its receiver, and what it has to send.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name in results; the algorithm where none is given.
    pub name: String,
    /// Start-up and avoidance, or a monolithic congestion control.
    pub algorithm: Algorithm,
    /// How much it sends; `None` for as much as it can.
    pub size: Option<Bytes>,
    /// How long it has something to send, counted from `start`; `None` until `size` is sent, or
    /// the run is over.
    pub duration: Option<Duration>,
    /// When its SYN leaves.
    pub start: Instant,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Whether its segments are paced, as under `fq`.
    pub pacing: bool,
    /// Largest receive window that autotuning may reach.
    pub receive_buffer: Bytes,
    /// How the receive window grows to it.
    pub autotuning: Autotuning,
    /// Receive window that the handshake announces.
    pub syn_window: Bytes,
    /// How the receiver acknowledges.
    pub ack_policy: AckPolicy,
    /// Whether its data segments are ECN-capable.
    pub ecn: bool,
    /// Whether both ends use SACK; without, losses are repaired as NewReno does (RFC 6582).
    pub sack: bool,
    /// Without SACK: whether the retransmission timer starts anew at the first partial ACK alone.
    pub impatient: bool,
    /// TCP Small Queues (`sk_pacing_shift`): the path's first link is then the sender's own device.
    pub small_queue: Option<u8>,
    /// Whether a pause longer than the RTO shrinks the window.
    pub restart_after_idle: bool,
    /// Largest unpaced burst of one TSO packet in segments; 1 turns TSO off.
    pub tso_segments: u32,
    /// Delay of the flow's own access, one way, added in both directions.
    pub extra_delay: Duration,
    /// How losses are found, and what a timeout means.
    pub loss_detection: LossDetection,
    /// Whether an ACK earns growth for all that it acknowledges, or for one segment.
    pub byte_counting: bool,
    /// When the application has something to send.
    pub application: Application,
}

/// When an application has something to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Application {
    /// Always, until everything is sent.
    #[default]
    Bulk,
    /// `write` bytes at the start, and again each `every`.
    Periodic {
        /// Bytes of one write.
        write: Bytes,
        /// Time from one write to the next.
        every: Duration,
    },
    /// `write` bytes at the start, and again `pause` after all of it is acknowledged.
    Pausing {
        /// Bytes of one write.
        write: Bytes,
        /// How long nothing is sent.
        pause: Duration,
    },
}

/// Linux lets a connection start again from the initial window after a pause, sends TSO packets
/// of up to 64 KiB (45 segments of 1448 bytes), and does not pace without `fq`.
pub(crate) const DEFAULT_TSO_SEGMENTS: u32 = 45;
/// RFC 6928.
pub(crate) const DEFAULT_INITIAL_WINDOW: u32 = 10;
/// More than the fullest preset holds in flight, so that a path is measured, not the receiver.
pub(crate) const DEFAULT_RECEIVE_BUFFER: Bytes = Bytes::new(64 << 20);
/// The window field of a SYN-ACK is not scaled (RFC 7323, section 2.2).
pub(crate) const DEFAULT_SYN_WINDOW: Bytes = Bytes::new(65_535);
/// Where a run that does not end by itself is stopped.
pub(crate) const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(600);

impl Flow {
    /// A bulk flow with Linux's settings that starts at once and ends with the run.
    #[must_use]
    pub fn new(algorithm: Algorithm) -> Self {
        Self {
            name: algorithm.to_string(),
            algorithm,
            size: None,
            duration: None,
            start: Instant::ZERO,
            initial_window: DEFAULT_INITIAL_WINDOW,
            pacing: false,
            receive_buffer: DEFAULT_RECEIVE_BUFFER,
            syn_window: DEFAULT_SYN_WINDOW,
            ack_policy: AckPolicy::Delayed,
            ecn: false,
            sack: true,
            impatient: false,
            small_queue: None,
            restart_after_idle: true,
            tso_segments: DEFAULT_TSO_SEGMENTS,
            extra_delay: Duration::ZERO,
            autotuning: Autotuning::default(),
            loss_detection: LossDetection::default(),
            byte_counting: true,
            application: Application::Bulk,
        }
    }
}

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
        let buffer = path::buffer_bytes(&forward);
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

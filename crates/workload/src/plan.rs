//! A workload as data, and the dialogues that it yields.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant};

use crate::draw::{Sizes, spread_starts};
use crate::generate::{
    Http10, Http10Config, Multiplexed, MultiplexedConfig, OnOff, OnOffConfig, Persistent,
    PersistentConfig, RequestResponse, RequestResponseConfig, Synthetic, SyntheticConfig,
};
use crate::suite::Framing;
use crate::{Connection, VideoConfig};

/// What a workload consists of. Start times count from its own start.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Plan {
    /// Connections of a Tmix file.
    Recorded(Recording),
    /// A substitute for recorded traces.
    Synthetic(SyntheticConfig),
    /// One response per connection.
    Http10(Http10Config),
    /// Sessions that use a connection again.
    Persistent(PersistentConfig),
    /// A page per connection.
    Multiplexed(MultiplexedConfig),
    /// Clients in a closed loop.
    RequestResponse(RequestResponseConfig),
    /// Sources that write bursts and pause between them.
    OnOff(OnOffConfig),
    /// Clients that watch a video of several bitrates.
    AdaptiveVideo(VideoClients),
}

/// Connections that stand somewhere, as an experiment replays them. Copies share them.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Recording {
    /// Where they stand, for results.
    pub file: String,
    /// The connections in the order of their starts.
    pub connections: Arc<[Connection]>,
    /// The time after which they start again, positive; `None` if they do not.
    pub repeat: Option<Duration>,
}

/// Clients that watch the same video, each from its own start.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct VideoClients {
    /// How many.
    pub clients: u32,
    /// The earliest start.
    pub begin: Instant,
    /// The span of the starts.
    pub spread: Duration,
    /// Each of them.
    pub client: VideoConfig,
}

/// What happens on one connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Dialogue {
    /// Both sides follow a script.
    Script(Connection),
    /// The initiator is a client of a video ([`crate::AdaptiveVideo`]).
    Video {
        /// When it opens the connection, from the start of the workload.
        start: Instant,
        /// Its parameters.
        client: VideoConfig,
    },
}

impl Dialogue {
    /// When the initiator opens the connection, from the start of the workload.
    #[must_use]
    pub const fn start(&self) -> Instant {
        match self {
            Self::Script(connection) => connection.start,
            Self::Video { start, .. } => *start,
        }
    }
}

/// The dialogues of a [`Plan`], in the order of their starts.
pub type Dialogues = Box<dyn Iterator<Item = Dialogue> + Send>;

impl Plan {
    /// Its word in a scenario file.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Recorded(_) => "tmix",
            Self::Synthetic(_) => "synthetic",
            Self::Http10(_) => "http10",
            Self::Persistent(_) => "persistent",
            Self::Multiplexed(_) => "multiplexed",
            Self::RequestResponse(_) => "request-response",
            Self::OnOff(_) => "on-off",
            Self::AdaptiveVideo(_) => "adaptive-video",
        }
    }

    /// The bytes on the wire that the acceptor sends on average for each arrival of a Poisson process
    /// (a connection, a session or a page); `None` if the plan has no such process. Responses of
    /// random size, and pages, count as if all segments were full.
    #[must_use]
    pub fn bytes_per_arrival(&self, framing: Framing) -> Option<f64> {
        let wire = |sizes: Sizes| sizes.mean_on_the_wire(framing);
        Some(match self {
            Self::Http10(config) => wire(config.response),
            Self::Persistent(config) => config.requests.max(1.0) * wire(config.epochs.response),
            Self::Multiplexed(config) => config.mean_page() * framing.overhead(),
            Self::Synthetic(config) => {
                let of = |segment| {
                    let framing = Framing { segment, ..framing };
                    config.epochs.response.mean_on_the_wire(framing)
                };
                let response = match config.small_segments {
                    Some(small) => {
                        let [of_small, of_large] = SyntheticConfig::SEGMENTS.map(of);
                        small * of_small + (1.0 - small) * of_large
                    }
                    None => wire(config.epochs.response),
                };
                response / config.last
            }
            Self::Recorded(_)
            | Self::RequestResponse(_)
            | Self::OnOff(_)
            | Self::AdaptiveVideo(_) => return None,
        })
    }

    /// Sets the mean number of arrivals per second of a Poisson process; other plans stay.
    pub const fn set_arrivals_per_s(&mut self, per_s: f64) {
        match self {
            Self::Http10(config) => config.arrivals_per_s = per_s,
            Self::Persistent(config) => config.sessions_per_s = per_s,
            Self::Multiplexed(config) => config.pages_per_s = per_s,
            Self::Synthetic(config) => config.arrivals_per_s = per_s,
            Self::Recorded(_)
            | Self::RequestResponse(_)
            | Self::OnOff(_)
            | Self::AdaptiveVideo(_) => {}
        }
    }

    /// The dialogues, drawn from `random`. The iterator may be endless.
    #[must_use]
    pub fn dialogues(&self, random: ChaCha8Rng) -> Dialogues {
        fn scripts(connections: impl Iterator<Item = Connection> + Send + 'static) -> Dialogues {
            Box::new(connections.map(Dialogue::Script))
        }
        match self {
            Self::Recorded(recording) => scripts(recording.clone().replay()),
            Self::Synthetic(config) => scripts(Synthetic::new(*config, random)),
            Self::Http10(config) => scripts(Http10::new(*config, random)),
            Self::Persistent(config) => scripts(Persistent::new(*config, random)),
            Self::Multiplexed(config) => scripts(Multiplexed::new(*config, random)),
            Self::RequestResponse(config) => scripts(RequestResponse::new(*config, random)),
            Self::OnOff(config) => scripts(OnOff::new(*config, random)),
            Self::AdaptiveVideo(clients) => Box::new(clients.clone().dialogues(random)),
        }
    }
}

impl Recording {
    /// The connections, again and again if they repeat.
    fn replay(self) -> impl Iterator<Item = Connection> + Send {
        let laps = match self.repeat {
            Some(_) if !self.connections.is_empty() => u64::MAX,
            _ => 1,
        };
        let lap = self.repeat.unwrap_or_default();
        let count = self.connections.len();
        let places = move |round| (0..count).map(move |place| (round, place));
        (0..laps).flat_map(places).map(move |(round, place)| {
            let mut connection = self.connections[place].clone();
            connection.start += lap * round;
            connection
        })
    }
}

impl VideoClients {
    fn dialogues(self, mut random: ChaCha8Rng) -> impl Iterator<Item = Dialogue> + Send {
        let starts = spread_starts(&mut random, self.begin, self.clients, self.spread);
        starts.into_iter().rev().map(move |start| Dialogue::Video {
            start,
            client: self.client.clone(),
        })
    }
}

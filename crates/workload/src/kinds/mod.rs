//! Kinds of traffic, one row each: its word, one sentence, its keys and its configuration.
//!
//! The keys of `[[traffic]]` are those of all kinds. A kind's keys are groups
//! ([`crate::generate::keys`]), from
//! which it makes its configuration. The configuration states the average size of an arrival, if
//! arrivals are a Poisson process, and the parameters for the resolved form. Where both sides of a
//! connection write, it generates their dialogues.
//!
//! A new kind is one file with these parts and one row of `kinds!` below.

mod adaptive_video;
mod bulk;
mod datagrams;
mod recorded;
mod video;
mod web;

use rand_chacha::ChaCha8Rng;
use serde::ser::SerializeMap;
use tables::{Key, Wrong};

use crate::dialogue::Dialogues;
use crate::generate::traffic::{Generates, Sends};
use crate::generate::{
    Http10Config, MultiplexedConfig, OnOffConfig, PersistentConfig, RequestResponseConfig,
    SyntheticConfig, http10::Http10Keys, multiplexed::MultiplexedKeys, on_off::OnOffKeys,
    persistent::PersistentKeys, request_response::RequestResponseKeys, synthetic::SyntheticKeys,
};
use crate::suite::Framing;

pub use crate::generate::traffic::{Around, Groups, TrafficKeys};
pub use adaptive_video::{AdaptiveVideoKeys, VideoClients};
pub use bulk::{BulkKeys, BulkTraffic};
pub use datagrams::{DatagramKeys, DatagramTraffic};
pub use recorded::{Recording, RecordingKeys, Replay};
pub use video::{VideoKeys, VideoTraffic};
pub use web::{WebKeys, WebTraffic};

/// The keys of any kind.
pub trait AnyKeys: Groups {
    /// What they describe.
    ///
    /// # Errors
    /// The first contradiction.
    fn traffic(&self, around: &Around<'_>) -> Result<Found, Wrong>;
}

impl<K: TrafficKeys<Traffic: Into<Found>>> AnyKeys for K {
    fn traffic(&self, around: &Around<'_>) -> Result<Found, Wrong> {
        TrafficKeys::traffic(self, around).map(Into::into)
    }
}

/// What the keys of a kind describe.
#[derive(Clone, Debug)]
pub enum Found {
    /// Traffic.
    Traffic(TrafficKind),
    /// A file of connections, which the caller reads.
    File(RecordingKeys),
}

impl From<RecordingKeys> for Found {
    fn from(keys: RecordingKeys) -> Self {
        Self::File(keys)
    }
}

/// A kind of traffic, as `[[traffic]]` describes it.
#[derive(Clone, Copy, Debug)]
pub struct KnownTraffic {
    /// Its word.
    pub name: &'static str,
    /// What it sends, as the end of a sentence.
    pub summary: &'static str,
    /// The keys that it has beside those of every kind, in groups.
    pub keys: &'static [&'static [Key]],
    /// The keys that it needs, as TOML.
    pub example: &'static str,
    /// Whether its data travels over connections.
    pub connects: bool,
    /// Its keys at their defaults.
    pub defaults: fn() -> Box<dyn AnyKeys>,
}

impl KnownTraffic {
    /// Every kind.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        KINDS
    }

    /// The keys that it has beside those of every kind.
    pub fn own_keys(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().copied().flatten().map(|key| key.name)
    }
}

/// Generates the enums of all kinds, their calls, and [`KINDS`]. A row names the configuration, the
/// keys, the word, a sentence, and an example of the keys that it needs. Packets of an
/// unconnected kind belong to no connection.
macro_rules! kinds {
    (
        one_way { $( $(#[$doc:meta])* $name:ident($config:ty, $keys:ty) =
            $word:literal, $summary:literal, $example:literal, $connects:ident; )* }
        dialogues { $( $(#[$plan_doc:meta])* $plan:ident($plan_config:ty, $plan_keys:ty) =
            $plan_word:literal, $plan_summary:literal, $plan_example:literal; )* }
    ) => {
        /// What background traffic sends.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub enum TrafficKind {
            $( $(#[$doc])* $name($config), )*
            /// Connections in which both sides write. The acceptor's data takes the direction of
            /// the table.
            Exchanges(Plan),
        }

        /// What a workload consists of. Start times count from its own start.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub enum Plan {
            $( $(#[$plan_doc])* $plan($plan_config), )*
        }

        $( impl From<$config> for Found {
            fn from(config: $config) -> Self {
                Self::Traffic(TrafficKind::$name(config))
            }
        } )*

        $( impl From<$plan_config> for Found {
            fn from(config: $plan_config) -> Self {
                Self::Traffic(TrafficKind::Exchanges(Plan::$plan(config)))
            }
        } )*

        /// Every kind.
        const KINDS: &[KnownTraffic] = &[
            $( KnownTraffic {
                name: $word,
                summary: $summary,
                keys: <$keys>::KEYS,
                example: $example,
                connects: connects!($connects),
                defaults: || Box::new(<$keys>::DEFAULT),
            }, )*
            $( KnownTraffic {
                name: $plan_word,
                summary: $plan_summary,
                keys: <$plan_keys>::KEYS,
                example: $plan_example,
                connects: true,
                defaults: || Box::new(<$plan_keys>::DEFAULT),
            }, )*
        ];

        impl TrafficKind {
            /// Its word in a file.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $( Self::$name(_) => $word, )*
                    Self::Exchanges(plan) => plan.name(),
                }
            }

            /// The bytes that an arrival brings on average in the direction of the table; `None`
            /// without a Poisson process. One-way traffic counts payload, other traffic also
            /// headers.
            #[must_use]
            pub fn bytes_per_arrival(&self, framing: Framing) -> Option<f64> {
                match self {
                    $( Self::$name(config) => config.bytes_per_arrival(framing), )*
                    Self::Exchanges(plan) => plan.bytes_per_arrival(framing),
                }
            }

            /// Sets the mean number of arrivals per second of a Poisson process; other traffic
            /// stays.
            pub fn set_arrivals_per_s(&mut self, per_s: f64) {
                match self {
                    $( Self::$name(config) => config.set_arrivals_per_s(per_s), )*
                    Self::Exchanges(plan) => plan.set_arrivals_per_s(per_s),
                }
            }

            /// Writes its parameters into its resolved form, where the name of a number has its
            /// unit.
            ///
            /// # Errors
            /// Those of the map.
            pub fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                match self {
                    $( Self::$name(config) => config.write(map), )*
                    $( Self::Exchanges(Plan::$plan(config)) => config.write(map), )*
                }
            }
        }

        impl Plan {
            /// Its word in a scenario file.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $( Self::$plan(_) => $plan_word, )* }
            }

            /// The bytes on the wire that the acceptor sends on average for each arrival of a
            /// Poisson process (a connection, a session or a page); `None` if the plan has no such
            /// process. Responses of random size, and pages, count as if all segments were full.
            #[must_use]
            pub fn bytes_per_arrival(&self, framing: Framing) -> Option<f64> {
                match self { $( Self::$plan(config) => config.bytes_per_arrival(framing), )* }
            }

            /// Sets the mean number of arrivals per second of a Poisson process; other plans stay.
            pub fn set_arrivals_per_s(&mut self, per_s: f64) {
                match self { $( Self::$plan(config) => config.set_arrivals_per_s(per_s), )* }
            }

            /// The dialogues, drawn from `random`. The iterator may be endless.
            #[must_use]
            pub fn dialogues(&self, random: ChaCha8Rng) -> Dialogues {
                match self { $( Self::$plan(config) => config.dialogues(random), )* }
            }
        }
    };
}

macro_rules! connects {
    (connected) => {
        true
    };
    (unconnected) => {
        false
    };
}

kinds! {
    one_way {
        /// Responses of random size that start at random.
        Web(WebTraffic, WebKeys) = "web",
            "responses of random size, without requests", "load = \"35 %\"", connected;
        /// Saturated flows.
        Bulk(BulkTraffic, BulkKeys) = "bulk",
            "flows that send without pause", "", connected;
        /// Flows that periodically have a segment to send.
        Video(VideoTraffic, VideoKeys) = "video",
            "a segment every few seconds over one connection, whatever the path carries",
            "bitrate = \"5 Mbit/s\"", connected;
        /// Full packets at a fixed rate, without ACKs.
        Datagrams(DatagramTraffic, DatagramKeys) = "datagrams",
            "unacknowledged packets, as UDP sends them", "rate = \"5 Mbit/s\"", unconnected;
    }
    dialogues {
        /// Connections of a Tmix file.
        Recorded(Recording, RecordingKeys) = "tmix",
            "the connections of a file of connection vectors", "file = \"trace.cvec\"";
        /// A substitute for recorded traces.
        Synthetic(SyntheticConfig, SyntheticKeys) = "synthetic",
            "a substitute for recorded connection vectors", "load = \"35 %\"";
        /// One response per connection.
        Http10(Http10Config, Http10Keys) = "http10",
            "one request and its response per connection", "load = \"35 %\"";
        /// Sessions that use a connection again.
        Persistent(PersistentConfig, PersistentKeys) = "persistent",
            "sessions of requests that use a connection again until the server closes it, as under \
             HTTP/1.1",
            "load = \"35 %\"";
        /// A page per connection.
        Multiplexed(MultiplexedConfig, MultiplexedKeys) = "multiplexed",
            "a page per connection: a document, then all its objects at once, as under HTTP/2",
            "load = \"35 %\"";
        /// Clients in a closed loop.
        RequestResponse(RequestResponseConfig, RequestResponseKeys) = "request-response",
            "clients that wait for each response, think, and send the next request", "";
        /// Sources that write bursts and pause between them.
        OnOff(OnOffConfig, OnOffKeys) = "on-off",
            "sources that write a burst at once and pause, for random times",
            "rate = \"5 Mbit/s\"";
        /// Clients that watch a video of several bitrates.
        AdaptiveVideo(VideoClients, AdaptiveVideoKeys) = "adaptive-video",
            "clients that choose the bitrate of each segment by the video that they have buffered",
            "bitrates = [\"1 Mbit/s\", \"3 Mbit/s\", \"5 Mbit/s\"]";
    }
}

const GROUPS: [&[&[Key]]; KINDS.len()] = {
    let mut groups: [&[&[Key]]; KINDS.len()] = [&[]; KINDS.len()];
    let mut place = 0;
    while place < groups.len() {
        groups[place] = KINDS[place].keys;
        place += 1;
    }
    groups
};

/// The keys of all kinds, each once.
pub const KEYS: &[Key] = &tables::united::<{ tables::united_len(&GROUPS) }>(&GROUPS);

/// The words of all kinds.
pub const WORDS: &[&str] = &{
    let mut words = [""; KINDS.len()];
    let mut place = 0;
    while place < words.len() {
        words[place] = KINDS[place].name;
        place += 1;
    }
    words
};

//! Clients that watch a video of several bitrates ([`crate::AdaptiveVideo`]).

use rand_chacha::ChaCha8Rng;
use serde::ser::SerializeMap;
use tables::{Key, Kind, Rules, Wrong, described};
use units::{Duration, Instant, Rate};

use crate::VideoConfig;
use crate::dialogue::{Dialogue, Dialogues};
use crate::draw::spread_starts;
use crate::generate::keys::{AT, Request, Segment, Sources, groups};
use crate::generate::resolved::sources;
use crate::generate::traffic::{Around, Generates, Sends, TrafficKeys};

/// Most bitrates of a video.
const MAX_BITRATES: u32 = 100;

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

described! {
    #[derive(Clone, Debug)]
    pub struct Client("client", "[[traffic]]", "A client that adapts.") {
        /// The bitrates to choose from, ascending.
        bitrates: Vec<Rate> = Vec::new() =>
            Key::of(Kind::Any(&[Kind::RATE, Kind::List(&Kind::RATE, 1, MAX_BITRATES)]))
                .needed("5 Mbit/s");
        /// Number of segments of the video.
        segments: Option<u32> = None => Key::of(Kind::Integer(1, 1_000_000))
            .usually("until the run is over");
        /// Buffered playing time up to which the lowest bitrate is chosen.
        reservoir: Duration = Duration::from_secs(90) => Key::of(AT);
        /// Buffered playing time above that over which the bitrate grows to the highest.
        cushion: Duration = Duration::from_secs(126) => Key::of(Kind::SPAN);
        /// Most playing time that a client buffers.
        playback_buffer: Duration = Duration::from_secs(240) => Key::of(Kind::SPAN);
    }
}
impl Rules for Client {}

groups! {
    /// The keys of clients that adapt.
    pub struct AdaptiveVideoKeys {
        sources: Sources,
        client: Client,
        segment: Segment,
        request: Request,
    }
}

impl TrafficKeys for AdaptiveVideoKeys {
    type Traffic = VideoClients;

    fn traffic(&self, _around: &Around<'_>) -> Result<Self::Traffic, Wrong> {
        let Client {
            bitrates,
            segments,
            reservoir,
            cushion,
            playback_buffer,
        } = self.client.clone();
        if bitrates.is_empty() || !bitrates.is_sorted_by(|one, next| one < next) {
            return Err(Wrong::value(
                "bitrates",
                "expected one or more bitrates, each above the one before",
            ));
        }
        let segment = self.segment.segment;
        if bitrates[0].bytes_in(segment).is_zero() {
            return Err(Wrong::value("bitrates", "a segment would have no bytes"));
        }
        if playback_buffer < segment {
            return Err(Wrong::at(
                "playback_buffer",
                "a segment must fit in playback_buffer",
            ));
        }
        let (clients, spread) = self.sources.starts(segment);
        Ok(VideoClients {
            clients,
            begin: Instant::ZERO,
            spread,
            client: VideoConfig {
                segment,
                request: self.request.request,
                reservoir,
                cushion,
                buffer: playback_buffer,
                ..VideoConfig::new(bitrates, segments)
            },
        })
    }
}

impl Sends for VideoClients {
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let client = &self.client;
        let rates = client.bitrates.iter().copied().map(Rate::bits_per_sec);
        sources(map, self.clients, self.spread)?;
        map.serialize_entry("bitrates_bps", &rates.collect::<Vec<_>>())?;
        map.serialize_entry("segment_s", &client.segment.as_secs_f64())?;
        map.serialize_entry("segments", &client.segments)?;
        map.serialize_entry("request_bytes", &client.request.get())?;
        map.serialize_entry("reservoir_s", &client.reservoir.as_secs_f64())?;
        map.serialize_entry("cushion_s", &client.cushion.as_secs_f64())?;
        map.serialize_entry("playback_buffer_s", &client.buffer.as_secs_f64())
    }
}

impl Generates for VideoClients {
    fn dialogues(&self, mut random: ChaCha8Rng) -> Dialogues {
        let starts = spread_starts(&mut random, self.begin, self.clients, self.spread);
        let client = self.client.clone();
        Box::new(starts.into_iter().rev().map(move |start| Dialogue::Video {
            start,
            client: client.clone(),
        }))
    }
}

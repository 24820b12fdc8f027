//! Video at one bitrate: a segment every few seconds.
//!
//! ## Deviations
//!
//! - The segments of a video follow each other at fixed times over one connection and do not adapt:
//!   data that the path cannot carry in time waits at the sender.

use serde::ser::SerializeMap;
use tables::{Key, Kind, Rules, Wrong, described};
use units::{Bytes, Duration, Rate};

use crate::generate::keys::{Segment, Sources, groups};
use crate::generate::resolved::sources;
use crate::generate::traffic::{Around, Sends, TrafficKeys};

/// Flows that periodically have a segment to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct VideoTraffic {
    /// How many.
    pub count: u32,
    /// Each starts at a random time within this span.
    pub spread: Duration,
    /// Bytes of a segment.
    pub segment: Bytes,
    /// Time from one segment to the next.
    pub every: Duration,
}

described! {
    #[derive(Clone, Debug)]
    pub struct Bitrate("bitrate", "[[traffic]]", "The bitrate of a video.") {
        /// Mean rate of the segments.
        bitrate: Rate = Rate::ZERO => Key::of(Kind::RATE).needed("5 Mbit/s");
    }
}
impl Rules for Bitrate {}

groups! {
    /// The keys of a video of one bitrate.
    pub struct VideoKeys { sources: Sources, bitrate: Bitrate, segment: Segment }
}

impl TrafficKeys for VideoKeys {
    type Traffic = VideoTraffic;

    fn traffic(&self, _around: &Around<'_>) -> Result<Self::Traffic, Wrong> {
        let every = self.segment.segment;
        let (count, spread) = self.sources.starts(every);
        let segment = self.bitrate.bitrate.bytes_in(every);
        if segment.is_zero() {
            return Err(Wrong::value("bitrate", "a segment would have no bytes"));
        }
        Ok(VideoTraffic {
            count,
            spread,
            segment,
            every,
        })
    }
}

impl Sends for VideoTraffic {
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        sources(map, self.count, self.spread)?;
        map.serialize_entry("segment_bytes", &self.segment.get())?;
        map.serialize_entry("every_s", &self.every.as_secs_f64())
    }
}

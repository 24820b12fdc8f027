//! Web traffic over one multiplexed connection per page, as under HTTP/2.
//!
//! The client requests a document, then all objects of the page at once. The server interleaves the
//! responses frame by frame, in turn. To the transport this is one stream of bytes, so the vector
//! has one unit for all objects. A [`Page`] says at which byte of that unit each response ends, so
//! that a response time can be measured for each.
//!
//! Source: RFC 9113, sections 4.1 and 4.2 (a frame header of 9 bytes, frames of at most 16,384
//! bytes by default). Priorities, header compression and flow control of streams are not modelled.
//! The numbers of objects and times are chosen.

use rand_chacha::ChaCha8Rng;
use serde::ser::SerializeMap;
use tables::{Key, Kind, Rules, Wrong, described};
use units::{Bytes, Duration, Instant};

use super::keys::{
    self, AT, Cut, Pareto, Request, Size, UNKNOWN, Work, groups, requests, responses,
};
use super::resolved::{size, time};
use super::traffic::{Around, Generates, Sends, TrafficKeys};
use super::{Arrivals, Numbers, REQUEST, web_responses};
use crate::dialogue::{Dialogues, scripts};
use crate::draw::{Sizes, Times, geometric};
use crate::suite::Framing;
use crate::{Connection, Exchange, MAX_UNIT, Side, Turn};

/// Payload of a full frame.
const FRAME: u64 = 16_384;
/// Header of a frame.
const FRAME_HEADER: u64 = 9;

/// Parameters of the traffic.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct MultiplexedConfig {
    /// Pages per second, a Poisson process.
    pub pages_per_s: f64,
    /// When the process begins.
    pub begin: Instant,
    /// Size of each request.
    pub request: Sizes,
    /// How long the server works on the document, and then on the objects.
    pub delay: Times,
    /// Size of the document.
    pub document: Sizes,
    /// How long the client reads the document before it requests the objects.
    pub parse: Times,
    /// The mean number of objects of a page (geometric, may be zero).
    pub objects: f64,
    /// Size of an object.
    pub object: Sizes,
}

impl MultiplexedConfig {
    /// The defaults, with this many pages per second: 20 objects on average, and the sizes of
    /// Scharf 2011.
    #[must_use]
    pub fn new(pages_per_s: f64) -> Self {
        Self {
            pages_per_s,
            begin: Instant::ZERO,
            request: Sizes::Constant(REQUEST),
            delay: Times::Exponential {
                mean: Duration::from_millis(20),
            },
            document: Sizes::Pareto(web_responses()),
            parse: Times::Constant(Duration::from_millis(50)),
            objects: 20.0,
            object: Sizes::Pareto(web_responses()),
        }
    }
}

impl MultiplexedConfig {
    /// The bytes that the server sends for a page on average, headers of frames included. Frames of
    /// random size count as if they were full.
    #[must_use]
    pub fn mean_page(&self) -> f64 {
        let of = |sizes: Sizes| match sizes {
            Sizes::Constant(size) => on_the_wire(size).get() as f64,
            _ => sizes.mean() * (1.0 + FRAME_HEADER as f64 / FRAME as f64),
        };
        of(self.document) + self.objects.max(0.0) * of(self.object)
    }
}

described! {
    #[derive(Clone, Debug)]
    pub struct Objects("objects", "[[traffic]]", "The objects of a page.") {
        /// Mean number of objects of a page (geometric).
        objects: f64 = 20.0 => Key::of(Kind::Number(0.0, 10_000.0));
        /// Time from a page's document to the requests for its objects.
        parse: Duration = Duration::from_millis(50) => Key::of(AT);
    }
}
impl Rules for Objects {}

groups! {
    /// Its keys.
    pub struct MultiplexedKeys {
        load: keys::Load,
        arrivals: keys::Arrivals,
        pareto: Pareto,
        cut: Cut,
        size: Size,
        request: Request,
        work: Work,
        own: Objects,
    }
}

impl TrafficKeys for MultiplexedKeys {
    type Traffic = MultiplexedConfig;

    fn traffic(&self, around: &Around<'_>) -> Result<Self::Traffic, Wrong> {
        let default = MultiplexedConfig::new(UNKNOWN);
        let sizes = responses(&self.pareto, &self.cut, &self.size, around.given)?;
        Ok(MultiplexedConfig {
            request: requests(&self.request, &self.work, 0.0),
            delay: self.work.delay(default.delay),
            document: sizes,
            parse: Times::Constant(self.own.parse),
            objects: self.own.objects,
            object: sizes,
            ..default
        })
    }
}

impl Sends for MultiplexedConfig {
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("arrivals_per_s", &self.pages_per_s)?;
        map.serialize_entry("request", &size(self.request))?;
        map.serialize_entry("server_delay", &time(self.delay))?;
        map.serialize_entry("document", &size(self.document))?;
        map.serialize_entry("parse", &time(self.parse))?;
        map.serialize_entry("objects", &self.objects)?;
        map.serialize_entry("object", &size(self.object))
    }

    fn bytes_per_arrival(&self, framing: Framing) -> Option<f64> {
        Some(self.mean_page() * framing.overhead())
    }

    fn set_arrivals_per_s(&mut self, per_s: f64) {
        self.pages_per_s = per_s;
    }
}

impl Generates for MultiplexedConfig {
    fn dialogues(&self, random: ChaCha8Rng) -> Dialogues {
        scripts(Multiplexed::new(*self, random))
    }
}

/// A page: its connection, and its objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// What the connection carries.
    pub connection: Connection,
    /// For each object, how many bytes of the last unit have been sent when it is complete.
    pub ends: Vec<Bytes>,
}

/// An endless iterator over connections; [`Multiplexed::next_page`] also gives the objects.
#[derive(Clone, Debug)]
pub struct Multiplexed {
    config: MultiplexedConfig,
    random: ChaCha8Rng,
    arrivals: Arrivals,
    numbers: Numbers,
}

impl Multiplexed {
    /// Draws from `random`.
    #[must_use]
    pub fn new(config: MultiplexedConfig, random: ChaCha8Rng) -> Self {
        Self {
            config,
            random,
            arrivals: Arrivals::new(config.pages_per_s, config.begin),
            numbers: Numbers::default(),
        }
    }

    /// Draws the next page.
    pub fn next_page(&mut self) -> Page {
        let config = self.config;
        let random = &mut self.random;
        let start = self.arrivals.next(random);
        let mut turns = Vec::with_capacity(4);
        let mut add = |side, wait, bytes: Bytes| {
            let bytes = bytes.min(MAX_UNIT);
            turns.push(Turn { side, wait, bytes });
        };
        add(Side::Initiator, Duration::ZERO, config.request.draw(random));
        let delay = config.delay.draw(random);
        add(
            Side::Acceptor,
            delay,
            on_the_wire(config.document.draw(random)),
        );
        let count = geometric(random, 1.0 / (config.objects.max(0.0) + 1.0));
        let mut sizes = Vec::new();
        let mut requests = Bytes::ZERO;
        for _ in 0..count {
            requests += config.request.draw(random);
            sizes.push(config.object.draw(random));
        }
        if count > 0 {
            add(Side::Initiator, config.parse.draw(random), requests);
            let delay = config.delay.draw(random);
            add(
                Side::Acceptor,
                delay,
                sizes.iter().copied().map(on_the_wire).sum(),
            );
        }
        let exchange = Exchange::sequential(turns, Duration::ZERO);
        Page {
            connection: self.numbers.connection(start, exchange),
            ends: interleaved_ends(&sizes),
        }
    }
}

impl Iterator for Multiplexed {
    type Item = Connection;

    fn next(&mut self) -> Option<Connection> {
        Some(self.next_page().connection)
    }
}

/// A response with the headers of its frames.
fn on_the_wire(size: Bytes) -> Bytes {
    size + Bytes::new(FRAME_HEADER) * size.get().div_ceil(FRAME)
}

/// For each of several responses that take turns frame by frame, the number of bytes sent, frame
/// headers included, when it is complete.
#[must_use]
pub fn interleaved_ends(sizes: &[Bytes]) -> Vec<Bytes> {
    let frames = |size: Bytes| size.get().div_ceil(FRAME);
    // What a response has sent after this many rounds.
    let after = |size: Bytes, rounds: u64| {
        let payload = size.min(Bytes::new(FRAME) * rounds);
        payload + Bytes::new(FRAME_HEADER) * frames(size).min(rounds)
    };
    let end = |place: usize| {
        let rounds = frames(sizes[place]);
        let before = sizes[..=place].iter().map(|&size| after(size, rounds));
        let behind = sizes[place + 1..].iter();
        let behind = behind.map(|&size| after(size, rounds.saturating_sub(1)));
        before.sum::<Bytes>() + behind.sum()
    };
    (0..sizes.len()).map(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_end_when_their_last_frame_does() {
        let sizes = [40_000, 10, 16_384, 20_000].map(Bytes::new);
        let ends = interleaved_ends(&sizes);
        // Rounds: 16384 10 16384 16384 | 16384 3616 | 7232, with 9 bytes before each frame.
        let expected = [
            76_394 + 7 * 9,
            16_394 + 2 * 9,
            32_778 + 3 * 9,
            69_162 + 6 * 9,
        ];
        assert_eq!(ends, expected.map(Bytes::new));
        let all: Bytes = sizes.into_iter().map(on_the_wire).sum();
        assert_eq!(ends.iter().max(), Some(&all));
    }
}

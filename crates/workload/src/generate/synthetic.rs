//! A substitute for recorded traces of connection vectors, which could not be obtained.
//!
//! Most connections are short and a minority of the responses exceeds 10 kB, as Scharf 2011 says of
//! his traces. The parameters are chosen, not fitted: [`Epochs`] has those of an epoch; a
//! connection has 1 + G epochs, where G counts failures before a success of probability 0.35 (2.9
//! epochs on average); one connection in 20 is concurrent and has as many units on each side, with
//! think times between them.

use rand_chacha::ChaCha8Rng;
use serde::ser::SerializeMap;
use tables::{Key, Kind, Rules, Wrong, described};
use units::{Duration, Instant};

use super::keys::{self, Cut, Pareto, Request, Size, Thoughts, UNKNOWN, Work, groups, responses};
use super::resolved::epochs;
use super::traffic::{Around, Generates, Sends, TrafficKeys};
use super::{Arrivals, Epochs, Numbers};
use crate::dialogue::{Dialogues, scripts};
use crate::draw::{Sizes, geometric, unit};
use crate::suite::Framing;
use crate::{Connection, Exchange, Script, Unit};

/// Parameters of the substitute.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SyntheticConfig {
    /// Connections per second, a Poisson process.
    pub arrivals_per_s: f64,
    /// When the process begins.
    pub begin: Instant,
    /// The epochs of a connection.
    pub epochs: Epochs,
    /// The probability that an epoch is the last one.
    pub last: f64,
    /// The fraction of concurrent connections.
    pub concurrent: f64,
    /// The fraction of connections with segments of 496 bytes instead of 1460, as in the traces of
    /// the Common TCP Evaluation Suite (0.1 there). Without it, connections have no segment size.
    pub small_segments: Option<f64>,
}

impl SyntheticConfig {
    /// The segment sizes of small and of other segments.
    pub const SEGMENTS: [u32; 2] = [496, 1460];

    /// The defaults, with this many connections per second.
    #[must_use]
    pub fn new(arrivals_per_s: f64) -> Self {
        Self {
            arrivals_per_s,
            begin: Instant::ZERO,
            epochs: Epochs::default(),
            last: 0.35,
            concurrent: 0.05,
            small_segments: None,
        }
    }
}

described! {
    #[derive(Clone, Debug)]
    pub struct Substitute("substitute", "[[traffic]]", "What a substitute has beside epochs.") {
        /// Fraction of the connections whose sides do not wait for each other.
        concurrent: f64 = 0.05 => Key::of(Kind::PERCENT);
        /// Fraction of the connections with segments of 496 bytes; the others have 1460.
        small_segments: Option<f64> = None => Key::of(Kind::PERCENT)
            .usually("none; segments are as large as the path allows");
    }
}
impl Rules for Substitute {}

groups! {
    /// Its keys.
    pub struct SyntheticKeys {
        load: keys::Load,
        arrivals: keys::Arrivals,
        pareto: Pareto,
        cut: Cut,
        size: Size,
        request: Request,
        work: Work,
        thoughts: Thoughts,
        own: Substitute,
    }
}

impl TrafficKeys for SyntheticKeys {
    type Traffic = SyntheticConfig;

    fn traffic(&self, around: &Around<'_>) -> Result<Self::Traffic, Wrong> {
        let default = SyntheticConfig::new(UNKNOWN);
        let response = responses(&self.pareto, &self.cut, &self.size, around.given)?;
        let requests = self.thoughts.requests;
        Ok(SyntheticConfig {
            epochs: self.thoughts.epochs(&self.request, &self.work, response),
            last: requests.map_or(default.last, |mean| 1.0 / mean),
            concurrent: self.own.concurrent,
            small_segments: self.own.small_segments,
            ..default
        })
    }
}

impl Sends for SyntheticConfig {
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("arrivals_per_s", &self.arrivals_per_s)?;
        epochs(map, &self.epochs)?;
        map.serialize_entry("requests", &(1.0 / self.last))?;
        map.serialize_entry("concurrent", &self.concurrent)?;
        map.serialize_entry("small_segments", &self.small_segments)
    }

    fn bytes_per_arrival(&self, framing: Framing) -> Option<f64> {
        let response = self.epochs.response;
        let of = |segment| response.mean_on_the_wire(Framing { segment, ..framing });
        let response = match self.small_segments {
            Some(small) => {
                let [of_small, of_large] = Self::SEGMENTS.map(of);
                small * of_small + (1.0 - small) * of_large
            }
            None => response.mean_on_the_wire(framing),
        };
        Some(response / self.last)
    }

    fn set_arrivals_per_s(&mut self, per_s: f64) {
        self.arrivals_per_s = per_s;
    }
}

impl Generates for SyntheticConfig {
    fn dialogues(&self, random: ChaCha8Rng) -> Dialogues {
        scripts(Synthetic::new(*self, random))
    }
}

/// An endless iterator over connections.
#[derive(Clone, Debug)]
pub struct Synthetic {
    config: SyntheticConfig,
    random: ChaCha8Rng,
    arrivals: Arrivals,
    numbers: Numbers,
}

impl Synthetic {
    /// Draws from `random`.
    #[must_use]
    pub fn new(config: SyntheticConfig, random: ChaCha8Rng) -> Self {
        Self {
            config,
            random,
            arrivals: Arrivals::new(config.arrivals_per_s, config.begin),
            numbers: Numbers::default(),
        }
    }

    fn script(&mut self, units: u32, sizes: Sizes) -> Script {
        let mut script = Script::default();
        for place in 0..units {
            let first = place == 0;
            let think = self.config.epochs.think;
            script.units.push(Unit {
                wait: if first {
                    Duration::ZERO
                } else {
                    think.draw(&mut self.random)
                },
                bytes: sizes.draw(&mut self.random),
            });
        }
        script
    }
}

impl Iterator for Synthetic {
    type Item = Connection;

    fn next(&mut self) -> Option<Connection> {
        let start = self.arrivals.next(&mut self.random);
        let concurrent = unit(&mut self.random) < self.config.concurrent;
        let epochs = geometric(&mut self.random, self.config.last).saturating_add(1);
        let exchange = if concurrent {
            let Epochs {
                request, response, ..
            } = self.config.epochs;
            Exchange::Concurrent([self.script(epochs, request), self.script(epochs, response)])
        } else {
            let turns = self.config.epochs.draw(epochs, &mut self.random);
            Exchange::sequential(turns, Duration::ZERO)
        };
        let mut connection = self.numbers.connection(start, exchange);
        if let Some(fraction) = self.config.small_segments {
            let [small, large] = SyntheticConfig::SEGMENTS;
            let is_small = unit(&mut self.random) < fraction;
            connection.headers.mss = Some([if is_small { small } else { large }; 2]);
        }
        Some(connection)
    }
}

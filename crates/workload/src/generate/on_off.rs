//! Sources that write bursts and pause between them.
//!
//! A burst is what the source's rate produces in its ON time, written at once. The OFF time counts
//! from when the burst has been sent, as every wait of a connection vector. Over a path that is
//! faster than the source, the mean rate is therefore above `rate * on / (on + off)`.

use rand_chacha::ChaCha8Rng;
use serde::ser::SerializeMap;
use tables::Wrong;
use units::{Bytes, Duration, Instant, Rate};

use super::Numbers;
use super::keys::{Bursts, Sources, groups};
use super::resolved::{sources, time};
use super::traffic::{Around, Generates, Sends, TrafficKeys};
use crate::dialogue::{Dialogues, scripts};
use crate::draw::{Times, spread_starts};
use crate::{Connection, Exchange, MAX_UNIT, Script, Side, Unit};

/// Most bursts of a source.
const BURSTS: usize = 1_000_000;

/// Parameters of the sources.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct OnOffConfig {
    /// How many.
    pub count: u32,
    /// The earliest start.
    pub begin: Instant,
    /// The span of the starts.
    pub spread: Duration,
    /// How long a source lives: the sum of its ON and OFF times. A source writes at most a million
    /// bursts.
    pub lifetime: Duration,
    /// Rate of a source in its ON times.
    pub rate: Rate,
    /// ON times.
    pub on: Times,
    /// OFF times.
    pub off: Times,
    /// Who sends.
    pub sender: Side,
}

/// How long a source lives if its table has no duration.
const LIFETIME: Duration = Duration::from_secs(3600);

groups! {
    /// Their keys.
    pub struct OnOffKeys { sources: Sources, bursts: Bursts }
}

impl TrafficKeys for OnOffKeys {
    type Traffic = OnOffConfig;

    fn traffic(&self, around: &Around<'_>) -> Result<Self::Traffic, Wrong> {
        let Bursts { rate, on, off } = self.bursts;
        let off = off.unwrap_or(Duration::from_secs(1));
        let (count, spread) = self.sources.starts(on + off);
        Ok(OnOffConfig {
            count,
            begin: Instant::ZERO,
            spread,
            lifetime: around.duration.unwrap_or(LIFETIME),
            rate,
            on: Times::Exponential { mean: on },
            off: Times::Exponential { mean: off },
            sender: Side::Acceptor,
        })
    }
}

impl Sends for OnOffConfig {
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        sources(map, self.count, self.spread)?;
        map.serialize_entry("rate_bps", &self.rate.bits_per_sec())?;
        map.serialize_entry("on", &time(self.on))?;
        map.serialize_entry("off", &time(self.off))?;
        map.serialize_entry("lifetime_s", &self.lifetime.as_secs_f64())
    }
}

impl Generates for OnOffConfig {
    fn dialogues(&self, random: ChaCha8Rng) -> Dialogues {
        scripts(OnOff::new(*self, random))
    }
}

/// An iterator over the connections, one for each source.
#[derive(Clone, Debug)]
pub struct OnOff {
    config: OnOffConfig,
    random: ChaCha8Rng,
    /// The next start last.
    starts: Vec<Instant>,
    numbers: Numbers,
}

impl OnOff {
    /// Draws from `random`.
    #[must_use]
    pub fn new(config: OnOffConfig, mut random: ChaCha8Rng) -> Self {
        Self {
            starts: spread_starts(&mut random, config.begin, config.count, config.spread),
            config,
            random,
            numbers: Numbers::default(),
        }
    }
}

impl Iterator for OnOff {
    type Item = Connection;

    fn next(&mut self) -> Option<Connection> {
        let start = self.starts.pop()?;
        let config = &self.config;
        let mut script = Script::default();
        let mut left = config.lifetime;
        let mut wait = Duration::ZERO;
        while (script.units.is_empty() || !left.is_zero()) && script.units.len() < BURSTS {
            let on = config.on.draw(&mut self.random).min(left);
            let bytes = config.rate.bytes_in(on).clamp(Bytes::new(1), MAX_UNIT);
            script.units.push(Unit { wait, bytes });
            wait = config.off.draw(&mut self.random);
            left = left.saturating_sub(on).saturating_sub(wait);
        }
        let mut scripts = [Script::default(), Script::default()];
        scripts[config.sender.index()] = script;
        Some(
            self.numbers
                .connection(start, Exchange::Concurrent(scripts)),
        )
    }
}

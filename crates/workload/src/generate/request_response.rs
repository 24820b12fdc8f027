//! Clients that send requests over one connection each and think between them: a closed loop, in
//! which a slow network slows the requests.

use rand_chacha::ChaCha8Rng;
use serde::ser::SerializeMap;
use tables::Wrong;
use units::{Duration, Instant};

use super::keys::{Cut, Pareto, Request, Size, Sources, Thoughts, Work, groups, responses};
use super::resolved::{epochs, sources};
use super::traffic::{Around, Generates, Sends, TrafficKeys};
use super::{Epochs, Numbers};
use crate::dialogue::{Dialogues, scripts};
use crate::draw::spread_starts;
use crate::{Connection, Exchange};

/// Parameters of the clients.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RequestResponseConfig {
    /// How many.
    pub clients: u32,
    /// The earliest start.
    pub begin: Instant,
    /// The span of the starts.
    pub spread: Duration,
    /// The number of requests of a client, at least one.
    pub requests: u32,
    /// Requests, responses and the times between them.
    pub epochs: Epochs,
}

/// Requests of a client unless the file says otherwise.
const REQUESTS: u32 = 100;

groups! {
    /// Their keys.
    pub struct RequestResponseKeys {
        sources: Sources,
        pareto: Pareto,
        cut: Cut,
        size: Size,
        request: Request,
        work: Work,
        thoughts: Thoughts,
    }
}

impl TrafficKeys for RequestResponseKeys {
    type Traffic = RequestResponseConfig;

    fn traffic(&self, around: &Around<'_>) -> Result<Self::Traffic, Wrong> {
        let (clients, spread) = self.sources.starts(Duration::from_secs(1));
        let requests = self.thoughts.requests.unwrap_or(REQUESTS.into());
        if requests.fract() != 0.0 {
            return Err(Wrong::at(
                "requests",
                "a client sends a whole number of requests",
            ));
        }
        let response = responses(&self.pareto, &self.cut, &self.size, around.given)?;
        Ok(RequestResponseConfig {
            clients,
            begin: Instant::ZERO,
            spread,
            requests: requests as u32,
            epochs: self.thoughts.epochs(&self.request, &self.work, response),
        })
    }
}

impl Sends for RequestResponseConfig {
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        sources(map, self.clients, self.spread)?;
        epochs(map, &self.epochs)?;
        map.serialize_entry("requests", &self.requests)
    }
}

impl Generates for RequestResponseConfig {
    fn dialogues(&self, random: ChaCha8Rng) -> Dialogues {
        scripts(RequestResponse::new(*self, random))
    }
}

/// An iterator over the connections, one for each client.
#[derive(Clone, Debug)]
pub struct RequestResponse {
    config: RequestResponseConfig,
    random: ChaCha8Rng,
    /// The next start last.
    starts: Vec<Instant>,
    numbers: Numbers,
}

impl RequestResponse {
    /// Draws from `random`.
    #[must_use]
    pub fn new(config: RequestResponseConfig, mut random: ChaCha8Rng) -> Self {
        Self {
            starts: spread_starts(&mut random, config.begin, config.clients, config.spread),
            config,
            random,
            numbers: Numbers::default(),
        }
    }
}

impl Iterator for RequestResponse {
    type Item = Connection;

    fn next(&mut self) -> Option<Connection> {
        let start = self.starts.pop()?;
        let requests = self.config.requests.max(1);
        let turns = self.config.epochs.draw(requests, &mut self.random);
        let exchange = Exchange::sequential(turns, Duration::ZERO);
        Some(self.numbers.connection(start, exchange))
    }
}

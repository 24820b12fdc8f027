//! Clients that send requests over one connection each and think between them: a closed loop, in
//! which a slow network slows the requests.

use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant};

use super::{Epochs, Numbers};
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

//! Web traffic as under HTTP/1.0: one response per connection, which the server closes.
//!
//! Source: Scharf 2011, workload 2. The request size is chosen.

use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant};

use super::{Arrivals, Epochs, Numbers, REQUEST, web_responses};
use crate::draw::{Sizes, Times};
use crate::{Connection, Exchange};

/// Parameters of the traffic.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Http10Config {
    /// Responses per second, a Poisson process. [`crate::suite::arrivals_per_s`] derives it from a
    /// load.
    pub arrivals_per_s: f64,
    /// When the process begins.
    pub begin: Instant,
    /// Size of a request.
    pub request: Sizes,
    /// How long the server works on a request.
    pub delay: Times,
    /// Size of a response.
    pub response: Sizes,
}

impl Http10Config {
    /// The defaults, with this many responses per second: requests of 400 bytes, a server without
    /// delay, the responses of Scharf 2011.
    #[must_use]
    pub fn new(arrivals_per_s: f64) -> Self {
        Self {
            arrivals_per_s,
            begin: Instant::ZERO,
            request: Sizes::Constant(REQUEST),
            delay: Times::Constant(Duration::ZERO),
            response: Sizes::Pareto(web_responses()),
        }
    }
}

/// An endless iterator over connections.
#[derive(Clone, Debug)]
pub struct Http10 {
    epochs: Epochs,
    random: ChaCha8Rng,
    arrivals: Arrivals,
    numbers: Numbers,
}

impl Http10 {
    /// Draws from `random`.
    #[must_use]
    pub fn new(config: Http10Config, random: ChaCha8Rng) -> Self {
        Self {
            epochs: Epochs {
                request: config.request,
                delay: config.delay,
                response: config.response,
                think: Times::Constant(Duration::ZERO),
            },
            random,
            arrivals: Arrivals::new(config.arrivals_per_s, config.begin),
            numbers: Numbers::default(),
        }
    }
}

impl Iterator for Http10 {
    type Item = Connection;

    fn next(&mut self) -> Option<Connection> {
        let start = self.arrivals.next(&mut self.random);
        let turns = self.epochs.draw(1, &mut self.random);
        let exchange = Exchange::sequential(turns, Duration::ZERO);
        Some(self.numbers.connection(start, exchange))
    }
}

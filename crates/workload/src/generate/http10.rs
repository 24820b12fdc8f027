//! Web traffic as under HTTP/1.0: one response per connection, which the server closes.
//!
//! Source: Scharf 2011, workload 2. The request size is chosen.

use rand_chacha::ChaCha8Rng;
use serde::ser::SerializeMap;
use tables::Wrong;
use units::{Duration, Instant};

use super::keys::{self, Cut, Pareto, Request, Size, UNKNOWN, Work, groups, requests, responses};
use super::resolved::{size, time};
use super::traffic::{Around, Generates, Sends, TrafficKeys};
use super::{Arrivals, Epochs, Numbers, REQUEST, web_responses};
use crate::dialogue::{Dialogues, scripts};
use crate::draw::{Sizes, Times};
use crate::suite::Framing;
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

groups! {
    /// Its keys.
    pub struct Http10Keys {
        load: keys::Load,
        arrivals: keys::Arrivals,
        pareto: Pareto,
        cut: Cut,
        size: Size,
        request: Request,
        work: Work,
    }
}

impl TrafficKeys for Http10Keys {
    type Traffic = Http10Config;

    fn traffic(&self, around: &Around<'_>) -> Result<Self::Traffic, Wrong> {
        let default = Http10Config::new(UNKNOWN);
        Ok(Http10Config {
            request: requests(&self.request, &self.work, 0.0),
            delay: self.work.delay(default.delay),
            response: responses(&self.pareto, &self.cut, &self.size, around.given)?,
            ..default
        })
    }
}

impl Sends for Http10Config {
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("arrivals_per_s", &self.arrivals_per_s)?;
        map.serialize_entry("request", &size(self.request))?;
        map.serialize_entry("server_delay", &time(self.delay))?;
        map.serialize_entry("response", &size(self.response))
    }

    fn bytes_per_arrival(&self, framing: Framing) -> Option<f64> {
        Some(self.response.mean_on_the_wire(framing))
    }

    fn set_arrivals_per_s(&mut self, per_s: f64) {
        self.arrivals_per_s = per_s;
    }
}

impl Generates for Http10Config {
    fn dialogues(&self, random: ChaCha8Rng) -> Dialogues {
        scripts(Http10::new(*self, random))
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

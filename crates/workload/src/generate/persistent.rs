//! Web traffic over persistent connections, as under HTTP/1.1 without pipelining.
//!
//! A session sends requests one after the other with think times between them, and uses its
//! connection again as long as the server keeps it open. The server closes a connection that has
//! been idle for the time-out. If a think time is longer, the next request opens a new connection.
//!
//! A script does not know how long the network takes. The next connection of a session therefore
//! starts when its think time would end if data took no time.
//!
//! Source: RFC 9112, section 9.3 (persistence). The numbers are chosen; the time-out is the default
//! of the Apache HTTP server 2.4 (`KeepAliveTimeout`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand_chacha::ChaCha8Rng;
use serde::ser::SerializeMap;
use tables::{Key, Rules, Wrong, described};
use units::{Duration, Instant};

use super::keys::{
    self, Cut, INTERVAL, Pareto, Request, Size, Thoughts, UNKNOWN, Work, groups, responses,
};
use super::resolved::epochs;
use super::traffic::{Around, Generates, Sends, TrafficKeys};
use super::{Arrivals, Epochs, Numbers};
use crate::dialogue::{Dialogues, scripts};
use crate::draw::geometric;
use crate::suite::Framing;
use crate::{Connection, Exchange};

/// Parameters of the traffic.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PersistentConfig {
    /// Sessions per second, a Poisson process.
    pub sessions_per_s: f64,
    /// When the process begins.
    pub begin: Instant,
    /// Requests, responses and the times between them.
    pub epochs: Epochs,
    /// The mean number of requests in a session (geometric, at least one).
    pub requests: f64,
    /// How long the server keeps an idle connection.
    pub idle_timeout: Duration,
}

impl PersistentConfig {
    /// The defaults, with this many sessions per second: 10 requests on average, a time-out of 5 s.
    #[must_use]
    pub fn new(sessions_per_s: f64) -> Self {
        Self {
            sessions_per_s,
            begin: Instant::ZERO,
            epochs: Epochs::default(),
            requests: 10.0,
            idle_timeout: Duration::from_secs(5),
        }
    }
}

/// A session that opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Session {
    at: Instant,
    number: u64,
    /// The requests that it has not sent.
    requests: u32,
}

groups! {
    /// Its keys.
    pub struct PersistentKeys {
        load: keys::Load,
        arrivals: keys::Arrivals,
        pareto: Pareto,
        cut: Cut,
        size: Size,
        request: Request,
        work: Work,
        thoughts: Thoughts,
        own: IdleTimeout,
    }
}

described! {
    #[derive(Clone, Debug)]
    pub struct IdleTimeout("idle-timeout", "[[traffic]]", "How long a connection stays open.") {
        /// Time after which a server closes an idle connection.
        idle_timeout: Duration = Duration::from_secs(5) => Key::of(INTERVAL);
    }
}
impl Rules for IdleTimeout {}

impl TrafficKeys for PersistentKeys {
    type Traffic = PersistentConfig;

    fn traffic(&self, around: &Around<'_>) -> Result<Self::Traffic, Wrong> {
        let default = PersistentConfig::new(UNKNOWN);
        let response = responses(&self.pareto, &self.cut, &self.size, around.given)?;
        Ok(PersistentConfig {
            epochs: self.thoughts.epochs(&self.request, &self.work, response),
            requests: self.thoughts.requests.unwrap_or(default.requests),
            idle_timeout: self.own.idle_timeout,
            ..default
        })
    }
}

impl Sends for PersistentConfig {
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("arrivals_per_s", &self.sessions_per_s)?;
        epochs(map, &self.epochs)?;
        map.serialize_entry("requests", &self.requests)?;
        map.serialize_entry("idle_timeout_s", &self.idle_timeout.as_secs_f64())
    }

    fn bytes_per_arrival(&self, framing: Framing) -> Option<f64> {
        Some(self.requests.max(1.0) * self.epochs.response.mean_on_the_wire(framing))
    }

    fn set_arrivals_per_s(&mut self, per_s: f64) {
        self.sessions_per_s = per_s;
    }
}

impl Generates for PersistentConfig {
    fn dialogues(&self, random: ChaCha8Rng) -> Dialogues {
        scripts(Persistent::new(*self, random))
    }
}

/// An endless iterator over connections.
#[derive(Clone, Debug)]
pub struct Persistent {
    config: PersistentConfig,
    random: ChaCha8Rng,
    arrivals: Arrivals,
    numbers: Numbers,
    /// The session that arrives next.
    arriving: Session,
    /// Sessions that open another connection, the next one on top.
    waiting: BinaryHeap<Reverse<Session>>,
}

impl Persistent {
    /// Draws from `random`.
    #[must_use]
    pub fn new(config: PersistentConfig, random: ChaCha8Rng) -> Self {
        let mut persistent = Self {
            config,
            random,
            arrivals: Arrivals::new(config.sessions_per_s, config.begin),
            numbers: Numbers::default(),
            arriving: Session {
                at: config.begin,
                number: 0,
                requests: 1,
            },
            waiting: BinaryHeap::new(),
        };
        persistent.arrive();
        persistent
    }

    /// Draws the next session.
    fn arrive(&mut self) {
        let last = 1.0 / self.config.requests.max(1.0);
        self.arriving = Session {
            at: self.arrivals.next(&mut self.random),
            number: self.arriving.number + 1,
            requests: geometric(&mut self.random, last).saturating_add(1),
        };
    }
}

impl Iterator for Persistent {
    type Item = Connection;

    fn next(&mut self) -> Option<Connection> {
        let waits = self
            .waiting
            .peek()
            .is_some_and(|first| first.0 <= self.arriving);
        let session = if waits {
            self.waiting.pop().map(|first| first.0)
        } else {
            None
        };
        let mut session = session.unwrap_or_else(|| {
            let arrived = self.arriving;
            self.arrive();
            arrived
        });
        let start = session.at;
        let Epochs { think: thinks, .. } = self.config.epochs;
        let mut turns = Vec::new();
        let mut think = Duration::ZERO;
        loop {
            self.config.epochs.push(&mut turns, think, &mut self.random);
            session.requests -= 1;
            if session.requests == 0 {
                break;
            }
            think = thinks.draw(&mut self.random);
            if think >= self.config.idle_timeout {
                let waited = turns.iter().map(|turn| turn.wait);
                session.at = start + waited.fold(think, |sum, wait| sum + wait);
                self.waiting.push(Reverse(session));
                break;
            }
        }
        let exchange = Exchange::sequential(turns, self.config.idle_timeout);
        Some(self.numbers.connection(start, exchange))
    }
}

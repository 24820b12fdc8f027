//! `[[traffic]]` as data, without a file.

use units::{Bytes, Duration, Instant, Rate};
use workload::Plan;

use super::{Flow, PathModel};

/// A direction of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Data travels like that of the scenario's flows.
    Forward,
    /// Data travels like the ACKs of the scenario's flows.
    Reverse,
}

/// What background traffic sends.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum TrafficKind {
    /// Responses of random size that start at random.
    Web {
        /// Mean number of starts per second.
        arrivals_per_s: f64,
        /// Mean size.
        mean: Bytes,
        /// Shape of the Pareto distribution.
        shape: f64,
        /// Largest size.
        cut: Bytes,
    },
    /// Saturated flows.
    Bulk {
        /// How many.
        count: u32,
        /// Each starts at a random time within this span.
        spread: Duration,
        /// Bytes of each flow; `None` if unlimited.
        size: Option<Bytes>,
    },
    /// Flows that periodically have a segment to send.
    Video {
        /// How many.
        count: u32,
        /// Each starts at a random time within this span.
        spread: Duration,
        /// Bytes of a segment.
        segment: Bytes,
        /// Time from one segment to the next.
        every: Duration,
    },
    /// Full packets at a fixed rate, without ACKs.
    Datagrams {
        /// How many sources.
        count: u32,
        /// Each starts at a random time within this span.
        spread: Duration,
        /// Rate of one source while it sends, in bytes of IP.
        rate: Rate,
        /// Time for which it sends.
        on: Duration,
        /// Time for which it then pauses.
        off: Duration,
    },
    /// Connections in which both sides write. The acceptor's data takes the direction of the table.
    Exchanges(Plan),
}

impl TrafficKind {
    /// Its word in a file.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Web { .. } => "web",
            Self::Bulk { .. } => "bulk",
            Self::Video { .. } => "video",
            Self::Datagrams { .. } => "datagrams",
            Self::Exchanges(plan) => plan.name(),
        }
    }
}

/// One `[[traffic]]` table.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// Its name in results, which also selects its random stream; unique.
    pub name: String,
    /// What it sends.
    pub kind: TrafficKind,
    /// Direction of its data.
    pub direction: Direction,
    /// The settings of each of its connections, except size, start and access link.
    pub flow: Flow,
    /// One-way delays of the flows' own access links, taken in turn. At least one.
    pub extra_delays: Vec<Duration>,
    /// Time at which it starts, from the start of the run.
    pub start: Instant,
    /// Time at which it ends. Connections are cut, except those of web traffic, which only starts
    /// no new ones.
    pub stop: Option<Instant>,
    /// Whether the result lists each of its flows.
    pub list_flows: bool,
}

impl PathModel {
    /// The rate that a load in this direction refers to; `None` if unlimited, and without a path.
    #[must_use]
    pub fn rate_of(&self, direction: Direction) -> Option<Rate> {
        match direction {
            _ if self.is_absent => None,
            Direction::Forward => Some(self.rate),
            Direction::Reverse => self.reverse.service.mean_rate(),
        }
    }
}

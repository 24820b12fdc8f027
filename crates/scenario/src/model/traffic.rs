//! `[[traffic]]` once it is read.

use units::{Bytes, Duration, Instant, Rate};

use super::{Flow, PathModel};

/// A direction of the path, by who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Data travels as that of the scenario's flows does.
    Forward,
    /// Data travels where the ACKs of the scenario's flows do.
    Reverse,
}

/// What other traffic sends.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum TrafficKind {
    /// Responses of random size that begin at random.
    Web {
        /// How many begin in a second, in the mean.
        arrivals_per_s: f64,
        /// Mean size.
        mean: Bytes,
        /// Shape of the Pareto distribution.
        shape: f64,
        /// Largest size.
        cut: Bytes,
    },
    /// Flows that send as much as they can.
    Bulk {
        /// How many.
        count: u32,
        /// Each begins at random within this time.
        spread: Duration,
        /// What each sends; `None` without an end.
        size: Option<Bytes>,
    },
    /// Flows that are handed a segment again and again.
    Video {
        /// How many.
        count: u32,
        /// Each begins at random within this time.
        spread: Duration,
        /// Bytes of a segment.
        segment: Bytes,
        /// Time from one segment to the next.
        every: Duration,
    },
    /// Full packets at a fixed rate that nothing answers.
    Datagrams {
        /// How many sources.
        count: u32,
        /// Each begins at random within this time.
        spread: Duration,
        /// Rate of one source while it sends, in bytes of IP.
        rate: Rate,
        /// How long it sends.
        on: Duration,
        /// How long it then pauses.
        off: Duration,
    },
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
        }
    }
}

/// One `[[traffic]]` table.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// Its name in results, and of its random stream: no other has the same.
    pub name: String,
    /// What it sends.
    pub kind: TrafficKind,
    /// Where its data travels.
    pub direction: Direction,
    /// The settings of each of its connections. Sizes, starts and accesses are the traffic's.
    pub flow: Flow,
    /// Delays of its flows' own accesses, one way, which they take in turn. At least one.
    pub extra_delays: Vec<Duration>,
    /// When it begins, since the run began.
    pub start: Instant,
    /// When it ends: connections are cut, but of web-like traffic none begins any more.
    pub stop: Option<Instant>,
    /// Whether the result lists each of its flows.
    pub list_flows: bool,
}

impl PathModel {
    /// The rate by which a load in this direction is counted; `None` where there is no end to it.
    #[must_use]
    pub fn rate_of(&self, direction: Direction) -> Option<Rate> {
        match direction {
            Direction::Forward => Some(self.rate),
            Direction::Reverse => self.reverse.service.mean_rate(),
        }
    }
}

//! `[[traffic]]` as data, without a file.

use units::{Duration, Instant, Rate};
use workload::TrafficKind;

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

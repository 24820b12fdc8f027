//! `[[hosts]]` as data, without a file.

use network::QueueLimit;
use units::{Duration, Rate};

/// An end of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Where the forward direction begins.
    Left,
    /// Where it ends.
    Right,
}

/// Hosts at one end of the path, each behind an access link of its own. With hosts at both ends the
/// path is the bottleneck of a dumbbell.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosts {
    /// Its name in `from` and `to`; unique.
    pub name: String,
    /// The end of the path.
    pub at: End,
    /// How many.
    pub count: u32,
    /// Rate of each access link, in each direction; `None` if unlimited.
    pub rate: Option<Rate>,
    /// Queue limit of each access link, in each direction.
    pub buffer: QueueLimit,
    /// Bytes that an access link counts for each packet beside IP.
    pub overhead: u32,
    /// One-way delays of the access links, which the hosts take in turn. At least one.
    pub delays: Vec<Duration>,
}

impl Hosts {
    /// The host that takes the `turn`-th connection, counted from zero.
    #[must_use]
    pub const fn host(&self, turn: u64) -> u32 {
        (turn % self.count as u64) as u32
    }

    /// The one-way delay of the access link of a host.
    #[must_use]
    pub fn delay(&self, host: u32) -> Duration {
        self.delays[host as usize % self.delays.len()]
    }
}

/// The hosts between which data goes: the numbers of two `[[hosts]]` tables. `None` is the end of
/// the path itself, without an access link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Ends {
    /// Where the data comes from.
    pub from: Option<u32>,
    /// Where it goes to.
    pub to: Option<u32>,
}

//! `[[hosts]]` as data, without a file.

use network::QueueLimit;
use units::{Duration, Rate};

use super::Node;

/// Hosts at a node, each behind an access link of its own. With hosts at both ends of the path, the
/// path is the bottleneck of a dumbbell.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosts {
    /// Its name in `from` and `to`; unique.
    pub name: String,
    /// The node that their access links lead to.
    pub at: Node,
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

/// Where data comes from, or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Place {
    /// The hosts of a `[[hosts]]` table, in turn: its number.
    Hosts(u32),
    /// A node itself, without an access link.
    Node(Node),
    /// A node of the cloud that is drawn at random: for each run, or for each connection of
    /// background traffic.
    Any,
}

/// The places between which data goes. `None` is the end of the path in the direction of the data,
/// or [`Place::Any`] if there is no path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Ends {
    /// Where the data comes from.
    pub from: Option<Place>,
    /// Where it goes to.
    pub to: Option<Place>,
}

impl Ends {
    /// Both drawn at random.
    pub const ANY: Self = Self {
        from: Some(Place::Any),
        to: Some(Place::Any),
    };

    /// Whether either is drawn at random.
    #[must_use]
    pub fn is_drawn(self) -> bool {
        self.from == Some(Place::Any) || self.to == Some(Place::Any)
    }
}

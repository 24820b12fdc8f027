//! A connection vector: what the two applications of one connection send, and when.
//!
//! Source: the a-b-t model of Weigle et al. 2006, "Tmix". Application data units alternate between
//! the sides (`a` bytes from the initiator, `b` bytes from the acceptor, `t` the time to the next
//! `a`). In a sequential exchange each unit waits for the one before it. In a concurrent exchange
//! each side follows its own clock.

use std::fmt;

use units::{Bytes, Duration, Instant};

/// Largest application data unit: 10^15 bytes, which no run transfers.
pub const MAX_UNIT: Bytes = Bytes::new(1_000_000_000_000_000);

/// A side of a connection.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum Side {
    /// The side that opens the connection, such as a client.
    Initiator,
    /// The side that accepts it, such as a server.
    Acceptor,
}

impl Side {
    /// Both sides, in the order of every pair in this crate.
    pub const BOTH: [Self; 2] = [Self::Initiator, Self::Acceptor];

    /// The other side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Initiator => Self::Acceptor,
            Self::Acceptor => Self::Initiator,
        }
    }

    /// The side's place in a pair.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// What a file says about the two hosts and their path. A simulator with a topology ignores
/// `min_rtt` and `loss`. Pairs are in the order of [`Side::BOTH`].
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Headers {
    /// Maximum segment size of each side, in bytes.
    pub mss: Option<[u32; 2]>,
    /// Receive window of each side, in bytes.
    pub windows: Option<[u32; 2]>,
    /// Smallest RTT of the connection.
    pub min_rtt: Option<Duration>,
    /// Loss probability of the packets that each side sends.
    pub loss: Option<[f64; 2]>,
}

/// A unit of a sequential exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Turn {
    /// The side that sends.
    pub side: Side,
    /// How long the side waits: since it has sent the unit before this one, if that was its own,
    /// and otherwise since it has received it. Zero for the first unit.
    pub wait: Duration,
    /// The size of the unit, positive.
    pub bytes: Bytes,
}

/// The end of a sequential exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Close {
    /// The side that sends its FIN first.
    pub side: Side,
    /// How long it waits since the last unit, counted as in [`Turn::wait`].
    pub wait: Duration,
}

/// A unit of one side of a concurrent exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Unit {
    /// How long the side waits since it has sent its own previous unit. Zero for its first one.
    pub wait: Duration,
    /// The size of the unit, positive.
    pub bytes: Bytes,
}

/// One side of a concurrent exchange.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Script {
    /// What the side sends, in order.
    pub units: Vec<Unit>,
    /// How long it waits since its last unit before its FIN. Zero without units.
    pub close: Duration,
}

/// What the two sides send.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Exchange {
    /// Each unit waits for the one before it.
    Sequential {
        /// The units, in order.
        turns: Vec<Turn>,
        /// Who closes the connection, and when.
        close: Close,
    },
    /// Each side follows its own clock, from the start of the connection.
    Concurrent([Script; 2]),
}

/// What the applications of one connection send, and when.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Connection {
    /// When the initiator opens it, from the start of the workload.
    pub start: Instant,
    /// Its own identifier: the last number of its first line in a Tmix file.
    pub id: u64,
    /// The identifier of its subset: the number before `id`.
    pub group: u64,
    /// What a file says about hosts and path.
    pub headers: Headers,
    /// What the sides send.
    pub exchange: Exchange,
}

/// Why a connection vector means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsound {
    /// Neither side sends anything.
    Silent,
    /// A unit without bytes.
    EmptyUnit,
    /// A unit above [`MAX_UNIT`].
    HugeUnit,
    /// A wait before the first unit of an exchange, or of a side of a concurrent one.
    FirstWait,
    /// A side without units waits before its FIN.
    SilentWait,
}

impl fmt::Display for Unsound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Silent => "the connection has no data in either direction",
            Self::EmptyUnit => "a data unit has 0 bytes",
            Self::HugeUnit => "a data unit has more than 10^15 bytes",
            Self::FirstWait => "a side waits before its first data unit",
            Self::SilentWait => "a side without data waits before its FIN",
        })
    }
}

impl std::error::Error for Unsound {}

impl Script {
    /// The units, as turns of `side`.
    fn turns(&self, side: Side) -> impl Iterator<Item = Turn> {
        let turn = move |&Unit { wait, bytes }: &Unit| Turn { side, wait, bytes };
        self.units.iter().map(turn)
    }
}

impl Exchange {
    /// A sequential exchange whose last sender closes `wait` after the last unit.
    ///
    /// # Panics
    ///
    /// Panics if there are no turns.
    #[must_use]
    pub fn sequential(turns: Vec<Turn>, wait: Duration) -> Self {
        let side = turns.last().expect("an exchange has a unit").side;
        let close = Close { side, wait };
        Self::Sequential { turns, close }
    }

    /// The units that either side sends, in order of the exchange, or side by side.
    pub fn units(&self) -> impl Iterator<Item = Turn> {
        let (turns, scripts): (&[Turn], &[Script]) = match self {
            Self::Sequential { turns, .. } => (turns, &[]),
            Self::Concurrent(scripts) => (&[], scripts),
        };
        let scripts = Side::BOTH.into_iter().zip(scripts);
        let concurrent = scripts.flat_map(|(side, script)| script.turns(side));
        turns.iter().copied().chain(concurrent)
    }

    /// The smallest and the largest number of epochs that this exchange can be said to have; zero
    /// for a concurrent one.
    ///
    /// An epoch is a request and its response. If a side sends twice in a row, the two units are
    /// either parts of one request or response, or the second one starts an epoch whose other half
    /// is empty. Without such rows both numbers are the same.
    #[must_use]
    pub fn epochs(&self) -> (u32, u32) {
        let Self::Sequential { turns, .. } = self else {
            return (0, 0);
        };
        let (mut few, mut many) = (0u32, 0u32);
        let mut last = None;
        for turn in turns {
            let repeats = last == Some(turn.side);
            let asks = last.is_none() || turn.side == Side::Initiator;
            few += u32::from(asks && !repeats);
            many += u32::from(asks || repeats);
            last = Some(turn.side);
        }
        (few, many)
    }
}

impl Connection {
    /// The payload that each side sends.
    #[must_use]
    pub fn payload(&self) -> [Bytes; 2] {
        let mut sums = [Bytes::ZERO; 2];
        for unit in self.exchange.units() {
            sums[unit.side.index()] += unit.bytes;
        }
        sums
    }

    /// Checks that the vector means something. Every reader and generator of this crate yields
    /// sound connections.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub fn check(&self) -> Result<(), Unsound> {
        let mut any = false;
        for unit in self.exchange.units() {
            any = true;
            if unit.bytes.is_zero() {
                return Err(Unsound::EmptyUnit);
            }
            if unit.bytes > MAX_UNIT {
                return Err(Unsound::HugeUnit);
            }
        }
        if !any {
            return Err(Unsound::Silent);
        }
        let waits_first = |wait: Option<Duration>| wait.is_some_and(|wait| !wait.is_zero());
        let first = match &self.exchange {
            Exchange::Sequential { turns, .. } => waits_first(turns.first().map(|turn| turn.wait)),
            Exchange::Concurrent(scripts) => scripts
                .iter()
                .any(|script| waits_first(script.units.first().map(|unit| unit.wait))),
        };
        if first {
            return Err(Unsound::FirstWait);
        }
        if let Exchange::Concurrent(scripts) = &self.exchange {
            let waits = |script: &Script| script.units.is_empty() && !script.close.is_zero();
            if scripts.iter().any(waits) {
                return Err(Unsound::SilentWait);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(sides: &str) -> Exchange {
        let turn = |side| Turn {
            side: if side == '>' {
                Side::Initiator
            } else {
                Side::Acceptor
            },
            wait: Duration::ZERO,
            bytes: Bytes::new(1),
        };
        Exchange::sequential(sides.chars().map(turn).collect(), Duration::ZERO)
    }

    #[test]
    fn epochs_are_pairs_of_request_and_response() {
        for (sides, few, many) in [
            (">", 1, 1),
            ("><", 1, 1),
            ("><><", 2, 2),
            ("<", 1, 1),
            ("<><", 2, 2),
            (">><", 1, 2),
            ("><<", 1, 2),
            (">><<><", 2, 4),
        ] {
            assert_eq!(exchange(sides).epochs(), (few, many), "{sides}");
        }
    }

    #[test]
    fn connections_are_small() {
        assert_eq!(size_of::<Turn>(), 24);
        assert_eq!(size_of::<Unit>(), 16);
        assert!(size_of::<Connection>() <= 192);
    }
}

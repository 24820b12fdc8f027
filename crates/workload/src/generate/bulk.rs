//! Large transfers that start at random within a span.

use rand_chacha::ChaCha8Rng;
use units::{Bytes, Duration, Instant};

use super::{Numbers, one_way};
use crate::draw::spread_starts;
use crate::{Connection, MAX_UNIT, Side};

/// Parameters of the transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkConfig {
    /// How many.
    pub count: u32,
    /// The earliest start.
    pub begin: Instant,
    /// The span of the starts.
    pub spread: Duration,
    /// Size of each; `None` for one that never ends, which is written as [`MAX_UNIT`].
    pub size: Option<Bytes>,
    /// Who sends.
    pub sender: Side,
}

/// An iterator over the transfers.
#[derive(Clone, Debug)]
pub struct Bulk {
    config: BulkConfig,
    /// The next start last.
    starts: Vec<Instant>,
    numbers: Numbers,
}

impl Bulk {
    /// Draws from `random`.
    #[must_use]
    pub fn new(config: BulkConfig, mut random: ChaCha8Rng) -> Self {
        Self {
            starts: spread_starts(&mut random, config.begin, config.count, config.spread),
            config,
            numbers: Numbers::default(),
        }
    }
}

impl Iterator for Bulk {
    type Item = Connection;

    fn next(&mut self) -> Option<Connection> {
        let start = self.starts.pop()?;
        let size = self.config.size.unwrap_or(MAX_UNIT);
        let transfer = one_way(self.config.sender, size.clamp(Bytes::new(1), MAX_UNIT));
        Some(self.numbers.connection(start, transfer))
    }
}

//! Counts of a part of a census, from which the summary and the figures are made.
//!
//! Times and windows are counted in bins: each power of two has 32 of equal width, so a bin is at
//! most 1/32 wide against its lower edge. The bin of a value is the number that its exponent and the
//! first five bits of its mantissa form (IEEE 754, binary64), which no rounding changes.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::rows::{Row, word};
use crate::tracker::End;

/// Smallest RTT in milliseconds: upper edges of the groups, of which the last has none.
pub const RTT_MS: [f64; 6] = [3.0, 10.0, 30.0, 100.0, 300.0, 1000.0];

/// Payload in bytes, likewise.
pub const SIZE_BYTES: [u64; 6] = [1, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Bits of the mantissa below the bin.
const BELOW: u32 = 52 - 5;

/// The bin of a value above zero; 0 for any other.
#[must_use]
pub fn bin(value: f64) -> u32 {
    if value > 0.0 {
        (value.to_bits() >> BELOW) as u32
    } else {
        0
    }
}

/// What the connections of a cell have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Key {
    reason: &'static str,
    /// Why the analysis cannot tell.
    because: Option<&'static str>,
    vantage: String,
    class: &'static str,
    /// Place in the groups of RTTs; null without an RTT.
    rtt: Option<usize>,
    /// Place in the groups of sizes.
    size: usize,
}

/// Numbers of connections, by bin.
type Bins = BTreeMap<u32, u64>;

/// The connections with the same key.
#[derive(Clone, Debug, Default, Serialize)]
struct Cell {
    connections: u64,
    /// Time and window of the exits.
    exit_time_s: Bins,
    exit_cwnd_bytes: Bins,
}

/// The counts.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tally {
    #[serde(serialize_with = "list")]
    cells: BTreeMap<Key, Cell>,
    ended_by: BTreeMap<&'static str, u64>,
    bytes: u64,
}

#[derive(Serialize)]
struct Flat<'a> {
    #[serde(flatten)]
    key: &'a Key,
    #[serde(flatten)]
    cell: &'a Cell,
}

fn list<S: Serializer>(cells: &BTreeMap<Key, Cell>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(cells.iter().map(|(key, cell)| Flat { key, cell }))
}

impl Tally {
    /// Counts a connection.
    pub fn add(&mut self, row: &Row) {
        let connection = &row.connection;
        let verdict = &connection.verdict;
        let size = SIZE_BYTES.partition_point(|edge| *edge <= connection.bytes);
        let rtt = connection.rtt_ms.map(|rtt| rtt[0]);
        let key = Key {
            reason: verdict.reason.name(),
            because: row.cannot_tell(),
            vantage: word(connection.vantage),
            class: verdict.class.name(),
            rtt: rtt.map(|rtt| RTT_MS.partition_point(|edge| *edge <= rtt)),
            size,
        };
        let cell = self.cells.entry(key).or_default();
        cell.connections += 1;
        if let Some(exit) = &verdict.exit {
            *cell.exit_time_s.entry(bin(exit.time_s)).or_default() += 1;
            let window = bin(exit.cwnd_bytes as f64);
            *cell.exit_cwnd_bytes.entry(window).or_default() += 1;
        }
        *self.ended_by.entry(End::name(row.end)).or_default() += 1;
        self.bytes = self.bytes.saturating_add(connection.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_is_at_most_a_32nd_wide() {
        let mut value = 1e-9;
        while value < 1e12 {
            let low = f64::from_bits(u64::from(bin(value)) << BELOW);
            let high = f64::from_bits((u64::from(bin(value)) + 1) << BELOW);
            assert!(low <= value && value < high, "{value}");
            assert!((high - low) / low <= 1.0 / 32.0, "{value}");
            value *= 1.037;
        }
        assert_eq!((bin(0.0), bin(-1.0), bin(f64::NAN)), (0, 0, 0));
    }
}

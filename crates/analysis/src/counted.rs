//! The ACKs of a connection without a spin bit, by counting.
//!
//! A receiver acknowledges every second packet, or another number that it keeps to (RFC 9000, section
//! 13.2.2), so each of its packets acknowledges as many bytes as every other. That number follows from
//! the handshake's RTT: no ACK arrives sooner than one RTT after the packet that it acknowledges, and
//! the round trips before a queue forms leave nothing to spare. Where no gap is reported and the capture
//! has the end, all that was sent is acknowledged, and the mean is exact.

use crate::report::Vantage;
use crate::spin::{Acknowledged, Sight};

/// Fewer answers show no number of packets for each.
const LEAST: usize = 16;

/// An RTT may be shorter than that of the handshake by this part of it.
const SHORTER: i64 = 16;

/// Between these numbers of packets an answer acknowledges.
const FEWEST: f64 = 0.7;
const MOST: f64 = 40.0;

/// A number of packets this near to a whole one is whole.
const WHOLE: f64 = 0.3;

/// What the handshake and the first round trips show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    vantage: Vantage,
    /// RTT between capture and sender, and of the path.
    near: i64,
    rtt: i64,
    /// Bytes that an answer acknowledges.
    each: f64,
}

impl Counted {
    /// Counts the answers to `from` until the place `gap`; `halves` are the RTTs from the capture to
    /// the server and to the client.
    pub fn find(sights: &[Sight], from: u8, halves: [i64; 2], gap: Option<usize>) -> Option<Self> {
        let (near, far) = (halves[1 - usize::from(from)], halves[usize::from(from)]);
        let mut found = Self {
            vantage: Vantage::between(near, far),
            near,
            rtt: near + far,
            each: 0.0,
        };
        let sent = found.sent(sights, from);
        let largest = sights.iter().filter(|sight| sight.from == from);
        let largest = largest
            .map(|sight| f64::from(sight.size))
            .fold(1.0, f64::max);
        let answers = sights.iter().filter(|sight| sight.from != from);
        let all = sent.last().map_or(0, |last| last.1);
        let is_drained = |last: &Sight| found.until(&sent, last.at) == all;
        let is_exact = gap.is_none() && answers.clone().next_back().is_some_and(is_drained);
        let mean = all as f64 / answers.clone().count().max(1) as f64;
        let least = answers
            .take(gap.unwrap_or(usize::MAX))
            .enumerate()
            .skip(LEAST - 1)
            .map(|(place, answer)| found.until(&sent, answer.at) as f64 / (place + 1) as f64)
            .fold(f64::MAX, f64::min);
        let packets = least / largest;
        if !(FEWEST..MOST).contains(&packets) {
            return None;
        }
        let whole = packets.round().max(1.0);
        found.each = if is_exact {
            mean
        } else if (packets - whole).abs() < WHOLE {
            whole * largest
        } else {
            least
        };
        Some(found)
    }

    /// Where the capture was made.
    pub const fn vantage(&self) -> Vantage {
        self.vantage
    }

    /// When the packets of `from` left, and the bytes by then.
    fn sent(&self, sights: &[Sight], from: u8) -> Vec<(i64, i64)> {
        let sent = sights.iter().filter(|sight| sight.from == from);
        let lag = if self.vantage == Vantage::Sender {
            0
        } else {
            self.near
        };
        sent.scan(0, |sum, sight| {
            *sum += i64::from(sight.size);
            Some((sight.at - lag, *sum))
        })
        .collect()
    }

    /// The bytes that an answer at `at` can acknowledge.
    fn until(&self, sent: &[(i64, i64)], at: i64) -> i64 {
        let latest = at - self.rtt + self.rtt / SHORTER;
        let after = sent.partition_point(|(left, _)| *left <= latest);
        after.checked_sub(1).map_or(0, |place| sent[place].1)
    }

    /// The bytes that each answer acknowledges, in their order.
    pub fn acknowledged(&self, sights: &[Sight], from: u8) -> Acknowledged {
        let sent = self.sent(sights, from);
        let mut acked = 0;
        let bytes = sights
            .iter()
            .filter(|sight| sight.from != from)
            .enumerate()
            .map(|(place, answer)| {
                let counted = (self.each * (place + 1) as f64) as i64;
                acked = counted.min(self.until(&sent, answer.at)).max(acked);
                acked
            })
            .collect();
        Acknowledged {
            bytes,
            losses: Vec::new(),
        }
    }
}

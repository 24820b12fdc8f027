//! Whether a sender spaces its data by a clock of its own.
//!
//! A sender without pacing answers ACKs at once. In the first rounds, before the path spaces them, the
//! ACKs come close together, and paced data leaves long after the last of them.

/// Rounds whose data counts: at the sender, and elsewhere, where only the ACKs of the first round
/// come close enough together.
const ROUNDS: u32 = 5;
const ROUNDS_ELSEWHERE: u32 = 2;

/// How long after an ACK data still answers it, in nanoseconds. Elsewhere, the timestamps of both
/// directions have an error of a tick.
const AT_ONCE: i64 = 500_000;
const AT_ONCE_ELSEWHERE: i64 = 3_000_000;

/// The new data of the first rounds.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Its bytes, and those that left long after the last ACK.
    bytes: (u64, u64),
    /// When the last ACK that advanced was at the sender, by its clock.
    ack: i64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            bytes: (0, 0),
            ack: i64::MIN / 2,
        }
    }
}

impl Pace {
    /// An ACK that advances is at the sender.
    pub const fn ack(&mut self, at: i64) {
        self.ack = at;
    }

    /// New data leaves in `round`.
    pub fn data(&mut self, at: i64, length: u32, round: u32, elsewhere: bool) {
        let (last, at_once) = if elsewhere {
            (ROUNDS_ELSEWHERE, AT_ONCE_ELSEWHERE)
        } else {
            (ROUNDS, AT_ONCE)
        };
        if (2..=last).contains(&round) {
            self.bytes.0 += u64::from(length);
            if at - self.ack > at_once {
                self.bytes.1 += u64::from(length);
            }
        }
    }

    /// Whether more than three tenths of the data waited for a clock.
    pub const fn is_paced(&self) -> bool {
        self.bytes.1 * 10 > self.bytes.0 * 3
    }
}

//! Moments of a sender that the fit needs: growth, rounds, signs of congestion.

use crate::report::Limits;

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Its first byte, as an offset.
    pub start: i64,
    /// One past its last byte.
    pub end: i64,
    /// When it left.
    pub at: i64,
    /// Whether it was never retransmitted.
    pub is_clean: bool,
}

/// A moment at which the flight was larger than ever before.
#[derive(Clone, Copy, Debug)]
pub struct Grown {
    /// When, in nanoseconds since the first packet.
    pub at: i64,
    /// The same by the sender's own clock, where the capture is elsewhere.
    pub sender_at: i64,
    /// Bytes delivered (acknowledged or SACKed) by then.
    pub delivered: i64,
    /// In flight.
    pub flight: i64,
    /// The round.
    pub round: u32,
    /// Bytes that the receive window had left.
    pub window_left: i64,
    /// Time in each limit by then.
    pub limits: Limits,
}

/// A round trip: from the first byte sent after its begin until that byte is acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// When it began, in nanoseconds since the first packet.
    pub began: i64,
    /// When it ended.
    pub ended: i64,
    /// Bytes delivered in it.
    pub delivered: i64,
    /// Largest flight.
    pub flight: i64,
}

impl Round {
    /// Bits per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let seconds = (self.ended - self.began) as f64 / 1e9;
        if seconds > 0.0 {
            self.delivered as f64 * 8.0 / seconds
        } else {
            0.0
        }
    }
}

/// A sign of congestion.
#[derive(Clone, Copy, Debug)]
pub struct Sign {
    /// When, in nanoseconds since the first packet.
    pub at: i64,
    /// The same by the sender's own clock, where the capture is elsewhere.
    pub sender_at: i64,
    /// Bytes delivered by then.
    pub delivered: i64,
    /// In flight before it.
    pub flight: i64,
}

/// A moment between two ACKs of a sixteenth of the flight each.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// When, in nanoseconds since the first packet, by the sender's own clock.
    pub at: i64,
    /// Bytes sent by then, retransmissions included.
    pub sent: i64,
    /// Bytes delivered by then.
    pub delivered: i64,
    /// In flight.
    pub flight: i64,
    /// The round.
    pub round: u32,
    /// Bytes that the receive window had left.
    pub window_left: i64,
}

//! When the data of a connection would be on the wire, if nothing but its own rate delayed it.

use units::{Bytes, Duration, Instant, Rate};

use super::Framing;
use crate::{Connection, Exchange, Side};

/// One unit on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// The side that sends it.
    pub side: Side,
    /// When it begins.
    pub begin: Instant,
    /// When it ends.
    pub end: Instant,
    /// Its bytes on the wire.
    pub bytes: Bytes,
}

impl Burst {
    /// The bytes of it before `time`, if it is sent at a constant rate.
    #[must_use]
    pub fn before(&self, time: Instant) -> Bytes {
        if self.end <= time {
            return self.bytes;
        }
        if self.begin >= time {
            return Bytes::ZERO;
        }
        let sent = time.saturating_since(self.begin);
        let span = self.end.saturating_since(self.begin);
        self.bytes.mul_div(sent.as_nanos(), span.as_nanos())
    }
}

/// A rough model of a connection: its units leave at a constant rate, and waits follow at once.
/// RTT, slow start and queues do not count. The suite's scripts estimate connections in the same
/// way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The rate that a connection gets, positive.
    pub rate: Rate,
    /// Headers.
    pub framing: Framing,
}

impl Estimate {
    /// The units of a connection, each at its time; those of a concurrent one side by side.
    pub fn bursts(self, connection: &Connection) -> impl Iterator<Item = Burst> {
        let sequential = matches!(connection.exchange, Exchange::Sequential { .. });
        let framings = Side::BOTH.map(|side| self.framing.of(connection, side));
        let mut clocks = [connection.start; 2];
        connection.exchange.units().map(move |unit| {
            let side = unit.side.index();
            let clock = &mut clocks[if sequential { 0 } else { side }];
            let bytes = framings[side].wire_bytes(unit.bytes);
            let begin = *clock + unit.wait;
            *clock = begin + self.rate.time_for(bytes);
            Burst {
                side: unit.side,
                begin,
                end: *clock,
                bytes,
            }
        })
    }

    /// When the last unit of a connection ends.
    #[must_use]
    pub fn end(self, connection: &Connection) -> Instant {
        let ends = self.bursts(connection).map(|burst| burst.end);
        ends.max().unwrap_or(connection.start)
    }

    /// How long a connection sends and waits.
    #[must_use]
    pub fn duration(self, connection: &Connection) -> Duration {
        self.end(connection).saturating_since(connection.start)
    }
}

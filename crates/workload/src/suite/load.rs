//! Offered load: bytes on the wire per direction.

use units::{Bytes, Duration, Rate};

use crate::{Connection, Side};

/// How payload becomes bytes on the wire: each unit is cut into segments, and each segment gets a
/// header.
///
/// The bytes on the wire of a unit are `bytes + header * ceil(bytes / segment)`. SYNs, FINs, pure
/// ACKs and retransmissions do not count. The segment size is the connection's own (`m` line) if it
/// has one. The load that a link measures is higher by retransmissions and by what did not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Payload of a full segment, in bytes.
    pub segment: u32,
    /// Headers of a segment, in bytes.
    pub header: u32,
}

impl Default for Framing {
    /// Ethernet's packets of 1500 bytes with TCP timestamps: 1448 bytes of payload, 52 of headers.
    fn default() -> Self {
        Self {
            segment: 1448,
            header: 52,
        }
    }
}

impl Framing {
    /// Payload only.
    pub const PAYLOAD: Self = Self {
        segment: 1,
        header: 0,
    };

    /// This framing with the segment size of one side of a connection.
    #[must_use]
    pub fn of(self, connection: &Connection, side: Side) -> Self {
        let own = connection.headers.mss.map(|mss| mss[side.index()]);
        Self {
            segment: own.filter(|&mss| mss > 0).unwrap_or(self.segment),
            ..self
        }
    }

    /// The bytes on the wire of a unit.
    #[must_use]
    pub fn wire_bytes(self, unit: Bytes) -> Bytes {
        let segments = unit.get().div_ceil(u64::from(self.segment.max(1)));
        unit + Bytes::new(u64::from(self.header)) * segments
    }

    /// Bytes on the wire per byte of payload in full segments.
    #[must_use]
    pub fn overhead(self) -> f64 {
        1.0 + f64::from(self.header) / f64::from(self.segment)
    }
}

/// The bytes on the wire that connections offer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// From the initiator and from the acceptor.
    pub bytes: [Bytes; 2],
}

impl Offered {
    /// Adds a connection.
    pub fn add(&mut self, connection: &Connection, framing: Framing) {
        let framings = Side::BOTH.map(|side| framing.of(connection, side));
        for unit in connection.exchange.units() {
            let side = unit.side.index();
            self.bytes[side] += framings[side].wire_bytes(unit.bytes);
        }
    }

    /// The load that the data of `sender` offers to a link of `rate` over `span`:
    /// `8 * bytes / (rate * span)`.
    #[must_use]
    pub fn load(&self, sender: Side, rate: Rate, span: Duration) -> f64 {
        let bits = self.bytes[sender.index()].get() as f64 * 8.0;
        bits / (rate.bits_per_sec() as f64 * span.as_secs_f64())
    }

    /// The factor on start times with which connections that start within `span` of trace time
    /// offer the load `target`: their load at factor one, divided by the target.
    #[must_use]
    pub fn scale_for(&self, target: f64, sender: Side, rate: Rate, span: Duration) -> f64 {
        self.load(sender, rate, span) / target
    }
}

/// The arrivals per second of responses with `mean` bytes of payload that offer `load` to a link of
/// `rate`: `load * rate / (8 * mean * overhead)`. With [`Framing::PAYLOAD`] headers come on top;
/// with another framing they count as if all segments were full.
#[must_use]
pub fn arrivals_per_s(load: f64, rate: Rate, mean: f64, framing: Framing) -> f64 {
    load * rate.bits_per_sec() as f64 / (8.0 * mean * framing.overhead())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Exchange, Headers, Turn};
    use units::Instant;

    fn connection(mss: Option<[u32; 2]>) -> Connection {
        let turn = |side, bytes| Turn {
            side,
            wait: Duration::ZERO,
            bytes: Bytes::new(bytes),
        };
        let turns = vec![turn(Side::Initiator, 410), turn(Side::Acceptor, 14_600)];
        Connection {
            start: Instant::ZERO,
            id: 1,
            group: 1,
            headers: Headers {
                mss,
                ..Headers::default()
            },
            exchange: Exchange::sequential(turns, Duration::ZERO),
        }
    }

    #[test]
    fn headers_count_for_each_segment() {
        let mut offered = Offered::default();
        offered.add(&connection(None), Framing::default());
        assert_eq!(offered.bytes.map(Bytes::get), [462, 14_600 + 11 * 52]);
        let mut offered = Offered::default();
        offered.add(&connection(Some([536, 1460])), Framing::default());
        assert_eq!(offered.bytes.map(Bytes::get), [462, 14_600 + 10 * 52]);
    }

    #[test]
    fn a_scale_gives_its_load() {
        let mut offered = Offered::default();
        offered.add(&connection(None), Framing::default());
        let rate = Rate::from_bits_per_sec(1_000_000);
        let span = Duration::from_millis(500);
        let scale = offered.scale_for(0.6, Side::Acceptor, rate, span);
        let scaled = super::super::times(span, scale);
        let load = offered.load(Side::Acceptor, rate, scaled);
        assert!((load - 0.6).abs() < 1e-6, "{load}");
    }

    /// Web traffic of 14 kB at 10 Mbit/s, 450 clients: load, responses per second by payload, the
    /// seconds between two responses of a client, responses per second with headers.
    #[test]
    fn arrivals_of_web_traffic() {
        let rate = Rate::from_bits_per_sec(10_000_000);
        for (load, payload, interval_s, framed) in [
            (0.1, 8.9286, 50.4, 8.619),
            (0.2, 17.8571, 25.2, 17.2381),
            (0.3, 26.7857, 16.8, 25.8571),
            (0.35, 31.25, 14.4, 30.1667),
            (0.4, 35.7143, 12.6, 34.4762),
        ] {
            let arrivals = arrivals_per_s(load, rate, 14e3, Framing::PAYLOAD);
            assert!(
                (arrivals - payload).abs() < 1e-4,
                "{arrivals}, not {payload}"
            );
            assert!((450.0 / arrivals - interval_s).abs() < 1e-3);
            let arrivals = arrivals_per_s(load, rate, 14e3, Framing::default());
            assert!((arrivals - framed).abs() < 1e-4, "{arrivals}, not {framed}");
        }
    }
}

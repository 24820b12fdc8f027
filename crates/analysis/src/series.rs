//! A connection over time: points for figures, of a bounded number, and the steps of its sender.

use serde::Serialize;

/// The largest number of points of a connection.
pub const MOST_POINTS: usize = 2048;

/// What a sender sent or received, as a replay needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// New data left: when, its first byte, one past its last, and where the receive window ends.
    Sent(i64, i64, i64, i64),
    /// The cumulative ACK advanced: when, to which byte, where the receive window ends, and when by
    /// the spacing of the ACKs. At the sender both times are the same. Elsewhere the first is that
    /// of the data that answers it, and keeps the order of the steps; the second may be earlier.
    Acked(i64, i64, i64, i64),
}

/// The state of the sender after a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Point {
    /// Seconds since the connection's first packet.
    pub time_s: f64,
    /// Payload sent so far, the highest byte.
    pub sent_bytes: u64,
    /// Payload acknowledged cumulatively.
    pub acked_bytes: u64,
    /// In flight.
    pub in_flight_bytes: u64,
    /// Estimate of the congestion window; null while nothing shows it.
    pub cwnd_bytes: Option<u64>,
    /// Advertised window; null before the first ACK.
    pub receive_window_bytes: Option<u64>,
    /// The latest RTT sample.
    pub rtt_ms: Option<f64>,
    /// Delivery rate over the last RTT.
    pub delivery_rate_bps: Option<f64>,
    /// Whether a retransmission came since the previous point.
    pub retransmitted: bool,
}

/// Bytes at a moment: a retransmitted segment, or what a SACK block reported first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Span {
    /// Seconds since the connection's first packet.
    pub time_s: f64,
    /// The first byte.
    pub begin_bytes: u64,
    /// One past the last.
    pub end_bytes: u64,
}

/// Keeps every n-th span, and doubles n when there are too many.
#[derive(Clone, Debug)]
pub struct Spans {
    spans: Vec<Span>,
    stride: u64,
    seen: u64,
    limit: usize,
}

impl Spans {
    /// At most `limit` spans; 0 keeps none.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            spans: Vec::new(),
            stride: 1,
            seen: 0,
            limit: limit.min(MOST_POINTS),
        }
    }

    /// Offers the bytes from `begin` to `end`; times are nanoseconds.
    pub fn offer(&mut self, at: i64, begin: i64, end: i64) {
        if self.limit == 0 {
            return;
        }
        self.seen += 1;
        if !(self.seen - 1).is_multiple_of(self.stride) {
            return;
        }
        if self.spans.len() >= self.limit {
            // Every other span, so that the strides stay aligned.
            let mut index = 0;
            self.spans.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
            if !(self.seen - 1).is_multiple_of(self.stride) {
                return;
            }
        }
        self.spans.push(Span {
            time_s: at as f64 / 1e9,
            begin_bytes: begin.max(0) as u64,
            end_bytes: end.max(0) as u64,
        });
    }

    /// The spans.
    #[must_use]
    pub fn into_spans(self) -> Vec<Span> {
        self.spans
    }
}

/// Keeps every n-th point, and doubles n when there are too many.
#[derive(Clone, Debug)]
pub struct Series {
    points: Vec<Point>,
    stride: u64,
    seen: u64,
    retransmitted: bool,
    limit: usize,
}

impl Series {
    /// At most `limit` points; 0 keeps none.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            points: Vec::new(),
            stride: 1,
            seen: 0,
            retransmitted: false,
            limit: limit.min(MOST_POINTS),
        }
    }

    /// Offers a point, which is computed only if it is kept.
    pub fn offer(&mut self, retransmitted: bool, point: impl FnOnce() -> Point) {
        if self.limit == 0 {
            return;
        }
        self.retransmitted |= retransmitted;
        self.seen += 1;
        if !(self.seen - 1).is_multiple_of(self.stride) {
            return;
        }
        if self.points.len() >= self.limit {
            // Every other point, so that the strides stay aligned.
            let mut index = 0;
            let mut dropped = false;
            self.points.retain_mut(|point| {
                index += 1;
                let keeps = index % 2 == 1;
                if keeps {
                    point.retransmitted |= dropped;
                    dropped = false;
                } else {
                    dropped = point.retransmitted;
                }
                keeps
            });
            self.stride *= 2;
            if !(self.seen - 1).is_multiple_of(self.stride) {
                return;
            }
        }
        let mut point = point();
        point.retransmitted = std::mem::take(&mut self.retransmitted);
        self.points.push(point);
    }

    /// The points.
    #[must_use]
    pub fn into_points(self) -> Vec<Point> {
        self.points
    }
}

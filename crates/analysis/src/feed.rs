//! What a congestion control receives in a replay: the segments and ACKs of a captured connection.
//!
//! Delivered are the bytes of the cumulative ACK; a replay ends at the first sign of congestion, so
//! no SACK block comes before.

use std::collections::VecDeque;

use congestion::rate_sample::{Newest, RateEstimator, SendStamp};
use congestion::{Ack, BuildContext, Established, PathMemory, Phase, Sent};
use units::{Bytes, Duration, Instant, Rate};

use crate::report::Connection;

/// A segment in flight.
struct Segment {
    end: i64,
    at: Instant,
    stamp: SendStamp,
}

/// The sender's state, as far as the segments and cumulative ACKs show it.
pub struct Feed {
    pub smss: Bytes,
    pub una: i64,
    pub next: i64,
    pub srtt: Option<Duration>,
    pub min_rtt: Duration,
    sent: VecDeque<Segment>,
    rate: RateEstimator,
    handshake: Option<Duration>,
    initial_window: Bytes,
    begin: Instant,
}

/// A time in nanoseconds.
pub const fn instant(nanos: i64) -> Instant {
    Instant::from_nanos(if nanos > 0 { nanos as u64 } else { 0 })
}

/// A count that is never negative.
pub const fn bytes(count: i64) -> Bytes {
    Bytes::new(if count > 0 { count as u64 } else { 0 })
}

impl Feed {
    pub fn new(connection: &Connection, begin: i64, initial_window: Bytes) -> Self {
        let smss = Bytes::new(u64::from(connection.largest_segment_bytes.clamp(1, 9_000)));
        let rtt = connection.handshake.rtt_ms;
        let rtt = rtt.map(|millis| Duration::from_nanos((millis * 1e6) as u64));
        Self {
            smss,
            una: 0,
            next: 0,
            srtt: rtt,
            min_rtt: rtt.unwrap_or(Duration::MAX),
            sent: VecDeque::new(),
            rate: RateEstimator::default(),
            handshake: rtt,
            initial_window: initial_window.max(smss),
            begin: instant(begin),
        }
    }

    /// How a congestion control for this connection is built.
    pub const fn context(&self) -> BuildContext {
        BuildContext {
            now: self.begin,
            smss: self.smss,
            initial_window: self.initial_window,
            seed: 1,
            handshake_rtt: self.handshake,
        }
    }

    /// The connection is established.
    pub fn established(&self, queued: Bytes, receive_window: Bytes) -> Established {
        Established {
            now: self.begin,
            rtt: self.handshake,
            queued,
            receive_window,
            memory: PathMemory::default(),
        }
    }

    pub fn in_flight(&self) -> i64 {
        (self.next - self.una).max(0)
    }

    /// New data left.
    pub fn sent(&mut self, at: i64, start: i64, end: i64) -> Sent {
        let now = instant(at);
        let in_flight = bytes(self.in_flight());
        let stamp = self.rate.on_sent(now, self.sent.is_empty());
        self.next = end;
        self.sent.push_back(Segment {
            end,
            at: now,
            stamp,
        });
        Sent {
            now,
            size: bytes(end - start),
            in_flight,
            snd_nxt: end.max(0) as u64,
            retransmission: false,
            idle_since: None,
            app_limited: false,
        }
    }

    /// The cumulative ACK advanced; `window` is that of the sender, which decides whether it was
    /// the limit.
    pub fn acked(&mut self, at: i64, una: i64, window: Bytes) -> Ack {
        let now = instant(at);
        let prior = self.in_flight();
        let delivered = bytes(una - self.una);
        let mut newest = None;
        self.rate.on_delivered(now, delivered);
        while self.sent.front().is_some_and(|segment| segment.end <= una) {
            newest = self.sent.pop_front();
        }
        self.una = una;
        let latest = newest
            .as_ref()
            .map(|segment| now.saturating_since(segment.at));
        if let Some(rtt) = latest {
            self.min_rtt = self.min_rtt.min(rtt);
            let smoothed = self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8);
            self.srtt = Some(smoothed);
        }
        let newest = newest.map(|segment| Newest {
            stamp: segment.stamp,
            sent: segment.at,
            tx_in_flight: Bytes::ZERO,
            lost: Bytes::ZERO,
        });
        let sample = self
            .rate
            .sample(now, newest, self.min_rtt, Bytes::ZERO, false);
        Ack {
            now,
            delivered,
            newly_lost: Bytes::ZERO,
            prior_in_flight: bytes(prior),
            in_flight: bytes(self.in_flight()),
            snd_una: una.max(0) as u64,
            snd_nxt: self.next.max(0) as u64,
            advanced: true,
            bytes_sent: self.next.max(0) as u64,
            latest_rtt: latest,
            srtt: self.srtt.unwrap_or(Duration::ZERO),
            min_rtt: self.min_rtt,
            rate: sample,
            // Linux: in slow start, half of the window in use is enough.
            cwnd_limited: window < bytes(prior) * 2,
            app_limited: false,
            phase: Phase::Open,
            paced: false,
            pacing_rate: Rate::MAX,
        }
    }
}

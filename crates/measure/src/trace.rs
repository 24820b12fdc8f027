//! Time series, recorded only on request.

use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate};

/// One row per ACK that a sender processed. All columns have the same length.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FlowTrace {
    /// Its index in the scenario.
    pub flow: u32,
    /// Its name.
    pub name: String,
    /// Its algorithm.
    pub algorithm: String,
    /// Seconds since the run began.
    pub time_s: Vec<f64>,
    /// Congestion window.
    pub cwnd_bytes: Vec<u64>,
    /// Slow-start threshold; null until it is first set.
    pub ssthresh_bytes: Vec<Option<u64>>,
    /// In flight.
    pub in_flight_bytes: Vec<u64>,
    /// RTT sample of this ACK; null without one.
    pub rtt_ms: Vec<Option<f64>>,
    /// Payload bytes acknowledged cumulatively.
    pub acked_bytes: Vec<u64>,
    /// Bytes in order at the receiving application at that time.
    pub delivered_bytes: Vec<u64>,
    /// Pacing rate; null if unknown.
    pub pacing_rate_bps: Vec<Option<u64>>,
    /// The packets of a QUIC sender, in the order of time. No column: they have rows of their own.
    pub quic: Vec<QuicPacket>,
}

/// What happened to a packet of a QUIC sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuicEvent {
    /// It left.
    Sent,
    /// An ACK frame with its number arrived.
    Acked,
    /// The sender declared it lost.
    Lost,
}

/// An event of a packet of a QUIC sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuicPacket {
    /// Nanoseconds since the run began.
    pub at_ns: u64,
    /// What happened.
    pub event: QuicEvent,
    /// Its packet number.
    pub number: u64,
    /// Its packet number space, counted in the order of their first packets.
    pub space: u32,
    /// Its bytes.
    pub bytes: u64,
    /// Of a packet that is acknowledged: the ACK frame, counted from 0.
    #[serde(default)]
    pub frame: u64,
}

/// A sender's state after an ACK.
#[derive(Clone, Copy, Debug)]
pub struct FlowSample {
    /// When.
    pub now: Instant,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Threshold; [`Bytes::MAX`] while unset.
    pub ssthresh: Bytes,
    /// In flight.
    pub in_flight: Bytes,
    /// RTT sample.
    pub rtt: Option<Duration>,
    /// Cumulatively acknowledged.
    pub acked: u64,
    /// In order at the receiver.
    pub delivered: u64,
    /// Pacing rate; [`Rate::MAX`] while unknown.
    pub pacing_rate: Rate,
}

impl FlowTrace {
    /// Adds a row.
    pub fn push(&mut self, sample: &FlowSample) {
        self.time_s.push(sample.now.as_secs_f64());
        self.cwnd_bytes.push(sample.cwnd.get());
        self.ssthresh_bytes
            .push((sample.ssthresh < Bytes::new(1 << 40)).then_some(sample.ssthresh.get()));
        self.in_flight_bytes.push(sample.in_flight.get());
        self.rtt_ms
            .push(sample.rtt.map(|rtt| rtt.as_nanos() as f64 / 1e6));
        self.acked_bytes.push(sample.acked);
        self.delivered_bytes.push(sample.delivered);
        self.pacing_rate_bps
            .push((sample.pacing_rate < Rate::MAX).then_some(sample.pacing_rate.bits_per_sec()));
    }
}

/// One row per packet offered to a link. All columns have the same length.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LinkTrace {
    /// Its name.
    pub link: String,
    /// Seconds since the run began.
    pub time_s: Vec<f64>,
    /// Waiting packets after this one was offered.
    pub queue_packets: Vec<u64>,
    /// Waiting bytes.
    pub queue_bytes: Vec<u64>,
    /// Packets dropped so far.
    pub drops: Vec<u64>,
    /// Bytes delivered so far, after propagation, as the link counts them.
    pub transmitted_bytes: Vec<u64>,
}

impl LinkTrace {
    /// Adds a row: packets and bytes in the queue, packets dropped and bytes transmitted so far.
    pub fn push(&mut self, now: Instant, queue: (u64, Bytes), drops: u64, carried: Bytes) {
        self.time_s.push(now.as_secs_f64());
        self.queue_packets.push(queue.0);
        self.queue_bytes.push(queue.1.get());
        self.drops.push(drops);
        self.transmitted_bytes.push(carried.get());
    }
}

/// All time series of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Traces {
    /// Its number.
    pub run: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The path's name.
    pub path: String,
    /// One per flow.
    pub flows: Vec<FlowTrace>,
    /// One per link with a queue.
    pub links: Vec<LinkTrace>,
}

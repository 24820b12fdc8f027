//! What the analysis says about a connection. Field names carry their units; times are seconds since
//! the connection's first packet, unless a field states otherwise.

use measure::Limit;
use serde::Serialize;

use crate::events::Event;
use crate::series::{Point, Span, Step};

/// Where the capture was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Vantage {
    /// At the host that sends the data.
    Sender,
    /// At the host that receives it.
    Receiver,
    /// Between them.
    Middle,
    /// The capture does not show it; the analysis assumes the sender.
    #[default]
    Unknown,
    /// A log of the sender itself.
    Log,
}

/// An RTT to one host below this fraction of that to the other places the capture there.
const NEAR: i64 = 10;

impl Vantage {
    /// A capture with these RTTs to the sender and to the receiver.
    pub const fn between(sender: i64, receiver: i64) -> Self {
        if sender <= receiver / NEAR {
            Self::Sender
        } else if receiver <= sender / NEAR {
            Self::Receiver
        } else {
            Self::Middle
        }
    }
}

/// The host that opened the connection, or its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// It sent the SYN, or the first packet of a capture without it.
    Initiator,
    /// Its peer.
    Acceptor,
}

/// The options that both hosts agreed on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Handshake {
    /// Whether the capture has the SYN and the SYN-ACK.
    pub complete: bool,
    /// RTT between SYN and the third segment, as far as the vantage sees it.
    pub rtt_ms: Option<f64>,
    /// The receiver's MSS option.
    pub mss_bytes: Option<u16>,
    /// The receiver's window scale; null if either host has none, or the SYNs are missing.
    pub window_scale: Option<u8>,
    /// Whether both permit SACK.
    pub sack: bool,
    /// Whether both use timestamps.
    pub timestamps: bool,
}

/// Retransmitted segments by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Retransmissions {
    /// All of them.
    pub segments: u64,
    /// Their payload.
    pub bytes: u64,
    /// After SACK blocks or duplicate ACKs.
    pub fast: u64,
    /// After a silence of at least the retransmission timeout.
    pub timeout: u64,
    /// Tail loss probes: the last segment, after about two RTTs (RFC 8985, section 7).
    pub tail_probe: u64,
    /// The receiver reported the segment twice (RFC 2883).
    pub spurious: u64,
}

/// Seconds for which each cause limited the sender, from its first data to its last ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Limits {
    /// Waiting for ACKs with a full congestion window.
    pub congestion_window_s: f64,
    /// Waiting for the receive window.
    pub receive_window_s: f64,
    /// No data to send.
    pub application_s: f64,
    /// Data, window, and neither an ACK: paced.
    pub pacing_s: f64,
    /// Repairing losses.
    pub recovery_s: f64,
}

/// A time in which a sender waited, in nanoseconds since the connection's first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Its begin.
    pub since: i64,
    /// Its end.
    pub until: i64,
    /// What for.
    pub cause: Limit,
}

impl Limits {
    /// The seconds of a cause.
    pub const fn of(&mut self, cause: Limit) -> &mut f64 {
        match cause {
            Limit::CongestionWindow => &mut self.congestion_window_s,
            Limit::ReceiveWindow => &mut self.receive_window_s,
            Limit::Application => &mut self.application_s,
            Limit::Pacing => &mut self.pacing_s,
            Limit::Recovery => &mut self.recovery_s,
        }
    }

    /// The cause with the longest time, if there is any time.
    #[must_use]
    pub fn main(&self) -> Option<(&'static str, f64)> {
        let all = [
            ("congestion-window", self.congestion_window_s),
            ("receive-window", self.receive_window_s),
            ("application", self.application_s),
            ("pacing", self.pacing_s),
            ("recovery", self.recovery_s),
        ];
        let total: f64 = all.iter().map(|(_, seconds)| seconds).sum();
        let longest = all.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (total > 0.0).then(|| (longest.0, longest.1 / total))
    }
}

/// Why slow start ended, or why it did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// A loss.
    Loss,
    /// A congestion mark (ECN).
    Ecn,
    /// A heuristic of the sender (HyStart, HyStart++, SEARCH, or a known threshold): growth stopped
    /// without a loss or a mark.
    Heuristic,
    /// It did not end: the receive window stopped the growth.
    ReceiverLimited,
    /// It did not end: the application had no more data.
    ApplicationLimited,
    /// It did not end: the window still grew when the transfer was complete.
    Completed,
    /// The capture does not show it.
    CannotTell,
}

impl Reason {
    /// The name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Ecn => "ecn",
            Self::Heuristic => "heuristic",
            Self::ReceiverLimited => "receiver-limited",
            Self::ApplicationLimited => "application-limited",
            Self::Completed => "completed",
            Self::CannotTell => "cannot-tell",
        }
    }

    /// Whether slow start ended.
    #[must_use]
    pub const fn is_exit(self) -> bool {
        matches!(self, Self::Loss | Self::Ecn | Self::Heuristic)
    }
}

/// The end of slow start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exit {
    /// Seconds since the connection's first packet.
    pub time_s: f64,
    /// Earliest and latest time that the packets allow.
    pub time_interval_s: [f64; 2],
    /// Estimate of the congestion window at that time.
    pub cwnd_bytes: u64,
    /// Smallest and largest window that the packets allow.
    pub cwnd_interval_bytes: [u64; 2],
    /// Estimate of the slow-start threshold that it set; null if the connection shows none.
    pub ssthresh_bytes: Option<u64>,
    /// Round trip, counted from 1 for the initial window.
    pub round: u32,
    /// Whether slower growth, as the conservative slow start of HyStart++, came before it.
    pub conservative: bool,
}

/// The exit in relation to the path's capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Before the flight filled the path.
    Early,
    /// When it did.
    AtCapacity,
    /// After it did, at a loss.
    Late,
    /// The flow is too short, or something else limited it.
    CannotTell,
}

impl Class {
    /// The name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Early => "early",
            Self::AtCapacity => "at-capacity",
            Self::Late => "late",
            Self::CannotTell => "cannot-tell",
        }
    }
}

/// What the flow shows of the path's capacity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Capacity {
    /// Highest delivery rate over one RTT, bits per second: a lower bound of the capacity.
    pub delivery_rate_bps: f64,
    /// That rate times the smallest RTT.
    pub bdp_bytes: f64,
}

/// The verdict on the start-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Name of the rule that decided, as docs/reference/analysis.md lists them.
    pub rule: &'static str,
    /// Why slow start ended, or did not.
    pub reason: Reason,
    /// From 0 to 1: how sure the reason is.
    pub confidence: f64,
    /// When and where it ended; null if it did not.
    pub exit: Option<Exit>,
    /// The exit against the capacity.
    pub class: Class,
    /// From 0 to 1.
    pub class_confidence: f64,
    /// The verdict in one sentence.
    pub sentence: String,
}

/// One connection.
#[derive(Clone, Debug, Serialize)]
pub struct Connection {
    /// Number in the order in which connections began, from 1.
    pub number: u64,
    /// The host that sends the data: address and port.
    pub sender: String,
    /// Its peer.
    pub receiver: String,
    /// The interface that saw it (0 in a pcap file).
    pub interface: u32,
    /// Whether the data's sender opened the connection.
    pub opened_by_sender: bool,
    /// Where the capture was made.
    pub vantage: Vantage,
    /// Whether it is a QUIC connection, of which only sizes, times and the spin bit are seen: bytes
    /// are those of UDP, and what is in flight is an estimate.
    pub encrypted: bool,
    /// The congestion control, where a log names it.
    pub algorithm: Option<String>,
    /// First packet, in seconds since the Unix epoch.
    pub start_unix_s: f64,
    /// From the first packet to the last.
    pub duration_s: f64,
    /// Whether a FIN or RST ended it.
    pub closed: bool,
    /// Handshake and options.
    pub handshake: Handshake,
    /// Payload of the data's sender, every byte counted once.
    pub bytes: u64,
    /// Its data segments, retransmissions included; 0 for a log that does not have the MSS.
    pub segments: u64,
    /// All packets, from sender to receiver and back.
    pub packets: [u64; 2],
    /// Largest payload of a segment on the wire; a capture before segmentation shows larger ones. 0
    /// for a log that does not have it.
    pub largest_segment_bytes: u32,
    /// Retransmissions.
    pub retransmissions: Retransmissions,
    /// Gaps in the sequence that the capture never filled: lost by the capture itself.
    pub missing_bytes: u64,
    /// Smallest, mean and largest RTT sample.
    pub rtt_ms: Option<[f64; 3]>,
    /// Number of RTT samples.
    pub rtt_samples: u64,
    /// Payload sent before the first ACK of data.
    pub initial_window_bytes: Option<u64>,
    /// When the last new data was seen.
    pub last_new_data_s: Option<f64>,
    /// Round trips with data in flight.
    pub rounds: u32,
    /// Largest number of bytes in flight.
    pub max_in_flight_bytes: u64,
    /// Payload per second, from the first data to the last ACK.
    pub goodput_bps: f64,
    /// What limited the sender.
    pub limits: Limits,
    /// The path's capacity, as far as the flow shows it.
    pub capacity: Option<Capacity>,
    /// The start-up.
    pub verdict: Verdict,
    /// For [`crate::replay`]; not part of documents.
    #[serde(skip)]
    pub steps: Vec<Step>,
    /// What a QUIC sender's congestion control is notified of, each with the number of steps before
    /// it, where the steps are kept; not part of documents.
    #[serde(skip)]
    pub events: Vec<(usize, Event)>,
    /// What the sender waited for, one by one, where the steps are kept; not part of documents.
    #[serde(skip)]
    pub waits: Vec<Wait>,
    /// Points for figures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Point>,
    /// Retransmitted segments, each at its own sequence number; where there are points, at most as
    /// many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retransmitted: Vec<Span>,
    /// What SACK blocks reported, each byte when it was reported first; likewise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sacked: Vec<Span>,
}

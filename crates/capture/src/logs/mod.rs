//! Logs of a sender's state: samples of its window, RTT and counters.
//!
//! Units differ between formats, and a field that a format does not have is `None`. Windows are
//! bytes: where a log counts segments, the segment size of the log multiplies them.

mod lines;
mod qlog;
mod quic;
mod ss;
mod tcp_info;
mod tcp_probe;

use std::io::BufRead;

use crate::{Ending, Kind, ReadError};

pub use quic::{PacketEvent, Space};

/// The state of a sender at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Nanoseconds since the Unix epoch, or since the log began where it has no absolute times.
    pub at: i64,
    /// Segment size in bytes.
    pub mss: Option<u64>,
    /// Congestion window in bytes.
    pub cwnd: Option<u64>,
    /// Slow-start threshold in bytes; [`u64::MAX`] while it is not set.
    pub ssthresh: Option<u64>,
    /// Bytes in flight.
    pub in_flight: Option<u64>,
    /// The receiver's advertised window in bytes.
    pub receive_window: Option<u64>,
    /// Latest RTT sample in nanoseconds.
    pub latest_rtt: Option<u64>,
    /// Smoothed RTT in nanoseconds.
    pub smoothed_rtt: Option<u64>,
    /// Smallest RTT in nanoseconds.
    pub min_rtt: Option<u64>,
    /// Payload bytes acknowledged so far.
    pub acked: Option<u64>,
    /// Segments or packets retransmitted so far.
    pub retransmitted: Option<u64>,
    /// Segments or packets that the sender holds for lost now, or has declared lost so far.
    pub lost: Option<u64>,
    /// Whether the sender is in loss recovery or repairs after a timeout.
    pub in_recovery: Option<bool>,
    /// Segments reported as marked (ECN) so far.
    pub marked: Option<u64>,
    /// Whether the latest rate sample was limited by the application.
    pub app_limited: Option<bool>,
    /// Bytes written and not yet sent.
    pub not_sent: Option<u64>,
    /// Nanoseconds for which the sender had data in flight or to send.
    pub busy: Option<u64>,
    /// Of these, limited by the receive window.
    pub receiver_limited: Option<u64>,
    /// Of these, limited by the send buffer.
    pub buffer_limited: Option<u64>,
    /// Pacing rate in bits per second.
    pub pacing_rate: Option<u64>,
    /// Delivery rate in bits per second.
    pub delivery_rate: Option<u64>,
}

/// Which connection a sample belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// The sender whose state it is, and its peer, as the log names them.
    pub name: String,
    /// The congestion control algorithm, if the log names it.
    pub algorithm: Option<String>,
}

/// What a log contained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogSummary {
    /// Samples passed on.
    pub samples: u64,
    /// Lines or events without a sample.
    pub skipped: u64,
    /// How the file ended.
    pub ending: Ending,
}

/// What a log has of a sender.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry<'a> {
    /// Its state.
    Sample(&'a Sample),
    /// Nanoseconds, as in [`Sample::at`], and an event of its packets; only in a qlog.
    Packet(i64, PacketEvent),
}

/// Reads a log and passes each sample on, in the order of the file, and the packets of a qlog.
///
/// # Errors
/// [`ReadError::Invalid`] with the line of an invalid value, [`ReadError::Io`], and
/// [`ReadError::Unknown`] for packets.
pub fn read(
    kind: Kind,
    reader: impl BufRead,
    take_all: &mut dyn FnMut(&Owner, Entry<'_>),
) -> Result<LogSummary, ReadError> {
    let take: &mut dyn FnMut(&Owner, &Sample) = &mut |owner, sample| {
        take_all(owner, Entry::Sample(sample));
    };
    match kind {
        Kind::TcpInfo => tcp_info::read(reader, take),
        Kind::Ss => ss::read(reader, take),
        Kind::TcpProbe => tcp_probe::read(reader, take),
        Kind::Qlog => qlog::read_document(reader, take_all),
        Kind::QlogSequence => qlog::read_sequence(reader, take_all),
        Kind::Packets => Err(ReadError::Unknown),
    }
}

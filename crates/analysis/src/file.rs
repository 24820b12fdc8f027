//! Analyzes one file of any supported format.

use std::io::{BufRead, Read};
use std::path::Path;

use capture::{Decoder, Ending, Format, Input, Kind, ReadError, logs, packets};
use serde::Serialize;

use crate::logs::LogTracker;
use crate::report::Connection;
use crate::tracker::Tracker;

/// What a file contained.
#[derive(Clone, Debug, Serialize)]
pub struct FileReport {
    /// `pcap`, `pcapng`, `qlog`, `tcp-info`, `ss` or `tcp_probe`.
    pub format: &'static str,
    /// Packets or samples.
    pub records: u64,
    /// Of these, what is not analyzed: other protocols, packets without a time, lines without a
    /// sample.
    pub skipped: u64,
    /// Packets that the capture itself lost, as the file says.
    pub dropped: u64,
    /// What else a reader of the results must know, in whole sentences.
    pub notes: Vec<String>,
    /// The connections.
    pub connections: Vec<Connection>,
}

/// Analyzes `file`, with at most `points` points for figures for each connection.
///
/// # Errors
/// Those of [`capture::open`] and of the readers.
pub fn analyze(file: &Path, points: usize) -> Result<FileReport, ReadError> {
    analyze_input(capture::open(file)?, points, &[])
}

/// Analyzes `file`, and keeps of the connections with these numbers what a replay needs.
///
/// # Errors
/// As [`analyze`].
pub fn analyze_for_replay(file: &Path, numbers: &[u64]) -> Result<FileReport, ReadError> {
    analyze_input(capture::open(file)?, 0, numbers)
}

/// The same for a stream of bytes.
///
/// # Errors
/// As [`analyze`].
pub fn analyze_reader(
    reader: impl Read + Send + 'static,
    points: usize,
) -> Result<FileReport, ReadError> {
    analyze_input(capture::from_reader(reader)?, points, &[])
}

fn analyze_input(input: Input, points: usize, replayed: &[u64]) -> Result<FileReport, ReadError> {
    match input.kind {
        Kind::Packets => analyze_packets(input.reader, points, replayed),
        kind => analyze_log(kind, input.reader, points),
    }
}

fn analyze_packets(
    reader: impl BufRead + Send,
    points: usize,
    replayed: &[u64],
) -> Result<FileReport, ReadError> {
    let mut tracker = Tracker::new(points).replaying(replayed.iter().copied());
    let mut decoder = Decoder::default();
    let summary = packets::read(reader, |frame| {
        if let Some(segment) = decoder.decode(frame) {
            tracker.take(&segment);
        }
    })?;
    let mut notes = Vec::new();
    note_ending(&summary.ending, &mut notes);
    if summary.dropped > 0 {
        notes.push(format!(
            "The capture lost {} packets; numbers of its connections may be too small.",
            summary.dropped
        ));
    }
    if let (count, Some(link)) = decoder.unsupported {
        notes.push(format!(
            "{count} packets have link types that are not supported, such as {}.",
            link.0
        ));
    }
    if decoder.unreadable > 0 {
        notes.push(format!(
            "{} TCP segments have less than their header captured.",
            decoder.unreadable
        ));
    }
    if tracker.evicted > 0 {
        notes.push(format!(
            "{} connections were ended early because more than {} were open.",
            tracker.evicted,
            crate::tracker::MOST_OPEN
        ));
    }
    Ok(FileReport {
        format: match summary.format {
            Format::Pcap => "pcap",
            Format::PcapNg => "pcapng",
        },
        records: summary.packets,
        skipped: summary.skipped + decoder.other + decoder.unreadable + decoder.unsupported.0,
        dropped: summary.dropped,
        notes,
        connections: tracker.finish(),
    })
}

fn analyze_log(kind: Kind, reader: impl BufRead, points: usize) -> Result<FileReport, ReadError> {
    let mut tracker = LogTracker::new(points);
    let summary = logs::read(kind, reader, &mut |owner, sample| {
        tracker.take(owner, sample)
    })?;
    let mut notes = Vec::new();
    note_ending(&summary.ending, &mut notes);
    Ok(FileReport {
        format: match kind {
            Kind::TcpInfo => "tcp-info",
            Kind::Ss => "ss",
            Kind::TcpProbe => "tcp_probe",
            _ => "qlog",
        },
        records: summary.samples,
        skipped: summary.skipped + tracker.skipped,
        dropped: 0,
        notes,
        connections: tracker.finish(),
    })
}

fn note_ending(ending: &Ending, notes: &mut Vec<String>) {
    if *ending != Ending::Whole {
        let mut sentence = ending.to_string();
        sentence.replace_range(..1, "T");
        sentence.push('.');
        notes.push(sentence);
    }
}

//! Analyzes one file of any supported format.

use std::io::{BufRead, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use capture::logs::Entry;
use capture::{Carried, Decoder, Ending, Format, Kind, PacketSummary, ReadError, logs, packets};
use serde::Serialize;

use crate::encrypted::Encrypted;
use crate::logs::LogTracker;
use crate::quic::Senders;
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

/// How to analyze a file.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Most points for figures of each connection.
    pub points: usize,
    /// Numbers of the connections of a capture that have points; all if it is empty.
    pub drawn: Vec<u64>,
    /// Numbers of the connections of which a replay needs the steps.
    pub replayed: Vec<u64>,
    /// Set by another thread, it ends the reading soon; what was read so far is then the result.
    pub cancel: Arc<AtomicBool>,
}

/// A file that ends when the reading is cancelled. Readers take some thousand packets at once, so it
/// is asked often enough.
pub(crate) struct Cancellable<R> {
    pub inner: R,
    pub cancel: Arc<AtomicBool>,
}

impl<R: Read> Read for Cancellable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.cancel.load(Ordering::Relaxed) {
            return Ok(0);
        }
        self.inner.read(buffer)
    }
}

/// Analyzes `file`.
///
/// # Errors
/// Those of [`capture::open`] and of the readers.
pub fn analyze(file: &Path, options: &Options) -> Result<FileReport, ReadError> {
    analyze_reader(capture::regular_file(file)?, options)
}

/// The same for a stream of bytes.
///
/// # Errors
/// As [`analyze`].
pub fn analyze_reader(
    reader: impl Read + Send + 'static,
    options: &Options,
) -> Result<FileReport, ReadError> {
    let input = capture::from_reader(Cancellable {
        inner: reader,
        cancel: Arc::clone(&options.cancel),
    })?;
    match input.kind {
        Kind::Packets => analyze_packets(input.reader, options),
        kind => analyze_log(kind, input.reader, options),
    }
}

fn analyze_packets(
    reader: impl BufRead + Send,
    options: &Options,
) -> Result<FileReport, ReadError> {
    let mut tracker = Tracker::new(options.points)
        .replaying(options.replayed.iter().copied())
        .drawing(options.drawn.iter().copied());
    let mut encrypted = Encrypted::default();
    let mut decoder = Decoder::default();
    let mut foreign = 0;
    let summary = packets::read(reader, |frame| match decoder.decode_any(frame) {
        Some(Carried::Segment(segment)) => tracker.take(&segment),
        Some(Carried::Datagram(datagram)) => {
            let is_known = encrypted.take(&datagram, || tracker.count_another());
            foreign += u64::from(!is_known);
        }
        None => {}
    })?;
    decoder.other += foreign;
    let mut notes = packet_notes(&summary, &decoder);
    if tracker.evicted > 0 {
        notes.push(format!(
            "{} connections were ended early because more than {} were open.",
            tracker.evicted,
            crate::tracker::MOST_OPEN
        ));
    }
    if encrypted.skipped > 0 {
        notes.push(format!(
            "{} QUIC connections were left out because there are more than {}.",
            encrypted.skipped,
            crate::tracker::MOST_OPEN
        ));
    }
    let mut connections = encrypted.finish(|number| tracker.points_of(number));
    connections.extend(tracker.finish());
    connections.sort_by_key(|connection| connection.number);
    Ok(FileReport {
        format: packet_format(summary.format),
        records: summary.packets,
        skipped: skipped(&summary, &decoder),
        dropped: summary.dropped,
        notes,
        connections,
    })
}

/// The name of a format of captures.
pub(crate) const fn packet_format(format: Format) -> &'static str {
    match format {
        Format::Pcap => "pcap",
        Format::PcapNg => "pcapng",
    }
}

/// Packets that are not analyzed.
pub(crate) const fn skipped(summary: &PacketSummary, decoder: &Decoder) -> u64 {
    summary.skipped + decoder.other + decoder.unreadable + decoder.unsupported.0
}

/// What a reader of the results must know about a capture.
pub(crate) fn packet_notes(summary: &PacketSummary, decoder: &Decoder) -> Vec<String> {
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
    notes
}

pub(crate) fn analyze_log(
    kind: Kind,
    reader: impl BufRead,
    options: &Options,
) -> Result<FileReport, ReadError> {
    let mut tracker = LogTracker::new(options.points);
    let mut senders = Senders::default();
    let summary = logs::read(kind, reader, &mut |owner, entry| match entry {
        Entry::Sample(sample) => tracker.take(owner, sample),
        Entry::Packet(at, event) => {
            if senders.take(owner, at, event) {
                tracker.begin(owner, at);
            }
        }
    })?;
    let mut notes = Vec::new();
    note_ending(&summary.ending, &mut notes);
    if tracker.backwards() > 0 {
        notes.push(format!(
            "The times of {} senders go backwards; they get no verdict.",
            tracker.backwards()
        ));
    }
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
        connections: tracker.finish(&mut |owner, connection| {
            let keep = options.replayed.contains(&connection.number);
            senders.complete(owner, connection, keep);
        }),
    })
}

pub(crate) fn note_ending(ending: &Ending, notes: &mut Vec<String>) {
    if *ending != Ending::Whole {
        let mut sentence = ending.to_string();
        sentence.replace_range(..1, "T");
        sentence.push('.');
        notes.push(sentence);
    }
}

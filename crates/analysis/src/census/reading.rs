//! Reads a file of a census, in memory that does not grow with the file.
//!
//! The connections of a capture are divided into [`SHARDS`] by their addresses, and each shard has a
//! tracker of its own. The packets of [`EPOCH`] go to the shards together, and what has ended is
//! passed on after each epoch, in the order of the connections' first packets. Neither depends on
//! the number of threads: with several, one reads and decodes, and the others follow the shards.

use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use capture::archive::{self, Contents};
use capture::{Carried, Decoder, Input, Kind, ReadError, Segment, packets};
use serde::Serialize;

use super::quic;
use super::rows::Row;
use super::{Control, Source};
use crate::file::{self, FileReport, Options};
use crate::report::Connection;
use crate::tracker::{End, Ended, Tracker};

/// Parts of the connections of a capture.
const SHARDS: usize = 16;
/// Packets that go to the shards together.
const EPOCH: usize = 1 << 14;
/// Epochs that wait for the threads of the shards.
const WAITING: usize = 3;
/// A smaller file is not worth the threads, in bytes.
const SMALL: u64 = 4 << 20;
/// Most open connections of all shards together.
pub const MOST_OPEN: usize = 65_536;

/// What a file, or a member of an archive, gave.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FileNote {
    /// Its name; that of a member follows a colon.
    pub file: String,
    /// Its format; null if it has none that is known, and for archives.
    pub format: Option<&'static str>,
    /// Packets or samples.
    pub records: u64,
    /// Of these, what is not analyzed.
    pub skipped: u64,
    /// Packets that the capture itself lost.
    pub dropped: u64,
    /// Its connections.
    pub connections: u64,
    /// Of these, ended early because too many were open.
    pub evicted: u64,
    /// QUIC connections beside them, which are not analyzed.
    pub quic_connections: u64,
    /// What else a reader must know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Why it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Takes the rows.
type Take<'a> = dyn FnMut(Row) -> io::Result<()> + 'a;

/// A file that counts what was read of it.
struct Watched {
    file: File,
    done: Arc<AtomicU64>,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.done.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Reads a file. Its rows go to `take`, and what it gave to `notes`; files that cannot be read, too.
///
/// # Errors
/// Those of `take`.
pub fn read(
    source: &Source,
    threads: usize,
    control: &Control,
    notes: &mut Vec<FileNote>,
    take: &mut Take<'_>,
) -> io::Result<()> {
    let name = source.path.to_string_lossy();
    let threads = if source.size < SMALL { 1 } else { threads };
    let mut failed = None;
    let mut one = |name: &str, input: Result<Input, ReadError>| {
        if failed.is_some() {
            return;
        }
        let mut note = FileNote {
            file: name.to_owned(),
            ..FileNote::default()
        };
        if let Err(error) = input.and_then(|input| input_rows(input, threads, &mut note, take)) {
            match error {
                // It is not the file that failed.
                ReadError::Io(error) if error.get_ref().is_some_and(|it| it.is::<Unwritten>()) => {
                    failed = Some(error);
                }
                error => note.error = Some(error.to_string()),
            }
        }
        notes.push(note);
    };
    let opened = capture::regular_file(&source.path).and_then(|file| {
        let done = Arc::clone(&control.done);
        archive::from_reader(file::Cancellable {
            inner: Watched { file, done },
            cancel: Arc::clone(&control.cancel),
        })
    });
    match opened {
        Ok(Contents::One(input)) => one(&name, Ok(input)),
        Ok(Contents::Archive(members)) => {
            let whole = members.each(|member, input| one(&format!("{name}:{member}"), input));
            let mut note = FileNote {
                file: name.into_owned(),
                ..FileNote::default()
            };
            match whole {
                Ok(ending) => file::note_ending(&ending, &mut note.notes),
                Err(error) => note.error = Some(error.to_string()),
            }
            if note.error.is_some() || !note.notes.is_empty() {
                notes.push(note);
            }
        }
        Err(error) => one(&name, Err(error)),
    }
    failed.map_or(Ok(()), Err)
}

/// A row could not be written.
#[derive(Debug)]
struct Unwritten(io::Error);

impl std::fmt::Display for Unwritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Unwritten {}

fn input_rows(
    input: Input,
    threads: usize,
    note: &mut FileNote,
    take: &mut Take<'_>,
) -> Result<(), ReadError> {
    let name: Arc<str> = note.file.as_str().into();
    let mut count = 0;
    let mut failure = None;
    let mut row = |connection: Connection, end: End| {
        count += 1;
        let row = Row {
            file: Arc::clone(&name),
            connection,
            end,
        };
        if failure.is_none() {
            failure = take(row).err();
        }
    };
    if input.kind == Kind::Packets {
        let mut pass = |ended: Vec<Ended>| {
            for each in ended {
                row(each.connection, each.end);
            }
        };
        let read = if threads > 1 {
            on_threads(input, threads - 1, note, &mut pass)
        } else {
            inline(input, note, &mut pass)
        };
        read?;
    } else {
        let report = file::analyze_log(input.kind, input.reader, &Options::default())?;
        let FileReport { connections, .. } = report;
        (note.format, note.records) = (Some(report.format), report.records);
        (note.skipped, note.notes) = (report.skipped, report.notes);
        connections
            .into_iter()
            .for_each(|each| row(each, End::File));
    }
    note.connections = count;
    match failure {
        Some(error) => Err(io::Error::other(Unwritten(error)).into()),
        None => Ok(()),
    }
}

/// Packets with their numbers, by shard.
type Epoch = Vec<Vec<(u64, Segment)>>;

/// The trackers of some shards.
struct Follower {
    trackers: Vec<Tracker>,
}

impl Follower {
    fn new(shards: usize) -> Self {
        let tracker = |_| Tracker::bounded(MOST_OPEN / SHARDS);
        Self {
            trackers: (0..shards).map(tracker).collect(),
        }
    }

    /// Follows a segment of one of its shards.
    fn follow(&mut self, shard: usize, number: u64, segment: &Segment) {
        self.trackers[shard].take_numbered(segment, number);
    }

    /// The connections that have ended since the last call.
    fn ended(&mut self) -> Vec<Ended> {
        let trackers = self.trackers.iter_mut();
        trackers.flat_map(Tracker::take_ended_with_cause).collect()
    }

    /// The connections that are still open.
    fn finish(&mut self) -> Vec<Ended> {
        let trackers = self.trackers.iter_mut();
        trackers.flat_map(Tracker::take_all).collect()
    }

    fn evicted(&self) -> u64 {
        self.trackers.iter().map(|tracker| tracker.evicted).sum()
    }
}

/// In the order of the first packets.
fn sorted(mut ended: Vec<Ended>) -> Vec<Ended> {
    ended.sort_by_key(|each| each.connection.number);
    ended
}

/// Reads a capture: passes each segment on with its shard and the number of its packet, and calls
/// `end` after each epoch.
fn epochs<T>(
    input: Input,
    note: &mut FileNote,
    to: &mut T,
    mut follow: impl FnMut(&mut T, usize, u64, &Segment),
    mut end: impl FnMut(&mut T),
) -> Result<(), ReadError> {
    let mut decoder = Decoder::default();
    let mut encrypted = quic::Counter::default();
    let (mut number, mut held, mut datagrams) = (0, 0, 0);
    let summary = packets::read(input.reader, |frame| {
        number += 1;
        match decoder.decode_any(frame) {
            Some(Carried::Segment(segment)) => {
                follow(to, shard(&segment), number, &segment);
                held += 1;
                if held == EPOCH {
                    end(to);
                    held = 0;
                }
            }
            Some(Carried::Datagram(datagram)) => {
                encrypted.take(&datagram);
                datagrams += 1;
            }
            None => {}
        }
    })?;
    end(to);
    decoder.other += datagrams;
    note.quic_connections = encrypted.connections;
    note.format = Some(file::packet_format(summary.format));
    note.records = summary.packets;
    note.skipped = file::skipped(&summary, &decoder);
    note.dropped = summary.dropped;
    note.notes = file::packet_notes(&summary, &decoder);
    Ok(())
}

/// The shard of a segment's connection: the same for both directions.
fn shard(segment: &Segment) -> usize {
    let half = |address: &SocketAddr| {
        let ip = match address.ip() {
            IpAddr::V4(ip) => u64::from(u32::from(ip)),
            IpAddr::V6(ip) => {
                let bits = u128::from(ip);
                (bits >> 64) as u64 ^ (bits as u64).rotate_left(32)
            }
        };
        (ip ^ u64::from(address.port()) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    // A sum does not depend on the order.
    let sum = half(&segment.source).wrapping_add(half(&segment.destination));
    let mixed = sum ^ sum >> 29 ^ u64::from(segment.interface);
    (mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 60) as usize % SHARDS
}

fn inline(
    input: Input,
    note: &mut FileNote,
    pass: &mut dyn FnMut(Vec<Ended>),
) -> Result<(), ReadError> {
    let mut follower = Follower::new(SHARDS);
    epochs(input, note, &mut follower, Follower::follow, |follower| {
        pass(sorted(follower.ended()));
    })?;
    pass(sorted(follower.finish()));
    note.evicted = follower.evicted();
    Ok(())
}

/// A thread that follows some shards, as the reader sees it.
struct Worker {
    epochs: SyncSender<Epoch>,
    ended: Receiver<Vec<Ended>>,
    shards: usize,
}

fn on_threads(
    input: Input,
    workers: usize,
    note: &mut FileNote,
    pass: &mut dyn FnMut(Vec<Ended>),
) -> Result<(), ReadError> {
    let workers = workers.min(SHARDS);
    std::thread::scope(|scope| {
        let mut all = Vec::new();
        let mut handles = Vec::new();
        for index in 0..workers {
            let shards = SHARDS * (index + 1) / workers - SHARDS * index / workers;
            let (epochs, work) = sync_channel::<Epoch>(WAITING);
            let (result, ended) = sync_channel(2 * WAITING);
            handles.push(scope.spawn(move || {
                let mut follower = Follower::new(shards);
                for epoch in work {
                    for (shard, segments) in epoch.iter().enumerate() {
                        for (number, segment) in segments {
                            follower.follow(shard, *number, segment);
                        }
                    }
                    if result.send(follower.ended()).is_err() {
                        break;
                    }
                }
                (follower.finish(), follower.evicted())
            }));
            all.push(Worker {
                epochs,
                ended,
                shards,
            });
        }
        let mut waiting = 0;
        let mut receive = |all: &[Worker]| {
            let parts = all.iter().filter_map(|worker| worker.ended.recv().ok());
            pass(sorted(parts.flatten().collect()));
        };
        let keep = |epoch: &mut Epoch, shard: usize, number, segment: &Segment| {
            epoch[shard].push((number, *segment));
        };
        let mut epoch: Epoch = vec![Vec::new(); SHARDS];
        let read = epochs(input, note, &mut epoch, keep, |epoch| {
            let mut rest = std::mem::replace(epoch, vec![Vec::new(); SHARDS]).into_iter();
            for worker in &all {
                let part = rest.by_ref().take(worker.shards).collect();
                // A worker that is gone has panicked; joining it below passes that on.
                let _ = worker.epochs.send(part);
            }
            waiting += 1;
            if waiting == WAITING {
                receive(&all);
                waiting -= 1;
            }
        });
        for _ in 0..waiting {
            receive(&all);
        }
        drop(all);
        let mut rest = Vec::new();
        for handle in handles {
            let (ended, evicted) = handle
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            rest.extend(ended);
            note.evicted += evicted;
        }
        pass(sorted(rest));
        read
    })
}

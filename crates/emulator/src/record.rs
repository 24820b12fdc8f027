//! Captures and logs: the emulator's thread hands over events, and another thread writes them.
//!
//! The emulator never waits for a disk. Where the writer falls too far behind, records are lost and
//! counted, and the run reports it.
//!
//! A capture in the middle is that of a point behind the bottleneck, half of the link's delay before
//! the receiver's device: it shows each packet of data so much earlier than the device, and each
//! packet of the other direction later by half of that link's delay.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use network::DropReason;
use scenario::PathModel;
use units::{Duration, Instant};

use crate::clock::Clock;
use crate::device;
use crate::error::EmulatorError;
use crate::mahimahi::Log;
use crate::output::{Existing, Output, refuse_one_name_for_two};
use crate::side::{Direction, Side};

/// Where packets are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// At the device of a side.
    Side(Side),
    /// Between the bottleneck and the receiver.
    Middle,
}

impl Point {
    /// The name in captures.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Side(Side::Sender) => "sender",
            Self::Side(Side::Receiver) => "receiver",
            Self::Middle => "middle",
        }
    }

    /// The side whose device sees the packets.
    const fn side(self) -> Side {
        match self {
            Self::Side(side) => side,
            Self::Middle => Side::Receiver,
        }
    }
}

impl From<Side> for Point {
    fn from(side: Side) -> Self {
        Self::Side(side)
    }
}

/// A requested capture of the packets at one point, in both directions.
#[derive(Clone, Debug)]
pub struct CaptureTo {
    /// The point.
    pub at: Point,
    /// The pcapng file.
    pub file: PathBuf,
    /// Bytes kept of each packet.
    pub snap_length: u32,
}

/// A requested log in Mahimahi's format.
#[derive(Clone, Debug)]
pub struct LogTo {
    /// The link that is logged.
    pub direction: Direction,
    /// The text file.
    pub file: PathBuf,
}

/// An event in the life of a packet.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) at: Instant,
    pub(crate) direction: Direction,
    pub(crate) size: u32,
    pub(crate) what: What,
    /// The packet, if it is captured.
    pub(crate) bytes: Vec<u8>,
}

#[derive(Debug)]
pub(crate) enum What {
    /// It was offered to the link.
    Arrival(Option<DropReason>),
    /// The link dropped it after it had been accepted.
    Drop,
    /// The link delivered it.
    Delivery { arrived: Instant, leaves: Instant },
}

/// Records per hand-over, and hand-overs that may wait: a few hundred MB at most.
const CHUNK: usize = 512;
const WAITING: usize = 512;

/// The emulator's end of the channel.
#[derive(Debug)]
pub(crate) struct Recorder {
    sender: SyncSender<Vec<Record>>,
    chunk: Vec<Record>,
    /// Bytes to keep of a packet that passes the device of a side: the snap length, or zero.
    keeps: [u32; 2],
    pub(crate) lost: u64,
    end: Arc<OnceLock<Instant>>,
}

/// The writing thread.
#[derive(Debug)]
pub(crate) struct Writing {
    thread: JoinHandle<io::Result<()>>,
    /// The files, as a message names them.
    files: String,
}

impl Writing {
    /// Waits until everything is written and the files have their names.
    pub(crate) fn finish(self) -> Result<(), EmulatorError> {
        match self.thread.join() {
            Ok(result) => result.map_err(|error| EmulatorError::File(self.files, error)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Recorder {
    /// Bytes to keep of a packet that passes the device of `side`, into a link or out of one.
    pub(crate) fn keeps(&self, side: Side) -> u32 {
        self.keeps[side.index()]
    }

    pub(crate) fn record(&mut self, record: Record) {
        self.chunk.push(record);
        if self.chunk.len() >= CHUNK {
            self.flush();
        }
    }

    /// Hands over the pending records.
    pub(crate) fn flush(&mut self) {
        if self.chunk.is_empty() {
            return;
        }
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
        if let Err(TrySendError::Full(chunk) | TrySendError::Disconnected(chunk)) =
            self.sender.try_send(chunk)
        {
            self.lost += chunk.len() as u64;
        }
    }

    /// The run ended at `end`. This closes the channel, which ends the writer.
    pub(crate) fn close(self, end: Instant) {
        // Only here is it set.
        let _ = self.end.set(end);
    }
}

/// A packet whose turn has not come.
struct Waiting {
    size: u32,
    bytes: Vec<u8>,
    comment: Option<&'static str>,
}

/// A capture that is being written.
struct Sink {
    at: Point,
    writer: capture::Writer<Output>,
    /// How much earlier packets of data pass the point than the device, and how much later those of
    /// the other direction do.
    shifts: [Duration; 2],
    /// Packets whose turn has not come, by time and number.
    waiting: BTreeMap<(u64, u64), Waiting>,
    count: u64,
}

impl Sink {
    /// Takes a packet that passed the device.
    fn take(
        &mut self,
        clock: Clock,
        record: &Record,
        comment: Option<&'static str>,
    ) -> io::Result<()> {
        let at = clock.unix(record.at);
        if self.at != Point::Middle {
            return self
                .writer
                .packet(0, at, record.size, &record.bytes, comment);
        }
        let [before, after] = self.shifts.map(Duration::as_nanos);
        let seen = match record.direction {
            Direction::Forward => at.saturating_sub(before),
            Direction::Reverse => at + after,
        };
        self.count += 1;
        let packet = Waiting {
            size: record.size,
            bytes: record.bytes.clone(),
            comment,
        };
        self.waiting.insert((seen, self.count), packet);
        self.write_until(at.saturating_sub(before))
    }

    /// Writes the packets that passed the point before `bound`.
    fn write_until(&mut self, bound: u64) -> io::Result<()> {
        while let Some(first) = self.waiting.first_entry()
            && first.key().0 < bound
        {
            let ((at, _), packet) = first.remove_entry();
            self.writer
                .packet(0, at, packet.size, &packet.bytes, packet.comment)?;
        }
        Ok(())
    }
}

struct Sinks {
    clock: Clock,
    captures: Vec<Sink>,
    logs: Vec<(Direction, Log<Output>)>,
    /// When the run ended.
    end: Arc<OnceLock<Instant>>,
}

/// The files. They are opened before the run begins, so that a wrong name is reported at once.
#[derive(Debug, Default)]
pub(crate) struct Files {
    captures: Vec<(CaptureTo, Output)>,
    logs: Vec<(LogTo, Output)>,
}

impl Files {
    pub(crate) fn open(
        captures: &[CaptureTo],
        logs: &[LogTo],
        existing: Existing,
    ) -> Result<Self, EmulatorError> {
        let captured = captures.iter().map(|to| to.file.as_path());
        refuse_one_name_for_two(captured.chain(logs.iter().map(|to| to.file.as_path())))?;
        let captures = captures
            .iter()
            .map(|to| Ok((to.clone(), Output::create(&to.file, existing)?)));
        let logs = logs
            .iter()
            .map(|to| Ok((to.clone(), Output::create(&to.file, existing)?)));
        Ok(Self {
            captures: captures.collect::<Result<_, EmulatorError>>()?,
            logs: logs.collect::<Result<_, EmulatorError>>()?,
        })
    }

    /// Starts the writing thread; `None` where no file is requested.
    pub(crate) fn start(
        self,
        path: &PathModel,
        seed: u64,
        command: &str,
        clock: Clock,
    ) -> Result<Option<(Recorder, Writing)>, EmulatorError> {
        if self.captures.is_empty() && self.logs.is_empty() {
            return Ok(None);
        }
        let mut keeps = [0; 2];
        let captured = self.captures.iter().map(|(to, _)| &to.file);
        let files: Vec<_> = captured
            .chain(self.logs.iter().map(|(to, _)| &to.file))
            .map(|file| file.display().to_string())
            .collect();
        let files = files.join(" or ");
        let mut sinks = Sinks {
            clock,
            captures: Vec::new(),
            logs: Vec::new(),
            end: Arc::default(),
        };
        let end = Arc::clone(&sinks.end);
        for (to, output) in self.captures {
            let fail = |error| EmulatorError::File(to.file.display().to_string(), error);
            let comment = format!("path {}, seed {seed}: {command}", path.name);
            let mut writer = capture::Writer::new(output, &comment).map_err(fail)?;
            writer
                .add_interface(device::NAME, to.at.name(), to.snap_length)
                .map_err(fail)?;
            let keep = &mut keeps[to.at.side().index()];
            *keep = to.snap_length.max(*keep);
            sinks.captures.push(Sink {
                at: to.at,
                writer,
                shifts: [path.forward.delay, path.reverse.delay].map(|delay| delay / 2),
                waiting: BTreeMap::new(),
                count: 0,
            });
        }
        for (to, output) in self.logs {
            let (config, name) = match to.direction {
                Direction::Forward => (&path.forward, "downlink"),
                Direction::Reverse => (&path.reverse, "uplink"),
            };
            let log = Log::new(
                output,
                config,
                name,
                command,
                clock.unix(Instant::ZERO) / 1_000_000,
            )
            .map_err(|error| EmulatorError::File(to.file.display().to_string(), error))?;
            sinks.logs.push((to.direction, log));
        }
        let (sender, receiver) = sync_channel(WAITING);
        let thread = thread::Builder::new()
            .name("slowstart-files".to_owned())
            .spawn(move || sinks.run(&receiver))
            .map_err(EmulatorError::system("starting a thread"))?;
        let recorder = Recorder {
            sender,
            chunk: Vec::with_capacity(CHUNK),
            keeps,
            lost: 0,
            end,
        };
        Ok(Some((recorder, Writing { thread, files })))
    }
}

impl Sinks {
    fn run(mut self, receiver: &Receiver<Vec<Record>>) -> io::Result<()> {
        for chunk in receiver {
            for record in &chunk {
                self.write(record)?;
            }
        }
        for mut sink in self.captures {
            sink.write_until(u64::MAX)?;
            sink.writer.finish()?.finish()?;
        }
        // A run that failed has no end.
        let end = self.end.get().copied();
        let end = end.unwrap_or_else(|| self.clock.now());
        for (_, mut log) in self.logs {
            // The link could have served until the end.
            log.advance(end)?;
            log.into_inner().finish()?;
        }
        Ok(())
    }

    fn write_drop(&mut self, record: &Record) -> io::Result<()> {
        for (of, log) in &mut self.logs {
            if *of == record.direction {
                log.drop(record.at, record.size)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        let (passes, comment) = match record.what {
            What::Arrival(drop) => (record.direction, drop.map(comment_of)),
            What::Delivery { .. } => (record.direction, None),
            // It passed its sender's device when it arrived.
            What::Drop => return self.write_drop(record),
        };
        let side = device_passed(passes, &record.what);
        for sink in &mut self.captures {
            if sink.at.side() == side {
                sink.take(self.clock, record, comment)?;
            }
        }
        for (of, log) in &mut self.logs {
            if *of == record.direction {
                match record.what {
                    What::Arrival(drop) => log.arrival(record.at, record.size, drop)?,
                    What::Drop => {}
                    What::Delivery { arrived, leaves } => {
                        log.departure(arrived, leaves, record.size)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The side whose device a packet passed: the sending side on arrival at the link, otherwise the
/// other.
fn device_passed(direction: Direction, what: &What) -> Side {
    let sending = match direction {
        Direction::Forward => Side::Sender,
        Direction::Reverse => Side::Receiver,
    };
    match what {
        What::Arrival(_) | What::Drop => sending,
        What::Delivery { .. } => sending.peer(),
    }
}

const fn comment_of(reason: DropReason) -> &'static str {
    match reason {
        DropReason::Overflow => "dropped: the queue is full",
        DropReason::Early => "dropped: early, by the queue discipline",
        DropReason::Loss => "dropped: lost by the medium",
    }
}

//! Mahimahi traces: the file, its mean rate, and the server that follows it. Other formats are in
//! `columns`; [`read`] distinguishes them.
//!
//! Source: mahimahi, `link_queue.cc`. A trace is a list of milliseconds; each entry is an
//! opportunity to deliver [`OPPORTUNITY_BYTES`]. At its instant an opportunity sends bytes from the
//! head of the queue. A packet sent in part continues with the next opportunity, and leaves when
//! its last byte is sent. If the queue empties, the rest of the opportunity is lost. An opportunity
//! serves packets that arrived before its millisecond started, so a packet waits for one strictly
//! later than itself. After the last entry the trace repeats, shifted by the last entry.
//!
//! A link's `overhead` does not apply: the trace counts bytes of IP.
//!
//! ## Deviations
//!
//! Sizes are bytes of IP: a trace "1" carries 12.032 Mbit/s, 37.6 ACKs of 40 bytes per opportunity,
//! and a full packet leaves 4 bytes to the next. Mahimahi counts the 4 bytes that a TUN device puts
//! before each packet (it opens the device without `IFF_NO_PI`), so that a full packet takes
//! exactly one opportunity: 12.000 Mbit/s, 34.2 such ACKs. The test
//! `one_opportunity_each_millisecond` shows the rule used here.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use units::{Bytes, Instant, Rate};

use crate::{Served, TraceConfig};

mod columns;

pub use columns::{Recorded, parse_delays, parse_rates, read};

/// The bytes that one opportunity delivers.
pub const OPPORTUNITY_BYTES: u64 = 1504;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// A trace that cannot be used: one sentence with the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The file as the user named it.
    pub file: String,
    /// The line, counted from one; `None` for the file as a whole.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: TraceProblem,
}

/// What is wrong with a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceProblem {
    /// There is no entry.
    Empty,
    /// A blank line before the end.
    Blank,
    /// Something that is not a whole number; its beginning.
    NotANumber(String),
    /// A number below zero.
    Negative,
    /// Something after the number; its beginning.
    TrailingJunk(String),
    /// More milliseconds than 32 bits hold, 49 days.
    TooLarge,
    /// The entry is less than the one before it.
    Decreasing {
        /// The entry before, in milliseconds.
        previous: u32,
        /// The entry, in milliseconds.
        value: u32,
    },
    /// The last entry is zero: the trace lasts no time.
    NoDuration,
    /// A line that does not have the format; its start.
    Expected {
        /// What was expected.
        what: &'static str,
        /// What was found.
        found: String,
    },
    /// A negative number where none is allowed.
    BelowZero {
        /// Its meaning.
        what: &'static str,
    },
    /// A number that is too large.
    AboveLimit {
        /// Its meaning.
        what: &'static str,
        /// The limit.
        limit: &'static str,
    },
    /// In a trace of rates, a time that is not later than the one before.
    NotLater {
        /// The time before, in seconds as written.
        previous: String,
        /// The time, in seconds as written.
        value: String,
    },
    /// A trace of rates whose positive rates last no time.
    NoRate,
    /// An empty trace of delays.
    NoDelay,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        f.write_str(" ")?;
        match &self.problem {
            TraceProblem::Empty => {
                f.write_str("the trace is empty; it needs one line with a whole number of milliseconds for each delivery opportunity")
            }
            TraceProblem::Blank => f.write_str("a blank line inside the trace; remove it"),
            TraceProblem::NotANumber(found) => {
                write!(f, "expected a whole number of milliseconds, found {found:?}")
            }
            TraceProblem::Negative => {
                f.write_str("a time below zero; times are milliseconds since the trace began")
            }
            TraceProblem::TrailingJunk(found) => {
                write!(f, "expected nothing after the number of milliseconds, found {found:?}")
            }
            TraceProblem::TooLarge => {
                write!(f, "the time is too large; at most {} ms can be used", u32::MAX)
            }
            TraceProblem::Decreasing { previous, value } => {
                write!(f, "{value} ms comes after {previous} ms; times must not decrease")
            }
            TraceProblem::NoDuration => f.write_str(
                "the last time is 0 ms, so the trace lasts no time; it must be positive",
            ),
            TraceProblem::Expected { what, found } => write!(f, "expected {what}, found {found:?}"),
            TraceProblem::BelowZero { what } => write!(f, "{what} cannot be below zero"),
            TraceProblem::AboveLimit { what, limit } => {
                write!(f, "{what} can be at most {limit}")
            }
            TraceProblem::NotLater { previous, value } => {
                write!(f, "{value} s comes after {previous} s; each line needs a later time")
            }
            TraceProblem::NoRate => {
                f.write_str("the trace has no positive rate that lasts any time, so no packet would ever pass")
            }
            TraceProblem::NoDelay => {
                f.write_str("the trace is empty; it needs one line with a delay in milliseconds for each slot of time")
            }
        }
    }
}

impl core::error::Error for TraceError {}

/// Reads a trace: one whole number of milliseconds on each line, non-decreasing, the last one
/// positive. Lines may end in CR LF, and blank lines may follow the last. The trace repeats, as by
/// default in Mahimahi (without `--once`).
///
/// # Errors
///
/// The first invalid line, with its number and `file_name`.
pub fn parse(text: &str, file_name: &str) -> Result<TraceConfig, TraceError> {
    let error = |line, problem| TraceError {
        file: file_name.to_owned(),
        line,
        problem,
    };
    let mut opportunities_ms = Vec::new();
    let mut previous = 0;
    let mut last_line = 0;
    for line in lines(text) {
        let (line, content) = line.map_err(|blank| error(Some(blank), TraceProblem::Blank))?;
        let value = entry(content).map_err(|problem| error(Some(line), problem))?;
        if value < previous {
            return Err(error(
                Some(line),
                TraceProblem::Decreasing { previous, value },
            ));
        }
        opportunities_ms.push(value);
        previous = value;
        last_line = line;
    }
    if opportunities_ms.is_empty() {
        return Err(error(None, TraceProblem::Empty));
    }
    if previous == 0 {
        return Err(error(Some(last_line), TraceProblem::NoDuration));
    }
    Ok(TraceConfig {
        opportunities_ms,
        repeat: true,
    })
}

/// The trimmed lines of a text with their numbers, counted from one. Blank lines at the end are
/// skipped; for a blank line before another line, its number is the error.
fn lines(text: &str) -> impl Iterator<Item = Result<(usize, &str), usize>> {
    let mut blank = None;
    (1..).zip(text.lines()).filter_map(move |(line, content)| {
        let content = content.trim_ascii();
        if content.is_empty() {
            blank = blank.or(Some(line));
            return None;
        }
        Some(blank.map_or(Ok((line, content)), Err))
    })
}

fn entry(content: &str) -> Result<u32, TraceProblem> {
    let digits = content.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = content.split_at(digits);
    if number.is_empty() {
        return Err(match content.strip_prefix('-') {
            Some(number) if number.starts_with(|c: char| c.is_ascii_digit()) => {
                TraceProblem::Negative
            }
            _ => TraceProblem::NotANumber(beginning(content)),
        });
    }
    if !rest.is_empty() {
        return Err(match rest.starts_with(|c: char| c.is_ascii_whitespace()) {
            true => TraceProblem::TrailingJunk(beginning(rest.trim_ascii_start())),
            false => TraceProblem::NotANumber(beginning(content)),
        });
    }
    number.parse().map_err(|_| TraceProblem::TooLarge)
}

/// Enough of `content` to recognise it.
fn beginning(content: &str) -> String {
    content.chars().take(24).collect()
}

impl TraceConfig {
    /// How long one lap lasts, in milliseconds; zero for a trace without entries.
    #[must_use]
    pub fn lap_ms(&self) -> u32 {
        self.opportunities_ms.last().copied().unwrap_or(0)
    }

    /// The mean rate of IP bytes over one lap: 1504 bytes for each opportunity.
    #[must_use]
    pub fn mean_rate(&self) -> Rate {
        let bits = self.opportunities_ms.len() as u64 * OPPORTUNITY_BYTES * 8;
        let rate = u128::from(bits) * 1000 / u128::from(self.lap_ms().max(1));
        Rate::from_bits_per_sec(u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

/// The server that follows a trace.
#[derive(Clone, Debug)]
pub(crate) struct Follower {
    trace: Arc<TraceConfig>,
    /// The opportunity that served last: the start of its lap in milliseconds, its index in the
    /// trace (the length of the trace once a trace that does not repeat is over).
    lap_begin_ms: u64,
    index: usize,
    /// Bytes left in it.
    budget: u64,
}

impl Follower {
    pub(crate) fn new(trace: Arc<TraceConfig>) -> Self {
        Self {
            trace,
            lap_begin_ms: 0,
            index: 0,
            budget: 0,
        }
    }

    /// Serves a packet that arrives at `now`; the packets before it leave by `busy_until`. Returns
    /// when its first and its last byte are sent; [`Instant::MAX`] is never.
    pub(crate) fn serve(&mut self, now: Instant, busy_until: Instant, bytes: u64) -> Served {
        let mut after_gap = now > busy_until;
        if self.trace.lap_ms() == 0 {
            return Served {
                start: Instant::MAX,
                end: Instant::MAX,
                after_gap,
            };
        }
        if busy_until <= now {
            // The queue is empty: the rest of the last opportunity is lost.
            let last = (self.lap_begin_ms, self.index);
            after_gap = self.budget >= bytes;
            self.next();
            let next = (self.lap_begin_ms, self.index);
            (self.lap_begin_ms, self.index) = last;
            self.seek(now);
            // An unused opportunity could have carried a packet.
            after_gap |= (self.lap_begin_ms, self.index) > next;
        } else if self.budget == 0 {
            self.next();
        }
        let start = self.instant();
        // `next` steps through whole opportunities one at a time: a packet takes few.
        let mut bytes = bytes;
        while bytes > self.budget && self.instant() < Instant::MAX {
            bytes -= self.budget;
            self.next();
        }
        self.budget = self.budget.saturating_sub(bytes);
        Served {
            start,
            end: self.instant(),
            after_gap,
        }
    }

    /// Goes to the first opportunity later than `now`.
    fn seek(&mut self, now: Instant) {
        let now_ms = now.as_millis();
        let lap_ms = u64::from(self.trace.lap_ms());
        let lap = if self.trace.repeat {
            now_ms / lap_ms
        } else {
            0
        };
        self.lap_begin_ms = lap * lap_ms;
        let within = now_ms - self.lap_begin_ms;
        self.index = self
            .trace
            .opportunities_ms
            .partition_point(|ms| u64::from(*ms) <= within);
        self.budget = OPPORTUNITY_BYTES;
    }

    fn next(&mut self) {
        self.index += 1;
        if self.trace.repeat && self.index >= self.trace.opportunities_ms.len() {
            self.index = 0;
            self.lap_begin_ms += u64::from(self.trace.lap_ms());
        }
        self.budget = OPPORTUNITY_BYTES;
    }

    fn instant(&self) -> Instant {
        self.trace
            .opportunities_ms
            .get(self.index)
            .map_or(Instant::MAX, |ms| {
                let ms = self.lap_begin_ms + u64::from(*ms);
                Instant::from_nanos(ms.saturating_mul(NANOS_PER_MILLI))
            })
    }

    /// The bytes that all opportunities up to `until` could have carried.
    pub(crate) fn capacity(&self, until: Instant) -> Bytes {
        let lap_ms = u64::from(self.trace.lap_ms());
        let ms = until.as_millis();
        let laps = match lap_ms {
            0 => return Bytes::ZERO,
            _ if self.trace.repeat => ms / lap_ms,
            _ => 0,
        };
        let within = ms - laps * lap_ms;
        let entries = &self.trace.opportunities_ms;
        // At the end of a lap the entries "0" of the next lap are due as well.
        let partial = entries.partition_point(|ms| u64::from(*ms) <= within) as u64;
        let count = laps
            .saturating_mul(entries.len() as u64)
            .saturating_add(partial);
        Bytes::new(count.saturating_mul(OPPORTUNITY_BYTES))
    }
}

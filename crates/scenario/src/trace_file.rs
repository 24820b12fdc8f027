//! Reads regular files up to a size limit; never a device or a pipe, which may not end.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use network::Service;
use network::trace::{self, Recorded, TraceError, TraceProblem};
use units::Duration;

use crate::error::Error;
use crate::limits::{MIN_LAP, MIN_STEP};

/// Longest trace: 64 MB hold about ten million opportunities, or three million rates.
const MAX_TRACE: u64 = 64_000_000;

/// What is wrong with a trace: access to its file, which the caller names, or its content.
pub(crate) enum Problem {
    /// The end of a sentence.
    File(String),
    /// A sentence that names the trace.
    Content(Error),
}

/// A list of milliseconds that decreases and stays below this is probably a list of delays:
/// opportunities soon exceed it.
const LIKELY_DELAY: Duration = Duration::from_secs(5);

impl From<TraceError> for Problem {
    fn from(error: TraceError) -> Self {
        Self::Content(Error::new(error.to_string()))
    }
}

/// The traces that were read last, with their texts. A study reads the same few for a thousand
/// scenarios, which then share them.
static LAST: Mutex<VecDeque<(String, Service)>> = Mutex::new(VecDeque::new());
/// As many of at most this size are kept.
const KEPT: usize = 8;
const MAX_KEPT: usize = 4_000_000;

/// Reads a repeating trace of opportunities or of rates.
pub(crate) fn read(path: &Path) -> Result<Service, Problem> {
    let text = read_text(path, MAX_TRACE).map_err(Problem::File)?;
    let last = || LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, service)) = last().iter().find(|(kept, _)| *kept == text) {
        return Ok(service.clone());
    }
    let service = parse(&text, &path.to_string_lossy())?;
    if text.len() <= MAX_KEPT {
        let mut last = last();
        last.push_back((text, service.clone()));
        if last.len() > KEPT {
            last.pop_front();
        }
    }
    Ok(service)
}

fn parse(text: &str, name: &str) -> Result<Service, Problem> {
    match trace::read(text, name) {
        Ok(Recorded::Opportunities(trace)) => Ok(Service::Trace(Arc::new(trace))),
        Ok(Recorded::Rates(steps)) => {
            let lap = steps.iter().fold(Duration::ZERO, |lap, step| lap + step.0);
            if lap < MIN_LAP || steps.iter().any(|step| step.0 < MIN_STEP) {
                return Err(Problem::Content(Error::in_file(
                    name,
                    format!(
                        "each rate must hold for at least {MIN_STEP}, and all together for {MIN_LAP}"
                    ),
                )));
            }
            Ok(Service::Steps { steps })
        }
        Err(error) => {
            let hint = if matches!(error.problem, TraceProblem::Decreasing { .. })
                && trace::parse_delays(text, name)
                    .is_ok_and(|delays| delays.iter().all(|delay| *delay < LIKELY_DELAY))
            {
                "; if these are delays, name the file after a trace of the rate: trace:RATE,delay=FILE, \
                 or delay = { trace = \"FILE\" } in a path file"
            } else {
                ""
            };
            Err(Problem::Content(Error::new(format!("{error}{hint}"))))
        }
    }
}

/// Reads a trace of delays.
pub(crate) fn read_delays(path: &Path) -> Result<Arc<[Duration]>, Problem> {
    let text = read_text(path, MAX_TRACE).map_err(Problem::File)?;
    Ok(trace::parse_delays(&text, &path.to_string_lossy())?)
}

/// The text of a regular file of at most `limit` bytes. Devices, which may not end, and pipes,
/// which may block, are refused.
///
/// # Errors
/// Why the file cannot be read, as the end of a sentence that begins with its name.
pub fn read_text(path: &Path, limit: u64) -> Result<String, String> {
    String::from_utf8(read_bytes(path, limit)?).map_err(|_| "not a text file".to_owned())
}

/// As [`read_text`], for any bytes.
///
/// # Errors
/// As [`read_text`].
pub fn read_bytes(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    open(path)?
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(&error))?;
    match bytes.len() as u64 > limit {
        true => Err(too_large(limit)),
        false => Ok(bytes),
    }
}

/// A regular file of at most `limit` bytes, to be read piece by piece. What it grows by after this
/// is not read.
///
/// # Errors
/// As [`read_text`].
pub(crate) fn read_pieces(path: &Path, limit: u64) -> Result<impl BufRead, String> {
    let file = open(path)?;
    let length = file.metadata().map_err(|error| unreadable(&error))?.len();
    match length > limit {
        true => Err(too_large(limit)),
        false => Ok(BufReader::new(file.take(length))),
    }
}

fn unreadable(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "the file does not exist".to_owned(),
        std::io::ErrorKind::PermissionDenied => "the file may not be read".to_owned(),
        _ => format!("the file cannot be read ({error})"),
    }
}

fn too_large(limit: u64) -> String {
    let limit = limit / 1_000_000;
    format!("the file is larger than the limit of {limit} MB")
}

fn open(path: &Path) -> Result<File, String> {
    // Opening a named pipe would block, so the kind of file is checked first.
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(&error))?;
    if metadata.is_dir() {
        return Err("this is a folder, not a file".to_owned());
    }
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    File::open(path).map_err(|error| unreadable(&error))
}

//! Files from the disk: never more than a limit, never a device that does not end.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use network::{TraceConfig, trace};

use crate::error::Error;

/// Longest trace: 64 MB hold about ten million opportunities.
const MAX_TRACE: u64 = 64_000_000;

/// What is wrong with a trace: its file, for whoever named it to say, or what it contains.
pub(crate) enum Problem {
    /// The end of a sentence.
    File(String),
    /// A sentence that names the trace.
    Content(Error),
}

/// Reads a trace.
pub(crate) fn read(path: &Path) -> Result<TraceConfig, Problem> {
    let text = read_text(path, MAX_TRACE).map_err(Problem::File)?;
    trace::parse(&text, &path.to_string_lossy())
        .map_err(|error| Problem::Content(Error::new(error.to_string())))
}

/// The text of a regular file of at most `limit` bytes. The error is the end of a sentence.
pub(crate) fn read_text(path: &Path, limit: u64) -> Result<String, String> {
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => "the file does not exist".to_owned(),
        std::io::ErrorKind::PermissionDenied => "the file may not be read".to_owned(),
        _ => format!("the file cannot be read ({error})"),
    };
    // A named pipe would block on opening, so what it is comes first.
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err("this is a folder, not a file".to_owned());
    }
    if !metadata.is_file() {
        return Err("this is no regular file".to_owned());
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(limit + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() as u64 > limit {
        return Err(format!(
            "the file is larger than the limit of {} MB",
            limit / 1_000_000
        ));
    }
    String::from_utf8(bytes).map_err(|_| "the file is no text".to_owned())
}

//! Portable conformance vectors: what any stack's slow start, congestion avoidance and recovery
//! must answer to a timeline of sends, ACKs, losses, timeouts and pauses.
//!
//! A vector is a text file (`docs/reference/conformance.md` describes the format) that names no
//! type of this project. This crate reads vectors and runs them against the algorithms of
//! `congestion`, or against anything else that implements [`Subject`]. [`scripts`] has the simulated
//! TCP as a stack that [`packetdrill`] tests.
//!
//! ```no_run
//! let text = std::fs::read_to_string("conformance/standard-slow-start.vec").expect("the vector");
//! let report = conformance::run_text("standard-slow-start.vec", &text)?;
//! assert!(report.passed(), "{report}");
//! # Ok::<(), conformance::Error>(())
//! ```
//!
//! Assumes that a vector describes one connection, established at time zero.

mod algorithm;
mod flight;
mod parse;
mod report;
mod run;
pub mod scripts;
mod subject;
mod vector;

pub use ::packetdrill::Error;
pub use flight::Flight;
pub use report::{Mismatch, Report};
pub use run::{Answer, Driver, run, run_algorithm};
pub use subject::{Mode, Subject};
pub use vector::{Event, Expected, Header, Kind, Norm, Pace, Timed, Vector};

use std::path::Path;

/// Reads one vector from its text. `file` is what messages call it.
///
/// # Errors
/// The first thing in it that is wrong, with line and column.
pub fn parse(file: &str, text: &str) -> Result<Vector, Error> {
    parse::parse(file, text)
}

/// Runs the vector in `text` against the algorithm that it names. `file` is what messages call it.
///
/// # Errors
/// It is not a vector, or it names an algorithm that is not known here.
/// A vector that was run and not answered as it says is no error but a report that did not pass.
pub fn run_text(file: &str, text: &str) -> Result<Report, Error> {
    run_algorithm(&parse(file, text)?)
}

/// The vectors (`*.vec`) in a folder, by name.
///
/// # Errors
/// The folder cannot be read.
pub fn files_in(folder: &Path) -> Result<Vec<std::path::PathBuf>, Error> {
    let read = |error: &std::io::Error| Error::file(&folder.display().to_string(), error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| read(&error))? {
        let path = entry.map_err(|error| read(&error))?.path();
        if path.extension().is_some_and(|extension| extension == "vec") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

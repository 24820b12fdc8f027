//! Why a run in real time did not finish.

use std::fmt;
use std::io;

use emulator::EmulatorError;

/// Why a run did not finish.
#[derive(Debug)]
pub enum RealError {
    /// The stack cannot run the scenario in real time: one sentence.
    Unsupported(String),
    /// The path could not be created.
    Emulator(EmulatorError),
    /// Something that the hosts need failed: the operation, and the error.
    System(String, io::Error),
    /// The caller cancelled the run.
    Cancelled,
}

impl RealError {
    /// Turns the error of an operation into one of this kind.
    pub(crate) fn system<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        what: &str,
    ) -> impl Fn(E) -> Self {
        move |error| Self::System(what.to_owned(), io::Error::other(error))
    }
}

impl fmt::Display for RealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(sentence) => f.write_str(sentence),
            Self::Emulator(error) => error.fmt(f),
            Self::System(what, error) => write!(f, "a host in real time failed: {what}: {error}"),
            Self::Cancelled => f.write_str("the run was cancelled"),
        }
    }
}

impl std::error::Error for RealError {}

impl From<EmulatorError> for RealError {
    fn from(error: EmulatorError) -> Self {
        Self::Emulator(error)
    }
}

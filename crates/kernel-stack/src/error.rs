//! Why a run on the kernel did not finish.

use std::fmt;
use std::io;

use emulator::EmulatorError;

/// Why a run did not finish.
#[derive(Debug)]
pub enum StackError {
    /// The kernel cannot run the scenario: one sentence.
    Unsupported(String),
    /// The path could not be created.
    Emulator(EmulatorError),
    /// A system call failed: the operation, and the error.
    System(String, io::Error),
    /// The caller cancelled the run.
    Cancelled,
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(sentence) => f.write_str(sentence),
            Self::Emulator(error) => error.fmt(f),
            Self::System(what, error) => write!(f, "the kernel's TCP failed: {what}: {error}"),
            Self::Cancelled => f.write_str("the run was cancelled"),
        }
    }
}

impl std::error::Error for StackError {}

impl From<EmulatorError> for StackError {
    fn from(error: EmulatorError) -> Self {
        Self::Emulator(error)
    }
}

//! Why a congestion control cannot be loaded, in one sentence.

use std::fmt;

/// Why a congestion control cannot be loaded or unloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Requirements are not met; a sentence for each.
    Missing(Vec<String>),
    /// The request is invalid.
    Invalid(String),
    /// The kernel refused.
    Refused(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(sentences) => f.write_str(&sentences.join("; ")),
            Self::Invalid(sentence) | Self::Refused(sentence) => f.write_str(sentence),
        }
    }
}

impl std::error::Error for Error {}

//! Why something cannot be loaded, in one sentence.

use std::fmt;

/// Why something cannot be loaded or unloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Something that it needs is missing; a sentence for each thing.
    Missing(Vec<String>),
    /// What was asked for is wrong.
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

//! What is wrong with a script or another text file, in one sentence with its place.

use std::fmt;

/// A file that cannot be read or run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    file: String,
    /// Line and column, from 1; `None` when the file as a whole is meant.
    place: Option<(usize, usize)>,
    message: String,
}

impl Error {
    /// At a line and a column, from 1.
    pub fn at(file: &str, line: usize, column: usize, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            place: Some((line, column)),
            message: message.into(),
        }
    }

    /// The file as a whole.
    pub fn whole(file: &str, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            place: None,
            message: message.into(),
        }
    }

    /// The file cannot be read.
    #[must_use]
    pub fn file(file: &str, error: &std::io::Error) -> Self {
        Self::whole(file, format!("cannot be read: {error}"))
    }

    /// Line and column, from 1; `None` when the file as a whole is meant.
    #[must_use]
    pub const fn place(&self) -> Option<(usize, usize)> {
        self.place
    }

    /// The sentence, without file and place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if let Some((line, column)) = self.place {
            write!(f, "{line}:{column}:")?;
        }
        write!(f, " {}", self.message)
    }
}

impl std::error::Error for Error {}

//! What is wrong with a file of connection vectors.

use std::fmt;

use crate::Unsound;

/// A file that cannot be used: one sentence with the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TmixError {
    /// The file as the user named it.
    pub file: String,
    /// The line, counted from one.
    pub line: u64,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a line, or with a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The file cannot be read: the operating system's message.
    Unreadable(String),
    /// The line is longer than any line of the format.
    LongLine,
    /// The line is not UTF-8.
    NotText,
    /// The last line has no line end.
    CutLine,
    /// Something other than what the format has at this place.
    Expected {
        /// What was expected.
        what: &'static str,
        /// What was found; its beginning. `None` at the end of the line.
        found: Option<String>,
    },
    /// A number above its largest value.
    TooLarge {
        /// Its meaning.
        what: &'static str,
        /// Its largest value.
        limit: u64,
    },
    /// A connection in the format that the file did not begin with.
    OtherFormat,
    /// A header line that the connection already has.
    Repeated(char),
    /// A header line after the first unit.
    LateHeader(char),
    /// Two units without a wait between them.
    NoWait,
    /// Two waits without a unit between them.
    TwoWaits,
    /// Both waits of a line are positive.
    BothWaits,
    /// The wait of a line counts from a unit that the other kind of wait counts from.
    WrongWait {
        /// Whether the receive wait is the right one.
        receives: bool,
    },
    /// A line of a side that has sent its FIN.
    AfterFin,
    /// The connection has another number of epochs or units than its first line says.
    Count {
        /// The connection's identifier.
        id: u64,
        /// What is counted.
        what: &'static str,
        /// The number in its first line.
        said: u64,
        /// The number found.
        found: u64,
        /// Whether the file ends there, so that it may have been cut.
        at_end: bool,
    },
    /// The vector means nothing.
    Unsound(Unsound),
}

impl fmt::Display for TmixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(reason) => write!(f, "the file cannot be read: {reason}"),
            Self::LongLine => write!(f, "the line is longer than {} bytes", super::line::LONGEST),
            Self::NotText => f.write_str("the line is not UTF-8 text"),
            Self::CutLine => f.write_str(
                "the last line has no line end: the file is cut, or needs a line end there",
            ),
            Self::Expected { what, found } => match found {
                Some(found) => write!(f, "expected {what}, found {found:?}"),
                None => write!(f, "expected {what}, found the end of the line"),
            },
            Self::TooLarge { what, limit } => write!(f, "{what} is too large: at most {limit}"),
            Self::OtherFormat => f.write_str(
                "the file began in the other format: SEQ and CONC do not mix with S and C",
            ),
            Self::Repeated(line) => write!(f, "the connection already has a line {line}"),
            Self::LateHeader(line) => {
                write!(f, "the line {line} must come before the first data unit")
            }
            Self::NoWait => f.write_str("two data units need a line with a wait between them"),
            Self::TwoWaits => f.write_str("two waits need a data unit between them"),
            Self::BothWaits => f.write_str("only one of the two waits can be positive"),
            Self::WrongWait { receives: true } => f.write_str(
                "this unit follows the other side's, so its receive wait must be positive and its \
                 send wait 0",
            ),
            Self::WrongWait { receives: false } => f.write_str(
                "this unit follows one of the same side, so its send wait must be positive and its \
                 receive wait 0",
            ),
            Self::AfterFin => f.write_str("this side has already sent its FIN"),
            Self::Count {
                id,
                what,
                said,
                found,
                at_end,
            } => {
                if *at_end {
                    f.write_str("the file ends early: ")?;
                }
                write!(f, "connection {id} announces {said} {what} but has {found}")
            }
            Self::Unsound(reason) => reason.fmt(f),
        }
    }
}

impl std::error::Error for TmixError {}

//! How reading ends, and why it fails.

use std::fmt;
use std::io;

/// How a file ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// With its last block or line.
    #[default]
    Whole,
    /// In the middle of a block, line or compressed stream, at this offset of the decompressed
    /// data. Everything before was read.
    Cut(u64),
    /// Bytes at this offset of the decompressed data are no valid block. Everything before was
    /// read, nothing after.
    Damaged(u64),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("complete"),
            Self::Cut(at) => write!(f, "the file is cut at byte {at}; it was read up to there"),
            Self::Damaged(at) => {
                write!(
                    f,
                    "the file is damaged at byte {at}; it was read up to there"
                )
            }
        }
    }
}

/// Why a file cannot be read.
#[derive(Debug)]
pub enum ReadError {
    /// The system cannot read it.
    Io(io::Error),
    /// It has none of the known formats.
    Unknown,
    /// A line or event has an invalid value.
    Invalid {
        /// Number of the line or event, from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::Unknown => {
                f.write_str("not a pcap, pcapng, qlog, M-Lab tcp-info, ss -tin or tcp_probe file")
            }
            Self::Invalid { line, reason } => write!(f, "line {line}: {reason}"),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Whether a read failed because a compressed stream is cut or damaged, rather than the disk.
pub(crate) fn is_in_stream(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
    ) || (error.kind() == io::ErrorKind::Other && error.raw_os_error().is_none())
}

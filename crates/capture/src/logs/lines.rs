//! Lines of bounded length, and how the last one ends.

use std::io::BufRead;

use crate::error::is_in_stream;
use crate::{Ending, LARGEST_LINE, ReadError};

/// Splits a stream into lines.
pub struct Lines<R> {
    reader: R,
    separator: u8,
    line: Vec<u8>,
    /// Bytes of all lines before.
    offset: u64,
    /// Number of the current line, from 1.
    pub number: u64,
    /// How the stream ended, once it has.
    pub ending: Ending,
}

impl<R: BufRead> Lines<R> {
    pub fn new(reader: R, separator: u8) -> Self {
        Self {
            reader,
            separator,
            line: Vec::new(),
            offset: 0,
            number: 0,
            ending: Ending::Whole,
        }
    }

    /// The next line, without its separator; bytes that are not UTF-8 are replaced.
    pub fn next(&mut self) -> Result<Option<String>, ReadError> {
        self.offset += self.line.len() as u64;
        self.line.clear();
        let mut is_complete = false;
        while !is_complete {
            let bytes = match self.reader.fill_buf() {
                Ok([]) => break,
                Ok(bytes) => bytes,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) if is_in_stream(&error) => {
                    self.ending = Ending::Cut(self.offset);
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            };
            let end = bytes.iter().position(|byte| *byte == self.separator);
            is_complete = end.is_some();
            let taken = end.map_or(bytes.len(), |end| end + 1);
            self.line.extend_from_slice(&bytes[..taken]);
            self.reader.consume(taken);
            if self.line.len() > LARGEST_LINE {
                return Err(self.invalid(format!("longer than {LARGEST_LINE} bytes")));
            }
        }
        if self.line.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        let text = self.line.strip_suffix(&[self.separator]);
        let text = String::from_utf8_lossy(text.unwrap_or(&self.line));
        Ok(Some(text.into_owned()))
    }

    /// Whether the current line is the last one and has no separator: then it may be cut.
    pub fn is_open(&mut self) -> bool {
        self.line.last() != Some(&self.separator)
    }

    /// Records that the current line, the last one, is incomplete.
    pub fn cut(&mut self) {
        self.ending = Ending::Cut(self.offset);
    }

    /// The error of an invalid current line.
    pub fn invalid(&self, reason: impl Into<String>) -> ReadError {
        ReadError::Invalid {
            line: self.number.max(1),
            reason: reason.into(),
        }
    }
}

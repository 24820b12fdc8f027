//! Lines of a file and the numbers in them.

use std::io::{BufRead, Read};

use units::{Bytes, Duration};

use super::error::Problem;
use crate::MAX_UNIT;

/// Longest line in bytes, comments included.
pub(super) const LONGEST: usize = 4096;

/// Largest number of microseconds that 64 bits of nanoseconds hold.
const MICROS: u64 = u64::MAX / 1_000;

/// Reads a file line by line. Only one line is in memory.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// The number of the current line, counted from one.
    pub number: u64,
}

impl<R: BufRead> Lines<R> {
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            number: 0,
        }
    }

    /// Goes to the next line; false at the end of the file.
    pub fn advance(&mut self) -> Result<bool, Problem> {
        self.buffer.clear();
        self.number += 1;
        let mut limited = (&mut self.input).take(LONGEST as u64 + 1);
        limited
            .read_until(b'\n', &mut self.buffer)
            .map_err(|error| Problem::Unreadable(error.to_string()))?;
        if self.buffer.is_empty() {
            return Ok(false);
        }
        if self.buffer.pop() == Some(b'\n') {
            return Ok(true);
        }
        Err(if self.buffer.len() == LONGEST {
            Problem::LongLine
        } else {
            Problem::CutLine
        })
    }

    /// The current line.
    pub fn text(&self) -> Result<&str, Problem> {
        std::str::from_utf8(&self.buffer).map_err(|_| Problem::NotText)
    }
}

/// What stands before a comment.
pub(super) fn without_comment(text: &str) -> &str {
    text.split_once('#').map_or(text, |(before, _)| before)
}

/// The words of a line.
#[derive(Clone, Debug)]
pub(super) struct Words<'a>(std::str::SplitAsciiWhitespace<'a>);

impl<'a> Words<'a> {
    pub fn new(line: &'a str) -> Self {
        Self(without_comment(line).split_ascii_whitespace())
    }

    /// The next word.
    pub fn word(&mut self) -> Option<&'a str> {
        self.0.next()
    }

    /// A whole number up to `limit`.
    pub fn number(&mut self, what: &'static str, limit: u64) -> Result<u64, Problem> {
        let word = self.word();
        let digits = word.filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        let Some(digits) = digits else {
            return Err(expected(what, word));
        };
        // Only digits, so that the one possible error is a number beyond 64 bits.
        match digits.parse() {
            Ok(number) if number <= limit => Ok(number),
            _ => Err(Problem::TooLarge { what, limit }),
        }
    }

    /// A time in microseconds.
    pub fn time(&mut self, what: &'static str) -> Result<Duration, Problem> {
        Ok(Duration::from_micros(self.number(what, MICROS)?))
    }

    /// The size of a unit.
    pub fn bytes(&mut self) -> Result<Bytes, Problem> {
        let limit = MAX_UNIT.get();
        Ok(Bytes::new(self.number("a whole number of bytes", limit)?))
    }

    /// A whole number of 32 bits for each side.
    pub fn pair(&mut self, what: &'static str) -> Result<[u32; 2], Problem> {
        let mut one = || self.number(what, u64::from(u32::MAX));
        Ok([one()? as u32, one()? as u32])
    }

    /// A probability for each side.
    pub fn probabilities(&mut self) -> Result<[f64; 2], Problem> {
        let mut one = || {
            let word = self.word();
            let plain = |byte: u8| byte.is_ascii_digit() || byte == b'.';
            let decimal = word.filter(|word| word.bytes().all(plain));
            let number = decimal.and_then(|word| word.parse().ok());
            number
                .filter(|number| (0.0..=1.0).contains(number))
                .ok_or_else(|| expected("a probability from 0 to 1", word))
        };
        Ok([one()?, one()?])
    }

    /// The end of the line.
    pub fn end(&mut self) -> Result<(), Problem> {
        match self.word() {
            None => Ok(()),
            word => Err(expected("the end of the line", word)),
        }
    }
}

/// The error that `found` stands where `what` should.
pub(super) fn expected(what: &'static str, found: Option<&str>) -> Problem {
    let found = found.map(|word| word.chars().take(20).collect());
    Problem::Expected { what, found }
}

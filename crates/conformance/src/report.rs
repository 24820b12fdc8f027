//! What came of running a vector.

use std::fmt;

use units::Instant;

/// One answer that is not what the vector says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The line of the vector, from 1.
    pub line: usize,
    /// When it happened.
    pub now: Instant,
    /// The event, in the vector's words.
    pub event: String,
    /// `cwnd`, `ssthresh`, `state`, `exit` or `norm`.
    pub quantity: &'static str,
    /// What the vector says.
    pub expected: String,
    /// What the algorithm answered.
    pub actual: String,
}

/// What came of running a vector. It ends with the first event that was answered differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The vector's file.
    pub file: String,
    /// What the vector shows.
    pub title: String,
    /// Whose arithmetic its numbers are.
    pub form: String,
    /// The algorithm, as this project writes it.
    pub algorithm: String,
    /// Events that were run.
    pub events: usize,
    /// Answers that were compared.
    pub checks: usize,
    /// Answers that differ, all of one event.
    pub mismatches: Vec<Mismatch>,
}

impl Report {
    /// Whether every answer was the vector's.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.mismatches.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.passed() {
            return write!(
                f,
                "{}: {} answers to {} events are as expected ({}, {})",
                self.file, self.checks, self.events, self.algorithm, self.form
            );
        }
        for (index, mismatch) in self.mismatches.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(
                f,
                "{}:{}: after `{}` {} is {}, expected {} ({}, {})",
                self.file,
                mismatch.line,
                mismatch.event,
                mismatch.quantity,
                mismatch.actual,
                mismatch.expected,
                self.algorithm,
                self.form
            )?;
        }
        Ok(())
    }
}

//! Reads connection vectors one by one.

use std::io::BufRead;

use super::body::Body;
use super::error::{Problem, TmixError};
use super::line::{Lines, Words, expected};
use super::{Format, line};
use crate::Connection;

/// Most comment lines that are kept from the beginning of a file.
const COMMENTS: usize = 1000;

/// An iterator over the connections of a file. It keeps one connection and one line in memory, and
/// ends after the first error.
#[derive(Debug)]
pub struct Reader<R> {
    file: String,
    lines: Lines<R>,
    format: Option<Format>,
    comments: Vec<String>,
    /// The connection whose first line has been read.
    current: Option<Body>,
    finished: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads `input`, which errors call `file`, up to the first line of its first connection.
    ///
    /// # Errors
    ///
    /// What is wrong with that line. A file without connections is not wrong.
    pub fn new(file: impl Into<String>, input: R) -> Result<Self, TmixError> {
        let mut reader = Self {
            file: file.into(),
            lines: Lines::new(input),
            format: None,
            comments: Vec::new(),
            current: None,
            finished: false,
        };
        match reader.read_head() {
            Ok(()) => Ok(reader),
            Err(problem) => Err(reader.error(reader.lines.number, problem)),
        }
    }

    /// The format of the file; `None` if it has no connection.
    pub const fn format(&self) -> Option<Format> {
        self.format
    }

    /// The comments before the first connection, without `#`. The first thousand are kept.
    pub fn comments(&self) -> &[String] {
        &self.comments
    }

    fn error(&self, line: u64, problem: Problem) -> TmixError {
        TmixError {
            file: self.file.clone(),
            line,
            problem,
        }
    }

    fn read_head(&mut self) -> Result<(), Problem> {
        while self.lines.advance()? {
            let text = self.lines.text()?;
            let mut words = Words::new(text);
            let Some(word) = words.word() else {
                let comment = text.trim().strip_prefix('#').map(str::trim);
                if let Some(comment) = comment.filter(|_| self.comments.len() < COMMENTS) {
                    self.comments.push(comment.to_owned());
                }
                continue;
            };
            let first = Body::begin(word, &mut words, self.lines.number)?;
            let first = first.ok_or_else(|| expected("a line SEQ, CONC, S or C", Some(word)))?;
            self.format = Some(first.format());
            self.current = Some(first);
            return Ok(());
        }
        Ok(())
    }

    /// Reads lines up to the first one of the next connection, or the end.
    fn read_body(&mut self, body: &mut Body) -> Result<Option<Body>, Problem> {
        while self.lines.advance()? {
            let text = line::without_comment(self.lines.text()?);
            let mut words = Words::new(text);
            let Some(word) = words.word() else {
                continue;
            };
            if let Some(next) = Body::begin(word, &mut words, self.lines.number)? {
                if next.format() != body.format() {
                    return Err(Problem::OtherFormat);
                }
                return Ok(Some(next));
            }
            body.add(word, &mut words)?;
        }
        Ok(None)
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Connection, TmixError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let mut body = self.current.take()?;
        let next = self.read_body(&mut body);
        let began = body.line;
        let (line, result) = match next {
            Ok(next) => {
                self.current = next;
                (began, body.finish(self.current.is_none()))
            }
            Err(problem) => (self.lines.number, Err(problem)),
        };
        self.finished = result.is_err();
        Some(result.map_err(|problem| self.error(line, problem)))
    }
}

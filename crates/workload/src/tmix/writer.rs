//! Writes connection vectors, and converts one format into the other.

use std::fmt;
use std::io::{self, BufRead, Write};

use units::Duration;

use super::error::TmixError;
use super::{Format, Reader};
use crate::{Connection, Exchange, Headers, Side, Turn, Unsound};

/// Why a connection was not written. Nothing of it is in the output, unless the output failed.
#[derive(Debug)]
pub enum WriteError {
    /// The output failed.
    Io(io::Error),
    /// The connection means nothing.
    Unsound {
        /// Its identifier.
        id: u64,
        /// What is wrong.
        reason: Unsound,
    },
    /// The side that did not send last closes the connection, which only the alternate format can
    /// say.
    ReceiverCloses {
        /// The connection's identifier.
        id: u64,
    },
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "the file cannot be written: {error}"),
            Self::Unsound { id, reason } => write!(f, "connection {id}: {reason}"),
            Self::ReceiverCloses { id } => write!(
                f,
                "connection {id} is closed by the side that did not send last: only the alternate \
                 format can say this"
            ),
        }
    }
}

impl std::error::Error for WriteError {}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Writes connections in one format. Times are written in whole microseconds, rounded down; in the
/// alternate format a wait of less than one becomes one.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    format: Format,
}

impl<W: Write> Writer<W> {
    /// Writes to `output`, which should be buffered.
    pub const fn new(output: W, format: Format) -> Self {
        Self { output, format }
    }

    /// Writes a comment, each of its lines behind a `#`.
    ///
    /// # Errors
    ///
    /// If the output fails.
    pub fn comment(&mut self, text: &str) -> io::Result<()> {
        for line in text.lines() {
            writeln!(self.output, "# {line}")?;
        }
        Ok(())
    }

    /// Writes a connection.
    ///
    /// # Errors
    ///
    /// If the output fails, or the format cannot describe the connection.
    pub fn connection(&mut self, connection: &Connection) -> Result<(), WriteError> {
        let id = connection.id;
        connection
            .check()
            .map_err(|reason| WriteError::Unsound { id, reason })?;
        if let (Format::Original, Exchange::Sequential { turns, close }) =
            (self.format, &connection.exchange)
            && turns.last().is_some_and(|last| last.side != close.side)
        {
            return Err(WriteError::ReceiverCloses { id });
        }
        self.first_line(connection)?;
        self.headers(&connection.headers)?;
        match self.format {
            Format::Original => self.original(&connection.exchange),
            Format::Alternate => self.alternate(&connection.exchange),
        }
        .map_err(WriteError::Io)
    }

    /// The output, flushed.
    ///
    /// # Errors
    ///
    /// If the output fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }

    fn first_line(&mut self, connection: &Connection) -> io::Result<()> {
        let start = connection.start.as_micros();
        let (group, id) = (connection.group, connection.id);
        let [sequential, concurrent] = match self.format {
            Format::Original => ["SEQ", "CONC"],
            Format::Alternate => ["S", "C"],
        };
        match &connection.exchange {
            Exchange::Sequential { .. } => {
                let (epochs, _) = connection.exchange.epochs();
                writeln!(self.output, "{sequential} {start} {epochs} {group} {id}")
            }
            Exchange::Concurrent([one, other]) => {
                let (one, other) = (one.units.len(), other.units.len());
                writeln!(
                    self.output,
                    "{concurrent} {start} {one} {other} {group} {id}"
                )
            }
        }
    }

    fn headers(&mut self, headers: &Headers) -> io::Result<()> {
        let output = &mut self.output;
        if let Some([one, other]) = headers.mss {
            writeln!(output, "m {one} {other}")?;
        }
        if let Some([one, other]) = headers.windows {
            writeln!(output, "w {one} {other}")?;
        }
        if let Some(rtt) = headers.min_rtt {
            writeln!(output, "r {}", rtt.as_micros())?;
        }
        if let Some(loss) = headers.loss {
            let [one, other] = loss.map(probability);
            writeln!(output, "l {one} {other}")?;
        }
        Ok(())
    }

    fn original(&mut self, exchange: &Exchange) -> io::Result<()> {
        let output = &mut self.output;
        match exchange {
            Exchange::Sequential { turns, close } => {
                for (place, turn) in turns.iter().enumerate() {
                    if place > 0 {
                        writeln!(output, "t {}", turn.wait.as_micros())?;
                    }
                    let arrow = [">", "<"][turn.side.index()];
                    writeln!(output, "{arrow} {}", turn.bytes.get())?;
                }
                if !close.wait.is_zero() {
                    writeln!(output, "t {}", close.wait.as_micros())?;
                }
            }
            Exchange::Concurrent(scripts) => {
                for (arrow, script) in [">", "<"].into_iter().zip(scripts) {
                    for (place, unit) in script.units.iter().enumerate() {
                        if place > 0 {
                            writeln!(output, "t{arrow} {}", unit.wait.as_micros())?;
                        }
                        writeln!(output, "c{arrow} {}", unit.bytes.get())?;
                    }
                    if !script.close.is_zero() {
                        writeln!(output, "t{arrow} {}", script.close.as_micros())?;
                    }
                }
            }
        }
        Ok(())
    }

    fn alternate(&mut self, exchange: &Exchange) -> io::Result<()> {
        // The last sender; in a concurrent exchange the side's own.
        let mut last = None;
        for Turn { side, wait, bytes } in exchange.units() {
            if matches!(exchange, Exchange::Concurrent(_)) && last != Some(side) {
                last = None;
            }
            self.line(side, last, wait, bytes.get())?;
            last = Some(side);
        }
        match exchange {
            Exchange::Sequential { close, .. } => {
                if !close.wait.is_zero() || last != Some(close.side) {
                    self.line(close.side, last, close.wait, 0)?;
                }
            }
            Exchange::Concurrent(scripts) => {
                for (side, script) in Side::BOTH.into_iter().zip(scripts) {
                    if !script.close.is_zero() {
                        self.line(side, Some(side), script.close, 0)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A line of the alternate format for a unit of `side` after one of `last`.
    fn line(&mut self, side: Side, last: Option<Side>, wait: Duration, n: u64) -> io::Result<()> {
        let letter = ["I", "A"][side.index()];
        let micros = wait.as_micros().max(1);
        let [send, receive] = match last {
            None => [0, 0],
            Some(last) if last == side => [micros, 0],
            Some(_) => [0, micros],
        };
        writeln!(self.output, "{letter} {send} {receive} {n}")
    }
}

/// Six decimals as in the recorded files, or as many as the number needs.
fn probability(value: f64) -> String {
    let usual = format!("{value:.6}");
    if usual.parse() == Ok(value) {
        usual
    } else {
        format!("{value}")
    }
}

/// Why a file was not converted.
#[derive(Debug)]
pub enum ConvertError {
    /// The input is wrong.
    Read(TmixError),
    /// The output failed, or cannot say what the input says.
    Write(WriteError),
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Write(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ConvertError {}

/// Writes the connections and first comments of a file in the given format, and returns the output.
///
/// # Errors
///
/// At the first connection that cannot be read or written.
pub fn convert<R: BufRead, W: Write>(
    reader: Reader<R>,
    output: W,
    format: Format,
) -> Result<W, ConvertError> {
    let written = |error: io::Error| ConvertError::Write(WriteError::Io(error));
    let mut writer = Writer::new(output, format);
    for comment in reader.comments() {
        writer.comment(comment).map_err(written)?;
    }
    for connection in reader {
        let connection = connection.map_err(ConvertError::Read)?;
        writer
            .connection(&connection)
            .map_err(ConvertError::Write)?;
    }
    writer.finish().map_err(written)
}

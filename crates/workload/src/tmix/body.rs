//! The lines of a connection, collected until the next one begins.

use units::{Bytes, Duration, Instant};

use super::Format;
use super::error::Problem;
use super::line::{Words, expected};
use crate::{Close, Connection, Exchange, Headers, Side, Turn, Unit};

/// The numbers of units or epochs in a first line.
#[derive(Clone, Copy, Debug)]
enum Counts {
    Sequential(u64),
    Concurrent([u64; 2]),
}

/// A connection whose lines are being read.
#[derive(Debug)]
pub(super) struct Body {
    format: Format,
    counts: Counts,
    connection: Connection,
    /// The line at which it began.
    pub line: u64,
    begun: bool,
    /// A wait that no unit has followed, for each side; of a sequential exchange the first.
    waits: [Option<Duration>; 2],
    /// Whether a side has sent its FIN; of a sequential exchange both are alike.
    closed: [bool; 2],
}

impl Body {
    /// Reads a first line, which begins with `word`; `None` if it is none.
    pub fn begin(word: &str, words: &mut Words<'_>, line: u64) -> Result<Option<Self>, Problem> {
        let (format, concurrent) = match word {
            "SEQ" => (Format::Original, false),
            "CONC" => (Format::Original, true),
            "S" => (Format::Alternate, false),
            "C" => (Format::Alternate, true),
            _ => return Ok(None),
        };
        let start = words.time("a start time in microseconds")?;
        let any = u64::from(u32::MAX);
        let counts = if concurrent {
            let mut count = || words.number("a number of data units", any);
            Counts::Concurrent([count()?, count()?])
        } else {
            Counts::Sequential(words.number("a number of epochs", any)?)
        };
        let group = words.number("the identifier of a group", u64::MAX)?;
        let id = words.number("the identifier of the connection", u64::MAX)?;
        words.end()?;
        let close = Close {
            side: Side::Initiator,
            wait: Duration::ZERO,
        };
        let exchange = if concurrent {
            Exchange::Concurrent(Default::default())
        } else {
            let turns = Vec::new();
            Exchange::Sequential { turns, close }
        };
        Ok(Some(Self {
            format,
            counts,
            connection: Connection {
                start: Instant::ZERO + start,
                id,
                group,
                headers: Headers::default(),
                exchange,
            },
            line,
            begun: false,
            waits: [None; 2],
            closed: [false; 2],
        }))
    }

    /// The format of its first line.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Reads a line after the first, which begins with `word`.
    pub fn add(&mut self, word: &str, words: &mut Words<'_>) -> Result<(), Problem> {
        use Side::{Acceptor, Initiator};
        let sequential = matches!(self.counts, Counts::Sequential(_));
        match (self.format, sequential, word) {
            (_, _, "m" | "w" | "r" | "l") => self.header(word, words)?,
            (Format::Original, true, ">") => self.unit(Initiator, words.bytes()?)?,
            (Format::Original, true, "<") => self.unit(Acceptor, words.bytes()?)?,
            (Format::Original, true, "t") => self.wait(0, words)?,
            (Format::Original, false, "c>") => self.unit(Initiator, words.bytes()?)?,
            (Format::Original, false, "c<") => self.unit(Acceptor, words.bytes()?)?,
            (Format::Original, false, "t>") => self.wait(0, words)?,
            (Format::Original, false, "t<") => self.wait(1, words)?,
            (Format::Alternate, _, "I") => self.alternate(Initiator, words)?,
            (Format::Alternate, _, "A") => self.alternate(Acceptor, words)?,
            (Format::Original, true, _) => {
                return Err(expected(
                    "a line >, <, t, m, w, r, l, SEQ or CONC",
                    Some(word),
                ));
            }
            (Format::Original, false, _) => {
                let what = "a line c>, c<, t>, t<, m, w, r, l, SEQ or CONC";
                return Err(expected(what, Some(word)));
            }
            (Format::Alternate, _, _) => {
                return Err(expected("a line I, A, m, w, r, l, S or C", Some(word)));
            }
        }
        words.end()
    }

    fn header(&mut self, word: &str, words: &mut Words<'_>) -> Result<(), Problem> {
        let letter = word.chars().next().unwrap_or_default();
        if self.begun {
            return Err(Problem::LateHeader(letter));
        }
        let headers = &mut self.connection.headers;
        let repeated = match word {
            "m" => headers
                .mss
                .replace(words.pair("a segment size in bytes")?)
                .is_some(),
            "w" => headers
                .windows
                .replace(words.pair("a window in bytes")?)
                .is_some(),
            "r" => headers
                .min_rtt
                .replace(words.time("an RTT in microseconds")?)
                .is_some(),
            _ => headers.loss.replace(words.probabilities()?).is_some(),
        };
        if repeated {
            return Err(Problem::Repeated(letter));
        }
        Ok(())
    }

    /// The side of the last unit that `side` waits for.
    fn last(&self, side: Side) -> Option<Side> {
        match &self.connection.exchange {
            Exchange::Sequential { turns, .. } => turns.last().map(|turn| turn.side),
            Exchange::Concurrent(scripts) => {
                (!scripts[side.index()].units.is_empty()).then_some(side)
            }
        }
    }

    /// A wait of the original format.
    fn wait(&mut self, clock: usize, words: &mut Words<'_>) -> Result<(), Problem> {
        let wait = words.time("a time in microseconds")?;
        if self.last(Side::BOTH[clock]).is_none() {
            return Err(Problem::Unsound(crate::Unsound::FirstWait));
        }
        match self.waits[clock].replace(wait) {
            None => Ok(()),
            Some(_) => Err(Problem::TwoWaits),
        }
    }

    /// A unit of the original format.
    fn unit(&mut self, side: Side, bytes: Bytes) -> Result<(), Problem> {
        let sequential = matches!(self.counts, Counts::Sequential(_));
        let clock = if sequential { 0 } else { side.index() };
        let wait = self.waits[clock].take();
        if self.last(side).is_some() && wait.is_none() {
            return Err(Problem::NoWait);
        }
        self.push(side, wait.unwrap_or_default(), bytes)
    }

    fn push(&mut self, side: Side, wait: Duration, bytes: Bytes) -> Result<(), Problem> {
        if bytes.is_zero() {
            return Err(Problem::Unsound(crate::Unsound::EmptyUnit));
        }
        self.begun = true;
        match &mut self.connection.exchange {
            Exchange::Sequential { turns, .. } => turns.push(Turn { side, wait, bytes }),
            Exchange::Concurrent(scripts) => {
                scripts[side.index()].units.push(Unit { wait, bytes });
            }
        }
        Ok(())
    }

    /// A unit or a FIN of the alternate format.
    fn alternate(&mut self, side: Side, words: &mut Words<'_>) -> Result<(), Problem> {
        let send = words.time("a send wait in microseconds")?;
        let receive = words.time("a receive wait in microseconds")?;
        let bytes = words.bytes()?;
        if self.closed[side.index()] {
            return Err(Problem::AfterFin);
        }
        if !send.is_zero() && !receive.is_zero() {
            return Err(Problem::BothWaits);
        }
        let last = self.last(side);
        let receives = last.is_some_and(|last| last != side);
        let (right, wrong) = if receives {
            (receive, send)
        } else {
            (send, receive)
        };
        let fin = bytes.is_zero();
        // A first unit waits for nothing; a FIN may follow at once.
        let first = last.is_none();
        if !wrong.is_zero() || (right.is_zero() && !first && !fin) {
            return Err(Problem::WrongWait { receives });
        }
        if first && !right.is_zero() {
            return Err(Problem::Unsound(if fin {
                crate::Unsound::SilentWait
            } else {
                crate::Unsound::FirstWait
            }));
        }
        if !fin {
            return self.push(side, right, bytes);
        }
        self.closed[side.index()] = true;
        match &mut self.connection.exchange {
            Exchange::Sequential { close, .. } => {
                self.closed = [true; 2];
                *close = Close { side, wait: right };
            }
            Exchange::Concurrent(scripts) => scripts[side.index()].close = right,
        }
        Ok(())
    }

    /// The connection, after its last line.
    pub fn finish(mut self, at_end: bool) -> Result<Connection, Problem> {
        let id = self.connection.id;
        let fits = |what, said, few, many| {
            let found = if said < few { few } else { many };
            if said == few || said == many {
                return Ok(());
            }
            let at_end = at_end && said > many;
            Err(Problem::Count {
                id,
                what,
                said,
                found,
                at_end,
            })
        };
        match self.counts {
            Counts::Sequential(epochs) => {
                let (few, many) = self.connection.exchange.epochs();
                fits("epochs", epochs, u64::from(few), u64::from(many))?;
            }
            Counts::Concurrent(said) => {
                let Exchange::Concurrent(scripts) = &self.connection.exchange else {
                    return Ok(self.connection);
                };
                let whats = ["data units of the initiator", "data units of the acceptor"];
                for ((what, said), script) in whats.into_iter().zip(said).zip(scripts) {
                    let found = script.units.len() as u64;
                    fits(what, said, found, found)?;
                }
            }
        }
        match &mut self.connection.exchange {
            Exchange::Sequential { turns, close } => {
                if let Some(last) = turns.last().filter(|_| !self.closed[0]) {
                    *close = Close {
                        side: last.side,
                        wait: self.waits[0].unwrap_or_default(),
                    };
                }
            }
            Exchange::Concurrent(scripts) => {
                for (script, wait) in scripts.iter_mut().zip(self.waits) {
                    script.close = wait.unwrap_or(script.close);
                }
            }
        }
        self.connection.check().map_err(Problem::Unsound)?;
        if let Exchange::Sequential { turns, .. } = &mut self.connection.exchange {
            turns.shrink_to_fit();
        }
        Ok(self.connection)
    }
}

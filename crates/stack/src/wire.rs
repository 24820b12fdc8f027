//! The messages of the pipe protocol: a length of four bytes, then that many bytes.
//!
//! Numbers are little-endian. A text is its length in two bytes, then UTF-8.

use std::io::{self, Read, Write};

use units::{Duration, Instant};

use crate::{Act, Ecn, Identity, Report, Settings, Transmit};

/// The version of the protocol and of the C interface.
pub const VERSION: u32 = 1;
/// Bytes of the largest message.
pub const MOST_BYTES: usize = 256 << 20;
/// Datagrams of one endpoint at one instant.
pub const MOST_DATAGRAMS: usize = 65_536;

const HELLO: u8 = 1;
const OPEN: u8 = 2;
const TURN: u8 = 3;
const ERROR: u8 = 255;
/// No deadline, no threshold, no sample.
const NONE: u64 = u64::MAX;

/// What happens to an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A datagram arrives.
    Receive {
        /// Its ECN field.
        ecn: Ecn,
        /// Its payload.
        datagram: Vec<u8>,
    },
    /// The deadline has come.
    Expire,
    /// The application acts.
    Application(Act),
}

/// From slowstart to the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// State the name.
    Hello,
    /// Open an endpoint.
    Open {
        /// Its number in later requests.
        endpoint: u32,
        /// When.
        now: Instant,
        /// What it begins with.
        settings: Settings,
    },
    /// Events at an endpoint, in order.
    Turn {
        /// The endpoint.
        endpoint: u32,
        /// When.
        now: Instant,
        /// The events.
        events: Vec<Event>,
    },
}

/// The state of an endpoint after a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Its deadline.
    pub deadline: Option<Instant>,
    /// Its state.
    pub report: Report,
    /// What it transmits.
    pub transmits: Vec<Transmit>,
}

/// From the stack to slowstart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To [`Request::Hello`].
    Hello(Identity),
    /// To the other requests.
    Turn(Turn),
    /// To any: one sentence that says why the request cannot be answered.
    Error(String),
}

/// The next message; `None` at the end of the stream.
///
/// # Errors
/// The stream fails, ends inside of a message, or has a length that no message has.
pub fn read(input: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    let first = loop {
        match input.read(&mut length) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other?,
        }
    };
    if first == 0 {
        return Ok(None);
    }
    input.read_exact(&mut length[first..])?;
    let length = u32::from_le_bytes(length) as usize;
    if length == 0 || length > MOST_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a message has 1 to {MOST_BYTES} bytes, not {length}"),
        ));
    }
    let mut message = Vec::new();
    let got = input
        .by_ref()
        .take(length as u64)
        .read_to_end(&mut message)?;
    if got < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(message))
}

/// Writes a message with its length.
///
/// # Errors
/// The stream fails.
pub fn write(output: &mut impl Write, message: &[u8]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(message.len() + 4);
    bytes.extend((message.len() as u32).to_le_bytes());
    bytes.extend_from_slice(message);
    output.write_all(&bytes)
}

/// What is left of a message.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], String> {
        if count > self.0.len() {
            let missing = count - self.0.len();
            return Err(format!("the message ends {missing} bytes too early"));
        }
        let (bytes, rest) = self.0.split_at(count);
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    fn u8(&mut self) -> Result<u8, String> {
        Ok(self.array::<1>()?[0])
    }

    fn u16(&mut self) -> Result<u16, String> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn some(&mut self) -> Result<Option<u64>, String> {
        Ok(Some(self.u64()?).filter(|value| *value != NONE))
    }

    fn instant(&mut self) -> Result<Instant, String> {
        Ok(Instant::from_nanos(self.u64()?))
    }

    fn text(&mut self) -> Result<String, String> {
        let length = self.u16()?;
        let bytes = self.bytes(length.into())?;
        let text = std::str::from_utf8(bytes).map_err(|_| "a text is not UTF-8".to_owned())?;
        Ok(text.to_owned())
    }

    fn ecn(&mut self) -> Result<Ecn, String> {
        match self.u8()? {
            0 => Ok(Ecn::NotEct),
            1 => Ok(Ecn::Ect),
            2 => Ok(Ecn::Ce),
            other => Err(format!("{other} is no ECN field (0, 1 or 2)")),
        }
    }

    fn datagram(&mut self) -> Result<(Ecn, Vec<u8>), String> {
        let ecn = self.ecn()?;
        let length = self.u32()?;
        Ok((ecn, self.bytes(length as usize)?.to_vec()))
    }

    fn end<T>(&self, value: T) -> Result<T, String> {
        match self.0.len() {
            0 => Ok(value),
            more => Err(format!("the message has {more} bytes too many")),
        }
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    let mut length = text.len().min(u16::MAX.into());
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    out.extend((length as u16).to_le_bytes());
    out.extend_from_slice(&text.as_bytes()[..length]);
}

fn put_datagram(out: &mut Vec<u8>, ecn: Ecn, datagram: &[u8]) {
    out.push(match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect => 1,
        Ecn::Ce => 2,
    });
    out.extend((datagram.len() as u32).to_le_bytes());
    out.extend_from_slice(datagram);
}

impl Request {
    /// The bytes of the message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Hello => {
                out.push(HELLO);
                out.extend(VERSION.to_le_bytes());
            }
            Self::Open {
                endpoint,
                now,
                settings,
            } => {
                out.push(OPEN);
                out.extend(endpoint.to_le_bytes());
                out.extend(now.as_nanos().to_le_bytes());
                out.push(settings.is_client.into());
                out.extend(settings.flow.to_le_bytes());
                out.extend(settings.initial_window.to_le_bytes());
                out.extend(settings.datagram.to_le_bytes());
                out.extend(settings.receive_window.to_le_bytes());
                out.extend(settings.seed);
                put_text(&mut out, &settings.controller);
            }
            Self::Turn {
                endpoint,
                now,
                events,
            } => {
                out.push(TURN);
                out.extend(endpoint.to_le_bytes());
                out.extend(now.as_nanos().to_le_bytes());
                out.extend((events.len() as u32).to_le_bytes());
                for event in events {
                    match event {
                        Event::Receive { ecn, datagram } => {
                            out.push(1);
                            put_datagram(&mut out, *ecn, datagram);
                        }
                        Event::Expire => out.push(2),
                        Event::Application(act) => {
                            let (code, bytes) = match act {
                                Act::Write(bytes) => (3, *bytes),
                                Act::WriteLast(bytes) => (4, *bytes),
                                Act::Finish => (5, 0),
                            };
                            out.push(code);
                            out.extend(bytes.to_le_bytes());
                        }
                    }
                }
            }
        }
        out
    }

    /// The message of these bytes.
    ///
    /// # Errors
    /// They are none.
    pub fn decode(message: &[u8]) -> Result<Self, String> {
        let mut from = Reader(message);
        let request = match from.u8()? {
            HELLO => match from.u32()? {
                VERSION => Self::Hello,
                other => return Err(format!("the protocol has version {VERSION}, not {other}")),
            },
            OPEN => Self::Open {
                endpoint: from.u32()?,
                now: from.instant()?,
                settings: Settings {
                    is_client: from.u8()? != 0,
                    flow: from.u32()?,
                    initial_window: from.u32()?,
                    datagram: from.u32()?,
                    receive_window: from.u64()?,
                    seed: from.array()?,
                    controller: from.text()?,
                },
            },
            TURN => {
                let (endpoint, now) = (from.u32()?, from.instant()?);
                let events = (0..from.u32()?)
                    .map(|_| match from.u8()? {
                        1 => {
                            let (ecn, datagram) = from.datagram()?;
                            Ok(Event::Receive { ecn, datagram })
                        }
                        2 => Ok(Event::Expire),
                        3 => Ok(Event::Application(Act::Write(from.u64()?))),
                        4 => Ok(Event::Application(Act::WriteLast(from.u64()?))),
                        5 => from.u64().map(|_| Event::Application(Act::Finish)),
                        other => Err(format!("{other} is no event")),
                    })
                    .collect::<Result<_, String>>()?;
                Self::Turn {
                    endpoint,
                    now,
                    events,
                }
            }
            other => return Err(format!("{other} is no kind of request")),
        };
        from.end(request)
    }
}

impl Answer {
    /// The bytes of the message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Hello(identity) => {
                out.push(HELLO);
                out.extend(VERSION.to_le_bytes());
                put_text(&mut out, &identity.name);
                put_text(&mut out, &identity.version);
                put_text(&mut out, &identity.controllers.join(","));
            }
            Self::Turn(turn) => {
                let report = &turn.report;
                out.push(TURN);
                let deadline = turn.deadline.map_or(NONE, Instant::as_nanos);
                out.extend(deadline.to_le_bytes());
                let is_closed = report.closed.is_some();
                out.push(
                    u8::from(report.is_established)
                        | u8::from(report.is_finished) << 1
                        | u8::from(is_closed) << 2,
                );
                for value in [
                    report.received,
                    report.packets_sent,
                    report.packets_lost,
                    report.timeouts,
                    report.acked,
                    report.cwnd,
                    report.ssthresh.unwrap_or(NONE),
                    report.in_flight,
                    report.rtt.map_or(NONE, Duration::as_nanos),
                ] {
                    out.extend(value.to_le_bytes());
                }
                put_text(&mut out, report.closed.as_deref().unwrap_or_default());
                out.extend((turn.transmits.len() as u32).to_le_bytes());
                for transmit in &turn.transmits {
                    put_datagram(&mut out, transmit.ecn, &transmit.datagram);
                }
            }
            Self::Error(sentence) => {
                out.push(ERROR);
                put_text(&mut out, sentence);
            }
        }
        out
    }

    /// The message of these bytes.
    ///
    /// # Errors
    /// They are none.
    pub fn decode(message: &[u8]) -> Result<Self, String> {
        let mut from = Reader(message);
        let answer = match from.u8()? {
            HELLO => {
                let version = from.u32()?;
                if version != VERSION {
                    return Err(format!(
                        "it speaks version {version} of the protocol, not version {VERSION}"
                    ));
                }
                let (name, version, list) = (from.text()?, from.text()?, from.text()?);
                let words = list.split(',').map(str::trim);
                Self::Hello(Identity {
                    name,
                    version,
                    controllers: words
                        .filter(|word| !word.is_empty())
                        .map(str::to_owned)
                        .collect(),
                })
            }
            TURN => {
                let deadline = from.some()?.map(Instant::from_nanos);
                let flags = from.u8()?;
                if flags > 7 {
                    return Err(format!("the flags of a report are below 8, not {flags}"));
                }
                let mut report = Report {
                    is_established: flags & 1 != 0,
                    is_finished: flags & 2 != 0,
                    closed: None,
                    received: from.u64()?,
                    packets_sent: from.u64()?,
                    packets_lost: from.u64()?,
                    timeouts: from.u64()?,
                    acked: from.u64()?,
                    cwnd: from.u64()?,
                    ssthresh: from.some()?,
                    in_flight: from.u64()?,
                    rtt: from.some()?.map(Duration::from_nanos),
                };
                let closed = from.text()?;
                report.closed = (flags & 4 != 0).then_some(closed);
                let transmits = (0..from.u32()?)
                    .map(|_| {
                        let (ecn, datagram) = from.datagram()?;
                        Ok(Transmit { ecn, datagram })
                    })
                    .collect::<Result<_, String>>()?;
                Self::Turn(Turn {
                    deadline,
                    report,
                    transmits,
                })
            }
            ERROR => Self::Error(from.text()?),
            other => return Err(format!("{other} is no kind of answer")),
        };
        from.end(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_what_they_were() {
        let settings = Settings {
            is_client: true,
            flow: 3,
            controller: "newreno".to_owned(),
            initial_window: 10,
            datagram: 1472,
            receive_window: 1 << 20,
            seed: [7; 32],
        };
        let now = Instant::from_millis(20);
        let requests = [
            Request::Hello,
            Request::Open {
                endpoint: 1,
                now,
                settings,
            },
            Request::Turn {
                endpoint: 0,
                now,
                events: vec![
                    Event::Receive {
                        ecn: Ecn::Ce,
                        datagram: vec![1, 2, 3],
                    },
                    Event::Expire,
                    Event::Application(Act::Write(5)),
                    Event::Application(Act::WriteLast(6)),
                    Event::Application(Act::Finish),
                ],
            },
        ];
        for request in requests {
            let bytes = request.encode();
            assert_eq!(Request::decode(&bytes), Ok(request.clone()));
            for length in 0..bytes.len() {
                assert!(Request::decode(&bytes[..length]).is_err(), "{request:?}");
            }
        }
        let answers = [
            Answer::Hello(Identity {
                name: "mine".to_owned(),
                version: "1".to_owned(),
                controllers: vec!["newreno".to_owned(), "cubic".to_owned()],
            }),
            Answer::Turn(Turn {
                deadline: Some(now),
                report: Report {
                    is_finished: true,
                    closed: Some("idle".to_owned()),
                    ssthresh: Some(3),
                    rtt: Some(Duration::from_millis(1)),
                    ..Report::default()
                },
                transmits: vec![Transmit {
                    ecn: Ecn::Ect,
                    datagram: vec![9; 40],
                }],
            }),
            Answer::Error("no".to_owned()),
        ];
        for answer in answers {
            let bytes = answer.encode();
            assert_eq!(Answer::decode(&bytes), Ok(answer.clone()));
            for length in 0..bytes.len() {
                assert!(Answer::decode(&bytes[..length]).is_err(), "{answer:?}");
            }
            let mut longer = bytes;
            longer.push(0);
            assert!(Answer::decode(&longer).is_err());
        }
    }

    #[test]
    fn streams_of_other_bytes_are_refused() {
        let mut text: &[u8] = b"Hello, world";
        assert!(read(&mut text).is_err());
        let mut short: &[u8] = &[9, 0, 0, 0, 1];
        assert!(read(&mut short).is_err());
        let mut empty: &[u8] = &[];
        assert_eq!(read(&mut empty).expect("an end"), None);
    }
}

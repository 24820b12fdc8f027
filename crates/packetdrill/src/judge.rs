//! Runs a script against a stack and stops at the first difference.
//!
//! A relative time counts from the moment at which the previous event was over; that of a packet
//! that is injected after another counts from the script's time of the latter, as in packetdrill.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use units::{Duration, Instant};

use crate::Error;
use crate::expression::Verdict;
use crate::script::{Action, Call, Event, Outcome, Script, When};
use crate::{Info, Options, Packet};

/// A packet that a stack sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When, since the start of the script.
    pub at: Instant,
    /// What.
    pub packet: Packet,
}

/// A host under test, with one application and one connection. Time begins at zero.
pub trait Stack {
    /// What the stack is called in messages.
    fn name(&self) -> &str;

    /// The time now.
    fn now(&mut self) -> Instant;

    /// Lets time pass until `until`, or with `stops` until a packet has left. Packets that leave are
    /// appended to `sent`.
    ///
    /// # Errors
    /// The stack failed, in a sentence.
    fn wait(
        &mut self,
        until: Instant,
        stops: bool,
        sent: &mut VecDeque<Sent>,
    ) -> Result<(), String>;

    /// A packet of the peer arrives. A timestamp echo in it is the stack's own.
    ///
    /// # Errors
    /// The stack cannot take such a packet, in a sentence.
    fn inject(&mut self, packet: &Packet) -> Result<(), String>;

    /// The application calls. `expected` is the script's result, which names a new socket. The outer
    /// error is the stack's; the inner one is that of the call, such as `EAGAIN`.
    ///
    /// # Errors
    /// The stack has no such call, in a sentence.
    fn call(&mut self, call: &Call, expected: i64) -> Result<Result<i64, String>, String>;

    /// `tcp_info` of the connection, empty if there is none.
    ///
    /// # Errors
    /// The stack failed, in a sentence.
    fn info(&mut self) -> Result<Info, String>;
}

/// The first difference between a script and a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// File of the script.
    pub file: String,
    /// Line in the script.
    pub line: usize,
    /// The event as the script writes it.
    pub text: String,
    /// What is expected.
    pub expected: String,
    /// What happened.
    pub got: String,
    /// When.
    pub at: Instant,
    /// State of the connection.
    pub state: Info,
    /// The difference is one of time alone.
    pub is_late: bool,
}

/// What the state of a difference shows.
const SHOWN: &[&str] = &[
    "tcpi_ca_state",
    "tcpi_snd_cwnd",
    "tcpi_snd_ssthresh",
    "tcpi_unacked",
    "tcpi_sacked",
    "tcpi_lost",
    "tcpi_retrans",
    "tcpi_reordering",
    "tcpi_rtt",
    "tcpi_rto",
];
/// The names of `tcpi_ca_state`.
const STATES: &[&str] = &["Open", "Disorder", "CWR", "Recovery", "Loss"];

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:{}: {}", self.file, self.line, self.text)?;
        writeln!(f, "  expected: {}", self.expected)?;
        writeln!(f, "  got:      {}", self.got)?;
        write!(f, "  at {:.6} s", self.at.as_secs_f64())?;
        for name in SHOWN {
            let Some(value) = crate::field(&self.state, name) else {
                continue;
            };
            let label = name.strip_prefix("tcpi_").unwrap_or(name);
            match (*name, usize::try_from(value)) {
                ("tcpi_ca_state", Ok(state)) if state < STATES.len() => {
                    write!(f, ", {}", STATES[state])?;
                }
                ("tcpi_snd_ssthresh", _) if value >= 0x7fff_ffff => {
                    write!(f, ", {label} infinite")?;
                }
                ("tcpi_rtt" | "tcpi_rto", _) => {
                    write!(f, ", {label} {:.3} ms", value as f64 / 1e3)?;
                }
                _ => write!(f, ", {label} {value}")?,
            }
        }
        Ok(())
    }
}

/// What a run of a script showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// `None`: the stack did what the script says.
    pub difference: Option<Difference>,
    /// Packets compared.
    pub packets: usize,
    /// Assertions evaluated.
    pub assertions: usize,
}

/// Runs `script` against `stack`. `tolerance` is that of times.
///
/// # Errors
/// The script asks for something that the stack does not have.
pub fn run(script: &Script, stack: &mut dyn Stack, tolerance: Duration) -> Result<Run, Error> {
    Judge {
        script,
        stack,
        tolerance,
        sent: VecDeque::new(),
        variables: BTreeMap::new(),
        stamps: BTreeMap::new(),
        run: Run {
            difference: None,
            packets: 0,
            assertions: 0,
        },
    }
    .run()
}

struct Judge<'a> {
    script: &'a Script,
    stack: &'a mut dyn Stack,
    tolerance: Duration,
    sent: VecDeque<Sent>,
    variables: BTreeMap<String, i64>,
    /// The script's timestamps -> the stack's.
    stamps: BTreeMap<u32, u32>,
    run: Run,
}

/// Expected, and what happened.
struct Mismatch {
    expected: String,
    got: String,
    at: Instant,
    is_late: bool,
}

impl Judge<'_> {
    fn run(mut self) -> Result<Run, Error> {
        let script = self.script;
        let mut anchor = None;
        for event in &script.events {
            let refused = |why: String| Error::at(&script.file, event.line, 1, why);
            let is_inbound = matches!(event.action, Action::Inject(_));
            let now = self.stack.now();
            let base = anchor.filter(|_| is_inbound).unwrap_or(now);
            let (from, to) = match event.when {
                When::Absolute(from, to) => (Instant::ZERO + from, Instant::ZERO + to),
                When::Relative(from, to) => (base + from, base + to),
                When::Any => (Instant::ZERO, Instant::MAX),
            };
            anchor = is_inbound.then_some(from);
            let mismatch = match &event.action {
                Action::Expect(packet) => self.expect(packet, (from, to)),
                action => {
                    if event.when != When::Any {
                        self.stack
                            .wait(from, false, &mut self.sent)
                            .map_err(refused)?;
                    }
                    self.act(action)
                }
            };
            if let Some(mismatch) = mismatch.map_err(refused)? {
                self.run.difference = Some(self.difference(event, mismatch));
                break;
            }
        }
        Ok(self.run)
    }

    fn difference(&mut self, event: &Event, mismatch: Mismatch) -> Difference {
        Difference {
            file: self.script.file.clone(),
            line: event.line,
            text: event.text.clone(),
            expected: mismatch.expected,
            got: mismatch.got,
            at: mismatch.at,
            // Its own failure would hide the difference.
            state: self.stack.info().unwrap_or_default(),
            is_late: mismatch.is_late,
        }
    }

    fn act(&mut self, action: &Action) -> Result<Option<Mismatch>, String> {
        match action {
            Action::Expect(_) => Ok(None),
            Action::Inject(packet) => {
                let mut packet = packet.clone();
                if let Some(stamps) = packet
                    .options
                    .as_mut()
                    .and_then(|it| it.timestamps.as_mut())
                {
                    stamps.ecr = self.stamp(stamps.ecr);
                }
                self.stack.inject(&packet)?;
                Ok(None)
            }
            Action::Call(call, expected) => {
                let number = match expected {
                    Outcome::Value(value) => *value,
                    Outcome::Error(_) | Outcome::Any => -1,
                };
                let got = self.stack.call(call, number)?;
                let agrees = match (expected, &got) {
                    (Outcome::Any, _) => true,
                    (Outcome::Value(value), Ok(got)) => value == got,
                    (Outcome::Error(error), Err(got)) => error == got,
                    _ => false,
                };
                let mismatch = || Mismatch {
                    expected: match expected {
                        Outcome::Value(value) => value.to_string(),
                        Outcome::Error(error) => format!("-1 {error}"),
                        Outcome::Any => String::new(),
                    },
                    got: match &got {
                        Ok(value) => value.to_string(),
                        Err(error) => format!("-1 {error}"),
                    },
                    at: Instant::ZERO,
                    is_late: false,
                };
                if agrees {
                    return Ok(None);
                }
                let mut mismatch = mismatch();
                mismatch.at = self.stack.now();
                Ok(Some(mismatch))
            }
            Action::Code(block) => {
                let info = self.stack.info()?;
                let known = |name: &str| crate::field(&info, name).or_else(|| constant(name));
                self.run.assertions += 1;
                match block.evaluate(&known, &mut self.variables) {
                    Verdict::Holds => Ok(None),
                    Verdict::Wrong(why) => Err(why),
                    Verdict::Fails(expected, got) => Ok(Some(Mismatch {
                        expected,
                        got,
                        at: self.stack.now(),
                        is_late: false,
                    })),
                }
            }
        }
    }

    /// The stack's timestamp for the script's.
    fn stamp(&self, script: u32) -> u32 {
        let near = self
            .stamps
            .range(..=script)
            .next_back()
            .or_else(|| self.stamps.iter().next());
        match near {
            _ if script == 0 => 0,
            Some((known, stack)) => stack.wrapping_add(script.wrapping_sub(*known)),
            None => script,
        }
    }

    /// The next packets must be `expected`, sent between `from` and `to`.
    fn expect(
        &mut self,
        expected: &Packet,
        (from, to): (Instant, Instant),
    ) -> Result<Option<Mismatch>, String> {
        let any_time = to == Instant::MAX;
        // How long to wait for a packet that may come at any time.
        let patience = self.stack.now() + Duration::from_secs(10);
        let until = if any_time {
            patience
        } else {
            to + self.tolerance
        };
        let earliest = Instant::ZERO + (from - Instant::ZERO).saturating_sub(self.tolerance);
        let range = || {
            if any_time {
                format!("{expected}")
            } else if from == to {
                format!("{expected} at {:.6} s", from.as_secs_f64())
            } else {
                let (from, to) = (from.as_secs_f64(), to.as_secs_f64());
                format!("{expected} between {from:.6} and {to:.6} s")
            }
        };
        let mut cursor = expected.seq;
        loop {
            if self.sent.is_empty() {
                self.stack.wait(until, true, &mut self.sent)?;
            }
            let Some(sent) = self.sent.front() else {
                return Ok(Some(Mismatch {
                    expected: range(),
                    got: if cursor == expected.seq {
                        "no packet".into()
                    } else {
                        format!("no packet from {cursor} on")
                    },
                    at: self.stack.now(),
                    is_late: false,
                }));
            };
            let in_time = any_time || (earliest..=until).contains(&sent.at);
            let is_same = agrees(expected, &sent.packet, cursor);
            if !is_same || !in_time {
                return Ok(Some(Mismatch {
                    expected: range(),
                    got: format!("{} at {:.6} s", sent.packet, sent.at.as_secs_f64()),
                    at: sent.at,
                    is_late: is_same,
                }));
            }
            self.note_stamp(expected);
            let is_over = self.take(expected, &mut cursor);
            if is_over {
                self.run.packets += 1;
                return Ok(None);
            }
        }
    }

    fn note_stamp(&mut self, expected: &Packet) {
        let of = |packet: &Packet| packet.options.as_ref()?.timestamps;
        let live = self.sent.front().and_then(|sent| of(&sent.packet));
        if let (Some(script), Some(live)) = (of(expected), live) {
            self.stamps.insert(script.val, live.val);
        }
    }

    /// Takes what `expected` covers of the first packet. Returns whether all of it has come.
    fn take(&mut self, expected: &Packet, cursor: &mut u64) -> bool {
        let Some(sent) = self.sent.front_mut() else {
            return true;
        };
        if sent.packet.end() > expected.end() {
            let taken = (expected.end() - sent.packet.seq) as u32;
            sent.packet.seq += u64::from(taken);
            sent.packet.len -= taken;
            return true;
        }
        *cursor = sent.packet.end();
        self.sent.pop_front();
        *cursor == expected.end()
    }
}

/// Whether `sent` is the part from `cursor` on of `expected`.
fn agrees(expected: &Packet, sent: &Packet, cursor: u64) -> bool {
    let (want, got) = (expected.flags, sent.flags);
    let is_last = sent.end() == expected.end();
    let fin_agrees = if is_last || sent.end() > expected.end() {
        got.fin == want.fin && (sent.end() == expected.end() || !want.fin)
    } else {
        !got.fin
    };
    sent.seq == cursor
        && (expected.len == 0) == (sent.len == 0)
        && fin_agrees
        && (want.syn, want.rst, want.ack, want.ece) == (got.syn, got.rst, got.ack, got.ece)
        // Of a burst, the first packet alone carries CWR.
        && (want.cwr == got.cwr || (want.cwr && cursor > expected.seq))
        && (!want.ack || expected.ack == sent.ack)
        && expected.ecn.is_none_or(|ecn| sent.ecn == Some(ecn))
        && (expected.window.is_none() || expected.window == sent.window)
        && match (&expected.options, &sent.options) {
            (Some(want), Some(got)) => options_agree(want, got),
            _ => true,
        }
}

fn options_agree(want: &Options, got: &Options) -> bool {
    want.mss == got.mss
        && want.window_scale == got.window_scale
        && want.sack_permitted == got.sack_permitted
        && want.sack == got.sack
        && want.timestamps.is_some() == got.timestamps.is_some()
}

/// Constants of linux/tcp.h that assertions use.
fn constant(name: &str) -> Option<i64> {
    Some(match name {
        "TCP_CA_Open" => 0,
        "TCP_CA_Disorder" => 1,
        "TCP_CA_CWR" => 2,
        "TCP_CA_Recovery" => 3,
        "TCP_CA_Loss" => 4,
        "TCP_ESTABLISHED" => 1,
        "TCP_SYN_SENT" => 2,
        "TCP_SYN_RECV" => 3,
        "TCP_FIN_WAIT1" => 4,
        "TCP_FIN_WAIT2" => 5,
        "TCP_TIME_WAIT" => 6,
        "TCP_CLOSE" => 7,
        "TCP_CLOSE_WAIT" => 8,
        "TCP_LAST_ACK" => 9,
        "TCP_LISTEN" => 10,
        "TCP_CLOSING" => 11,
        "TCPI_OPT_TIMESTAMPS" => 1,
        "TCPI_OPT_SACK" => 2,
        "TCPI_OPT_WSCALE" => 4,
        "TCPI_OPT_ECN" => 8,
        _ => return None,
    })
}

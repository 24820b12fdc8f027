//! Whether a stack of others keeps the contract of the interface, rule by rule.

use std::collections::BTreeMap;
use std::time::Duration as RealDuration;

use slowstart_stack::wire::{Answer, Event, Request, Turn};
use slowstart_stack::{Act, Ecn, Settings};
use units::{Duration, Instant};

use crate::endpoint::DATAGRAM;
use crate::foreign::{MOST_TURNS, check_turn};
use crate::program::{Program, Worker};
use crate::stack::Stack;

/// A rule, and what the stack did against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What must hold.
    pub rule: String,
    /// One sentence; `None` if it holds.
    pub fault: Option<String>,
}

/// Time from one end to the other.
const DELAY: Duration = Duration::from_millis(10);
/// Simulated time of a trial.
const LIMIT: Instant = Instant::from_secs(60);
/// Datagrams of a client that nobody answers, within that time.
const MOST_UNANSWERED: u64 = 1_000;
/// How long an answer may take, in real time.
const PATIENCE: RealDuration = RealDuration::from_secs(5);
const BYTES: u64 = 200_000;
const ENDS: [&str; 2] = ["client", "server"];

/// What the network does with the datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    /// It delivers them.
    Good,
    /// It drops every tenth, in each direction.
    Lossy,
    /// It drops all.
    Silent,
    /// Before every fifth it delivers random bytes, or a part of the datagram.
    Noisy,
}

/// What happened in a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Outcome {
    /// A hash of the times and the bytes of all datagrams.
    hash: u64,
    datagrams: u64,
    received: u64,
    is_finished: bool,
    is_established: bool,
    window_was_seen: bool,
}

/// Checks the stack `given`, as [`Stack::foreign`] takes it.
///
/// # Errors
/// One sentence: it is no program.
pub fn conform(given: &str, host: &[String]) -> Result<Vec<Finding>, String> {
    let program = Program {
        patience: PATIENCE,
        ..Program::named(given, host)?
    };
    let mut found = Vec::new();
    let mut note = |rule: String, fault: Result<(), String>| {
        let fault = fault.err();
        let holds = fault.is_none();
        found.push(Finding { rule, fault });
        holds
    };
    let stated = Worker::start(&program)
        .and_then(|mut worker| worker.hello())
        .and_then(|identity| crate::foreign::described(&program, identity));
    let rule = "it starts, and states its name, its version and its controllers".to_owned();
    let stack: &Stack = match stated {
        Ok(stack) => stack,
        Err(sentence) => {
            note(rule, Err(sentence));
            return Ok(found);
        }
    };
    note(rule, Ok(()));
    for own in stack.own {
        let trial = |network, act| transfer(&program, own.name, network, act);
        let rule = |words: &str| format!("{}: {words}", own.name);
        let first = trial(Network::Good, Act::WriteLast(BYTES));
        let holds = note(
            rule("200 kB arrive over a path without loss"),
            first.clone().and_then(|outcome| complete(&outcome)),
        );
        let Some(first) = first.ok().filter(|_| holds) else {
            continue;
        };
        note(
            rule("the same seed gives the same bytes at the same times"),
            trial(Network::Good, Act::WriteLast(BYTES)).and_then(|second| {
                if second == first {
                    Ok(())
                } else {
                    Err(format!(
                        "{given} transmitted {} and {} datagrams in two runs that differ in their \
                         bytes or times",
                        first.datagrams, second.datagrams
                    ))
                }
            }),
        );
        note(
            rule("it reports its congestion window"),
            if first.window_was_seen {
                Ok(())
            } else {
                Err(format!(
                    "{given} reported cwnd = 0 throughout: slow-start exits cannot be measured"
                ))
            },
        );
        note(
            rule("200 kB arrive though every tenth datagram is lost"),
            trial(Network::Lossy, Act::WriteLast(BYTES)).and_then(|outcome| complete(&outcome)),
        );
        note(
            rule("a client that nobody answers does not transmit without end"),
            trial(Network::Silent, Act::WriteLast(BYTES)).and_then(|outcome| {
                if outcome.datagrams <= MOST_UNANSWERED {
                    Ok(())
                } else {
                    Err(format!(
                        "{given} transmitted {} datagrams in 60 s; {MOST_UNANSWERED} are enough",
                        outcome.datagrams
                    ))
                }
            }),
        );
        note(
            rule("the stream ends where the application stops"),
            trial(Network::Good, Act::Finish).and_then(|outcome| {
                if outcome.is_finished {
                    Ok(())
                } else {
                    Err(format!(
                        "{given}: the server did not learn of the end within 60 s"
                    ))
                }
            }),
        );
        note(
            rule("random and truncated datagrams do no harm to the program"),
            trial(Network::Noisy, Act::WriteLast(BYTES)).map(drop),
        );
    }
    Ok(found)
}

fn complete(outcome: &Outcome) -> Result<(), String> {
    match outcome {
        Outcome {
            is_established: false,
            ..
        } => Err("the client did not complete the handshake within 60 s".to_owned()),
        Outcome {
            received: BYTES,
            is_finished: true,
            ..
        } => Ok(()),
        Outcome { received, .. } if *received == BYTES => {
            Err("all bytes arrived, but the server does not report is_finished".to_owned())
        }
        Outcome { received, .. } => Err(format!(
            "the server has {received} of {BYTES} bytes after 60 s"
        )),
    }
}

/// Both endpoints of a connection in one process.
struct Trial {
    worker: Worker,
    given: String,
    now: Instant,
    turns: [Turn; 2],
    /// Datagrams on their way: when, in which order, and to whom.
    queue: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    network: Network,
    sent: [u64; 2],
    random: u64,
    outcome: Outcome,
}

fn transfer(
    program: &Program,
    controller: &str,
    network: Network,
    act: Act,
) -> Result<Outcome, String> {
    let mut worker = Worker::start(program)?;
    worker.hello()?;
    let mut trial = Trial {
        worker,
        given: program.given.clone(),
        now: Instant::ZERO,
        turns: Default::default(),
        queue: BTreeMap::new(),
        network,
        sent: [0; 2],
        random: 1,
        outcome: Outcome {
            hash: 0xcbf2_9ce4_8422_2325,
            ..Outcome::default()
        },
    };
    for (end, is_client) in [(1, false), (0, true)] {
        let settings = Settings {
            is_client,
            flow: 0,
            controller: controller.to_owned(),
            initial_window: 10,
            datagram: DATAGRAM.into(),
            receive_window: 1 << 24,
            seed: [end as u8; 32],
        };
        trial.ask(
            end,
            &Request::Open {
                endpoint: end as u32,
                now: Instant::ZERO,
                settings,
            },
        )?;
    }
    let mut events = [vec![Event::Application(Act::Write(BYTES / 2))], Vec::new()];
    let rest = match act {
        Act::WriteLast(bytes) => Act::WriteLast(bytes - BYTES / 2),
        other => other,
    };
    let mut last = Some((Instant::from_millis(50), rest));
    let mut stands = 0;
    loop {
        for (end, events) in events.iter_mut().enumerate() {
            if !events.is_empty() {
                let request = Request::Turn {
                    endpoint: end as u32,
                    now: trial.now,
                    events: std::mem::take(events),
                };
                trial.ask(end, &request)?;
            }
        }
        if trial.turns[1].report.is_finished {
            break;
        }
        let deadlines = trial.turns.iter().filter_map(|turn| turn.deadline);
        let arrival = trial.queue.keys().next().map(|(at, _)| *at);
        let acts = last.map(|(at, _)| at);
        let Some(next) = deadlines.chain(arrival).chain(acts).min() else {
            break;
        };
        if next > LIMIT {
            break;
        }
        stands = if next == trial.now { stands + 1 } else { 0 };
        if stands > MOST_TURNS {
            return Err(format!(
                "{} lets time stand still: its deadline was the time of the call {MOST_TURNS} \
                 times (at {} s)",
                trial.given,
                next.as_secs_f64()
            ));
        }
        trial.now = next;
        trial.arrivals(&mut events);
        if let Some((_, act)) = last.take_if(|(at, _)| *at <= next) {
            events[0].push(Event::Application(act));
        }
        for (turn, events) in trial.turns.iter().zip(&mut events) {
            if turn.deadline.is_some_and(|at| at <= next) {
                events.push(Event::Expire);
            }
        }
    }
    let [client, server] = &trial.turns;
    trial.outcome.received = server.report.received;
    trial.outcome.is_finished = server.report.is_finished;
    trial.outcome.is_established = client.report.is_established;
    Ok(trial.outcome)
}

impl Trial {
    fn ask(&mut self, end: usize, request: &Request) -> Result<(), String> {
        let at = self.now.as_secs_f64();
        let fault =
            |given: &str, what: String| format!("{given} {what} ({}, at {at} s)", ENDS[end]);
        let answer = self.worker.ask(request);
        let mut turn = match answer.map_err(|what| fault(&self.given, what))? {
            Answer::Turn(turn) => turn,
            Answer::Error(sentence) => {
                return Err(fault(&self.given, format!("reports an error: {sentence}")));
            }
            Answer::Hello(_) => return Err(fault(&self.given, "stated its name again".to_owned())),
        };
        check_turn(&self.turns[end].report, &turn, self.now, DATAGRAM.into())
            .map_err(|what| fault(&self.given, what))?;
        self.outcome.window_was_seen |= turn.report.cwnd > 0;
        for transmit in std::mem::take(&mut turn.transmits) {
            self.leaves(end, transmit.datagram);
        }
        self.turns[end] = turn;
        Ok(())
    }

    fn leaves(&mut self, end: usize, datagram: Vec<u8>) {
        let outcome = &mut self.outcome;
        outcome.datagrams += 1;
        let time = self.now.as_nanos().to_le_bytes();
        for byte in time.iter().chain(&datagram) {
            outcome.hash = (outcome.hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
        self.sent[end] += 1;
        let is_lost = match self.network {
            Network::Good | Network::Noisy => false,
            Network::Lossy => self.sent[end].is_multiple_of(10),
            Network::Silent => true,
        };
        if !is_lost {
            let key = (self.now + DELAY, outcome.datagrams);
            self.queue.insert(key, (1 - end, datagram));
        }
    }

    /// Moves what arrives now to the events.
    fn arrivals(&mut self, events: &mut [Vec<Event>; 2]) {
        while let Some(entry) = self.queue.first_entry() {
            let (at, count) = *entry.key();
            if at > self.now {
                break;
            }
            let (end, datagram) = entry.remove();
            if self.network == Network::Noisy && count.is_multiple_of(5) {
                events[end].push(receive(self.noise(&datagram)));
            }
            events[end].push(receive(datagram));
        }
    }

    /// Random bytes, or a part of the datagram.
    fn noise(&mut self, datagram: &[u8]) -> Vec<u8> {
        // Knuth's linear congruential generator (MMIX).
        let mut draw = || {
            let next = self.random.wrapping_mul(6_364_136_223_846_793_005);
            self.random = next.wrapping_add(1_442_695_040_888_963_407);
            (self.random >> 33) as usize
        };
        if draw() % 2 == 0 {
            datagram[..draw() % datagram.len()].to_vec()
        } else {
            (0..=draw() % usize::from(DATAGRAM))
                .map(|_| draw() as u8)
                .collect()
        }
    }
}

const fn receive(datagram: Vec<u8>) -> Event {
    Event::Receive {
        ecn: Ecn::NotEct,
        datagram,
    }
}

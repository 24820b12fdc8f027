//! Stacks of others: programs that speak the pipe protocol of `slowstart-stack`.
//!
//! Each connection of each run has a process of its own, with both of its endpoints, so that a
//! stack may have global state and cannot see other connections. What a stack does wrong ends the
//! run with one sentence; the process ends with the connection.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use measure::Name;
use network::Ecn;
use quic_core::{Capabilities, Pacing};
use scenario::FlowStack;
use simulator::{Act, Facts, Host, Transmit};
use slowstart_stack::wire::{Answer, Event, Request, Turn};
use slowstart_stack::{Act as WireAct, Ecn as WireEcn, Identity, Report, Settings};
use units::Instant;

use crate::dial::{Control, Dial, Own};
use crate::endpoint::DATAGRAM;
use crate::observer::{Observer, State};
use crate::program::{Program, Worker};
use crate::stack::{Source, Stack};

/// Turns of an endpoint at one instant: simulated time must go on.
pub(crate) const MOST_TURNS: u32 = 10_000;

/// The stacks that were found, which live until the process ends.
static FOUND: Mutex<Vec<(Program, &'static Stack)>> = Mutex::new(Vec::new());

impl Stack {
    /// The stack of a shared object (`./mine.so`) or of a worker (`worker: ./my-program`); `host`
    /// is the program that serves a shared object, whose name follows it. The stack is started
    /// once, and states its name, its version and its controllers.
    ///
    /// # Errors
    /// One sentence: it cannot be started, or it does not state them.
    pub fn foreign(given: &str, host: &[String]) -> Result<&'static Self, String> {
        let program = Program::named(given, host)?;
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, stack)) = found.iter().find(|(known, _)| *known == program) {
            return Ok(stack);
        }
        let identity = Worker::start(&program)?.hello()?;
        let stack = described(&program, identity)?;
        found.push((program, stack));
        Ok(stack)
    }
}

/// Whether `given` names a stack of others: a shared object or a worker.
#[must_use]
pub fn is_foreign(given: &str) -> bool {
    given.starts_with("worker:") || given.ends_with(".so") || given.ends_with(".dylib")
}

pub(crate) fn described(program: &Program, identity: Identity) -> Result<&'static Stack, String> {
    let given = &program.given;
    let is_plain = |text: &str| {
        !text.is_empty() && text.len() <= 64 && !text.contains(|c: char| c.is_control() || c == '"')
    };
    let Identity {
        name,
        version,
        controllers,
    } = identity;
    if !is_plain(&name) || !is_plain(&version) {
        return Err(format!(
            "{given} states the name {name:?} and the version {version:?}: each has 1 to 64 \
             characters"
        ));
    }
    if ["simulated", "linux", "linux-vm"].contains(&name.as_str()) || Stack::named(&name).is_some()
    {
        return Err(format!(
            "{given} states the name {name}, which a stack of slowstart has"
        ));
    }
    if controllers.is_empty() || controllers.iter().any(|each| !is_plain(each)) {
        return Err(format!(
            "{given} states no congestion controller: name at least one, such as newreno"
        ));
    }
    let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    let own: Vec<Own> = controllers
        .into_iter()
        .map(|each| Own {
            name: leak(each),
            summary: "one of its own",
            draws: false,
        })
        .collect();
    let build = format!("{version} {:016x}", program.fingerprint);
    let name = leak(name);
    Ok(Box::leak(Box::new(Stack {
        name,
        given: leak(given.clone()),
        version: leak(version),
        build: leak(build),
        capabilities: Capabilities {
            stack: name,
            pacing: Pacing::Fixed,
            paces: true,
            send_times: true,
            lost_packets: false,
            handshake: false,
        },
        own: Box::leak(own.into_boxed_slice()),
        kind: measure::Stack::Other(Name::new(name)),
        flows: FlowStack::Given,
        source: Source::Foreign(Box::leak(Box::new(program.clone())), connect),
    })))
}

/// The process of a connection, and what it did wrong.
struct Shared {
    worker: Option<Worker>,
    fault: Option<String>,
}

/// One endpoint in a worker. Events wait until [`Host::transmit`], which makes a turn of them.
struct Proxy {
    shared: Arc<Mutex<Shared>>,
    number: u32,
    most: usize,
    events: Vec<Event>,
    turn: Turn,
    transmits: std::vec::IntoIter<slowstart_stack::Transmit>,
    last: Instant,
    turns: u32,
    /// Of the client.
    observer: Option<Observer>,
}

/// Both endpoints of a connection; the client has begun to connect.
pub(crate) fn connect(
    program: &Program,
    now: Instant,
    dial: &Dial<'_>,
    observer: &Observer,
) -> [Box<dyn Host>; 2] {
    let started = Worker::start(program).and_then(|mut worker| {
        worker.hello()?;
        Ok(worker)
    });
    let (worker, fault) = match started {
        Ok(worker) => (Some(worker), None),
        Err(sentence) => (None, Some(sentence)),
    };
    let shared = Arc::new(Mutex::new(Shared { worker, fault }));
    let controller = match dial.control {
        Control::Own(own) => own.name,
        Control::Ours(_) => unreachable!("`check` refuses our algorithms in a stack of others"),
    };
    // The server first: what the client transmits must find it.
    let [server, client] = [1, 0].map(|number| {
        let settings = Settings {
            is_client: number == 0,
            flow: dial.flow,
            controller: controller.to_owned(),
            initial_window: dial.initial_window,
            datagram: DATAGRAM.into(),
            receive_window: dial.receive_window,
            seed: dial.seeds[number as usize],
        };
        let mut proxy = Proxy {
            shared: Arc::clone(&shared),
            number,
            most: DATAGRAM.into(),
            events: Vec::new(),
            turn: Turn::default(),
            transmits: Vec::new().into_iter(),
            last: now,
            turns: 0,
            observer: (number == 0).then(|| observer.clone()),
        };
        proxy.ask(
            now,
            &Request::Open {
                endpoint: number,
                now,
                settings,
            },
        );
        Box::new(proxy)
    });
    [client, server]
}

impl Proxy {
    /// Nothing panics while it is held, so it is whole.
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&mut self, now: Instant, request: &Request) {
        let answer = {
            let mut shared = self.shared();
            let Some(worker) = &mut shared.worker else {
                return;
            };
            worker.ask(request)
        };
        let checked = answer.and_then(|answer| {
            let turn = match answer {
                Answer::Turn(turn) => turn,
                Answer::Error(sentence) => return Err(format!("reports an error: {sentence}")),
                Answer::Hello(_) => return Err("stated its name again".to_owned()),
            };
            self.turns = if now == self.last { self.turns + 1 } else { 1 };
            check_turn(&self.turn.report, &turn, now, self.most)?;
            if self.turns > MOST_TURNS {
                return Err(format!(
                    "lets time stand still: its deadline was the time of the call {MOST_TURNS} \
                     times"
                ));
            }
            Ok(turn)
        });
        self.last = now;
        match checked {
            Ok(mut turn) => {
                self.observe(now, &turn.report);
                // What an answer before this one left has not gone yet.
                let mut transmits: Vec<_> = self.transmits.by_ref().collect();
                transmits.append(&mut turn.transmits);
                self.transmits = transmits.into_iter();
                self.turn = turn;
            }
            Err(what) => {
                let end = ["client", "server"][self.number as usize];
                let mut shared = self.shared();
                // It ends here, and so do its answers.
                let given = shared.worker.take().map(Worker::end).unwrap_or_default();
                let at = now.as_secs_f64();
                shared.fault = Some(format!("{given} {what} ({end}, at {at} s)"));
            }
        }
    }

    fn observe(&self, now: Instant, after: &Report) {
        let Some(observer) = &self.observer else {
            return;
        };
        let before = &self.turn.report;
        let state = State {
            cwnd: after.cwnd,
            ssthresh: after.ssthresh,
            in_flight: after.in_flight,
            exit: None,
        };
        let mut seen = observer.seen();
        seen.acked = after.acked;
        if after.timeouts > before.timeouts {
            seen.on_congestion(now, before.cwnd, state, "timeout");
        } else if after.packets_lost > before.packets_lost {
            seen.on_congestion(now, before.cwnd, state, "loss");
        }
        if after.acked > before.acked || after.rtt.is_some() {
            seen.on_sample(now, before.cwnd, state, after.rtt);
        }
    }
}

/// Whether an answer keeps the contract of the interface; if not, what the stack did.
pub(crate) fn check_turn(
    before: &Report,
    turn: &Turn,
    now: Instant,
    most: usize,
) -> Result<(), String> {
    if let Some(at) = turn.deadline.filter(|at| *at < now) {
        return Err(format!(
            "gave a deadline in the past, {} s: a deadline is not before the time of the call",
            at.as_secs_f64()
        ));
    }
    if let Some(wrong) = turn
        .transmits
        .iter()
        .map(|transmit| transmit.datagram.len())
        .find(|length| !(1..=most).contains(length))
    {
        return Err(format!(
            "transmitted a datagram of {wrong} bytes: it has 1 to {most}"
        ));
    }
    let after = &turn.report;
    for (name, before, after) in [
        ("received", before.received, after.received),
        ("packets_sent", before.packets_sent, after.packets_sent),
        ("packets_lost", before.packets_lost, after.packets_lost),
        ("timeouts", before.timeouts, after.timeouts),
        ("acked", before.acked, after.acked),
    ] {
        if after < before {
            return Err(format!(
                "reported {name} = {after} after {before}: counters never decrease"
            ));
        }
    }
    if after.packets_lost > after.packets_sent {
        return Err(format!(
            "reported {} packets lost of {} that it sent",
            after.packets_lost, after.packets_sent
        ));
    }
    Ok(())
}

/// The ECN field in the protocol.
pub(crate) const fn ecn_of(ecn: Ecn) -> WireEcn {
    match ecn {
        Ecn::NotEct => WireEcn::NotEct,
        Ecn::Ect | Ecn::Ect1 => WireEcn::Ect,
        Ecn::Ce => WireEcn::Ce,
    }
}

impl Host for Proxy {
    fn receive(&mut self, _now: Instant, ecn: Ecn, datagram: &[u8]) {
        self.events.push(Event::Receive {
            ecn: ecn_of(ecn),
            datagram: datagram.to_vec(),
        });
    }

    fn expire(&mut self, _now: Instant) {
        self.events.push(Event::Expire);
    }

    fn deadline(&mut self) -> Option<Instant> {
        self.shared().fault.is_none().then_some(())?;
        self.turn.deadline
    }

    fn transmit(&mut self, now: Instant) -> Option<Transmit> {
        if !self.events.is_empty() {
            let request = Request::Turn {
                endpoint: self.number,
                now,
                events: std::mem::take(&mut self.events),
            };
            self.ask(now, &request);
        }
        let transmit = self.transmits.next()?;
        Some(Transmit {
            ecn: match transmit.ecn {
                WireEcn::NotEct => Ecn::NotEct,
                WireEcn::Ect => Ecn::Ect,
                WireEcn::Ce => Ecn::Ce,
            },
            datagram: transmit.datagram,
        })
    }

    fn application(&mut self, _now: Instant, act: Act) {
        self.events.push(Event::Application(match act {
            Act::Write(bytes) => WireAct::Write(bytes),
            Act::WriteLast(bytes) => WireAct::WriteLast(bytes),
            Act::Finish => WireAct::Finish,
        }));
    }

    fn facts(&mut self) -> Facts {
        let report = &self.turn.report;
        Facts {
            is_established: report.is_established,
            received: report.received,
            is_finished: report.is_finished,
            closed: report.closed.clone(),
            packets_sent: report.packets_sent,
            packets_lost: report.packets_lost,
            fault: self.shared().fault.clone(),
        }
    }
}

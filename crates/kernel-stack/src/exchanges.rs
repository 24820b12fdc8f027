//! Connections in which both sides write, with real sockets: `[[traffic]]` of a workload.
//!
//! The acceptors (servers) are at the sender's side of the path, the initiators (clients) at the
//! receiver's. Connection `i` of all tables has the client port [`FIRST_PORT`]` + i`. The servers of
//! one access delay share an address, so that the emulator can delay what is sent to them.

use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;

use emulator::{FlowFacts, Report};
use measure::{Responses, TrafficResult};
use network::Streams;
use nix::poll::{PollFd, PollFlags};
use scenario::{Scenario, TrafficKind};
use units::{Duration, Instant};
use workload::{Act, Dialogue, Exchange, Scripted, Side};

use crate::error::StackError;
use crate::hosts::{CHUNK, poll};
use crate::shared::{LONGEST_WAIT, PORT, Shared};
use crate::sys;

/// The address of the clients: the last one of their network.
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 79, 255, 254);
/// The servers' addresses end with the number of their access delay, from one.
const SERVERS: [u8; 3] = [10, 78, 255];
/// The client's port of the first connection.
const FIRST_PORT: u16 = 10_000;
const MOST_CONNECTIONS: usize = 50_000;
/// Each access delay has an address of the servers.
const MOST_DELAYS: usize = 254;

/// One table.
#[derive(Clone, Debug)]
pub(crate) struct TablePlan {
    /// TCP_CONGESTION of both sides.
    pub(crate) selected: String,
    /// When its connections are cut.
    stop: Instant,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct TalkPlan {
    table: usize,
    /// Its number in its table.
    number: u64,
    start: Instant,
    server: Ipv4Addr,
    exchange: Arc<Exchange>,
}

/// All connections of a run.
#[derive(Debug, Default)]
pub(crate) struct Talks {
    tables: Vec<TablePlan>,
    /// In the order of their starts.
    connections: Vec<TalkPlan>,
    /// The servers' addresses and their access delays.
    pub(crate) delays: Vec<(Ipv4Addr, Duration)>,
}

impl Talks {
    /// Draws the connections that a simulation with `seed` draws, up to `end`.
    ///
    /// # Errors
    /// One sentence on a connection that the kernel cannot run.
    pub(crate) fn draw(
        scenario: &Scenario,
        selected: &[String],
        seed: u64,
        end: Instant,
    ) -> Result<Self, StackError> {
        let streams = Streams::new(seed);
        let mut talks = Self::default();
        let refuse = |sentence: String| Err(StackError::Unsupported(sentence));
        for (table, (traffic, selected)) in scenario.path.traffic.iter().zip(selected).enumerate() {
            let TrafficKind::Exchanges(plan) = &traffic.kind else {
                continue;
            };
            let stop = traffic.stop.unwrap_or(Instant::MAX).min(end);
            talks.tables.push(TablePlan {
                selected: selected.clone(),
                stop,
            });
            let stream = streams.stream(&format!("connections {}", traffic.name));
            for (number, dialogue) in plan.dialogues(stream).enumerate() {
                let start = traffic.start + dialogue.start().saturating_since(Instant::ZERO);
                if start >= stop {
                    break;
                }
                let Dialogue::Script(connection) = dialogue else {
                    return refuse(format!(
                        "traffic `{}`: an adaptive video is available in simulations only",
                        traffic.name
                    ));
                };
                if connection.headers.mss.is_some() {
                    return refuse(format!(
                        "traffic `{}`: segment sizes of single connections are available in \
                         simulations only",
                        traffic.name
                    ));
                }
                let delays = &traffic.extra_delays;
                let delay = delays.get(number % delays.len().max(1));
                let server = talks.server(delay.copied().unwrap_or_default());
                talks.connections.push(TalkPlan {
                    table,
                    number: number as u64,
                    start,
                    server,
                    exchange: Arc::new(connection.exchange),
                });
                if talks.connections.len() > MOST_CONNECTIONS {
                    return refuse(format!(
                        "the kernel runs at most {MOST_CONNECTIONS} connections of traffic; give \
                         the run, or `[[traffic]]`, a shorter `duration`"
                    ));
                }
            }
        }
        talks.connections.sort_by_key(|talk| talk.start);
        if talks.delays.len() > MOST_DELAYS {
            return refuse(format!(
                "the kernel runs at most {MOST_DELAYS} access delays of traffic"
            ));
        }
        Ok(talks)
    }

    /// The address of the servers with an access delay.
    fn server(&mut self, delay: Duration) -> Ipv4Addr {
        if let Some(&(there, _)) = self.delays.iter().find(|(_, other)| *other == delay) {
            return there;
        }
        let [a, b, c] = SERVERS;
        let address = Ipv4Addr::new(a, b, c, (self.delays.len() + 1).min(MOST_DELAYS) as u8);
        self.delays.push((address, delay));
        address
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    fn port(&self, table: usize) -> u16 {
        PORT + 1 + table as u16
    }

    /// Listens for the connections of each table, in the namespace of the calling thread.
    pub(crate) fn listen(&self) -> Result<Vec<TcpListener>, StackError> {
        let listen = |(index, table): (usize, &TablePlan)| -> io::Result<TcpListener> {
            let listener = sys::listener(self.port(index), &table.selected)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let listeners: io::Result<_> = self.tables.iter().enumerate().map(listen).collect();
        listeners.map_err(|error| StackError::System("listening for traffic".to_owned(), error))
    }
}

/// One side of a connection while it runs.
struct Talk {
    stream: TcpStream,
    script: Scripted,
    connection: usize,
    is_open: bool,
    heard: u64,
    /// The other side sends no more.
    is_closed: bool,
    /// Written by the application, and not yet taken by the kernel.
    unwritten: u64,
    closes: bool,
    opened: Instant,
}

/// What happened at the side of the clients.
#[derive(Debug)]
pub(crate) struct Heard {
    tables: Vec<Table>,
}

#[derive(Debug)]
struct Table {
    started: u64,
    finished: u64,
    delivered: u64,
    fct_nanos: u128,
    responses: Responses,
}

impl Talk {
    fn new(stream: TcpStream, talks: &Talks, connection: usize, side: Side, now: Instant) -> Self {
        Self {
            stream,
            script: Scripted::new(Arc::clone(&talks.connections[connection].exchange), side),
            connection,
            is_open: side == Side::Acceptor,
            heard: 0,
            is_closed: false,
            unwritten: 0,
            closes: false,
            opened: now,
        }
    }

    fn wants(&self) -> PollFlags {
        let mut flags = PollFlags::empty();
        if !self.is_open || self.unwritten > 0 {
            flags |= PollFlags::POLLOUT;
        }
        if self.is_open && !self.is_closed {
            flags |= PollFlags::POLLIN;
        }
        flags
    }

    /// Both directions are closed.
    fn is_done(&self) -> bool {
        self.is_closed && self.script.is_over() && !self.closes
    }

    /// Reads, acts and writes as far as it can.
    fn run(
        &mut self,
        shared: &Shared,
        ready: bool,
        buffer: &mut [u8],
        mut note: impl FnMut(measure::Epoch),
    ) -> io::Result<()> {
        if ready && !self.is_closed {
            loop {
                match self.stream.read(buffer) {
                    Ok(0) => {
                        self.is_closed = true;
                        break;
                    }
                    Ok(bytes) => self.heard += bytes as u64,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            if let Some(answered) = self.script.hear(shared.now(), self.heard, self.is_closed) {
                note(measure::Epoch {
                    connection: 0,
                    number: answered.number,
                    request_bytes: answered.request,
                    response_bytes: answered.response,
                    start: answered.start,
                    duration: answered.duration,
                    think: answered.think,
                });
            }
        }
        while let Some(act) = self.script.act(shared.now()) {
            match act {
                Act::Write(bytes) | Act::Ask(bytes, _) => self.unwritten += bytes.get(),
                Act::Close => self.closes = true,
            }
        }
        const ZEROS: &[u8] = &[0; CHUNK];
        while self.unwritten > 0 {
            let most = self.unwritten.min(CHUNK as u64) as usize;
            match sys::send(&self.stream, &ZEROS[..most], most as u64 == self.unwritten) {
                Ok(written) => self.unwritten -= written as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.closes {
            self.closes = false;
            self.stream.shutdown(Shutdown::Write)?;
        }
        Ok(())
    }
}

/// Waits until a connection or `others` are ready, or for `until`. Returns which are ready.
fn wait(talks: &[Talk], others: &[TcpListener], now: Instant, until: Instant) -> Vec<bool> {
    let deadline = talks.iter().map(|talk| talk.script.due()).min();
    let until = deadline.unwrap_or(Instant::MAX).min(until);
    let wait = until.saturating_since(now).min(LONGEST_WAIT);
    let mut descriptors: Vec<PollFd<'_>> = talks
        .iter()
        .map(|talk| PollFd::new(talk.stream.as_fd(), talk.wants()))
        .collect();
    descriptors.extend(
        others
            .iter()
            .map(|other| PollFd::new(other.as_fd(), PollFlags::POLLIN)),
    );
    poll(&mut descriptors, wait);
    descriptors
        .iter()
        .map(|descriptor| descriptor.any().unwrap_or(false))
        .collect()
}

/// The servers, until the run is over.
pub(crate) fn answer(shared: &Shared, talks: &Talks, listeners: &[TcpListener]) {
    emulator::prefer_thread();
    let mut buffer = vec![0; CHUNK];
    let mut open: Vec<Talk> = Vec::new();
    while !shared.is_over() {
        let ready = wait(&open, listeners, shared.now(), Instant::MAX);
        let connections = ready.iter();
        let mut ready_talks = connections.take(open.len()).copied();
        open.retain_mut(|talk| {
            let ready = ready_talks.next() == Some(true);
            let result = talk.run(shared, ready, &mut buffer, |_| {});
            // The client resets a connection whose time is over.
            let keeps = result.is_ok() && !talk.is_done();
            if result.is_err() {
                let _ = sys::reset_on_close(&talk.stream);
            }
            keeps
        });
        for listener in listeners {
            if let Err(error) = accept(shared, talks, listener, &mut open) {
                shared.fail("accepting a connection of traffic", error);
            }
        }
    }
    for talk in &open {
        let _ = sys::reset_on_close(&talk.stream);
    }
}

fn accept(
    shared: &Shared,
    talks: &Talks,
    listener: &TcpListener,
    open: &mut Vec<Talk>,
) -> io::Result<()> {
    loop {
        let (stream, peer) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
            Err(error) => return Err(error),
        };
        let SocketAddr::V4(peer) = peer else { continue };
        let connection = usize::from(peer.port().wrapping_sub(FIRST_PORT));
        if IpAddr::V4(*peer.ip()) != CLIENT || connection >= talks.connections.len() {
            continue;
        }
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let now = shared.now();
        let mut talk = Talk::new(stream, talks, connection, Side::Acceptor, now);
        talk.script.begin(now);
        // What it has already sent is read in the next turn.
        open.push(talk);
    }
}

/// The clients, until the run is over, in the namespace of the calling thread.
pub(crate) fn ask(shared: &Shared, talks: &Talks, scenario: &Scenario) -> Heard {
    emulator::prefer_thread();
    let table = |traffic: &scenario::Traffic| Table {
        started: 0,
        finished: 0,
        delivered: 0,
        fct_nanos: 0,
        responses: Responses::new(traffic.list_flows),
    };
    let mut heard = Heard {
        tables: scenario.path.traffic.iter().map(table).collect(),
    };
    let mut buffer = vec![0; CHUNK];
    let mut open: Vec<Talk> = Vec::new();
    let mut next = 0;
    shared.wait_until(Instant::ZERO);
    while !shared.is_over() {
        let now = shared.now();
        while let Some(plan) = talks.connections.get(next).filter(|plan| plan.start <= now) {
            match connect(talks, next) {
                Ok(stream) => {
                    heard.tables[plan.table].started += 1;
                    open.push(Talk::new(
                        stream,
                        talks,
                        next,
                        Side::Initiator,
                        shared.now(),
                    ));
                }
                Err(error) => shared.fail("opening a connection of traffic", error),
            }
            next += 1;
        }
        let until = talks
            .connections
            .get(next)
            .map_or(Instant::MAX, |plan| plan.start);
        let ready = wait(&open, &[], shared.now(), until);
        let mut ready = ready.into_iter();
        open.retain_mut(|talk| {
            let is_ready = ready.next() == Some(true);
            turn(shared, talks, talk, is_ready, &mut buffer, &mut heard)
        });
    }
    for talk in &open {
        let _ = sys::reset_on_close(&talk.stream);
    }
    heard
}

/// One turn of a client; false once its connection is over.
fn turn(
    shared: &Shared,
    talks: &Talks,
    talk: &mut Talk,
    is_ready: bool,
    buffer: &mut [u8],
    heard: &mut Heard,
) -> bool {
    let plan = &talks.connections[talk.connection];
    let table = &mut heard.tables[plan.table];
    let now = shared.now();
    if !talk.is_open {
        if !is_ready {
            return true;
        }
        if !matches!(talk.stream.take_error(), Ok(None)) {
            return false;
        }
        talk.is_open = true;
        let setup = now.saturating_since(talk.opened);
        table.responses.connection(talk.opened, setup);
        talk.script.begin(now);
    }
    let before = talk.heard;
    let number = plan.number;
    let responses = &mut table.responses;
    let result = talk.run(shared, is_ready, buffer, |epoch| {
        responses.add(&measure::Epoch {
            connection: number,
            ..epoch
        });
    });
    table.delivered += talk.heard - before;
    let cut = now >= talks.tables[plan.table].stop;
    if result.is_err() || cut {
        let _ = sys::reset_on_close(&talk.stream);
        return false;
    }
    if talk.is_done() {
        table.finished += 1;
        table.fct_nanos += u128::from(now.saturating_since(talk.opened).as_nanos());
        return false;
    }
    true
}

fn connect(talks: &Talks, connection: usize) -> io::Result<TcpStream> {
    let plan = &talks.connections[connection];
    let stream = sys::tcp_socket()?;
    stream.set_nodelay(true)?;
    sys::set_congestion(&stream, &talks.tables[plan.table].selected)?;
    sys::bind_port(&stream, CLIENT, FIRST_PORT + connection as u16)?;
    sys::connect(
        &stream,
        SocketAddrV4::new(plan.server, talks.port(plan.table)),
    )?;
    Ok(stream)
}

/// The results of the tables.
pub(crate) fn results(
    scenario: &Scenario,
    talks: &Talks,
    heard: Heard,
    report: &Report,
) -> Vec<TrafficResult> {
    let tables = scenario.path.traffic.iter().zip(heard.tables).enumerate();
    let results = tables.map(|(index, (traffic, table))| {
        let port = talks.port(index);
        let of_table = |facts: &&FlowFacts| {
            facts.key.source.port() == port || facts.key.destination.port() == port
        };
        let facts: Vec<&FlowFacts> = report.flows.iter().filter(of_table).collect();
        let sum = |what: fn(&FlowFacts) -> u64| facts.iter().map(|facts| what(facts)).sum();
        TrafficResult {
            name: traffic.name.clone(),
            kind: traffic.kind.name().to_owned(),
            direction: "forward".to_owned(),
            algorithm: Some(traffic.flow.algorithm.to_string()),
            started: table.started,
            finished: table.finished,
            rejected: 0,
            bytes_offered: None,
            bytes_delivered: table.delivered,
            fct_mean_s: (table.finished > 0)
                .then(|| table.fct_nanos as f64 / table.finished as f64 / 1e9),
            load_offered: None,
            load_delivered: None,
            segments_sent: sum(|facts| facts.data_packets),
            segments_lost: sum(|facts| facts.retransmitted),
            timeouts: 0,
            flows: None,
            exchanges: Some(table.responses.result()),
        }
    });
    results.collect()
}

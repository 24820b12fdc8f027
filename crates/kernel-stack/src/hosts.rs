//! The two applications: one opens connections and writes, the other reads.
//!
//! Neither makes the kernel wait: the writer has a large buffer from the start (`tcp_wmem` of the
//! namespace) and fills it whenever there is space, and the reader empties its buffer at once.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::mpsc;

use emulator::DEVICE;
use emulator::routes::{Metrics, Routes};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{MsgFlags, recv};
use nix::sys::time::TimeSpec;
use scenario::Application;
use units::{Duration, Instant};

use crate::error::StackError;
use crate::info::Info;
use crate::plan::{FlowPlan, Plan};
use crate::shared::{self, LONGEST_WAIT, PORT, RECEIVERS, SENDERS, Shared};
use crate::sys;

/// Zeros to write at once, and bytes to read at once.
pub(crate) const CHUNK: usize = 1 << 18;

/// Bytes of memory for five bytes of window. A full segment has 1448 bytes and takes 2304 bytes of
/// memory in a TUN device; the kernel applies a ratio of 160/256 once it has seen one (measured on
/// Linux 6.18; before 6.6 it applies one half, and the window becomes a fifth smaller).
const MEMORY_PER_FIVE: u64 = 8;
/// The largest `tcp_rmem` to set: the kernel reads it as a 32-bit signed number.
const MOST_MEMORY: u64 = 1 << 30;

/// The most memory for data waiting to be sent, in one connection, and in all of them at first.
const LARGEST_SEND_BUFFER: u64 = 1 << 26;
const ALL_SEND_BUFFERS: u64 = 1 << 29;

/// An event of a connection.
pub(crate) enum News {
    /// It is open, and nothing is written yet.
    Open {
        flow: u32,
        stream: Arc<TcpStream>,
        /// When the SYN left.
        start: Instant,
        now: Instant,
        first: Info,
    },
    /// It never opened.
    Failed { flow: u32 },
}

fn sysctl(key: &str, value: &str) -> Result<(), StackError> {
    let path = format!("/proc/sys/net/ipv4/{key}");
    std::fs::write(&path, value).map_err(|error| StackError::System(path, error))
}

fn system(what: &'static str) -> impl Fn(io::Error) -> StackError {
    move |error| StackError::System(what.to_owned(), error)
}

/// Prepares the namespace of the senders, which the calling thread is in, and creates their
/// sockets.
pub(crate) fn prepare_senders(plan: &Plan) -> Result<Vec<TcpStream>, StackError> {
    sysctl(
        "tcp_slow_start_after_idle",
        if plan.restart_after_idle { "1" } else { "0" },
    )?;
    let buffer =
        (ALL_SEND_BUFFERS / plan.flows.len().max(1) as u64).clamp(16_384, LARGEST_SEND_BUFFER);
    sysctl("tcp_wmem", &format!("4096 {buffer} {LARGEST_SEND_BUFFER}"))?;
    // Only routes request ECN.
    sysctl("tcp_ecn", "2")?;
    let mut routes = Routes::open().map_err(system("opening the routing table"))?;
    let routing = system("setting a route of a sender");
    routes.answer_for(SENDERS).map_err(&routing)?;
    routes
        .send_to(RECEIVERS, DEVICE, Metrics::default())
        .map_err(&routing)?;
    if let Some(segments) = plan.tso_segments {
        routes
            .limit_bursts(DEVICE, segments)
            .map_err(system("limiting TSO packets"))?;
    }
    plan.flows
        .iter()
        .map(|flow| {
            let to = (shared::address(RECEIVERS, flow.index), 32);
            if flow.route != Metrics::default() {
                routes.send_to(to, DEVICE, flow.route).map_err(&routing)?;
            }
            let stream = sys::tcp_socket().map_err(system("opening a socket"))?;
            sys::reset_on_close(&stream).map_err(system("preparing a socket"))?;
            sys::set_congestion(&stream, &flow.selected).map_err(|error| {
                StackError::System(
                    format!("choosing the congestion control `{}`", flow.kernel),
                    error,
                )
            })?;
            if flow.pacing {
                sys::set_pacing(&stream).map_err(system("switching pacing on"))?;
            }
            sys::bind(&stream, shared::address(SENDERS, flow.index))
                .map_err(system("binding a socket"))?;
            Ok(stream)
        })
        .collect()
}

/// Prepares the namespace of the receivers, which the calling thread is in.
pub(crate) fn prepare_receivers(plan: &Plan) -> Result<TcpListener, StackError> {
    let most =
        (plan.receive_buffer.get().saturating_mul(MEMORY_PER_FIVE) / 5).clamp(8192, MOST_MEMORY);
    let first = most.min(131_072);
    sysctl("tcp_rmem", &format!("4096 {first} {most}"))?;
    sysctl("tcp_moderate_rcvbuf", "1")?;
    sysctl("tcp_ecn", "2")?;
    let mut routes = Routes::open().map_err(system("opening the routing table"))?;
    let routing = system("setting a route of a receiver");
    routes.answer_for(RECEIVERS).map_err(&routing)?;
    routes
        .send_to(SENDERS, DEVICE, Metrics::default())
        .map_err(&routing)?;
    for flow in &plan.flows {
        if flow.route_back != Metrics::default() {
            let back = (shared::address(SENDERS, flow.index), 32);
            routes
                .send_to(back, DEVICE, flow.route_back)
                .map_err(&routing)?;
        }
    }
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).map_err(system("listening"))?;
    listener
        .set_nonblocking(true)
        .map_err(system("listening"))?;
    Ok(listener)
}

enum State {
    Waiting,
    Connecting,
    Open,
    /// Everything is written, or the flow is over.
    Done,
}

/// A flow on its sending side.
struct Outgoing<'a> {
    plan: &'a FlowPlan,
    stream: Option<Arc<TcpStream>>,
    state: State,
    start: Instant,
    /// When it stops.
    stop: Instant,
    /// Bytes that the application has not written yet.
    unwritten: u64,
    /// The part of these that is due now.
    due: u64,
    /// When more becomes due.
    next: Instant,
}

impl Outgoing<'_> {
    /// When it must act even if the socket is not ready, or never.
    fn deadline(&self) -> Instant {
        match self.state {
            State::Waiting => self.start,
            State::Connecting => self.stop,
            State::Open => self.next.min(self.stop),
            State::Done => Instant::MAX,
        }
    }

    /// Whether it waits for the socket to become writable.
    fn wants_to_write(&self) -> bool {
        match self.state {
            State::Connecting => true,
            State::Open => self.due > 0,
            State::Waiting | State::Done => false,
        }
    }

    /// Does what is due; `writable` means that the socket is ready.
    fn act(&mut self, shared: &Shared, writable: bool) -> io::Result<Option<News>> {
        let flow = self.plan.index;
        let Some(stream) = self.stream.clone() else {
            return Ok(None);
        };
        let now = shared.now();
        if shared.flows[flow as usize].is_over() {
            self.state = State::Done;
            self.stream = None;
            return Ok(None);
        }
        match self.state {
            State::Waiting if now >= self.start => {
                let to = shared::address(RECEIVERS, flow);
                self.start = shared.now();
                sys::connect(&stream, SocketAddrV4::new(to, PORT))?;
                self.state = State::Connecting;
            }
            State::Connecting if now >= self.stop => return Ok(self.give_up()),
            State::Connecting if writable => {
                let first = Info::read(&stream)?;
                if stream.take_error()?.is_some() {
                    return Ok(self.give_up());
                }
                self.state = State::Open;
                self.next = self.start;
                return Ok(Some(News::Open {
                    flow,
                    stream,
                    start: self.start,
                    now,
                    first,
                }));
            }
            State::Open if now >= self.stop => self.state = State::Done,
            State::Open => {
                while now >= self.next {
                    self.release();
                }
                self.write(&stream)?;
            }
            State::Waiting | State::Connecting | State::Done => {}
        }
        Ok(None)
    }

    fn give_up(&mut self) -> Option<News> {
        self.state = State::Done;
        self.stream = None;
        Some(News::Failed {
            flow: self.plan.index,
        })
    }

    /// Makes the application's next data due.
    fn release(&mut self) {
        match self.plan.application {
            // A plan has no application that pauses.
            Application::Bulk | Application::Pausing { .. } => {
                self.due = self.unwritten;
                self.next = Instant::MAX;
            }
            Application::Periodic { write, every } => {
                self.due = self.due.saturating_add(write.get()).min(self.unwritten);
                self.next += every.max(Duration::from_nanos(1));
            }
        }
    }

    fn write(&mut self, stream: &TcpStream) -> io::Result<()> {
        const ZEROS: &[u8] = &[0; CHUNK];
        while self.due > 0 {
            let most = self.due.min(CHUNK as u64) as usize;
            let last = most as u64 == self.unwritten;
            match sys::send(stream, &ZEROS[..most], last) {
                Ok(written) => {
                    self.due -= written as u64;
                    if self.plan.size.is_some() {
                        self.unwritten -= written as u64;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.unwritten == 0 {
            // The connection stays open until all data are acknowledged: `tcp_probe` does not
            // report a connection that is being closed.
            self.state = State::Done;
        }
        Ok(())
    }
}

/// The side of the senders, from the beginning of the run until it is over.
pub(crate) fn send(
    shared: &Shared,
    plan: &Plan,
    sockets: Vec<TcpStream>,
    news: &mpsc::Sender<News>,
) {
    emulator::prefer_thread();
    let mut flows: Vec<Outgoing<'_>> = plan
        .flows
        .iter()
        .zip(sockets)
        .map(|(plan, stream)| Outgoing {
            plan,
            stream: Some(Arc::new(stream)),
            state: State::Waiting,
            start: plan.start,
            stop: plan.stop,
            unwritten: plan.size.unwrap_or(u64::MAX),
            due: 0,
            next: Instant::MAX,
        })
        .collect();
    let mut ready = vec![false; flows.len()];
    shared.wait_until(Instant::ZERO);
    while !shared.is_over() {
        for (flow, ready) in flows.iter_mut().zip(&mut ready) {
            let writable = std::mem::take(ready);
            match flow.act(shared, writable) {
                Ok(None) => {}
                Ok(Some(happened)) => {
                    // The receiver is gone once the run is over.
                    let _ = news.send(happened);
                    // The first bytes are due at once.
                    if let Err(error) = flow.act(shared, true) {
                        shared.fail("sending", error);
                    }
                }
                // The sampler has reset it, because its time is over.
                Err(_) if shared.flows[flow.plan.index as usize].is_over() => {}
                Err(error) => shared.fail("sending", error),
            }
        }
        let now = shared.now();
        let deadline = flows.iter().map(Outgoing::deadline).min();
        let wait = deadline
            .unwrap_or(Instant::MAX)
            .saturating_since(now)
            .min(LONGEST_WAIT);
        let waiting: Vec<(usize, PollFd<'_>)> = flows
            .iter()
            .enumerate()
            .filter(|(_, flow)| flow.wants_to_write())
            .filter_map(|(index, flow)| {
                let stream = flow.stream.as_ref()?;
                Some((index, PollFd::new(stream.as_fd(), PollFlags::POLLOUT)))
            })
            .collect();
        let (indices, mut descriptors): (Vec<usize>, Vec<PollFd<'_>>) = waiting.into_iter().unzip();
        poll(&mut descriptors, wait);
        for (index, descriptor) in indices.into_iter().zip(&descriptors) {
            ready[index] = descriptor.any().unwrap_or(false);
        }
    }
}

pub(crate) fn poll(descriptors: &mut [PollFd<'_>], wait: Duration) {
    let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(wait.as_nanos()));
    // A signal may end it early; the caller polls again.
    let _ = ppoll(descriptors, Some(timeout), None);
}

/// The side of the receivers, until the run is over.
pub(crate) fn receive(shared: &Shared, plan: &Plan, listener: &TcpListener) {
    emulator::prefer_reader();
    let mut buffer = vec![0; CHUNK];
    let mut flows: Vec<(u32, u64, TcpStream)> = Vec::new();
    while !shared.is_over() {
        let mut descriptors: Vec<PollFd<'_>> = flows
            .iter()
            .map(|(_, _, stream)| PollFd::new(stream.as_fd(), PollFlags::POLLIN))
            .collect();
        descriptors.push(PollFd::new(listener.as_fd(), PollFlags::POLLIN));
        poll(&mut descriptors, LONGEST_WAIT);
        let ready: Vec<bool> = descriptors
            .iter()
            .map(|descriptor| descriptor.any().unwrap_or(false))
            .collect();
        drop(descriptors);
        let mut at = 0;
        flows.retain_mut(|(flow, delivered, stream)| {
            let ready = ready[at];
            at += 1;
            let size = plan.flows[*flow as usize].size;
            !ready || read(shared, (*flow, size), delivered, stream, &mut buffer)
        });
        if ready.last() == Some(&true)
            && let Err(error) = accept(listener, &mut flows, plan.flows.len())
        {
            shared.fail("accepting a connection", error);
        }
    }
}

fn accept(
    listener: &TcpListener,
    flows: &mut Vec<(u32, u64, TcpStream)>,
    count: usize,
) -> io::Result<()> {
    loop {
        match listener.accept() {
            Ok((stream, peer)) => {
                let IpAddr::V4(peer) = peer.ip() else {
                    continue;
                };
                if let Some(flow) = shared::flow_of(peer).filter(|&flow| (flow as usize) < count) {
                    stream.set_nonblocking(true)?;
                    sys::reset_on_close(&stream)?;
                    flows.push((flow, 0, stream));
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            // The peer has already gone.
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Takes all available data, and lets the kernel discard it: a copy would hold the processor for as long
/// again, and meanwhile it acknowledges nothing. False at the end of the stream.
fn read(
    shared: &Shared,
    (flow, size): (u32, Option<u64>),
    delivered: &mut u64,
    stream: &TcpStream,
    buffer: &mut [u8],
) -> bool {
    loop {
        let taken = recv(stream.as_raw_fd(), buffer, MsgFlags::MSG_TRUNC);
        match taken.map_err(io::Error::from) {
            Ok(0) => return false,
            Ok(bytes) => {
                *delivered += bytes as u64;
                let all = size.is_some_and(|size| *delivered >= size);
                shared.flows[flow as usize].deliver(*delivered, all, shared.now());
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Reset, because its time is over.
            Err(_) => return false,
        }
    }
}

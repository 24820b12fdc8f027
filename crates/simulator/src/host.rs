//! Hosts of stacks other than the simulated TCP.
//!
//! A [`Host`] is one endpoint of a connection of a sans-IO stack. A program that has such a stack
//! gives [`crate::run_with`] its [`Stacks`], which connect the flows whose `stack` is not the
//! simulated TCP. Both kinds of flows then share the links, the random streams and the calendar of
//! one run. The simulated TCP is not behind this trait: the event loop calls it directly.
//!
//! At one instant packets arrive first. Then flows act in the order of their entries in the
//! calendar: the timers of both hosts expire, the application writes, and the hosts transmit, the
//! client first.

use measure::{FlowResult, FlowTrace};
use network::{Ecn, Streams};
use units::{Duration, Instant};

/// Headers of IPv4 and UDP.
pub(crate) const HEADERS: u32 = 28;
/// A datagram with at least this many bytes that the client sends after the handshake carries data:
/// a pure ACK is shorter.
pub const LEAST_DATA: usize = 200;

/// A datagram that leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The ECN field that the stack asks for.
    pub ecn: Ecn,
    /// UDP payload.
    pub datagram: Vec<u8>,
}

/// What the application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// It has this many more bytes to send.
    Write(u64),
    /// It has this many more bytes to send, and then nothing.
    WriteLast(u64),
    /// It stops now, and the flow is over: nothing is sent any more.
    Finish,
}

/// The state of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether the handshake is complete.
    pub is_established: bool,
    /// Bytes in order at the application of this host.
    pub received: u64,
    /// Whether the application has all that the peer sends.
    pub is_finished: bool,
    /// Why the connection was closed before that.
    pub closed: Option<String>,
    /// Packets with stream data that it sent.
    pub packets_sent: u64,
    /// Packets that it declared lost.
    pub packets_lost: u64,
    /// What a stack of others did wrong: the flow ends.
    pub fault: Option<String>,
}

/// A sans-IO endpoint of one connection. Every time is an argument; it asks no clock.
///
/// After each of the other calls, [`Self::transmit`] is called until it returns nothing.
pub trait Host {
    /// A datagram arrived.
    fn receive(&mut self, now: Instant, ecn: Ecn, datagram: &[u8]);
    /// The time of [`Self::deadline`] has come.
    fn expire(&mut self, now: Instant);
    /// When to call [`Self::expire`] next.
    fn deadline(&mut self) -> Option<Instant>;
    /// The next datagram to leave at `now`.
    fn transmit(&mut self, now: Instant) -> Option<Transmit>;
    /// The application acts.
    fn application(&mut self, now: Instant, act: Act);
    /// Its state now.
    fn facts(&mut self) -> Facts;
}

/// Measures one flow of another stack.
pub trait Meter {
    /// A packet with data arrived, `latency` after it left.
    fn on_arrival(&mut self, now: Instant, latency: Duration);
    /// The network dropped a packet with data.
    fn on_drop(&mut self, at: Instant);
    /// The receiving application has this many bytes in order.
    fn on_delivered(&mut self, bytes: u64);
    /// The result of the flow.
    fn result(&mut self, ended: &Ended<'_>) -> FlowResult;
    /// Its time series, if they are recorded.
    fn take_trace(&mut self) -> Option<FlowTrace>;
}

/// Both ends of a connection that has begun, and what measures it.
pub struct Pair {
    /// The client, which sends the data, and the server.
    pub hosts: [Box<dyn Host>; 2],
    /// Its measurements.
    pub meter: Box<dyn Meter>,
}

/// The start of a flow of another stack.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The time.
    pub now: Instant,
    /// The number of the flow in the scenario.
    pub flow: u32,
    /// Its settings.
    pub config: &'a scenario::Flow,
    /// The random streams of the run.
    pub streams: &'a Streams,
    /// The seed of the run.
    pub seed: u64,
    /// Whether to record time series.
    pub traced: bool,
}

/// What the simulator knows of a flow when the run ends.
#[derive(Clone, Debug)]
pub struct Ended<'a> {
    /// The end of the run.
    pub now: Instant,
    /// The settings of the flow.
    pub config: &'a scenario::Flow,
    /// The handshake of the client was complete.
    pub established: Option<Instant>,
    /// The receiving application had everything.
    pub finished: Option<Instant>,
    /// The bottleneck stayed busy for a base RTT from here on.
    pub capacity: Option<Instant>,
    /// The state of the client and of the server.
    pub facts: [Facts; 2],
    /// The result of a flow that sent nothing, with its names.
    pub unopened: FlowResult,
}

/// Connects the flows of stacks other than the simulated TCP.
pub trait Stacks {
    /// Gives the result of a flow that sent nothing the names of its congestion control and stack.
    fn label(&self, config: &scenario::Flow, result: &mut FlowResult);
    /// Connects both ends of a flow.
    fn connect(&self, call: &Call<'_>) -> Pair;
}

/// A datagram at a host of another stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passing<'a> {
    /// When.
    pub now: Instant,
    /// The flow.
    pub flow: u32,
    /// Whether the client sends it.
    pub is_forward: bool,
    /// Whether it arrives at a host; else it leaves one.
    pub arrives: bool,
    /// UDP payload.
    pub datagram: &'a [u8],
}

impl Passing<'_> {
    /// Bytes of IP.
    #[must_use]
    pub const fn size(&self) -> u32 {
        self.datagram.len() as u32 + HEADERS
    }
}

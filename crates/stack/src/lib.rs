//! The interface of a transport stack that slowstart runs under its simulated clock.
//!
//! A [`Stack`] opens [`Endpoint`]s. An endpoint is one end of one connection without sockets and
//! without a clock: datagrams and times go in, datagrams and times come out. [`serve`] makes a
//! worker of a stack, a program that `slowstart compare PATH -a own --stack "worker: ./program"`
//! runs. [`wire`] has the messages of the pipe protocol, which `docs/reference/stack-interface.md`
//! describes for other languages. `slowstart_stack.h` is the same interface in C.
//!
//! ## The contract
//!
//! - `now` never decreases. All times are in the clock of the run.
//! - After each call of [`Endpoint::receive`], [`Endpoint::expire`] or [`Endpoint::application`],
//!   or after several of them at one instant, [`Endpoint::transmit`] is called until it returns
//!   nothing, then [`Endpoint::deadline`] and [`Endpoint::report`].
//! - A deadline is not earlier than the last `now`. At a deadline of `now`, `expire` is called at
//!   once.
//! - A datagram has at least one byte and at most [`Settings::datagram`] bytes.
//! - The same settings and the same calls give the same answers: an endpoint asks no clock, and
//!   draws random numbers from [`Settings::seed`] only.

mod serve;
pub mod wire;

pub use serve::serve;
use units::Instant;

/// What a stack states about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Its name in results.
    pub name: String,
    /// Its version in results.
    pub version: String,
    /// Its congestion controllers; the first is its default.
    pub controllers: Vec<String>,
}

/// What an endpoint begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Whether it opens the connection and sends the data.
    pub is_client: bool,
    /// The flow: the number of the connection.
    pub flow: u32,
    /// One of [`Identity::controllers`].
    pub controller: String,
    /// The initial window, in datagrams.
    pub initial_window: u32,
    /// The largest datagram, in bytes.
    pub datagram: u32,
    /// The receive window, in bytes.
    pub receive_window: u64,
    /// The seed of this endpoint's random numbers.
    pub seed: [u8; 32],
}

/// The ECN field of a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The transport does not use ECN.
    #[default]
    NotEct,
    /// ECN-capable transport.
    Ect,
    /// Congestion experienced.
    Ce,
}

/// What the application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// It has this many more bytes to send.
    Write(u64),
    /// It has this many more bytes to send, and then nothing.
    WriteLast(u64),
    /// It stops now: what the stack has not taken of its data is not sent.
    Finish,
}

/// A datagram that leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transmit {
    /// The ECN field that the stack asks for.
    pub ecn: Ecn,
    /// The payload of UDP.
    pub datagram: Vec<u8>,
}

/// The state of an endpoint. Counters begin at zero and never decrease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Whether the handshake is complete.
    pub is_established: bool,
    /// Whether the application has all that the peer sends.
    pub is_finished: bool,
    /// Why the connection was closed before that.
    pub closed: Option<String>,
    /// Bytes in order at the application of this endpoint.
    pub received: u64,
    /// Packets with stream data that it sent.
    pub packets_sent: u64,
    /// Packets that it declared lost.
    pub packets_lost: u64,
    /// Retransmission timeouts or persistent congestion: events after which its window is minimal.
    pub timeouts: u64,
    /// Bytes of its packets that the peer acknowledged.
    pub acked: u64,
    /// The congestion window in bytes; 0 if it has none.
    pub cwnd: u64,
    /// The slow-start threshold in bytes; `None` before it is set.
    pub ssthresh: Option<u64>,
    /// Bytes in flight.
    pub in_flight: u64,
    /// The newest RTT sample; `None` if this turn brought none.
    pub rtt: Option<units::Duration>,
}

/// One end of a connection.
pub trait Endpoint {
    /// A datagram arrived.
    fn receive(&mut self, now: Instant, ecn: Ecn, datagram: &[u8]);
    /// The time of [`Self::deadline`] has come.
    fn expire(&mut self, now: Instant);
    /// When to call [`Self::expire`] next.
    fn deadline(&mut self) -> Option<Instant>;
    /// The next datagram that leaves at `now`.
    fn transmit(&mut self, now: Instant) -> Option<Transmit>;
    /// The application acts.
    fn application(&mut self, now: Instant, act: Act);
    /// Its state.
    fn report(&mut self) -> Report;
}

/// A transport stack.
pub trait Stack {
    /// What it states about itself.
    fn identity(&self) -> Identity;
    /// A new endpoint; a client begins to connect at `now`.
    ///
    /// # Errors
    /// One sentence that says why it cannot be opened.
    fn open(&mut self, now: Instant, settings: &Settings) -> Result<Box<dyn Endpoint>, String>;
}

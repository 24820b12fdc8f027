//! One endpoint of a connection.

use network::Ecn;
use units::Instant;

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
    /// It stops now: what the stack has not taken of its data is not sent.
    Finish,
}

/// What is known of a host.
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
    /// What a stack of others did wrong: the run ends with this sentence.
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
    /// What is known of it now.
    fn facts(&mut self) -> Facts;
}

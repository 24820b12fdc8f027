//! What a script consists of.

use units::Duration;

use crate::expression::Block;
use crate::{Packet, Settings};

/// A script that has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The name of the file, for messages.
    pub file: String,
    /// Settings of the host: options, and what its initial commands set.
    pub settings: Settings,
    /// The tolerance that the script asks for.
    pub tolerance: Option<Duration>,
    /// Larger injected packets consist of segments of this size, merged by the device (`--mss`).
    pub mss: Option<u16>,
    /// What happens, in order.
    pub events: Vec<Event>,
    /// What was read and has no effect here, with its line.
    pub notes: Vec<(usize, String)>,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Line in the file, from 1.
    pub line: usize,
    /// The event as the script writes it.
    pub text: String,
    /// When it happens.
    pub when: When,
    /// What happens.
    pub action: Action,
}

/// When an event happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Between two times since the start.
    Absolute(Duration, Duration),
    /// Between two times since the previous event.
    Relative(Duration, Duration),
    /// At any time (`*`).
    Any,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The peer's packet arrives.
    Inject(Packet),
    /// The host sends a packet.
    Expect(Packet),
    /// The application calls.
    Call(Call, Outcome),
    /// Code is evaluated with the host's `tcp_info`.
    Code(Block),
}

/// What a system call returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A value.
    Value(i64),
    /// -1, with this error, such as `EAGAIN`.
    Error(String),
    /// Anything.
    Any,
}

/// A system call. `fd` is the script's number of the socket.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the system calls")]
pub enum Call {
    Socket,
    Bind { fd: i64 },
    Listen { fd: i64 },
    Accept { fd: i64 },
    Connect { fd: i64 },
    Fcntl { fd: i64 },
    SetOption { fd: i64, option: SocketOption },
    Write { fd: i64, len: u64 },
    Read { fd: i64, len: u64 },
    Close { fd: i64 },
    Shutdown { fd: i64 },
}

/// A socket option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketOption {
    /// `SO_REUSEADDR`, or another that does not change what is sent.
    Indifferent,
    /// `SO_SNDBUF`.
    SendBuffer(u32),
    /// `SO_RCVBUF`.
    ReceiveBuffer(u32),
    /// `TCP_NODELAY`.
    NoDelay(bool),
    /// `TCP_CONGESTION`.
    Congestion(String),
}

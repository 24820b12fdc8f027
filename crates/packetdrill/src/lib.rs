//! Scripts of the packetdrill language (Cardwell et al., "packetdrill: Scriptable Network Stack
//! Testing, from Sockets to Packets", USENIX ATC 2013), for any TCP.
//!
//! A script lists the system calls of an application, the packets that its peer injects, and the
//! packets that the tested host must send, each with its time. [`parse()`] reads the part of the
//! language that concerns the transport of one TCP connection, and refuses everything else with
//! line and reason. [`run`] runs a script against a [`Stack`] and stops at the first difference.
//! [`replay`] feeds the packets and calls of a script to a stack, and compares two stacks.
//!
//! The language imports no TCP. The simulated TCP as a stack is in `conformance`, the running
//! kernel's in `kernel-stack`.
//!
//! ## Deviations from packetdrill
//!
//! - PSH, the values of timestamps, and the boundaries of packets within a contiguous range of data
//!   are not compared: a segment of 10,000 bytes equals ten of 1,000.
//! - Commands in backticks are never executed. Settings in them are recognized and applied; the
//!   rest is refused, or, where it cannot matter, noted ([`Script::notes`]).
//! - Code is not Python: assignments, `print` and `assert` over whole numbers are evaluated here.

mod error;
mod expression;
mod judge;
mod packet;
mod parse;
pub mod replay;
mod script;
mod settings;

pub use error::Error;
pub use judge::{Difference, Run, Sent, Stack, run};
pub use packet::{Ecn, Flags, Options, Packet, Timestamps};
pub use parse::parse;
pub use script::{Action, Call, Event, Outcome, Script, SocketOption, When};
pub use settings::Settings;

/// The fields of `tcp_info` that a stack reports, by name, such as `tcpi_snd_cwnd`.
pub type Info = Vec<(&'static str, i64)>;

/// The value of a field.
#[must_use]
pub fn field(info: &Info, name: &str) -> Option<i64> {
    info.iter()
        .find(|(known, _)| *known == name)
        .map(|(_, value)| *value)
}

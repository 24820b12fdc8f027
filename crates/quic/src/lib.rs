//! QUIC stacks that people ship, under the simulated clock, over the links of a scenario.
//!
//! A sans-IO stack takes datagrams and times and returns datagrams and times: a [`Host`] is one of
//! its endpoints. The simulator runs pairs of hosts in its own event loop, beside flows of the
//! simulated TCP if there are any ([`simulator::Stacks`]), and takes the same measurements. [`run`]
//! gives all flows of a scenario one stack, [`run_named`] each flow the stack that it names.
//!
//! ## Assumptions
//!
//! - The client opens the connection and sends, as the simulated sender does. It writes one stream.
//! - Cryptography is null: keys do nothing, and a tag of 16 bytes is kept. The flights of the
//!   handshake have the sizes of real ones (`session`). A run tells nothing about the CPU that
//!   cryptography takes.
//! - Datagrams carry 1472 bytes of UDP payload, which fill the packets of 1500 bytes of the
//!   simulated TCP; path MTU discovery is off.
//! - At one instant packets arrive first, then timers expire and applications act, then hosts
//!   transmit: flow by flow, the client before the server.
//!
//! ## Deviations from the measurements of TCP
//!
//! - `bytes_acked` counts what the receiving application has in order.
//! - `segments_sent` counts packets with stream data. QUIC retransmits data, never packets:
//!   `segments_retransmitted` is the number of lost packets.
//! - `timeouts` counts persistent congestion: a probe timeout reduces no window.
//! - `loss` of one of a stack's own controllers is an exit whose threshold appeared with a loss.

mod conform;
mod dial;
mod driver;
mod endpoint;
mod foreign;
mod noq;
mod observer;
mod outcome;
mod program;
mod quinn;
mod real;
mod session;
mod stack;
mod support;

pub use conform::{Finding, conform};
pub use dial::{Control, Own};
pub use driver::{run, run_named, run_observed};
pub use endpoint::DATAGRAM;
pub use foreign::is_foreign;
pub use real::RealClient;
pub use simulator::{Act, Facts, Host, Passing, Transmit};
pub use stack::{STACKS, Stack};
pub use support::{Unsupported, check, check_named, control};

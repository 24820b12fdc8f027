//! The transport's side of [`congestion::CongestionControl`], for any transport that numbers packets
//! instead of bytes (RFC 9000, RFC 9002).
//!
//! A QUIC stack reports what its own congestion controller would be notified of: a packet left, a
//! packet was acknowledged, an ACK frame ends, packets were lost. [`Core`] makes of it what the
//! algorithms read: round-trip times, delivery-rate samples, rounds, whole segments, phases. It has
//! no clock and knows no stack; an adapter is one implementation of the stack's trait.
//!
//! What a stack cannot do stands in its [`Capabilities`]. [`Capabilities::check`] refuses, with one
//! sentence, an algorithm that needs more: an algorithm that runs without what it needs gives wrong
//! results in silence.
//!
//! ## Deviations
//!
//! - A round-trip time is `now` less the send time of the newest packet of the ACK frame, the
//!   receiver's ACK delay included, as Linux measures it. RFC 9002 subtracts the delay that the
//!   receiver reports.
//! - `snd_una` counts the bytes that were acknowledged or declared lost: a packet number is never sent
//!   twice, so a hole never closes. A packet that the peer never acknowledges, such as one that is
//!   only an ACK, delays the end of every later round by its bytes.
//! - Persistent congestion (RFC 9002, section 7.6) is a timeout, and leaves a window of two
//!   datagrams. A probe timeout alone changes nothing, as section 6.2 says.
#![no_std]

extern crate alloc;

mod capabilities;
mod connection;
mod factory;
mod flight;

pub use capabilities::{Capabilities, Pacing, Unsupported};
pub use congestion::{Algorithm, CongestionKind, ExitReason, Pace, SlowStartExit, Window};
pub use connection::{Core, Setup, initial_window};
pub use flight::Packet;
pub use units::Bytes;

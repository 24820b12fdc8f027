//! Sans-IO TCP that behaves as Linux 6.x does on bulk transfers.
//!
//! [`Sender`] and [`Receiver`] hold no clock, no socket and no queue. Time is an argument and
//! segments are values. After each call, the caller polls for segments to send and for the next
//! timeout.
//!
//! The sender consists of parts with private fields: the timer, the pass, the pacer, the windows,
//! RACK and so on. No part depends on [`Sender`]. Only the files of `sender/`, one for each task,
//! combine parts.
#![no_std]
extern crate alloc;

pub mod accecn;
mod burst;
mod config;
mod cwnd;
mod device;
mod ecn;
mod handshake;
pub mod min_filter;
mod pacing;
mod pass;
mod peer_window;
mod portions;
mod quick_start;
mod rack;
pub mod range_set;
mod receiver;
mod reordering;
mod repair;
mod retransmission_timer;
mod round_trip;
pub mod rtt;
mod scoreboard;
pub mod segment;
mod sender;
mod stream;
mod tick;
mod tlp;
mod undo;
mod validation;

pub use config::*;
pub use receiver::{Pairs, PlainAck, Receiver, ReceiverStats, quick_start_ack_ratio};
pub use sender::{Control, Held, Limit, Sender, SenderStats};
pub use tick::Tick;

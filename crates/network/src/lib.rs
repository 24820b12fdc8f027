//! Links, queues, delay, loss and traces, without a clock and without a protocol.
#![no_std]
extern crate alloc;

mod config;
mod element;

pub use config::*;
pub use element::*;

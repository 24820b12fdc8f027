//! Links, queues, delay, loss and traces, without a clock and without a protocol.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

mod element;

pub use element::*;

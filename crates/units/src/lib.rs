//! Quantities with their unit in the type.
//!
//! Every public quantity of the project is one of these: [`Instant`] and [`Duration`] in
//! nanoseconds, [`Rate`] in bits per second, [`Bytes`]. All are plain 64-bit integers, so that
//! results are the same on every machine. Arithmetic that would pass the end of the range
//! saturates; a subtraction that would go below zero is zero where the name says
//! `saturating_`, and a bug (a panic in debug builds) elsewhere.
//!
//! [`feedback`] is what hosts and routers write into a packet for each other.
#![no_std]

pub mod feedback;
mod quantity;
mod time;

pub use quantity::{Bytes, Rate, Transmission};
pub use time::{Duration, Instant};

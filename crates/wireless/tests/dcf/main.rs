//! 802.11 DCF: airtimes, throughput, contention, hidden nodes, capture, NAV, energy.

#![allow(clippy::unwrap_used, reason = "a test that finds nothing fails")]

mod bianchi;
mod exchange;
mod harness;
mod numbers;
mod properties;
mod space;

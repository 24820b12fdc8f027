//! IEEE 802.15.4: docs/reference/networks/adhoc-802.15.4.md has the numbers.
#![allow(clippy::print_stdout, reason = "tests print their measurements")]

mod config;
mod contention;
mod energy;
mod harness;
mod hops;
mod loss;
mod ns2;
mod numbers;
mod properties;
mod reference;
mod slots;

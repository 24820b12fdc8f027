//! Sans-IO TCP that behaves as Linux 6.x does on bulk transfers.
#![no_std]
extern crate alloc;

mod config;
pub mod min_filter;
pub mod range_set;
pub mod rtt;
pub mod segment;

pub use config::*;

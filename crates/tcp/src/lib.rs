//! Sans-IO TCP that behaves as Linux 6.x does on bulk transfers.
#![no_std]
extern crate alloc;

mod config;
pub mod segment;

pub use config::*;

//! Sans-IO TCP that behaves as Linux 6.x does on bulk transfers.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod segment;

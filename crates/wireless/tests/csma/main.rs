//! IEEE 802.15.4.
mod contention;
mod harness;
mod reference;

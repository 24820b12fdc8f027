//! IEEE 802.15.4.
mod contention;
mod harness;
mod loss;
mod numbers;
mod reference;

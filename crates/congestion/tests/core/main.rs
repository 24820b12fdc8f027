//! The parts around the start-ups: Linux's core, avoidance, recovery, BBR, and algorithms by name.

mod avoidance;
mod bbr;
mod classic;
mod cubic;
mod flow;
pub mod names;
mod operations;
mod rate;
mod recovery;
mod transport;

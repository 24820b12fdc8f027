//! The parts around the start-ups: Linux's core, avoidance, recovery, BBR, and algorithms by name.

mod bbr;
mod classic;
mod cubic;
mod flow;
mod names;
mod operations;
mod rate;
mod recovery;

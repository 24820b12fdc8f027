//! The TCP of a kernel in a virtual machine, in virtual time: the same run bit for bit, whatever
//! the machine below does meanwhile.
//!
//! The machine (`machine`) is QEMU with a kernel of Debian, as the package manager brings it, and
//! with one program, `slowstart-guest`, which makes one run as [`emulator::stack`] does on a real
//! machine: the emulator carries the packets, with every model of `network`, between two
//! namespaces. One run takes one start of the machine, so that no run depends on another. What
//! goes in and comes out is in [`exchange`]. Design, sections 1 and 4; notes on Linux, section 5.
//!
//! ## Deviations
//!
//! - The router is a process between the hosts, not a third namespace with a queueing discipline:
//!   so every path of a scenario can be had, drops and true capacity are known, and the sender's
//!   kernel notices the same of it (a TUN device takes packets at once, so that the bottleneck's
//!   queue is never on the sender). In virtual time its lateness is some microseconds.
//! - The processor executes one instruction in each nanosecond, whatever it does. What that makes
//!   late is judged by the emulator's check of itself, as on a real machine.
//! - HyStart is switched off for the whole machine in a run of `cubic+standard`, so that a run has
//!   either that or `cubic+hystart`.
//! - Debian's kernel counts five sixths of [`emulator::stack`]'s receive window: Linux before 6.6.

#[cfg(target_os = "linux")]
pub mod algorithms;
#[cfg(target_os = "linux")]
pub mod exchange;
#[cfg(target_os = "linux")]
mod initramfs;
#[cfg(target_os = "linux")]
mod machine;

#[cfg(target_os = "linux")]
mod run;

#[cfg(target_os = "linux")]
pub use run::*;

//! The TCP of a Linux kernel in a virtual machine, in virtual time. A run gives the same bits
//! whatever the load of the host.
//!
//! The machine (`machine`) is QEMU with Debian's packaged kernel and a single program,
//! `slowstart-guest`. The program makes one run as [`kernel_stack`] does on a real machine: the
//! emulator carries the packets between two namespaces, with every model of `network`. Each run
//! boots the machine once, so that no run depends on another. [`exchange`] defines input and
//! output.
//!
//! ## Deviations
//!
//! - The router is a process between the hosts, not a third namespace with a queueing discipline.
//!   Every path of a scenario is therefore available, and drops and true capacity are known. The
//!   sender's kernel observes no difference: a TUN device takes packets at once, so that the
//!   bottleneck's queue is never on the sender. In virtual time the router is late by some
//!   microseconds.
//! - The processor executes one instruction per nanosecond, whatever the instruction. The
//!   emulator's timing self-check judges the resulting delays, as on a real machine.
//! - In a run of `cubic+standard`, HyStart is switched off for the whole machine, so a run cannot
//!   contain both `cubic+standard` and `cubic+hystart`.
//! - Debian's kernel counts five sixths of [`kernel_stack`]'s receive window, as Linux before
//!   6.6 does.

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

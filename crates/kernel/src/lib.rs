//! Start-ups in the running kernel, for those who only want them on their server: congestion
//! controls in eBPF (`bpf/`) around the kernel's own CUBIC.
//!
//! [`load`] registers them once, which needs privileges; any program may then select them for its
//! sockets (`TCP_CONGESTION`), or a network namespace as its default
//! (`net.ipv4.tcp_congestion_control`). They stay until [`unload`] or a reboot; sockets that use
//! one when it is unloaded go on. [`status`] tells what there is and what is missing.
//!
//! Sources: `Documentation/bpf` of Linux 6.18 and what was measured there; `bpf/core` says what the
//! algorithms are.
//!
//! Assumes Linux on a little-endian or big-endian machine with `/proc` and `/sys` mounted.

mod control;
mod error;
mod loader;
mod needs;
mod status;

pub use control::{CONTROLS, Control, ExitAction, Options};
pub use error::Error;
pub use loader::{load, unload};
pub use needs::{Need, needs};
pub use status::{ControlStatus, Status, status};

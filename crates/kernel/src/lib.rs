//! Start-up algorithms in the running kernel, also for servers that use nothing else of this
//! project: congestion controls in eBPF (`bpf/`) around the kernel's own CUBIC.
//!
//! [`load`] registers them once, which needs privileges. Any program may then select them for its
//! sockets (`TCP_CONGESTION`), or a network namespace use one as its default
//! (`net.ipv4.tcp_congestion_control`). They stay until [`unload`] or a reboot; sockets that use
//! one when it is unloaded keep it. [`status`] reports what is loaded and what is missing.
//!
//! A measurement uses a [`Guest`], which is registered as long as it lives, under a name of its
//! own, and reports the end of each slow start. A [`Probe`] reports every ACK in a network
//! namespace, whatever the congestion control. Neither outlives the process.
//!
//! Sources: `Documentation/bpf` of Linux 6.18, and measurements on that version; `bpf/core`
//! describes the algorithms.
//!
//! Assumes Linux on a little-endian or big-endian machine with `/proc` and `/sys` mounted. Without
//! the feature `bpf`, or the objects of `make -C bpf`, this crate can only report what is missing.

mod control;
mod error;
mod guest;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod libbpf;
#[cfg(not(all(feature = "bpf", target_os = "linux")))]
#[path = "without.rs"]
mod libbpf;
mod loader;
mod needs;
pub mod offered;
mod probe;
mod status;
mod wanted;

pub use control::{BUILT_IN, CONTROLS, Control, ExitAction, Options};
pub use error::Error;
pub use guest::{Guest, GuestExit};
pub use loader::{load, unload};
pub use needs::{Need, missing_for_guests, needs};
pub use probe::{Probe, Row, RowKind};
pub use status::{ControlStatus, Status, status};
pub use wanted::Wanted;

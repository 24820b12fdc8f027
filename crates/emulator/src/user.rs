//! The privileges that the emulator needs.

use std::fs;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getgid, getuid};

use crate::device;
use crate::error::{EmulatorError, io_error};
use crate::namespace::Namespace;

/// CAP_NET_ADMIN and CAP_SYS_ADMIN (capabilities(7)), as bits.
const NEEDED: u64 = 1 << 12 | 1 << 21;

/// What is missing for an emulation, in one sentence; `None` where nothing is.
#[must_use]
pub fn missing() -> Option<String> {
    device::open()
        .and_then(|_| Namespace::make(|| Ok(())))
        .err()
        .map(|error| error.to_string())
}

/// Moves this process into a user namespace of its own, in which it may create network namespaces.
/// The user stays the same, outside and inside. Does nothing where it is not needed.
///
/// To be called before any thread starts, because the kernel moves only single-threaded processes.
/// Programs that such a process starts have no privileges in the namespace.
///
/// # Errors
/// Where user namespaces are not allowed, or where there are threads already.
pub fn enter_user_namespace() -> Result<(), EmulatorError> {
    if capable() {
        return Ok(());
    }
    let (user, group) = (getuid(), getgid());
    unshare(CloneFlags::CLONE_NEWUSER)
        .map_err(|errno| EmulatorError::NoNamespaces(io_error(errno)))?;
    let write = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text).map_err(EmulatorError::NoNamespaces)
    };
    // The kernel accepts a group map only from a process that can no longer drop a group
    // (user_namespaces(7)).
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{user} {user} 1"))?;
    write("gid_map", format!("{group} {group} 1"))
}

/// Whether this process has the capabilities that it needs.
fn capable() -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| {
        status
            .lines()
            .find_map(|line| line.strip_prefix("CapEff:"))
            .and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
            .is_some_and(|set| set & NEEDED == NEEDED)
    })
}

//! Why an emulation fails, in one sentence each.

use std::fmt;
use std::io;

/// Why an emulation fails.
#[derive(Debug)]
pub enum EmulatorError {
    /// There is no TUN device, or this process may not open it.
    NoTun(io::Error),
    /// This process may not create network namespaces.
    NoNamespaces(io::Error),
    /// A system call that the emulation needs failed: the operation, and the error.
    System(String, io::Error),
    /// A program could not be started: its name, and the error.
    Command(String, io::Error),
    /// The server command ended before it listened; its exit status.
    ServerEnded(i32),
    /// A file could not be written.
    File(String, io::Error),
    /// The request cannot be met: one sentence.
    Invalid(String),
}

impl fmt::Display for EmulatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTun(error) if error.kind() == io::ErrorKind::NotFound => f.write_str(
                "emulation needs /dev/net/tun, which this machine does not have: load the kernel's \
                 `tun` module, or give the container the device",
            ),
            Self::NoTun(error) => write!(
                f,
                "emulation needs /dev/net/tun, which cannot be opened ({error}): run as root, or \
                 let the user read and write it"
            ),
            Self::NoNamespaces(error) => write!(
                f,
                "emulation needs to create network namespaces, which is not allowed here \
                 ({error}): run as root, with CAP_SYS_ADMIN and CAP_NET_ADMIN, or in a user \
                 namespace (`unshare -Ur`)"
            ),
            Self::System(what, error) => write!(f, "emulation failed: {what}: {error}"),
            Self::Command(program, error) => write!(f, "`{program}` cannot be run: {error}"),
            Self::ServerEnded(status) => write!(
                f,
                "the server command ended with status {status} before it listened on a port"
            ),
            Self::File(name, error) => write!(f, "{name}: cannot be written: {error}"),
            Self::Invalid(sentence) => f.write_str(sentence),
        }
    }
}

impl std::error::Error for EmulatorError {}

impl EmulatorError {
    /// Adds the name of the operation to an error.
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |error| Self::System(what, error)
    }
}

/// An error number as an I/O error.
pub(crate) fn io_error(errno: nix::errno::Errno) -> io::Error {
    io::Error::from_raw_os_error(errno as i32)
}

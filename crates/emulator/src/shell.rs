//! A command behind a path, like Mahimahi's shells.
//!
//! The command is the client: it runs at the receiving end of the forward link, so that its
//! downloads cross the link to which the path's `rate` and `buffer` apply. With `upload` it runs at
//! the sending end. Its own address is always [`NEAR_ADDRESS`], and that of the server at the other
//! end is always [`FAR_ADDRESS`]; the environment holds both, as `SLOWSTART_ADDRESS` and
//! `SLOWSTART_PEER`.
//!
//! A command that is itself an emulation is nested in this one (`nest`): its own command has other
//! addresses, and reaches the servers of both. `SLOWSTART_PEER` is then the address of the nearest
//! server command.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use scenario::PathModel;
use units::{Duration, Instant};

use crate::clock::{self, Clock};
use crate::emulation::{Emulation, EmulationOptions, PEER, Prepared};
use crate::error::EmulatorError;
use crate::live::Snapshot;
use crate::process::Running;
use crate::report::Report;
use crate::side::Side;

/// Address of the command, unless the emulation is nested.
pub const NEAR_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

/// Address of the server command, likewise.
pub const FAR_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

/// The command to run, and how to run it.
#[derive(Clone, Debug, Default)]
pub struct EmulateOptions {
    /// The command and its arguments. It has this process's standard streams.
    pub command: Vec<OsString>,
    /// Run by `sh -c` at the other end, before the command, which waits until it listens on a port.
    pub server_command: Option<OsString>,
    /// Whether the other end is this host, whose own programs are then the servers.
    pub host: bool,
    /// Whether the command sends on the forward link, instead of receiving from it.
    pub upload: bool,
    /// All other options. The addresses in it are overwritten.
    pub emulation: EmulationOptions,
}

/// The outcome of a command.
#[derive(Clone, Debug)]
pub struct EmulateOutcome {
    /// The command's exit status; 128 more than the signal's number where a signal ended it.
    pub status: i32,
    /// The measurements.
    pub report: Report,
    /// Whether the server command listened on a port before the command started; true without one.
    pub server_listens: bool,
}

/// Time between two checks whether the command has ended.
const TICK: std::time::Duration = std::time::Duration::from_millis(100);

/// How long to wait for a server to listen; the command then starts anyway.
const SERVER_PATIENCE: Duration = Duration::from_secs(10);

/// How long a command may take to end after SIGTERM.
const END_PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);

/// Runs a command behind `path`, and calls `watch` ten times a second. When `cancel` becomes true,
/// the command gets SIGTERM, and is killed two seconds later.
///
/// # Errors
/// What is missing for an emulation, or which command cannot be run.
pub fn emulate(
    path: &PathModel,
    seed: u64,
    options: EmulateOptions,
    cancel: &AtomicBool,
    watch: &mut dyn FnMut(&Snapshot),
) -> Result<EmulateOutcome, EmulatorError> {
    let Some((program, arguments)) = options.command.split_first() else {
        return Err(EmulatorError::Invalid("there is no command to run".into()));
    };
    let (near, addresses) = if options.upload {
        (Side::Sender, [NEAR_ADDRESS, FAR_ADDRESS])
    } else {
        (Side::Receiver, [FAR_ADDRESS, NEAR_ADDRESS])
    };
    let title: Vec<_> = options
        .command
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let prepared = Emulation::prepare(
        path,
        seed,
        EmulationOptions {
            addresses,
            nested: Some(near.peer()),
            host: options.host.then(|| near.peer()),
            title: title.join(" "),
            ..options.emulation
        },
    )?;
    let (mut server, server_listens) = match &options.server_command {
        Some(line) => {
            let (server, listens) = start_server(&prepared, near.peer(), line)?;
            (Some(server), listens)
        }
        None => (None, true),
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let nested = prepared.address(near) != NEAR_ADDRESS;
    if let (true, None, Some(peer)) = (nested, &server, std::env::var_os(PEER)) {
        command.env(PEER, peer);
    }
    // The channel's time begins with the command.
    let emulation = prepared.begin(Duration::ZERO)?;
    let mut running = emulation.spawn(near, command)?;
    let mut asked = false;
    let status = loop {
        if let Some(status) = running.wait_for(Some(TICK)) {
            break status;
        }
        watch(&emulation.snapshot());
        if cancel.load(Ordering::Relaxed) && !asked {
            asked = true;
            ask_to_end(&running);
            if running.wait_for(Some(END_PATIENCE)).is_none() {
                running.kill();
            }
        }
    };
    watch(&emulation.snapshot());
    if let Some(server) = &mut server {
        server.kill();
    }
    let report = emulation.finish()?;
    Ok(EmulateOutcome {
        status,
        report,
        server_listens,
    })
}

/// Sends SIGTERM to the command itself: the child of the first process of its namespace, which
/// ignores signals.
fn ask_to_end(running: &Running) {
    let id = running.id();
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
    for child in children.unwrap_or_default().split_ascii_whitespace() {
        if let Ok(pid) = child.parse() {
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
    }
}

/// Starts the server and waits until it listens on a port of its side; whether it does.
fn start_server(
    prepared: &Prepared<'_>,
    side: Side,
    line: &OsString,
) -> Result<(Running, bool), EmulatorError> {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line).stdin(Stdio::null());
    // The server's output must not mix with the command's.
    let errors = std::io::stderr().as_fd().try_clone_to_owned();
    command.stdout(errors.map_or_else(|_| Stdio::null(), Stdio::from));
    // The host of an inner emulation may have servers already.
    let before = prepared.within(side, listeners)?;
    let mut server = prepared.spawn(side, command)?;
    let clock = Clock::begin();
    while clock.now().saturating_since(Instant::ZERO) < SERVER_PATIENCE {
        if !prepared.within(side, listeners)?.is_subset(&before) {
            return Ok((server, true));
        }
        if let Some(status) = server.try_wait() {
            return Err(EmulatorError::ServerEnded(status));
        }
        clock::pause(Duration::from_millis(10));
    }
    Ok((server, false))
}

/// Local addresses, as the kernel writes them, of the listening TCP sockets and the bound UDP
/// sockets in the calling thread's namespace.
fn listeners() -> BTreeSet<String> {
    // The columns are number, local address, peer's address, state; 0A is LISTEN. A UDP socket is
    // listed once it is bound; clients have none before the command starts.
    const LISTEN: &str = "0A";
    let mut found = BTreeSet::new();
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let text = fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default();
        for row in text.lines().skip(1) {
            let mut columns = row.split_ascii_whitespace().skip(1);
            if let (Some(local), Some(state)) = (columns.next(), columns.nth(1))
                && (state == LISTEN || table.starts_with("udp"))
            {
                found.insert(format!("{table} {local}"));
            }
        }
    }
    found
}

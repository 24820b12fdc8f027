//! Programs on one side of the path, which never outlive this process.
//!
//! A program runs in one of our network namespaces and in a PID namespace of its own. The first
//! process of the PID namespace is a fork of this one that waits for orphans and does nothing else.
//! The kernel kills it when the thread that created it ends (`PR_SET_PDEATHSIG`), and with it
//! everything in the namespace, daemons included. So nothing survives, not even after kill -9, and
//! no later run has to look for leftovers. The same happens when the program itself ends: its
//! background processes end with it.
//!
//! `/proc` is mounted afresh, in a mount namespace with the same lifetime, so that it shows the
//! PIDs of the namespace.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{ForkResult, Pid, fork};

use crate::error::{EmulatorError, io_error};
use crate::namespace::Namespace;

/// A program that runs, or has run, on one side. Dropping this kills it.
#[derive(Debug)]
pub struct Running {
    pid: Pid,
    /// Its standard input, where the command asked for a pipe.
    pub stdin: Option<ChildStdin>,
    /// Its standard output, likewise.
    pub stdout: Option<ChildStdout>,
    /// Its standard error, likewise.
    pub stderr: Option<ChildStderr>,
    ended: Receiver<io::Result<ExitStatus>>,
    status: Option<i32>,
}

impl Running {
    /// PID of the first process of its namespace, as this process sees it.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.pid.as_raw().unsigned_abs()
    }

    /// Its exit status, once it has ended; 128 plus the signal's number if a signal ended it, as in
    /// a shell.
    pub fn try_wait(&mut self) -> Option<i32> {
        self.wait_for(Some(std::time::Duration::ZERO))
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> i32 {
        self.stdin = None;
        self.wait_for(None).unwrap_or(LOST)
    }

    /// Waits for its end, but no longer than `longest`.
    pub fn wait_for(&mut self, longest: Option<std::time::Duration>) -> Option<i32> {
        if self.status.is_none() {
            let received = match longest {
                Some(longest) => self.ended.recv_timeout(longest),
                None => self
                    .ended
                    .recv()
                    .map_err(|_| RecvTimeoutError::Disconnected),
            };
            self.status = match received {
                Ok(Ok(status)) => Some(
                    status
                        .code()
                        .or_else(|| status.signal().map(|signal| 128 + signal))
                        .unwrap_or(LOST),
                ),
                Err(RecvTimeoutError::Timeout) => None,
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Some(LOST),
            };
        }
        self.status
    }

    /// Kills it and everything that it started.
    pub fn kill(&mut self) {
        if self.try_wait().is_none() {
            // It is the first process of its namespace: the kernel kills the others with it.
            let _ = kill(self.pid, Signal::SIGKILL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        let _ = self.wait_for(None);
    }
}

/// Exit status of a program whose end was not observed.
const LOST: i32 = 255;

/// Starts `command` in `namespace`.
pub(crate) fn spawn(namespace: Namespace, command: Command) -> Result<Running, EmulatorError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let (started, start) = channel();
    let (ending, ended) = channel();
    // The thread must live as long as the program: its end would kill the program.
    thread::Builder::new()
        .name("slowstart-run".to_owned())
        .spawn(move || {
            let mut child = match start_here(&namespace, command) {
                Ok(child) => child,
                Err(error) => {
                    let _ = started.send(Err(error));
                    return;
                }
            };
            // The handles belong to the caller; a pipe held here would never end.
            let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
            let _ = started.send(Ok((child.id(), pipes)));
            let _ = ending.send(child.wait());
        })
        .map_err(EmulatorError::system("starting a thread"))?;
    match start.recv() {
        Ok(Ok((id, (stdin, stdout, stderr)))) => Ok(Running {
            pid: Pid::from_raw(id.cast_signed()),
            stdin,
            stdout,
            stderr,
            ended,
            status: None,
        }),
        Ok(Err(error)) => Err(EmulatorError::Command(name, error)),
        Err(_) => Err(EmulatorError::Command(
            name,
            io::Error::other("its thread ended"),
        )),
    }
}

/// Runs on a thread of its own, which stays in the namespaces.
fn start_here(namespace: &Namespace, mut command: Command) -> io::Result<Child> {
    namespace.enter()?;
    unshare(CloneFlags::CLONE_NEWPID).map_err(io_error)?;
    let (alive, lives) = io::pipe()?;
    prepare(&mut command, &alive, &lives);
    command.spawn()
}

#[expect(unsafe_code, reason = "what is done between fork and exec")]
fn prepare(command: &mut Command, alive: &PipeReader, lives: &PipeWriter) {
    let (alive, lives) = (alive.as_raw_fd(), lives.as_raw_fd());
    // SAFETY: the closure runs in the forked child, alone; it allocates nothing, takes no lock, and
    // makes only system calls that signal-safety(7) lists or that are plain wrappers of one.
    unsafe {
        command.pre_exec(move || become_program(alive, lives));
    }
}

/// In the first process of the new namespace: returns in the second, which becomes the program.
fn become_program(alive: RawFd, lives: RawFd) -> io::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(io_error)?;
    close(lives);
    if ended_already(alive) {
        // The parent died before the kernel knew that this process is to die with it.
        exit(LOST);
    }
    // A fresh /proc, where that is allowed; the old one only shows too much.
    if unshare(CloneFlags::CLONE_NEWNS).is_ok() {
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        if mount(None::<&str>, "/", None::<&str>, private, None::<&str>).is_ok() {
            let plain = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
            let _ = mount(Some("proc"), "/proc", Some("proc"), plain, None::<&str>);
        }
    }
    match fork_once()? {
        ForkResult::Child => Ok(()),
        ForkResult::Parent { child } => reap(child),
    }
}

#[expect(unsafe_code, reason = "fork(2) in a process of many threads")]
fn fork_once() -> io::Result<ForkResult> {
    // SAFETY: this process is itself a fresh fork with one thread; the child goes on to exec, the
    // parent makes system calls alone (`reap`).
    unsafe { fork() }.map_err(io_error)
}

/// The first process: it waits for every process that ends, and ends with the program.
fn reap(program: Pid) -> ! {
    let _ = prctl::set_name(c"slowstart-init");
    // Above all the pipe on which the parent waits for exec.
    close_all_above(2);
    loop {
        let mut status = 0;
        match wait_any(&mut status) {
            Ok(pid) if pid == program.as_raw() => {
                let status = ExitStatus::from_raw(status);
                let code = status.code().or(status.signal().map(|signal| 128 + signal));
                exit(code.unwrap_or(LOST));
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => exit(LOST),
        }
    }
}

#[expect(
    unsafe_code,
    reason = "the library's waitpid refuses signals that it does not know"
)]
fn wait_any(status: &mut i32) -> Result<i32, Errno> {
    // SAFETY: the kernel writes one integer to `status`.
    Errno::result(unsafe { libc::waitpid(-1, &raw mut *status, 0) })
}

#[expect(unsafe_code, reason = "descriptors by number, in a forked child")]
fn close(descriptor: RawFd) {
    // SAFETY: the descriptor is a copy that belongs to this forked process, whose owner, in the
    // process that it was forked from, is never dropped here.
    unsafe { libc::close(descriptor) };
}

#[expect(unsafe_code, reason = "descriptors by number, in a forked child")]
fn close_all_above(last: u32) {
    // SAFETY: this process uses no descriptor any more, and drops no owner of one.
    unsafe { libc::syscall(libc::SYS_close_range, last + 1, u32::MAX, 0) };
}

#[expect(
    unsafe_code,
    reason = "nothing may be unwound or flushed in a forked child"
)]
fn exit(status: i32) -> ! {
    // SAFETY: `_exit` does not return and runs no code of this process.
    unsafe { libc::_exit(status) }
}

#[expect(unsafe_code, reason = "a descriptor by number, in a forked child")]
fn ended_already(pipe: RawFd) -> bool {
    // SAFETY: the descriptor was inherited and is open until exec.
    let pipe = unsafe { std::os::fd::BorrowedFd::borrow_raw(pipe) };
    let mut watched = [PollFd::new(pipe.as_fd(), PollFlags::empty())];
    poll(&mut watched, PollTimeout::ZERO).is_ok()
        && watched[0]
            .revents()
            .is_some_and(|events| events.contains(PollFlags::POLLHUP))
}

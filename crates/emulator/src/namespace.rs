//! A network namespace that is held by a file descriptor, and threads inside of it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

use crate::error::{EmulatorError, io_error};

/// The namespace of the calling thread.
const OF_THREAD: &str = "/proc/thread-self/ns/net";

/// A network namespace. It ends once this handle and every process in it are gone.
#[derive(Debug)]
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// Creates a namespace and runs `prepare` in it.
    pub(crate) fn make<T: Send>(
        prepare: impl FnOnce() -> Result<T, EmulatorError> + Send,
    ) -> Result<(Self, T), EmulatorError> {
        on_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(|errno| EmulatorError::NoNamespaces(io_error(errno)))?;
            Ok((Self::current()?, prepare()?))
        })
    }

    /// The namespace of the calling thread.
    pub(crate) fn current() -> Result<Self, EmulatorError> {
        let file = File::open(OF_THREAD).map_err(EmulatorError::system(OF_THREAD))?;
        Ok(Self { file })
    }

    /// Moves the calling thread into it, for the rest of the thread's life.
    ///
    /// # Errors
    /// Where the kernel does not permit it.
    pub fn enter(&self) -> io::Result<()> {
        setns(&self.file, CloneFlags::CLONE_NEWNET).map_err(io_error)
    }

    /// Runs `work` on a thread in it and waits for the end.
    pub(crate) fn within<T: Send>(
        &self,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, EmulatorError> {
        on_thread(|| {
            self.enter()
                .map_err(EmulatorError::system("entering a network namespace"))?;
            Ok(work())
        })
    }

    /// Another handle of the same namespace.
    pub(crate) fn try_clone(&self) -> Result<Self, EmulatorError> {
        let file = self
            .file
            .try_clone()
            .map_err(EmulatorError::system("duplicating a file descriptor"))?;
        Ok(Self { file })
    }

    /// A path under which another process of the same user finds it, for `nsenter --net=`.
    pub(crate) fn path(&self) -> PathBuf {
        let descriptor = self.file.as_raw_fd();
        PathBuf::from(format!("/proc/{}/fd/{descriptor}", std::process::id()))
    }
}

/// Runs `work` on a thread of its own, because a change of namespace lasts as long as the thread.
fn on_thread<T: Send>(
    work: impl FnOnce() -> Result<T, EmulatorError> + Send,
) -> Result<T, EmulatorError> {
    thread::scope(|scope| {
        let handle = thread::Builder::new()
            .name("slowstart-ns".to_owned())
            .spawn_scoped(scope, work)
            .map_err(EmulatorError::system("starting a thread"))?;
        match handle.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

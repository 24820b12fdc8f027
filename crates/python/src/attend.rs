//! Runs work on another thread while this one handles Ctrl-C and reports progress.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;

use crate::errors;

/// How often this thread checks signals and reports progress; shorter than users notice.
const TICK: Duration = Duration::from_millis(50);

/// A flag to wait for.
#[derive(Default)]
struct Finished {
    flag: Mutex<bool>,
    changed: Condvar,
}

impl Finished {
    fn set(&self) {
        *self.flag.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits at most [`TICK`] and returns whether the flag is set.
    fn wait(&self) -> bool {
        let flag = self.flag.lock().unwrap_or_else(PoisonError::into_inner);
        if *flag {
            return true;
        }
        let (flag, _) = self
            .changed
            .wait_timeout(flag, TICK)
            .unwrap_or_else(PoisonError::into_inner);
        *flag
    }
}

/// Runs `work` on another thread, without the interpreter lock, and calls `report` every [`TICK`].
/// An exception from `report` or from a signal handler (such as `KeyboardInterrupt`) sets `cancel`,
/// and is raised when `work` has returned.
pub fn attend<T: Send>(
    py: Python<'_>,
    cancel: &AtomicBool,
    mut report: impl FnMut() -> PyResult<()>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let finished = Finished::default();
    let mut interruption = None;
    let outcome = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            // A panic must not block the waiting thread.
            let outcome = catch_unwind(AssertUnwindSafe(work));
            finished.set();
            outcome
        });
        while !py.detach(|| finished.wait()) {
            if let Err(error) = py.check_signals().and_then(|()| report()) {
                cancel.store(true, Ordering::Relaxed);
                interruption = Some(error);
                break;
            }
        }
        py.detach(|| worker.join())
    });
    if let Some(error) = interruption {
        return Err(error);
    }
    // A signal may have arrived just before the work ended.
    py.check_signals()?;
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(_)) | Err(_) => Err(errors::run(
            "internal error in a run (please report this bug with the command)",
        )),
    }
}

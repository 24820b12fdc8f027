//! Work on another thread while this one listens for Ctrl-C and tells progress.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;

use crate::errors;

/// How often signals are looked at and progress is told: well below what a person notices.
const TICK: Duration = Duration::from_millis(50);

/// A flag that can be waited for.
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

    /// Waits for at most [`TICK`]; whether the flag is set.
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

/// Does `work` on another thread, without the interpreter lock. Meanwhile `tell` is called now and
/// then; an exception of its, or a signal's (`KeyboardInterrupt` among them), sets `cancel`, and
/// is raised when `work` has returned.
pub fn attend<T: Send>(
    py: Python<'_>,
    cancel: &AtomicBool,
    mut tell: impl FnMut() -> PyResult<()>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let finished = Finished::default();
    let mut interruption = None;
    let outcome = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            // A panic must not leave the waiting thread waiting.
            let outcome = catch_unwind(AssertUnwindSafe(work));
            finished.set();
            outcome
        });
        while !py.detach(|| finished.wait()) {
            if let Err(error) = py.check_signals().and_then(|()| tell()) {
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
    // A signal that came with the end of the work counts too.
    py.check_signals()?;
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(_)) | Err(_) => Err(errors::run(
            "a run broke off because of a mistake in slowstart; please report the command",
        )),
    }
}

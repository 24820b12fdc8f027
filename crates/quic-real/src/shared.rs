//! The state that the threads of a run share.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time;

use emulator::{monotonic_nanos, std_instant};
use quinn::Connection;
use tokio::sync::watch;
use units::{Duration, Instant};

use crate::error::RealError;
use crate::socket::Counted;

/// The state of a flow while it runs.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The client's call of `connect`.
    pub(crate) start: Option<Instant>,
    /// The client's handshake was complete.
    pub(crate) established: Option<Instant>,
    /// Bytes in order at the receiving application.
    pub(crate) received: u64,
    /// The receiving application had everything.
    pub(crate) finished: Option<Instant>,
    /// Why the connection was closed before that.
    pub(crate) closed: Option<String>,
    /// At the client.
    pub(crate) connection: Option<Connection>,
    /// The client's.
    pub(crate) socket: Option<Arc<Counted>>,
}

impl Progress {
    const fn is_over(&self) -> bool {
        self.finished.is_some() || self.closed.is_some()
    }
}

#[derive(Debug)]
struct State {
    flows: Vec<Progress>,
    failure: Option<RealError>,
}

/// The state of a run.
#[derive(Debug)]
pub(crate) struct Shared {
    /// CLOCK_MONOTONIC when the run began, in nanoseconds.
    zero: u64,
    state: Mutex<State>,
    /// A flow is over, or something failed.
    changed: Condvar,
    /// Becomes true at the end of the run.
    over: watch::Sender<bool>,
}

impl Shared {
    pub(crate) fn new(zero: u64, flows: usize) -> Self {
        Self {
            zero,
            state: Mutex::new(State {
                flows: std::iter::repeat_with(Progress::default)
                    .take(flows)
                    .collect(),
                failure: None,
            }),
            changed: Condvar::new(),
            over: watch::Sender::new(false),
        }
    }

    /// Time since the run began; zero before.
    pub(crate) fn now(&self) -> Instant {
        Instant::from_nanos(monotonic_nanos().saturating_sub(self.zero))
    }

    /// The standard library's instant at a time of the run.
    pub(crate) fn at(&self, time: Instant) -> time::Instant {
        std_instant(self.zero.saturating_add(time.as_nanos()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state of a flow, until the end of the run.
    pub(crate) fn update(&self, flow: usize, change: impl FnOnce(&mut Progress)) {
        if let Some(progress) = self.state().flows.get_mut(flow) {
            change(progress);
            if progress.is_over() {
                self.changed.notify_all();
            }
        }
    }

    /// The connection of a flow ended before its data had arrived.
    pub(crate) fn close(&self, flow: usize, reason: impl ToString) {
        self.update(flow, |progress| {
            if !progress.is_over() {
                progress.closed = Some(reason.to_string());
            }
        });
    }

    /// Something that the run needs failed, which ends the run. The first failure is reported.
    pub(crate) fn fail(&self, error: RealError) {
        self.state().failure.get_or_insert(error);
        self.changed.notify_all();
    }

    /// Waits until all flows are over or something failed, or at most for `most`. Returns whether
    /// the run is over.
    pub(crate) fn wait(&self, most: Duration) -> bool {
        let is_over =
            |state: &State| state.failure.is_some() || state.flows.iter().all(Progress::is_over);
        let state = self.state();
        if is_over(&state) {
            return true;
        }
        let most = time::Duration::from_nanos(most.as_nanos());
        let waited = self.changed.wait_timeout(state, most);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        is_over(&state)
    }

    /// Ends the run for all threads, and returns the state of each flow.
    pub(crate) fn end(&self) -> Result<Vec<Progress>, RealError> {
        self.over.send_replace(true);
        let mut state = self.state();
        match state.failure.take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut state.flows)),
        }
    }

    /// Waits for the end of the run.
    pub(crate) async fn ended(&self) {
        // The sender lives as long as this.
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }
}

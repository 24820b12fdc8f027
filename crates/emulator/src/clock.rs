//! The wall clock. No other module reads the time.
//!
//! All times are CLOCK_MONOTONIC, which `clock_gettime` reads without entering the kernel, and
//! which a sender on the same machine can read too.

use std::os::unix::thread::JoinHandleExt;
use std::thread::JoinHandle;

use nix::time::{ClockId, clock_gettime};
use units::{Duration, Instant};

fn nanos(clock: ClockId) -> u64 {
    // These clocks exist in every kernel that has namespaces.
    clock_gettime(clock).map_or(0, |time| {
        (time.tv_sec() as u64).saturating_mul(1_000_000_000) + time.tv_nsec() as u64
    })
}

/// Nanoseconds of CLOCK_MONOTONIC.
#[must_use]
pub fn monotonic_nanos() -> u64 {
    nanos(ClockId::CLOCK_MONOTONIC)
}

/// Nanoseconds since the Unix epoch.
pub(crate) fn unix_nanos() -> u64 {
    nanos(ClockId::CLOCK_REALTIME)
}

/// Processor time of this thread.
pub(crate) fn thread_time() -> Duration {
    Duration::from_nanos(nanos(ClockId::CLOCK_THREAD_CPUTIME_ID))
}

/// The processor time of another thread, readable from any thread.
pub(crate) struct ThreadClock(ClockId);

impl ThreadClock {
    /// The clock of `thread`; `None` where it has none. It must not be read after the thread is
    /// joined.
    #[expect(
        unsafe_code,
        reason = "there is no wrapper of pthread_getcpuclockid(3)"
    )]
    pub(crate) fn of<T>(thread: &JoinHandle<T>) -> Option<Self> {
        let mut id = 0;
        // SAFETY: the thread is not joined while it has a handle, and the call writes one integer.
        let status = unsafe { libc::pthread_getcpuclockid(thread.as_pthread_t(), &raw mut id) };
        (status == 0).then(|| Self(ClockId::from_raw(id)))
    }

    pub(crate) fn now(&self) -> Duration {
        Duration::from_nanos(nanos(self.0))
    }
}

/// A clock whose zero is the beginning of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    zero: u64,
    unix_zero: u64,
}

impl Clock {
    /// The run begins at once.
    pub(crate) fn begin() -> Self {
        Self::begin_after(Duration::ZERO)
    }

    /// The run begins in `lead`; until then the clock reads zero.
    pub(crate) fn begin_after(lead: Duration) -> Self {
        Self {
            zero: monotonic_nanos().saturating_add(lead.as_nanos()),
            unix_zero: unix_nanos().saturating_add(lead.as_nanos()),
        }
    }

    #[inline]
    pub(crate) fn now(self) -> Instant {
        Instant::from_nanos(monotonic_nanos().saturating_sub(self.zero))
    }

    /// CLOCK_MONOTONIC when the run began, in nanoseconds.
    pub(crate) const fn zero(self) -> u64 {
        self.zero
    }

    /// The Unix time of `at`, in nanoseconds.
    pub(crate) const fn unix(self, at: Instant) -> u64 {
        self.unix_zero.saturating_add(at.as_nanos())
    }
}

/// The standard library's instant when CLOCK_MONOTONIC, which it reads too, is at `nanos`.
#[must_use]
#[allow(
    clippy::disallowed_methods,
    reason = "there is no other way to an instant of the standard library"
)]
pub fn std_instant(nanos: u64) -> std::time::Instant {
    let now = monotonic_nanos();
    let at = std::time::Instant::now();
    if nanos >= now {
        at + std::time::Duration::from_nanos(nanos - now)
    } else {
        at - std::time::Duration::from_nanos(now - nanos)
    }
}

/// Waits for `span`, or less if a signal arrives.
pub fn pause(span: Duration) {
    let timeout =
        nix::sys::time::TimeSpec::from_duration(std::time::Duration::from_nanos(span.as_nanos()));
    let _ = nix::poll::ppoll(&mut [], Some(timeout), None);
}

//! The state that the threads of a run share, and the addresses of the flows.

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};
use units::{Duration, Instant};

use emulator::monotonic_nanos;

/// Networks of the flows' addresses: flow `i` has host number `i + 1` in both.
pub(crate) const SENDERS: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 78, 0, 0), 16);
pub(crate) const RECEIVERS: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 79, 0, 0), 16);
/// The port of the receivers.
pub(crate) const PORT: u16 = 5077;

/// The longest wait before a thread checks whether the run is over.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_millis(20);

/// The address of a flow in one of the networks.
pub(crate) fn address(network: (Ipv4Addr, u8), flow: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(network.0) + flow + 1)
}

/// The flow to which an address of the senders belongs.
pub(crate) fn flow_of(address: Ipv4Addr) -> Option<u32> {
    u32::from(address).checked_sub(u32::from(SENDERS.0) + 1)
}

/// No time yet.
const NEVER: u64 = u64::MAX;

/// The state of a flow while it runs.
#[derive(Debug)]
pub(crate) struct Progress {
    delivered: AtomicU64,
    /// Deliveries not yet asked for: an observation is evaluated later than its time.
    deliveries: Mutex<Deliveries>,
    finished: AtomicU64,
    over: AtomicBool,
}

/// Bytes that the receiving application had received in order over time, from the last time asked
/// for.
#[derive(Debug, Default)]
struct Deliveries {
    then: u64,
    since: VecDeque<(Instant, u64)>,
}

impl Progress {
    /// The receiving application has received `bytes`, which is everything if `all` is true.
    pub(crate) fn deliver(&self, bytes: u64, all: bool, now: Instant) {
        self.delivered.store(bytes, Ordering::Relaxed);
        let mut deliveries = self
            .deliveries
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        deliveries.since.push_back((now, bytes));
        drop(deliveries);
        if all {
            self.finished.store(now.as_nanos(), Ordering::Release);
        }
    }

    /// Bytes that the receiving application has received in order.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// The bytes that it had received at `then`. Successive times must not decrease.
    pub(crate) fn delivered_at(&self, then: Instant) -> u64 {
        let mut deliveries = self
            .deliveries
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        while let Some(&(at, bytes)) = deliveries.since.front()
            && at <= then
        {
            deliveries.then = bytes;
            deliveries.since.pop_front();
        }
        deliveries.then
    }

    /// When it had received everything.
    pub(crate) fn finished(&self) -> Option<Instant> {
        match self.finished.load(Ordering::Acquire) {
            NEVER => None,
            nanos => Some(Instant::from_nanos(nanos)),
        }
    }

    /// Nothing more is sent.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }
}

/// The state that the threads of a run share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// CLOCK_MONOTONIC when the run began, in nanoseconds.
    zero: u64,
    pub(crate) flows: Vec<Progress>,
    over: AtomicBool,
    failure: Mutex<Option<(String, io::Error)>>,
}

impl Shared {
    pub(crate) fn new(zero: u64, flows: usize) -> Self {
        let progress = || Progress {
            delivered: AtomicU64::new(0),
            deliveries: Mutex::default(),
            finished: AtomicU64::new(NEVER),
            over: AtomicBool::new(false),
        };
        Self {
            zero,
            flows: std::iter::repeat_with(progress).take(flows).collect(),
            over: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }

    /// Time since the run began; zero before.
    pub(crate) fn now(&self) -> Instant {
        Instant::from_nanos(monotonic_nanos().saturating_sub(self.zero))
    }

    /// Time since the run began at an instant of CLOCK_MONOTONIC.
    pub(crate) const fn since_zero(&self, monotonic: Instant) -> Instant {
        Instant::from_nanos(monotonic.as_nanos().saturating_sub(self.zero))
    }

    /// Sleeps until `instant`.
    pub(crate) fn wait_until(&self, instant: Instant) {
        let nanos = self.zero.saturating_add(instant.as_nanos());
        let until = TimeSpec::from_duration(std::time::Duration::from_nanos(nanos));
        // A signal may end it early, which does no harm.
        let _ = clock_nanosleep(
            ClockId::CLOCK_MONOTONIC,
            ClockNanosleepFlags::TIMER_ABSTIME,
            &until,
        );
    }

    /// Ends the run for all threads.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// A failure of something that the run needs, which ends the run. The first failure is
    /// reported.
    pub(crate) fn fail(&self, what: &str, error: io::Error) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert_with(|| (what.to_owned(), error));
        drop(failure);
        self.end();
    }

    pub(crate) fn failure(self) -> Option<(String, io::Error)> {
        self.failure
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deliveries_are_known_for_past_times() {
        let at = Instant::from_millis;
        let shared = Shared::new(0, 1);
        let progress = &shared.flows[0];
        for (time, bytes) in [(10, 100), (12, 300), (20, 700)] {
            progress.deliver(bytes, false, at(time));
        }
        assert_eq!(progress.delivered(), 700);
        let then = [9, 10, 11, 12, 19, 25].map(|time| progress.delivered_at(at(time)));
        assert_eq!(then, [0, 100, 100, 300, 300, 700]);
    }
}

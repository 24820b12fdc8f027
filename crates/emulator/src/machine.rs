//! What the machine did during a run, apart from the emulator's own thread. A processor that stands
//! still also stops what runs on it, possibly the TCP of a host.
//!
//! A virtual machine loses a processor for some milliseconds now and then. The thread that moves
//! packets notices this only on its own processor.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use units::{Duration, Instant};

use crate::clock::{self, Clock, ThreadClock};
use crate::schedule;

/// The release of the running kernel.
#[must_use]
pub fn release() -> Option<String> {
    let found = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    Some(found.trim().to_owned())
}

/// How often a watch thread wakes up.
const PERIOD: Duration = Duration::from_millis(1);

/// A thread on each processor with priority over all others but the emulator's. It measures for how
/// long it could not run.
pub(crate) struct Watch {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Option<Duration>>>,
}

impl Watch {
    /// Starts watching, from time zero of `clock`. The thread of `emulator` moves the packets.
    pub(crate) fn start<T>(clock: Clock, emulator: &JoinHandle<T>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
        let processors = (0..CpuSet::count()).filter(|&at| allowed.is_set(at) == Ok(true));
        let threads = processors
            .filter_map(|processor| {
                let (stop, emulator) = (stop.clone(), ThreadClock::of(emulator)?);
                thread::Builder::new()
                    .name("slowstart-watch".to_owned())
                    .spawn(move || watch(processor, clock, &emulator, &stop))
                    .ok()
            })
            .collect();
        Self { stop, threads }
    }

    /// The longest time for which a processor stood still; `None` where it is unknown. To be called
    /// before the emulator's thread is joined.
    pub(crate) fn stop(self) -> Option<Duration> {
        self.stop.store(true, Ordering::Relaxed);
        let longest = self.threads.into_iter().map(|thread| thread.join().ok()?);
        longest.collect::<Option<Vec<_>>>()?.into_iter().max()
    }
}

fn watch(
    processor: usize,
    clock: Clock,
    emulator: &ThreadClock,
    stop: &AtomicBool,
) -> Option<Duration> {
    let mut only = CpuSet::new();
    only.set(processor).ok()?;
    sched_setaffinity(Pid::from_raw(0), &only).ok()?;
    schedule::go_first().ok()?;
    let mut longest = Duration::ZERO;
    while !stop.load(Ordering::Relaxed) {
        let (from, worked) = (clock.now(), emulator.now());
        clock::pause(PERIOD);
        let until = clock.now();
        if from > Instant::ZERO {
            // The emulator's thread has deadlines, so it preempts this one on any processor.
            let worked = emulator.now().saturating_sub(worked);
            let late = until.saturating_since(from).saturating_sub(PERIOD);
            longest = longest.max(late.saturating_sub(worked));
        }
    }
    Some(longest)
}

/// Time of all processors, in ticks, from /proc/stat: total, idle, stolen by a hypervisor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processors([u64; 3]);

impl Processors {
    pub(crate) fn now() -> Option<Self> {
        let text = std::fs::read_to_string("/proc/stat").ok()?;
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line
            .split_ascii_whitespace()
            .filter_map(|column| column.parse().ok())
            .collect();
        // user nice system idle iowait irq softirq steal; guest time is in user already.
        let all = ticks.iter().take(8).sum();
        Some(Self([all, ticks.get(3)? + ticks.get(4)?, *ticks.get(7)?]))
    }

    /// The idle and the stolen fraction of all time between the two.
    pub(crate) fn fractions(
        before: Option<Self>,
        after: Option<Self>,
    ) -> (Option<f64>, Option<f64>) {
        let (Some(Self(before)), Some(Self(after))) = (before, after) else {
            return (None, None);
        };
        let [all, idle, stolen] = [0, 1, 2].map(|at| after[at].saturating_sub(before[at]));
        let fraction = |part: u64| (all > 0).then(|| part as f64 / all as f64);
        (fraction(idle), fraction(stolen))
    }
}

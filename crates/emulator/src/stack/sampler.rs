//! The one who looks on: asks the kernel about each open connection once per period, and ends a
//! flow when all is acknowledged or its time is over.
//!
//! Deadlines are absolute, so that looks do not drift; a look that comes too late is not made up
//! for.

use std::fs::File;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use measure::FlowTrace;
use nix::sys::prctl;
use units::{Duration, Instant};

use super::hosts::News;
use super::info::{self, HyStartCounters, Info};
use super::observe::{Look, Observer};
use super::plan::Plan;
use super::shared::Shared;
use super::sys;

/// A flow that was opened.
pub(super) struct Watched {
    pub(super) flow: u32,
    pub(super) observer: Observer,
    /// When it was over.
    pub(super) end: Instant,
    stream: Option<Arc<TcpStream>>,
    stop: Instant,
}

/// What was seen of all flows.
pub(super) struct Seen {
    /// In the order in which they opened.
    pub(super) flows: Vec<Watched>,
    /// When the last flow was over.
    pub(super) end: Instant,
    /// The longest time from one look to the next.
    pub(super) longest_gap: Duration,
    pub(super) cancelled: bool,
}

/// How to look.
pub(super) struct Looking<'a> {
    pub(super) plan: &'a Plan,
    pub(super) period: Duration,
    pub(super) traces: bool,
    /// /proc/net/netstat of the senders' namespace.
    pub(super) counters: File,
}

/// Looks until all flows are over.
pub(super) fn watch(
    shared: &Shared,
    mut looking: Looking<'_>,
    news: mpsc::Receiver<News>,
    cancel: &AtomicBool,
) -> Seen {
    let _ = prctl::set_timerslack(1);
    sys::prefer_thread();
    let plan = looking.plan;
    let end = plan.end;
    let mut counted = info::hystart_counters(&mut looking.counters).unwrap_or_default();
    let mut seen = Seen {
        flows: Vec::with_capacity(plan.flows.len()),
        end,
        longest_gap: Duration::ZERO,
        cancelled: false,
    };
    let mut unfinished = plan.flows.len();
    shared.wait_until(Instant::ZERO);
    let mut next = shared.now();
    let mut last = next;
    while !shared.is_over() {
        next += looking.period;
        let now = shared.now();
        if next < now {
            next = now;
        }
        shared.wait_until(next);
        let now = shared.now();
        seen.longest_gap = seen.longest_gap.max(now.saturating_since(last));
        last = now;
        if cancel.load(Ordering::Relaxed) {
            seen.cancelled = true;
            break;
        }
        for happened in news.try_iter() {
            match happened {
                News::Failed { flow } => {
                    shared.flows[flow as usize].end();
                    unfinished -= 1;
                }
                News::Open {
                    flow,
                    stream,
                    start,
                    now,
                    first,
                } => {
                    let plan = &plan.flows[flow as usize];
                    let trace = looking.traces.then(|| FlowTrace {
                        flow,
                        algorithm: plan.algorithm.clone(),
                        ..FlowTrace::default()
                    });
                    let times = (start, now);
                    seen.flows.push(Watched {
                        flow,
                        observer: Observer::new(plan.kind, plan.size, times, first, trace),
                        end: Instant::MAX,
                        stream: Some(stream),
                        stop: plan.stop,
                    });
                }
            }
        }
        for watched in &mut seen.flows {
            let stopped = now >= watched.stop.min(end);
            if look_at(
                shared,
                watched,
                stopped,
                &mut looking.counters,
                &mut counted,
            ) {
                unfinished -= 1;
            }
        }
        if unfinished == 0 || now >= end {
            seen.end = now.min(end);
            break;
        }
    }
    shared.end();
    for watched in &mut seen.flows {
        watched.end = watched.end.min(seen.end);
        watched.stream = None;
    }
    seen
}

/// Looks at one flow; true if it is over with this look.
fn look_at(
    shared: &Shared,
    watched: &mut Watched,
    stopped: bool,
    netstat: &mut File,
    counted: &mut HyStartCounters,
) -> bool {
    let Some(stream) = &watched.stream else {
        return false;
    };
    let progress = &shared.flows[watched.flow as usize];
    let info = match Info::read(stream) {
        Ok(info) => info,
        Err(error) => {
            shared.fail("reading TCP_INFO", error);
            return false;
        }
    };
    let now = shared.now();
    let look = Look {
        now,
        info,
        rtt: watched.observer.invert_smoothed(&info),
        delivered: progress.delivered(),
    };
    let mut since_last = || {
        let now = info::hystart_counters(netstat).unwrap_or(*counted);
        let before = std::mem::replace(counted, now);
        let rise = |now: (u64, u64), before: (u64, u64)| {
            (
                now.0.saturating_sub(before.0),
                now.1.saturating_sub(before.1),
            )
        };
        HyStartCounters {
            train: rise(now.train, before.train),
            delay: rise(now.delay, before.delay),
        }
    };
    watched.observer.take(&look, &mut since_last);
    // The receiving application may be a moment behind its kernel.
    let complete = watched.observer.is_complete() && progress.finished().is_some();
    if !complete && !stopped {
        return false;
    }
    watched.end = now;
    progress.end();
    if !complete {
        // What is unsent is not sent any more. If it does not work, the end of the socket does it.
        let _ = sys::abort(stream);
    }
    watched.stream = None;
    true
}

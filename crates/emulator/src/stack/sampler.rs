//! The one who looks on: once per period takes what the probe in the kernel has told, or else asks
//! the kernel about each open connection, and ends a flow when all is acknowledged or its time is
//! over.
//!
//! Deadlines are absolute, so that looks do not drift; a look that comes too late is not made up
//! for.

use std::fs::File;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use kernel::{Guest, GuestExit, Probe, Row};
use measure::FlowTrace;
use nix::sys::prctl;
use units::{Duration, Instant};

use super::acks::Acks;
use super::hosts::News;
use super::info::{self, HyStartCounters, Info};
use super::observe::Observer;
use super::plan::{FlowPlan, Plan};
use super::shared::{self, Shared};
use super::sys;

/// A flow that was opened.
pub(super) struct Watched {
    pub(super) flow: u32,
    pub(super) observer: Observer,
    /// When it was over.
    pub(super) end: Instant,
    /// What its congestion control concluded its exit from.
    pub(super) decision: Option<GuestExit>,
    /// When a passive one concluded it, and acted on nothing.
    pub(super) passive: Option<Instant>,
    /// What TCP_INFO tells of it beside the probe.
    pub(super) beside: Option<Observer>,
    acks: Acks,
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
    /// Looks at all flows: rows of the probe that were segments, or TCP_INFO.
    pub(super) looks: u64,
    /// Rows of the probe that were lost.
    pub(super) lost: u64,
    pub(super) cancelled: bool,
}

/// How to look.
pub(super) struct Looking<'a> {
    pub(super) plan: &'a Plan,
    pub(super) period: Duration,
    pub(super) traces: bool,
    /// Ask TCP_INFO beside the probe.
    pub(super) cross_check: bool,
    /// /proc/net/netstat of the senders' namespace.
    pub(super) counters: File,
    /// Tells of each ACK; otherwise TCP_INFO is asked.
    pub(super) probe: Option<Probe>,
    /// Tell of their exits.
    pub(super) guests: Vec<Guest>,
}

/// What was told between two looks, and of which flow.
enum Told {
    Row(Row),
    Exit(GuestExit),
}

/// Looks until all flows are over.
pub(super) fn watch(
    shared: &Shared,
    looking: Looking<'_>,
    news: mpsc::Receiver<News>,
    cancel: &AtomicBool,
) -> Seen {
    let _ = prctl::set_timerslack(1);
    sys::prefer_thread();
    let end = looking.plan.end;
    let mut watcher = Watcher::new(shared, looking, end);
    shared.wait_until(Instant::ZERO);
    let mut next = shared.now();
    let mut last = next;
    while !shared.is_over() {
        next += watcher.looking.period;
        let now = shared.now();
        if next < now {
            next = now;
        }
        shared.wait_until(next);
        let now = shared.now();
        let gap = now.saturating_since(last);
        watcher.seen.longest_gap = watcher.seen.longest_gap.max(gap);
        last = now;
        if cancel.load(Ordering::Relaxed) {
            watcher.seen.cancelled = true;
            break;
        }
        watcher.turn(now, &news);
        if watcher.unfinished == 0 || now >= end {
            watcher.seen.end = now.min(end);
            break;
        }
    }
    shared.end();
    watcher.finish()
}

struct Watcher<'a> {
    shared: &'a Shared,
    looking: Looking<'a>,
    seen: Seen,
    unfinished: usize,
    /// When the run is over at the latest.
    end: Instant,
    counted: HyStartCounters,
    counted_beside: HyStartCounters,
    told: Vec<(Instant, u32, Told)>,
}

impl<'a> Watcher<'a> {
    fn new(shared: &'a Shared, mut looking: Looking<'a>, end: Instant) -> Self {
        let flows = looking.plan.flows.len();
        let counted = info::hystart_counters(&mut looking.counters).unwrap_or_default();
        Self {
            shared,
            unfinished: flows,
            end,
            counted,
            counted_beside: counted,
            told: Vec::new(),
            seen: Seen {
                flows: Vec::with_capacity(flows),
                end,
                longest_gap: Duration::ZERO,
                looks: 0,
                lost: 0,
                cancelled: false,
            },
            looking,
        }
    }

    /// One look at everything.
    fn turn(&mut self, now: Instant, news: &mpsc::Receiver<News>) {
        // Whoever is told of was opened before.
        self.listen();
        for happened in news.try_iter() {
            match happened {
                News::Failed { flow } => {
                    self.shared.flows[flow as usize].end();
                    self.unfinished -= 1;
                }
                News::Open {
                    flow,
                    stream,
                    start,
                    now,
                    first,
                } => {
                    let plan = &self.looking.plan.flows[flow as usize];
                    let trace = self.looking.traces.then(|| FlowTrace {
                        flow,
                        algorithm: plan.algorithm.clone(),
                        ..FlowTrace::default()
                    });
                    let times = (start, now);
                    let beside = self.looking.cross_check && self.looking.probe.is_some();
                    self.seen.flows.push(Watched {
                        flow,
                        observer: Observer::new(plan.kind, plan.size, times, first, trace),
                        end: Instant::MAX,
                        decision: None,
                        passive: None,
                        beside: beside
                            .then(|| Observer::new(plan.kind, plan.size, times, first, None)),
                        acks: Acks::new(first.srtt_us),
                        stream: Some(stream),
                        stop: plan.stop,
                    });
                }
            }
        }
        self.conclude();
        for at in 0..self.seen.flows.len() {
            self.look_at(at, now);
        }
    }

    /// Takes what was told. Rows come first: the exit that a row shows is told by then.
    fn listen(&mut self) {
        let (shared, told) = (self.shared, &mut self.told);
        let mut note = |source, at, what| {
            if let Some(flow) = shared::flow_of(source) {
                told.push((shared.since_zero(at), flow, what));
            }
        };
        if let Some(probe) = &mut self.looking.probe {
            probe.take(&mut |row| note(row.source, row.at, Told::Row(row)));
        }
        for guest in &mut self.looking.guests {
            guest.take_exits(&mut |exit| note(exit.source, exit.at, Told::Exit(exit)));
        }
    }

    /// Gives each flow what was told of it, in the order in which it happened.
    fn conclude(&mut self) {
        self.told.sort_by_key(|(at, _, _)| *at);
        for (at, flow, what) in std::mem::take(&mut self.told) {
            // What a closing connection tells is not the flow's any more.
            let open = |there: &&mut Watched| there.flow == flow && there.stream.is_some();
            let Some(watched) = self.seen.flows.iter_mut().find(open) else {
                continue;
            };
            match what {
                Told::Exit(exit) if is_passive(&self.looking.plan.flows[flow as usize]) => {
                    watched.passive.get_or_insert(at);
                    watched.decision.get_or_insert(exit);
                }
                Told::Exit(exit) => {
                    if watched.observer.note_exit(at, exit.cwnd, exit.reason) {
                        watched.decision = Some(exit);
                    }
                }
                Told::Row(row) => {
                    if let Some(mut look) = watched.acks.look(&row, at) {
                        look.delivered = self.shared.flows[flow as usize].delivered_at(look.now);
                        self.seen.looks += u64::from(look.acks);
                        let mut counters =
                            since_last(&mut self.looking.counters, &mut self.counted);
                        watched.observer.take(&look, &mut counters);
                    }
                }
            }
        }
    }

    /// Looks at one flow, and ends it if it is over.
    fn look_at(&mut self, at: usize, now: Instant) {
        let Some(stream) = self.seen.flows[at].stream.clone() else {
            return;
        };
        let Some(info) = self.read(&stream) else {
            return;
        };
        let watched = &mut self.seen.flows[at];
        let progress = &self.shared.flows[watched.flow as usize];
        if let Some(beside) = &mut watched.beside {
            let look = beside.look(self.shared.now(), info, progress.delivered());
            let mut counters = since_last(&mut self.looking.counters, &mut self.counted_beside);
            beside.take(&look, &mut counters);
        }
        let stopped = now >= watched.stop.min(self.end);
        // The receiving application may be a moment behind its kernel.
        let complete = watched.observer.is_complete(&info) && progress.finished().is_some();
        let over = complete || stopped;
        let look = if self.looking.probe.is_none() {
            let now = self.shared.now();
            Some(watched.observer.look(now, info, progress.delivered_at(now)))
        } else if over {
            watched.end = self.shared.now();
            self.listen();
            self.conclude();
            let Some(info) = self.read(&stream) else {
                return;
            };
            let watched = &mut self.seen.flows[at];
            watched.acks.last(info, progress.delivered())
        } else {
            None
        };
        if self.looking.probe.is_none() && !self.looking.guests.is_empty() {
            // An exit that this look shows was told before it.
            self.listen();
            self.conclude();
        }
        let watched = &mut self.seen.flows[at];
        if let Some(look) = look {
            self.seen.looks += 1;
            let mut counters = since_last(&mut self.looking.counters, &mut self.counted);
            watched.observer.take(&look, &mut counters);
        }
        if !over {
            return;
        }
        watched.end = watched.end.min(self.shared.now());
        progress.end();
        if !complete {
            // What is unsent is not sent any more. If it does not work, the end of the socket does
            // it.
            let _ = sys::abort(&stream);
        }
        watched.stream = None;
        self.unfinished -= 1;
    }

    fn read(&self, stream: &TcpStream) -> Option<Info> {
        let read = Info::read(stream);
        read.map_err(|error| self.shared.fail("reading TCP_INFO", error))
            .ok()
    }

    fn finish(mut self) -> Seen {
        for watched in &mut self.seen.flows {
            watched.end = watched.end.min(self.seen.end);
            watched.stream = None;
        }
        self.seen.lost = self.looking.probe.as_ref().map_or(0, Probe::lost);
        self.seen
    }
}

/// Whether what decides for a flow is to act on nothing.
fn is_passive(flow: &FlowPlan) -> bool {
    flow.guest.is_some_and(|wanted| wanted.options.passive)
}

/// Tells what HyStart has counted since it was last asked.
fn since_last<'a>(
    netstat: &'a mut File,
    counted: &'a mut HyStartCounters,
) -> impl FnMut() -> HyStartCounters + 'a {
    move || {
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
    }
}

//! The sampler: once per period it takes what the probe in the kernel has reported, or else polls
//! the kernel for each open connection. It ends a flow when all data are acknowledged or its time
//! is over.
//!
//! Deadlines are absolute, so that polls do not drift; a late poll is not made up for.

use std::fs::File;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use kernel::{Guest, GuestExit, Probe, Row};
use measure::FlowTrace;
use nix::sys::prctl;
use units::{Duration, Instant};

use crate::acks::Acks;
use crate::hosts::News;
use crate::info::{self, HyStartCounters, Info};
use crate::observe::Observer;
use crate::plan::{FlowPlan, Plan};
use crate::shared::{self, Shared};
use crate::sys;

/// A flow that was opened.
pub(crate) struct Watched {
    pub(crate) flow: u32,
    pub(crate) observer: Observer,
    /// When it ended.
    pub(crate) end: Instant,
    /// The exit decision of its congestion control, with the evidence.
    pub(crate) decision: Option<GuestExit>,
    /// When a passive congestion control decided, without acting on it.
    pub(crate) passive: Option<Instant>,
    /// What TCP_INFO shows of it beside the probe.
    pub(crate) beside: Option<Observer>,
    acks: Acks,
    stream: Option<Arc<TcpStream>>,
    stop: Instant,
}

/// Observations of all flows.
pub(crate) struct Seen {
    /// In the order in which they opened.
    pub(crate) flows: Vec<Watched>,
    /// When the last flow ended.
    pub(crate) end: Instant,
    /// The longest time between two polls.
    pub(crate) longest_gap: Duration,
    /// Observations of all flows: rows of the probe for segments, or polls of TCP_INFO.
    pub(crate) observations: u64,
    /// Rows of the probe that were lost.
    pub(crate) lost: u64,
    pub(crate) cancelled: bool,
}

/// How to observe.
pub(crate) struct Setup<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) period: Duration,
    pub(crate) traces: bool,
    /// Poll TCP_INFO beside the probe.
    pub(crate) cross_check: bool,
    /// /proc/net/netstat of the senders' namespace.
    pub(crate) counters: File,
    /// Reports each ACK; without it TCP_INFO is polled.
    pub(crate) probe: Option<Probe>,
    /// Report their exits.
    pub(crate) guests: Vec<Guest>,
}

/// An event that the kernel reported between two polls.
enum Event {
    Row(Row),
    Exit(GuestExit),
}

/// Polls until all flows are over.
pub(crate) fn watch(
    shared: &Shared,
    setup: Setup<'_>,
    news: mpsc::Receiver<News>,
    cancel: &AtomicBool,
) -> Seen {
    let _ = prctl::set_timerslack(1);
    emulator::prefer_reader();
    let end = setup.plan.end;
    let mut watcher = Watcher::new(shared, setup, end);
    shared.wait_until(Instant::ZERO);
    let mut next = shared.now();
    let mut last = next;
    while !shared.is_over() {
        next += watcher.setup.period;
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
        // Traffic alone lasts as long as the run.
        let finished = watcher.unfinished == 0 && !watcher.setup.plan.flows.is_empty();
        if finished || now >= end {
            watcher.seen.end = now.min(end);
            break;
        }
    }
    shared.end();
    watcher.finish()
}

struct Watcher<'a> {
    shared: &'a Shared,
    setup: Setup<'a>,
    seen: Seen,
    unfinished: usize,
    /// Latest end of the run.
    end: Instant,
    counted: HyStartCounters,
    counted_beside: HyStartCounters,
    events: Vec<(Instant, u32, Event)>,
}

impl<'a> Watcher<'a> {
    fn new(shared: &'a Shared, mut setup: Setup<'a>, end: Instant) -> Self {
        let flows = setup.plan.flows.len();
        let counted = info::hystart_counters(&mut setup.counters).unwrap_or_default();
        Self {
            shared,
            unfinished: flows,
            end,
            counted,
            counted_beside: counted,
            events: Vec::new(),
            seen: Seen {
                flows: Vec::with_capacity(flows),
                end,
                longest_gap: Duration::ZERO,
                observations: 0,
                lost: 0,
                cancelled: false,
            },
            setup,
        }
    }

    /// One poll of everything.
    fn turn(&mut self, now: Instant, news: &mpsc::Receiver<News>) {
        // Flows were opened before the kernel reports events of them.
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
                    let plan = &self.setup.plan.flows[flow as usize];
                    let trace = self.setup.traces.then(|| FlowTrace {
                        flow,
                        name: plan.name.clone(),
                        algorithm: plan.algorithm.clone(),
                        ..FlowTrace::default()
                    });
                    let times = (start, now);
                    let beside = self.setup.cross_check && self.setup.probe.is_some();
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
            self.observe_flow(at, now);
        }
    }

    /// Takes the reported events. Rows come first: the exit that a row shows is reported by then.
    fn listen(&mut self) {
        let (shared, events) = (self.shared, &mut self.events);
        let mut note = |source, at, what| {
            if let Some(flow) = shared::flow_of(source) {
                events.push((shared.since_zero(at), flow, what));
            }
        };
        if let Some(probe) = &mut self.setup.probe {
            probe.take(&mut |row| note(row.source, row.at, Event::Row(row)));
        }
        for guest in &mut self.setup.guests {
            guest.take_exits(&mut |exit| note(exit.source, exit.at, Event::Exit(exit)));
        }
    }

    /// Gives each flow its events, in the order in which they happened.
    fn conclude(&mut self) {
        self.events.sort_by_key(|(at, _, _)| *at);
        for (at, flow, what) in std::mem::take(&mut self.events) {
            // Events of a closing connection no longer belong to the flow.
            let open = |there: &&mut Watched| there.flow == flow && there.stream.is_some();
            let Some(watched) = self.seen.flows.iter_mut().find(open) else {
                continue;
            };
            match what {
                Event::Exit(exit) if is_passive(&self.setup.plan.flows[flow as usize]) => {
                    watched.passive.get_or_insert(at);
                    watched.decision.get_or_insert(exit);
                }
                Event::Exit(exit) => {
                    if watched.observer.note_exit(at, exit.cwnd, exit.reason) {
                        watched.decision = Some(exit);
                    }
                }
                Event::Row(row) => {
                    if let Some(mut observation) = watched.acks.observe(&row, at) {
                        observation.delivered =
                            self.shared.flows[flow as usize].delivered_at(observation.now);
                        self.seen.observations += u64::from(observation.acks);
                        let mut counters = since_last(&mut self.setup.counters, &mut self.counted);
                        watched.observer.take(&observation, &mut counters);
                    }
                }
            }
        }
    }

    /// Observes one flow, and ends it if it is over.
    fn observe_flow(&mut self, at: usize, now: Instant) {
        let Some(stream) = self.seen.flows[at].stream.clone() else {
            return;
        };
        let Some(info) = self.read(&stream) else {
            return;
        };
        let watched = &mut self.seen.flows[at];
        let progress = &self.shared.flows[watched.flow as usize];
        if let Some(beside) = &mut watched.beside {
            let observation = beside.observe(self.shared.now(), info, progress.delivered());
            let mut counters = since_last(&mut self.setup.counters, &mut self.counted_beside);
            beside.take(&observation, &mut counters);
        }
        let stopped = now >= watched.stop.min(self.end);
        // The receiving application may be a moment behind its kernel.
        let complete = watched.observer.is_complete(&info) && progress.finished().is_some();
        let over = complete || stopped;
        let observation = if self.setup.probe.is_none() {
            let now = self.shared.now();
            Some(
                watched
                    .observer
                    .observe(now, info, progress.delivered_at(now)),
            )
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
        if self.setup.probe.is_none() && !self.setup.guests.is_empty() {
            // An exit that this observation shows was reported before it.
            self.listen();
            self.conclude();
        }
        let watched = &mut self.seen.flows[at];
        if let Some(observation) = observation {
            self.seen.observations += 1;
            let mut counters = since_last(&mut self.setup.counters, &mut self.counted);
            watched.observer.take(&observation, &mut counters);
        }
        if !over {
            return;
        }
        watched.end = watched.end.min(self.shared.now());
        progress.end();
        if !complete {
            // Unsent data are not sent any more. If this fails, closing the socket has the same
            // effect.
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
        self.seen.lost = self.setup.probe.as_ref().map_or(0, Probe::lost);
        self.seen
    }
}

/// Whether the exit decision of a flow is to have no effect.
fn is_passive(flow: &FlowPlan) -> bool {
    flow.guest.is_some_and(|wanted| wanted.options.passive)
}

/// What HyStart has counted since the last call.
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

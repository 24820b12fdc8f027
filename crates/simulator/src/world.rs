//! The loop: who acts next, and what that does to the others.

use std::sync::atomic::{AtomicBool, Ordering};

use engine::{Calendar, Component, Streams};
use measure::{RunResult, Stack, Traces};
use network::{
    Discipline, Ecn, Element, LinkConfig, LossConfig, Packet, QueueConfig, QueueLimit, Service,
};
use rand_core::RngCore;
use scenario::Scenario;
use tcp::segment::{DataSegment, Segment};
use units::{Duration, Instant};

use crate::flow::{FlowState, LazyTimer, Placement};
use crate::links::{Carried, LinkState};
use crate::{RunError, RunOptions, RunOutput};

/// How many events pass between two looks at the cancel flag.
const EVENTS_BETWEEN_LOOKS: u32 = 4096;

/// The path's links come first.
const FORWARD: u32 = 0;
const REVERSE: u32 = 1;

/// Whom a component of the calendar stands for.
#[derive(Clone, Copy)]
enum Owner {
    Link(u32),
    Application(u32),
    SenderTimer(u32),
    ReceiverTimer(u32),
}

/// One run.
pub struct World<'a> {
    scenario: &'a Scenario,
    run: u32,
    seed: u64,
    streams: Streams,
    traced: bool,
    calendar: Calendar,
    owners: Vec<Owner>,
    links: Vec<LinkState>,
    flows: Vec<FlowState<'a>>,
    /// Flows that run and whose capacity point is not known yet.
    unresolved: Vec<u32>,
    unfinished: usize,
    now: Instant,
}

impl<'a> World<'a> {
    pub fn new(scenario: &'a Scenario, run: u32, options: &RunOptions) -> Self {
        let seed = scenario.seed.wrapping_add(u64::from(run));
        let mut world = Self {
            scenario,
            run,
            seed,
            streams: Streams::new(seed),
            traced: options.traces,
            calendar: Calendar::default(),
            owners: Vec::new(),
            links: Vec::new(),
            flows: Vec::new(),
            unresolved: Vec::new(),
            unfinished: scenario.flows.len(),
            now: Instant::ZERO,
        };
        world.add_link(&scenario.path.forward, "path.forward");
        world.add_link(&scenario.path.reverse, "path.reverse");
        for (index, config) in scenario.flows.iter().enumerate() {
            let index = index as u32;
            let mut reverse = vec![REVERSE];
            if config.extra_delay > Duration::ZERO {
                reverse.push(world.links.len() as u32);
                world.add_link(&access(index, config.extra_delay * 2), "");
            }
            let place = Placement {
                index,
                forward: FORWARD,
                reverse,
                application: world.component(Owner::Application(index)),
                sender_timer: world.component(Owner::SenderTimer(index)),
                receiver_timer: world.component(Owner::ReceiverTimer(index)),
            };
            world
                .calendar
                .schedule(place.application, Some(config.start));
            world.flows.push(FlowState::new(scenario, config, place));
        }
        world
    }

    fn component(&mut self, owner: Owner) -> Component {
        self.owners.push(owner);
        self.calendar.add()
    }

    fn add_link(&mut self, config: &LinkConfig, stream: &str) {
        self.owners.push(Owner::Link(self.links.len() as u32));
        let rng = self.streams.stream(stream);
        self.links
            .push(LinkState::new(config, rng, &mut self.calendar, self.traced));
    }

    /// Runs to the end.
    pub fn run(mut self, cancel: &AtomicBool) -> Result<RunOutput, RunError> {
        let limit = self.scenario.duration.unwrap_or(self.scenario.time_limit);
        let end = Instant::ZERO + limit.min(self.scenario.time_limit);
        let mut events = 0u32;
        while let Some((at, component)) = self.calendar.next() {
            if at > end {
                self.now = end;
                break;
            }
            events = events.wrapping_add(1);
            if events % EVENTS_BETWEEN_LOOKS == 0 && cancel.load(Ordering::Relaxed) {
                return Err(RunError::Cancelled);
            }
            self.now = at;
            match self.owners[component.index()] {
                Owner::Link(link) => self.link_acts(link),
                Owner::SenderTimer(flow) => self.sender_timer(flow),
                Owner::ReceiverTimer(flow) => self.receiver_timer(flow),
                Owner::Application(flow) => self.application(flow),
            }
            if self.unfinished == 0 {
                break;
            }
        }
        Ok(self.output())
    }

    fn link_acts(&mut self, index: u32) {
        let now = self.now;
        while let Some((_, packet)) = self.links[index as usize].link.pop(now) {
            self.arrive(packet);
        }
        self.links[index as usize].reschedule(&mut self.calendar);
    }

    /// A packet leaves a link: on to the next of its route, or to its host.
    #[inline]
    fn arrive(&mut self, mut packet: Packet<Carried>) {
        let flow = packet.flow;
        let state = &self.flows[flow as usize];
        let route: &[u32] = match packet.payload.segment {
            Segment::Data(_) => &state.forward,
            Segment::Ack(_) => &state.reverse,
        };
        packet.payload.hop += 1;
        if let Some(&link) = route.get(usize::from(packet.payload.hop)) {
            self.offer(link, packet);
            return;
        }
        match packet.payload.segment {
            Segment::Data(data) => self.data_arrives(flow, &data, packet.payload.sent, packet.ecn),
            Segment::Ack(ack) => {
                let now = self.now;
                let Some(endpoints) = self.flows[flow as usize].endpoints.as_deref_mut() else {
                    return;
                };
                endpoints.handle_ack(now, &ack);
                if endpoints.sender.is_complete() {
                    self.finish(flow);
                } else {
                    self.transmit(flow);
                }
            }
        }
    }

    #[inline]
    fn data_arrives(&mut self, flow: u32, data: &DataSegment, sent: Instant, ecn: Ecn) {
        let now = self.now;
        let Some(endpoints) = self.flows[flow as usize].endpoints.as_deref_mut() else {
            return;
        };
        if !data.syn {
            endpoints.probe.on_arrival(now, now.saturating_since(sent));
        }
        endpoints.receiver.handle_data(now, data, ecn == Ecn::Ce);
        self.acknowledge(flow);
    }

    /// Sends the ACKs that a receiver wants sent, and keeps its timer.
    #[inline]
    fn acknowledge(&mut self, flow: u32) {
        let now = self.now;
        loop {
            let state = &mut self.flows[flow as usize];
            let Some(endpoints) = state.endpoints.as_deref_mut() else {
                return;
            };
            let Some(ack) = endpoints.receiver.poll_ack(now) else {
                let deadline = endpoints.receiver.poll_timeout();
                keep(&mut state.receiver_timer, deadline, &mut self.calendar);
                return;
            };
            let link = state.reverse[0];
            self.offer(link, packet(flow, Segment::Ack(ack), now, Ecn::NotEct));
        }
    }

    /// Sends what a sender may send, and keeps its timer.
    #[inline]
    fn transmit(&mut self, flow: u32) {
        let now = self.now;
        loop {
            let state = &mut self.flows[flow as usize];
            let Some(endpoints) = state.endpoints.as_deref_mut() else {
                return;
            };
            let Some(data) = endpoints.sender.poll_transmit(now) else {
                let deadline = endpoints.sender.poll_timeout();
                keep(&mut state.sender_timer, deadline, &mut self.calendar);
                return;
            };
            let ecn = if state.config.ecn && !data.syn {
                Ecn::Ect
            } else {
                Ecn::NotEct
            };
            let link = state.forward[0];
            self.offer(link, packet(flow, Segment::Data(data), now, ecn));
        }
    }

    /// Offers a packet to a link, and notes a drop and the end of a busy period.
    #[inline]
    fn offer(&mut self, link: u32, packet: Packet<Carried>) {
        let now = self.now;
        let state = &mut self.links[link as usize];
        let accepted = state.push(now, packet, &mut self.calendar);
        if link == FORWARD
            && let Some(period) = state.ended_busy_period()
        {
            self.note_busy(period);
        }
        if !accepted
            && let Segment::Data(data) = packet.payload.segment
            && !data.syn
            && let Some(endpoints) = self.flows[packet.flow as usize].endpoints.as_deref_mut()
        {
            endpoints.probe.on_drop(now);
        }
    }

    /// The bottleneck was busy from `period.0` to `period.1`: capacity for whom it lasted one base RTT.
    fn note_busy(&mut self, period: (Instant, Instant)) {
        let flows = &mut self.flows;
        self.unresolved.retain(|&flow| {
            let state = &mut flows[flow as usize];
            resolve(state, period);
            state
                .endpoints
                .as_ref()
                .is_some_and(|endpoints| endpoints.capacity.is_none())
        });
    }

    fn sender_timer(&mut self, flow: u32) {
        let now = self.now;
        let state = &mut self.flows[flow as usize];
        state.sender_timer.scheduled = None;
        self.calendar.schedule(state.sender_timer.component, None);
        let Some(endpoints) = state.endpoints.as_deref_mut() else {
            return;
        };
        if endpoints
            .sender
            .poll_timeout()
            .is_some_and(|deadline| deadline <= now)
        {
            endpoints.sender.handle_timeout(now);
        }
        self.transmit(flow);
    }

    fn receiver_timer(&mut self, flow: u32) {
        let now = self.now;
        let state = &mut self.flows[flow as usize];
        state.receiver_timer.scheduled = None;
        self.calendar.schedule(state.receiver_timer.component, None);
        let Some(endpoints) = state.endpoints.as_deref_mut() else {
            return;
        };
        if endpoints
            .receiver
            .poll_timeout()
            .is_some_and(|deadline| deadline <= now)
        {
            endpoints.receiver.handle_timeout(now);
        }
        self.acknowledge(flow);
    }

    fn application(&mut self, flow: u32) {
        let now = self.now;
        let state = &mut self.flows[flow as usize];
        if state.result.is_some() {
            self.calendar.schedule(state.application, None);
            return;
        }
        let next = if state.endpoints.is_none() {
            self.unresolved.push(flow);
            let seed = self.streams.stream(&format!("flow {flow}")).next_u64();
            state.start(now, seed, self.traced)
        } else if state.stop_time().is_some_and(|stop| now >= stop) {
            self.finish(flow);
            return;
        } else {
            state.application_acts(now)
        };
        self.calendar
            .schedule(self.flows[flow as usize].application, next);
        self.transmit(flow);
    }

    fn finish(&mut self, flow: u32) {
        let now = self.now;
        let link = &self.links[FORWARD as usize].link;
        let state = &mut self.flows[flow as usize];
        if let Some(since) = link.busy_since(now) {
            resolve(state, (since, now.min(link.busy_until())));
        }
        state.finish(now);
        for component in [
            state.application,
            state.sender_timer.component,
            state.receiver_timer.component,
        ] {
            self.calendar.schedule(component, None);
        }
        self.unresolved.retain(|&other| other != flow);
        self.unfinished -= 1;
    }

    fn output(mut self) -> RunOutput {
        for flow in 0..self.flows.len() as u32 {
            if self.flows[flow as usize].endpoints.is_some() {
                self.finish(flow);
            }
            self.flows[flow as usize].finish_unstarted();
        }
        let now = self.now;
        let mut traces = self.traced.then(|| Traces {
            run: self.run,
            path: self.scenario.path.name.clone(),
            ..Traces::default()
        });
        let mut result = RunResult {
            run: self.run,
            seed: self.seed,
            stack: Stack::Simulated,
            path: self.scenario.path.name.clone(),
            end_s: now.as_secs_f64(),
            flows: Vec::with_capacity(self.flows.len()),
            links: Vec::with_capacity(2),
        };
        for (index, link) in self.links.into_iter().enumerate() {
            let counters = link.link.counters();
            debug_assert_eq!(
                counters.packets_in,
                counters.packets_out + counters.dropped() + link.link.held(),
                "a link lost count of its packets"
            );
            // A flow's own access is a delay, not a link of the path.
            if index <= REVERSE as usize {
                let (summary, trace) = link.finish(now);
                result.links.push(summary);
                if let (Some(traces), Some(trace)) = (&mut traces, trace) {
                    traces.links.push(trace);
                }
            }
        }
        for flow in self.flows {
            result.flows.extend(flow.result);
            if let (Some(traces), Some(trace)) = (&mut traces, flow.trace) {
                traces.flows.push(trace);
            }
        }
        RunOutput { result, traces }
    }
}

/// A busy period resolves a flow's capacity if it lasts one base RTT while the flow runs.
fn resolve(state: &mut FlowState<'_>, (since, until): (Instant, Instant)) {
    let start = since.max(state.config.start);
    let lasted = until.saturating_since(start) >= state.base_rtt;
    if let Some(endpoints) = state.endpoints.as_deref_mut()
        && endpoints.capacity.is_none()
        && lasted
    {
        endpoints.capacity = Some(start);
    }
}

/// Moves a timer if its deadline comes earlier than what the calendar holds.
#[inline]
fn keep(timer: &mut LazyTimer, deadline: Option<Instant>, calendar: &mut Calendar) {
    if let Some(deadline) = deadline
        && timer.scheduled.is_none_or(|scheduled| deadline < scheduled)
    {
        timer.scheduled = Some(deadline);
        calendar.schedule(timer.component, Some(deadline));
    }
}

fn packet(flow: u32, segment: Segment, sent: Instant, ecn: Ecn) -> Packet<Carried> {
    Packet {
        size: segment.wire_size(),
        flow,
        ecn,
        payload: Carried {
            segment,
            sent,
            hop: 0,
        },
    }
}

/// The delay of a flow's own access, both directions at once.
fn access(flow: u32, delay: Duration) -> LinkConfig {
    LinkConfig {
        name: format!("access {flow}"),
        service: Service::Unlimited,
        overhead: 0,
        queue: QueueConfig {
            limit: QueueLimit::Unlimited,
            discipline: Discipline::DropTail,
        },
        loss: LossConfig::None,
        delay,
        jitter: None,
    }
}

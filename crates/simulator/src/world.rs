//! The loop: who acts next, and what that does to the others.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use congestion::PathMemory;
use engine::{Calendar, Component};
use measure::{LinkResult, RunResult, Stack, Traces};
use network::router::Help;
use network::{Ecn, Element, Link, LinkConfig, LossConfig, Packet, Service, Streams};
use rand_core::RngCore;
use scenario::{Application, Scenario};
use tcp::segment::{AckSegment, DataSegment};
use units::feedback::HOST_TTL;
use units::{Duration, Instant};

use crate::carried::{Aside, Carried, HANDSHAKE_ACK_SIZE, ack_size, data_size};
use crate::flow::{Endpoints, FlowState, Placement};
use crate::flows::{Flows, OTHER};
use crate::links::LinkState;
use crate::traffic::{Source, Totals};
use crate::{RunError, RunOptions, RunOutput};

mod others;

use others::Datagrams;

/// How many events pass between two looks at the cancel flag.
const EVENTS_BETWEEN_LOOKS: u32 = 4096;

/// The path's links come first.
const FORWARD: u32 = 0;
const REVERSE: u32 = 1;
/// No link.
const NOWHERE: u32 = u32::MAX;
/// The names of their streams.
const PATH_FORWARD: &str = "path.forward";
const PATH_REVERSE: &str = "path.reverse";

/// Whom a component of the calendar stands for.
#[derive(Clone, Copy)]
enum Owner {
    Link(u32),
    /// Opens connections when their time has come.
    Arrivals,
    /// A flow that runs; its place goes to another when it is over.
    Flow(u32),
    /// Opens the connections of other traffic.
    Source(u32),
    /// Sends datagrams.
    Datagrams(u32),
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
    flows: Flows<'a>,
    arrivals: Component,
    /// Flows that have not started, the next one last.
    waiting: Vec<u32>,
    /// Places in the calendar that no flow has.
    free: Vec<Component>,
    aside: Aside,
    /// The last of the routers before the forward link; [`REVERSE`] where there is none. They are the
    /// links between.
    last_router: u32,
    /// Whether senders have devices of their own, or applications that pause.
    attends: bool,
    /// Where data of the senders, and ACKs to them, enter the path.
    first: u32,
    /// Links of the ways back, by what accesses add to them.
    ways_back: BTreeMap<Duration, [u32; 2]>,
    /// Other traffic, and what it came to.
    sources: Vec<Source<'a>>,
    totals: Vec<Totals>,
    datagrams: Vec<Datagrams>,
    /// Time to live of what arrives at a receiver.
    ttl: u8,
    /// Flows that run and whose capacity point is not known yet.
    unresolved: Vec<u32>,
    /// What finished flows left for later ones, by the length of their access: equal ones are the
    /// same path.
    memories: BTreeMap<Duration, PathMemory>,
    unfinished: usize,
    now: Instant,
}

impl<'a> World<'a> {
    pub fn new(scenario: &'a Scenario, run: u32, options: &RunOptions) -> Self {
        let seed = scenario.seed.wrapping_add(u64::from(run));
        let mut calendar = Calendar::default();
        let arrivals = calendar.add();
        let mut world = Self {
            scenario,
            run,
            seed,
            streams: Streams::new(seed),
            traced: options.traces,
            calendar,
            owners: vec![Owner::Arrivals],
            links: Vec::new(),
            flows: Flows::new(scenario.flows.len(), others::nobody(scenario)),
            arrivals,
            waiting: (0..scenario.flows.len() as u32).collect(),
            free: Vec::new(),
            aside: Aside::default(),
            last_router: REVERSE,
            attends: scenario.flows.iter().any(|flow| {
                let pauses = matches!(flow.application, Application::Pausing { .. });
                pauses || flow.small_queue.is_some()
            }),
            first: FORWARD,
            ways_back: BTreeMap::from([(Duration::ZERO, [REVERSE, REVERSE])]),
            sources: Vec::new(),
            totals: Vec::new(),
            datagrams: Vec::new(),
            ttl: HOST_TTL,
            unresolved: Vec::new(),
            memories: BTreeMap::new(),
            unfinished: scenario.flows.len(),
            now: Instant::ZERO,
        };
        let path = &scenario.path;
        let rngs = [PATH_FORWARD, PATH_REVERSE].map(|name| world.streams.stream(name));
        let mut links = Link::pair([&path.forward, &path.reverse], rngs);
        for link in &mut links {
            link.filter_acks(Carried::plain_ack);
        }
        let [forward, reverse] = links;
        world.place_link(forward, &path.forward, &path.help, PATH_FORWARD, true);
        world.place_link(reverse, &path.reverse, &Help::None, PATH_REVERSE, true);
        world.ttl -= 1;
        for router in &path.routers {
            let stream = format!("path.{}", router.link.name);
            world.last_router = world.add_link(&router.link, &router.help, &stream, true);
            world.ttl = world.ttl.wrapping_sub(1);
        }
        if !path.routers.is_empty() {
            world.first = REVERSE + 1;
        }
        for (index, config) in scenario.flows.iter().enumerate() {
            let place = Placement {
                index: index as u32,
                data: [world.first, FORWARD],
                acks: world.way_back(config.extra_delay),
                start: config.start,
                size: config.size,
                stop: config.duration.map(|duration| config.start + duration),
                extra_delay: config.extra_delay,
            };
            let state = FlowState::new(scenario, config, place);
            world.flows.measured.push(state);
        }
        let start = |flow: &u32| scenario.flows[*flow as usize].start;
        world
            .waiting
            .sort_by(|a, b| start(b).cmp(&start(a)).then(b.cmp(a)));
        world
            .calendar
            .schedule(arrivals, world.waiting.last().map(start));
        world.add_traffic();
        world
    }

    fn add_link(&mut self, config: &LinkConfig, help: &Help, stream: &str, traced: bool) -> u32 {
        let link = Link::new(config, self.streams.stream(stream));
        self.place_link(link, config, help, stream, traced)
    }

    fn place_link(
        &mut self,
        link: Link<Carried>,
        config: &LinkConfig,
        help: &Help,
        stream: &str,
        traced: bool,
    ) -> u32 {
        let index = self.links.len() as u32;
        self.owners.push(Owner::Link(index));
        let rng = self.streams.stream(stream);
        let traced = traced && self.traced;
        self.links.push(LinkState::new(
            link,
            config,
            help,
            &rng,
            &mut self.calendar,
            traced,
        ));
        index
    }

    /// The first and last link of the way back from an access that is `extra_delay` away, in each
    /// direction. Flows whose accesses are equally long share one delay line: nobody in it waits for another.
    fn way_back(&mut self, extra_delay: Duration) -> [u32; 2] {
        let extra = extra_delay * 2;
        if let Some(&links) = self.ways_back.get(&extra) {
            return links;
        }
        let links = self.longer_way_back(&self.scenario.path.reverse, extra);
        self.ways_back.insert(extra, links);
        links
    }

    /// The first and last link of a way back that is `delay` longer than the path's. Where the
    /// path's is nothing but a delay, one line does for both.
    fn longer_way_back(&mut self, shared: &LinkConfig, delay: Duration) -> [u32; 2] {
        let mut own = LinkConfig {
            service: Service::Unlimited,
            loss: LossConfig::None,
            jitter: None,
            delay,
            ..shared.clone()
        };
        let is_only_delay = LinkConfig {
            delay: shared.delay,
            ..own.clone()
        } == *shared;
        if is_only_delay {
            own.delay = shared.delay + delay;
            let link = self.add_link(&own, &Help::None, "", false);
            [link, link]
        } else {
            [REVERSE, self.add_link(&own, &Help::None, "", false)]
        }
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
            if events.is_multiple_of(EVENTS_BETWEEN_LOOKS) && cancel.load(Ordering::Relaxed) {
                return Err(RunError::Cancelled);
            }
            self.now = at;
            match self.owners[component.index()] {
                Owner::Link(link) => self.link_acts(link),
                Owner::Arrivals => self.arrivals(),
                Owner::Flow(flow) => self.flow_acts(flow),
                Owner::Source(source) => self.source_acts(source),
                Owner::Datagrams(datagrams) => self.datagrams_act(datagrams),
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
            self.arrive(index, packet);
            let next = self.links[index as usize].link.next_event();
            if next.is_none_or(|next| next > now) {
                break;
            }
        }
        let state = &mut self.links[index as usize];
        state.reschedule(&mut self.calendar);
        if state.link.has_dropped() {
            self.note_dropped(index);
        }
    }

    /// A packet leaves a link: on to the last of its route, or to its host.
    #[inline]
    fn arrive(&mut self, link: u32, packet: Packet<Carried>) {
        let flow = packet.flow;
        if !packet.payload.is_ack() {
            if link == FORWARD {
                self.data_arrives(flow, packet.payload, packet.ecn);
            } else if self.is_router(link) {
                self.offer(self.after_router(link), packet);
            } else {
                self.data_comes_back(link, packet);
            }
            return;
        }
        let last = self.flows.get_mut(flow).acks[1];
        if link == last {
            self.ack_arrives(flow, packet.payload);
        } else if self.is_router(link) {
            self.offer(self.after_router(link), packet);
        } else if last == NOWHERE {
            self.discard(packet);
        } else {
            self.offer(last, packet);
        }
    }

    const fn is_router(&self, link: u32) -> bool {
        REVERSE < link && link <= self.last_router
    }

    const fn after_router(&self, link: u32) -> u32 {
        if link == self.last_router {
            FORWARD
        } else {
            link + 1
        }
    }

    #[inline(always)]
    fn data_arrives(&mut self, flow: u32, carried: Carried, ecn: Ecn) {
        if carried.is_handshake_ack() {
            return;
        }
        let now = self.now;
        if carried.has_feedback() {
            self.hand_over(flow, carried);
        }
        let Some(endpoints) = self.endpoints(flow) else {
            return self.note_unclaimed(flow, &carried);
        };
        if carried.has_payload() {
            endpoints
                .probe
                .on_arrival(now, now.saturating_since(carried.sent));
        }
        endpoints
            .receiver
            .handle_data(now, &carried.into_data(), ecn == Ecn::Ce);
        if endpoints.receiver.has_ack() {
            self.acknowledge(flow);
        }
        self.keep(flow);
    }

    #[inline]
    fn ack_arrives(&mut self, flow: u32, carried: Carried) {
        if carried.has_feedback() {
            self.hand_over(flow, carried);
        }
        let ack = carried.into_ack(&mut self.aside);
        let now = self.now;
        let Some(endpoints) = self.endpoints(flow) else {
            return;
        };
        endpoints.handle_ack(now, &ack);
        if endpoints.sender.is_complete() {
            self.finish(flow);
        } else {
            if ack.syn {
                self.offer_handshake_ack(flow);
            }
            self.transmit(flow);
            self.keep(flow);
        }
    }

    #[cold]
    fn offer_handshake_ack(&mut self, flow: u32) {
        let packet = Packet {
            size: HANDSHAKE_ACK_SIZE,
            flow,
            ecn: Ecn::NotEct,
            payload: Carried::handshake_ack(self.now),
        };
        let link = self.flows.get_mut(flow).data[0];
        self.offer(link, packet);
    }

    /// Sends the ACKs that a receiver wants sent.
    #[inline]
    fn acknowledge(&mut self, flow: u32) {
        let now = self.now;
        loop {
            let state = self.flows.get_mut(flow);
            let Some(endpoints) = state.endpoints.as_deref_mut() else {
                return;
            };
            let Some(ack) = endpoints.receiver.poll_ack(now) else {
                return;
            };
            let link = state.acks[0];
            let asks_routers = state.asks_routers;
            let mut packet = Packet {
                size: ack_size(&ack),
                flow,
                ecn: Ecn::NotEct,
                payload: Carried::ack(&ack, now, &mut self.aside),
            };
            if asks_routers {
                self.echo(&ack, &mut packet);
            }
            self.offer(link, packet);
        }
    }

    /// Sends what a sender may send.
    #[inline]
    fn transmit(&mut self, flow: u32) {
        let now = self.now;
        if self.attends {
            self.settle_device(flow);
        }
        loop {
            let state = self.flows.get_mut(flow);
            let Some(endpoints) = state.endpoints.as_deref_mut() else {
                return;
            };
            let Some(data) = endpoints.sender.poll_transmit(now) else {
                if self.attends {
                    self.attend(flow);
                }
                return;
            };
            let ecn = if state.config.ecn && !data.syn {
                Ecn::Ect
            } else {
                Ecn::NotEct
            };
            let link = state.data[0];
            let asks_routers = state.asks_routers;
            let mut packet = Packet {
                size: data_size(&data),
                flow,
                ecn,
                payload: Carried::data(&data, now),
            };
            if asks_routers {
                self.ask(&data, &mut packet);
            }
            let accepted = self.offer(link, packet);
            if self.attends && accepted {
                self.fill_device(flow, link, packet.size);
            }
        }
    }

    /// Sees to it that the flow is called at the first of its deadlines. The entry only moves when
    /// a deadline comes before it; one that comes too early looks again.
    #[inline]
    fn keep(&mut self, flow: u32) {
        let state = self.flows.get_mut(flow);
        let deadline = state.deadline();
        if deadline < state.scheduled
            && let Some(component) = state.component
        {
            state.scheduled = deadline;
            self.calendar.schedule(component, Some(deadline));
        }
    }

    /// Offers a packet to a link, and notes a drop and the end of a busy period.
    #[inline]
    fn offer(&mut self, link: u32, packet: Packet<Carried>) -> bool {
        let now = self.now;
        let state = &mut self.links[link as usize];
        if state.router.is_some() {
            consult(state, &packet, now, &mut self.aside);
        }
        let accepted = state.push(now, packet, &mut self.calendar);
        let late = state.link.has_dropped();
        if link == FORWARD
            && let Some(period) = state.ended_busy_period()
        {
            self.note_busy(period);
        }
        if !accepted {
            self.note_drop(now, packet);
        }
        if late {
            self.note_dropped(link);
        }
        accepted
    }

    /// Notes what a link has dropped of what it had accepted.
    #[cold]
    #[inline(never)]
    fn note_dropped(&mut self, link: u32) {
        while let Some(dropped) = self.links[link as usize].link.take_dropped() {
            self.note_drop(dropped.at, dropped.packet);
        }
    }

    /// A packet that has arrived brings its host what routers wrote.
    #[cold]
    #[inline(never)]
    fn hand_over(&mut self, flow: u32, mut carried: Carried) {
        let (now, ttl) = (self.now, self.ttl);
        let (Some(feedback), Some(endpoints)) =
            (carried.detach(&mut self.aside), self.endpoints(flow))
        else {
            return;
        };
        if carried.is_ack() {
            endpoints.sender.handle_feedback(now, feedback);
        } else {
            endpoints.receiver.handle_feedback(&feedback, ttl);
        }
    }

    /// Lets a packet of `data` carry what its sender asks routers.
    #[cold]
    #[inline(never)]
    fn ask(&mut self, data: &DataSegment, packet: &mut Packet<Carried>) {
        let now = self.now;
        let endpoints = self.endpoints(packet.flow);
        let feedback = endpoints.and_then(|endpoints| endpoints.sender.feedback(now, data));
        packet.size += packet.payload.attach(feedback, &mut self.aside);
    }

    /// The same for an ACK and what its receiver was told.
    #[cold]
    #[inline(never)]
    fn echo(&mut self, ack: &AckSegment, packet: &mut Packet<Carried>) {
        let endpoints = self.endpoints(packet.flow);
        let feedback = endpoints.and_then(|endpoints| endpoints.receiver.feedback(ack));
        packet.size += packet.payload.attach(feedback, &mut self.aside);
    }

    /// Tells a sender what its device has sent.
    #[cold]
    #[inline(never)]
    fn settle_device(&mut self, flow: u32) {
        let now = self.now;
        let state = self.flows.get_mut(flow);
        if let (Some(device), Some(endpoints)) = (&mut state.device, &mut state.endpoints) {
            endpoints.sender.handle_transmitted(device.take_sent(now));
        }
    }

    /// Sees to it that a sender is called that waits for its device, and an application that pauses.
    #[cold]
    #[inline(never)]
    fn attend(&mut self, flow: u32) {
        let state = self.flows.get_mut(flow);
        state.pause(self.now);
        let deadline = state.device_deadline();
        if let Some(component) = state.component
            && deadline < state.scheduled
        {
            state.scheduled = deadline;
            self.calendar.schedule(component, Some(deadline));
        }
    }

    /// A packet of `bytes` is in its sender's device, the link `link`.
    #[cold]
    #[inline(never)]
    fn fill_device(&mut self, flow: u32, link: u32, bytes: u32) {
        let leaves = self.links[link as usize].link.busy_until();
        let state = self.flows.get_mut(flow);
        if let (Some(device), Some(endpoints)) = (&mut state.device, &mut state.endpoints)
            && leaves > self.now
        {
            device.put(leaves, bytes);
            endpoints.sender.handle_queued(u64::from(bytes));
        }
    }

    #[cold]
    fn note_drop(&mut self, at: Instant, packet: Packet<Carried>) {
        self.discard(packet);
        if packet.payload.has_payload() {
            match self.endpoints(packet.flow) {
                Some(endpoints) => endpoints.probe.on_drop(at),
                None => self.note_lost_datagram(packet.flow),
            }
        }
    }

    /// Nobody takes a packet: what lies aside for it goes.
    #[cold]
    fn discard(&mut self, mut packet: Packet<Carried>) {
        let _ = packet.payload.detach(&mut self.aside);
        if packet.payload.is_ack() {
            let _ = packet.payload.into_ack(&mut self.aside);
        }
    }

    #[inline(always)]
    fn endpoints(&mut self, flow: u32) -> Option<&mut Endpoints> {
        self.flows.get_mut(flow).endpoints.as_deref_mut()
    }

    /// The bottleneck was busy from `period.0` to `period.1`: capacity for whom it lasted one base RTT.
    fn note_busy(&mut self, period: (Instant, Instant)) {
        let flows = &mut self.flows.measured;
        self.unresolved.retain(|&flow| {
            let state = &mut flows[flow as usize];
            resolve(state, period);
            state
                .endpoints
                .as_ref()
                .is_some_and(|endpoints| endpoints.capacity.is_none())
        });
    }

    /// Opens the connections whose time has come.
    fn arrivals(&mut self) {
        let now = self.now;
        while let Some(&flow) = self.waiting.last()
            && self.flows.measured[flow as usize].start <= now
        {
            self.waiting.pop();
            let component = self.component(Owner::Flow(flow));
            let seed = self.streams.stream(&format!("flow {flow}")).next_u64();
            let state = &mut self.flows.measured[flow as usize];
            state.component = Some(component);
            let memory = self.memories.entry(state.extra_delay).or_default();
            state.start(now, seed, memory, self.traced);
            self.unresolved.push(flow);
            self.transmit(flow);
            self.keep(flow);
        }
        let next = self
            .waiting
            .last()
            .map(|&flow| self.flows.measured[flow as usize].start);
        self.calendar.schedule(self.arrivals, next);
    }

    /// A place in the calendar.
    fn component(&mut self, owner: Owner) -> Component {
        let component = self.free.pop().unwrap_or_else(|| {
            self.owners.push(Owner::Arrivals);
            self.calendar.add()
        });
        self.owners[component.index()] = owner;
        component
    }

    /// A flow's entry is due: its application, its sender's timers, its receiver's.
    fn flow_acts(&mut self, flow: u32) {
        let now = self.now;
        let state = self.flows.get_mut(flow);
        if state.application <= now {
            if now >= state.stop {
                self.finish(flow);
                return;
            }
            state.application_acts(now);
        }
        if let Some(endpoints) = state.endpoints.as_deref_mut() {
            if endpoints
                .sender
                .poll_timeout()
                .is_some_and(|deadline| deadline <= now)
            {
                endpoints.sender.handle_timeout(now);
            }
            if endpoints
                .receiver
                .poll_timeout()
                .is_some_and(|deadline| deadline <= now)
            {
                endpoints.receiver.handle_timeout(now);
                self.acknowledge(flow);
            }
            self.transmit(flow);
        }
        let state = self.flows.get_mut(flow);
        state.scheduled = state.deadline().min(state.device_deadline());
        if let Some(component) = state.component {
            self.calendar.schedule(component, Some(state.scheduled));
        }
    }

    fn finish(&mut self, flow: u32) {
        if flow & OTHER != 0 {
            return self.finish_other(flow);
        }
        let now = self.now;
        let link = &mut self.links[FORWARD as usize].link;
        link.advance(now);
        let state = &mut self.flows.measured[flow as usize];
        if let Some(period) = link.last_busy_period(now) {
            resolve(state, period);
        }
        let memory = self.memories.entry(state.extra_delay).or_default();
        state.finish(now, memory);
        if let Some(component) = state.component.take() {
            self.calendar.schedule(component, None);
            self.free.push(component);
        }
        self.unresolved.retain(|&other| other != flow);
        self.unfinished -= 1;
    }

    fn output(mut self) -> RunOutput {
        for link in 0..self.links.len() as u32 {
            self.links[link as usize].link.advance(self.now);
            self.note_dropped(link);
        }
        for flow in 0..self.flows.measured.len() as u32 {
            if self.flows.measured[flow as usize].endpoints.is_some() {
                self.finish(flow);
            }
            self.flows.measured[flow as usize].finish_unstarted();
        }
        let traffic = self.finish_traffic();
        let path = &self.scenario.path.name;
        let mut traces = self.traced.then(|| Traces {
            run: self.run,
            path: path.clone(),
            ..Traces::default()
        });
        let mut result = RunResult {
            run: self.run,
            seed: self.seed,
            stack: Stack::Simulated,
            path: path.clone(),
            end_s: self.now.as_secs_f64(),
            flows: self
                .flows
                .measured
                .iter_mut()
                .filter_map(|flow| flow.result.take())
                .collect(),
            links: Vec::with_capacity(2),
            traffic,
        };
        let ways_back: Vec<_> = self.ways_back.values().map(|links| links[0]).collect();
        for (index, link) in self.links.into_iter().enumerate() {
            let (summary, trace) = link.finish(self.now);
            if index <= self.last_router as usize {
                result.links.push(summary);
            } else if ways_back.contains(&(index as u32)) {
                // A way back of its own stands for the path's: its packets count there.
                let LinkResult {
                    packets,
                    drops,
                    marks,
                    ..
                } = summary;
                result.links[REVERSE as usize].packets += packets;
                result.links[REVERSE as usize].drops += drops;
                result.links[REVERSE as usize].marks += marks;
            }
            if let (Some(traces), Some(trace)) = (&mut traces, trace) {
                traces.links.push(trace);
            }
        }
        if let Some(traces) = &mut traces {
            let mut flows = self.flows.measured.into_iter();
            traces
                .flows
                .extend(flows.by_ref().filter_map(|flow| flow.trace));
        }
        RunOutput { result, traces }
    }
}

/// The router in front of a link sees a packet.
#[cold]
#[inline(never)]
fn consult(state: &mut LinkState, packet: &Packet<Carried>, now: Instant, aside: &mut Aside) {
    if let Some(router) = &mut state.router {
        let size = u64::from(packet.size) + u64::from(state.link.overhead());
        let feedback = packet.payload.feedback_mut(aside);
        router.on_arrival(now, size, &mut state.link, feedback);
    }
}

/// A busy period resolves a flow's capacity if it lasts one base RTT while the flow sends data. (A
/// SYN that waits for its turn on a slow trace is no sign of capacity.)
fn resolve(state: &mut FlowState<'_>, (since, until): (Instant, Instant)) {
    if let Some(endpoints) = state.endpoints.as_deref_mut()
        && endpoints.capacity.is_none()
        && let Some(began) = endpoints.began
    {
        let start = since.max(began);
        if until.saturating_since(start) >= state.base_rtt {
            endpoints.capacity = Some(start);
        }
    }
}

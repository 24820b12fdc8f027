//! A simulated flow: its two endpoints while it runs, and its result afterwards.

mod ahead;
mod endpoints;
mod exit;
mod foreign;
mod leg;
mod pool;
mod result;
mod schedule;
mod startup;
#[cfg(test)]
mod tests;

pub use endpoints::{Endpoints, Stock};
pub use exit::exit_result;
pub use foreign::{CLIENT, Foreign, Leaving};

use std::collections::VecDeque;

use congestion::{Algorithm, PathMemory};
use engine::Component;
use measure::{FlowResult, FlowTrace};
use network::Period;
use scenario::{Application, Flow};
use units::{Bytes, Duration, Instant};
use workload::Side as Party;

use crate::agenda::{LEFT, Side};
use crate::connection::{Member, Others};
use crate::conversation::Conversation;
use crate::fabric::Way;
use crate::routes::Hop;
use crate::traffic::Totals;

pub use leg::Arrived;
pub use pool::Pool;

/// What is fixed of a flow: its configuration, routes and schedule.
///
/// The routes, which packets read, are at the beginning; see [`FlowState`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Placement<'a> {
    /// The route of its data.
    pub data: Hop,
    /// The route of its ACKs.
    pub acks: Hop,
    /// Payload of a full segment; the option of TCP has 16 bits (RFC 9293, section 3.2).
    pub smss: u16,
    /// Whether its data takes the path's reverse direction.
    pub reverse: bool,
    /// Whether its data is ECN-capable, as its configuration has it, which lies elsewhere.
    pub ecn: bool,
    /// Its number in results.
    pub index: u32,
    pub config: &'a Flow,
    /// When its SYN leaves.
    pub start: Instant,
    pub size: Option<Bytes>,
    /// When its application stops, even with unsent data.
    pub stop: Instant,
    /// One-way delay of its own access.
    pub extra_delay: Duration,
    /// Propagation there and back on its route, with all access delays.
    pub base_rtt: Duration,
    /// The source of a flow of background traffic.
    pub source: u32,
}

impl<'a> Placement<'a> {
    /// A flow that starts at `start`, and ends when its sender has closed.
    pub fn new(config: &'a Flow, way: Way, start: Instant) -> Self {
        Self {
            config,
            index: 0,
            data: way.data,
            acks: way.acks,
            source: 0,
            reverse: false,
            start,
            size: None,
            stop: Instant::MAX,
            smss: u16::try_from(config.mss.get()).unwrap_or(u16::MAX),
            ecn: config.ecn,
            extra_delay: Duration::ZERO,
            base_rtt: way.base_rtt,
        }
    }

    /// With segments of `smss` bytes, if the connection has its own.
    #[must_use]
    pub fn with_smss(self, smss: Option<u32>) -> Self {
        let own = smss.map(|smss| u16::try_from(smss).unwrap_or(u16::MAX));
        Self {
            smss: own.unwrap_or(self.smss),
            ..self
        }
    }
}

/// A flow before, during and after its transfer.
///
/// Where many flows run, none is in a cache. What a packet reads and writes therefore lies together in
/// the first 64 bytes, to which the routes at the beginning of `place` belong.
#[derive(Debug)]
#[repr(C)]
pub struct FlowState<'a> {
    endpoints: Option<Box<Endpoints>>,
    /// The time of the flow's calendar entry on each side, at or before its earliest deadline
    /// there.
    scheduled: [Instant; 2],
    /// When the application acts next.
    application: Instant,
    /// Its place in the calendars of flows while it runs.
    component: Option<Component>,
    /// The side of its sender, and that of its receiver.
    sender_side: Side,
    receiver_side: Side,
    /// Whether its packets carry router feedback.
    asks_routers: bool,
    /// The flows that take note of what arrives over it.
    others: Others,
    /// The flow of the other direction, if it is [`Others::Peer`].
    peer: u32,
    place: Placement<'a>,
    /// Its place in its connection, unless it is the only flow of that.
    member: Option<Box<Member>>,
    /// Its ends if its stack is not the simulated TCP. Its timers count as those of the application.
    foreign: Option<Box<Foreign>>,
    /// The application at the sender, if both sides write.
    conversation: Option<Box<Conversation>>,
    /// The sender's device queue, if TCP small queues limits the sender.
    device: Option<Box<Device>>,
    trace: Option<Box<FlowTrace>>,
}

const _: () = assert!(core::mem::offset_of!(FlowState<'static>, place) <= 48);

/// The sender's device: this sender's packets in the path's first link, as far as their departure
/// is known.
#[derive(Debug, Default)]
pub struct Device {
    /// Departure time and size of each packet.
    packets: VecDeque<(Instant, u32)>,
}

impl Device {
    /// Adds a packet that leaves at `leaves`.
    pub fn put(&mut self, leaves: Instant, bytes: u32) {
        let later = |packet: &&(Instant, u32)| packet.0 > leaves;
        let behind = self.packets.iter().rev().take_while(later).count();
        self.packets
            .insert(self.packets.len() - behind, (leaves, bytes));
    }

    /// Bytes that left by `now`, since the previous call.
    pub fn take_sent(&mut self, now: Instant) -> u64 {
        let mut bytes = 0;
        while let Some(&(leaves, size)) = self.packets.front()
            && leaves <= now
        {
            bytes += u64::from(size);
            self.packets.pop_front();
        }
        bytes
    }

    /// Departure time of the next packet.
    fn next(&self) -> Instant {
        self.packets
            .front()
            .map_or(Instant::MAX, |(leaves, _)| *leaves)
    }
}

impl<'a> FlowState<'a> {
    pub fn new(place: Placement<'a>) -> Self {
        Self {
            place,
            member: None,
            conversation: None,
            component: None,
            sender_side: LEFT,
            receiver_side: LEFT,
            asks_routers: false,
            others: Others::None,
            peer: 0,
            device: place.config.small_queue.map(|_| Box::default()),
            scheduled: [Instant::MAX; 2],
            application: place.start,
            endpoints: None,
            foreign: None,
            trace: None,
        }
    }

    #[inline(always)]
    pub const fn place(&self) -> &Placement<'a> {
        &self.place
    }

    /// Both ends of a running flow of the simulated TCP.
    #[inline(always)]
    pub fn endpoints(&self) -> Option<&Endpoints> {
        self.endpoints.as_deref()
    }

    #[inline(always)]
    pub fn endpoints_mut(&mut self) -> Option<&mut Endpoints> {
        self.endpoints.as_deref_mut()
    }

    /// Both ends of a running flow of another stack.
    #[inline(always)]
    pub fn foreign(&self) -> Option<&Foreign> {
        self.foreign.as_deref()
    }

    pub fn foreign_mut(&mut self) -> Option<&mut Foreign> {
        self.foreign.as_deref_mut()
    }

    /// Makes it a flow of another stack, with these ends.
    pub fn connect_foreign(&mut self, foreign: Foreign) {
        self.foreign = Some(Box::new(foreign));
    }

    /// The application at the sender, if both sides write.
    #[inline(always)]
    pub fn conversation(&self) -> Option<&Conversation> {
        self.conversation.as_deref()
    }

    pub fn conversation_mut(&mut self) -> Option<&mut Conversation> {
        self.conversation.as_deref_mut()
    }

    /// Makes both sides write, this one as `conversation` says.
    pub fn converse_as(&mut self, conversation: Box<Conversation>) {
        self.conversation = Some(conversation);
    }

    /// Whether its packets carry router feedback.
    #[inline(always)]
    pub const fn asks_routers(&self) -> bool {
        self.asks_routers
    }

    /// Whether TCP small queues limits its sender.
    pub const fn has_device(&self) -> bool {
        self.device.is_some()
    }

    pub fn device_mut(&mut self) -> Option<&mut Device> {
        self.device.as_deref_mut()
    }

    /// The sender's device and its owner, if TCP small queues limits the sender.
    pub fn device_and_endpoints(&mut self) -> Option<(&mut Device, &mut Endpoints)> {
        Some((self.device.as_deref_mut()?, self.endpoints.as_deref_mut()?))
    }

    /// What was recorded, once the flow is over.
    pub fn take_trace(&mut self) -> Option<FlowTrace> {
        self.trace.take().map(|trace| *trace)
    }

    /// Keeps what was recorded of a flow of another stack.
    pub fn keep_trace(&mut self, trace: Option<FlowTrace>) {
        self.trace = trace.map(Box::new);
    }

    /// Opens the connection, in the memory of one that is over if `pool` has one. `seed` is drawn
    /// if the algorithm draws random numbers, or the hosts have a tick.
    pub fn start(
        &mut self,
        now: Instant,
        seed: impl FnOnce() -> u64,
        memory: &mut PathMemory,
        traced: bool,
        is_plain: bool,
        pool: &mut Pool<'a>,
    ) {
        // A flow that does not read the memory does not keep others from using it.
        let reads = *memory != PathMemory::default() && self.place.config.algorithm.needs().memory;
        let lent = if reads {
            memory.lend()
        } else {
            PathMemory::default()
        };
        self.prepare(seed, lent, is_plain, pool);
        if traced && let Some(endpoints) = &mut self.endpoints {
            endpoints.trace = Some(Box::new(FlowTrace {
                flow: self.place.index,
                name: self.place.config.name.clone(),
                algorithm: self.place.config.algorithm.name().to_owned(),
                ..FlowTrace::default()
            }));
        }
        self.open(now);
    }

    /// Makes the endpoints of a connection that is not open.
    pub fn prepare(
        &mut self,
        seed: impl FnOnce() -> u64,
        memory: PathMemory,
        is_plain: bool,
        pool: &mut Pool<'a>,
    ) {
        let config = self.place.config;
        let draws = config.algorithm.draws() || !config.tick.is_zero();
        let seed = if draws { seed() } else { 0 };
        let mut endpoints = pool.open(config, self.place.smss.into(), seed);
        if self.sender_side != self.receiver_side {
            endpoints.probe.let_arrivals_lag();
        }
        if is_plain {
            endpoints.sender.forbid_shortcuts();
        }
        endpoints.sender.remember(memory);
        endpoints.unwritten = self.place.size.map_or(u64::MAX, Bytes::get);
        if self.conversation.is_some() {
            endpoints.sender.send_promptly();
        }
        if endpoints.sender.thins_acks() {
            endpoints.receiver.thin_acks();
        }
        // A proxy complies; the host behind the last leg may not.
        if let Some(misbehavior) = config.misbehavior
            && self.next().is_none()
        {
            endpoints.receiver.misbehave(misbehavior);
        }
        self.endpoints = Some(endpoints);
    }

    /// No result has what its probe measures. Call it before any segment arrives.
    pub fn omit_measurements(&mut self) {
        if let Some(endpoints) = &mut self.endpoints {
            endpoints.omit_measurements();
        }
    }

    /// Opens the connection: a SYN is due.
    pub fn open(&mut self, now: Instant) {
        if let Some(endpoints) = &mut self.endpoints {
            endpoints.sender.open(now);
            self.asks_routers = endpoints.sender.asks_routers();
        }
        self.application_acts(now);
    }

    /// Lets one of two applications that write to each other do what is due.
    #[cold]
    fn converse(&mut self, now: Instant) {
        let (Some(conversation), Some(endpoints)) = (&mut self.conversation, &mut self.endpoints)
        else {
            return;
        };
        let has_acted = conversation.act(now, &mut endpoints.sender);
        self.application = conversation.due();
        if has_acted {
            self.accept(now);
        }
    }

    /// Lets the application write the data that is due.
    pub fn application_acts(&mut self, now: Instant) {
        if self.conversation.is_some() {
            return self.converse(now);
        }
        let stop = self.place.stop;
        let Some(endpoints) = self.endpoints.as_deref_mut() else {
            return;
        };
        let (write, next) = match self.place.config.application {
            Application::Bulk => (endpoints.unwritten, Instant::MAX),
            Application::Periodic { write, every } => {
                (write.get().min(endpoints.unwritten), now + every)
            }
            Application::Pausing { write, .. } => {
                (write.get().min(endpoints.unwritten), Instant::MAX)
            }
        };
        endpoints.sender.write(now, write);
        if self.place.size.is_some() {
            endpoints.unwritten -= write;
        }
        self.application = if endpoints.unwritten == 0 {
            endpoints.sender.close();
            stop
        } else {
            next.min(stop)
        };
    }

    /// Schedules the next write of a pausing application once all written data is acknowledged.
    pub fn pause(&mut self, now: Instant) {
        if let Application::Pausing { pause, .. } = self.place.config.application
            && self.application == self.place.stop
            && let Some(endpoints) = self.endpoints.as_deref()
            && endpoints.unwritten > 0
            && endpoints.sender.is_established()
            && endpoints.sender.snd_una() == endpoints.sender.written()
        {
            self.application = self.place.stop.min(now + pause);
        }
    }

    /// Notes a busy period of the bottleneck, which may be its capacity point.
    pub fn note_busy(&mut self, period: Period) {
        let base_rtt = self.place.base_rtt;
        if let Some(endpoints) = &mut self.endpoints {
            endpoints.note_busy(period, base_rtt);
        }
        if let Some(foreign) = &mut self.foreign {
            foreign.note_busy(period, base_rtt);
        }
    }

    /// Whether it runs and its capacity point is not known.
    pub fn awaits_capacity(&self) -> bool {
        match (&self.endpoints, &self.foreign) {
            (Some(endpoints), _) => !endpoints.has_capacity(),
            (None, Some(foreign)) => !foreign.has_capacity(),
            (None, None) => false,
        }
    }

    /// Lets congestion controls that act as its own watch it; before it starts to send.
    pub fn watch(&mut self, algorithms: impl IntoIterator<Item = Algorithm>) {
        if let Some(endpoints) = &mut self.endpoints {
            endpoints.sender.watch(algorithms);
        }
    }

    /// The results of those that watched the flow, which ends now, as `watching` describes them.
    pub fn watched(
        &mut self,
        watching: &[&Flow],
        now: Instant,
        arrived: Option<Arrived>,
        pool: &mut Pool<'_>,
    ) -> Vec<FlowResult> {
        // None before the handshake is over.
        let decisions = self
            .endpoints
            .as_mut()
            .map(|it| it.sender.watched_decisions());
        let (Some(endpoints), Some(decisions)) = (&self.endpoints, decisions) else {
            return Vec::new();
        };
        let arrived = arrived.unwrap_or_else(|| endpoints.arrived());
        let watching = watching.iter().enumerate();
        let results = watching.map(|(place, config)| {
            let decision = decisions.get(place).copied().flatten();
            self.result_of(config, decision, endpoints, arrived, now, &mut pool.names)
        });
        results.collect()
    }

    /// Takes the ends of the flow, for [`Self::finish`].
    pub const fn take_endpoints(&mut self) -> Option<Box<Endpoints>> {
        self.endpoints.take()
    }

    /// Ends the flow: returns its result, and stores its path state in `memory` for later flows.
    pub fn finish(
        &mut self,
        mut endpoints: Box<Endpoints>,
        now: Instant,
        memory: &mut PathMemory,
        arrived: Option<Arrived>,
        pool: &mut Pool<'_>,
    ) -> FlowResult {
        endpoints.sender.leave_memory(now, memory);
        self.trace = endpoints.trace.take();
        let arrived = arrived.unwrap_or_else(|| endpoints.arrived());
        let decision = endpoints.sender.passive_decision();
        let config = self.place.config;
        let result = self.result_of(config, decision, &endpoints, arrived, now, &mut pool.names);
        pool.close(endpoints);
        result
    }

    /// The result of a flow that had not started when the run ended.
    pub fn unstarted(&self, pool: &mut Pool<'_>) -> FlowResult {
        let Placement {
            index,
            config,
            start,
            ..
        } = self.place;
        let (name, algorithm) = pool.names.of(config);
        FlowResult::unopened(index, name, algorithm, start.as_secs_f64())
    }

    /// When the receiving application had all data, if it did by `now`.
    ///
    /// The path's reverse direction includes both directions of the flow's access delay. The
    /// receiver of forward data is therefore early by one access delay, and the receiver of reverse
    /// data late by one.
    fn finished_at(&self, arrived: Arrived, now: Instant) -> Option<Instant> {
        let at = arrived.finished_at?;
        let at = if self.place.reverse {
            at - self.place.extra_delay
        } else {
            at + self.place.extra_delay
        };
        Some(at).filter(|at| *at <= now)
    }

    /// Whether all that its sender wrote, and its FIN, is acknowledged.
    pub fn is_complete(&self) -> bool {
        let endpoints = self.endpoints.as_ref();
        endpoints.is_some_and(|endpoints| endpoints.sender.is_complete())
    }

    /// Ends a flow of background traffic and adds its counts to the totals.
    pub fn account(
        &mut self,
        now: Instant,
        arrived: Option<Arrived>,
        totals: &mut Totals,
        pool: &mut Pool<'_>,
    ) {
        let Some(endpoints) = self.endpoints.take() else {
            return;
        };
        let arrived = arrived.unwrap_or_else(|| endpoints.arrived());
        let sender = &endpoints.sender;
        let stats = sender.stats();
        totals.last = totals.last.max(now);
        // Of a connection in which both sides write, the acceptor's data counts.
        let member = self.member.as_ref().filter(|_| self.conversation.is_some());
        let side = member.map(|member| member.side());
        if side != Some(Party::Initiator) {
            totals.delivered += arrived.delivered.get();
            totals.segments_sent += stats.segments_sent;
            totals.segments_lost += stats.net_losses();
            totals.timeouts += stats.timeouts;
            if self.place.size.is_none() {
                totals.offered = totals.offered.saturating_add(sender.written());
            }
        }
        match side {
            None => {
                if let Some(at) = self.finished_at(arrived, now) {
                    totals.finish(self.place.index, at.saturating_since(self.place.start));
                }
            }
            Some(Party::Acceptor) => {}
            Some(Party::Initiator) => {
                if let Some(at) = endpoints.established {
                    totals.note_setup(self.place.start, at.saturating_since(self.place.start));
                }
            }
        }
        pool.close(endpoints);
    }

    /// Ends a leg behind the first one. Returns what its receiver has.
    pub fn leave(&mut self, pool: &mut Pool<'_>) -> Option<Arrived> {
        let endpoints = self.endpoints.take()?;
        let arrived = endpoints.arrived();
        pool.close(endpoints);
        Some(arrived)
    }
}

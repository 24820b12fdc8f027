//! Hosts and links under the simulated clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use network::{Admission, Ecn, Link, Packet, Payload, Streams};
use rand_core::RngCore;
use scenario::Scenario;
use simulator::{Channel, RunError, RunOptions, RunOutput};
use units::{Bytes, Duration, Instant};

use crate::dial::Dial;
use crate::flow::Flow;
use crate::observer::Observer;
use crate::outcome;
use crate::stack::Stack;
use crate::support;

/// Headers of IPv4 and UDP.
const HEADERS: u32 = 28;
/// A datagram with at least this many bytes that the client sends after the handshake carries data:
/// a pure ACK is shorter.
const LEAST_DATA: usize = 200;
/// Passes of the loop between two looks at `cancel`.
const PATIENCE: u32 = 4_096;
const CLIENT: usize = 0;
const SERVER: usize = 1;

/// A UDP payload, and when it left.
#[derive(Clone, Debug)]
struct Datagram {
    bytes: Arc<[u8]>,
    sent: Instant,
    has_data: bool,
}

impl Payload for Datagram {}

/// A packet that a host hands to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// When.
    pub now: Instant,
    /// The flow.
    pub flow: u32,
    /// Whether the client sends it.
    pub is_forward: bool,
    /// Bytes of IP.
    pub size: u32,
}

/// A run.
struct World<'a> {
    now: Instant,
    links: [Link<Datagram>; 2],
    flows: Vec<Flow<'a>>,
    base_rtt: Duration,
    /// Hosts that may have something to transmit.
    awake: Vec<[bool; 2]>,
}

/// Runs `scenario` once, as run number `run`, with `stack` at both ends of each flow, and with one
/// of its own controllers if `own` names one.
///
/// # Errors
/// [`RunError::Cancelled`] when `cancel` became true; [`RunError::Stack`] when a stack of others
/// failed.
///
/// # Panics
/// If [`crate::check`] refuses the scenario.
pub fn run(
    scenario: &Scenario,
    run: u32,
    stack: &Stack,
    own: Option<&str>,
    options: &RunOptions,
    cancel: &AtomicBool,
) -> Result<RunOutput, RunError> {
    run_observed(scenario, run, stack, own, options, cancel, &mut |_| {})
}

/// [`run`] that shows each packet as it leaves its host.
///
/// # Errors
/// As [`run`].
///
/// # Panics
/// As [`run`].
pub fn run_observed(
    scenario: &Scenario,
    run: u32,
    stack: &Stack,
    own: Option<&str>,
    options: &RunOptions,
    cancel: &AtomicBool,
    observe: &mut dyn FnMut(Departure),
) -> Result<RunOutput, RunError> {
    let seed = scenario.seed.wrapping_add(u64::from(run));
    let streams = Streams::new(seed);
    let Channel { path, .. } = Channel::<Datagram>::new(&scenario.path, &streams);
    let mut links = path.map(|side| side.link);
    links[0].keep_busy_periods(scenario.path.base_rtt);
    let flows: Vec<Flow<'_>> = scenario
        .flows
        .iter()
        .enumerate()
        .map(|(index, config)| Flow {
            config,
            control: support::control(stack, own, config).expect("`check` accepts the scenario"),
            observer: Observer::new(options.traces.then(|| measure::FlowTrace {
                flow: index as u32,
                name: config.name.clone(),
                ..Default::default()
            })),
            hosts: None,
            established: None,
            finished: None,
            capacity: None,
            next_act: None,
            left: config.size.map(Bytes::get),
        })
        .collect();
    let mut world = World {
        now: Instant::ZERO,
        awake: vec![[false; 2]; flows.len()],
        links,
        flows,
        base_rtt: scenario.path.base_rtt,
    };
    let ends = [
        scenario.time_limit,
        scenario.duration.unwrap_or(Duration::MAX),
    ];
    let end = Instant::ZERO + ends[0].min(ends[1]);
    let mut patience = 0;
    loop {
        patience += 1;
        if patience % PATIENCE == 0 && cancel.load(Ordering::Relaxed) {
            return Err(RunError::Cancelled);
        }
        world.start(stack, &streams, seed);
        world.arrive();
        world.expire();
        world.transmit(observe);
        world.note_capacity();
        let now = world.now;
        if world.flows.iter_mut().all(|flow| flow.is_over(now)) {
            break;
        }
        match world.next() {
            Some(next) if next < end => world.now = next.max(now),
            _ => {
                world.now = end;
                break;
            }
        }
    }
    if let Some(fault) = world.flows.iter_mut().find_map(Flow::fault) {
        return Err(RunError::Stack(fault));
    }
    let World {
        now, links, flows, ..
    } = world;
    Ok(outcome::output(
        scenario,
        (run, seed),
        stack,
        now,
        links,
        flows,
        options.traces,
    ))
}

impl World<'_> {
    fn start(&mut self, stack: &Stack, streams: &Streams, seed: u64) {
        for (index, flow) in self.flows.iter_mut().enumerate() {
            if flow.hosts.is_some() || flow.config.start > self.now {
                continue;
            }
            let seeds = ["client", "server"].map(|side| {
                let mut seed = [0; 32];
                let mut stream = streams.stream(&format!("quic {side} {index}"));
                stream.fill_bytes(&mut seed);
                seed
            });
            let dial = Dial {
                flow: index as u32,
                control: &flow.control,
                initial_window: flow.config.initial_window,
                receive_window: flow.config.receive_buffer.get(),
                seed: seed.wrapping_add(index as u64),
                seeds,
            };
            flow.hosts = Some(stack.connect(self.now, &dial, &flow.observer));
            flow.next_act = Some(self.now);
            self.awake[index] = [true; 2];
        }
    }

    fn arrive(&mut self) {
        for (side, link) in self.links.iter_mut().enumerate() {
            let receiver = 1 - side;
            while let Some((_, packet)) = link.pop(self.now) {
                let index = packet.flow as usize;
                let flow = &mut self.flows[index];
                let Datagram {
                    bytes,
                    sent,
                    has_data,
                } = packet.payload;
                if has_data {
                    let latency = self.now.saturating_since(sent);
                    flow.observer.seen().probe.on_arrival(self.now, latency);
                }
                if let Some(hosts) = &mut flow.hosts {
                    hosts[receiver].receive(self.now, packet.ecn, &bytes);
                    if receiver == SERVER {
                        flow.observer.seen().delivered = hosts[SERVER].facts().received;
                    }
                    self.awake[index][receiver] = true;
                }
            }
            note_drops(link, &mut self.flows);
        }
    }

    fn expire(&mut self) {
        for (flow, awake) in self.flows.iter_mut().zip(&mut self.awake) {
            if let Some(hosts) = &mut flow.hosts {
                for (host, awake) in hosts.iter_mut().zip(awake.iter_mut()) {
                    if host.deadline().is_some_and(|at| at <= self.now) {
                        host.expire(self.now);
                        *awake = true;
                    }
                }
            }
            if flow.next_act.is_some_and(|at| at <= self.now) {
                flow.act(self.now);
                awake[CLIENT] = true;
            }
        }
    }

    fn transmit(&mut self, observe: &mut dyn FnMut(Departure)) {
        for (index, (flow, awake)) in self.flows.iter_mut().zip(&mut self.awake).enumerate() {
            let Some(hosts) = &mut flow.hosts else {
                continue;
            };
            for (side, host) in hosts.iter_mut().enumerate() {
                if !std::mem::take(&mut awake[side]) {
                    continue;
                }
                while let Some(transmit) = host.transmit(self.now) {
                    let size = transmit.datagram.len();
                    let is_data = side == CLIENT && flow.established.is_some();
                    let packet = Packet {
                        size: size as u32 + HEADERS,
                        flow: index as u32,
                        ecn: if flow.config.ecn {
                            transmit.ecn
                        } else {
                            Ecn::NotEct
                        },
                        payload: Datagram {
                            bytes: transmit.datagram.into(),
                            sent: self.now,
                            has_data: is_data && size >= LEAST_DATA,
                        },
                    };
                    let has_data = packet.payload.has_data;
                    observe(Departure {
                        now: self.now,
                        flow: packet.flow,
                        is_forward: side == CLIENT,
                        size: packet.size,
                    });
                    let admission = self.links[side].push(self.now, packet);
                    if has_data && matches!(admission, Admission::Dropped(_)) {
                        flow.observer.seen().probe.on_drop(self.now);
                    }
                }
                if side == CLIENT && flow.established.is_none() && host.facts().is_established {
                    flow.established = Some(self.now);
                }
            }
        }
    }

    /// A busy period of the bottleneck that lasts a base RTT is the capacity point of each flow that
    /// sends during it, as in the simulator.
    fn note_capacity(&mut self) {
        while let Some(period) = self.links[0].take_busy_period() {
            for flow in &mut self.flows {
                outcome::note_busy(flow, period, self.base_rtt);
            }
        }
    }

    fn next(&mut self) -> Option<Instant> {
        let links = self.links.iter().filter_map(Link::next_event).min();
        let now = self.now;
        let flows = self.flows.iter_mut().filter_map(|flow| {
            if flow.is_over(now) {
                return None;
            }
            let Some(hosts) = &mut flow.hosts else {
                return Some(flow.config.start);
            };
            let deadlines = hosts.iter_mut().filter_map(|host| host.deadline());
            deadlines.chain(flow.next_act).min()
        });
        flows.chain(links).min()
    }
}

/// Packets that a link dropped after it had accepted them.
fn note_drops(link: &mut Link<Datagram>, flows: &mut [Flow<'_>]) {
    while let Some(dropped) = link.take_dropped() {
        if dropped.packet.payload.has_data {
            let flow = &flows[dropped.packet.flow as usize];
            flow.observer.seen().probe.on_drop(dropped.at);
        }
    }
}

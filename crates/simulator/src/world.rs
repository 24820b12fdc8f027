//! The event loop: takes the next event and passes packets between hosts and links.

mod background;
mod build;
mod device;
mod feedback;
mod outcome;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use congestion::PathMemory;
use engine::{Calendar, Component};
use network::{Ecn, Packet, Streams};
use rand_core::RngCore;
use scenario::Scenario;
use units::{Duration, Instant};

use crate::carried::{Aside, Carried, HANDSHAKE_ACK_SIZE, ack_size, data_size};
use crate::flow::Endpoints;
use crate::flows::Flows;
use crate::links::LinkState;
use crate::traffic::{Source, Totals};
use crate::{RunError, RunOutput};
use background::Datagrams;
use feedback::consult;

/// The path's links come first.
const FORWARD: u32 = 0;
const REVERSE: u32 = 1;
/// No link.
const NOWHERE: u32 = u32::MAX;

/// The owner of a calendar entry.
#[derive(Clone, Copy)]
enum Owner {
    Link(u32),
    /// Starts the measured flows.
    Arrivals,
    /// A running flow. Another flow reuses the entry when it ends.
    Flow(u32),
    /// Starts the flows of background traffic.
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
    /// Unused calendar entries.
    free: Vec<Component>,
    aside: Aside,
    /// The last router before the forward link, or [`REVERSE`] without routers. The routers are the
    /// links after [`REVERSE`] up to this one.
    last_router: u32,
    /// Whether any sender has a device queue, or any application pauses.
    needs_wakeups: bool,
    /// Where data of the senders, and ACKs to them, enter the path.
    first: u32,
    /// Links of the reverse paths, by the delay that accesses add.
    reverse_paths: BTreeMap<Duration, [u32; 2]>,
    /// Background traffic and its totals.
    sources: Vec<Source<'a>>,
    totals: Vec<Totals>,
    datagrams: Vec<Datagrams>,
    /// TTL of packets that arrive at a receiver.
    ttl: u8,
    /// Running flows whose capacity point is not known yet.
    unresolved: Vec<u32>,
    /// Path state that finished flows left for later ones, by access delay. Flows with equal access
    /// delays use the same path.
    memories: BTreeMap<Duration, PathMemory>,
    unfinished: usize,
    now: Instant,
}

impl World<'_> {
    /// Runs to the end.
    pub fn run(mut self, cancel: &AtomicBool) -> Result<RunOutput, RunError> {
        let limit = self.scenario.duration.unwrap_or(self.scenario.time_limit);
        let end = Instant::ZERO + limit.min(self.scenario.time_limit);
        while let Some((at, component)) = self.calendar.next() {
            if at > end {
                self.now = end;
                break;
            }
            // Checked before every event: on a slow, variable rate a single one may take a second.
            if cancel.load(Ordering::Relaxed) {
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

    /// Passes a packet that leaves a link to the next link of its route, or to its host.
    #[inline]
    fn arrive(&mut self, link: u32, packet: Packet<Carried>) {
        let flow = packet.flow;
        if !packet.payload.is_ack() {
            if link == FORWARD {
                self.data_arrives(flow, packet.payload, packet.ecn);
            } else if self.is_router(link) {
                self.offer(self.after_router(link), packet);
            } else {
                self.route_data(link, packet);
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

    /// Sends the ACKs that a receiver has ready.
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

    /// Sends all segments that a sender may send.
    #[inline]
    fn transmit(&mut self, flow: u32) {
        let now = self.now;
        if self.needs_wakeups {
            self.settle_device(flow);
        }
        loop {
            let state = self.flows.get_mut(flow);
            let Some(endpoints) = state.endpoints.as_deref_mut() else {
                return;
            };
            let Some(data) = endpoints.sender.poll_transmit(now) else {
                if self.needs_wakeups {
                    self.schedule_wakeup(flow);
                }
                return;
            };
            // Retransmissions and segments without data are not ECN-capable (RFC 3168, section
            // 6.1.5; Linux too).
            let ecn = if state.config.ecn && data.len > 0 && !data.retransmission {
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
            if self.needs_wakeups && accepted {
                self.fill_device(flow, link, packet.size);
            }
        }
    }

    /// Ensures that the flow's calendar entry is no later than its earliest deadline. Only an
    /// earlier deadline moves the entry. An entry that is due too early is rescheduled.
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

    /// Offers a packet to a link, and records drops and completed busy periods.
    #[inline]
    fn offer(&mut self, link: u32, packet: Packet<Carried>) -> bool {
        let now = self.now;
        let state = &mut self.links[link as usize];
        if state.router.is_some() {
            consult(state, &packet, now, &mut self.aside);
        }
        let accepted = state.push(now, packet, &mut self.calendar);
        let late = state.link.has_dropped();
        if link == FORWARD {
            self.note_busy_periods();
        }
        if !accepted {
            self.note_drop(now, packet);
        }
        if late {
            self.note_dropped(link);
        }
        accepted
    }

    /// Records packets that a link dropped after it had accepted them.
    #[cold]
    #[inline(never)]
    fn note_dropped(&mut self, link: u32) {
        while let Some(dropped) = self.links[link as usize].link.take_dropped() {
            self.note_drop(dropped.at, dropped.packet);
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

    /// Frees the entries in [`Aside`] of a packet that reaches no host.
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

    /// Starts the measured flows that are due.
    fn arrivals(&mut self) {
        let now = self.now;
        while let Some(&flow) = self.waiting.last()
            && self.flows.measured[flow as usize].start <= now
        {
            self.waiting.pop();
            let component = self.component(Owner::Flow(flow));
            let streams = &self.streams;
            let seed = || streams.stream(&format!("flow {flow}")).next_u64();
            let state = &mut self.flows.measured[flow as usize];
            state.component = Some(component);
            let memory = self.memories.entry(state.extra_delay).or_default();
            state.start(now, seed, memory, self.traced, &mut self.flows.pool);
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

    /// A calendar entry for `owner`.
    fn component(&mut self, owner: Owner) -> Component {
        let component = self.free.pop().unwrap_or_else(|| {
            self.owners.push(Owner::Arrivals);
            self.calendar.add()
        });
        self.owners[component.index()] = owner;
        component
    }

    /// Handles a flow's due entry: its application and the timers of both endpoints.
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
}

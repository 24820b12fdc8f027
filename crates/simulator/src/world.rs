//! The event loop: takes the next event and passes packets between hosts and links.
//!
//! This is the plain loop, which takes all events in the order of their times. [`turns`] has the
//! fast one.

mod ahead;
mod background;
mod build;
mod crossing;
mod device;
mod exchanges;
mod feedback;
mod foreign;
mod hops;
mod lookahead;
mod outcome;
mod packets;
mod relay;
mod runs;
mod starts;
mod startup;
mod transmit;
mod turns;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use congestion::PathMemory;
use engine::Component;
use measure::{FlowResult, Vantage};
use network::{Ecn, Packet, Streams};
use scenario::{Flow, Scenario};
use tcp::segment::AckSegment;
use units::{Duration, Instant};

use crate::agenda::{Agendas, LEFT, Part, Position, Side};
use crate::carried::{Carried, HANDSHAKE_ACK_SIZE};
use crate::fabric::{FORWARD, Fabric};
use crate::flow::Endpoints;
use crate::flows::Flows;
use crate::recorder::Recorder;
use crate::routes::Hop;
use crate::starts::Starts;
use crate::ways::Ways;
use crate::{RunError, RunOutput};
use ahead::Ahead;
use foreign::ForeignStacks;
use turns::Turns;

/// How often a link asks its agenda before the loop looks whether the run was cancelled.
const MOST_IN_A_ROW: u32 = 1024;

/// So many events are not at one instant unless time stands still: all flows that may start at once
/// cause fewer.
const MOST_AT_ONE_INSTANT: u32 = 1 << 19;

const NANO: Duration = Duration::from_nanos(1);

/// One run.
pub struct World<'a> {
    scenario: &'a Scenario,
    run: u32,
    seed: u64,
    streams: Streams,
    agendas: Agendas,
    fabric: Fabric<'a>,
    /// The flow of each entry in the calendars of flows.
    running: Vec<u32>,
    flows: Flows<'a>,
    starts: Starts<'a>,
    recorder: Recorder,
    /// Unused entries in the calendars of flows.
    free: Vec<Component>,
    /// Whether any sender has a device queue or stands at a proxy, or any application pauses.
    needs_wakeups: bool,
    /// Path state that finished flows left for later ones of the same route.
    memories: BTreeMap<Hop, PathMemory>,
    unfinished: usize,
    now: Instant,
    ahead: Ahead,
    /// Whether hosts take no shortcuts.
    is_plain: bool,
    turns: Turns,
    /// The ways of background traffic.
    known_ways: Ways,
    foreign: ForeignStacks<'a>,
    /// The flows whose start-ups watch the only flow, and their results.
    watching: Vec<&'a Flow>,
    watched: Vec<FlowResult>,
}

impl<'a> World<'a> {
    /// Lets the start-ups of other flows watch the only measured one.
    pub fn watched_by(mut self, flows: Vec<&'a Flow>) -> Self {
        self.watching = flows;
        self
    }

    /// Runs to the end. The other results are those of the flows that watched.
    pub fn run(mut self, cancel: &AtomicBool) -> Result<(RunOutput, Vec<FlowResult>), RunError> {
        let end = self.end();
        if let Some(lookahead) = self.turns.lookahead {
            self.run_in_turns(lookahead, end, cancel)?;
        } else {
            let over = Position::before(end + NANO);
            self.act_before(LEFT, over, cancel)?;
            if self.unfinished > 0 && self.agendas.soonest() < Instant::MAX {
                self.now = end;
            }
        }
        let output = self.output();
        Ok((output, self.watched))
    }

    /// When the run ends, whatever happens.
    fn end(&self) -> Instant {
        let limit = self.scenario.duration.unwrap_or(self.scenario.time_limit);
        Instant::ZERO + limit.min(self.scenario.time_limit)
    }

    /// Takes all events of a side before `bound`, unless the last measured flow ends.
    fn act_before(
        &mut self,
        side: Side,
        bound: Position,
        cancel: &AtomicBool,
    ) -> Result<(), RunError> {
        let (mut since, mut count) = (None, 0);
        loop {
            // Checked before every event: on a slow, variable rate a single one may take a second.
            if cancel.load(Ordering::Relaxed) {
                return Err(RunError::Cancelled);
            }
            let agenda = &self.agendas[side];
            let until = agenda.only_packets_until(bound);
            let first = agenda.packets.soonest();
            if first < until {
                // Each takes a nanosecond or more, so time does not stand still.
                self.packets_arrive(side, until);
            } else if first == until
                && first < Instant::MAX
                && let Some(position) = agenda.packet_of_equals(bound)
            {
                self.packet_of_equals_arrives(side, position);
            } else {
                let Some((position, part)) = agenda.next().filter(|(next, _)| *next < bound) else {
                    break;
                };
                count += 1;
                if count == MOST_AT_ONE_INSTANT {
                    if since.replace(position.at) == Some(position.at) {
                        return Err(RunError::Standstill(position.at));
                    }
                    count = 0;
                }
                self.now = position.at;
                self.turns.position = position;
                self.acts(part, side, bound.at);
            }
            if self.unfinished == 0 {
                self.end_instant(side);
                break;
            }
        }
        Ok(())
    }

    /// A part acts now.
    #[inline(always)]
    fn acts(&mut self, part: Part, side: Side, bound: Instant) {
        match part {
            Part::Link(link) => self.link_acts(link, side, bound),
            Part::Cloud => self.cloud_acts(side, bound),
            Part::Arrivals => self.arrivals(),
            Part::Flow(component) => self.flow_acts(self.running[component.index()], side),
            Part::Source(source) => self.source_acts(source),
            Part::Datagrams(datagrams) => self.datagrams_act(datagrams),
        }
    }

    /// Handles the packets that leave a link now. Shortcut: also those that leave it before any
    /// other part of its side acts, if that is before `bound`.
    fn link_acts(&mut self, index: u32, side: Side, bound: Instant) {
        if self.is_plain || self.fabric.link(index).link.decides_late() {
            return self.pop_now(index);
        }
        let has_many_flows = self.has_many_flows();
        // Pops change nothing else of the link, so nothing is asked between them but whether
        // something has been scheduled on this side.
        for _ in 0..MOST_IN_A_ROW {
            let agenda = &self.agendas[side];
            let changes = agenda.changes();
            let mut before = self.now + NANO;
            if self.unfinished > 0 {
                let other = agenda.soonest_other(self.fabric.links()[index as usize].component);
                before = before.max(other.min(bound));
            }
            loop {
                if !self.packets_leave(index, side, before, has_many_flows) {
                    self.fabric.link(index).reschedule(&mut self.agendas);
                    return;
                }
                if self.agendas[side].changes() != changes {
                    break;
                }
            }
        }
        self.fabric.link(index).reschedule(&mut self.agendas);
    }

    /// Handles packets that leave a link before `before`: the next one, or several that go to one end of
    /// a flow. Returns false if there is none.
    #[inline(always)]
    fn packets_leave(&mut self, index: u32, side: Side, before: Instant, has_many: bool) -> bool {
        if !has_many && self.train_arrives(index, before) {
            return true;
        }
        let Some((due, mut packet)) = self.fabric.link(index).link.pop_before(before) else {
            return false;
        };
        self.now = due;
        if has_many {
            self.expect_flows(index);
        }
        let (flow, payload) = (packet.flow, &packet.payload);
        if !self.fabric.routes().is_last(payload.hop()) {
            self.pass_on(&mut packet);
        } else if !payload.is_ack() {
            self.data_arrives(flow, payload, packet.ecn);
        } else if let Some(ack) = payload.as_plain()
            && !has_many
            && !self.needs_wakeups
        {
            self.acks_arrive(index, side, before, flow, &ack);
        } else {
            self.ack_arrives(flow, *payload);
        }
        true
    }

    /// Handles the packets that leave a link now.
    fn pop_now(&mut self, index: u32) {
        let now = self.now;
        while let Some((_, packet)) = self.fabric.link(index).pop(now) {
            self.arrive(&packet);
            if self.fabric.link(index).next_event() > now {
                break;
            }
        }
        let state = self.fabric.link(index);
        state.reschedule(&mut self.agendas);
        if state.link.has_dropped() {
            self.note_dropped(index);
        }
        if self.fabric.has_radios() {
            self.note_sent();
        }
    }

    /// Passes a packet that leaves a link to the next link of its route, or to its host.
    #[inline(always)]
    fn arrive(&mut self, packet: &Packet<Carried>) {
        let payload = &packet.payload;
        if !self.fabric.routes().is_last(payload.hop()) {
            self.pass_on(&mut { *packet });
        } else if payload.is_ack() {
            self.ack_arrives(packet.flow, *payload);
        } else {
            self.data_arrives(packet.flow, payload, packet.ecn);
        }
    }

    /// [`Self::arrive`] of a packet for a host.
    #[inline(never)]
    fn reach_host(&mut self, packet: &Packet<Carried>) {
        let payload = &packet.payload;
        if payload.is_ack() {
            self.ack_arrives(packet.flow, *payload);
        } else {
            self.data_arrives(packet.flow, payload, packet.ecn);
        }
    }

    #[inline(never)]
    fn pass_on(&mut self, packet: &mut Packet<Carried>) {
        packet.payload.pass_hop();
        self.offer(packet);
    }

    #[inline(always)]
    fn data_arrives(&mut self, flow: u32, carried: &Carried, ecn: Ecn) {
        let now = self.now;
        let settles = self.must_settle(flow);
        let mut state = self.flows.get_mut(flow);
        if settles && state.may_have_ended(now) {
            self.catch_up();
            state = self.flows.get_mut(flow);
        }
        if carried.is_plain_data()
            && ecn != Ecn::Ce
            && !self.is_plain
            && let Some(endpoints) = state.endpoints_mut()
        {
            endpoints.handle_plain_data(now, carried);
            let has_ack = endpoints.has_ack();
            let concerns_others = state.concerns_others();
            if has_ack {
                self.acknowledge(flow);
            } else {
                state.keep_receiver(&mut self.agendas);
            }
            if concerns_others {
                let (.., ts_val, _) = carried.fields();
                self.notify_of_plain_data(flow, ts_val);
            }
            return;
        }
        self.any_data_arrives(flow, carried, ecn);
    }

    /// The same for any segment.
    #[inline(never)]
    fn any_data_arrives(&mut self, flow: u32, carried: &Carried, ecn: Ecn) {
        if carried.is_datagram() {
            return self.datagram_arrives(flow, carried, ecn);
        }
        let now = self.now;
        if self.recorder.has_packets() {
            self.see_data_arrive(flow, carried, ecn);
        }
        if carried.is_handshake_ack() {
            return;
        }
        if carried.has_feedback() {
            self.hand_over(flow, *carried);
        }
        let data = carried.data_segment();
        let peer = self.flows.get_mut(flow).peer();
        if let Some(ack) = carried.take_carried(self.fabric.aside()) {
            if let Some(peer) = peer {
                self.take_third(peer, &ack);
                self.take_ack(peer, &ack, true);
            }
        } else if let Some(peer) = peer {
            self.take_timestamp(peer, data.ts_val);
        }
        let state = self.flows.get_mut(flow);
        let Some(endpoints) = state.endpoints_mut() else {
            return self.note_unclaimed(flow, carried);
        };
        endpoints.handle_data(now, carried, &data, ecn == Ecn::Ce);
        let has_ack = endpoints.has_ack();
        let concerns_others = state.concerns_others();
        if has_ack {
            self.acknowledge(flow);
        } else {
            state.keep_receiver(&mut self.agendas);
        }
        if concerns_others {
            self.notify(flow);
        }
    }

    /// A segment has arrived at the receiver of a flow: a proxy there takes what it brought, or the
    /// application, if it waits for that.
    fn notify(&mut self, flow: u32) {
        let state = self.flows.get_mut(flow);
        if let Some(next) = state.next() {
            self.wake_leg(next);
        } else if state.endpoints().is_some_and(Endpoints::has_awaited) {
            self.hear(flow);
        }
    }

    /// The same for a segment that has arrived without an acknowledgment. The flow of the other
    /// direction echoes its timestamp `ts_val`, whether or not anything waits for its bytes.
    #[inline(never)]
    fn notify_of_plain_data(&mut self, flow: u32, ts_val: u32) {
        let state = self.flows.get_mut(flow);
        let (peer, next) = (state.peer(), state.next());
        let has_awaited = state.endpoints().is_some_and(Endpoints::has_awaited);
        if let Some(peer) = peer {
            self.take_timestamp(peer, ts_val);
        }
        if let Some(next) = next {
            self.wake_leg(next);
        } else if has_awaited {
            self.hear(flow);
        }
    }

    /// A segment with the timestamp `ts_val` and without an acknowledgment has arrived at the host
    /// of the sender of `flow`.
    fn take_timestamp(&mut self, flow: u32, ts_val: u32) {
        if let Some(endpoints) = self.endpoints(flow) {
            endpoints.sender().handle_timestamp(ts_val);
        }
    }

    #[inline]
    fn ack_arrives(&mut self, flow: u32, carried: Carried) {
        if carried.has_feedback() {
            self.hand_over(flow, carried);
        }
        let is_third = carried.is_third();
        let ack = carried.into_ack(self.fabric.aside());
        if is_third {
            return self.take_third(flow, &ack);
        }
        self.take_ack(flow, &ack, false);
    }

    /// Passes an ACK to the sender of a flow; `rides` says that it came with data.
    #[inline(always)]
    fn take_ack(&mut self, flow: u32, ack: &AckSegment, rides: bool) {
        let now = self.now;
        if self.is_plain {
            self.see_ack(flow, ack, Vantage::Sender);
        }
        let Some(endpoints) = self.endpoints(flow) else {
            return;
        };
        endpoints.handle_ack(now, ack, rides);
        let is_complete = endpoints.sender().is_complete();
        if endpoints.startup_is_due(now) {
            self.check_startup(flow);
        }
        if is_complete {
            self.complete(flow);
        } else {
            if ack.syn {
                self.answer_syn_ack(flow, ack);
            }
            self.transmit(flow);
        }
    }

    /// Answers a SYN-ACK with the third segment of the handshake.
    #[cold]
    #[inline(never)]
    fn answer_syn_ack(&mut self, flow: u32, syn_ack: &AckSegment) {
        let state = self.flows.get_mut(flow);
        let route = state.place().data;
        if state.peer().is_some() {
            return self.answer_both_ways(flow, syn_ack);
        }
        self.see_third(flow);
        self.offer(&Packet {
            size: HANDSHAKE_ACK_SIZE,
            flow,
            ecn: Ecn::NotEct,
            payload: Carried::handshake_ack(self.now, route),
        });
    }

    /// Records what offering packets like `packet` to a link has caused: `refused` of them were
    /// dropped.
    #[inline(always)]
    fn note_offered(&mut self, link: u32, packet: &Packet<Carried>, refused: u32) {
        let late = self.fabric.has_dropped(link);
        if link == FORWARD {
            self.note_busy_periods();
        }
        for _ in 0..refused {
            self.note_drop(self.now, *packet);
        }
        if late {
            self.note_dropped(link);
        }
        if self.fabric.has_radios() {
            self.note_sent();
        }
    }

    /// Offers a packet to the link at its hop, and records drops and completed busy periods.
    #[inline(always)]
    fn offer(&mut self, packet: &Packet<Carried>) -> bool {
        let now = self.now;
        let link = self.fabric.routes().link(packet.payload.hop());
        if self.fabric.keeps_none(link) {
            let place = self.agendas.keep(packet);
            return self.send(link, place) == Some(true);
        }
        let Some(accepted) = self.fabric.offer(now, link, packet, &mut self.agendas) else {
            return self.cross(link, *packet);
        };
        self.note_offered(link, packet, u32::from(!accepted));
        accepted
    }

    /// Records packets that a link dropped after it had accepted them.
    #[cold]
    #[inline(never)]
    fn note_dropped(&mut self, link: u32) {
        while let Some(dropped) = self.fabric.link(link).link.take_dropped() {
            self.note_dropped_by_device(link, &dropped);
            self.note_drop(dropped.at, dropped.packet);
        }
    }

    #[cold]
    fn note_drop(&mut self, at: Instant, packet: Packet<Carried>) {
        self.fabric.discard(packet);
        if packet.payload.has_payload() {
            match self.endpoints(packet.flow) {
                Some(endpoints) => endpoints.on_drop(at, &packet.payload),
                None => self.note_lost_datagram(packet.flow),
            }
        } else if packet.payload.is_datagram() {
            self.note_dropped_foreign(at, packet.flow, &packet.payload);
        }
    }

    #[inline(always)]
    fn endpoints(&mut self, flow: u32) -> Option<&mut Endpoints> {
        self.flows.get_mut(flow).endpoints_mut()
    }

    /// Handles a flow's due entry on `side`: its application and the timers of the endpoints there.
    fn flow_acts(&mut self, flow: u32, side: Side) {
        let now = self.now;
        let state = self.flows.get_mut(flow);
        let [has_sender, has_receiver] =
            [state.sender_side(), state.receiver_side()].map(|of| of == side);
        if has_sender && state.application_due() <= now {
            if state.foreign().is_some() {
                return self.foreign_acts(flow);
            }
            if now >= state.place().stop {
                self.finish(flow);
                return;
            }
            if state.peer().is_none() {
                state.application_acts(now);
            } else {
                self.converse(flow);
            }
        }
        let state = self.flows.get_mut(flow);
        if has_sender
            && let Some(endpoints) = state.endpoints_mut()
            && endpoints.expire_sender(now)
            && endpoints.startup_is_due(now)
        {
            self.check_startup(flow);
        }
        if has_receiver {
            self.settle_end(flow);
            if let Some(endpoints) = self.endpoints(flow)
                && endpoints.expire_receiver(now)
            {
                self.acknowledge(flow);
            }
        }
        if has_sender {
            self.transmit(flow);
        }
        let state = self.flows.get_mut(flow);
        let mut deadline = state.deadline(side);
        if has_sender {
            deadline = deadline.min(state.device_deadline());
        }
        state.schedule(side, deadline, &mut self.agendas);
    }
}

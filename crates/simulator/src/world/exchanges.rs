//! Connections in which both sides write: two flows, one in each direction.
//!
//! The initiator's flow opens the connection as any flow does. The acceptor's flow is established
//! when the third segment of the handshake arrives, or the initiator's first data. Each data
//! segment carries the acknowledgment that is due in its direction.
//!
//! A host has the sender of one of the two flows and the receiver of the other, so what an
//! application hears and writes concerns one side of the path only.
//!
//! ## Assumptions
//!
//! - The acceptor's congestion control starts when its application first writes, or closes. A
//!   start-up that depends on the amount of queued data sees the first response.

use congestion::PathMemory;
use measure::Epoch;
use network::{Ecn, Packet, Payload};
use scenario::Direction;
use tcp::segment::AckSegment;
use workload::{Dialogue, Side};

use super::World;
use super::relay::Leg;
use crate::carried::{Carried, ack_size};
use crate::connection::{Connection, Member, Opened};
use crate::conversation::Conversation;
use crate::fabric::Way;
use crate::flow::{FlowState, Placement};
use crate::legs::Course;
use crate::traffic::Begin;

impl<'a> World<'a> {
    /// Starts a connection in which both sides write.
    pub(super) fn begin_exchange(&mut self, table: u32, begin: &Begin, dialogue: Dialogue) {
        let Some((firsts, connection)) = self.connect(table, begin, dialogue) else {
            self.starts.totals(table).rejected += 1;
            return;
        };
        self.starts.totals(table).begin(begin);
        for flow in firsts {
            let component = self.component(flow);
            self.flows.get_mut(flow).enter_calendar(component);
        }
        self.flows.join(&connection);
        self.open_exchange(begin, firsts);
    }

    /// Makes the flows of a connection in which both sides write, and returns the first leg there
    /// and back. `None` if too many flows are open.
    fn connect(
        &mut self,
        table: u32,
        begin: &Begin,
        dialogue: Dialogue,
    ) -> Option<([u32; 2], Connection)> {
        let (conversations, mss) = match dialogue {
            Dialogue::Script(connection) => (
                Conversation::scripted(begin.turn, connection.exchange),
                connection.headers.mss,
            ),
            Dialogue::Video { client, .. } => (Conversation::video(begin.turn, client), None),
        };
        if let Some(course) = self.starts.legs().of_traffic(table) {
            return self.connect_legs(table, begin, course, conversations, mss);
        }
        let [asks, answers] = conversations;
        let config = &self.scenario.path.traffic[table as usize].flow;
        // In the direction of the answers.
        let way = self.way_of(table, begin);
        let leg = |side: Side, way| Leg {
            config,
            way,
            smss: mss.map(|mss| mss[side.index()]),
        };
        let there = leg(Side::Initiator, way.back());
        let back = leg(Side::Acceptor, way);
        let there = self.add_first(table, begin, (Side::Initiator, asks), &there)?;
        let Some(back) = self.add_first(table, begin, (Side::Acceptor, answers), &back) else {
            let _ = self.flows.close(there);
            return None;
        };
        let pair = [there, back];
        Some((pair, Connection::pair(pair)))
    }

    /// The same for a connection that proxies split.
    fn connect_legs(
        &mut self,
        table: u32,
        begin: &Begin,
        course: &'a Course,
        [asks, answers]: [Conversation; 2],
        mss: Option<[u32; 2]>,
    ) -> Option<([u32; 2], Connection)> {
        let traffic = &self.scenario.path.traffic[table as usize];
        // In the direction of the answers.
        let ways = self.ways(course, traffic, begin);
        let legs = |side: Side| {
            let smss = mss.map(|mss| mss[side.index()]);
            legs_of(side, course, &ways, smss)
        };
        let asks = (Side::Initiator, asks);
        let there = self.add_side(table, begin, asks, &legs(Side::Initiator))?;
        let answers = (Side::Acceptor, answers);
        let Some(back) = self.add_side(table, begin, answers, &legs(Side::Acceptor)) else {
            let _ = self.end_legs(&there[1..]);
            let _ = self.flows.close(there[0]);
            return None;
        };
        let connection = Connection::new(&there, &back);
        Some(([there[0], back[0]], connection))
    }

    /// Adds the flows that bring the data of one side of a connection, one for each leg. Returns
    /// their numbers, or `None` if too many flows are open.
    fn add_side(
        &mut self,
        table: u32,
        begin: &Begin,
        (side, conversation): (Side, Conversation),
        legs: &[Leg<'a>],
    ) -> Option<Vec<u32>> {
        let [first, rest @ ..] = legs else {
            return None;
        };
        let flow = self.add_first(table, begin, (side, conversation), first)?;
        let chain = self.chain(flow, rest, seed_of(begin, side));
        if chain.is_none() {
            let _ = self.flows.close(flow);
        }
        chain
    }

    /// Adds the flow that brings the data of one side of a connection over the first leg, `leg`.
    /// `None` if too many flows are open.
    fn add_first(
        &mut self,
        table: u32,
        begin: &Begin,
        (side, conversation): (Side, Conversation),
        leg: &Leg<'a>,
    ) -> Option<u32> {
        let traffic = &self.scenario.path.traffic[table as usize];
        let is_reverse = traffic.direction == Direction::Reverse;
        let place = Placement {
            source: table,
            reverse: is_reverse == (side == Side::Acceptor),
            extra_delay: begin.extra_delay,
            ..Placement::new(leg.config, leg.way, begin.at)
        };
        let mut state = FlowState::new(place.with_smss(leg.smss));
        state.converse_as(self.flows.pool.conversation(conversation));
        self.turns.place_ends(&mut state);
        let (flow, state, pool) = self.flows.open(state)?;
        let seed = || seed_of(begin, side);
        state.prepare(seed, PathMemory::default(), self.is_plain, pool);
        state.omit_measurements();
        Some(flow)
    }

    /// Sends the SYN of a connection whose first flows are those.
    fn open_exchange(&mut self, begin: &Begin, [asks, answers]: [u32; 2]) {
        let state = self.flows.get_mut(asks);
        if let Some(conversation) = state.conversation_mut() {
            conversation.begin(begin.at);
        }
        state.open(self.now);
        if let Some(endpoints) = self.endpoints(asks) {
            endpoints.receiver().listen();
        }
        self.listen(asks);
        self.listen(answers);
        self.transmit(asks);
    }

    /// Sets what the receiver at the host of the sender of `flow` reports to the application there,
    /// and tells the server of a video what was requested.
    fn listen(&mut self, flow: u32) {
        let state = self.flows.get_mut(flow);
        let peer = state.peer();
        let (asked, awaited) = match state.conversation_mut() {
            Some(conversation) => (conversation.take_asked(), conversation.awaited()),
            None => (None, u64::MAX),
        };
        if let Some((request, answer)) = asked
            && let Some(answers) = state.member().and_then(Member::answers)
            && let Some(other) = self.flows.get_mut(answers).conversation_mut()
        {
            other.expect(request, answer);
        }
        if let Some(peer) = peer
            && let Some(endpoints) = self.endpoints(peer)
        {
            endpoints.await_bytes(awaited);
        }
    }

    /// Answers a SYN-ACK that has arrived over the initiator's `flow`.
    pub(super) fn answer_both_ways(&mut self, flow: u32, syn_ack: &AckSegment) {
        let now = self.now;
        let state = self.flows.get_mut(flow);
        let (peer, route, asks_routers) = (state.peer(), state.place().data, state.asks_routers());
        let rtt = state
            .endpoints_mut()
            .and_then(|it| it.sender().rtt_sample());
        let Some(peer) = peer else {
            return;
        };
        let Some(endpoints) = self.endpoints(peer) else {
            return;
        };
        let third = endpoints.receiver().connect(now, syn_ack, rtt);
        let answer = asks_routers
            .then(|| endpoints.receiver().answer_to_syn_ack())
            .flatten();
        let mut packet = Packet {
            size: ack_size(&third),
            flow: peer,
            ecn: Ecn::NotEct,
            payload: Carried::ack(&third, now, route, self.fabric.aside()).third(),
        };
        packet.size += packet.payload.attach(answer, self.fabric.aside());
        self.offer(packet);
    }

    /// The third segment of the handshake has arrived, or an acknowledgment in data, at the host or
    /// proxy that sends over `flow`, which is not established.
    pub(super) fn take_third(&mut self, flow: u32, third: &AckSegment) {
        let now = self.now;
        let state = self.flows.get_mut(flow);
        if !state.awaits_handshake() {
            return;
        }
        let asks = state.peer();
        let Some(endpoints) = asks.and_then(|asks| self.endpoints(asks)) else {
            return;
        };
        let (rtt, retransmitted) = endpoints.receiver().complete_handshake(now);
        let opened = Opened {
            third: *third,
            rtt,
            retransmitted,
        };
        let state = self.flows.get_mut(flow);
        state.end_handshake(now, opened);
        if state.conversation().is_some() {
            return self.go_on(flow);
        }
        // What has arrived at a proxy before waits for this.
        self.transmit(flow);
    }

    /// The application at the receiver of `flow` takes what has arrived.
    #[cold]
    #[inline(never)]
    pub(super) fn hear(&mut self, flow: u32) {
        let now = self.now;
        let state = self.flows.get_mut(flow);
        let (Some(own), Some(endpoints)) = (state.peer(), state.endpoints_mut()) else {
            return;
        };
        let delivered = endpoints.receiver().delivered().get();
        let is_closed = endpoints.receiver().finished_at().is_some();
        let state = self.flows.get_mut(own);
        let opened = state.endpoints().and_then(|it| it.established());
        let Some(conversation) = state.conversation_mut() else {
            return;
        };
        if let Some(answered) = conversation.hear(now, delivered, is_closed) {
            // The handshake is no part of the first epoch.
            let start = opened.map_or(answered.start, |opened| answered.start.max(opened));
            let epoch = Epoch {
                connection: conversation.number(),
                number: answered.number,
                request_bytes: answered.request,
                response_bytes: answered.response,
                start,
                duration: now.saturating_since(start),
                think: answered.think,
            };
            let source = state.place().source;
            self.starts.totals(source).note_epoch(&epoch);
        }
        self.go_on(own);
    }

    /// The application at the sender of `flow` does what is due, and waits for the rest.
    fn go_on(&mut self, flow: u32) {
        let now = self.now;
        let state = self.flows.get_mut(flow);
        let Some(conversation) = state.conversation() else {
            return;
        };
        let due = conversation.due();
        state.wake_application(due);
        if due <= now {
            state.application_acts(now);
            self.transmit(flow);
        } else {
            state.keep_sender(&mut self.agendas);
        }
        self.listen(flow);
    }

    /// Offers `count` data segments of a sender whose host also has the receiver of `peer`: they
    /// carry the acknowledgment that is due there, as long as it reports anything new. `packet` is
    /// the first of them.
    pub(super) fn offer_with_ack(
        &mut self,
        peer: u32,
        mut packet: Packet<Carried>,
        mut count: u32,
        asks_routers: bool,
    ) {
        let now = self.now;
        let mut settles = self.must_settle(peer);
        // A SYN acknowledges nothing.
        while count > 0 && !packet.payload.is_syn() {
            let mut state = self.flows.get_mut(peer);
            if settles && state.may_have_ended(now) {
                self.catch_up();
                state = self.flows.get_mut(peer);
            }
            settles = false;
            let Some(endpoints) = state.endpoints_mut() else {
                break;
            };
            let ack = endpoints.receiver().take_ack(now);
            let data = packet.payload.data_segment();
            if data.len > 0 {
                endpoints.receiver().on_data_sent(now);
            }
            if data.fin {
                endpoints.receiver().on_fin_sent();
            }
            let Some(ack) = ack else {
                break;
            };
            let mut first = packet;
            first.size += ack.options_size();
            first.payload.carry(ack, self.fabric.aside());
            self.offer_segment(first, asks_routers);
            packet.payload = packet.payload.following(1);
            count -= 1;
        }
        match count {
            0 => {}
            1 => self.offer_segment(packet, asks_routers),
            _ => self.offer_burst(packet, count),
        }
    }

    /// The application at the sender of `flow` acts.
    #[cold]
    #[inline(never)]
    pub(super) fn converse(&mut self, flow: u32) {
        let now = self.now;
        self.flows.get_mut(flow).application_acts(now);
        self.listen(flow);
    }
}

/// The seed of the sender of a side.
const fn seed_of(begin: &Begin, side: Side) -> u64 {
    begin.seed.wrapping_add(side.index() as u64)
}

/// The legs of the data of `side`, from its sender on. `ways` are those of the answers.
fn legs_of<'a>(side: Side, course: &'a Course, ways: &[Way], smss: Option<u32>) -> Vec<Leg<'a>> {
    let sends_answers = side == Side::Acceptor;
    let leg = |(number, way): (usize, &Way)| {
        let (way, configs) = if sends_answers {
            (*way, &course.there)
        } else {
            (way.back(), &course.back)
        };
        Leg {
            config: &configs[number],
            way,
            smss,
        }
    };
    let mut legs: Vec<Leg<'a>> = ways.iter().enumerate().map(leg).collect();
    if !sends_answers {
        legs.reverse();
    }
    legs
}

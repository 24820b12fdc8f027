//! Shortcut: packets that leave a link for one end of a flow, one after the other.
//!
//! The segments of a train go to one receiver. The flow, its receiver and the link of its ACKs are looked
//! up once for all of them, and two segments that cause an ACK are taken together. Plain ACKs of one flow
//! go to one sender, which decides with each of them what leaves.
//!
//! It is exact because each packet does what [`World::arrive`] does with it, at its own time, and the
//! next one follows only if nothing has been scheduled on its side in between. Of two segments taken
//! together, the first starts a timer that the second stops.
//!
//! With many flows, it does not apply: the memory of the next packet's flow is requested before each
//! packet ([`super::ahead`]).

use network::{Ecn, Packet, Payload, TrainPackets};
use tcp::PlainAck;
use units::Instant;

use super::World;
use crate::agenda::Side;
use crate::carried::{Carried, HANDSHAKE_ACK_SIZE};
use crate::fabric::FORWARD;

impl World<'_> {
    /// Passes the train in front of a link to its receiver: those of its segments that are due before
    /// `before`, at least one. It is for plain segments of a flow whose ACKs enter a pure delay line;
    /// otherwise it does nothing and returns false.
    #[inline(always)]
    pub(super) fn train_arrives(&mut self, index: u32, before: Instant) -> bool {
        let link = &self.fabric.links()[index as usize].link;
        link.has_train() && link.first_due() < before && self.plain_train_arrives(index, before)
    }

    /// The same where a train is due. Behind its last segment, single segments of the same flow, and other
    /// trains, are taken as well.
    #[inline(never)]
    fn plain_train_arrives(&mut self, index: u32, before: Instant) -> bool {
        let Some((mut train, front)) = self.fabric.links()[index as usize].link.entry() else {
            return false;
        };
        let (flow, size, mut first) = (front.flow, front.size, front.payload);
        if !first.is_plain_data()
            || front.ecn == Ecn::Ce
            || !self.fabric.routes().is_last(first.hop())
            || self.must_settle(flow)
            || self.fabric.has_radios()
        {
            return false;
        }
        let state = self.flows.get_mut(flow);
        let route = state.place().acks;
        let back = self.fabric.routes().link(route);
        if back == FORWARD || state.concerns_others() || state.asks_routers() {
            return false;
        }
        let Some([link, back]) = self.fabric.two_links(index, back) else {
            return false;
        };
        if !back.only_delays(before) || state.endpoints().is_none() {
            return false;
        }
        let agendas = &mut self.agendas;
        let packet = |ack, now| Packet {
            size: HANDSHAKE_ACK_SIZE,
            flow,
            ecn: Ecn::NotEct,
            payload: Carried::plain(ack, now, route),
        };
        let (mut now, mut has_other_ack) = (self.now, false);
        // Whether an entry of a calendar has moved.
        let mut is_over = false;
        while let Some(endpoints) = state.endpoints_mut() {
            let segment = first.following(train.number());
            let is_full = endpoints.begin_segment(train.due(), &segment);
            let mut has_pairs = false;
            if is_full
                && train.has_second()
                && let Some(pairs) = endpoints.expect_pairs(&segment)
            {
                while !is_over && train.due() < before {
                    let mut second = train;
                    second.pass();
                    let at = (train.due(), second.due());
                    if at.1 >= before {
                        break;
                    }
                    let Some(ack) = endpoints.handle_plain_pair(&pairs, at, &first) else {
                        break;
                    };
                    has_pairs = true;
                    now = at.1;
                    train = second;
                    train.pass();
                    // The receiver has no timer now.
                    is_over = back.delay(now, packet(ack, now), agendas);
                }
            }
            if !has_pairs {
                now = train.due();
                train.pass();
                endpoints.take_segment(now, &segment, is_full);
                if !endpoints.has_ack() {
                    is_over = state.keep_receiver(agendas);
                } else if let Some(ack) = endpoints.receiver().poll_plain_ack(now) {
                    is_over = back.delay(now, packet(ack, now), agendas);
                } else {
                    has_other_ack = true;
                }
            }
            if has_other_ack || is_over {
                break;
            }
            if train.due() >= before {
                // The next entry may be like this one.
                link.link.pass(&train, size);
                let Some((next, front)) = link.link.entry() else {
                    train = TrainPackets::NONE;
                    break;
                };
                train = next;
                if train.due() >= before
                    || front.flow != flow
                    || front.size != size
                    || front.ecn == Ecn::Ce
                    || !front.payload.is_plain_data()
                    || front.payload.hop() != first.hop()
                {
                    break;
                }
                first = front.payload;
            }
        }
        link.link.pass(&train, size);
        self.now = now;
        if has_other_ack {
            self.acknowledge(flow);
        }
        true
    }

    /// Passes a plain ACK that has left a link to its sender, and then other plain ACKs of that flow that
    /// leave the link before `before`.
    #[inline(never)]
    pub(super) fn acks_arrive(
        &mut self,
        index: u32,
        side: Side,
        before: Instant,
        flow: u32,
        first: &PlainAck,
    ) {
        let changes = self.agendas[side].changes();
        let mut first = Some(*first);
        loop {
            let state = self.flows.get_mut(flow);
            let link = &mut self.fabric.link(index).link;
            let mut now = self.now;
            let next = loop {
                let mut ack = first.take();
                if ack.is_none() {
                    let due = link.first_due();
                    let front = link.front().filter(|it| due < before && it.flow == flow);
                    ack = front.and_then(|it| it.payload.as_plain());
                    if ack.is_some() {
                        now = due;
                        link.drop_front();
                    }
                }
                let (Some(ack), Some(endpoints)) = (ack, state.endpoints_mut()) else {
                    break Next::Other;
                };
                if !endpoints.handle_ordinary_ack(now, &ack) {
                    break Next::Special(ack);
                }
                let is_complete = endpoints.sender().is_complete();
                let looks = endpoints.startup_is_due(now);
                if is_complete || looks {
                    break Next::Look { looks, is_complete };
                }
                if endpoints.sender().begins_burst_after_ack(now) {
                    break Next::Send;
                }
                if state.keep_sender(&mut self.agendas) {
                    break Next::Other;
                }
            };
            self.now = now;
            match next {
                Next::Send => self.transmit(flow),
                Next::Other => return,
                Next::Special(ack) => return self.take_ack(flow, &ack.into(), false),
                Next::Look { looks, is_complete } => {
                    if looks {
                        self.check_startup(flow);
                    }
                    if is_complete {
                        return self.complete(flow);
                    }
                    self.transmit(flow);
                }
            }
            if self.agendas[side].changes() != changes {
                return;
            }
        }
    }
}

/// What follows ACKs that have arrived.
enum Next {
    /// Nothing, or another packet.
    Other,
    /// Segments that may leave.
    Send,
    /// What the last one, an ordinary one, has to do with the start-up or the end of the flow.
    Look { looks: bool, is_complete: bool },
    /// The last one, which is no ordinary one.
    Special(PlainAck),
}

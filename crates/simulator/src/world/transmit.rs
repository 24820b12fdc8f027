//! What the ends of a flow send: the ACKs of its receiver, and the segments of its sender, one by one
//! or in bursts.

use measure::Vantage;
use network::{Ecn, Packet, Payload};
use tcp::segment::Burst;

use crate::carried::{Carried, HANDSHAKE_ACK_SIZE, ack_size, data_size};
use crate::flow::FlowState;

use super::World;

impl World<'_> {
    /// Sends the ACKs that a receiver has ready, and keeps its timer in the calendar.
    #[inline]
    pub(super) fn acknowledge(&mut self, flow: u32) {
        let now = self.now;
        loop {
            let state = self.flows.get_mut(flow);
            let (route, asks_routers) = (state.place().acks, state.asks_routers());
            let Some(endpoints) = state.endpoints_mut() else {
                return;
            };
            if !asks_routers
                && !self.is_plain
                && let Some(ack) = endpoints.receiver().poll_plain_ack(now)
            {
                let packet = Packet {
                    size: HANDSHAKE_ACK_SIZE,
                    flow,
                    ecn: Ecn::NotEct,
                    payload: Carried::plain(ack, now, route),
                };
                state.keep_receiver(&mut self.agendas);
                self.offer(&packet);
                return;
            }
            let Some(ack) = endpoints.receiver().poll_ack(now) else {
                state.keep_receiver(&mut self.agendas);
                return;
            };
            if self.is_plain {
                self.see_ack(flow, &ack, Vantage::Receiver);
            }
            let mut packet = Packet {
                size: ack_size(&ack),
                flow,
                ecn: Ecn::NotEct,
                payload: Carried::ack(&ack, now, route, self.fabric.aside()),
            };
            if asks_routers {
                self.echo(&ack, &mut packet);
            }
            self.offer(&packet);
        }
    }

    /// Sends all segments that a sender may send, and keeps its timer and its application in the
    /// calendar.
    #[inline]
    pub(super) fn transmit(&mut self, flow: u32) {
        let now = self.now;
        if self.needs_wakeups {
            self.settle_device(flow);
        }
        let is_watched = self.is_plain || self.needs_wakeups;
        loop {
            let mut state = self.flows.get_mut(flow);
            let Some(endpoints) = state.endpoints_mut() else {
                return;
            };
            let burst = if self.is_plain {
                endpoints.sender().poll_transmit(now).map(Burst::Single)
            } else {
                endpoints.sender().poll_burst(now)
            };
            let Some(burst) = burst else {
                if is_watched {
                    self.note_end_of_pass(flow);
                    state = self.flows.get_mut(flow);
                }
                state.keep_sender(&mut self.agendas);
                return;
            };
            let is_last = !is_watched && endpoints.sender().is_pass_over();
            if is_last {
                // What it sends changes no timer.
                state.keep_sender(&mut self.agendas);
            }
            let (route, peer) = (state.place().data, state.peer());
            let asks_routers = state.asks_routers();
            let (packet, count) = match burst {
                Burst::Full(full) => {
                    let first = full.segment(0);
                    let packet = Packet {
                        size: data_size(&first),
                        flow,
                        ecn: codepoint(state),
                        payload: Carried::data(&first, now, route),
                    };
                    (packet, full.count)
                }
                Burst::Single(segment) => {
                    // Retransmissions and segments without data are not ECN-capable (RFC 3168,
                    // section 6.1.5; Linux too).
                    let ecn = if segment.len > 0 && !segment.retransmission {
                        codepoint(state)
                    } else {
                        Ecn::NotEct
                    };
                    if self.is_plain {
                        self.see_data_leave(flow, &segment, ecn);
                    }
                    let packet = Packet {
                        size: data_size(&segment),
                        flow,
                        ecn,
                        payload: Carried::data(&segment, now, route),
                    };
                    (packet, 1)
                }
            };
            if let Some(peer) = peer {
                self.offer_with_ack(peer, packet, count, asks_routers);
            } else if count > 1 {
                self.offer_burst_here(packet, count);
            } else {
                self.offer_segment(packet, asks_routers);
            }
            if is_last {
                return;
            }
        }
    }

    /// A sender has sent all that it may send.
    #[cold]
    #[inline(never)]
    fn note_end_of_pass(&mut self, flow: u32) {
        if self.is_plain {
            self.note_limit(flow);
        }
        if self.needs_wakeups {
            self.schedule_wakeup(flow);
        }
    }

    /// Offers one data segment, with the sender's request to routers.
    #[inline(always)]
    pub(super) fn offer_segment(&mut self, mut packet: Packet<Carried>, asks_routers: bool) {
        let route = packet.payload.hop();
        if asks_routers {
            self.ask(&packet.payload.data_segment(), &mut packet);
        }
        let size = packet.size;
        let accepted = self.offer(&packet);
        if self.needs_wakeups && accepted {
            self.fill_device(packet.flow, route, size);
        }
    }

    /// Offers `count` packets that differ only in their sequence numbers; `packet` is the first.
    /// They carry no requests to routers.
    #[inline(never)]
    pub(super) fn offer_burst(&mut self, packet: Packet<Carried>, count: u32) {
        self.offer_burst_here(packet, count);
    }

    /// The same in the code of its caller.
    #[inline(always)]
    fn offer_burst_here(&mut self, packet: Packet<Carried>, count: u32) {
        let now = self.now;
        let link = self.fabric.routes().link(packet.payload.hop());
        let state = self.fabric.links().get(link as usize);
        if self.needs_wakeups || state.is_some_and(|state| state.router.is_some()) {
            // The device and the router see each packet.
            return self.offer_each(packet, count);
        }
        let agendas = &mut self.agendas;
        let accepted = if state.is_some() {
            let state = self.fabric.link(link);
            state.push_train(now, packet, count, agendas)
        } else if let Some(sent) = self.fabric.send_burst(now, link, &packet, count, agendas) {
            sent
        } else {
            return self.offer_each(packet, count);
        };
        self.note_offered(link, &packet, count - accepted);
    }

    /// The same one by one.
    #[inline(never)]
    fn offer_each(&mut self, packet: Packet<Carried>, count: u32) {
        for k in 0..count {
            let payload = packet.payload.following(k);
            self.offer_segment(Packet { payload, ..packet }, false);
        }
    }
}

/// The codepoint of the segments of a flow that may be ECN-capable.
#[inline]
fn codepoint(state: &mut FlowState<'_>) -> Ecn {
    if !state.place().ecn {
        return Ecn::NotEct;
    }
    let endpoints = state.endpoints_mut();
    if endpoints.is_some_and(|it| it.sender().sends_ect1()) {
        Ecn::Ect1
    } else {
        Ecn::Ect
    }
}

//! Flows of stacks other than the simulated TCP.
//!
//! A packet that arrives makes its flow act at the same instant: the calendar has flows behind
//! links, so each flow acts after all arrivals of the instant. The hosts of a flow that is over still
//! answer packets, and their timers expire, until its `duration` is over or the run ends.

use measure::FlowResult;
use network::{Ecn, Packet};
use units::Instant;

use super::World;
use crate::carried::Carried;
use crate::fabric::FORWARD;
use crate::flow::{CLIENT, FlowState, Foreign, Leaving, Pool};
use crate::host::{Call, HEADERS, Passing, Stacks};

/// The stacks of a run other than the simulated TCP.
#[derive(Default)]
pub(super) struct ForeignStacks<'a> {
    stacks: Option<&'a dyn Stacks>,
    observe: Option<&'a mut dyn FnMut(Passing<'_>)>,
}

impl<'a> World<'a> {
    /// The same run with stacks for the flows that name one; each datagram that leaves one of their
    /// hosts, or arrives at one, is shown to `observe`.
    pub fn with(mut self, stacks: &'a dyn Stacks, observe: &'a mut dyn FnMut(Passing<'_>)) -> Self {
        self.foreign = ForeignStacks {
            stacks: Some(stacks),
            observe: Some(observe),
        };
        self
    }

    /// Connects a measured flow that starts now, if it is one of another stack.
    #[cold]
    #[inline(never)]
    pub(super) fn connect_foreign(&mut self, flow: u32) {
        let now = self.now;
        let Some(stacks) = self.foreign.stacks else {
            return;
        };
        let state = &mut self.flows.measured[flow as usize];
        let pair = stacks.connect(&Call {
            now,
            flow,
            config: state.place().config,
            streams: &self.streams,
            seed: self.seed,
            traced: self.recorder.is_traced(),
        });
        state.connect_foreign(Foreign::new(pair, now, state.place().config.size));
        self.recorder.await_capacity(flow);
        self.awaken(flow);
    }

    /// Lets a flow act at this instant.
    fn awaken(&mut self, flow: u32) {
        let now = self.now;
        let state = self.flows.get_mut(flow);
        state.wake_application(now);
        state.keep_sender(&mut self.agendas);
    }

    /// A datagram arrives at its host.
    #[cold]
    #[inline(never)]
    pub(super) fn datagram_arrives(&mut self, flow: u32, carried: &Carried, ecn: Ecn) {
        let now = self.now;
        let datagram = carried.take_datagram(self.fabric.aside());
        let end = self.end();
        let state = self.flows.get_mut(flow);
        if now >= end.min(state.place().stop) {
            return;
        }
        let Some(foreign) = state.foreign_mut() else {
            return;
        };
        if let Some(observe) = &mut self.foreign.observe {
            observe(Passing {
                now,
                flow,
                is_forward: carried.datagram_to() != CLIENT,
                arrives: true,
                datagram: &datagram,
            });
        }
        let latency = now.saturating_since(carried.sent);
        let latency = carried.has_stream_data().then_some(latency);
        foreign.receive(now, carried.datagram_to(), ecn, latency, &datagram);
        self.awaken(flow);
    }

    /// The network dropped a datagram.
    pub(super) fn note_dropped_foreign(&mut self, at: Instant, flow: u32, carried: &Carried) {
        if carried.has_stream_data()
            && let Some(foreign) = self.flows.get_mut(flow).foreign_mut()
        {
            foreign.on_drop(at);
        }
    }

    /// Lets the hosts and the application of a flow act, and the hosts transmit.
    #[cold]
    #[inline(never)]
    pub(super) fn foreign_acts(&mut self, flow: u32) {
        let now = self.now;
        let is_past = now >= self.end();
        let state = self.flows.get_mut(flow);
        state.wake_application(Instant::MAX);
        let (config, stop) = (state.place().config, state.place().stop);
        if let Some(foreign) = state.foreign_mut().filter(|_| !is_past) {
            if now < stop {
                foreign.act(now, config);
                while let Some(leaving) = self.poll_foreign(flow) {
                    self.offer_datagram(flow, leaving);
                }
            } else {
                foreign.stop(now);
            }
            self.note_foreign_end(flow);
        }
        let state = self.flows.get_mut(flow);
        if let Some(foreign) = state.foreign_mut().filter(|_| !is_past && now < stop) {
            let deadline = foreign.deadline().max(now).min(stop);
            state.wake_application(deadline);
        }
        let (side, deadline) = (state.sender_side(), state.application_due());
        state.schedule(side, deadline, &mut self.agendas);
    }

    fn poll_foreign(&mut self, flow: u32) -> Option<Leaving> {
        let now = self.now;
        let foreign = self.flows.get_mut(flow).foreign_mut()?;
        foreign.poll_transmit(now)
    }

    fn offer_datagram(&mut self, flow: u32, leaving: Leaving) {
        let now = self.now;
        let place = self.flows.get_mut(flow).place();
        let is_forward = leaving.from == CLIENT;
        let route = if is_forward { place.data } else { place.acks };
        let ecn = if place.config.ecn {
            leaving.transmit.ecn
        } else {
            Ecn::NotEct
        };
        let size = leaving.transmit.datagram.len() as u32 + HEADERS;
        if let Some(observe) = &mut self.foreign.observe {
            observe(Passing {
                now,
                flow,
                is_forward,
                arrives: false,
                datagram: &leaving.transmit.datagram,
            });
        }
        let payload = Carried::datagram(
            leaving.transmit.datagram,
            leaving.from,
            leaving.has_data,
            now,
            route,
            self.fabric.aside(),
        );
        self.offer(&Packet {
            size,
            flow,
            ecn,
            payload,
        });
    }

    /// Counts a flow that has ended, once.
    fn note_foreign_end(&mut self, flow: u32) {
        let now = self.now;
        let state = self.flows.get_mut(flow);
        let foreign = state.foreign_mut();
        if !foreign.is_some_and(|foreign| foreign.take_end(now)) {
            return;
        }
        self.note_last_busy_period(flow);
        self.unfinished -= 1;
    }

    /// The last busy period of the bottleneck may be the capacity point of a flow.
    fn note_last_busy_period(&mut self, flow: u32) {
        let now = self.now;
        self.fabric.link(FORWARD).advance(now);
        self.note_busy_periods();
        let link = &self.fabric.links()[FORWARD as usize].link;
        let state = &mut self.flows.measured[flow as usize];
        if let Some(period) = link.last_busy_period(now)
            && self.fabric.takes_path(state.place().data)
        {
            state.note_busy(period);
        }
    }

    /// The results of the flows of other stacks at the end of the run.
    pub(super) fn finish_foreign(&mut self) {
        let Some(stacks) = self.foreign.stacks else {
            return;
        };
        for flow in 0..self.flows.measured.len() as u32 {
            let state = &self.flows.measured[flow as usize];
            let config = state.place().config;
            if !config.stack.is_foreign() {
                continue;
            }
            let unopened = unopened(state, stacks, &mut self.flows.pool);
            if state.foreign().is_none() {
                self.flows.keep_result(flow, unopened);
                continue;
            }
            self.note_last_busy_period(flow);
            let state = &mut self.flows.measured[flow as usize];
            if let Some(foreign) = state.foreign_mut() {
                let (result, trace) = foreign.end(self.now, config, unopened);
                state.keep_trace(trace);
                self.flows.keep_result(flow, result);
            }
        }
    }
}

fn unopened(state: &FlowState<'_>, stacks: &dyn Stacks, pool: &mut Pool<'_>) -> FlowResult {
    let mut result = state.unstarted(pool);
    stacks.label(state.place().config, &mut result);
    result
}

//! The start of measured flows, and the calendar entries of flows.

use engine::Component;
use rand_core::RngCore;

use super::{World, relay};
use crate::agenda::LEFT;

impl World<'_> {
    /// Starts the measured flows that are due.
    pub(super) fn arrivals(&mut self) {
        self.keep_order_of_flows();
        let now = self.now;
        while let Some(flow) = self.starts.poll_flow(now) {
            let component = self.component(flow);
            let streams = &self.streams;
            let seed = || streams.stream(&format!("flow {flow}")).next_u64();
            let turns = &self.turns;
            let state = &mut self.flows.measured[flow as usize];
            turns.place_ends(state);
            state.enter_calendar(component);
            if state.place().config.stack.is_foreign() {
                self.connect_foreign(flow);
                continue;
            }
            let memory = self.memories.entry(state.place().acks).or_default();
            let (traced, is_plain) = (self.recorder.is_traced(), self.is_plain);
            state.start(now, seed, memory, traced, is_plain, &mut self.flows.pool);
            state.watch(self.watching.iter().map(|flow| *flow.algorithm));
            self.recorder.await_capacity(flow);
            self.measure_startup(flow);
            if let Some((course, ways)) = self.starts.take_course(flow) {
                let seed = self
                    .streams
                    .stream(&format!("legs of flow {flow}"))
                    .next_u64();
                if !self.split(flow, &relay::behind(course, &ways), seed) {
                    self.finish(flow);
                    continue;
                }
            }
            self.transmit(flow);
        }
        let next = self.starts.next_flow();
        let fixed = &mut self.agendas[LEFT].fixed;
        fixed.schedule(Component::default(), next);
    }

    /// An entry for `flow` in the calendars of flows.
    pub(super) fn component(&mut self, flow: u32) -> Component {
        let component = self.free.pop().unwrap_or_else(|| {
            self.running.push(flow);
            self.agendas.add_flow()
        });
        self.running[component.index()] = flow;
        component
    }

    /// Frees the entry of a flow that has ended.
    pub(super) fn release(&mut self, component: Component) {
        self.agendas.clear_flow(component);
        self.free.push(component);
    }
}

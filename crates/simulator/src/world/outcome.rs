//! Capacity points, the end of a flow, and the result of the run.

use measure::{RunResult, Stack, Traces};
use network::Period;

use super::World;
use crate::RunOutput;
use crate::fabric::FORWARD;
use crate::flow::FlowState;
use crate::numbers::BACKGROUND;

impl World<'_> {
    /// Processes each completed busy period of the bottleneck.
    #[inline(always)]
    pub(super) fn note_busy_periods(&mut self) {
        while let Some(period) = self.fabric.link(FORWARD).link.take_busy_period() {
            self.note_busy(period);
        }
    }

    /// A busy period of the bottleneck from `period.0` to `period.1` is the capacity point of each
    /// flow over the path whose base RTT it covers.
    #[cold]
    fn note_busy(&mut self, period: Period) {
        let flows = &mut self.flows.measured;
        let fabric = &self.fabric;
        self.recorder.keep_unresolved(|flow| {
            let state = &mut flows[flow as usize];
            if !fabric.takes_path(state.place().data) {
                return false;
            }
            state.note_busy(period);
            state.awaits_capacity()
        });
    }

    pub(super) fn finish(&mut self, flow: u32) {
        if flow & BACKGROUND != 0 {
            return self.finish_background(flow);
        }
        self.catch_up();
        let (_, behind) = self.flows.legs(flow);
        let arrived = self.end_legs(&behind);
        let now = self.now;
        self.fabric.link(FORWARD).advance(now);
        self.note_busy_periods();
        self.end_startup(flow);
        let link = &self.fabric.links()[FORWARD as usize].link;
        let state = &mut self.flows.measured[flow as usize];
        if let Some(period) = link.last_busy_period(now)
            && self.fabric.takes_path(state.place().data)
        {
            state.note_busy(period);
        }
        let pool = &mut self.flows.pool;
        if !self.watching.is_empty() {
            let results = state.watched(&self.watching, now, arrived, pool);
            self.watched.extend(results);
        }
        let component = state.leave_calendar();
        if let Some(endpoints) = state.take_endpoints() {
            let memory = self.memories.entry(state.place().acks).or_default();
            let result = state.finish(endpoints, now, memory, arrived, pool);
            self.flows.keep_result(flow, result);
        }
        if let Some(component) = component {
            self.release(component);
        }
        self.unfinished -= 1;
    }

    pub(super) fn output(&mut self) -> RunOutput {
        self.flows.pool.end();
        for link in 0..self.fabric.links().len() as u32 {
            self.fabric.link(link).advance(self.now);
            self.note_dropped(link);
        }
        for flow in 0..self.flows.measured.len() as u32 {
            if self.flows.measured[flow as usize].endpoints().is_some() {
                self.finish(flow);
            }
        }
        self.finish_foreign();
        let traffic = self.finish_traffic();
        let path = &self.scenario.path.name;
        let mut traces = self.recorder.is_traced().then(|| Traces {
            run: self.run,
            scenario: self.scenario.name.clone(),
            path: path.clone(),
            ..Traces::default()
        });
        let mut result = RunResult {
            run: self.run,
            seed: self.seed,
            stack: Stack::Simulated,
            stack_version: None,
            scenario: self.scenario.name.clone(),
            path: path.clone(),
            end_s: self.now.as_secs_f64(),
            flows: self.flows.take_results(),
            links: Vec::new(),
            traffic,
            network: self.fabric.finish_cloud(self.now),
        };
        while let Some(packet) = self.agendas.take_packet() {
            let link = self.fabric.routes().link(packet.payload.hop());
            self.fabric.recall(link, packet.size);
        }
        let (links, link_traces) = self.fabric.finish(self.now);
        result.links = links;
        if let Some(traces) = &mut traces {
            traces.links = link_traces;
        }
        let packets = self
            .recorder
            .take_packets(|flow| self.flows.measured[flow as usize].place().smss);
        if let Some(traces) = &mut traces {
            let flows = self.flows.measured.iter_mut();
            traces.flows.extend(flows.filter_map(FlowState::take_trace));
        }
        RunOutput {
            result,
            traces,
            packets,
        }
    }
}

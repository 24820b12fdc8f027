//! Capacity points, the end of a flow, and the result of the run.

use measure::{RunResult, Stack, Traces};
use network::Period;

use super::{FORWARD, REVERSE, World};
use crate::RunOutput;
use crate::flow::FlowState;
use crate::flows::BACKGROUND;

impl World<'_> {
    /// Processes each completed busy period of the bottleneck.
    #[inline(always)]
    pub(super) fn note_busy_periods(&mut self) {
        while let Some(period) = self.links[FORWARD as usize].link.take_busy_period() {
            self.note_busy(period);
        }
    }

    /// A busy period of the bottleneck from `period.0` to `period.1` is the capacity point of each
    /// flow over the path whose base RTT it covers.
    #[cold]
    fn note_busy(&mut self, period: Period) {
        let flows = &mut self.flows.measured;
        let routes = &self.routes;
        self.unresolved.retain(|&flow| {
            let state = &mut flows[flow as usize];
            if !routes.contains(state.data, FORWARD) {
                return false;
            }
            resolve(state, period);
            state
                .endpoints
                .as_ref()
                .is_some_and(|endpoints| endpoints.capacity.is_none())
        });
    }

    pub(super) fn finish(&mut self, flow: u32) {
        if flow & BACKGROUND != 0 {
            return self.finish_background(flow);
        }
        self.catch_up();
        let arrived = self.end_legs(flow);
        let now = self.now;
        self.links[FORWARD as usize].advance(now);
        self.note_busy_periods();
        self.end_startup(flow);
        let link = &self.links[FORWARD as usize].link;
        let state = &mut self.flows.measured[flow as usize];
        if let Some(period) = link.last_busy_period(now)
            && self.routes.contains(state.data, FORWARD)
        {
            resolve(state, period);
        }
        let memory = self.memories.entry(state.acks).or_default();
        let result = state.finish(now, memory, arrived, &mut self.flows.pool);
        self.flows.results[flow as usize] = result;
        if let Some(component) = state.component.take() {
            self.release(component);
        }
        self.unresolved.retain(|&other| other != flow);
        self.unfinished -= 1;
    }

    pub(super) fn output(mut self) -> RunOutput {
        for link in 0..self.links.len() as u32 {
            self.links[link as usize].advance(self.now);
            self.note_dropped(link);
        }
        for flow in 0..self.flows.measured.len() as u32 {
            if self.flows.measured[flow as usize].endpoints.is_some() {
                self.finish(flow);
            }
        }
        let traffic = self.finish_traffic();
        let path = &self.scenario.path.name;
        let mut traces = self.traced.then(|| Traces {
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
            network: self.finish_cloud(),
        };
        let reverse_paths = self.graph.reverse_links();
        let own = self.graph.own_links(&self.scenario.path.routers);
        let mut links = Vec::with_capacity(self.links.len());
        for link in std::mem::take(&mut self.links) {
            let (summary, trace) = link.finish(self.now);
            links.push(summary);
            if let (Some(traces), Some(trace)) = (&mut traces, trace) {
                traces.links.push(trace);
            }
        }
        let accesses = self.summarize_accesses(&links);
        let others = links.split_off(own);
        // A link that replaces the path's reverse link for some flows counts there.
        let reverse = &mut links[REVERSE as usize];
        for (link, index) in others.iter().zip(own as u32..) {
            if reverse_paths.contains(&index) {
                reverse.packets += link.packets;
                reverse.drops += link.drops;
                reverse.marks += link.marks;
            }
        }
        if self.scenario.path.is_absent {
            links.drain(..=REVERSE as usize);
        }
        links.extend(accesses);
        result.links = links;
        let packets = self.take_packets();
        if let Some(traces) = &mut traces {
            let mut flows = self.flows.measured.into_iter();
            traces.flows.extend(
                flows
                    .by_ref()
                    .filter_map(|flow| flow.trace)
                    .map(|trace| *trace),
            );
        }
        RunOutput {
            result,
            traces,
            packets,
        }
    }
}

/// A busy period sets a flow's capacity point if it lasts one base RTT while the flow sends data.
/// (A SYN that waits on a slow trace does not indicate capacity.)
fn resolve(state: &mut FlowState<'_>, (since, until): Period) {
    if let Some(endpoints) = state.endpoints.as_deref_mut()
        && endpoints.capacity.is_none()
        && let Some(established) = endpoints.established
    {
        let start = since.max(established);
        if until.saturating_since(start) >= state.base_rtt {
            endpoints.capacity = Some(start);
        }
    }
}

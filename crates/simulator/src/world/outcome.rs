//! Capacity points, the end of a flow, and the result of the run.

use measure::{LinkResult, RunResult, Stack, Traces};
use network::Period;

use super::{FORWARD, REVERSE, World};
use crate::RunOutput;
use crate::flow::FlowState;
use crate::flows::BACKGROUND;

impl World<'_> {
    /// Processes each completed busy period of the bottleneck.
    #[inline]
    pub(super) fn note_busy_periods(&mut self) {
        while let Some(period) = self.links[FORWARD as usize].link.take_busy_period() {
            self.note_busy(period);
        }
    }

    /// A busy period of the bottleneck from `period.0` to `period.1` is the capacity point of each
    /// flow whose base RTT it covers.
    #[cold]
    fn note_busy(&mut self, period: Period) {
        let flows = &mut self.flows.measured;
        self.unresolved.retain(|&flow| {
            let state = &mut flows[flow as usize];
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
        let now = self.now;
        self.links[FORWARD as usize].link.advance(now);
        self.note_busy_periods();
        let link = &self.links[FORWARD as usize].link;
        let state = &mut self.flows.measured[flow as usize];
        if let Some(period) = link.last_busy_period(now) {
            resolve(state, period);
        }
        let memory = self.memories.entry(state.extra_delay).or_default();
        let result = state.finish(now, memory, &mut self.flows.pool);
        self.flows.results[flow as usize] = result;
        if let Some(component) = state.component.take() {
            self.calendar.schedule(component, None);
            self.free.push(component);
        }
        self.unresolved.retain(|&other| other != flow);
        self.unfinished -= 1;
    }

    pub(super) fn output(mut self) -> RunOutput {
        for link in 0..self.links.len() as u32 {
            self.links[link as usize].link.advance(self.now);
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
            path: path.clone(),
            ..Traces::default()
        });
        let mut result = RunResult {
            run: self.run,
            seed: self.seed,
            stack: Stack::Simulated,
            path: path.clone(),
            end_s: self.now.as_secs_f64(),
            flows: self.flows.take_results(),
            links: Vec::with_capacity(2),
            traffic,
        };
        let reverse_paths: Vec<_> = self.reverse_paths.values().map(|links| links[0]).collect();
        for (index, link) in self.links.into_iter().enumerate() {
            let (summary, trace) = link.finish(self.now);
            if index <= self.last_router as usize {
                result.links.push(summary);
            } else if reverse_paths.contains(&(index as u32)) {
                // This link replaces the path's reverse link for some flows, so its packets count
                // there.
                let LinkResult {
                    packets,
                    drops,
                    marks,
                    ..
                } = summary;
                result.links[REVERSE as usize].packets += packets;
                result.links[REVERSE as usize].drops += drops;
                result.links[REVERSE as usize].marks += marks;
            }
            if let (Some(traces), Some(trace)) = (&mut traces, trace) {
                traces.links.push(trace);
            }
        }
        if let Some(traces) = &mut traces {
            let mut flows = self.flows.measured.into_iter();
            traces.flows.extend(
                flows
                    .by_ref()
                    .filter_map(|flow| flow.trace)
                    .map(|trace| *trace),
            );
        }
        RunOutput { result, traces }
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

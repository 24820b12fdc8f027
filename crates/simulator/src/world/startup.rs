//! The start-up of measured flows: what is measured of it.
//!
//! A flow is checked after each ACK that ends its slow start or a round trip of it, and after others when
//! its probe asks for it.
//! Looking changes nothing, except for an oracle, which hears of the path.

use measure::StartupProbe;

use super::World;
use crate::fabric::FORWARD;
use crate::oracle::payload_rate;

impl World<'_> {
    /// Begins to measure the start-up of a flow that starts now.
    pub(super) fn measure_startup(&mut self, flow: u32) {
        let state = &mut self.flows.measured[flow as usize];
        let link = &self.fabric.links()[FORWARD as usize].link;
        let service = &self.scenario.path.forward.service;
        let rate = service.mean_rate();
        let rate = rate.filter(|_| self.fabric.takes_path(state.place().data));
        let capacity = rate.map(|rate| payload_rate(rate, link.overhead()));
        let probe = StartupProbe::new(state.place().start, state.place().base_rtt, capacity);
        let probe = self.flows.pool.startup(probe);
        if let Some(endpoints) = state.endpoints_mut() {
            endpoints.measure_startup(probe);
        }
    }

    /// Looks at the start-up of a measured flow whose sender has just processed an ACK or a
    /// timeout.
    #[cold]
    #[inline(never)]
    pub(super) fn check_startup(&mut self, flow: u32) {
        let now = self.now;
        let state = &mut self.flows.measured[flow as usize];
        let uses_path = self.fabric.takes_path(state.place().data);
        let base_rtt = state.place().base_rtt;
        let Some(endpoints) = state.endpoints_mut() else {
            return;
        };
        let mean = self.scenario.path.forward.service.mean_rate();
        let bottleneck = uses_path.then(|| self.fabric.link(FORWARD));
        endpoints.check_startup(now, base_rtt, mean, bottleneck);
    }

    /// Looks for the last time at the start-up of a measured flow that ends now.
    pub(super) fn end_startup(&mut self, flow: u32) {
        let now = self.now;
        let state = &mut self.flows.measured[flow as usize];
        if self.fabric.takes_path(state.place().data)
            && let Some(endpoints) = state.endpoints_mut()
        {
            endpoints.end_startup(now, self.fabric.link(FORWARD));
        }
    }
}

//! The start-up of measured flows: what is measured of it.
//!
//! A flow is looked at after each ACK of its slow start, and after that when its probe asks for it.
//! Looking changes nothing, except for an oracle, which hears of the path.

use measure::{Bottleneck, StartupProbe};
use units::Instant;

use super::World;
use crate::fabric::{FORWARD, LinkState};
use crate::oracle::{Oracle, payload_rate};

impl World<'_> {
    /// Begins to measure the start-up of a flow that starts now.
    pub(super) fn measure_startup(&mut self, flow: u32) {
        let state = &mut self.flows.measured[flow as usize];
        let link = &self.fabric.links()[FORWARD as usize].link;
        let service = &self.scenario.path.forward.service;
        let rate = service.mean_rate();
        let rate = rate.filter(|_| self.fabric.takes_path(state.data));
        let capacity = rate.map(|rate| payload_rate(rate, link.overhead()));
        let probe = StartupProbe::new(state.start, state.base_rtt, capacity);
        if let Some(endpoints) = state.endpoints.as_deref_mut() {
            endpoints.oracle = endpoints
                .sender
                .knows_path()
                .then(|| Box::new(Oracle::default()));
            endpoints.startup = Some(Box::new(probe));
            endpoints.look = Instant::ZERO;
        }
    }

    /// Looks at the start-up of a measured flow whose sender has just processed an ACK or a
    /// timeout.
    #[cold]
    #[inline(never)]
    pub(super) fn look_at_startup(&mut self, flow: u32) {
        let now = self.now;
        let state = &mut self.flows.measured[flow as usize];
        let uses_path = self.fabric.takes_path(state.data);
        let base_rtt = state.base_rtt;
        let Some(endpoints) = state.endpoints.as_deref_mut() else {
            return;
        };
        let sender = &mut endpoints.sender;
        if let Some(oracle) = endpoints.oracle.as_deref_mut()
            && sender.is_established()
            && sender.window().in_slow_start()
        {
            let link = uses_path.then(|| self.fabric.link(FORWARD));
            let mean = self.scenario.path.forward.service.mean_rate();
            sender.tell_path(now, &oracle.look(now, base_rtt, mean, link));
        }
        let Some(startup) = endpoints.startup.as_deref_mut() else {
            return;
        };
        let delivered = sender.payload_delivered().get();
        startup.on_ack(now, sender.snd_una(), sender.snd_nxt(), delivered);
        let exit = sender.slow_start_exit();
        let ends = exit.filter(|_| !startup.has_exited());
        if ends.is_some() || startup.reads_queue(now) {
            let link = self.fabric.link(FORWARD);
            let bottleneck = uses_path.then(|| bottleneck(link, now));
            if let Some(exit) = ends {
                let (in_flight, limited) = (sender.bytes_in_flight(), sender.was_app_limited());
                startup.on_exit(exit.at, in_flight, limited, bottleneck.as_ref());
            }
            if startup.reads_queue(now) {
                startup.on_queue(bottleneck.map(|bottleneck| bottleneck.queue_max_packets));
            }
        }
        startup.plan();
        // An oracle that is in slow start again still wants to know.
        let is_slow = endpoints.oracle.is_some() && sender.window().in_slow_start();
        endpoints.look = if is_slow {
            Instant::ZERO
        } else {
            startup.due()
        };
    }

    /// Looks for the last time at the start-up of a measured flow that ends now.
    pub(super) fn end_startup(&mut self, flow: u32) {
        let now = self.now;
        let state = &mut self.flows.measured[flow as usize];
        if self.fabric.takes_path(state.data)
            && let Some(endpoints) = state.endpoints.as_deref_mut()
            && let Some(startup) = endpoints.startup.as_deref_mut()
        {
            let link = self.fabric.link(FORWARD);
            startup.on_queue(Some(bottleneck(link, now).queue_max_packets));
        }
    }
}

fn bottleneck(state: &mut LinkState, now: Instant) -> Bottleneck {
    state.advance(now);
    Bottleneck {
        queue: state.link.queue_len(now),
        queue_max_packets: state.link.queue_max_packets(),
    }
}

//! What is measured of the start-up of a flow.

use measure::{Bottleneck, StartupProbe};
use units::{Duration, Instant, Rate};

use super::Endpoints;
use crate::fabric::LinkState;
use crate::oracle::Oracle;

impl Endpoints {
    /// Begins to measure the start-up, which an oracle observes if the algorithm asks for one.
    pub fn measure_startup(&mut self, probe: Box<StartupProbe>) {
        self.oracle = self
            .sender
            .knows_path()
            .then(|| Box::new(Oracle::default()));
        self.startup = Some(probe);
        self.next_check = Instant::ZERO;
    }

    /// Whether the start-up is to be checked now, after an ACK or a timeout.
    #[inline(always)]
    pub fn startup_is_due(&mut self, now: Instant) -> bool {
        now >= self.next_check && !self.passes(now)
    }

    /// Whether the probe has taken this ACK.
    fn passes(&mut self, now: Instant) -> bool {
        let Some(startup) = self.startup.as_deref_mut() else {
            return false;
        };
        let sender = &self.sender;
        if startup.ends_round(sender.snd_una())
            || !startup.has_exited() && sender.slow_start_exit().is_some()
            || startup.is_due(now, sender.payload_delivered().get())
        {
            return false;
        }
        self.next_check = startup.due();
        true
    }

    /// Looks at the start-up. `bottleneck` is the path's forward link, if the flow takes it, and
    /// `mean` its mean rate.
    pub fn check_startup(
        &mut self,
        now: Instant,
        base_rtt: Duration,
        mean: Option<Rate>,
        mut bottleneck: Option<&mut LinkState>,
    ) {
        let sender = &mut self.sender;
        if let Some(oracle) = self.oracle.as_deref_mut()
            && sender.is_established()
            && sender.window().in_slow_start()
        {
            let link = bottleneck.as_deref_mut();
            sender.on_path(now, &oracle.path_at(now, base_rtt, mean, link));
        }
        let Some(startup) = self.startup.as_deref_mut() else {
            return;
        };
        let delivered = sender.payload_delivered().get();
        startup.on_ack(now, sender.snd_una(), sender.snd_nxt(), delivered);
        let exit = sender.slow_start_exit();
        let ends = exit.filter(|_| !startup.has_exited());
        if ends.is_some() || startup.reads_queue(now) {
            let seen = bottleneck.map(|link| see(link, now));
            if let Some(exit) = ends {
                let (in_flight, limited) = (sender.bytes_in_flight(), sender.was_app_limited());
                startup.on_exit(exit.at, in_flight, limited, seen.as_ref());
            }
            if startup.reads_queue(now) {
                startup.on_queue(seen.map(|seen| seen.queue_max_packets));
            }
        }
        // An oracle that is in slow start, also again, wants to know.
        let in_slow_start = !startup.has_exited() || sender.window().in_slow_start();
        if self.oracle.is_some() && in_slow_start {
            startup.ask_always();
        } else {
            startup.plan();
        }
        self.next_check = startup.due();
    }

    /// Looks at the bottleneck for the last time.
    pub fn end_startup(&mut self, now: Instant, bottleneck: &mut LinkState) {
        if let Some(startup) = self.startup.as_deref_mut() {
            startup.on_queue(Some(see(bottleneck, now).queue_max_packets));
        }
    }
}

fn see(state: &mut LinkState, now: Instant) -> Bottleneck {
    state.advance(now);
    Bottleneck {
        queue: state.link.queue_len(now),
        queue_max_packets: state.link.queue_max_packets(),
    }
}

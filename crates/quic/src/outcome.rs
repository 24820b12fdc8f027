//! The result of a flow, by the definitions that hold for the simulated TCP.

use std::cell::RefCell;
use std::rc::Rc;

use measure::{CapacityPoint, FlowResult, FlowTrace, SlowStartExitResult, classify};
use simulator::{Ended, Meter, exit_result};
use units::{Duration, Instant};

use crate::dial::Control;
use crate::endpoint::DATAGRAM;
use crate::observer::Observer;

/// What a stack of others did wrong in a run: the first sentence.
pub(crate) type Fault = Rc<RefCell<Option<String>>>;

/// Measures one flow.
pub(crate) struct Watch {
    pub observer: Observer,
    pub control: Control,
    pub fault: Fault,
}

impl Meter for Watch {
    fn on_arrival(&mut self, now: Instant, latency: Duration) {
        self.observer.seen().probe.on_arrival(now, latency);
    }

    fn on_drop(&mut self, at: Instant) {
        self.observer.seen().probe.on_drop(at);
    }

    fn on_delivered(&mut self, bytes: u64) {
        self.observer.seen().delivered = bytes;
    }

    fn result(&mut self, ended: &Ended<'_>) -> FlowResult {
        let fault = ended.facts.iter().find_map(|host| host.fault.clone());
        let mut first = self.fault.borrow_mut();
        *first = first.take().or(fault);
        flow_result(self, ended)
    }

    fn take_trace(&mut self) -> Option<FlowTrace> {
        self.observer.seen().trace.take()
    }
}

fn flow_result(watch: &Watch, ended: &Ended<'_>) -> FlowResult {
    let config = ended.config;
    let now = ended.now;
    let start = config.start;
    let [client, server] = &ended.facts;
    let seen = watch.observer.seen();
    let since = |at: Instant| at.saturating_since(start).as_secs_f64();
    let millis = |span: Duration| span.as_nanos() as f64 / 1e6;
    // A timed transfer never completes.
    let finished = ended
        .finished
        .filter(|_| config.size.is_some() && config.duration.is_none());
    let seconds = since(ended.finished.unwrap_or(now));
    let sent = client.packets_sent;
    let lost = client.packets_lost.min(sent);
    // Times of our algorithms count from the start of the connection.
    let ours = seen.exit.map(|exit| {
        let at = start + exit.at.saturating_since(Instant::ZERO);
        (
            at,
            exit.reason.is_congestion(),
            exit_result(&exit, Instant::ZERO),
        )
    });
    let own = seen.own_exit.map(|exit| {
        let result = SlowStartExitResult::without_evidence(since(exit.at), exit.cwnd, exit.reason);
        (exit.at, exit.reason != "stack", result)
    });
    let exit = match &watch.control {
        Control::Own(_) => own,
        Control::Ours(_) => ours,
    };
    let exit_class = exit
        .as_ref()
        .map(|(at, by_congestion, _)| classify(*at, *by_congestion, ended.capacity));
    FlowResult {
        bytes_acked: server.received,
        completed: finished.is_some(),
        fct_s: finished.map(since),
        goodput_bps: if seconds > 0.0 {
            server.received as f64 * 8.0 / seconds
        } else {
            0.0
        },
        segments_sent: sent,
        segments_retransmitted: lost,
        segments_lost: lost,
        segments_dropped: Some(seen.probe.drops),
        loss_ratio: if sent > 0 {
            lost as f64 / sent as f64
        } else {
            0.0
        },
        timeouts: seen.persistent,
        rtt_min_ms: seen.probe.rtt.min().map(millis),
        rtt_mean_ms: seen.probe.rtt.mean().map(millis),
        rtt_p95_ms: seen.probe.rtt.quantile(950).map(millis),
        slow_start_exit: exit.map(|(_, _, exit)| Box::new(exit.in_packets_of(DATAGRAM.into()))),
        capacity: CapacityPoint {
            true_s: ended.capacity.map(since),
            latency_offset_s: seen.probe.latency.at_capacity().map(since),
            median_throughput_bps: seen.probe.throughput.bits_per_second(),
        },
        first_drop_s: seen.probe.first_drop.map(since),
        first_loss_s: seen.first_loss.map(since),
        exit_class,
        // Later, an idle timeout may close it.
        closed: match ended.finished {
            Some(_) => None,
            None => server.closed.clone().or_else(|| client.closed.clone()),
        },
        ..ended.unopened.clone()
    }
}

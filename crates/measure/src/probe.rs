//! The measurements of a flow while it runs.

use std::collections::VecDeque;

use units::{Bytes, Duration, Instant};

use crate::capacity::{CALM, NOT_CALM};
use crate::{Histogram, LatencyOffset, ThroughputMedian};

/// Bounded state of one flow: RTT distribution, capacity heuristics, first drop.
///
/// What most packets read and write lies together at the end: where many flows run, it is in no
/// cache.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct FlowProbe {
    /// Decreases of the smallest RTT that the arrivals have yet to reach. `None` if calls come in
    /// order of time.
    decreases: Option<VecDeque<(Instant, Duration)>>,
    /// First drop in the network.
    pub first_drop: Option<Instant>,
    /// The smallest RTT at the last arrival, where arrivals lag behind; [`Duration::MAX`] before there
    /// is one.
    min_rtt: Duration,
    /// Capacity by latency.
    pub latency: LatencyOffset,
    /// An arrival with a latency in this range changes nothing ([`LatencyOffset::calm`]). Empty
    /// while arrivals have yet to reach a decrease of the smallest RTT.
    calm: (Duration, Duration),
    delivered: u64,
    /// Data packets dropped by the network.
    pub drops: u64,
    /// Capacity by throughput.
    pub throughput: ThroughputMedian,
    /// RTT samples of the sender.
    pub rtt: Histogram,
}

impl Default for FlowProbe {
    fn default() -> Self {
        Self {
            rtt: Histogram::default(),
            latency: LatencyOffset::default(),
            throughput: ThroughputMedian::default(),
            first_drop: None,
            drops: 0,
            delivered: 0,
            decreases: None,
            min_rtt: Duration::MAX,
            calm: NOT_CALM,
        }
    }
}

impl FlowProbe {
    /// Permits [`Self::on_arrival`] to lag behind [`Self::on_ack`]: it then uses the smallest RTT as
    /// of its own instant. An RTT sample needs a segment that has arrived, and each segment gives at
    /// most one, so no more decreases are stored than segments are in flight.
    pub fn let_arrivals_lag(&mut self) {
        self.decreases = Some(VecDeque::new());
    }

    /// Makes it, which is new, look at no arrivals: nothing asks for its measurements.
    pub fn look_away(&mut self) {
        self.decreases = None;
        self.calm = CALM;
    }

    /// Makes it, which has looked away and recorded no ACK, a new one.
    pub const fn look_again(&mut self) {
        self.calm = NOT_CALM;
    }

    /// Makes it the probe of another flow, in the same memory.
    pub fn renew(&mut self) {
        let mut rtt = std::mem::take(&mut self.rtt);
        rtt.clear();
        *self = Self {
            rtt,
            ..Self::default()
        };
    }

    /// Records a data packet that arrived at the receiver after `latency`.
    #[inline(always)]
    pub fn on_arrival(&mut self, now: Instant, latency: Duration) {
        let (least, most) = self.calm;
        let is_known =
            latency <= most && (latency >= least || self.latency.records_below(now, latency));
        if !is_known {
            self.examine(now, latency);
        }
    }

    /// [`Self::on_arrival`] of a packet that may change something.
    #[inline(never)]
    fn examine(&mut self, now: Instant, latency: Duration) {
        let Some(decreases) = &mut self.decreases else {
            let min_rtt = self.rtt.min();
            self.latency.on_arrival(now, latency, min_rtt);
            self.calm = self.latency.calm(min_rtt);
            return;
        };
        while let Some(&(at, min_rtt)) = decreases.front()
            && at < now
        {
            self.min_rtt = min_rtt;
            decreases.pop_front();
        }
        let min_rtt = Some(self.min_rtt).filter(|&min_rtt| min_rtt < Duration::MAX);
        self.latency.on_arrival(now, latency, min_rtt);
        if decreases.is_empty() {
            self.calm = self.latency.calm(min_rtt);
        }
    }

    /// Records a data packet that the network dropped.
    pub fn on_drop(&mut self, now: Instant) {
        let first = self.first_drop.map_or(now, |first| first.min(now));
        self.first_drop = Some(first);
        self.drops += 1;
    }

    /// Records an ACK: the bytes acknowledged or SACKed so far, its RTT sample, and whether slow
    /// start has ended.
    ///
    /// SACKed bytes count because the cumulative ACK stalls during loss recovery, although the link
    /// is busy.
    #[inline(always)]
    pub fn on_ack(
        &mut self,
        now: Instant,
        delivered: u64,
        rtt: Option<Duration>,
        past_slow_start: bool,
    ) {
        if let Some(rtt) = rtt {
            if self.rtt.min().is_none_or(|min| rtt < min) {
                self.note_decrease(now, rtt);
            }
            self.rtt.record(rtt);
        }
        if past_slow_start {
            let bytes = Bytes::new(delivered.saturating_sub(self.delivered));
            self.throughput.on_ack(now, bytes);
        }
        self.delivered = delivered;
    }

    /// The smallest RTT so far: keeps it for the arrivals that lag behind.
    #[cold]
    fn note_decrease(&mut self, now: Instant, rtt: Duration) {
        if self.latency.is_decided() {
            return;
        }
        self.calm = NOT_CALM;
        if let Some(decreases) = &mut self.decreases {
            decreases.push_back((now, rtt));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_that_lag_see_the_smallest_rtt_of_their_own_instant() {
        let mut in_order = FlowProbe::default();
        let mut lagging = FlowProbe::default();
        lagging.let_arrivals_lag();
        // The RTT falls from 100 ms to 41 ms, and the latency rises by 3 ms with each packet.
        let ack = |probe: &mut FlowProbe, at: u64| {
            let rtt = Duration::from_millis(101 - at);
            probe.on_ack(Instant::from_millis(at), at, Some(rtt), false);
        };
        let arrival = |probe: &mut FlowProbe, at: u64| {
            probe.on_arrival(Instant::from_millis(at), Duration::from_millis(3 * at));
        };
        for turn in (0..60).step_by(12) {
            for at in turn..turn + 12 {
                arrival(&mut in_order, at);
                ack(&mut in_order, at + 1);
                ack(&mut lagging, at + 1);
            }
            for at in turn..turn + 12 {
                arrival(&mut lagging, at);
            }
        }
        assert!(in_order.latency.at_capacity().is_some());
        assert_eq!(
            in_order.latency.at_capacity(),
            lagging.latency.at_capacity()
        );
    }
}

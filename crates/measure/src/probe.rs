//! The measurements of a flow while it runs.

use units::{Bytes, Duration, Instant};

use crate::{Histogram, LatencyOffset, ThroughputMedian};

/// Bounded state of one flow: RTT distribution, capacity heuristics, first drop.
#[derive(Clone, Debug, Default)]
pub struct FlowProbe {
    /// RTT samples of the sender.
    pub rtt: Histogram,
    /// Capacity by latency.
    pub latency: LatencyOffset,
    /// Capacity by throughput.
    pub throughput: ThroughputMedian,
    /// First drop in the network.
    pub first_drop: Option<Instant>,
    /// Data packets dropped by the network.
    pub drops: u64,
    delivered: u64,
}

impl FlowProbe {
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
    pub fn on_arrival(&mut self, now: Instant, latency: Duration) {
        self.latency.on_arrival(now, latency, self.rtt.min());
    }

    /// Records a data packet that the network dropped.
    pub fn on_drop(&mut self, now: Instant) {
        self.first_drop.get_or_insert(now);
        self.drops += 1;
    }

    /// Records an ACK: the bytes acknowledged or SACKed so far, its RTT sample, and whether slow
    /// start has ended.
    ///
    /// SACKed bytes count because the cumulative ACK stalls during loss recovery, although the link
    /// is busy.
    pub fn on_ack(
        &mut self,
        now: Instant,
        delivered: u64,
        rtt: Option<Duration>,
        past_slow_start: bool,
    ) {
        if let Some(rtt) = rtt {
            self.rtt.record(rtt);
        }
        if past_slow_start {
            self.throughput.begin(now);
            self.throughput
                .on_delivered(now, Bytes::new(delivered.saturating_sub(self.delivered)));
        }
        self.delivered = delivered;
    }
}

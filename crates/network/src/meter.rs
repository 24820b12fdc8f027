//! What results and traces report about a link, the same in simulation and emulation.

use units::{Bytes, Instant};

use crate::{Counters, Link, Payload};

/// The state of a link at one moment: a row of its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Packets and bytes (overhead included) in the queue.
    pub queue: (u64, Bytes),
    /// Packets dropped so far.
    pub drops: u64,
    /// Bytes transmitted so far, overhead included.
    pub transmitted: Bytes,
}

/// A link over a run. Utilization and mean queue are taken over the time since its first packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Fraction of its capacity that was used; `None` for an unlimited rate.
    pub utilization: Option<f64>,
    /// Packets and bytes.
    pub counters: Counters,
    /// Largest queue.
    pub queue_max_packets: u64,
    /// Mean queue.
    pub queue_mean_packets: f64,
}

impl<T: Payload> Link<T> {
    /// The state of the link at `now`.
    pub fn sample(&mut self, now: Instant) -> Sample {
        let queue = self.queue_len(now);
        let counters = self.counters();
        let overhead = u64::from(self.overhead()) * counters.packets_out;
        Sample {
            queue,
            drops: counters.dropped(),
            transmitted: counters.bytes_out + Bytes::new(overhead),
        }
    }

    /// The link from the beginning of the run to `now`. As costly as [`Self::capacity`].
    pub fn summary(&mut self, now: Instant) -> Summary {
        let active = now.saturating_since(self.first_packet().unwrap_or(now));
        let share = |value: f64| {
            if active.is_zero() {
                0.0
            } else {
                (value * now.as_secs_f64() / active.as_secs_f64()).max(0.0)
            }
        };
        let has_rate = self.has_rate();
        let utilization = has_rate.then(|| share(self.utilization(now)).min(1.0));
        let queue_mean_packets = share(self.queue_mean_packets(now));
        Summary {
            utilization,
            counters: self.counters(),
            queue_max_packets: self.queue_max_packets(),
            queue_mean_packets,
        }
    }
}

//! The distribution of a queue over time, from samples at equal intervals.
//!
//! A link's queue at any moment is known when the next packet arrives, so a [`QueueSampler`] needs
//! no event: on an arrival it takes all samples that were due before it. An empty queue stays empty
//! until then.

use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use crate::Histogram;

/// Time between two samples.
const INTERVAL: Duration = Duration::from_millis(1);

/// Samples of one queue.
#[derive(Clone, Debug)]
pub struct QueueSampler {
    next: Instant,
    /// A packet counts as a microsecond.
    packets: Histogram,
}

impl QueueSampler {
    /// A sampler whose first sample is due at `start`.
    #[must_use]
    pub fn new(start: Instant) -> Self {
        Self {
            next: start,
            packets: Histogram::default(),
        }
    }

    /// When the next sample is due.
    #[must_use]
    pub const fn due(&self) -> Instant {
        self.next
    }

    /// Takes the samples that are due by `now`. `queue` returns the queue in packets at an instant,
    /// and is called in order of time. Nothing may have entered the queue since the call before.
    pub fn observe(&mut self, now: Instant, mut queue: impl FnMut(Instant) -> u64) {
        while self.next <= now {
            let packets = queue(self.next);
            let mut samples = 1;
            if packets == 0 {
                samples += now.saturating_since(self.next).as_nanos() / INTERVAL.as_nanos();
            }
            let packets = Duration::from_micros(packets);
            self.packets.record_many(packets, samples);
            self.next += INTERVAL * samples;
        }
    }

    /// The distribution; `None` without samples.
    #[must_use]
    pub fn result(&self) -> Option<QueueDistribution> {
        let percentiles: Option<Vec<u64>> = (0..=100)
            .map(|percent| self.packets.quantile(10 * percent))
            .map(|packets| packets.map(Duration::as_micros))
            .collect();
        Some(QueueDistribution {
            samples: self.packets.count(),
            interval_s: INTERVAL.as_secs_f64(),
            percentiles_packets: percentiles?,
        })
    }
}

/// The queue of a link over time; the packet in service does not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueDistribution {
    /// Number of samples.
    pub samples: u64,
    /// Time between two samples.
    pub interval_s: f64,
    /// The percentiles 0 to 100: element k is the queue that is not exceeded in k % of the time.
    /// Exact below 256 packets, else at most 0.8 % too high.
    pub percentiles_packets: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten packets enter at 0 and one leaves each 2 ms; then the queue is empty until 100 ms.
    #[test]
    fn samples_weigh_by_time_and_cost_nothing_while_the_queue_is_empty() {
        let mut sampler = QueueSampler::new(Instant::ZERO);
        let mut calls = 0;
        sampler.observe(Instant::from_millis(99), |at| {
            calls += 1;
            10_u64.saturating_sub(at.saturating_since(Instant::ZERO).as_millis() / 2)
        });
        assert_eq!(calls, 21);
        assert_eq!(sampler.due(), Instant::from_millis(100));
        let result = sampler.result().expect("there are samples");
        assert_eq!(result.samples, 100);
        let at = |percent: usize| result.percentiles_packets[percent];
        assert_eq!(result.percentiles_packets.len(), 101);
        assert_eq!((at(0), at(50), at(80)), (0, 0, 0));
        assert_eq!((at(81), at(82), at(83)), (1, 1, 2));
        assert_eq!((at(99), at(100)), (10, 10));
        assert_eq!(QueueSampler::new(Instant::ZERO).result(), None);
    }
}

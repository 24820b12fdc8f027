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

/// What a link has done until one moment, from which [`Link::summary_since`] measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    at: Instant,
    used: (u64, u64),
    queue_packet_seconds: f64,
    counters: Counters,
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
        let share = over_activity(self.first_packet(), now);
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

    /// A mark at `now`. It may be made late, but before anything else enters the link. As costly as
    /// [`Self::capacity`].
    pub fn mark(&mut self, now: Instant) -> Mark {
        let used = self.used(now);
        Mark {
            at: now,
            used,
            queue_packet_seconds: self.queue_mean_packets(now) * now.as_secs_f64(),
            counters: self.counters(),
        }
    }

    /// The link from `mark` to `now`. Packets that entered it before the mark do not count as
    /// delivered. The largest queue is that of the whole run.
    pub fn summary_since(&mut self, mark: &Mark, now: Instant) -> Summary {
        let (used, available) = self.used(now);
        let used = used.saturating_sub(mark.used.0);
        let available = available.saturating_sub(mark.used.1).max(1);
        let utilization = (used as f64 / available as f64).min(1.0);
        let seconds = now.saturating_since(mark.at).as_secs_f64();
        let queued = self.queue_mean_packets(now) * now.as_secs_f64() - mark.queue_packet_seconds;
        let queue_mean_packets = if seconds > 0.0 { queued / seconds } else { 0.0 };
        let counters = self.counters();
        let before = &mark.counters;
        let entered = before.packets_in - before.dropped();
        Summary {
            utilization: self.has_rate().then_some(utilization),
            counters: Counters {
                packets_in: counters.packets_in - before.packets_in,
                packets_out: counters.packets_out.saturating_sub(entered),
                bytes_out: counters.bytes_out.saturating_sub(before.bytes_out),
                drops_overflow: counters.drops_overflow - before.drops_overflow,
                drops_early: counters.drops_early - before.drops_early,
                drops_loss: counters.drops_loss - before.drops_loss,
                marks: counters.marks - before.marks,
            },
            queue_max_packets: self.queue_max_packets(),
            queue_mean_packets: queue_mean_packets.max(0.0),
        }
    }
}

/// A function that relates a mean over the run until `now` to the time since `first_packet`.
pub(crate) fn over_activity(first_packet: Option<Instant>, now: Instant) -> impl Fn(f64) -> f64 {
    let active = now.saturating_since(first_packet.unwrap_or(now));
    move |value| {
        if active.is_zero() {
            0.0
        } else {
            (value * now.as_secs_f64() / active.as_secs_f64()).max(0.0)
        }
    }
}

/// The fraction of the available service that was used, at most 1.
pub(crate) fn fraction((used, available): (u64, u64)) -> f64 {
    if available == 0 {
        0.0
    } else {
        (used as f64 / available as f64).min(1.0)
    }
}

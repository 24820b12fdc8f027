//! XCP: each packet gets a change of its flow's rate (Katabi, Handley and Rohrs 2002).
//!
//! Once in each control interval, the spare capacity and the smallest queue give the total change
//! of all rates (`phi`); the fairness controller shuffles a tenth of the traffic on top. Increases
//! are divided among packets in proportion to their flow's time between packets, decreases in
//! proportion to their size, until the interval's total is used up.
//!
//! ## Deviations
//!
//! - A packet gets its feedback on arrival, not on departure: earlier by its queueing delay.
//! - The running minimum of the queue is taken before each arrival, where it is smallest.

use tables::described;
use units::feedback::Feedback;
use units::{Duration, Instant, Rate};

use super::{OVERSTATE, View};

/// Gains of the efficiency controller, and fraction of the traffic that is shuffled (`gamma`).
const ALPHA: f64 = 0.4;
const BETA: f64 = 0.226;
const GAMMA: f64 = 0.1;
/// The first and the shortest control interval, and the shortest queue interval, in seconds.
const FIRST_INTERVAL: f64 = 0.050;
const LEAST_INTERVAL: f64 = 0.001;
const LEAST_QUEUE_INTERVAL: f64 = 0.002;
/// Longer round trips count as this.
const LONGEST_RTT: f64 = 1.0;

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct XcpConfig("xcp", "router support xcp", "Settings of an [`XcpRouter`].") {
        /// The rate that the router takes its link to have, in units of what it has. Above 1 it
        /// lies, and grants more than the link carries.
        overstate: f64 = 1.0 => OVERSTATE;
    }
}

/// The decision of one control interval; rates in bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Control {
    /// Total change of all rates.
    pub phi: f64,
    /// What is shuffled on top: given and taken.
    pub shuffle: f64,
    /// Totals to give, and to take.
    pub positive: f64,
    /// See `positive`.
    pub negative: f64,
    /// Given for each second between packets, and taken for each byte.
    pub given: f64,
    /// See `given`.
    pub taken: f64,
}

impl Control {
    /// From an interval in which `arrived` bytes per second arrived, `bytes` in all, with a
    /// smallest queue of `queue` bytes, a mean round trip of `rtt` s, and a total of `intervals` s
    /// between packets.
    #[must_use]
    pub fn decide(
        capacity: f64,
        arrived: f64,
        queue: f64,
        rtt: f64,
        intervals: f64,
        bytes: f64,
    ) -> Self {
        let phi = ALPHA * (capacity - arrived) - BETA * queue / rtt;
        let shuffle = (GAMMA * arrived - phi.abs()).max(0.0);
        let positive = phi.max(0.0) + shuffle;
        let negative = (-phi).max(0.0) + shuffle;
        let per = |amount: f64, whole: f64| if whole > 0.0 { amount / whole } else { 0.0 };
        Self {
            phi,
            shuffle,
            positive,
            negative,
            given: per(positive, intervals),
            taken: per(negative, bytes),
        }
    }

    /// The feedback of a packet of `size` bytes whose flow sends one every `interval` s and
    /// requests `delta`; it is deducted from the totals.
    pub fn deal(&mut self, size: f64, interval: f64, delta: f64) -> f64 {
        let mut plus = (self.given * interval).min(self.positive);
        let mut minus = (self.taken * size).min(self.negative);
        let mut feedback = plus - minus;
        if delta < feedback {
            minus = (minus + (feedback - delta)).min(self.negative);
            plus = (delta + minus).max(0.0);
            feedback = delta;
        }
        self.positive -= plus;
        if self.positive <= 0.0 {
            (self.positive, self.given) = (0.0, 0.0);
        }
        self.negative -= minus;
        if self.negative <= 0.0 {
            (self.negative, self.taken) = (0.0, 0.0);
        }
        feedback
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct XcpRouter {
    capacity: f64,
    control: Control,
    interval: f64,
    interval_end: Instant,
    queue_end: Instant,
    /// Of the interval: bytes, seconds between packets, and these weighted by round trips.
    bytes: f64,
    intervals: f64,
    weighted: f64,
    mean_rtt: f64,
    /// Smallest queue of the last queue interval and of the current one.
    queue: f64,
    least_queue: f64,
}

impl XcpRouter {
    /// The router in front of a link of `rate`.
    #[must_use]
    pub fn new(config: &XcpConfig, rate: Rate) -> Self {
        Self {
            capacity: (rate.bits_per_sec() as f64 / 8.0).max(1.0) * config.overstate,
            control: Control::default(),
            interval: FIRST_INTERVAL,
            interval_end: Instant::ZERO + span(FIRST_INTERVAL),
            queue_end: Instant::ZERO + span(LEAST_QUEUE_INTERVAL),
            bytes: 0.0,
            intervals: 0.0,
            weighted: 0.0,
            mean_rtt: FIRST_INTERVAL,
            queue: 0.0,
            least_queue: f64::MAX,
        }
    }

    pub(super) fn on_arrival(
        &mut self,
        now: Instant,
        size: u64,
        link: &mut impl View,
        feedback: Option<&mut Feedback>,
    ) {
        self.advance(now, link);
        let size = size as f64;
        self.least_queue = self.least_queue.min(link.queued(now).get() as f64);
        self.bytes += size;
        let Some(Feedback::Xcp {
            interval,
            rtt,
            delta,
            ttl,
        }) = feedback
        else {
            return;
        };
        let seconds = interval.as_secs_f64();
        self.intervals += seconds;
        self.weighted += rtt.as_secs_f64().min(LONGEST_RTT) * seconds;
        *delta = self.control.deal(size, seconds, *delta as f64) as i64;
        *ttl = ttl.wrapping_sub(1);
    }

    /// Finishes the intervals that ended by `now`.
    fn advance(&mut self, now: Instant, link: &mut impl View) {
        while self.queue_end.min(self.interval_end) <= now {
            if self.queue_end <= self.interval_end {
                let queued = link.queued(self.queue_end).get() as f64;
                self.queue = self.least_queue.min(queued);
                self.least_queue = queued;
                let drain = (self.mean_rtt - queued / self.capacity) / 2.0;
                self.queue_end += span(drain.max(LEAST_QUEUE_INTERVAL));
            } else {
                self.end_interval();
                self.interval_end += span(self.interval);
            }
        }
    }

    fn end_interval(&mut self) {
        if self.intervals > 0.0 {
            self.mean_rtt = (self.weighted / self.intervals).max(LEAST_INTERVAL);
        }
        let arrived = self.bytes / self.interval;
        self.control = Control::decide(
            self.capacity,
            arrived,
            self.queue,
            self.mean_rtt,
            self.intervals,
            self.bytes,
        );
        self.bytes = 0.0;
        self.intervals = 0.0;
        self.weighted = 0.0;
        self.interval = self.mean_rtt.max(LEAST_INTERVAL);
    }
}

/// Seconds as a span of time.
fn span(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9) as u64)
}

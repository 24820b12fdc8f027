//! FBE, a slow start that exits at an estimate from refined ACK intervals: Li et al. 2023.
//!
//! Deliveries are divided into chunks of eight segments. In a chunk the first ACK only starts the
//! clock. An interval shorter than a tenth of the chunk's median belongs to an aggregate (Wi-Fi,
//! 5G) and is merged with the one before it. The rate of a chunk is the bytes delivered divided by
//! the sum of the intervals; the estimate is the 75th percentile of the last eight chunks. When two
//! consecutive estimates differ by less than a fifth, the threshold is the estimate times the
//! smallest RTT, and slow start exits there.
//!
//! A chunk counts only if it was sent faster than it was acknowledged. Otherwise its ACKs show the
//! rate of the sender, not of the path.
//!
//! # Deviations
//! Our reconstruction: nothing quantitative of the paper is known to us. The chunk size, the
//! refinement and the window rule are our choice. The paper's sender shapes its slow start into
//! chunks; here the chunks are cut out of what the ACK clock sends anyway.

use units::{Bytes, Duration, Instant};

use super::dispersion::{Point, Samples, Target, bytes_per_second};
use crate::{Ack, Congestion, Needs, Startup, Step, Window};
use crate::{options, settings};

/// Number of intervals kept from one chunk.
const INTERVALS: usize = 16;
/// Number of chunks in an estimate.
const CHUNKS: usize = 8;
/// The estimate is this percentile of the chunks' rates.
const PERCENTILE: usize = 75;
/// An interval shorter than the median divided by this belongs to an aggregate.
const AGGREGATED: u64 = 10;
/// Two estimates agree if they differ by less than the earlier one divided by this.
const AGREEMENT: u128 = 5;

settings! {
    /// Configuration of [`Fbe`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FbeConfig {
        /// Segments per chunk.
        chunk: u32 {
            name: "chunk",
            default: "8",
            help: "segments per chunk",
            read: |value| options::integer(value, 2, 16, "a whole number from 2 to 16"),
        }
    }
}

/// A chunk that is being delivered.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    first: Point,
    last: Point,
    /// Bytes delivered in total, and by the ACKs after the first.
    total: Bytes,
    later: Bytes,
    intervals: [u64; INTERVALS],
    count: usize,
}

impl Chunk {
    fn begin(point: Point, delivered: Bytes) -> Self {
        Self {
            first: point,
            last: point,
            total: delivered,
            later: Bytes::ZERO,
            intervals: [0; INTERVALS],
            count: 0,
        }
    }

    fn add(&mut self, point: Point, delivered: Bytes) {
        let interval = point.acked.saturating_since(self.last.acked).as_nanos();
        self.last = point;
        self.total += delivered;
        self.later += delivered;
        if let Some(slot) = self.intervals.get_mut(self.count) {
            *slot = interval;
            self.count += 1;
        }
    }

    /// Bytes per second over the refined intervals; `None` if the sender spread the chunk.
    fn rate(&self) -> Option<u64> {
        let sent_in = self.last.sent.saturating_since(self.first.sent);
        let acked_in = self.last.acked.saturating_since(self.first.acked);
        if sent_in >= acked_in || self.count == 0 {
            return None;
        }
        // Merging an interval with the one before it keeps the chunk's time, except for the first:
        // an aggregate at the start of a chunk began before its clock.
        let mut sorted = self.intervals;
        let held = &mut sorted[..self.count];
        held.sort_unstable();
        let median = held[(self.count - 1) / 2];
        let leading = self.intervals[..self.count]
            .iter()
            .take_while(|&&interval| interval < median / AGGREGATED)
            .count() as u64;
        let rest = self.later.get() / self.count as u64 * (self.count as u64 - leading);
        let span = self.intervals[..self.count]
            .iter()
            .skip(leading as usize)
            .sum();
        bytes_per_second(Bytes::new(rest), Duration::from_nanos(span))
    }
}

/// FBE.
#[derive(Clone, Debug)]
pub struct Fbe {
    config: FbeConfig,
    chunk: Option<Chunk>,
    rates: Samples<CHUNKS>,
    /// The previous estimate, in bytes per second.
    estimate: Option<u64>,
    target: Option<Target>,
    /// The initial slow start is over.
    over: bool,
}

impl Fbe {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(config: FbeConfig, _now: Instant, _snd_nxt: u64) -> Self {
        Self {
            config,
            chunk: None,
            rates: Samples::new(),
            estimate: None,
            target: None,
            over: false,
        }
    }

    /// The threshold at which slow start will end, once it is known.
    #[must_use]
    pub fn threshold(&self) -> Option<Bytes> {
        self.target.map(|target| target.window)
    }

    fn is_active(&self, window: &Window) -> bool {
        !self.over && window.ssthresh == Bytes::MAX
    }

    /// A chunk is complete.
    fn judge(&mut self, rate: u64, ack: &Ack, window: &Window) {
        self.rates.push(rate);
        let Some(estimate) = self.rates.quantile(PERCENTILE) else {
            return;
        };
        let agrees = self.estimate.is_some_and(|before| {
            u128::from(before.abs_diff(estimate)) * AGREEMENT < u128::from(before)
        });
        self.estimate = Some(estimate);
        if agrees && self.target.is_none() {
            self.target = Some(Target::new(estimate, ack.min_rtt, window.smss));
        }
    }
}

impl Startup for Fbe {
    fn needs(&self) -> Needs {
        Needs::NONE
    }

    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        if !self.is_active(window) || self.target.is_some() {
            return None;
        }
        let Some(point) = Point::of(ack) else {
            self.chunk = None;
            return None;
        };
        let chunk = match &mut self.chunk {
            Some(chunk) => {
                chunk.add(point, ack.delivered);
                chunk
            }
            None => self.chunk.insert(Chunk::begin(point, ack.delivered)),
        };
        if chunk.total >= window.smss * u64::from(self.config.chunk) {
            let rate = chunk.rate();
            self.chunk = None;
            if let Some(rate) = rate {
                self.judge(rate, ack, window);
            }
        }
        None
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step {
        match &self.target {
            Some(target) if self.is_active(window) => target.grow(ack.delivered, window),
            _ => Step::Grow(ack.delivered),
        }
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {
        self.over = true;
    }
}

//! BEST, a slow start that exits at an estimate of the BDP: Kachooei et al. 2022.
//!
//! The bandwidth is the median of the last 16 pair dispersions; a pair is two segments that left
//! within 50 us and were acknowledged apart. Once there are 16 samples and the window is at least
//! 16 segments, the threshold is the bandwidth times the smallest RTT. Slow start exits when the
//! window reaches it.
//!
//! `period=true` uses the delivery rate instead (US patent 11 082 883, a related method): the bytes
//! delivered in each half of the smallest RTT are compared with the most that any earlier period
//! delivered. When three consecutive periods deliver less than 5/4 of the best before them, the
//! path is full.
//!
//! # Deviations
//! Our reconstruction: only the announcement of the talk is known. The filter, the rule, all
//! constants, and whether the patent's rule is the same method are not known. The socket tuning
//! that belonged to BEST is left out. The median of 16 samples is the lower of the two middle ones.

use units::{Bytes, Duration, Instant};

use super::dispersion::{Pairs, Samples, Target, bytes_per_second};
use crate::{Ack, Congestion, Needs, Startup, Step, Window};
use crate::{options, settings};

/// Number of pair dispersions that are kept, and that an estimate needs.
const PAIRS: usize = 16;
/// Smallest window, in segments, at which slow start may exit.
const LOW_WINDOW: u64 = 16;
/// A period is the smallest RTT divided by this.
const PERIODS_PER_RTT: u64 = 2;
/// Consecutive periods without enough growth that end slow start.
const PERIODS: u32 = 3;

settings! {
    /// Configuration of [`Best`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct BestConfig {
        /// Whether slow start exits by deliveries per period instead of packet pairs.
        period: bool {
            name: "period",
            default: "false",
            help: "exit slow start by the delivery rate of each half RTT (US patent 11 082 883) \
                   instead of packet pairs",
            read: options::boolean,
        }
    }
}

/// Deliveries per period.
#[derive(Clone, Copy, Debug, Default)]
struct Periods {
    /// When the current period began; known from the first ACK on.
    began: Option<Instant>,
    delivered: Bytes,
    /// The highest rate of a period, in bytes per second.
    best: u64,
    /// Number of consecutive periods that did not exceed it enough.
    flat: u32,
}

impl Periods {
    /// The best rate, once deliveries stopped growing.
    fn on_ack(&mut self, ack: &Ack) -> Option<u64> {
        let Some(began) = self.began else {
            self.began = Some(ack.now);
            return None;
        };
        self.delivered += ack.delivered;
        let span = ack.now.saturating_since(began);
        let period = ack.min_rtt / PERIODS_PER_RTT;
        if span < period || period.is_zero() {
            return None;
        }
        let rate = bytes_per_second(self.delivered, span)?;
        let is_flat = u128::from(rate) * 4 < u128::from(self.best) * 5;
        self.flat = if is_flat { self.flat + 1 } else { 0 };
        self.best = self.best.max(rate);
        self.began = Some(ack.now);
        self.delivered = Bytes::ZERO;
        (self.flat >= PERIODS).then_some(self.best)
    }
}

/// BEST.
#[derive(Clone, Debug)]
pub struct Best {
    config: BestConfig,
    pairs: Pairs,
    rates: Samples<PAIRS>,
    periods: Periods,
    target: Option<Target>,
    /// The initial slow start is over.
    over: bool,
}

impl Best {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(config: BestConfig, _now: Instant, _snd_nxt: u64) -> Self {
        Self {
            config,
            pairs: Pairs::default(),
            rates: Samples::new(),
            periods: Periods::default(),
            target: None,
            over: false,
        }
    }

    /// The threshold at which slow start will end, once it is known.
    #[must_use]
    pub fn threshold(&self) -> Option<Bytes> {
        self.target.map(|target| target.window)
    }

    /// The estimate at this ACK, in bytes per second.
    fn estimate(&mut self, ack: &Ack) -> Option<u64> {
        if self.config.period {
            return self.periods.on_ack(ack);
        }
        self.rates.push(self.pairs.on_ack(ack)?);
        if self.rates.len() < PAIRS {
            return None;
        }
        self.rates.quantile(50)
    }
}

impl Startup for Best {
    fn needs(&self) -> Needs {
        Needs::NONE
    }

    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        if self.over || window.ssthresh != Bytes::MAX {
            return None;
        }
        let rate = self.estimate(ack)?;
        if window.cwnd_segments() < LOW_WINDOW || ack.min_rtt == Duration::ZERO {
            return None;
        }
        let target = Target::new(rate, ack.min_rtt, window.smss);
        self.target = Some(target);
        // Deliveries that stop growing end slow start at once; pairs end it at the target window.
        (self.config.period || window.cwnd >= target.window).then(|| target.exit(window.cwnd))
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step {
        match &self.target {
            Some(target) if !self.over && window.ssthresh == Bytes::MAX => {
                target.grow(ack.delivered, window)
            }
            _ => Step::Grow(ack.delivered),
        }
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {
        self.over = true;
    }
}

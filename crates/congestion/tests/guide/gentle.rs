//! Gentle: slow start that grows by less than double each round trip, and ends when the delay stays
//! high. Made up for the guide; no document describes it.
//!
//! Every segment that is acknowledged earns `growth` of a segment. Eight round-trip times in a row
//! that are a quarter above the smallest end slow start at the window of that moment.
//!
//! ## Deviations
//!
//! - Nothing is published to deviate from.

use units::{Duration, Instant};

use crate::{Ack, Criterion, Startup, Step, Unit, Window, options, settings};

/// Round-trip times in a row that must be high.
const SAMPLES: u32 = 8;

/// What ends slow start.
static RISE: Criterion = Criterion::above("rise", Unit::Time);

settings! {
    /// Settings of [`Gentle`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct GentleConfig {
        /// What an acknowledged segment earns, in thousandths of a segment.
        growth_permille: u64 {
            name: "growth",
            default: "0.5",
            help: "segments that an acknowledged segment earns, from 0.1 to 1",
            read: |value| options::thousandths(value, 100, 1_000, "a number from 0.1 to 1"),
        }
    }
}

/// A gentle slow start.
#[derive(Clone, Debug)]
pub struct Gentle {
    config: GentleConfig,
    /// Thousandths of a byte that are earned and do not make a segment yet.
    earned: u64,
    /// High round-trip times in a row.
    high: u32,
}

impl Gentle {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(config: GentleConfig, _now: Instant, _snd_nxt: u64) -> Self {
        Self {
            config,
            earned: 0,
            high: 0,
        }
    }

    fn is_full(&mut self, rtt: Duration, min_rtt: Duration) -> bool {
        self.high = if rtt > min_rtt + min_rtt / 4 {
            self.high + 1
        } else {
            0
        };
        self.high >= SAMPLES
    }
}

impl Startup for Gentle {
    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        let rtt = ack.latest_rtt?;
        self.is_full(rtt, ack.min_rtt).then(|| Step::Exit {
            cwnd: window.cwnd,
            ssthresh: window.cwnd,
            reason: RISE.met(rtt, ack.min_rtt + ack.min_rtt / 4),
        })
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step {
        self.earned += ack.delivered.get() * self.config.growth_permille;
        let segment = window.smss.get() * 1_000;
        let segments = self.earned / segment;
        self.earned %= segment;
        Step::Grow(window.smss * segments)
    }

    fn restart(&mut self, _now: Instant, _snd_nxt: u64) {
        self.earned = 0;
        self.high = 0;
    }
}

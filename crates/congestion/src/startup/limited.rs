//! Limited Slow Start: RFC 3742.
//!
//! Up to `max_ssthresh` segments the window doubles each round. Above, each delivered segment adds
//! `1/K` segment with `K = int(cwnd / (0.5 max_ssthresh))`, so that a round adds at most
//! `max_ssthresh / 2` segments. From `W0` it takes about
//! `log2(max_ssthresh / W0) + (W - max_ssthresh) / (max_ssthresh / 2)` rounds to reach `W`.
//!
//! Assumes that the driver calls it only in slow start. The window stays a whole number of
//! segments; fractions are carried over, so the growth is that of a real-valued `1/K`.
//!
//! # Deviations
//! - The RFC states the rule for each ACK of one segment. Here it applies to each delivered
//!   segment, so that delayed and stretch ACKs change nothing (as in Linux's slow start).
//! - The RFC's example (83,000 segments in 836 rounds with `max_ssthresh` 100) contradicts its
//!   rule, which gives 1,664.6 rounds; 836 rounds would result from 100 segments per round. The
//!   rule is implemented. Test: `limited.rs` (`the_rfc_example_takes_twice_as_long_as_it_says`).
//! - Linux removed its version long ago, so there is no Linux behaviour to follow.

use units::{Bytes, Instant};

use crate::{Ack, Needs, Startup, Step, Window};
use crate::{options, settings};

/// Parts of a byte in which the carry is counted, so that a change of `K` loses almost nothing.
const PARTS: u128 = 1 << 20;

settings! {
    /// Configuration of [`Limited`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct LimitedConfig {
        /// `max_ssthresh` in segments; RFC 3742 section 2 recommends 100.
        max_ssthresh: u32 {
            name: "max_ssthresh",
            default: "100",
            help: "window in segments up to which it doubles; above, a round adds at most half \
                   of this",
            read: |value| {
                options::integer(
                    value,
                    1,
                    1_000_000,
                    "a number of segments from 1 to 1000000",
                )
            },
        }
    }
}

/// Limited Slow Start.
#[derive(Clone, Debug)]
pub struct Limited {
    config: LimitedConfig,
    /// Delivered and not yet credited, in [`PARTS`] of a byte; `K` segments of it add one segment.
    carry: u128,
    /// The `K` that `carry` is counted for.
    k: u64,
}

impl Limited {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(config: LimitedConfig, _now: Instant, _snd_nxt: u64) -> Self {
        Self {
            config,
            carry: 0,
            k: 1,
        }
    }

    /// The fraction of a segment that the window would have in addition, in bytes.
    #[must_use]
    pub fn carried(&self) -> Bytes {
        Bytes::new((self.carry / PARTS) as u64 / self.k)
    }
}

impl Startup for Limited {
    fn needs(&self) -> Needs {
        Needs::NONE
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step {
        let max_ssthresh = u64::from(self.config.max_ssthresh);
        let smss = window.smss.max(Bytes::new(1));
        let mut cwnd = window.cwnd;
        let mut left = ack.delivered;
        while !left.is_zero() {
            let segments = cwnd.segments(smss);
            if segments <= max_ssthresh {
                // Each segment delivered while the window is at or below the limit adds one.
                let below = (smss * (max_ssthresh + 1)).saturating_sub(cwnd);
                let credited = left.min(below.max(Bytes::new(1)));
                cwnd += credited;
                left = left.saturating_sub(credited);
                continue;
            }
            let k = (segments.saturating_mul(2) / max_ssthresh).max(1);
            self.carry = self.carry * u128::from(k) / u128::from(self.k);
            self.k = k;
            let price = u128::from(k) * u128::from(smss.get()) * PARTS;
            let needed = price.saturating_sub(self.carry).div_ceil(PARTS);
            let paid = u128::from(left.get()).min(needed);
            self.carry += paid * PARTS;
            left = left.saturating_sub(Bytes::new(paid as u64));
            if self.carry >= price {
                self.carry -= price;
                cwnd += smss;
            }
        }
        Step::Grow(cwnd.saturating_sub(window.cwnd))
    }

    fn restart(&mut self, _now: Instant, _snd_nxt: u64) {
        self.carry = 0;
        self.k = 1;
    }
}

//! Appropriate byte counting, RFC 3465, and ABCSS, Kasoro et al. 2021.
//!
//! `abc`: an ACK of `N` new bytes adds `min(N, L * SMSS)` with `L` 2, and 1 in the slow start after
//! a timeout (section 2.3). Congestion avoidance of the same RFC counts bytes as `reno` here does.
//!
//! `abcss` begins with one segment for each ACK, whatever it acknowledges, and goes over to `abc` after
//! `first_rounds` rounds; what an ACK releases leaves paced over half of the round trip.
//!
//! Assumes that the driver asks only in slow start and limits growth by the threshold.
//!
//! # Deviations
//! - The bytes counted include SACKed ones, as everywhere here; RFC 3465 counts cumulative ones.
//! - `abcss` is known by its abstract alone: that it combines both, so that the window does not stay
//!   "invariant during the first round trips", and that it limits bursts. Which rule applies when is
//!   our reading. The burst limit of three segments with the rest paced is here one pacing rate, twice
//!   the window in a round trip.

use units::{Duration, Instant, Rate};

use crate::{Ack, Congestion, CongestionKind, Pace, Startup, Step, Window};
use crate::{options, settings};

settings! {
    /// Configuration of [`Abc`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct AbcConfig {
        /// `L`: segments that one ACK may be credited with.
        limit: u32 {
            name: "limit",
            default: "2",
            help: "L: segments that one ACK adds at most, 1 or 2; after a timeout it is 1",
            read: |value| options::integer(value, 1, 2, "1 or 2"),
        }
    }
}

/// Appropriate byte counting.
#[derive(Clone, Debug)]
pub struct Abc {
    config: AbcConfig,
    after_timeout: bool,
}

impl Abc {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(config: AbcConfig, _now: Instant, _snd_nxt: u64) -> Self {
        Self {
            config,
            after_timeout: false,
        }
    }

    fn limit(&self) -> u64 {
        if self.after_timeout {
            1
        } else {
            u64::from(self.config.limit)
        }
    }
}

impl Startup for Abc {
    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step {
        Step::Grow(ack.delivered.min(window.smss * self.limit()))
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.after_timeout |= congestion.kind == CongestionKind::Timeout;
    }
}

settings! {
    /// Configuration of [`Abcss`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct AbcssConfig {
        /// Rounds in which an ACK adds one segment.
        first_rounds: u32 {
            name: "first_rounds",
            default: "2",
            help: "rounds in which an ACK adds one segment, before bytes are counted",
            read: |value| options::integer(value, 0, 1_000, "a whole number from 0 to 1000"),
        }

        /// Whether segments are paced in slow start.
        pace: bool {
            name: "pace",
            default: "true",
            help: "whether slow start is paced, at twice the window in a round trip",
            read: options::boolean,
        }
    }
}

/// ABCSS, as we read its abstract.
#[derive(Clone, Debug)]
pub struct Abcss {
    config: AbcssConfig,
    abc: Abc,
    /// Rounds that have ended, and where the present one ends.
    rounds: u32,
    round_end: u64,
    rate: Option<Rate>,
}

impl Abcss {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(config: AbcssConfig, now: Instant, snd_nxt: u64) -> Self {
        Self {
            config,
            abc: Abc::new(AbcConfig::default(), now, snd_nxt),
            rounds: 0,
            round_end: snd_nxt,
            rate: None,
        }
    }
}

impl Startup for Abcss {
    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        if ack.snd_una > self.round_end {
            self.round_end = ack.snd_nxt;
            self.rounds = self.rounds.saturating_add(1);
        }
        let srtt = ack.srtt.max(Duration::from_nanos(1)).as_nanos();
        let bits = u128::from(window.cwnd.get()) * 2 * 8 * 1_000_000_000 / u128::from(srtt);
        let rate = Rate::from_bits_per_sec(u64::try_from(bits).unwrap_or(u64::MAX));
        self.rate = self.config.pace.then_some(rate);
        None
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step {
        if self.rounds <= self.config.first_rounds {
            return Step::Grow(ack.delivered.min(window.smss));
        }
        self.abc.on_ack(ack, window)
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.abc.on_congestion(congestion);
    }

    fn pacing(&self) -> Option<Pace> {
        self.rate.map(Pace::at)
    }
}

//! Appropriate byte counting (ABC), RFC 3465, and ABCSS, Kasoro et al. 2021.
//!
//! `abc`: an ACK of `N` new bytes adds `min(N, L * SMSS)`. `L` is 2, or 1 in the slow start after a
//! timeout (section 2.3). The RFC's congestion avoidance counts bytes as `reno` does here. With
//! `count=acks`, each ACK of new data adds one segment, however little it acknowledges: the rule of
//! RFC 2581 (section 3.1) that byte counting replaces, because a receiver that divides its ACKs
//! inflates the window with it (RFC 3465, section 1; Savage et al. 1999, section 2.1).
//!
//! `abcss` adds one segment for each ACK, whatever the ACK acknowledges, and switches to `abc`
//! after `first_rounds` rounds. It paces what an ACK releases over half of the round trip.
//!
//! Assumes that the driver calls it only in slow start and limits growth by the threshold.
//!
//! # Deviations
//! - The bytes counted include SACKed ones, as in every algorithm here; RFC 3465 counts only
//!   cumulatively acknowledged ones.
//! - Only the abstract of ABCSS is known. It says that ABCSS combines both rules, so that the
//!   window does not stay "invariant during the first round trips", and that it limits bursts.
//!   Which rule applies when is our reading. ABCSS limits a burst to three segments and paces the
//!   rest; one pacing rate, twice the window per round trip, replaces that here.

use units::{Duration, Instant, Rate};

use crate::{Ack, Congestion, CongestionKind, Needs, Pace, Startup, Step, Window};
use crate::{options, settings};

settings! {
    /// Configuration of [`Abc`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct AbcConfig {
        /// `L`: the most segments that one ACK may add.
        limit: u32 {
            name: "limit",
            default: "2",
            help: "L: the most segments that one ACK adds, 1 or 2; always 1 after a timeout",
            read: |value| options::integer(value, 1, 2, "1 or 2"),
        }

        /// Whether each ACK of new data adds one segment.
        counts_acks: bool {
            name: "count",
            default: "bytes",
            help: "bytes; acks: each ACK of new data adds one segment, as in RFC 2581",
            read: |value| {
                options::choice(value, &[("bytes", false), ("acks", true)], "bytes or acks")
            },
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
    fn needs(&self) -> Needs {
        Needs::NONE
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step {
        if self.config.counts_acks {
            return Step::Grow(window.smss);
        }
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
            help: "number of first rounds in which an ACK adds one segment, before byte counting",
            read: |value| options::integer(value, 0, 1_000, "a whole number from 0 to 1000"),
        }

        /// Whether segments are paced in slow start.
        pace: bool {
            name: "pace",
            default: "true",
            help: "pace slow start at twice the window per round trip",
            read: options::boolean,
        }
    }
}

/// ABCSS, as we read its abstract.
#[derive(Clone, Debug)]
pub struct Abcss {
    config: AbcssConfig,
    abc: Abc,
    /// Number of rounds that have ended, and where the current one ends.
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
    fn needs(&self) -> Needs {
        Needs::PACING
    }

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

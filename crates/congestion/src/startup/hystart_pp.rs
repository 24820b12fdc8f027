//! HyStart++: RFC 9406.
//!
//! A delay increase over the previous round does not end slow start but begins *conservative slow
//! start* (CSS), which grows a quarter as fast. If the RTT falls below its value on entry, the
//! increase was spurious and slow start continues. After five rounds of CSS, slow start ends.
//!
//! HyStart++ runs only in the initial slow start, that is as long as no threshold was ever set;
//! later slow starts are standard ones (RFC 9406 section 4.3). The window stays a whole number of
//! segments; the quarters are carried over.
//!
//! Assumes that `latest_rtt` is the RFC's `currRTT`. The first round is the initial window. An ACK
//! that ends a round still belongs to it, with its RTT sample.
//!
//! `form=patch` is the patch for Linux's `tcp_cubic.c` that SUSS developers 2025 evaluate
//! (SUSSdeveloper/HyStartPP): a round ends with the first ACK beyond `windowEnd`, whose sample
//! belongs to the next round; CSS can be found spurious from the ninth sample of a round on; `L`
//! has no limit.
//!
//! # Deviations
//! - Rounds that end as in the RFC begin with the last ACKs of a flight, and move forward through
//!   it with each round. Eight late samples may then begin CSS, until the first ACK of the next
//!   flight shows that it was spurious. Rounds of the patch begin with a flight. Test: `suss.rs` of
//!   the simulator.
//! - The detectors run before the window grows, so the final threshold is the window before the
//!   last ACK's growth, as in Linux's HyStart; the RFC leaves the order open.
//! - `L` limits the bytes that the ACK delivered, SACKed ones included; the RFC counts cumulatively
//!   acknowledged bytes.
//! - On loss or ECN the RFC sets the threshold to the window before the usual reduction. Here only
//!   the reduction sets it, which is also the result of the RFC's sequence.

use units::{Bytes, Duration, Instant};

use crate::{Ack, Congestion, ExitReason, Needs, Startup, Step, Window};
use crate::{options, settings};

/// The description that HyStart++ follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HyStartPlusPlusForm {
    /// RFC 9406.
    #[default]
    Rfc,
    /// The patch for Linux that SUSS developers 2025 evaluate.
    Patch,
}

const SPAN: &str = "a time from 0 to 60 s, such as 4ms";
const COUNT: &str = "a whole number from 1 to 1000000";

settings! {
    /// Configuration of [`HyStartPlusPlus`]; the defaults are those of RFC 9406 section 4.3.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    // RFC9406-4.3a
    pub struct HyStartPlusPlusConfig {
        /// The description to follow.
        form: HyStartPlusPlusForm {
            name: "form",
            default: "rfc",
            help: "rfc: RFC 9406; patch: the Linux patch evaluated by SUSS developers 2025 \
                   (rounds begin with a flight, no limit per ACK)",
            read: |value| {
                let forms = [
                    ("rfc", HyStartPlusPlusForm::Rfc),
                    ("patch", HyStartPlusPlusForm::Patch),
                ];
                options::choice(value, &forms, "rfc or patch")
            },
        }

        /// `MIN_RTT_THRESH`: smallest delay increase that begins CSS.
        min_rtt_thresh: Duration {
            name: "min_rtt_thresh",
            default: "4ms",
            help: "smallest delay increase that begins CSS",
            read: |value| options::duration(value, LONGEST, SPAN),
        }

        /// `MAX_RTT_THRESH`: delay increase that always begins CSS.
        max_rtt_thresh: Duration {
            name: "max_rtt_thresh",
            default: "16ms",
            help: "delay increase that always begins CSS",
            read: |value| options::duration(value, LONGEST, SPAN),
        }

        /// `MIN_RTT_DIVISOR`: between the two, the RTT divided by this begins CSS.
        min_rtt_divisor: u32 {
            name: "min_rtt_divisor",
            default: "8",
            help: "between the two thresholds, an increase of the last round's RTT divided by this \
                   begins CSS",
            read: |value| options::integer(value, 1, 1_000_000, COUNT),
        }

        /// `N_RTT_SAMPLE`: RTT samples that a round needs for the delay test.
        n_rtt_sample: u32 {
            name: "n_rtt_sample",
            default: "8",
            help: "RTT samples that a round needs for the delay test",
            read: |value| options::integer(value, 1, 1_000_000, COUNT),
        }

        /// `CSS_GROWTH_DIVISOR`: the growth of CSS is divided by this.
        css_growth_divisor: u32 {
            name: "css_growth_divisor",
            default: "4",
            help: "divisor of the growth in conservative slow start",
            read: |value| options::integer(value, 1, 1_000_000, COUNT),
        }

        /// `CSS_ROUNDS`: rounds of CSS after which slow start ends.
        css_rounds: u32 {
            name: "css_rounds",
            default: "5",
            help: "rounds of conservative slow start after which slow start ends",
            read: |value| options::integer(value, 1, 1_000_000, COUNT),
        }

        /// `L`: the most segments that one ACK may add if the sender does not pace.
        limit: u32 {
            name: "limit",
            default: "8",
            help: "L: the most segments that one ACK adds, unless the sender paces",
            read: |value| options::integer(value, 1, 1_000_000, COUNT),
        }
    }
}

/// The longest duration that an option accepts.
const LONGEST: Duration = Duration::from_secs(60);

/// Conservative slow start in progress.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// `cssBaselineMinRtt`: the RTT that began it.
    baseline: Duration,
    /// Rounds that have ended since, including the round of the entry.
    rounds: u32,
}

/// HyStart++.
#[derive(Clone, Debug)]
pub struct HyStartPlusPlus {
    config: HyStartPlusPlusConfig,
    last_round_min_rtt: Option<Duration>,
    current_round_min_rtt: Option<Duration>,
    rtt_sample_count: u32,
    /// `windowEnd`; known from the first ACK on.
    window_end: Option<u64>,
    css: Option<Conservative>,
    /// Bytes credited in CSS and not yet grown; `css_growth_divisor` segments of it add one.
    carry: Bytes,
    /// The initial slow start is over.
    over: bool,
}

impl HyStartPlusPlus {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(config: HyStartPlusPlusConfig, _now: Instant, _snd_nxt: u64) -> Self {
        Self {
            config,
            last_round_min_rtt: None,
            current_round_min_rtt: None,
            rtt_sample_count: 0,
            window_end: None,
            css: None,
            carry: Bytes::ZERO,
            over: false,
        }
    }

    /// Whether conservative slow start is in progress.
    #[must_use]
    pub const fn is_conservative(&self) -> bool {
        self.css.is_some()
    }

    fn active(&self, window: &Window) -> bool {
        // RFC9406-4.3b
        !self.over && window.ssthresh == Bytes::MAX
    }

    fn is_patch(&self) -> bool {
        self.config.form == HyStartPlusPlusForm::Patch
    }

    /// Records a sample of the round, and enters or leaves CSS.
    fn sample(&mut self, rtt: Duration) {
        let least = self
            .current_round_min_rtt
            .map_or(rtt, |least| least.min(rtt));
        self.current_round_min_rtt = Some(least);
        let counted = self.rtt_sample_count;
        self.rtt_sample_count = counted.saturating_add(1);
        // The patch tests for spurious CSS only on samples beyond those that it counts.
        if !(self.is_patch() && self.css.is_some() && counted < self.config.n_rtt_sample) {
            self.test_delay();
        }
    }

    /// Enters or leaves CSS after a sample (RFC 9406 section 4.2).
    fn test_delay(&mut self) {
        let Some(current) = self.current_round_min_rtt else {
            return;
        };
        if self.rtt_sample_count < self.config.n_rtt_sample {
            return;
        }
        match (self.css, self.last_round_min_rtt) {
            // RFC9406-4.2b
            (Some(css), _) if current < css.baseline => self.css = None,
            (None, Some(last)) => {
                let part = last / u64::from(self.config.min_rtt_divisor.max(1));
                let thresh = part
                    .min(self.config.max_rtt_thresh)
                    .max(self.config.min_rtt_thresh);
                // RFC9406-4.2a
                if current >= last + thresh {
                    self.css = Some(Conservative {
                        baseline: current,
                        rounds: 0,
                    });
                }
            }
            _ => {}
        }
    }

    /// Ends a round; returns the reason to exit if it was the last round of CSS.
    fn end_round(&mut self, snd_nxt: u64) -> Option<ExitReason> {
        self.window_end = Some(snd_nxt);
        self.last_round_min_rtt = self.current_round_min_rtt.take();
        self.rtt_sample_count = 0;
        let css = self.css.as_mut()?;
        css.rounds += 1;
        // RFC9406-4.2c
        (css.rounds >= self.config.css_rounds).then_some(ExitReason::ConservativeRounds {
            baseline_rtt: css.baseline,
            rounds: css.rounds,
        })
    }
}

impl Startup for HyStartPlusPlus {
    fn needs(&self) -> Needs {
        Needs::NONE
    }

    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        if !self.active(window) {
            return None;
        }
        let mut reason = None;
        if self.is_patch() {
            // The connection begins at offset zero.
            if ack.snd_una > self.window_end.unwrap_or(0) {
                reason = self.end_round(ack.snd_nxt);
            }
            if let (None, Some(rtt)) = (reason, ack.latest_rtt) {
                self.sample(rtt);
            }
        } else {
            let window_end = *self.window_end.get_or_insert(ack.snd_nxt);
            if let Some(rtt) = ack.latest_rtt {
                self.sample(rtt);
            }
            if ack.snd_una >= window_end {
                reason = self.end_round(ack.snd_nxt);
            }
        }
        let reason = reason?;
        self.over = true;
        Some(Step::Exit {
            cwnd: window.cwnd,
            ssthresh: window.cwnd,
            reason,
        })
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step {
        if !self.active(window) {
            return Step::Grow(ack.delivered);
        }
        // RFC9406-4.2d
        let credited = if ack.paced || self.is_patch() {
            ack.delivered
        } else {
            ack.delivered
                .min(window.smss * u64::from(self.config.limit))
        };
        if self.css.is_none() {
            return Step::Grow(credited);
        }
        self.carry += credited;
        let price =
            (window.smss * u64::from(self.config.css_growth_divisor.max(1))).max(Bytes::new(1));
        let segments = self.carry.segments(price);
        self.carry = self.carry.saturating_sub(price * segments);
        Step::Grow(window.smss * segments)
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {
        self.over = true;
    }

    fn restart(&mut self, now: Instant, snd_nxt: u64) {
        let over = self.over;
        *self = Self {
            over,
            ..Self::new(self.config, now, snd_nxt)
        };
    }
}

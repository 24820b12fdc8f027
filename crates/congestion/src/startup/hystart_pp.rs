//! HyStart++: RFC 9406.
//!
//! A delay increase against the previous round does not end slow start but begins *conservative
//! slow start* (CSS), which grows a quarter as fast. If the RTT falls below what it was on entry,
//! the increase was spurious and slow start goes on; after five rounds of CSS, slow start ends.
//!
//! It runs in the initial slow start only, that is as long as no threshold was ever set; later slow
//! starts are standard ones (RFC 9406 section 4.3). The window stays a whole number of segments:
//! the quarters are carried.
//!
//! Assumes that `latest_rtt` is the RFC's `currRTT`. The first round is the initial window. An ACK
//! that ends a round still belongs to it, with its RTT sample.
//!
//! `form=patch` is the patch for Linux's `tcp_cubic.c` of 2025 (SUSSdeveloper/HyStartPP), which
//! document 000 evaluates: a round ends with the first ACK beyond `windowEnd`, whose sample belongs to
//! the next; CSS may be found spurious from the ninth sample of a round on; `L` is without limit.
//!
//! # Deviations
//! - Rounds that end as the RFC says begin with the last ACKs of a flight, and move forward through
//!   it with each round. Eight late samples may then begin CSS until the next flight's first ACK shows
//!   that it was spurious; rounds of the patch begin with a flight. Test: `suss.rs` of the simulator
//!   (`the_losses_of_document_000`).
//! - The detectors run before the window grows, so the final threshold is the window before the
//!   last ACK's growth, as with Linux's HyStart; the RFC leaves the order open.
//! - `L` limits by the bytes that the ACK delivered, SACKed ones included, where the RFC speaks of
//!   cumulatively acknowledged ones.
//! - On loss or ECN the RFC sets the threshold to the window before the usual reduction; here the
//!   reduction alone sets it, which is what remains of the RFC's sequence too.

use units::{Bytes, Duration, Instant};

use crate::{Ack, Congestion, ExitReason, Startup, Step, Window};
use crate::{options, settings};

/// Which description to follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HyStartPlusPlusForm {
    /// RFC 9406.
    #[default]
    Rfc,
    /// The patch for Linux that document 000 evaluates.
    Patch,
}

const SPAN: &str = "a time from 0 to 60 s, such as 4ms";
const COUNT: &str = "a whole number from 1 to 1000000";

settings! {
    /// Configuration of [`HyStartPlusPlus`]; the defaults are the constants of RFC 9406 section 4.3.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct HyStartPlusPlusConfig {
        /// Which description to follow.
        form: HyStartPlusPlusForm {
            name: "form",
            default: "rfc",
            help: "rfc: RFC 9406; patch: the patch for Linux of 2025, whose rounds begin with a \
                   flight, without a limit for one ACK",
            read: |value| {
                let forms = [
                    ("rfc", HyStartPlusPlusForm::Rfc),
                    ("patch", HyStartPlusPlusForm::Patch),
                ];
                options::choice(value, &forms, "rfc or patch")
            },
        }

        /// `MIN_RTT_THRESH`: smallest delay increase that counts.
        min_rtt_thresh: Duration {
            name: "min_rtt_thresh",
            default: "4ms",
            help: "smallest delay increase that begins CSS",
            read: |value| options::duration(value, LONGEST, SPAN),
        }

        /// `MAX_RTT_THRESH`: delay increase that always counts.
        max_rtt_thresh: Duration {
            name: "max_rtt_thresh",
            default: "16ms",
            help: "delay increase that is always enough",
            read: |value| options::duration(value, LONGEST, SPAN),
        }

        /// `MIN_RTT_DIVISOR`: the part of the RTT that counts in between.
        min_rtt_divisor: u32 {
            name: "min_rtt_divisor",
            default: "8",
            help: "the part of the last round's RTT that is enough in between",
            read: |value| options::integer(value, 1, 1_000_000, COUNT),
        }

        /// `N_RTT_SAMPLE`: samples that a round needs to be judged.
        n_rtt_sample: u32 {
            name: "n_rtt_sample",
            default: "8",
            help: "RTT samples that a round needs to be judged",
            read: |value| options::integer(value, 1, 1_000_000, COUNT),
        }

        /// `CSS_GROWTH_DIVISOR`: how much slower conservative slow start grows.
        css_growth_divisor: u32 {
            name: "css_growth_divisor",
            default: "4",
            help: "how much slower conservative slow start grows",
            read: |value| options::integer(value, 1, 1_000_000, COUNT),
        }

        /// `CSS_ROUNDS`: how many rounds of it end slow start.
        css_rounds: u32 {
            name: "css_rounds",
            default: "5",
            help: "rounds of conservative slow start that end slow start",
            read: |value| options::integer(value, 1, 1_000_000, COUNT),
        }

        /// `L`: segments that one ACK may be credited with where the sender does not pace.
        limit: u32 {
            name: "limit",
            default: "8",
            help: "L: segments that one ACK adds at most, unless the sender paces",
            read: |value| options::integer(value, 1, 1_000_000, COUNT),
        }
    }
}

/// The longest span that an option takes.
const LONGEST: Duration = Duration::from_secs(60);

/// Conservative slow start in progress.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// `cssBaselineMinRtt`: the RTT that began it.
    baseline: Duration,
    /// Rounds that ended since, the one of the entry included.
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
    /// Credited in CSS and not yet grown, in bytes; `css_growth_divisor` segments are one of window.
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
        !self.over && window.ssthresh == Bytes::MAX
    }

    fn is_patch(&self) -> bool {
        self.config.form == HyStartPlusPlusForm::Patch
    }

    /// Takes a sample of the round; CSS is entered or left after it.
    fn sample(&mut self, rtt: Duration) {
        let least = self
            .current_round_min_rtt
            .map_or(rtt, |least| least.min(rtt));
        self.current_round_min_rtt = Some(least);
        let counted = self.rtt_sample_count;
        self.rtt_sample_count = counted.saturating_add(1);
        // The patch asks whether CSS was spurious only of samples that it no longer counts.
        if !(self.is_patch() && self.css.is_some() && counted < self.config.n_rtt_sample) {
            self.judge();
        }
    }

    /// Enters or leaves CSS after a sample (RFC 9406 section 4.2).
    fn judge(&mut self) {
        let Some(current) = self.current_round_min_rtt else {
            return;
        };
        if self.rtt_sample_count < self.config.n_rtt_sample {
            return;
        }
        match (self.css, self.last_round_min_rtt) {
            (Some(css), _) if current < css.baseline => self.css = None,
            (None, Some(last)) => {
                let part = last / u64::from(self.config.min_rtt_divisor.max(1));
                let thresh = part
                    .min(self.config.max_rtt_thresh)
                    .max(self.config.min_rtt_thresh);
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

    /// A round ended; the end of slow start, if it was the last of CSS.
    fn end_round(&mut self, snd_nxt: u64) -> Option<ExitReason> {
        self.window_end = Some(snd_nxt);
        self.last_round_min_rtt = self.current_round_min_rtt.take();
        self.rtt_sample_count = 0;
        let css = self.css.as_mut()?;
        css.rounds += 1;
        (css.rounds >= self.config.css_rounds).then_some(ExitReason::ConservativeRounds {
            baseline_rtt: css.baseline,
            rounds: css.rounds,
        })
    }
}

impl Startup for HyStartPlusPlus {
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

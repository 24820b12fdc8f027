//! Rapid Start: draft-kazuho-ccwg-rapid-start-02 (Oku, March 2026), section 3. The first version of
//! the text (-00, November 2025) is `draft=00`.
//!
//! Nothing is known of the path in advance. The first window is two initial windows, and the first
//! full flight is paced over one round trip (section 3.1). While the round-trip times show no queue,
//! each delivered byte adds two (the window triples each round), otherwise one (section 3.2). The
//! first loss or mark corrects the overshoot (section 3.3): the window falls at once to
//! `silence = beta + K (1 - beta)` of its size, with `K = 2/3`. It then falls by `K (1 - beta)` of
//! each byte that the round trip delivers and by `silence` of each byte that it loses. If the
//! fraction `l` of the flight is lost, `beta (1 - l)` remains, at least a third of `beta`; after a
//! mark without a loss, `beta` (section 3.3.2).
//!
//! Differences of `draft=00`:
//! - `K` is 11/18, and the silence longer. If two thirds of the flight are lost and `beta` is 0.7, the
//!   sender is silent while a third of the full BDP is delivered; with `K = 2/3`, while `1 - beta` is
//!   (appendix A).
//! - The RTT that shows the queue is the smallest of the last round that is complete, not of the
//!   round in progress.
//! - The pacing ends with the first window of data, even if the application wrote it in small
//!   pieces, so that no flight was full.
//!
//! # Deviations
//! - The text lets the implementation choose the interval of about one round trip in which it takes
//!   the smallest RTT. Here it is the round in progress (`currentRoundMinRTT` of RFC 9406), which the
//!   text names as one of two examples; at the first ACK of a round, it is the round before.
//! - The window is two initial windows from the beginning. The text may wait with the second one
//!   until the sender first sends more than slow start with pacing permits; the pace of two initial
//!   windows per round trip is the same for both.
//! - A round shows no queue if its RTT is at most `min(min_rtt + 4 ms, 1.1 min_rtt)`, as in the
//!   draft. The published code uses `max(min_rtt + 4 ms, 35/32 min_rtt)`, which `threshold=code`
//!   selects.
//! - The code takes the last RTT in slots of time, and does nothing if the RTT has fewer
//!   milliseconds than there are slots; here the RTT is taken in rounds of sequence numbers, at any
//!   RTT.
//! - `beta` is CUBIC's unless set, whatever the avoidance.
//! - The transport paces after the first full flight.

use units::{Bytes, Duration, Instant, Rate};

use crate::{
    Ack, Congestion, Established, JumpStarts, Needs, Pace, Reduction, Startup, Step, Window,
};
use crate::{options, settings};

/// Fractions are counted in this: `K` is in eighteenths, and `beta` in thousandths.
const PARTS: u64 = 18_000;
/// Delay that does not count as a queue.
const MARGIN: Duration = Duration::from_millis(4);

/// Which RTT shows no queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threshold {
    /// The draft: the smaller of two margins.
    #[default]
    Draft,
    /// The published code: the larger of two.
    Code,
}

/// Which version of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Draft {
    /// draft-kazuho-ccwg-rapid-start-02, March 2026.
    #[default]
    V02,
    /// draft-kazuho-ccwg-rapid-start-00, November 2025.
    V00,
}

impl Draft {
    /// `K` in eighteenths.
    const fn k(self) -> u64 {
        match self {
            Self::V02 => 12,
            Self::V00 => 11,
        }
    }
}

settings! {
    /// Configuration of [`RapidStart`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RapidStartConfig {
        /// Which version of the text.
        draft: Draft {
            name: "draft",
            default: "02",
            help: "version of draft-kazuho-ccwg-rapid-start: 02 or 00",
            read: |value| {
                let versions = [("02", Draft::V02), ("00", Draft::V00)];
                options::choice(value, &versions, "02 or 00")
            },
        }

        /// Which RTT shows no queue.
        threshold: Threshold {
            name: "threshold",
            default: "draft",
            help: "largest RTT that shows no queue: as in the draft (draft) or in the published \
                   code (code)",
            read: |value| {
                let words = [("draft", Threshold::Draft), ("code", Threshold::Code)];
                options::choice(value, &words, "draft or code")
            },
        }

        /// `beta` in thousandths.
        beta: u32 {
            name: "beta",
            default: "0.7",
            help: "fraction of the window that remains after the loss of a single segment",
            read: |value| options::thousandths(value, 100, 1_000, "a number from 0.1 to 1"),
        }

        /// The first window in initial windows.
        jump: u32 {
            name: "jump",
            default: "2",
            help: "the first window, in initial windows: 1 or 2",
            read: |value| options::integer(value, 1, 2, "1 or 2"),
        }

        /// Whether the response to the first loss leaves `beta` initial windows or more.
        keep_initial: bool {
            name: "keep_initial",
            default: "false",
            help: "the first loss leaves at least beta times the initial window, as the draft \
                   permits",
            read: options::boolean,
        }
    }
}

impl RapidStartConfig {
    /// The largest RTT that shows no queue.
    #[must_use]
    pub fn largest_rtt(&self, min_rtt: Duration) -> Duration {
        match self.threshold {
            Threshold::Draft => (min_rtt + MARGIN).min(min_rtt + min_rtt / 10),
            Threshold::Code => (min_rtt + MARGIN).max(min_rtt + min_rtt * 3 / 32),
        }
    }

    /// `silence` (which is also `loss`) and `ack`, in parts of 18000.
    #[must_use]
    pub fn shares(&self) -> (u64, u64) {
        let beta = u64::from(self.beta.min(1_000));
        let ack = self.draft.k() * (1_000 - beta);
        (18 * beta + ack, ack)
    }

    /// The window after a loss at `before`, with `acked` delivered and `lost` lost since.
    #[must_use]
    pub fn reduced(&self, before: Bytes, acked: Bytes, lost: Bytes) -> Bytes {
        let (silence, ack) = self.shares();
        let part_of = |bytes: Bytes, parts: u64| bytes.mul_div(parts, PARTS);
        // `beta / 3`, for either `K`.
        let floor = before.mul_div(silence - ack, 3 * PARTS);
        part_of(before, silence)
            .saturating_sub(part_of(acked, ack))
            .saturating_sub(part_of(lost, silence))
            .max(floor)
    }
}

/// The response to the first loss.
#[derive(Clone, Copy, Debug)]
struct Answer {
    before: Bytes,
    acked: Bytes,
    lost: Bytes,
    /// Delivered by the current ACK and not yet counted: the one that ends the episode.
    uncounted: Bytes,
}

impl Answer {
    /// Counts nothing that was sent after the loss.
    fn count(&mut self, delivered: Bytes, lost: Bytes) {
        let left = self.before.saturating_sub(self.acked + self.lost);
        let lost = lost.min(left);
        self.lost += lost;
        self.acked += delivered.min(left.saturating_sub(lost));
        self.uncounted = Bytes::ZERO;
    }
}

/// Rapid Start.
#[derive(Clone, Debug)]
pub struct RapidStart {
    config: RapidStartConfig,
    /// The pacing rate of the first full flight, and its end.
    first: Option<(Rate, u64)>,
    initial_window: Bytes,
    round_end: u64,
    /// Smallest RTT of the current round, and of the last.
    current: Option<Duration>,
    last: Option<Duration>,
    answer: Option<Answer>,
    /// The initial start is over.
    over: bool,
}

impl RapidStart {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(config: RapidStartConfig, _now: Instant, _snd_nxt: u64) -> Self {
        Self {
            config,
            first: None,
            initial_window: Bytes::ZERO,
            round_end: 0,
            current: None,
            last: None,
            answer: None,
            over: false,
        }
    }

    /// What remains of the window at the loss, in whole segments.
    fn remains(&self, answer: &Answer, smss: Bytes) -> Bytes {
        let cwnd = self
            .config
            .reduced(answer.before, answer.acked, answer.lost);
        let least = if self.config.keep_initial {
            let beta = u64::from(self.config.beta.min(1_000));
            self.initial_window.mul_div(beta, 1_000).min(answer.before)
        } else {
            Bytes::ZERO
        };
        (smss * cwnd.max(least).segments(smss)).max(smss * 2)
    }

    /// Paces `cwnd` over `rtt`, from `begin` on.
    fn pace_flight(&mut self, begin: u64, cwnd: Bytes, rtt: Duration) {
        if rtt.is_zero() {
            return;
        }
        let bits = u128::from(cwnd.get()) * 8 * 1_000_000_000 / u128::from(rtt.as_nanos());
        let rate = Rate::from_bits_per_sec(u64::try_from(bits).unwrap_or(u64::MAX));
        self.first = Some((rate, begin.saturating_add(cwnd.get())));
    }
}

impl Startup for RapidStart {
    fn needs(&self) -> Needs {
        Needs {
            handshake_rtt: true,
            losses: true,
            ..Needs::PACING
        }
    }

    fn on_established(&mut self, start: &Established, window: &Window) -> Option<Step> {
        self.initial_window = window.cwnd;
        let rtt = start.rtt.filter(|rtt| !rtt.is_zero())?;
        let cwnd = window.cwnd * u64::from(self.config.jump);
        self.pace_flight(0, cwnd, rtt);
        Some(Step::Set(cwnd))
    }

    fn observe(&mut self, ack: &Ack, _window: &Window) {
        if let Some(answer) = &mut self.answer {
            answer.uncounted = ack.delivered;
        }
    }

    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        if let Some((_, end)) = self.first {
            if self.config.draft == Draft::V02 && !ack.cwnd_limited {
                // The first full flight is still to come.
                self.pace_flight(ack.snd_nxt, window.cwnd, ack.srtt);
            } else if ack.snd_nxt >= end {
                self.first = None;
            }
        }
        if let Some(rtt) = ack.latest_rtt {
            self.current = Some(self.current.map_or(rtt, |least| least.min(rtt)));
        }
        if ack.snd_una >= self.round_end {
            self.round_end = ack.snd_nxt;
            self.last = self.current.take().or(self.last);
        }
        None
    }

    fn on_ack(&mut self, ack: &Ack, _window: &Window) -> Step {
        let rtt = match self.config.draft {
            Draft::V02 => self.current.or(self.last),
            Draft::V00 => self.last.or(self.current),
        };
        let is_empty = rtt.is_some_and(|rtt| rtt <= self.config.largest_rtt(ack.min_rtt));
        let factor = if is_empty && !self.over { 2 } else { 1 };
        Step::Grow(ack.delivered * factor)
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {
        self.first = None;
    }

    fn restart(&mut self, _now: Instant, _snd_nxt: u64) {
        self.over = true;
        self.answer = None;
    }

    fn pacing(&self) -> Option<Pace> {
        self.first.map(|(rate, _)| Pace::at(rate))
    }

    fn jump_starts(&mut self) -> Option<&mut dyn JumpStarts> {
        Some(self)
    }
}

impl JumpStarts for RapidStart {
    fn take_over(&mut self, _congestion: &Congestion, window: &Window) -> Option<Reduction> {
        if core::mem::replace(&mut self.over, true) {
            return None;
        }
        let answer = Answer {
            before: window.cwnd,
            acked: Bytes::ZERO,
            lost: Bytes::ZERO,
            uncounted: Bytes::ZERO,
        };
        let cwnd = self.remains(&answer, window.smss);
        self.answer = Some(answer);
        Some(Reduction {
            cwnd,
            ssthresh: cwnd,
        })
    }

    fn on_recovery_ack(&mut self, ack: &Ack, window: &Window) -> Bytes {
        let Some(mut answer) = self.answer else {
            return window.cwnd;
        };
        answer.count(ack.delivered, ack.newly_lost);
        self.answer = Some(answer);
        self.remains(&answer, window.smss)
    }

    fn on_recovery_exit(&mut self, _now: Instant, window: &Window) -> Reduction {
        let cwnd = self.answer.take().map_or(window.cwnd, |mut answer| {
            answer.count(answer.uncounted, Bytes::ZERO);
            self.remains(&answer, window.smss)
        });
        Reduction {
            cwnd,
            ssthresh: cwnd,
        }
    }
}

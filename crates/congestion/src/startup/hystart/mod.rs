//! HyStart: Ha and Rhee 2011, as in Linux (`hystart_update` of `tcp_cubic.c`), in the paper, and in
//! a port to ns-2.
//!
//! Two detectors run in each round of slow start. A round is one window of data. They act only if
//! the window is at least `low_window` segments:
//!
//! - *ACK train*: ACKs that follow each other within `ack_delta` form a train. Once the train is
//!   longer than the connection's smallest RTT plus an allowance for aggregation (halved if the
//!   sender does not pace), the path is full.
//! - *Delay*: once the round has `min_samples` samples, the next one ends slow start if the round's
//!   smallest RTT exceeds the connection's smallest by more than an eighth of it, clamped.
//!
//! Either detector sets the threshold to the window, before the current ACK makes it grow.
//! `variants.rs` describes `variant=paper` (Ha and Rhee 2011) and `variant=ns2` (Shahgir).
//!
//! Bruhn, Kühlewind and Muehleisen (2022, 2023) adjust CUBIC's HyStart for low delay over cellular
//! links, where round-trip times vary most when a flow begins. One of their two changes is in Linux
//! since 5.8 and is the default here: every RTT of a round may lower the round's minimum, not only
//! the first eight (`round_min=first` is the earlier form). The other is not published in what we
//! could read. We reconstruct it as skipping the first rounds or raising the threshold:
//! `cubic+hystart:skip_rounds=1,delay_min=8ms`.
//!
//! Assumes that the driver hides `latest_rtt` during the first second of a CUBIC epoch, as
//! `cubictcp_acked` does. Clock and round-trip times are whole microseconds, as in Linux. As in
//! Linux, only a timeout rearms a HyStart that has fired; a restart after idling changes nothing.
//!
//! # Deviations
//! - `linux=6.14` (the default) tracks rounds below `low_window` too, as Linux does since a fix of
//!   January 2025 that stable kernels also carry. `linux=5.16` is the form of 5.16 to 6.13, which
//!   skips all steps there, so that the first round it tracks starts late. Test: `hystart.rs`
//!   (`the_two_forms_leave_at_different_windows`).
//! - Linux deviates from the paper. The paper compares with the previous round, uses the first
//!   eight samples of a round, clamps to 2 and 8 ms, and compares the train with half the RTT
//!   alone: `variant=paper`.
//! - The kernel's CUBIC also updates its smallest RTT outside slow start. Here the detector runs
//!   only in slow start, which matters only if slow start is entered again without a timeout.

mod config;
mod variants;

pub use config::{HyStartConfig, HyStartForm, HyStartVariant};

use units::{Duration, Instant, Rate};

use crate::{Ack, Congestion, CongestionKind, ExitReason, Needs, Startup, Step, Window};

/// HyStart. Times are microseconds, as in Linux.
#[derive(Clone, Debug)]
pub struct HyStart {
    config: HyStartConfig,
    /// A detector has fired; only a timeout rearms them.
    found: bool,
    round_start: u64,
    /// The last ACK of the train.
    last_ack: u64,
    /// The round ends when this offset is passed.
    end_seq: u64,
    /// Smallest RTT of the round.
    curr_rtt: u64,
    sample_cnt: u32,
    /// Smallest RTT of the connection; zero if unknown.
    delay_min: u64,
    /// Smallest RTT of the previous round (`variant=paper`); `u64::MAX` if unknown.
    last_rtt: u64,
    /// Rounds that have begun.
    rounds: u32,
}

impl HyStart {
    /// A start-up for a connection that is established now, with `snd_nxt` as next offset.
    #[must_use]
    pub fn new(config: HyStartConfig, now: Instant, snd_nxt: u64) -> Self {
        let mut state = Self {
            config,
            found: false,
            round_start: 0,
            last_ack: 0,
            end_seq: 0,
            curr_rtt: u64::MAX,
            sample_cnt: 0,
            delay_min: 0,
            last_rtt: u64::MAX,
            rounds: 0,
        };
        state.begin_round(now.as_micros(), snd_nxt);
        state
    }

    /// Smallest RTT of the connection, and of the round, in microseconds.
    pub(super) const fn smallest_rtts(&self) -> (u64, u64) {
        (self.delay_min, self.curr_rtt)
    }

    /// How long the round has lasted, in microseconds.
    pub(super) const fn round_length(&self, now: u64) -> u64 {
        now.saturating_sub(self.round_start)
    }

    /// Linux's `bictcp_hystart_reset`.
    fn begin_round(&mut self, now: u64, snd_nxt: u64) {
        self.round_start = now;
        self.last_ack = now;
        self.end_seq = snd_nxt;
        self.curr_rtt = u64::MAX;
        self.sample_cnt = 0;
    }

    /// Updates the connection's smallest RTT; true if the sample lowers it.
    pub(super) fn observe(&mut self, rtt: u64) -> bool {
        let lower = self.delay_min == 0 || rtt < self.delay_min;
        if lower {
            self.delay_min = rtt;
        }
        lower
    }

    /// Whether a detector has fired.
    pub(super) const fn has_fired(&self) -> bool {
        self.found
    }

    /// Stops the detectors until a timeout.
    pub(super) const fn fire(&mut self) {
        self.found = true;
    }

    /// Begins a round if this ACK does; returns whether detectors run at this window.
    pub(super) fn follow_round(&mut self, ack: &Ack, window: &Window) -> bool {
        let low = window.cwnd < window.smss * u64::from(self.config.low_window);
        if low && self.config.linux == HyStartForm::V5_16 {
            return false;
        }
        if ack.snd_una > self.end_seq {
            self.begin_round(ack.now.as_micros(), ack.snd_nxt);
            self.rounds = self.rounds.saturating_add(1);
        }
        !low
    }

    /// Whether this ACK belongs to the train of the round.
    pub(super) fn extends_train(&mut self, now: u64) -> bool {
        let follows = now.saturating_sub(self.last_ack) <= self.config.ack_delta.as_micros();
        if follows {
            self.last_ack = now;
        }
        follows
    }

    /// The ACK-train detector.
    pub(super) fn train(&mut self, ack: &Ack) -> Option<ExitReason> {
        let now = ack.now.as_micros();
        if !self.config.train || !self.extends_train(now) {
            return None;
        }
        let threshold = self.delay_min + ack_delay(ack.pacing_rate);
        let threshold = if ack.paced { threshold } else { threshold / 2 };
        let train = self.round_length(now);
        (train > threshold).then_some(ExitReason::AckTrain {
            train: Duration::from_micros(train),
            threshold: Duration::from_micros(threshold),
        })
    }

    /// The delay detector, with a sample of the round.
    pub(super) fn delay(&mut self, rtt: u64) -> Option<ExitReason> {
        if !self.config.delay {
            return None;
        }
        let counts = self.sample_cnt < self.config.min_samples;
        if counts || !self.config.round_min_is_frozen {
            self.lower_round_min(rtt);
        }
        self.judge_delay()
    }

    /// A sample of the delay detector.
    fn lower_round_min(&mut self, rtt: u64) {
        let bound = self.config.rtt_bound_us;
        let bound = bound.map_or(u64::MAX, |bound| u64::from(bound.get()));
        self.curr_rtt = self.curr_rtt.min(rtt.min(bound));
    }

    /// Counts a sample; once there were enough, compares the round's smallest RTT with the
    /// connection's.
    fn judge_delay(&mut self) -> Option<ExitReason> {
        if self.sample_cnt < self.config.min_samples {
            self.sample_cnt += 1;
            return None;
        }
        let threshold = self.delay_min + self.increase(self.delay_min / 8);
        (self.curr_rtt > threshold).then_some(ExitReason::Delay {
            rtt: Duration::from_micros(self.curr_rtt),
            threshold: Duration::from_micros(threshold),
            base: Duration::from_micros(self.delay_min),
            samples: self.config.min_samples,
        })
    }

    /// `HYSTART_DELAY_THRESH`: the delay increase that counts.
    fn increase(&self, part: u64) -> u64 {
        part.min(self.config.delay_max.as_micros())
            .max(self.config.delay_min.as_micros())
    }

    /// The detectors of Linux.
    fn detect(&mut self, rtt: u64, ack: &Ack, window: &Window) -> Option<ExitReason> {
        self.observe(rtt);
        if self.found || !self.follow_round(ack, window) {
            return None;
        }
        // The first ACK of a connection begins its first round.
        if self.rounds.saturating_sub(1) < self.config.skip_rounds {
            return None;
        }
        self.train(ack).or_else(|| self.delay(rtt))
    }
}

/// Exits slow start with the window as threshold.
pub(super) const fn leave(window: &Window, reason: ExitReason) -> Step {
    Step::Exit {
        cwnd: window.cwnd,
        ssthresh: window.cwnd,
        reason,
    }
}

impl Startup for HyStart {
    fn needs(&self) -> Needs {
        Needs {
            pacing_rate: true,
            ..Needs::NONE
        }
    }

    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        let rtt = ack.latest_rtt?.as_micros().max(1);
        let reason = match self.config.variant {
            HyStartVariant::Linux => self.detect(rtt, ack, window),
            HyStartVariant::Paper => self.detect_as_paper(rtt, ack, window),
            HyStartVariant::Ns2 | HyStartVariant::Ns2Excerpt | HyStartVariant::Ns2Units => {
                self.detect_as_port(rtt, ack, window)
            }
        }?;
        self.found = true;
        Some(leave(window, reason))
    }

    fn on_ack(&mut self, ack: &Ack, _window: &Window) -> Step {
        Step::Grow(ack.delivered)
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        if congestion.kind != CongestionKind::Timeout {
            return;
        }
        if self.config.variant == HyStartVariant::Linux {
            self.delay_min = 0;
        }
        // The port never rearms the detectors.
        self.found &= self.config.variant.is_port();
        self.last_rtt = u64::MAX;
        self.begin_round(congestion.now.as_micros(), congestion.snd_nxt);
    }
}

/// Linux's `hystart_ack_delay` in microseconds: four TSO bursts at the pacing rate, at most 1 ms.
pub(super) fn ack_delay(pacing_rate: Rate) -> u64 {
    /// `4 * GSO_MAX_SIZE * USEC_PER_SEC`.
    const FOUR_BURSTS: u64 = 4 * 65_536 * 1_000_000;
    /// Up to this rate, four bursts take a millisecond or more.
    const SLOW: u64 = FOUR_BURSTS / 1_000;
    match pacing_rate.bytes_per_sec() {
        0 => 0,
        1..=SLOW => 1_000,
        rate => (FOUR_BURSTS / rate).min(1_000),
    }
}

//! SUSS: Arghavani et al. 2024, as in the authors' patch for Linux 6.8.
//!
//! In a round of slow start the *blue* segments are those that standard slow start would send, two
//! for each segment acknowledged. Once the ACKs of the last round's blue segments have arrived,
//! SUSS extrapolates HyStart's two tests by one round. If neither would then end slow start, the
//! window may quadruple: the additional *red* segments are paced over the rest of the round, after
//! a guard interval, even if the sender is otherwise unpaced. While red segments are being paced,
//! ACKs of red segments release nothing themselves, so that the train of blue ACKs remains a
//! measurement.
//!
//! HyStart ends slow start. Its train test considers only blue ACKs and the train that would result
//! from the accelerations so far; when it fires, growth continues up to the window that belongs to
//! the whole train. Its delay test is Linux's. After more than one acceleration the window falls to
//! what is in flight, as it does when a loss ends slow start.
//!
//! `docs/concepts/suss-evaluation.md` shows the effect of each setting on the numbers of SUSS
//! developers 2025.
//!
//! Assumes Linux's ACK processing and an unpaced sender: if the sender paces, SUSS is off and only
//! HyStart remains. The authors' code does the same: `cubictcp_init` lets SUSS begin only if the
//! socket is not paced when the connection is established, and nothing lets it begin later
//! (SUSSdeveloper/SUSS, commit dc2a493d of February 2025, `tcp_cubic.c` for Linux 5.19.10 and 6.8).
//! So it is HyStart over a QUIC stack that paces. The section "Under pacing" of
//! `docs/concepts/suss-evaluation.md` says what sch_fq changes.
//!
//! # Deviations
//! - The talk (`form=talk`) and the code (`form=code`, the default) differ in the first test. The
//!   talk accepts a train of up to a quarter of the smallest RTT in every round. The code does so
//!   in round 2 and lets the predicted train of later rounds grow to the whole RTT. Test: `suss.rs`
//!   (`the_code_accepts_longer_trains_than_the_talk`). Our reading of the talk is from its slides.
//! - The patch sends beyond the advertised receive window, which RFC 9293 section 3.8.6 forbids.
//!   This respects the window by default, and a receiver that opens its window from 64 KB as Linux
//!   does then leaves SUSS almost nothing to gain. With `override_window=true` it sends as the
//!   patch does: the segments are accepted because the window has advanced when they arrive. A
//!   closed window stays closed here; in the patch it does not. Test: `suss.rs` of the simulator.
//! - The patch assumes an initial window of ten segments and TCP port 80. This uses the flow's own
//!   initial window, and any port.
//! - Where the patch divides by zero (one ACK for a whole blue train), the train has no length.

use units::{Bytes, Duration, Instant, Rate};

use super::hystart::{HyStart, HyStartConfig, ack_delay, leave};
use crate::{
    Ack, Congestion, CongestionKind, ExitReason, JumpStarts, Needs, Pace, Sent, Startup,
    SteersSending, Step, Window,
};
use crate::{options, settings};

/// SUSS is off below this round-trip time, in microseconds.
const LEAST_RTT: u64 = 10_000;
/// SUSS turns off permanently when a timeout leaves a window below this, in segments.
const LEAST_WINDOW_AFTER_TIMEOUT: u64 = 40;
/// Fraction bits of a ratio (`SUSS_SCALE`).
const SCALE: u32 = 10;
/// Window growth per burst sent while red segments are paced, in segments.
const GROWTH: u64 = 2;

/// The description that SUSS follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SussForm {
    /// The authors' patch.
    #[default]
    Code,
    /// The authors' talk.
    Talk,
}

settings! {
    /// Configuration of [`Suss`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SussConfig {
        /// The description to follow.
        form: SussForm {
            name: "form",
            default: "code",
            help: "code: the authors' patch; talk: accelerate a round only if its train is at most \
                   a quarter of the smallest RTT",
            read: |value| {
                let forms = [("code", SussForm::Code), ("talk", SussForm::Talk)];
                options::choice(value, &forms, "code or talk")
            },
        }

        /// How many rounds may be accelerated (`suss_max`); the first that can be is round 2.
        max: u32 {
            name: "max",
            default: "3",
            help: "rounds that may be accelerated, from the second on",
            read: |value| options::integer(value, 0, 10, "a whole number from 0 to 10"),
        }

        /// Whether to send beyond the advertised receive window.
        override_window: bool {
            name: "override_window",
            default: "false",
            help: "send beyond the advertised receive window, as the authors' patch does (violates \
                   RFC 9293 section 3.8.6)",
            read: options::boolean,
        }
    }
}

/// `suss_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// 1: ACKs clock everything.
    Clocked,
    /// 2: red segments are being paced.
    Pacing,
    /// 3, 4 and 9: a detector or a loss has ended slow start.
    Ended,
    /// 10: off permanently; only HyStart runs.
    Off,
}

/// The segments that the last ACK acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colour {
    Blue,
    /// The last of the blue segments: the next ACK is red.
    Tail,
    Red,
}

/// The train test has fired: growth continues up to a window.
#[derive(Clone, Copy, Debug)]
struct Cap {
    segments: u64,
    train: u64,
    threshold: u64,
}

/// The outcome of a blue train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acceleration {
    /// Number of the round; the first is that of the initial window.
    pub round: u32,
    /// Length of the blue train, scaled to all segments of the round.
    pub train: Duration,
    /// Red segments that may be sent, and those of the previous round still in flight.
    pub red: u64,
    /// See `red`.
    pub red_in_flight: u64,
    /// The window that they may fill, in segments.
    pub limit: u64,
    /// Their pacing rate.
    pub rate: Rate,
    /// When the first one leaves.
    pub from: Instant,
}

/// SUSS. Times are microseconds, windows segments, as in the patch.
#[derive(Clone, Debug)]
pub struct Suss {
    config: SussConfig,
    hystart: HyStart,
    state: State,
    round: u32,
    colour: Colour,
    /// The round ends when this offset is passed (`suss_head_seq`).
    head: u64,
    /// The last blue offset (`suss_tail_seq`).
    tail: u64,
    /// Initial window, zero before the first ACK, and the size of a segment.
    initial_window: u64,
    smss: Bytes,
    /// Blue segments acknowledged in this round.
    blue_acked: u64,
    round_start: u64,
    /// Whether rounds may still be accelerated (`suss_gf`).
    is_accelerating: bool,
    /// Number of accelerated rounds (`suss_num_of_jump`).
    jumps: u32,
    /// The round in which the smallest RTT was last lowered.
    lowered_in: u32,
    /// The blue train of the last accelerated round.
    last_train: u64,
    cap: Option<Cap>,
    acceleration: Option<Acceleration>,
    /// Whether the red segments have begun to leave.
    is_pacing: bool,
}

impl Suss {
    /// A start-up for a connection that is established now, with `snd_nxt` as next offset.
    #[must_use]
    pub fn new(config: SussConfig, now: Instant, snd_nxt: u64) -> Self {
        Self {
            config,
            hystart: HyStart::new(HyStartConfig::default(), now, snd_nxt),
            state: State::Clocked,
            round: 1,
            colour: Colour::Red,
            head: snd_nxt,
            tail: snd_nxt,
            initial_window: 0,
            smss: Bytes::new(1),
            blue_acked: 0,
            round_start: now.as_micros(),
            is_accelerating: true,
            jumps: 0,
            lowered_in: 0,
            last_train: 0,
            cap: None,
            acceleration: None,
            is_pacing: false,
        }
    }

    /// The last accelerated round, for traces.
    #[must_use]
    pub const fn acceleration(&self) -> Option<Acceleration> {
        self.acceleration
    }

    /// Number of accelerated rounds.
    #[must_use]
    pub const fn accelerations(&self) -> u32 {
        self.jumps
    }

    const fn is_running(&self) -> bool {
        matches!(self.state, State::Clocked | State::Pacing)
    }

    /// Exits slow start: with what is in flight, after more than one acceleration.
    fn leave(&mut self, ack: &Ack, window: &Window, reason: ExitReason) -> Step {
        self.hystart.fire();
        if self.state == State::Off {
            return leave(window, reason);
        }
        self.state = State::Ended;
        self.is_pacing = false;
        let cwnd = if self.jumps > 1 {
            ack.in_flight.max(window.smss)
        } else {
            window.cwnd
        };
        Step::Exit {
            cwnd,
            ssthresh: cwnd,
            reason,
        }
    }

    /// HyStart's train test on blue ACKs (`suss_cap`).
    fn judge_train(&mut self, ack: &Ack, window: &Window) -> Option<ExitReason> {
        if let Some(cap) = self.cap {
            return (window.cwnd_segments() > cap.segments).then_some(ExitReason::AckTrain {
                train: Duration::from_micros(cap.train),
                threshold: Duration::from_micros(cap.threshold),
            });
        }
        let now = ack.now.as_micros();
        if !self.is_running() || self.colour == Colour::Red || !self.hystart.extends_train(now) {
            return None;
        }
        let threshold = (self.hystart.smallest_rtts().0 + ack_delay(ack.pacing_rate)) / 2;
        let train = self
            .hystart
            .round_length(now)
            .saturating_mul(1 << self.jumps);
        if train > threshold {
            self.cap = Some(Cap {
                segments: window.cwnd_segments() + self.blue_acked * ((1 << self.jumps) - 1),
                train,
                threshold,
            });
        }
        None
    }

    /// Whether exponential growth would continue for one more round (`suss_speedup`) after a blue
    /// train of this length.
    fn may_accelerate(&mut self, train: u64) -> bool {
        let (min_rtt, round_rtt) = self.hystart.smallest_rtts();
        if self.round == 2 {
            let accepted = self.config.max > 0 && min_rtt > LEAST_RTT && train < min_rtt / 4;
            if !accepted {
                self.state = State::Off;
            }
            return accepted;
        }
        if self.round >= self.config.max.saturating_add(2) {
            return false;
        }
        // The train if all segments of the round were blue; at most 2^9 rounds' worth.
        let whole = u128::from(train) << (self.round - 2);
        let fits = match self.config.form {
            SussForm::Code => {
                let before = u128::from(self.last_train.max(1)) << (self.round - 3);
                let growth = (whole << SCALE) / (before << 1);
                growth.saturating_mul(whole) >> (SCALE - 1) <= u128::from(min_rtt)
            }
            SussForm::Talk => whole <= u128::from(min_rtt / 4),
        };
        let age = u128::from(self.round - self.lowered_in.min(self.round));
        let (min_rtt, round_rtt) = (u128::from(min_rtt), u128::from(round_rtt));
        fits && (age + 1) * round_rtt <= min_rtt * (age + 1) + min_rtt * age / 8
    }

    /// `suss_measurements`.
    fn measure(&mut self, ack: &Ack, window: &Window) {
        let now = ack.now.as_micros();
        if self.colour == Colour::Tail {
            self.colour = Colour::Red;
        }
        if ack.snd_una > self.head {
            self.colour = Colour::Blue;
            self.blue_acked = 0;
            self.round = self.round.saturating_add(1);
            self.round_start = now;
            self.head = ack.snd_nxt;
            self.is_pacing = false;
            self.state = State::Clocked;
        }
        if ack.snd_una > self.tail {
            self.colour = Colour::Tail;
            self.end_of_blue(ack, window);
        }
        if self.colour != Colour::Red {
            self.blue_acked += ack.delivered.segments(window.smss);
        }
    }

    /// All blue segments of the last round are acknowledged.
    fn end_of_blue(&mut self, ack: &Ack, window: &Window) {
        let now = ack.now.as_micros();
        let blue = self.initial_window << (self.round - 1).min(24);
        self.tail = self.head + blue * window.smss.get() - 1;
        let elapsed = u128::from(now.saturating_sub(self.round_start));
        let train = u128::from(blue) * elapsed / u128::from(2 * self.blue_acked.max(1));
        let train = u64::try_from(train).unwrap_or(u64::MAX);
        self.is_accelerating = self.is_accelerating && self.may_accelerate(train);
        if !self.is_accelerating {
            return;
        }
        self.last_train = train;
        let (round, min_rtt) = (self.round, self.hystart.smallest_rtts().0);
        let red = (blue << (round - 1)) - blue;
        let red_in_flight = ((blue / 2) << (round - 2)) - blue / 2;
        let duration = min_rtt - (min_rtt >> (round - 1));
        let slot = min_rtt - duration;
        if slot <= train {
            self.state = State::Clocked;
            return;
        }
        let acked = ack.delivered.segments(window.smss);
        let bytes = u128::from(red * window.smss.get()) * 1_000_000;
        let rate = bytes / u128::from(duration.max(1));
        self.state = State::Pacing;
        self.jumps += 1;
        self.acceleration = Some(Acceleration {
            round,
            train: Duration::from_micros(train),
            red,
            red_in_flight,
            limit: (window.cwnd_segments() + acked + red).saturating_sub(red_in_flight),
            rate: Rate::from_bytes_per_sec(u64::try_from(rate).unwrap_or(u64::MAX)),
            from: ack.now + Duration::from_micros((slot - train) / 2),
        });
    }
}

impl Startup for Suss {
    fn needs(&self) -> Needs {
        Needs {
            pacing_rate: true,
            unpaced: true,
            ..Needs::PACING
        }
    }

    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        if self.initial_window == 0 {
            self.initial_window = window.cwnd_segments().clamp(1, 1 << 20);
            self.smss = window.smss;
            self.tail = self.head + self.initial_window * window.smss.get() - 1;
            if ack.paced {
                self.state = State::Off;
            }
        }
        if let Some(rtt) = ack.latest_rtt {
            let rtt = rtt.as_micros().max(1);
            if self.hystart.observe(rtt) {
                self.lowered_in = self.round;
            }
            if !self.hystart.has_fired() && self.hystart.follow_round(ack, window) {
                let train = if self.state == State::Off {
                    self.hystart.train(ack)
                } else {
                    self.judge_train(ack, window)
                };
                if let Some(reason) = train.or_else(|| self.hystart.delay(rtt)) {
                    return Some(self.leave(ack, window, reason));
                }
            }
        }
        if ack.advanced && !ack.phase.is_reducing() && self.is_running() && self.cap.is_none() {
            self.measure(ack, window);
        }
        None
    }

    fn on_ack(&mut self, ack: &Ack, _window: &Window) -> Step {
        if self.state == State::Pacing && self.colour == Colour::Red {
            return Step::Grow(Bytes::ZERO);
        }
        Step::Grow(ack.delivered)
    }

    fn pacing(&self) -> Option<Pace> {
        self.acceleration
            .filter(|_| self.is_pacing)
            .map(|red| Pace {
                rate: red.rate,
                not_before: Some(red.from),
            })
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.is_pacing = false;
        if congestion.kind == CongestionKind::Timeout {
            // The window is then what is in flight plus one segment.
            if congestion.in_flight.segments(self.smss) + 1 < LEAST_WINDOW_AFTER_TIMEOUT {
                self.state = State::Off;
            }
        } else if self.state != State::Off {
            self.state = State::Ended;
        }
        self.hystart.on_congestion(congestion);
    }

    fn jump_starts(&mut self) -> Option<&mut dyn JumpStarts> {
        Some(self)
    }

    fn steers_sending(&mut self) -> Option<&mut dyn SteersSending> {
        Some(self)
    }
}

impl JumpStarts for Suss {
    fn reduces_from(&mut self, congestion: &Congestion, window: &Window) -> Option<Bytes> {
        let is_loss = congestion.kind != CongestionKind::Timeout;
        (is_loss && self.is_running()).then_some(congestion.in_flight.max(window.smss))
    }
}

impl SteersSending for Suss {
    fn after_sent(&mut self, sent: &Sent, window: &Window) -> Option<Step> {
        let limit = self
            .acceleration
            .filter(|_| self.state == State::Pacing)?
            .limit;
        if window.cwnd_segments() >= limit || window.cwnd > sent.in_flight + sent.size {
            return None;
        }
        self.is_pacing = true;
        Some(Step::Grow(window.smss * GROWTH))
    }

    fn supposed_receive_window(&self) -> Option<Bytes> {
        if !self.config.override_window || self.initial_window == 0 {
            return None;
        }
        let is_early = self.is_running() && self.round < self.config.max + self.jumps;
        let doublings = if is_early {
            self.round + self.jumps - 1
        } else {
            0
        };
        Some(self.smss * (self.initial_window << doublings.min(24)))
    }
}

//! C4: C. Huitema, S. Nandakumar, C. Jennings, "Specification of Christian's Congestion Control
//! Code (C4)", draft-huitema-ccwg-c4-spec-04 (July 2026).
//!
//! Two variables describe a flow: the *nominal rate*, the largest delivery rate that was measured,
//! and the *nominal max RTT*, the largest RTT without a queue of its own, which includes jitter. The
//! pacing rate is `alpha` times the nominal rate, and the window is what it sends in the nominal max
//! RTT and a margin. An *era* is one round trip. *Initial* grows as slow start does until the rate
//! has not grown for three eras. *Recovery* (`alpha` 15/16) follows, then *Cruising* (1), and after
//! two eras *Probing* (17/16, or 33/32 where marks were seen) for one era. If the rate grew,
//! *Pushing* (5/4) follows the next Recovery, for as long as the rate grows by 3/16 in each era;
//! after three such eras Initial begins again. *Resuming* sends at a remembered rate for two eras.
//!
//! Signals of congestion are an RTT above the nominal max RTT and a threshold, a smoothed loss rate
//! and a smoothed rate of CE marks above theirs. The thresholds fall with the nominal rate
//! (*sensitivity*), so that the fastest flow reacts first. A signal in Cruising lowers the nominal
//! rate by at most a quarter.
//!
//! Assumes delivery-rate samples, pacing, and a transport that reports each lost segment. Without
//! AccECN, an ECN mark counts as if all that the ACK delivered was marked.
//!
//! ## Deviations
//!
//! - The text was read from the editor's copy that follows -04. What that copy adds to -04 is not
//!   here: trimming of the nominal rate, and draining, whose `alpha` is 3/4 in one section and 7/8 in
//!   another, and whose conditions have no numbers.
//! - Where the text is silent, a number of picoquic's `c4.c` (August 2026) is used. These are: a rate
//!   has grown in Initial if it is 5/4 of that at the start of the era; the smoothed loss rate starts
//!   from zero after Recovery; the seed of Resuming is used if its RTT is within a quarter of the
//!   measured one; Resuming starts its era again while less than 16/17 of the seed is in flight.
//! - Three formulas of the text have slips of the pen, and are read as picoquic has them: the nominal
//!   rate follows larger samples, not smaller ones; the margin is added to the RTT, not to the rate;
//!   persistent congestion never raises the nominal rate.
//! - `form=picoquic` has five rules of the code that the text has not: the delay is a signal only in
//!   an era after one that was sent above the nominal rate; a signal in Recovery lowers `alpha` to
//!   7/8 and starts its era again; a loss lowers rate and nominal max RTT, by 1/8 at low and 1/4 at
//!   high sensitivity; high jitter starts Initial again once, above 50 ms and below 8 Mbit/s; the
//!   rate of marks follows when a mark arrives, over all that arrived since it did last. (In the
//!   text it follows each ACK; one mark in an ACK of two segments is then a rate of one half.)
//! - Rate samples are the transport's (those of Linux): their interval begins with the previous
//!   delivery. Its bursts replace the pacing quantum.
//! - A timeout is no signal, as in the text; the window of TCP falls to one segment beyond what is in
//!   flight until the next ACK.
//! - The nominal max RTT is at least 1 ms. Faster pacing for RTTs below 1 ms is not here.

mod eras;
mod signals;

use units::{Bytes, Duration, Instant, Rate};

use crate::memory::Saved;
use crate::{
    Ack, BuildContext, Congestion, CongestionControl, CongestionKind, Established, ExitReason,
    Lost, Needs, PathMemory, Sent, SlowStartExit, Window,
};
use crate::{options, settings};

/// The unit of `alpha`.
const UNIT: u64 = 32;
const INITIAL: u64 = 64;
const RECOVERY: u64 = 30;
/// `alpha` of Recovery after a signal, in picoquic.
const SLOWER_RECOVERY: u64 = 28;
const PROBING: u64 = 34;
const PROBING_MARKED: u64 = 33;
const PUSHING: u64 = 40;
/// One in sensitivities and smoothed rates.
const ONE: u64 = 1 << 20;
/// Weight of the smoothed rates: 1/16.
const SMOOTHING: u64 = 16;
const MAX_MARGIN: Duration = Duration::from_millis(15);
const LEAST_MAX_RTT: Duration = Duration::from_millis(1);
/// Least pacing rate of Initial: 128 KB/s.
const INITIAL_PACING: Rate = Rate::from_bits_per_sec(1_048_576);
/// Smallest window, in segments.
const LEAST_WINDOW: u64 = 2;

/// Whose rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Those of the draft.
    Draft,
    /// Those of picoquic, where they differ.
    Picoquic,
}

settings! {
    /// Configuration of [`C4`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct C4Config {
        /// Whose rules.
        form: Form {
            name: "form",
            default: "draft",
            help: "whose rules: draft, or picoquic where its code differs",
            read: |value| {
                let forms = [("draft", Form::Draft), ("picoquic", Form::Picoquic)];
                options::choice(value, &forms, "draft or picoquic")
            },
        }

        /// The window to resume with, in segments; zero for none.
        saved_cwnd: u32 {
            name: "saved_cwnd",
            default: "0",
            help: "remembered window for Resuming, in segments; 0: none",
            read: |value| {
                let count = "a whole number of segments from 0 to 10000000";
                options::integer(value, 0, 10_000_000, count)
            },
        }

        /// The RTT that belongs to it.
        saved_rtt: Duration {
            name: "saved_rtt",
            default: "0s",
            help: "remembered RTT that belongs to saved_cwnd",
            read: |value| {
                let longest = Duration::from_secs(60);
                options::duration(value, longest, "a time from 0 to 60 s, such as 600ms")
            },
        }

        /// Whether it resumes with what earlier connections left.
        resume: bool {
            name: "resume",
            default: "false",
            help: "whether it resumes with what earlier connections over the path saved",
            read: options::boolean,
        }
    }
}

/// The states of the draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// First assessment of the path.
    Initial,
    /// Sending at a remembered rate.
    Resuming,
    /// Below the nominal rate, to see what the last state brought.
    Recovery,
    /// At the nominal rate.
    Cruising,
    /// Slightly above it, to see whether there is more.
    Probing,
    /// Above it, while it grows.
    Pushing,
}

/// What belongs to one era.
#[derive(Clone, Copy, Debug)]
struct Era {
    /// The first offset that it sends.
    sequence: u64,
    alpha_previous: u64,
    max_rtt: Duration,
    min_rtt: Duration,
    /// The nominal rate at its start.
    rate: Rate,
    /// Whether a sample came while the application did not limit the sender.
    is_used: bool,
}

/// C4.
#[derive(Clone, Debug)]
pub struct C4 {
    config: C4Config,
    smss: Bytes,
    cwnd: Bytes,
    ssthresh: Bytes,
    pacing_rate: Rate,

    state: State,
    alpha: u64,
    /// Eras in this state, of those that count them.
    eras: u32,
    era: Era,
    nominal_rate: Rate,
    nominal_max_rtt: Duration,
    running_min_rtt: Duration,

    /// Initial: its window, its eras without growth, and what has arrived.
    initial_cwnd: Bytes,
    eras_no_increase: u32,
    received: Bytes,
    /// Recovery: the rate before the Probing that it follows, and whether there was a signal.
    probed_from: Option<Rate>,
    is_congested: bool,
    successive: u32,
    recent_max_rate: Rate,
    has_restarted: bool,

    seed: Option<(Bytes, Duration)>,
    seed_rate: Rate,

    /// Smoothed loss rate and rate of marks.
    loss: u64,
    ecn_alpha: u64,
    /// Marked, and delivered, since the rate of marks was last followed.
    marked: Bytes,
    counted: Bytes,
    has_marks: bool,
    saw_loss: bool,
    exit: Option<SlowStartExit>,
}

impl C4 {
    /// A new connection.
    #[must_use]
    pub fn new(config: C4Config, context: &BuildContext) -> Self {
        let smss = context.smss.max(Bytes::new(1));
        let cwnd = context.initial_window.max(smss);
        let saved = smss * u64::from(config.saved_cwnd);
        Self {
            config,
            smss,
            cwnd,
            ssthresh: Bytes::MAX,
            pacing_rate: Rate::ZERO,
            state: State::Initial,
            alpha: INITIAL,
            eras: 0,
            era: Era {
                sequence: 0,
                alpha_previous: INITIAL,
                max_rtt: Duration::ZERO,
                min_rtt: Duration::MAX,
                rate: Rate::ZERO,
                is_used: false,
            },
            nominal_rate: Rate::ZERO,
            nominal_max_rtt: Duration::ZERO,
            running_min_rtt: Duration::MAX,
            initial_cwnd: cwnd,
            eras_no_increase: 0,
            received: Bytes::ZERO,
            probed_from: None,
            is_congested: false,
            successive: 0,
            recent_max_rate: Rate::ZERO,
            has_restarted: false,
            seed: (!saved.is_zero()).then_some((saved, config.saved_rtt)),
            seed_rate: Rate::ZERO,
            loss: 0,
            ecn_alpha: 0,
            marked: Bytes::ZERO,
            counted: Bytes::ZERO,
            has_marks: false,
            saw_loss: false,
            exit: None,
        }
    }

    /// The current state.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// The nominal rate and the nominal max RTT; zero before they are known.
    #[must_use]
    pub const fn nominal(&self) -> (Rate, Duration) {
        (self.nominal_rate, self.nominal_max_rtt)
    }

    fn is_picoquic(&self) -> bool {
        self.config.form == Form::Picoquic
    }

    /// Sets pacing rate and window.
    fn apply(&mut self) {
        if self.state == State::Resuming {
            self.pacing_rate = self.seed_rate;
            return;
        }
        if self.nominal_rate == Rate::ZERO || self.nominal_max_rtt.is_zero() {
            self.cwnd = self.initial_cwnd;
            return;
        }
        let rate = self.nominal_rate.mul_div(self.alpha, UNIT);
        if self.state == State::Initial {
            self.cwnd = rate.bytes_in(self.nominal_max_rtt).max(self.initial_cwnd);
            self.pacing_rate = rate.max(INITIAL_PACING);
        } else {
            let margin = (self.nominal_max_rtt / 4).min(MAX_MARGIN);
            self.cwnd = rate.bytes_in(self.nominal_max_rtt + margin);
            self.pacing_rate = rate;
        }
    }

    fn start_era(&mut self, snd_nxt: u64) {
        if self.is_picoquic() && self.has_marks {
            self.follow_marks();
        }
        self.era = Era {
            sequence: snd_nxt,
            alpha_previous: self.alpha,
            max_rtt: Duration::ZERO,
            min_rtt: Duration::MAX,
            rate: self.nominal_rate,
            is_used: false,
        };
    }

    fn enter(&mut self, state: State, alpha: u64, snd_nxt: u64) {
        self.start_era(snd_nxt);
        self.state = state;
        self.alpha = alpha;
        self.eras = 0;
    }

    fn enter_recovery(&mut self, is_congested: bool, snd_nxt: u64) {
        self.probed_from = (self.state == State::Probing).then_some(self.era.rate);
        self.is_congested = is_congested;
        self.enter(State::Recovery, RECOVERY, snd_nxt);
    }

    fn enter_initial(&mut self, snd_nxt: u64) {
        self.enter(State::Initial, INITIAL, snd_nxt);
        self.initial_cwnd = self.nominal_rate.bytes_in(self.nominal_max_rtt);
        self.eras_no_increase = 0;
        self.received = Bytes::ZERO;
    }

    /// Leaves Initial: half of the last window is what the path holds.
    fn exit_initial(&mut self, reason: ExitReason, ack: &Ack) {
        if self.nominal_rate == Rate::ZERO {
            return;
        }
        let max_rtt = self.nominal_rate.time_for(self.cwnd.mul_div(1, 2));
        self.nominal_max_rtt = max_rtt.max(LEAST_MAX_RTT);
        self.leave_slow_start(reason, ack);
        let is_congested = !matches!(reason, ExitReason::FullPipe { .. });
        self.enter_recovery(is_congested, ack.snd_nxt);
    }

    fn leave_slow_start(&mut self, reason: ExitReason, ack: &Ack) {
        if self.exit.is_none() {
            self.exit = Some(SlowStartExit {
                at: ack.now,
                cwnd: self.window().cwnd,
                reason,
            });
        }
    }

    fn see_rtt(&mut self, ack: &Ack) {
        let Some(rtt) = ack.latest_rtt else { return };
        if self.nominal_max_rtt.is_zero() {
            self.nominal_max_rtt = rtt.max(LEAST_MAX_RTT);
        }
        self.era.max_rtt = self.era.max_rtt.max(rtt);
        self.era.min_rtt = self.era.min_rtt.min(rtt);
    }

    fn see_rate(&mut self, ack: &Ack) {
        let Some(sample) = &ack.rate else { return };
        let rate = rate_of(sample.delivered, sample.interval);
        self.recent_max_rate = self.recent_max_rate.max(rate);
        self.era.is_used |= !sample.app_limited;
        if !(self.state == State::Recovery && self.is_congested) {
            self.nominal_rate = self.nominal_rate.max(rate);
        }
    }

    /// Resumes if the path has the RTT that is remembered.
    fn resume(&mut self, rtt: Duration) {
        let Some((cwnd, saved_rtt)) = self.seed.take() else {
            return;
        };
        let margin = rtt / 4;
        if saved_rtt < rtt.saturating_sub(margin) || saved_rtt > rtt + margin || rtt.is_zero() {
            return;
        }
        self.cwnd = cwnd;
        self.seed_rate = rate_of(cwnd, rtt);
        self.nominal_max_rtt = self.nominal_max_rtt.max(rtt).max(LEAST_MAX_RTT);
        self.enter(State::Resuming, INITIAL, self.era.sequence);
        self.apply();
    }
}

/// The rate that delivers `bytes` in `interval`.
fn rate_of(bytes: Bytes, interval: Duration) -> Rate {
    const NANO_BITS: u64 = 8_000_000_000;
    Rate::from_bits_per_sec(NANO_BITS).mul_div(bytes.get(), interval.as_nanos().max(1))
}

impl CongestionControl for C4 {
    fn needs(&self) -> Needs {
        Needs {
            rate_samples: true,
            handshake_rtt: self.config.resume || self.config.saved_cwnd > 0,
            memory: self.config.resume,
            ..Needs::PACING
        }
    }

    #[inline]
    fn window(&self) -> Window {
        let whole = |bytes: Bytes| self.smss * bytes.segments(self.smss).max(LEAST_WINDOW);
        Window {
            cwnd: whole(self.cwnd),
            ssthresh: match self.ssthresh {
                Bytes::MAX => Bytes::MAX,
                ssthresh => whole(ssthresh),
            },
            smss: self.smss,
        }
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        (self.pacing_rate > Rate::ZERO).then_some(self.pacing_rate)
    }

    fn requires_pacing(&self) -> bool {
        self.pacing_rate > Rate::ZERO
    }

    fn watches_losses(&self) -> bool {
        true
    }

    fn reads_marks(&self) -> bool {
        true
    }

    fn on_mtu(&mut self, _now: Instant, smss: Bytes) {
        self.smss = smss.max(Bytes::new(1));
    }

    fn on_established(&mut self, start: &Established) {
        if self.config.resume
            && self.seed.is_none()
            && let Some(saved) = start.memory.saved.filter(|_| !start.memory.is_in_use())
        {
            self.seed = Some((saved.cwnd, saved.rtt));
        }
        if let Some(rtt) = start.rtt {
            self.resume(rtt);
        }
    }

    fn on_sent(&mut self, _sent: &Sent) {}

    fn on_delivery(&mut self, ack: &Ack) {
        for _ in 0..ack.delivered.segments(self.smss).min(256) {
            self.loss -= self.loss / SMOOTHING;
        }
    }

    fn on_marks(&mut self, marked: Bytes) {
        self.marked += marked;
        self.has_marks |= !marked.is_zero();
    }

    fn on_lost(&mut self, lost: &Lost) {
        if self.state == State::Recovery && lost.seq < self.era.sequence {
            return;
        }
        self.loss = (self.loss * (SMOOTHING - 1) + ONE) / SMOOTHING;
        self.saw_loss = true;
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.see_rtt(ack);
        if self.state == State::Initial {
            if let Some(rtt) = ack.latest_rtt {
                self.resume(rtt);
            }
            self.received += ack.delivered;
            let shift = 3 * self.eras_no_increase;
            self.initial_cwnd += Bytes::new(ack.delivered.get() >> shift);
        }
        self.see_rate(ack);
        if self.state == State::Resuming {
            let in_flight = ack.in_flight + ack.in_flight.mul_div(1, 16);
            if in_flight < self.cwnd {
                self.era.sequence = ack.snd_nxt;
            }
        }
        if let Some(signal) = self.signal(ack) {
            self.on_signal(signal, ack);
        }
        if ack.snd_una > self.era.sequence {
            self.end_era(ack);
        }
        self.apply();
        self.ssthresh = match self.state {
            State::Initial | State::Resuming => Bytes::MAX,
            _ => self
                .nominal_rate
                .bytes_in(self.nominal_max_rtt)
                .min(self.cwnd),
        };
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        match congestion.kind {
            CongestionKind::Loss => {}
            CongestionKind::Ecn => {
                self.has_marks = true;
                self.marked = Bytes::MAX;
            }
            CongestionKind::Timeout => {
                self.saw_loss = false;
                self.cwnd = congestion.in_flight + self.smss;
            }
        }
    }

    fn undo(&mut self, _now: Instant) {}

    fn slow_start_exit(&self) -> Option<SlowStartExit> {
        self.exit
    }

    fn on_close(&self, now: Instant, memory: &mut PathMemory) {
        if self.config.resume && self.state != State::Initial && self.nominal_rate > Rate::ZERO {
            let rtt = self.running_min_rtt.min(self.nominal_max_rtt);
            memory.saved = Some(Saved {
                cwnd: self.nominal_rate.bytes_in(rtt),
                rtt,
                at: Some(now),
            });
        }
    }
}

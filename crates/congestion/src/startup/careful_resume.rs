//! Careful Resume: "Convergence of Congestion Control from Retained State", RFC 9959, read as
//! draft-ietf-tsvwg-careful-resume-24.
//!
//! A connection that closes saves its smallest RTT and the bytes delivered in one round trip. The
//! next connection over the path observes first (*Reconnaissance*: the initial window must be
//! acknowledged without congestion, with an RTT of more than half the saved one). It then jumps to
//! half of the saved window, paced over one RTT (*Unvalidated*). The data sent beyond the earlier
//! flight is unvalidated until it is acknowledged (*Validating*). Congestion in that data starts
//! *Safe Retreat*: the saved state is deleted, and the window becomes half of what the path is
//! known to have carried (`PipeSize`). The window stays there until the last unvalidated segment is
//! acknowledged or declared lost. The threshold then is `beta` times `PipeSize`, and slow start
//! continues below it.
//!
//! `PipeSize` starts as the flight at the jump. It becomes the bytes delivered since then, once
//! that is more; bytes delivered only by a retransmission do not count.
//!
//! A connection without usable saved state uses plain slow start. `saved_cwnd` with `saved_rtt`
//! supplies the saved state directly.
//!
//! # Deviations
//! - The retreat ends where the transport's recovery ends (all data sent before the loss is
//!   acknowledged), which is not before the last unvalidated segment.
//! - The saved window is the most that one round trip delivered. The RFC leaves the choice open, as
//!   long as the data was delivered. It is saved only at the end of a connection.
//! - The draft's example of a loss starts `PipeSize` from zero and keeps the retreat at or above
//!   the initial window. Its rules do neither, and the rules are followed. Test:
//!   `careful_resume.rs` (`safe_retreat_follows_the_rules`).
//! - Saved state counts as in use while any connection that received it is open.

use units::{Bytes, Duration, Instant, Rate};

use crate::memory::{ResumeEnd, Resumption, Saved};
use crate::{
    Ack, Congestion, CongestionKind, Established, JumpStarts, Needs, Pace, PathMemory, Reduction,
    Sent, Startup, Step, Window,
};
use crate::{options, settings};

/// The jump is the saved window divided by this.
const JUMP_DIVISOR: u64 = 2;
/// An RTT of at most the saved one divided by this means another path.
const RTT_DIVISOR: u64 = 2;
/// The retreat divides `PipeSize` by this.
const RETREAT_DIVISOR: u64 = 2;
/// A window of fewer initial windows than this is not saved.
const WORTH_SAVING: u64 = 4;

const COUNT: &str = "a whole number of segments from 0 to 10000000";

settings! {
    /// Configuration of [`CarefulResume`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CarefulResumeConfig {
        /// Configured `saved_cwnd` in segments; zero for none.
        saved_cwnd: u32 {
            name: "saved_cwnd",
            default: "0",
            help: "saved window, in segments; 0: use what earlier connections saved",
            read: |value| options::integer(value, 0, 10_000_000, COUNT),
        }

        /// Configured `saved_rtt`.
        saved_rtt: Duration {
            name: "saved_rtt",
            default: "0s",
            help: "saved RTT that belongs to saved_cwnd",
            read: |value| {
                options::duration(value, LONGEST_RTT, "a time from 0 to 60 s, such as 600ms")
            },
        }

        /// `max_jump` in segments; zero for none.
        max_jump: u32 {
            name: "max_jump",
            default: "0",
            help: "largest jump in segments; 0: half of the saved window",
            read: |value| options::integer(value, 0, 10_000_000, COUNT),
        }

        /// Threshold after a retreat, in thousandths of `PipeSize`.
        beta: u32 {
            name: "beta",
            default: "0.5",
            help: "threshold after a retreat, as a fraction of what the path carried (PipeSize)",
            read: |value| options::thousandths(value, 500, 1_000, "a number from 0.5 to 1"),
        }

        /// How long saved state is valid.
        lifetime: Duration {
            name: "lifetime",
            default: "300s",
            help: "how long saved state is valid",
            read: |value| {
                options::duration(value, LONGEST_LIFE, "a time up to a year, such as 300s")
            },
        }
    }
}

const LONGEST_RTT: Duration = Duration::from_secs(60);
const LONGEST_LIFE: Duration = Duration::from_secs(31_536_000);

/// A jump, from its start until all that it sent is acknowledged.
#[derive(Clone, Copy, Debug)]
struct Jump {
    began: Instant,
    rtt: Duration,
    cwnd: Bytes,
    rate: Rate,
    /// The flight when it started, and what was delivered since.
    flight: Bytes,
    delivered: Bytes,
    /// `snd_una` when it started.
    base: u64,
    /// The first unvalidated offset, and the end of the last once it is known.
    first: u64,
    end: Option<u64>,
    /// Retransmitted since.
    resent: Bytes,
}

impl Jump {
    /// `PipeSize` while nothing was retransmitted.
    fn pipe(&self) -> Bytes {
        self.delivered.max(self.flight)
    }

    /// `PipeSize` once everything up to `end` is acknowledged.
    fn pipe_at_end(&self) -> Bytes {
        let end = self.end.unwrap_or(self.first);
        let sent = Bytes::new(end.saturating_sub(self.base));
        sent.saturating_sub(self.resent).max(self.flight)
    }
}

/// The phases of the RFC.
#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// Observing, or ordinary congestion control.
    #[default]
    Normal,
    Reconnaissance {
        saved: Saved,
        /// End of the initial window.
        end: u64,
    },
    Unvalidated(Jump),
    Validating(Jump),
    Retreat(Jump),
}

/// What one round trip delivers.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    end: u64,
    delivered: Bytes,
    most: Bytes,
    min_rtt: Duration,
}

/// Careful Resume.
#[derive(Clone, Debug)]
pub struct CarefulResume {
    config: CarefulResumeConfig,
    state: State,
    rounds: Rounds,
    initial_window: Bytes,
    retreated: bool,
    evidence: Option<Resumption>,
}

impl CarefulResume {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(config: CarefulResumeConfig, _now: Instant, _snd_nxt: u64) -> Self {
        Self {
            config,
            state: State::Normal,
            rounds: Rounds::default(),
            initial_window: Bytes::ZERO,
            retreated: false,
            evidence: None,
        }
    }

    /// The RFC's name of the current phase.
    #[must_use]
    pub const fn phase(&self) -> &'static str {
        match self.state {
            State::Normal => "normal",
            State::Reconnaissance { .. } => "reconnaissance",
            State::Unvalidated(_) => "unvalidated",
            State::Validating(_) => "validating",
            State::Retreat(_) => "safe retreat",
        }
    }

    /// The saved state that this connection may use.
    fn saved(&self, start: &Established, smss: Bytes) -> Option<Saved> {
        if self.config.saved_cwnd > 0 {
            return Some(Saved {
                cwnd: smss * u64::from(self.config.saved_cwnd),
                rtt: self.config.saved_rtt,
                at: None,
            });
        }
        let saved = start.memory.saved.filter(|saved| {
            let age = saved.at.map(|at| start.now.saturating_since(at));
            age.is_none_or(|age| age <= self.config.lifetime)
        });
        saved.filter(|_| !start.memory.is_in_use())
    }

    /// Notes the end of the use of saved parameters.
    fn note_end(&mut self, now: Instant, how: ResumeEnd) {
        if let Some(evidence) = &mut self.evidence {
            evidence.end(now, how);
        }
    }

    /// The initial window was acknowledged: jumps, unless the path is another or the jump is none.
    fn jump(&mut self, saved: Saved, ack: &Ack, window: &Window) -> Option<Step> {
        self.state = State::Normal;
        let smss = window.smss;
        let mut cwnd = smss * (saved.cwnd / JUMP_DIVISOR).segments(smss);
        if self.config.max_jump > 0 {
            cwnd = cwnd.min(smss * u64::from(self.config.max_jump));
        }
        let rtt = ack.latest_rtt.unwrap_or(ack.srtt);
        let is_other = ack.min_rtt <= saved.rtt / RTT_DIVISOR;
        if is_other || cwnd <= window.cwnd || rtt.is_zero() {
            let how = if is_other {
                ResumeEnd::OtherRtt
            } else {
                ResumeEnd::NoGain
            };
            self.note_end(ack.now, how);
            return None;
        }
        if let Some(evidence) = &mut self.evidence {
            evidence.unvalidated = Some(ack.now);
            evidence.jump = Some(cwnd);
        }
        self.state = State::Unvalidated(Jump {
            began: ack.now,
            rtt,
            cwnd,
            rate: spread(cwnd, rtt),
            flight: ack.in_flight,
            delivered: Bytes::ZERO,
            base: ack.snd_una,
            first: ack.snd_nxt,
            end: None,
            resent: Bytes::ZERO,
        });
        Some(Step::Set(cwnd))
    }

    /// An ACK in the Unvalidated phase; the jump may be over.
    fn evaluate(&mut self, mut jump: Jump, ack: &Ack) -> Option<Step> {
        jump.delivered += ack.delivered;
        let is_filled = jump.end.is_some();
        let is_covered = ack.snd_una > jump.first;
        let is_late = ack.now.saturating_since(jump.began) > jump.rtt;
        if !(is_filled || is_covered || is_late) {
            self.state = State::Unvalidated(jump);
            return None;
        }
        let flight = ack.in_flight;
        if !is_filled && (flight < self.initial_window || flight <= jump.pipe()) {
            // The application, not the path, limits the sender.
            self.state = State::Normal;
            self.note_end(ack.now, ResumeEnd::Unused);
            return Some(Step::Set(jump.pipe().max(self.initial_window)));
        }
        jump.end.get_or_insert(ack.snd_nxt);
        self.state = State::Validating(jump);
        if let Some(evidence) = &mut self.evidence {
            evidence.validating = Some(ack.now);
        }
        // A jump that filled its window keeps it: the flight was the window then.
        (!is_filled).then_some(Step::Set(flight))
    }
}

/// The rate that sends `cwnd` in one `rtt`.
fn spread(cwnd: Bytes, rtt: Duration) -> Rate {
    let bits = u128::from(cwnd.get()) * 8 * 1_000_000_000 / u128::from(rtt.as_nanos().max(1));
    Rate::from_bits_per_sec(u64::try_from(bits).unwrap_or(u64::MAX))
}

impl Startup for CarefulResume {
    fn needs(&self) -> Needs {
        Needs {
            sent: true,
            memory: self.config.saved_cwnd == 0,
            ..Needs::PACING
        }
    }

    fn on_established(&mut self, start: &Established, window: &Window) -> Option<Step> {
        self.initial_window = window.cwnd;
        if let Some(saved) = self.saved(start, window.smss) {
            let end = window.cwnd.get();
            self.evidence = Some(Resumption::of(&saved, start.now));
            self.state = State::Reconnaissance { saved, end };
        }
        None
    }

    fn on_sent(&mut self, sent: &Sent) {
        match &mut self.state {
            State::Unvalidated(jump) => {
                let room = jump.cwnd.saturating_sub(sent.in_flight + sent.size);
                if sent.retransmission {
                    jump.resent += sent.size;
                } else if room < sent.size {
                    jump.end.get_or_insert(sent.snd_nxt);
                }
            }
            State::Validating(jump) | State::Retreat(jump) if sent.retransmission => {
                jump.resent += sent.size;
            }
            _ => {}
        }
    }

    fn observe(&mut self, ack: &Ack, window: &Window) {
        if self.initial_window.is_zero() {
            self.initial_window = window.cwnd;
        }
        let rounds = &mut self.rounds;
        rounds.min_rtt = ack.min_rtt;
        rounds.delivered += ack.delivered;
        if ack.snd_una >= rounds.end {
            rounds.most = rounds.most.max(rounds.delivered);
            rounds.delivered = Bytes::ZERO;
            rounds.end = ack.snd_nxt;
        }
        if let State::Retreat(jump) = &mut self.state {
            jump.delivered += ack.delivered;
        }
    }

    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        match self.state {
            State::Reconnaissance { saved, end } => {
                let may_jump = ack.snd_una >= end && ack.cwnd_limited;
                may_jump.then(|| self.jump(saved, ack, window)).flatten()
            }
            State::Unvalidated(jump) => self.evaluate(jump, ack),
            State::Validating(mut jump) => {
                jump.delivered += ack.delivered;
                let is_over = jump.end.is_none_or(|end| ack.snd_una >= end);
                self.state = if is_over {
                    self.note_end(ack.now, ResumeEnd::Validated);
                    State::Normal
                } else {
                    State::Validating(jump)
                };
                None
            }
            State::Normal | State::Retreat(_) => None,
        }
    }

    fn on_ack(&mut self, ack: &Ack, _window: &Window) -> Step {
        match self.state {
            State::Unvalidated(_) => Step::Grow(Bytes::ZERO),
            _ => Step::Grow(ack.delivered),
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let is_probing = matches!(self.state, State::Unvalidated(_) | State::Validating(_));
        if congestion.kind == CongestionKind::Timeout || !is_probing {
            self.state = State::Normal;
            let how = if is_probing {
                ResumeEnd::Retreated
            } else {
                ResumeEnd::Congested
            };
            self.note_end(congestion.now, how);
        }
        self.retreated |= is_probing;
    }

    fn pacing(&self) -> Option<Pace> {
        match self.state {
            State::Unvalidated(jump) => Some(Pace::at(jump.rate)),
            _ => None,
        }
    }

    fn resumption(&self) -> Option<Resumption> {
        self.evidence
    }

    fn on_close(&self, now: Instant, memory: &mut PathMemory) {
        if self.retreated {
            memory.saved = None;
        } else if self.rounds.most >= self.initial_window * WORTH_SAVING {
            memory.saved = Some(Saved {
                cwnd: self.rounds.most,
                rtt: self.rounds.min_rtt,
                at: Some(now),
            });
        }
    }

    fn jump_starts(&mut self) -> Option<&mut dyn JumpStarts> {
        Some(self)
    }
}

impl JumpStarts for CarefulResume {
    fn take_over(&mut self, congestion: &Congestion, window: &Window) -> Option<Reduction> {
        let (State::Unvalidated(mut jump) | State::Validating(mut jump)) = self.state else {
            return None;
        };
        jump.end.get_or_insert(congestion.snd_nxt);
        let cwnd = (jump.pipe() / RETREAT_DIVISOR).max(window.smss * 2);
        self.state = State::Retreat(jump);
        if let Some(evidence) = &mut self.evidence {
            evidence.safe_retreat = Some(congestion.now);
        }
        Some(Reduction {
            cwnd,
            ssthresh: cwnd,
        })
    }

    /// The window does not grow, but allows one retransmission at once.
    fn on_recovery_ack(&mut self, ack: &Ack, window: &Window) -> Bytes {
        match self.state {
            State::Retreat(jump) if jump.resent.is_zero() => {
                window.ssthresh.max(ack.in_flight + window.smss)
            }
            _ => window.ssthresh,
        }
    }

    fn on_recovery_exit(&mut self, now: Instant, window: &Window) -> Reduction {
        let State::Retreat(jump) = core::mem::take(&mut self.state) else {
            return Reduction {
                cwnd: window.cwnd,
                ssthresh: window.ssthresh,
            };
        };
        self.note_end(now, ResumeEnd::Retreated);
        let ssthresh = jump
            .pipe_at_end()
            .mul_div(u64::from(self.config.beta), 1_000);
        Reduction {
            cwnd: window.ssthresh,
            ssthresh,
        }
    }
}

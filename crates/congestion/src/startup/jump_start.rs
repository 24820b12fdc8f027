//! Jump-Start: Liu et al. 2007, and the modification of Scharf 2011.
//!
//! The data that the application has queued when the connection is established leaves in the first
//! round trip, paced: `N` segments, limited by the advertised window and a cap, one every
//! `RTT / N`. The first ACK turns pacing off and sets the window to what was sent until then;
//! ordinary ACK-clocked TCP follows. A loss in the flight halves the window for the recovery. After
//! the recovery the window and the threshold are `(N - R) / 2`, where `R` is the number of segments
//! of the flight that were lost, because half of an oversized `N` may still be too much (RFC 7661
//! has the same rule).
//!
//! Scharf's study made it "slightly" less aggressive: `variant=scharf` sends at most 65,535 bytes,
//! the largest window that a SYN can advertise, and continues in congestion avoidance.
//!
//! Other responses to a loss in the flight are options (`loss`): half of the flight; Quick-Start's
//! (RFC 4782, section 4.6), which begins again from the initial window with half of what was delivered
//! as threshold; the same without a threshold; and that of quicly (pull request 565, 2023), which
//! takes what the flight delivered as window, and all of `N - R` after the recovery.
//!
//! Assumes that the handshake gave an RTT; without one the connection begins with its initial
//! window.
//!
//! # Deviations
//! - The paper's rule is recalled; RFC 7661, which names the paper, confirms its loss rule.
//!   Scharf's exact change is not readable: `variant=scharf` is our suggestion, and its parts are
//!   options.
//! - `R` counts retransmissions until the flight is acknowledged. A segment of the flight that is
//!   lost twice counts twice, and a segment sent later but lost in the same recovery also counts.
//! - A limit of one jump at a time per host, which could be part of Scharf's change, is not
//!   implemented: connections share only what earlier ones left when they closed.
//! - Segments leave in the transport's bursts, two at a time; without TSO one by one.

use units::{Bytes, Instant, Rate};

use crate::options::{self, OptionError, OptionInfo, Options};
use crate::{
    Ack, Congestion, CongestionKind, Established, ExitReason, JumpStarts, Needs, Pace, Reduction,
    Sent, Startup, Step, Window,
};

/// The window after a loss in the flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JumpLoss {
    /// `(N - R) / 2`.
    HalfOfDelivered,
    /// Half of the flight.
    Half,
    /// Slow start from the initial window to half of what was delivered, as Quick-Start does.
    QuickStart,
    /// Slow start from the initial window, without a threshold.
    SlowStart,
    /// What the flight has delivered; after the recovery all of it, `N - R`.
    Delivered,
}

/// Configuration of [`JumpStart`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JumpStartConfig {
    /// The most bytes that the jump sends; zero for no limit.
    pub cap: u64,
    /// Whether congestion avoidance, not slow start, follows the jump.
    pub avoidance: bool,
    /// The window after a loss in the flight.
    pub loss: JumpLoss,
    /// Whether a flight that fits in the initial window leaves at once.
    pub burst_if_fits: bool,
}

impl Default for JumpStartConfig {
    fn default() -> Self {
        Self {
            cap: 0,
            avoidance: false,
            loss: JumpLoss::HalfOfDelivered,
            burst_if_fits: false,
        }
    }
}

impl Options for JumpStartConfig {
    const OPTIONS: &'static [OptionInfo] = &[
        OptionInfo {
            name: "variant",
            default: "original",
            help: "original; scharf sets cap=65535,after=avoidance",
        },
        OptionInfo {
            name: "cap",
            default: "0",
            help: "the most bytes that the jump sends; 0 for no limit",
        },
        OptionInfo {
            name: "after",
            default: "slow-start",
            help: "phase after a jump without loss: slow-start or avoidance",
        },
        OptionInfo {
            name: "loss",
            default: "half-of-delivered",
            help: "window after a loss in the jump: half-of-delivered; half of the jump; quick-start \
                   (initial window, threshold half of what was delivered); slow-start (initial \
                   window, no threshold); delivered (all that was delivered)",
        },
        OptionInfo {
            name: "burst_if_fits",
            default: "false",
            help: "send data that fits in the initial window at once instead of paced",
        },
    ];

    fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        match name {
            "variant" => {
                let variants = [("original", (0, false)), ("scharf", (65_535, true))];
                (self.cap, self.avoidance) =
                    options::choice(value, &variants, "original or scharf")?;
            }
            "cap" => {
                let bytes = "bytes from 0 to 1000000000";
                self.cap = options::integer(value, 0, 1_000_000_000, bytes)?;
            }
            "after" => {
                let words = [("slow-start", false), ("avoidance", true)];
                self.avoidance = options::choice(value, &words, "slow-start or avoidance")?;
            }
            "loss" => {
                let words = [
                    ("half-of-delivered", JumpLoss::HalfOfDelivered),
                    ("half", JumpLoss::Half),
                    ("quick-start", JumpLoss::QuickStart),
                    ("slow-start", JumpLoss::SlowStart),
                    ("delivered", JumpLoss::Delivered),
                ];
                let expected = "half-of-delivered, half, quick-start, slow-start or delivered";
                self.loss = options::choice(value, &words, expected)?;
            }
            "burst_if_fits" => self.burst_if_fits = options::boolean(value)?,
            _ => return Err(OptionError::Unknown),
        }
        Ok(())
    }
}

/// The flight of the first round trip.
#[derive(Clone, Copy, Debug)]
struct Jump {
    /// `N`: segments of the flight that have left or may leave.
    segments: u64,
    rate: Rate,
    /// End of the flight, once the first ACK has come.
    end: Option<u64>,
    /// `R`: segments retransmitted since.
    resent: u64,
    /// Delivered since the jump began.
    delivered: Bytes,
}

impl Jump {
    /// `N - R`.
    const fn arrived(&self) -> u64 {
        self.segments.saturating_sub(self.resent)
    }
}

/// Jump-Start.
#[derive(Clone, Debug)]
pub struct JumpStart {
    config: JumpStartConfig,
    jump: Option<Jump>,
    initial_window: Bytes,
    snd_una: u64,
    snd_nxt: u64,
}

impl JumpStart {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(config: JumpStartConfig, _now: Instant, snd_nxt: u64) -> Self {
        Self {
            config,
            jump: None,
            initial_window: Bytes::ZERO,
            snd_una: snd_nxt,
            snd_nxt,
        }
    }

    /// Segments of the jump: queued, within the receive window and the cap.
    fn segments(&self, start: &Established, smss: Bytes) -> u64 {
        let cap = match self.config.cap {
            0 => Bytes::MAX,
            cap => Bytes::new(cap),
        };
        let bytes = start.queued.min(start.receive_window).min(cap);
        // As many as 2^32 segments fit any window.
        bytes.get().div_ceil(smss.get()).clamp(1, 1 << 32)
    }

    /// What the flight has delivered, at least the initial window.
    fn carried(&self, jump: &Jump, smss: Bytes) -> Bytes {
        let delivered = jump.delivered.min(smss * jump.segments);
        delivered.max(self.initial_window)
    }
}

impl Startup for JumpStart {
    fn needs(&self) -> Needs {
        Needs {
            sent: true,
            handshake_rtt: true,
            ..Needs::PACING
        }
    }

    fn on_established(&mut self, start: &Established, window: &Window) -> Option<Step> {
        self.initial_window = window.cwnd;
        let rtt = start.rtt.filter(|rtt| !rtt.is_zero())?;
        let segments = self.segments(start, window.smss);
        let size = window.smss * segments;
        if self.config.burst_if_fits && size <= window.cwnd {
            return None;
        }
        let bits = u128::from(size.get()) * 8 * 1_000_000_000 / u128::from(rtt.as_nanos());
        self.jump = Some(Jump {
            segments,
            rate: Rate::from_bits_per_sec(u64::try_from(bits).unwrap_or(u64::MAX)),
            end: None,
            resent: 0,
            delivered: Bytes::ZERO,
        });
        Some(Step::Set(size))
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.snd_nxt = sent.snd_nxt;
        if let Some(jump) = self.jump.as_mut()
            && sent.retransmission
            && jump.end.is_some_and(|end| self.snd_una < end)
        {
            jump.resent += 1;
        }
    }

    fn observe(&mut self, ack: &Ack, _window: &Window) {
        self.snd_una = ack.snd_una;
        if let Some(jump) = &mut self.jump {
            jump.delivered += ack.delivered;
        }
    }

    fn on_delivery(&mut self, _ack: &Ack, window: &Window) -> Option<Step> {
        let jump = self.jump.as_mut().filter(|jump| jump.end.is_none())?;
        jump.end = Some(self.snd_nxt);
        jump.segments = self.snd_nxt.div_ceil(window.smss.get()).max(1);
        let cwnd = window.smss * jump.segments;
        Some(if self.config.avoidance {
            Step::Exit {
                cwnd,
                ssthresh: cwnd,
                reason: ExitReason::Threshold,
            }
        } else {
            Step::Set(cwnd)
        })
    }

    fn on_ack(&mut self, ack: &Ack, _window: &Window) -> Step {
        Step::Grow(ack.delivered)
    }

    fn restart(&mut self, _now: Instant, _snd_nxt: u64) {
        self.jump = None;
    }

    fn pacing(&self) -> Option<Pace> {
        let jump = self.jump.filter(|jump| jump.end.is_none());
        jump.map(|jump| Pace::at(jump.rate))
    }

    fn jump_starts(&mut self) -> Option<&mut dyn JumpStarts> {
        Some(self)
    }
}

impl JumpStarts for JumpStart {
    fn take_over(&mut self, congestion: &Congestion, window: &Window) -> Option<Reduction> {
        let jump = self.jump?;
        if congestion.kind != CongestionKind::Loss || self.snd_una >= jump.end? {
            self.jump = None;
            return None;
        }
        let half = window.smss * (jump.segments / 2).max(1);
        let (cwnd, ssthresh) = match self.config.loss {
            JumpLoss::HalfOfDelivered | JumpLoss::Half => (half, half),
            JumpLoss::QuickStart => (self.initial_window, half),
            JumpLoss::SlowStart => (self.initial_window, Bytes::MAX),
            JumpLoss::Delivered => {
                let carried = self.carried(&jump, window.smss);
                (carried, carried)
            }
        };
        Some(Reduction { cwnd, ssthresh })
    }

    fn on_recovery_ack(&mut self, _ack: &Ack, window: &Window) -> Bytes {
        match &self.jump {
            Some(jump) if self.config.loss == JumpLoss::Delivered => {
                self.carried(jump, window.smss).max(window.cwnd)
            }
            _ => window.cwnd,
        }
    }

    fn on_recovery_exit(&mut self, _now: Instant, window: &Window) -> Reduction {
        let jump = self.jump.take();
        let arrived = jump.map_or(0, |jump| jump.arrived());
        let half = match self.config.loss {
            JumpLoss::Half => jump.map_or(0, |jump| jump.segments) / 2,
            JumpLoss::Delivered => arrived,
            _ => arrived / 2,
        };
        let left = window.smss * half.max(1);
        let (cwnd, ssthresh) = match self.config.loss {
            JumpLoss::QuickStart => (self.initial_window, left),
            JumpLoss::SlowStart => (self.initial_window, Bytes::MAX),
            JumpLoss::HalfOfDelivered | JumpLoss::Half | JumpLoss::Delivered => (left, left),
        };
        Reduction { cwnd, ssthresh }
    }
}

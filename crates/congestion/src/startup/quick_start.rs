//! Quick-Start: RFC 4782.
//!
//! The SYN requests a rate from the routers of the path. If every router approved, the window
//! becomes `R * T / (MSS + H)` segments at once, for the approved rate `R` and the handshake's RTT
//! `T`. The sender paces it at `R`. The first ACK ends the pacing and sets the window to what was
//! really sent; limited slow start (RFC 3742, which the RFC requires) follows. A loss or a mark in
//! that flight is handled as if no rate had been approved: recovery and slow start begin from the
//! initial window, and the threshold is half of what the flight delivered.
//!
//! The transport sends the request, checks the answer and reports it; the routers approve. If one
//! router does not support Quick-Start, or if the approved rate is no more than the initial window
//! per round trip, this is limited slow start.
//!
//! With `thin_acks=true` the receiver limits the ACKs on the reverse path (section 4.5): it
//! acknowledges one packet in `max(2, R T / (100 * 8 * MSS))`, for `R` in bit/s, which is at most 100
//! ACKs per round trip. It halves this number each round trip until it is two. In the first round
//! trip the acknowledgments that release data are therefore up to 1 % of a window apart, and the
//! sender's bursts as large, unless the transport paces.
//!
//! # Deviations
//! - The request asks for the data that the application has written when the SYN leaves, within the
//!   100 ms that the RFC allows where no round trip is known; `rate` requests another rate.
//! - The SYN carries the only request: none follows a pause or comes in the middle of a connection.
//! - An approved window that the application does not use at once is not taken back after
//!   `min(RTT, 3 s)`.
//! - The delivered part of a flight is computed as what was sent less what was retransmitted.
//! - A timeout is handled as any other: the avoidance computes the threshold from the current
//!   window.
//! - Headers (`H`) are 52 bytes, those of a segment with timestamps; the RFC's example has 40.

use units::{Bytes, Duration, Instant, Rate};

use crate::startup::{Limited, LimitedConfig};
use crate::{
    Ack, AsksRouters, Congestion, CongestionKind, JumpStarts, Needs, Pace, Reduction, Sent,
    Startup, Step, Window,
};
use crate::{options, settings};

/// IP and TCP headers of a full segment, which count toward the approved rate.
const HEADERS: u64 = 52;
/// Time in which the request is to be used, where no RTT is known (RFC 4782, section 4.2).
const UNKNOWN_RTT: Duration = Duration::from_millis(100);

settings! {
    /// Configuration of [`QuickStart`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct QuickStartConfig {
        /// Requested rate; `None` requests the application's pending data in 100 ms.
        rate: Option<Rate> {
            name: "rate",
            default: "auto",
            help: "rate to request from the routers, in Mbit/s with headers; `auto`: the pending \
                   data in 100 ms",
            read: |value| {
                Ok(if value == "auto" {
                    None
                } else {
                    let expected = "`auto`, or Mbit/s from 0.08 to 1310.72";
                    let kbits: u64 = options::thousandths(value, 80, 1_310_720, expected)?;
                    Some(Rate::from_bits_per_sec(kbits * 1000))
                })
            },
        }

        /// Whether the receiver thins its ACKs.
        thin_acks: bool {
            name: "thin_acks",
            default: "false",
            help: "the receiver sends at most 100 ACKs per RTT for the approved rate, and halves the \
                   interval each RTT",
            read: options::boolean,
        }
    }
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// No rate was approved, or Quick-Start is over.
    Ordinary,
    /// Quick-Start mode: the sender paces at the approved rate.
    Paced,
    /// The flight is being acknowledged.
    Probation,
    /// The flight met congestion.
    Retreat,
}

/// Quick-Start.
#[derive(Clone, Debug)]
pub struct QuickStart {
    config: QuickStartConfig,
    limited: Limited,
    mode: Mode,
    /// The approved rate without headers.
    pace: Rate,
    /// The window without the approval.
    initial_window: Bytes,
    /// Bytes sent in Quick-Start mode, as the window counts them, and where they end.
    flight: Bytes,
    flight_end: u64,
    /// Bytes retransmitted in the recovery from that flight.
    resent: Bytes,
}

impl QuickStart {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(config: QuickStartConfig, now: Instant, snd_nxt: u64) -> Self {
        Self {
            config,
            limited: Limited::new(LimitedConfig::default(), now, snd_nxt),
            mode: Mode::Ordinary,
            pace: Rate::ZERO,
            initial_window: Bytes::ZERO,
            flight: Bytes::ZERO,
            flight_end: 0,
            resent: Bytes::ZERO,
        }
    }
}

impl Startup for QuickStart {
    fn needs(&self) -> Needs {
        Needs {
            sent: true,
            // The nonce of its requests.
            draws: true,
            ..Needs::PACING
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        match self.mode {
            Mode::Paced if !sent.retransmission => {
                self.flight += sent.size;
                self.flight_end = sent.snd_nxt;
            }
            Mode::Retreat if sent.retransmission => self.resent += sent.size,
            _ => {}
        }
    }

    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        let first = self.mode == Mode::Paced;
        if first {
            self.mode = Mode::Probation;
        }
        if self.mode == Mode::Probation && ack.snd_una >= self.flight_end {
            self.mode = Mode::Ordinary;
        }
        // The handshake's RTT may have been too long: the window is what was sent so far.
        (first && self.flight < window.cwnd).then_some(Step::Set(self.flight))
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step {
        self.limited.on_ack(ack, window)
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        if congestion.kind == CongestionKind::Timeout {
            self.mode = Mode::Ordinary;
        }
    }

    fn restart(&mut self, now: Instant, snd_nxt: u64) {
        self.limited.restart(now, snd_nxt);
    }

    fn pacing(&self) -> Option<Pace> {
        (self.mode == Mode::Paced).then(|| Pace::at(self.pace))
    }

    fn jump_starts(&mut self) -> Option<&mut dyn JumpStarts> {
        Some(self)
    }

    fn asks_routers(&mut self) -> Option<&mut dyn AsksRouters> {
        Some(self)
    }
}

impl JumpStarts for QuickStart {
    fn take_over(&mut self, _congestion: &Congestion, _window: &Window) -> Option<Reduction> {
        if !matches!(self.mode, Mode::Paced | Mode::Probation) {
            return None;
        }
        self.mode = Mode::Retreat;
        Some(Reduction {
            cwnd: self.initial_window,
            ssthresh: self.flight / 2,
        })
    }

    fn on_recovery_exit(&mut self, _now: Instant, _window: &Window) -> Reduction {
        self.mode = Mode::Ordinary;
        Reduction {
            cwnd: self.initial_window,
            ssthresh: self.flight.saturating_sub(self.resent) / 2,
        }
    }
}

impl AsksRouters for QuickStart {
    fn thins_acks(&self) -> bool {
        self.config.thin_acks
    }

    fn requested_rate(&self, queued: Bytes) -> Option<Rate> {
        if self.config.rate.is_some() {
            return self.config.rate;
        }
        let per_second = 1_000_000_000 / UNKNOWN_RTT.as_nanos();
        Some(Rate::from_bytes_per_sec(
            queued.get().saturating_mul(per_second),
        ))
    }

    fn on_approval(&mut self, rate: Rate, rtt: Duration, window: &Window) -> Option<Step> {
        let packet = window.smss + Bytes::new(HEADERS);
        let cwnd = window.smss * rate.bytes_in(rtt).segments(packet);
        if cwnd <= window.cwnd {
            return None;
        }
        self.mode = Mode::Paced;
        self.pace = rate.mul_div(window.smss.get(), packet.get());
        self.initial_window = window.cwnd;
        Some(Step::Set(cwnd))
    }
}

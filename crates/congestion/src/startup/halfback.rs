//! Halfback: Li et al. 2015.
//!
//! All data of a short flow leaves at once, paced over the handshake's RTT, within the advertised
//! window and `threshold`. Each ACK then also sends one copy of a segment that is not yet
//! acknowledged, from the end of the flow backward (*reverse-ordered proactive retransmission*),
//! until the copies meet the acknowledged data. Without a loss, half of the flow is therefore sent
//! twice. A loss at the tail, which would cost a timeout, is repaired before it is detected.
//!
//! A flow longer than `threshold` sends that much in the first round trip and no copies. Once that
//! data is acknowledged, the window is the rate of those ACKs times the RTT, and slow start
//! continues.
//!
//! Assumes a transport that sends the copies (see [`Startup::sends_copies`]) outside of the window
//! and does not take them as a sign of loss.
//!
//! # Deviations
//! The goal is known from the paper's abstract. The mechanics, and the threshold of 141 kB, are
//! recalled from memory. The provenance is therefore "our reconstruction", though it is close.

use units::{Bytes, Duration, Instant, Rate};

use super::dispersion::{bytes_per_second, product};
use crate::{Ack, Congestion, Established, Needs, Pace, Startup, Step, Window};
use crate::{options, settings};

settings! {
    /// Configuration of [`Halfback`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct HalfbackConfig {
        /// Pacing threshold: the most bytes that the first round trip sends.
        threshold: u64 {
            name: "threshold",
            default: "141000",
            help: "the most bytes that the first round trip sends",
            read: |value| {
                options::integer(value, 1_000, 1_000_000_000, "bytes from 1000 to 1000000000")
            },
        }

        /// Whether copies are sent.
        copies: bool {
            name: "copies",
            default: "true",
            help: "send a copy from the end of the flow on each ACK",
            read: options::boolean,
        }
    }
}

/// The first flight.
#[derive(Clone, Copy, Debug)]
struct Flight {
    rate: Rate,
    /// End of the flight, and whether the flow ends with it.
    end: u64,
    is_all: bool,
    /// When the first ACK came, and the bytes delivered after it.
    first_ack: Option<Instant>,
    delivered: Bytes,
}

/// Halfback.
#[derive(Clone, Debug)]
pub struct Halfback {
    config: HalfbackConfig,
    flight: Option<Flight>,
    /// The whole first flight has left.
    has_left: bool,
}

impl Halfback {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(config: HalfbackConfig, _now: Instant, _snd_nxt: u64) -> Self {
        Self {
            config,
            flight: None,
            has_left: false,
        }
    }

    /// The window after the first flight of a long flow: the rate of its ACKs times the RTT.
    fn measured(flight: &Flight, ack: &Ack, window: &Window) -> Option<Step> {
        let span: Duration = ack.now.saturating_since(flight.first_ack?);
        let rate = bytes_per_second(flight.delivered, span)?;
        Some(Step::Set(product(rate, ack.srtt, window.smss)))
    }
}

impl Startup for Halfback {
    fn needs(&self) -> Needs {
        Needs {
            copies: self.config.copies,
            sent: true,
            handshake_rtt: true,
            ..Needs::PACING
        }
    }

    fn on_established(&mut self, start: &Established, window: &Window) -> Option<Step> {
        let rtt = start.rtt.filter(|rtt| !rtt.is_zero())?;
        let most = start
            .receive_window
            .min(Bytes::new(self.config.threshold))
            .segments(window.smss)
            .max(1);
        let queued = start.queued.get().div_ceil(window.smss.get());
        let size = window.smss * queued.clamp(1, most);
        let bits = u128::from(size.get()) * 8 * 1_000_000_000 / u128::from(rtt.as_nanos());
        self.flight = Some(Flight {
            rate: Rate::from_bits_per_sec(u64::try_from(bits).unwrap_or(u64::MAX)),
            end: size.get().min(start.queued.get()),
            is_all: queued <= most,
            first_ack: None,
            delivered: Bytes::ZERO,
        });
        Some(Step::Set(size.max(window.cwnd)))
    }

    fn on_sent(&mut self, sent: &crate::Sent) {
        self.has_left |= self.flight.is_some_and(|flight| sent.snd_nxt >= flight.end);
    }

    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        let flight = self.flight.as_mut()?;
        if flight.first_ack.is_none() {
            flight.first_ack = Some(ack.now);
        } else {
            flight.delivered += ack.delivered;
        }
        if ack.snd_una < flight.end || flight.is_all {
            return None;
        }
        let step = Self::measured(flight, ack, window);
        self.flight = None;
        step
    }

    /// The window does not grow while the first flight is outstanding.
    fn on_ack(&mut self, ack: &Ack, _window: &Window) -> Step {
        match &self.flight {
            Some(flight) if ack.snd_una < flight.end => Step::Grow(Bytes::ZERO),
            _ => Step::Grow(ack.delivered),
        }
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {
        // A long flow continues as ordinary TCP; a short one keeps sending copies during recovery.
        if self.flight.is_some_and(|flight| !flight.is_all) {
            self.flight = None;
        }
    }

    fn restart(&mut self, _now: Instant, _snd_nxt: u64) {
        self.flight = None;
    }

    fn pacing(&self) -> Option<Pace> {
        self.flight
            .filter(|_| !self.has_left)
            .map(|flight| Pace::at(flight.rate))
    }

    fn sends_copies(&self) -> bool {
        self.config.copies && self.has_left && self.flight.is_some_and(|flight| flight.is_all)
    }
}

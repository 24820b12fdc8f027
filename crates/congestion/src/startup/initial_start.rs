//! Initial-Start: standard slow start from a larger initial window, RFC 6928 and Scharf 2011 (there
//! called IW10).
//!
//! RFC 6928 lets a connection begin with `min(10 MSS, max(2 MSS, 14600 bytes))`. RFC 3390, the
//! baseline of Scharf 2011, allows `min(4 MSS, max(2 MSS, 4380 bytes))`. Any other number of
//! segments can be set. [`Standard`] slow start follows.
//!
//! Scharf 2011 suggests for further work to pace the initial window. With `pace=rtt` its segments
//! leave evenly over the round trip that the handshake took, until the first ACK or until all have
//! left.
//!
//! Assumes that a flow whose window begins with one segment lost its SYNs, and keeps that window,
//! as RFC 6928 section 2 requires after more than one lost SYN.
//!
//! # Deviations
//! - The transport sets the window after a pause or a timeout: one segment after a timeout, and the
//!   flow's own initial window after a pause, where RFC 6928 allows this one.
//! - Paced segments leave in the transport's bursts, two at a time; without TSO one by one. Without a
//!   round-trip time of the handshake they are not paced.
//! - RFC 6928 section 3 returns to RFC 3390 for later restarts when the initial window lost
//!   segments; no transport here does.

use units::{Bytes, Instant, Rate};

use crate::{Ack, Congestion, Established, Needs, Pace, Startup, Step, Window};
use crate::{options, settings};

#[cfg(doc)]
use super::Standard;

/// How large the initial window is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InitialWindow {
    /// RFC 6928: 10 segments, or 14,600 bytes of larger ones.
    #[default]
    Rfc6928,
    /// RFC 3390: 4 segments, or 4,380 bytes of larger ones.
    Rfc3390,
    /// This number of segments.
    Segments(u32),
}

impl InitialWindow {
    /// In bytes, whole segments.
    #[must_use]
    pub fn bytes(self, smss: Bytes) -> Bytes {
        let (segments, bytes) = match self {
            Self::Rfc6928 => (10, 14_600),
            Self::Rfc3390 => (4, 4_380),
            Self::Segments(count) => return smss * u64::from(count.max(1)),
        };
        let most = (smss * 2).max(Bytes::new(bytes));
        smss * (smss * segments).min(most).segments(smss)
    }
}

settings! {
    /// Configuration of [`InitialStart`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct InitialStartConfig {
        /// The window that the connection begins with.
        initial_window: InitialWindow {
            name: "initial_window",
            default: "rfc6928",
            help: "initial window: rfc6928 (10 segments of usual size), rfc3390 (3 or 4), or a \
                   number of segments",
            read: |value| {
                Ok(match value {
                    "rfc6928" => InitialWindow::Rfc6928,
                    "rfc3390" => InitialWindow::Rfc3390,
                    _ => InitialWindow::Segments(options::integer(
                        value,
                        1,
                        10_000,
                        "rfc6928, rfc3390 or a number of segments from 1 to 10000",
                    )?),
                })
            },
        }

        /// Whether the initial window is paced over the handshake's round-trip time.
        paced: bool {
            name: "pace",
            default: "none",
            help: "none: the initial window leaves at once; rtt: evenly over the handshake's \
                   round-trip time",
            read: |value| options::choice(value, &[("none", false), ("rtt", true)], "none or rtt"),
        }
    }
}

/// Initial-Start.
#[derive(Clone, Debug)]
pub struct InitialStart {
    config: InitialStartConfig,
    /// The pace of the initial window until its first ACK.
    pace: Option<Rate>,
}

impl InitialStart {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(config: InitialStartConfig, _now: Instant, _snd_nxt: u64) -> Self {
        Self { config, pace: None }
    }
}

impl Startup for InitialStart {
    fn needs(&self) -> Needs {
        if self.config.paced {
            Needs {
                handshake_rtt: true,
                ..Needs::PACING
            }
        } else {
            Needs::NONE
        }
    }

    fn on_established(&mut self, start: &Established, window: &Window) -> Option<Step> {
        if window.cwnd <= window.smss {
            return None;
        }
        let cwnd = self.config.initial_window.bytes(window.smss);
        let rtt = start.rtt.filter(|rtt| self.config.paced && !rtt.is_zero());
        self.pace = rtt.map(|rtt| {
            let bits = u128::from(cwnd.get()) * 8 * 1_000_000_000 / u128::from(rtt.as_nanos());
            Rate::from_bits_per_sec(u64::try_from(bits).unwrap_or(u64::MAX))
        });
        Some(Step::Set(cwnd))
    }

    fn on_delivery(&mut self, _ack: &Ack, _window: &Window) -> Option<Step> {
        self.pace = None;
        None
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {
        self.pace = None;
    }

    fn pacing(&self) -> Option<Pace> {
        self.pace.map(Pace::at)
    }

    fn on_ack(&mut self, ack: &Ack, _window: &Window) -> Step {
        Step::Grow(ack.delivered)
    }
}

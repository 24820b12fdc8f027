//! Proportional Rate Reduction: Linux's `tcp_cwnd_reduction` and RFC 9937.
//!
//! While more is in flight than the threshold, sends are spread over the ACKs of one window so
//! that both meet at the end; below it, the window is rebuilt without bursts.
//!
//! Assumes that the first ACK of an episode is the one that began it, except after a timer.
//!
//! ## Deviations
//!
//! `prr` is Linux 6.12: it counts segments, scales by the window at entry (not by the data in
//! flight, `RecoverFS`), and sends at least one segment until the first was sent. `prr:rfc=9937`
//! is the RFC's form, whose proportional share is rounded up to whole segments instead of bytes.
//! The contract does not report `RecoverFS`; it is what was in flight before the first ACK of the
//! episode, or the window at entry when a timer began the episode. RFC 9937 draws one segment
//! more than its formula sends at the 19th ACK of its figure 1; this is the formula.

use units::Bytes;

use crate::{Ack, Recovery, Window};
use crate::{options, settings};

/// The two forms of Proportional Rate Reduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrrForm {
    /// `tcp_cwnd_reduction` of Linux 6.12.
    #[default]
    Linux,
    /// RFC 9937, section 6.
    Rfc9937,
}

settings! {
    /// Settings of [`Prr`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PrrConfig {
        /// Whose arithmetic.
        form: PrrForm {
            name: "rfc",
            default: "linux",
            help: "whose arithmetic: `linux` (scaled by the window at entry) or `9937` (by the \
                   flight)",
            read: |value| {
                let forms = [("linux", PrrForm::Linux), ("9937", PrrForm::Rfc9937)];
                options::choice(value, &forms, "linux or 9937")
            },
        }
    }
}

/// Proportional Rate Reduction.
#[derive(Clone, Debug, Default)]
pub struct Prr {
    config: PrrConfig,
    /// `prior_cwnd` of Linux; `RecoverFS` of the RFC once it is known.
    base: Bytes,
    /// Whether an ACK of this episode was seen.
    begun: bool,
    /// `prr_delivered`: delivered in this episode.
    delivered: Bytes,
    /// `prr_out`: sent in this episode.
    out: Bytes,
}

impl Prr {
    /// No episode in progress.
    #[must_use]
    pub fn new(config: PrrConfig) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// `SndCnt` of Linux, in whole segments.
    fn linux(&self, ack: &Ack, window: &Window) -> Bytes {
        let smss = window.smss;
        let ssthresh = window.ssthresh.segments(smss) as i64;
        let in_flight = ack.in_flight.segments(smss) as i64;
        let delivered = self.delivered.segments(smss) as i64;
        let out = self.out.segments(smss) as i64;
        let room = ssthresh - in_flight;
        // RFC9937-6b, RFC9937-6c, RFC9937-6d, RFC9937-6e
        let count = if room < 0 {
            let base = (self.base.segments(smss) as i64).max(1);
            (ssthresh * delivered + base - 1) / base - out
        } else {
            let conserved = (delivered - out).max(ack.delivered.segments(smss) as i64);
            let safe = ack.advanced && ack.newly_lost.is_zero();
            (conserved + i64::from(safe)).min(room)
        };
        smss * count.max(i64::from(out == 0)) as u64
    }

    /// `SndCnt` of RFC 9937, in bytes.
    fn rfc9937(&self, ack: &Ack, window: &Window) -> Bytes {
        let smss = window.smss;
        // RFC9937-6b, RFC9937-6c, RFC9937-6d
        let count = if ack.in_flight > window.ssthresh {
            let base = u128::from(self.base.get().max(1)) * u128::from(smss.get());
            let scaled = u128::from(self.delivered.get()) * u128::from(window.ssthresh.get());
            let segments = u64::try_from(scaled.div_ceil(base)).unwrap_or(u64::MAX);
            (smss * segments).saturating_sub(self.out)
        } else {
            let conserved = self.delivered.saturating_sub(self.out).max(ack.delivered);
            let safe = ack.advanced && ack.newly_lost.is_zero();
            let grown = if safe { conserved + smss } else { conserved };
            grown.min(window.ssthresh.saturating_sub(ack.in_flight))
        };
        // RFC9937-6e
        if self.out.is_zero() && count.is_zero() {
            smss
        } else {
            count
        }
    }
}

impl Recovery for Prr {
    fn enter(&mut self, window: &Window, _ssthresh: Bytes, _in_flight: Bytes) -> Bytes {
        *self = Self {
            base: window.cwnd,
            ..Self::new(self.config)
        };
        window.cwnd
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Bytes {
        let begins = !self.begun;
        self.begun = true;
        if ack.delivered.is_zero() || self.base.is_zero() {
            return window.cwnd;
        }
        self.delivered += ack.delivered;
        match self.config.form {
            PrrForm::Linux => ack.in_flight + self.linux(ack, window),
            PrrForm::Rfc9937 => {
                // RFC9937-6a
                if begins && self.out.is_zero() && !ack.prior_in_flight.is_zero() {
                    self.base = ack.prior_in_flight;
                }
                let cwnd = ack.in_flight + self.rfc9937(ack, window);
                window.smss * cwnd.segments(window.smss)
            }
        }
    }

    fn on_sent(&mut self, size: Bytes) {
        self.out += size;
    }
}

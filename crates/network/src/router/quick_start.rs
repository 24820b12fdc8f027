//! A router that approves Quick-Start requests (RFC 4782, sections 3 and 5, and the algorithm of
//! its appendix).
//!
//! The sum of the peak utilization of the last windows and of the approvals in this interval and
//! the previous one stays below the threshold. The router approves what fits, rounded down to a
//! rate code. It never raises a request, keeps no state for a flow, and gives the flow's data no
//! priority.
//!
//! ## Deviations
//!
//! - A refused request stays in the packet with zero rate, time to live and nonce (the RFC's second
//!   choice), instead of being deleted.
//! - Reports pass unread: the router does not correct its approvals by them, which the RFC leaves
//!   open.
//! - There are five utilization windows as in the ns-2 implementation; the RFC's appendix says 3 to
//!   20.

use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use tables::{Key, Kind, described};
use units::feedback::{Feedback, Nonce, RateCode};
use units::{Duration, Instant, Rate};

use super::{OVERSTATE, View};
use crate::random::{Purpose, stream};

/// Number of windows whose utilization is kept.
const WINDOWS: usize = 5;
/// Length of a utilization window and of an approval interval (the RFC's appendix).
const INTERVAL: Duration = Duration::from_millis(150);

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct QuickStartConfig(
        "quick-start", "router support quick-start", "Settings of a [`QuickStartRouter`]."
    ) {
        /// Utilization of the link up to which requests are approved (`qs_thresh`, with the default
        /// of the ns-2 implementation).
        threshold: f64 = 0.85 => Key::of(Kind::PERCENT);
        /// The rate that the router takes its link to have, in units of what it has. Above 1 it
        /// lies, and grants more than the link carries.
        overstate: f64 = 1.0 => OVERSTATE;
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct QuickStartRouter {
    /// As a fraction of the link's true rate, in which it measures, too.
    threshold: f64,
    /// Bits per second.
    bandwidth: f64,
    /// Utilization of the last windows, and the index of the next.
    peaks: [f64; WINDOWS],
    next: usize,
    window_end: Instant,
    /// Busy time of the link until the start of the current window.
    busy: Duration,
    /// Approvals in the previous interval and in this one, in bits per second.
    previous: u64,
    current: u64,
    random: ChaCha8Rng,
}

impl QuickStartRouter {
    /// The router in front of a link of `rate`.
    #[must_use]
    pub fn new(config: &QuickStartConfig, rate: Rate, rng: &ChaCha8Rng) -> Self {
        Self {
            threshold: config.threshold * config.overstate,
            bandwidth: rate.bits_per_sec() as f64,
            peaks: [0.0; WINDOWS],
            next: 0,
            window_end: Instant::ZERO + INTERVAL,
            busy: Duration::ZERO,
            previous: 0,
            current: 0,
            random: stream(rng, Purpose::Router),
        }
    }

    pub(super) fn on_arrival(
        &mut self,
        now: Instant,
        link: &mut impl View,
        feedback: Option<&mut Feedback>,
    ) {
        self.advance(now, link);
        if let Some(Feedback::RateRequest { rate, ttl, nonce }) = feedback {
            let peak = self
                .peaks
                .iter()
                .fold(0.0, |peak: f64, share| peak.max(*share));
            let approved = self.approve(peak, *rate);
            if approved == RateCode::DENIED {
                *rate = RateCode::DENIED;
                *ttl = 0;
                *nonce = Nonce::default();
                return;
            }
            *ttl = ttl.wrapping_sub(1);
            if approved < *rate {
                *nonce = nonce.lowered(*rate, approved, self.random.next_u32());
                *rate = approved;
            }
        }
    }

    /// The windows that ended by `now`.
    fn advance(&mut self, now: Instant, link: &impl View) {
        while self.window_end <= now {
            let busy = link.busy(self.window_end);
            let share =
                (busy.saturating_sub(self.busy)).as_nanos() as f64 / INTERVAL.as_nanos() as f64;
            self.busy = busy;
            self.peaks[self.next % WINDOWS] = share.min(1.0);
            self.next = (self.next + 1) % WINDOWS;
            self.roll_over();
            self.window_end += INTERVAL;
        }
    }

    /// An approval interval ends.
    pub fn roll_over(&mut self) {
        self.previous = self.current;
        self.current = 0;
    }

    /// The approved part of `request` at a peak utilization of `peak`; it is recorded.
    pub fn approve(&mut self, peak: f64, request: RateCode) -> RateCode {
        let used = self.bandwidth * peak + (self.previous.saturating_add(self.current)) as f64;
        let room = self.threshold * self.bandwidth - used;
        if room <= 0.0 {
            return RateCode::DENIED;
        }
        let granted = request.min(RateCode::at_most(Rate::from_bits_per_sec(room as u64)));
        self.current = self.current.saturating_add(granted.rate().bits_per_sec());
        granted
    }

    /// Approvals in the previous interval and in this one, in bits per second.
    #[must_use]
    pub const fn approved(&self) -> (u64, u64) {
        (self.previous, self.current)
    }
}

//! BBRp: BBR version 1 that paces faster than it measures (Grazia, Klapez and Casoni, "BBRp: Improving
//! TCP BBR Performance Over WLAN", IEEE Access 8, 2020; "BBR+" at ICC 2020).
//!
//! Our reconstruction. What is known: over 802.11n and 802.11ac the pacing of BBR leaves so few
//! packets at the Wi-Fi driver that little is aggregated into one transmission, and BBRp makes the
//! pace tunable so that several milliseconds of data wait there, for throughput and against delay.
//! The formula and the recommended value could not be had; here the rate at which segments leave is
//! the pacing rate times `pace`, except in DRAIN and PROBE_RTT, and everything else is [`Bbr`]: the
//! model, the window and its room for bursts. With `pace=1` it is `bbr`.
//!
//! ## Deviations
//!
//! - The original is not known well enough to name any. Results say nothing about it.
//! - Coarser bursts at the same rate, the other way to bring more packets to a driver, cannot be had:
//!   the transport chooses the size of bursts.

use units::{Bytes, Duration, Instant, Rate};

use super::{Bbr, BbrConfig};
use crate::options::{self, OptionError, OptionInfo, Options};
use crate::{Ack, BuildContext, Congestion, CongestionControl, Sent, SlowStartExit, Window};

/// Settings of [`Bbrp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BbrpConfig {
    /// The rate at which segments leave, in thousandths of BBR's.
    pub pace_permille: u64,
}

impl Default for BbrpConfig {
    fn default() -> Self {
        Self {
            pace_permille: 2_000,
        }
    }
}

impl Options for BbrpConfig {
    const OPTIONS: &'static [OptionInfo] = &[OptionInfo {
        name: "pace",
        default: "2",
        help: "times the rate of bbr, from 1 (which is bbr) to 16",
    }];

    fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        match name {
            "pace" => {
                const PACE: &str = "a number from 1 to 16";
                self.pace_permille = options::thousandths(value, 1_000, 16_000, PACE)?;
                Ok(())
            }
            _ => Err(OptionError::Unknown),
        }
    }
}

/// BBR version 1 with a faster pace.
#[derive(Clone, Debug)]
pub struct Bbrp(Bbr);

impl Bbrp {
    /// A new connection.
    #[must_use]
    pub fn new(config: BbrpConfig, context: &BuildContext) -> Self {
        Self(Bbr::new(BbrConfig::default(), context).with_pace(config.pace_permille))
    }

    /// What it is doing, as Linux calls it.
    #[must_use]
    pub const fn mode(&self) -> &'static str {
        self.0.mode()
    }
}

impl CongestionControl for Bbrp {
    #[inline]
    fn window(&self) -> Window {
        self.0.window()
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        self.0.pacing_rate()
    }

    fn requires_pacing(&self) -> bool {
        self.0.requires_pacing()
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.0.on_sent(sent);
    }

    #[inline]
    fn on_delivery(&mut self, ack: &Ack) {
        self.0.on_delivery(ack);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.0.on_ack(ack);
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.0.on_congestion(congestion);
    }

    fn on_recovery_exit(&mut self, now: Instant) {
        self.0.on_recovery_exit(now);
    }

    fn undo(&mut self, now: Instant) {
        self.0.undo(now);
    }

    fn on_idle_restart(
        &mut self,
        now: Instant,
        idle: Duration,
        rto: Duration,
        initial_window: Bytes,
        snd_nxt: u64,
    ) {
        self.0
            .on_idle_restart(now, idle, rto, initial_window, snd_nxt);
    }

    fn on_window_unused(&mut self, now: Instant, used: Bytes, initial_window: Bytes) {
        self.0.on_window_unused(now, used, initial_window);
    }

    fn slow_start_exit(&self) -> Option<SlowStartExit> {
        self.0.slow_start_exit()
    }
}

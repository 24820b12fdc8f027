//! BBRp: BBR version 1 that paces faster than it measures (Grazia et al. 2020; "BBR+" at ICC 2020).
//!
//! Our reconstruction. What is known: over 802.11n and 802.11ac BBR's pacing leaves so few packets
//! at the Wi-Fi driver that little is aggregated into one transmission, and BBRp makes the pace
//! tunable so that several milliseconds of data wait there, trading delay for throughput. The
//! formula and the recommended value were not available. Here segments leave at the pacing rate
//! times `pace`, except in DRAIN and PROBE_RTT. Everything else (the model, the window and its
//! allowance for bursts) is [`Bbr`](super::Bbr), of which this is a configuration: with `pace=1` it
//! is `bbr`.
//!
//! ## Deviations
//!
//! - The original is not known well enough to name any. Results say nothing about it.
//! - Coarser bursts at the same rate, the other way to bring more packets to a driver, are not
//!   possible: the transport sets the size of bursts.

use super::BbrConfig;
use crate::{options, settings};

settings! {
    /// Configuration of [`Bbr`](super::Bbr) as BBRp.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct BbrpConfig {
        /// The rate at which segments leave, in thousandths of BBR's pacing rate.
        pace_permille: u64 {
            name: "pace",
            default: "2",
            help: "factor on the pacing rate of bbr, from 1 (bbr itself) to 16",
            read: |value| options::thousandths(value, 1_000, 16_000, "a number from 1 to 16"),
        }
    }
}

impl From<BbrpConfig> for BbrConfig {
    fn from(config: BbrpConfig) -> Self {
        Self {
            pace_permille: config.pace_permille,
        }
    }
}

//! Wi-Fi: 802.11 in infrastructure mode, with both directions, other stations and other networks on one medium.
//!
//! Sources: IEEE 802.11, Bianchi 2000; docs/reference/networks/wifi.md. The two links of a path are
//! two ports of one medium: data in one direction and ACKs in the other contend with each other,
//! and with other stations, for every frame. `contention` decides when a station sends, `port` what
//! a frame contains and what becomes of it, `channel` and `phy` how fast it is.
//!
//! Random properties of the channel and the arrivals of other stations are drawn by slots of time.
//! Backoffs, losses in frames and hidden stations are drawn for each frame in the order of the
//! medium's own events, with separate streams for each direction. Two senders whose frames differ
//! meet the same signal, rates and neighbours, but different backoffs and losses.

mod channel;
mod config;
mod contention;
mod medium;
mod phy;
mod port;
mod saturation;
mod stations;

use alloc::sync::Arc;

use atomic_refcell::AtomicRefCell;
use units::Rate;

pub use config::{StationTraffic, WifiConfig, WifiRateMap, WifiStandard, WifiTraffic, WifiWidth};

use medium::Air;

use super::{AccessModel, Carries, Payload};
use crate::medium::{SharedMedium, StationConfig};

impl AccessModel for WifiConfig {
    fn mean_rate(&self) -> Rate {
        Self::mean_rate(self)
    }

    fn serves_late(&self) -> bool {
        true
    }
}

impl Carries for WifiConfig {
    fn medium<T: Payload>(&self, stations: &[StationConfig<'_>]) -> SharedMedium<T> {
        // If only one direction is Wi-Fi, the other station never sends.
        let own = stations[0];
        let other = stations.get(1).copied().unwrap_or(own);
        Arc::new(AtomicRefCell::new(Air::new(self, [own, other])))
    }
}

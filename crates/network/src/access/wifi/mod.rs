//! Wi-Fi: 802.11 in infrastructure mode, with both directions, other stations and other networks on one medium.
//!
//! Network-models, section B.5. The two links of a path are two ports of one medium: data that goes
//! down and ACKs that go up contend with each other, and with other stations, for every frame. Who sends
//! when: `contention`; what a frame holds and what becomes of it: `port`; how fast: `channel` and `phy`.
//!
//! What is random in the channel and in what others want to send is drawn for slots of time. Backoffs,
//! losses in frames and hidden stations are drawn for each frame in the order of the medium's own events, each
//! direction from its own streams: two senders whose frames differ meet the same signal, rates and neighbours, and
//! other luck.

mod channel;
mod config;
mod contention;
mod medium;
mod others;
mod phy;
mod port;
mod saturation;

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
        // Where only one direction is Wi-Fi, the other station never sends.
        let own = stations[0];
        let other = stations.get(1).copied().unwrap_or(own);
        Arc::new(AtomicRefCell::new(Air::new(self, [own, other])))
    }
}

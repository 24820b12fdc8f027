//! Cellular networks: LTE and 5G NR cells, their reduced model, HSDPA and UMTS.
//!
//! Sources: 3GPP; docs/reference/sources.md. All share a radio of blocks (`slotted`), which are
//! retransmitted and delivered in order (`blocks`), and random processes whose state depends only
//! on time (`chain`).

use alloc::boxed::Box;

use rand_chacha::ChaCha8Rng;
use units::{Bytes, Duration, Instant, Rate};

use super::{AccessModel, AccessServer, Served, Serves, Shared, Surroundings};
use crate::random::{Purpose, numbered};
use crate::{DropReason, Ecn};

mod blocks;
mod cell;
mod chain;
mod channel;
mod grants;
mod hsdpa;
mod reduced;
mod rrc;
mod scheduler;
mod slotted;

pub use blocks::BlockConfig;
pub use cell::{BlockageConfig, CellConfig, Duplex};
pub use chain::{Length, OutageConfig};
pub use channel::ChannelConfig;
pub use grants::GrantsConfig;
pub use hsdpa::{HsdpaConfig, UmtsUplinkConfig};
pub use reduced::{FadingConfig, ReducedConfig};
pub use rrc::{DrxConfig, RrcConfig, SleepConfig};

use cell::Cell;
use grants::Grants;
use hsdpa::Hsdpa;
use reduced::Fading;
use rrc::{Radio, Rrc};
use slotted::{Slotted, Steady};

/// A cellular network in one direction.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum CellularConfig {
    /// The downlink of a cell of LTE or 5G.
    Cell(CellConfig),
    /// Its uplink.
    Grants(GrantsConfig),
    /// A cell as a varying rate.
    Reduced(ReducedConfig),
    /// The downlink of HSDPA.
    Hsdpa(HsdpaConfig),
    /// The uplink of UMTS.
    UmtsUplink(UmtsUplinkConfig),
}

impl CellularConfig {
    /// The long-term mean rate.
    #[must_use]
    pub fn mean_rate(&self) -> Rate {
        match self {
            Self::Cell(config) => config.mean,
            Self::Grants(config) => config.rate,
            Self::Reduced(config) => config.fading.mean_rate(),
            Self::Hsdpa(config) => config.mean_rate(),
            Self::UmtsUplink(config) => config.rate,
        }
    }

    /// The states of its radio, if configured.
    #[must_use]
    pub const fn rrc(&self) -> Option<RrcConfig> {
        match self {
            Self::Cell(config) => config.rrc,
            Self::Reduced(config) => config.rrc,
            Self::Hsdpa(config) => config.rrc,
            Self::Grants(_) | Self::UmtsUplink(_) => None,
        }
    }

    /// Whether it carries data to the terminal.
    pub(crate) const fn is_downlink(&self) -> bool {
        !matches!(self, Self::Grants(_) | Self::UmtsUplink(_))
    }

    /// Mean addition of an empty link, with the radio in use, to a packet's delay.
    #[must_use]
    pub fn idle_delay(&self) -> Duration {
        match self {
            Self::Cell(config) => config.idle_delay(),
            Self::Grants(config) => config.idle_delay(),
            Self::Reduced(config) => config.idle_delay(),
            Self::Hsdpa(config) => config.idle_delay(),
            Self::UmtsUplink(config) => config.idle_delay(),
        }
    }
}

/// The stream `number` of a cell.
fn stream(rng: &ChaCha8Rng, number: u32) -> ChaCha8Rng {
    numbered(rng, Purpose::Cell, number)
}

impl AccessModel for CellularConfig {
    fn mean_rate(&self) -> Rate {
        Self::mean_rate(self)
    }

    fn idle_delay(&self) -> Duration {
        Self::idle_delay(self)
    }

    fn shared(&self, path: &ChaCha8Rng) -> Option<Shared> {
        Some(Radio::shared(self.rrc()?, path))
    }
}

impl Serves for CellularConfig {
    type Server = Cellular;

    fn server(&self, around: &Surroundings<'_>) -> Cellular {
        let rng = around.rng;
        let network = match self {
            Self::Cell(config) => Network::Cell(Box::new(cell::server(config, rng))),
            Self::Grants(config) => Network::Grants(Box::new(Grants::new(config, rng))),
            Self::Reduced(config) => Network::Reduced(Box::new(reduced::server(config, rng))),
            Self::Hsdpa(config) => Network::Hsdpa(Box::new(Hsdpa::new(config, rng))),
            Self::UmtsUplink(config) => Network::UmtsUplink(Box::new(hsdpa::uplink(config, rng))),
        };
        let radio = around.shared();
        Cellular {
            network,
            rrc: radio.map(|radio| Rrc::new(radio, self.is_downlink())),
        }
    }
}

/// The server of a cellular network.
#[derive(Clone, Debug)]
pub struct Cellular {
    network: Network,
    /// The states of the radio of both directions.
    rrc: Option<Rrc>,
}

#[derive(Clone, Debug)]
enum Network {
    Cell(Box<Slotted<Cell>>),
    Grants(Box<Grants>),
    Reduced(Box<Slotted<Fading>>),
    Hsdpa(Box<Hsdpa>),
    UmtsUplink(Box<Slotted<Steady>>),
}

impl AccessServer for Cellular {
    fn refuses(&mut self, now: Instant, _bytes: u64, _ecn: &mut Ecn) -> Option<DropReason> {
        match &mut self.network {
            Network::Hsdpa(hsdpa) => hsdpa.refuses(now),
            _ => None,
        }
    }

    /// Not HSDPA: its queue is at the RNC, which forwards a packet when it reaches the head.
    fn asks_when_it_came(&mut self) -> bool {
        !matches!(self.network, Network::Hsdpa(_))
    }

    fn serve(&mut self, now: Instant, busy_until: Instant, bytes: u64) -> Served {
        let now = self.rrc.as_ref().map_or(now, |rrc| rrc.serves_from(now));
        let served = self.network.serve(now, busy_until, bytes);
        if let Some(rrc) = &self.rrc {
            rrc.used_until(served.end);
        }
        served
    }

    fn release(&mut self, end: Instant) -> Instant {
        match &self.network {
            Network::Cell(radio) => radio.release(end),
            Network::Grants(grants) => grants.release(end),
            Network::Reduced(radio) => radio.release(end),
            Network::Hsdpa(hsdpa) => hsdpa.release(end),
            Network::UmtsUplink(radio) => radio.release(end),
        }
    }

    fn capacity(&mut self, until: Instant) -> Bytes {
        match &mut self.network {
            Network::Cell(radio) => radio.capacity(until),
            Network::Grants(grants) => grants.capacity(until),
            Network::Reduced(radio) => radio.capacity(until),
            Network::Hsdpa(hsdpa) => hsdpa.capacity(until),
            Network::UmtsUplink(radio) => radio.capacity(until),
        }
    }
}

impl Network {
    fn serve(&mut self, now: Instant, busy_until: Instant, bytes: u64) -> Served {
        // A queue that acts at dequeue passes a packet when the one before it is through.
        let goes_on = now == busy_until;
        match self {
            Self::Cell(radio) => radio.serve(now, busy_until, goes_on, bytes),
            Self::Grants(grants) => grants.serve(now, goes_on, bytes),
            Self::Reduced(radio) => radio.serve(now, busy_until, goes_on, bytes),
            Self::Hsdpa(hsdpa) => hsdpa.serve(now, busy_until, bytes),
            Self::UmtsUplink(radio) => radio.serve(now, busy_until, goes_on, bytes),
        }
    }
}

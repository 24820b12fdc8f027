//! Access networks: how a medium that is more than a rate serves its queue. One file each.
//!
//! A model is the server of a [`crate::Link`]: the link's losses and queue stand before it, the
//! link's propagation and jitter after it. It works in closed form: it says when a packet's service
//! starts and ends as soon as the packet's turn is known, stepping through its slots of time (a TTI, a
//! frame, a burst) as far as it has to and no further, so that an idle link costs nothing and
//! nothing happens inside it between two packets.
//!
//! What is random about a channel is drawn for each slot of time, whether a packet uses it or not, never
//! for a packet, so that two senders meet the same channel (network-models, section 0.2).
//!
//! A new model is one file with its `*Config` and its server, one variant of [`AccessConfig`] and of
//! `Model`, and one file in `scenario::access` that reads it.

use alloc::boxed::Box;

use rand_chacha::ChaCha8Rng;
use units::{Bytes, Duration, Instant, Rate};

use crate::{DropReason, Ecn};

pub mod cellular;
mod dama;
mod geo;
mod leo;
mod policer;
mod token_bucket;
pub(crate) mod wifi;

pub use cellular::CellularConfig;
pub use dama::DamaConfig;
pub use geo::{AcmConfig, GeoConfig, MODCODS, RainConfig};
pub use leo::LeoConfig;
pub use policer::PolicerConfig;
pub use token_bucket::TokenBucketConfig;
pub use wifi::{AirCounters, WifiConfig, WifiRateMap, WifiStandard, WifiTraffic, WifiWidth};

use cellular::Cellular;
use dama::Dama;
use geo::Geo;
use leo::Leo;
use policer::Policer;
use token_bucket::TokenBucket;

/// Which model, with its parameters.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum AccessConfig {
    /// A token bucket: DSL, DOCSIS, `tbf`.
    TokenBucket(TokenBucketConfig),
    /// A policer: what has no token on arrival is dropped, or marked.
    Policer(PolicerConfig),
    /// A cellular network: LTE, 5G, HSDPA, UMTS.
    Cellular(Box<CellularConfig>),
    /// A Wi-Fi network; its two directions share the medium that the first of them describes.
    Wifi(WifiConfig),
    /// The forward link of a geostationary satellite.
    Geo(GeoConfig),
    /// A return link with capacity on demand.
    Dama(DamaConfig),
    /// One direction of a low-orbit constellation.
    Leo(LeoConfig),
}

impl AccessConfig {
    pub(crate) const fn wifi(&self) -> Option<&WifiConfig> {
        match self {
            Self::Wifi(config) => Some(config),
            _ => None,
        }
    }

    /// The rate averaged over a long time, for a buffer given in bandwidth-delay products.
    #[must_use]
    pub fn mean_rate(&self) -> Rate {
        match self {
            Self::TokenBucket(config) => config.rate,
            Self::Policer(config) => config.rate,
            Self::Cellular(config) => config.mean_rate(),
            Self::Wifi(config) => config.mean_rate(),
            Self::Geo(config) => config.rate,
            Self::Dama(config) => config.max,
            Self::Leo(config) => config.rate,
        }
    }

    /// What the model adds on average to the delay of a packet that finds nobody there.
    #[must_use]
    pub fn idle_delay(&self) -> Duration {
        match self {
            Self::TokenBucket(_) | Self::Policer(_) | Self::Wifi(_) => Duration::ZERO,
            Self::Cellular(config) => config.idle_delay(),
            Self::Geo(config) => config.idle_delay(),
            Self::Dama(config) => config.idle_delay(),
            Self::Leo(config) => config.idle_delay(),
        }
    }

    /// Whether the end of a service can depend on packets that arrive after its own, so that a packet
    /// is served when its turn has come and not before.
    pub(crate) const fn serves_late(&self) -> bool {
        match self {
            Self::TokenBucket(_)
            | Self::Policer(_)
            | Self::Cellular(_)
            | Self::Geo(_)
            | Self::Leo(_) => false,
            Self::Wifi(_) | Self::Dama(_) => true,
        }
    }
}

/// What becomes of a packet in a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    /// When its service starts: it no longer counts as waiting.
    pub(crate) start: Instant,
    /// When its last bit is through; [`Instant::MAX`] is never.
    pub(crate) end: Instant,
    /// Whether, since the packet before it, so much went unused that this packet could have been served
    /// with it: a new busy period.
    pub(crate) after_gap: bool,
}

/// The server of a model. Calls come in order of time.
#[derive(Clone, Debug)]
pub(crate) enum Model {
    TokenBucket(TokenBucket),
    Policer(Policer),
    Cellular(Cellular),
    Geo(Box<Geo>),
    Dama(Dama),
    Leo(Box<Leo>),
}

impl Model {
    /// Its random numbers are its own streams beside the one that `rng` stands on; what it has in common with
    /// the other direction is beside `path`.
    /// `None` where a medium serves, which is no server of one link.
    pub(crate) fn new(config: &AccessConfig, rng: &ChaCha8Rng, path: &ChaCha8Rng) -> Option<Self> {
        Some(match config {
            AccessConfig::TokenBucket(config) => Self::TokenBucket(TokenBucket::new(config)),
            AccessConfig::Policer(config) => Self::Policer(Policer::new(config)),
            AccessConfig::Cellular(config) => Self::Cellular(Cellular::new(config, rng)),
            AccessConfig::Wifi(_) => return None,
            AccessConfig::Geo(config) => Self::Geo(Box::new(Geo::new(config, rng))),
            AccessConfig::Dama(config) => Self::Dama(Dama::new(config, rng)),
            AccessConfig::Leo(config) => Self::Leo(Box::new(Leo::new(config, rng, path))),
        })
    }

    /// Whether a packet offered at `now` is refused before it could queue: what the model itself drops. A
    /// model that marks changes `ecn`.
    pub(crate) fn refuses(
        &mut self,
        now: Instant,
        bytes: u64,
        ecn: &mut Ecn,
    ) -> Option<DropReason> {
        match self {
            Self::TokenBucket(_) | Self::Geo(_) | Self::Dama(_) => None,
            Self::Policer(policer) => policer.refuses(now, bytes, ecn),
            Self::Cellular(cellular) => cellular.refuses(now),
            Self::Leo(leo) => leo.refuses(now).then_some(DropReason::Loss),
        }
    }

    /// A packet was taken into the queue (or straight into service) at `now`. For models that
    /// learn from arrivals; it comes before the packet's `serve`.
    pub(crate) fn enters(&mut self, now: Instant, bytes: u64) {
        match self {
            Self::TokenBucket(_)
            | Self::Policer(_)
            | Self::Cellular(_)
            | Self::Geo(_)
            | Self::Leo(_) => {}
            Self::Dama(dama) => dama.enters(now, bytes),
        }
    }

    /// Of what was taken into the queue so many bytes are dropped at `now` and will not be served.
    pub(crate) fn loses(&mut self, now: Instant, bytes: u64) {
        if let Self::Dama(dama) = self {
            dama.loses(now, bytes);
        }
    }

    /// Whether when a packet came, and not when its turn comes, says which of its blocks may carry it. Not HSDPA, whose
    /// queue is at the RNC and hands on at a packet's turn.
    pub(crate) const fn asks_when_it_came(&self) -> bool {
        match self {
            Self::Cellular(cellular) => !matches!(cellular, Cellular::Hsdpa(_)),
            _ => false,
        }
    }

    /// Serves a packet that is offered at `now` (of a model that serves late: whose turn comes at
    /// `now`), while those before it are through by `busy_until`.
    pub(crate) fn serve(&mut self, now: Instant, busy_until: Instant, bytes: u64) -> Served {
        match self {
            Self::TokenBucket(bucket) => bucket.serve(now.max(busy_until), bytes),
            Self::Policer(policer) => policer.serve(now, busy_until, bytes),
            Self::Cellular(cellular) => cellular.serve(now, busy_until, bytes),
            Self::Geo(geo) => geo.serve(now, busy_until, bytes),
            Self::Dama(dama) => dama.serve(now, busy_until, bytes),
            Self::Leo(leo) => leo.serve(now, busy_until, bytes),
        }
    }

    /// When what was through at `end` is handed on: in order, so never before what was handed on last.
    /// Called once for each packet, after its `serve`.
    pub(crate) fn release(&mut self, end: Instant) -> Instant {
        match self {
            Self::TokenBucket(_) | Self::Policer(_) => end,
            Self::Cellular(cellular) => cellular.release(end),
            Self::Geo(geo) => geo.release(end),
            Self::Dama(dama) => dama.release(end),
            Self::Leo(leo) => leo.release(end),
        }
    }

    /// The bytes that could be through before `until`, of a model at its beginning whose queue is
    /// never empty. Takes time in proportion to the slots: it is for the end of a run.
    pub(crate) fn capacity(self, until: Instant) -> Bytes {
        match self {
            Self::TokenBucket(bucket) => bucket.capacity(until),
            Self::Policer(policer) => policer.capacity(until),
            Self::Cellular(cellular) => cellular.capacity(until),
            Self::Geo(geo) => geo.capacity(until),
            Self::Dama(dama) => dama.capacity(until),
            Self::Leo(leo) => leo.capacity(until),
        }
    }
}

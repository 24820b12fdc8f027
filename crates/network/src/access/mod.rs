//! Access networks: models whose service is more than a rate. One file each.
//!
//! A model is the server of a [`crate::Link`]: the link's losses and queue come before it, the
//! link's propagation and jitter after it. It works in closed form: it returns the start and end of
//! a packet's service as soon as the packet's turn is known. It steps through its slots of time (a
//! TTI, a frame, a burst) only as far as needed, so an idle link costs nothing, and nothing happens
//! inside the model between two packets.
//!
//! Random properties of a channel are drawn for each slot of time, whether a packet uses it or not,
//! and never for a packet, so two senders meet the same channel.
//!
//! A new model is one file with its configuration, whose keys `described!` lists, and its server,
//! and one row of `models!` below; scenario files can then use it. `model` has the traits.
//! `docs/guides/new-network.md` adds a model step by step.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tables::Described;

use crate::medium::{SharedMedium, StationConfig};

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
pub use model::{AccessModel, AccessServer, Carries, Serves, Shared, Surroundings};

pub use crate::{Payload, Served};
pub use policer::PolicerConfig;
pub use token_bucket::TokenBucketConfig;
pub use wifi::{StationTraffic, WifiConfig, WifiRateMap, WifiStandard, WifiTraffic, WifiWidth};

/// The kind of a configuration: `described` if it describes the keys of its own table in a
/// scenario file, `nested` if a scenario fills it from several tables.
macro_rules! described {
    (described, $config:expr) => {
        Some($config)
    };
    (nested, $config:expr) => {{
        let _ = $config;
        None
    }};
    (described, $config:ty, $variant:path) => {
        Some($variant(<$config>::DEFAULT))
    };
    (nested, $config:ty, $variant:path) => {
        None
    };
}

/// Generates the enums of all models, and the macros that call the model in an enum. A row names
/// the configuration, the server, and the page of the model.
macro_rules! models {
    (
        ($d:tt)
        servers { $( $(#[$doc:meta])* $name:ident($config:ty, $server:ty) = $page:literal, $keys:tt; )* }
        mediums { $( $(#[$medium_doc:meta])* $medium:ident($medium_config:ty) = $medium_page:literal; )* }
    ) => {
        /// Which model, with its parameters.
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum AccessConfig {
            $( $(#[$doc])* $name($config), )*
            $( $(#[$medium_doc])* $medium($medium_config), )*
        }

        /// The server of a model.
        #[derive(Clone, Debug)]
        pub(crate) enum Model {
            $( $name($server), )*
        }

        macro_rules! each_config {
            ($d this:expr, $d model:ident => $d call:expr) => {
                match $d this {
                    $( super::AccessConfig::$name($d model) => $d call, )*
                    $( super::AccessConfig::$medium($d model) => $d call, )*
                }
            };
        }

        macro_rules! each_server {
            ($d this:expr, $d model:ident => $d call:expr) => {
                match $d this { $( super::Model::$name($d model) => $d call, )* }
            };
        }

        impl AccessConfig {
            /// The page of each model in `docs/reference/networks`.
            pub const PAGES: &[(&str, &str)] = &[
                $((stringify!($name), $page),)*
                $((stringify!($medium), $medium_page),)*
            ];

            /// The models that describe their keys, each with its defaults.
            #[must_use]
            pub fn described() -> Vec<Self> {
                let rows = [ $( described!($keys, $config, Self::$name), )* ];
                rows.into_iter().flatten().collect()
            }

            /// The description of its keys and their values.
            #[must_use]
            pub fn as_described(&self) -> Option<&dyn Described> {
                match self {
                    $( Self::$name(config) => described!($keys, config), )*
                    $( Self::$medium(_) => None, )*
                }
            }

            /// The same to be written.
            pub fn as_described_mut(&mut self) -> Option<&mut dyn Described> {
                match self {
                    $( Self::$name(config) => described!($keys, config), )*
                    $( Self::$medium(_) => None, )*
                }
            }

            /// Creates its server; `None` for a medium.
            pub(crate) fn server(&self, around: &Surroundings<'_>) -> Option<Model> {
                match self {
                    $( Self::$name(config) => Some(Model::$name(config.server(around).into())), )*
                    $( Self::$medium(_) => None, )*
                }
            }

            /// Whether it describes a medium that links share.
            #[must_use]
            pub const fn is_medium(&self) -> bool {
                matches!(self, $(Self::$medium(_))|*)
            }

            /// Creates the medium that it describes, with a station for each of `stations`.
            pub(crate) fn medium<T: Payload>(
                &self,
                stations: &[StationConfig<'_>],
            ) -> Option<SharedMedium<T>> {
                match self {
                    $( Self::$name(_) => None, )*
                    $( Self::$medium(config) => Some(config.medium(stations)), )*
                }
            }
        }
    };
}

models! {
    ($)
    servers {
        /// A token bucket: DSL, DOCSIS, `tbf`.
        TokenBucket(TokenBucketConfig, token_bucket::TokenBucket) = "token-bucket.md", described;
        /// A policer: packets without tokens on arrival are dropped or marked.
        Policer(PolicerConfig, policer::Policer) = "policer.md", described;
        /// A cellular network: LTE, 5G, HSDPA, UMTS.
        Cellular(Box<CellularConfig>, cellular::Cellular) = "lte.md", nested;
        /// The forward link of a geostationary satellite.
        Geo(GeoConfig, Box<geo::Geo>) = "geo.md", described;
        /// A return link with capacity on demand.
        Dama(DamaConfig, dama::Dama) = "geo.md", described;
        /// One direction of a low-orbit constellation.
        Leo(LeoConfig, Box<leo::Leo>) = "leo.md", described;
    }
    mediums {
        /// A Wi-Fi network; its two directions share the medium that the first of them describes.
        Wifi(WifiConfig) = "wifi.md";
    }
}

// After the table, whose macros it uses.
mod model;

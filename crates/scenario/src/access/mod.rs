//! `rate = { model = "...", ... }`: the access networks. A model that describes its table is one row;
//! Wi-Fi and the cellular networks, whose keys do not fill one configuration, have a file each.

use network::AccessConfig;
use network::access::{
    DamaConfig, GeoConfig, LeoConfig, PolicerConfig, TokenBucketConfig, WifiConfig,
};
use serde::ser::{Serialize, SerializeMap, Serializer};
use tables::{Described, Table as Known};

use crate::described;
use crate::document::{Item, Table};
use crate::error::Error;
use crate::tables::cellular::{CELL_REDUCED, CELL_UPLINK, HSDPA, LTE, NR, UMTS_UPLINK};

pub(crate) mod cellular;
mod rrc;
mod wifi;

/// A model under the word that its table has for a name.
pub(crate) struct Model {
    pub(crate) table: &'static Known,
    read: fn(&Table<'_>) -> Result<AccessConfig, Error>,
}

/// A model whose configuration describes itself.
macro_rules! described {
    ($config:ident, $variant:ident) => {
        Model {
            table: $config::TABLE,
            read: |table| {
                let mut config = $config::USUAL;
                described::read(table, &mut config)?;
                Ok(AccessConfig::$variant(config))
            },
        }
    };
}

/// The models.
pub(crate) const MODELS: &[Model] = &[
    described!(TokenBucketConfig, TokenBucket),
    described!(PolicerConfig, Policer),
    Model {
        table: &LTE,
        read: cellular::lte,
    },
    Model {
        table: &NR,
        read: cellular::nr,
    },
    Model {
        table: &CELL_UPLINK,
        read: cellular::uplink,
    },
    Model {
        table: &CELL_REDUCED,
        read: cellular::reduced,
    },
    Model {
        table: &HSDPA,
        read: cellular::hsdpa,
    },
    Model {
        table: &UMTS_UPLINK,
        read: cellular::umts_uplink,
    },
    Model {
        table: WifiConfig::TABLE,
        read: wifi::read,
    },
    described!(GeoConfig, Geo),
    described!(DamaConfig, Dama),
    described!(LeoConfig, Leo),
];

/// The model of a table in which `model` stands; `None` where it does not.
pub(crate) fn read(item: &Item<'_>) -> Option<Result<AccessConfig, Error>> {
    let word = item.inner("model")?;
    let names: Vec<(&str, &Model)> = MODELS.iter().map(|row| (row.table.name, row)).collect();
    let model = word.choice(&names);
    Some(model.and_then(|model| (model.read)(&item.table(model.table)?)))
}

/// For output.
pub(crate) struct Access<'a>(pub(crate) &'a AccessConfig);

impl Serialize for Access<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            AccessConfig::TokenBucket(config) => write(config, serializer),
            AccessConfig::Policer(config) => write(config, serializer),
            AccessConfig::Cellular(config) => cellular::write(config, serializer),
            AccessConfig::Wifi(config) => wifi::write(config, serializer),
            AccessConfig::Geo(config) => write(config, serializer),
            AccessConfig::Dama(config) => write(config, serializer),
            AccessConfig::Leo(config) => write(config, serializer),
        }
    }
}

/// A configuration that describes itself.
fn write<S: Serializer>(config: &dyn Described, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("kind", config.table().name)?;
    described::write(&mut map, config, |_, _| Ok(false))?;
    map.end()
}

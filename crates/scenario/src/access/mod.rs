//! `rate = { model = "...", ... }`: the access networks. A model that describes its table comes
//! from the registry of `network` and needs nothing here. Wi-Fi and the cellular networks, whose
//! keys fill several configurations, have a file each.

use network::AccessConfig;
use network::access::WifiConfig;
use serde::ser::{Serialize, SerializeMap, Serializer};
use tables::{Described, Table as Known};

use crate::described;
use crate::document::{Item, Table};
use crate::error::Error;
use crate::tables::cellular::{CELL_REDUCED, CELL_UPLINK, HSDPA, LTE, NR, UMTS_UPLINK};

pub(crate) mod cellular;
mod rrc;
mod wifi;

/// A model, under its name in a file.
pub(crate) struct Model {
    pub(crate) table: &'static Known,
    reader: Reader,
}

/// How a table becomes the configuration of its model.
enum Reader {
    /// Key by key, from its defaults.
    Described(AccessConfig),
    /// By a function of its own.
    Own(fn(&Table<'_>) -> Result<AccessConfig, Error>),
}

impl Model {
    fn read(&self, table: &Table<'_>) -> Result<AccessConfig, Error> {
        match &self.reader {
            Reader::Own(read) => read(table),
            Reader::Described(usual) => {
                let mut config = usual.clone();
                if let Some(described) = config.as_described_mut() {
                    described::read(table, described)?;
                }
                Ok(config)
            }
        }
    }
}

/// The models: those that describe themselves, and those read here.
pub(crate) fn models() -> Vec<Model> {
    type Own = fn(&Table<'_>) -> Result<AccessConfig, Error>;
    let own: [(&'static Known, Own); 7] = [
        (&LTE, cellular::lte),
        (&NR, cellular::nr),
        (&CELL_UPLINK, cellular::uplink),
        (&CELL_REDUCED, cellular::reduced),
        (&HSDPA, cellular::hsdpa),
        (&UMTS_UPLINK, cellular::umts_uplink),
        (WifiConfig::TABLE, wifi::read),
    ];
    let described = AccessConfig::described().into_iter();
    let described = described.filter_map(|usual| {
        let table = usual.as_described()?.table();
        let reader = Reader::Described(usual);
        Some(Model { table, reader })
    });
    let own = own.map(|(table, read)| Model {
        table,
        reader: Reader::Own(read),
    });
    described.chain(own).collect()
}

/// The model that a table selects by `model`; `None` if it has no such key.
pub(crate) fn read(item: &Item<'_>) -> Option<Result<AccessConfig, Error>> {
    let word = item.inner("model")?;
    let models = models();
    let names: Vec<(&str, &Model)> = models.iter().map(|row| (row.table.name, row)).collect();
    let model = word.choice(&names);
    Some(model.and_then(|model| model.read(&item.table(model.table)?)))
}

/// For output.
pub(crate) struct Access<'a>(pub(crate) &'a AccessConfig);

impl Serialize for Access<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(config) = self.0.as_described() {
            return write(config, serializer);
        }
        match self.0 {
            AccessConfig::Cellular(config) => cellular::write(config, serializer),
            AccessConfig::Wifi(config) => wifi::write(config, serializer),
            _ => unreachable!("every other model describes itself"),
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

//! `model = "wifi"`. The forward direction describes the medium; in the reverse direction `{ model
//! = "wifi" }` is the same medium.

use network::AccessConfig;
use network::access::{StationTraffic, WifiConfig, WifiTraffic};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::described::{self, check, fill};
use crate::document::{Item, Table};
use crate::error::Error;
use crate::write::map;

pub(super) fn read(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let mut config = WifiConfig::DEFAULT;
    fill(table, &mut config)?;
    if let Some(item) = table.get("traffic") {
        config.traffic = traffic(&item)?;
    }
    check(table, &config)?;
    Ok(AccessConfig::Wifi(config))
}

/// `traffic`: a word, ON and OFF times, or a rate.
fn traffic(item: &Item<'_>) -> Result<WifiTraffic, Error> {
    let Some(table) = item.as_table(StationTraffic::TABLE) else {
        return item.value().map(|_| WifiTraffic::Saturated);
    };
    let table = table?;
    table.either("on", "rate")?;
    table.either("off", "rate")?;
    if let Some(rate) = table.read("rate")? {
        return Ok(WifiTraffic::Poisson(rate));
    }
    Ok(WifiTraffic::OnOff {
        on: table.needed("on")?,
        off: table.needed("off")?,
    })
}

struct Traffic(WifiTraffic);

impl Serialize for Traffic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            WifiTraffic::Saturated => map!(serializer, "kind": "saturated"),
            WifiTraffic::OnOff { on, off } => map!(serializer,
                "kind": "on-off",
                "on_s": on.as_secs_f64(),
                "off_s": off.as_secs_f64(),
            ),
            WifiTraffic::Poisson(rate) => {
                map!(serializer, "kind": "poisson", "rate_bps": rate.bits_per_sec())
            }
        }
    }
}

pub(super) fn write<S: Serializer>(config: &WifiConfig, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("kind", "wifi")?;
    described::write(&mut map, config, |map, key| {
        let is_traffic = key == "traffic";
        if is_traffic {
            map.serialize_entry(key, &Traffic(config.traffic))?;
        }
        Ok(is_traffic)
    })?;
    map.serialize_entry("mean_bps", &config.mean_rate().bits_per_sec())?;
    map.end()
}

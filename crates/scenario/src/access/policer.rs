//! `model = "policer"`.

use network::AccessConfig;
use network::access::PolicerConfig;
use serde::ser::{SerializeMap, Serializer};

use super::token_bucket::{LEAST_BURST, burst};
use crate::document::Table;
use crate::error::Error;
use crate::quantity;
use crate::write::map;

pub(super) fn read(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let rate = table
        .need("rate", "\"50 Mbit/s\"")?
        .read("\"50 Mbit/s\"", quantity::rate)?;
    let burst = table
        .get("burst")
        .map_or(Ok(LEAST_BURST), |item| item.read("\"500 kB\"", burst))?;
    let item = table.need("then", "\"1 Gbit/s\"")?;
    let then = item.read("\"1 Gbit/s\"", quantity::rate)?;
    if then < rate {
        return Err(item.refuse("the line behind the policer is slower than what it lets through"));
    }
    let marks = table.get("exceed").map_or(Ok(false), |item| {
        item.choice(&[("drop", false), ("mark", true)])
    })?;
    Ok(AccessConfig::Policer(PolicerConfig {
        rate,
        burst,
        then,
        marks,
    }))
}

pub(super) fn write<S: Serializer>(
    config: &PolicerConfig,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    map!(serializer,
        "kind": "policer",
        "rate_bps": config.rate.bits_per_sec(),
        "burst_bytes": config.burst.get(),
        "then_bps": config.then.bits_per_sec(),
        "exceed": if config.marks { "mark" } else { "drop" },
    )
}

//! `model = "token-bucket"`.

use network::AccessConfig;
use network::access::TokenBucketConfig;
use serde::ser::{SerializeMap, Serializer};
use units::{Bytes, Rate};

use crate::document::Table;
use crate::error::Error;
use crate::quantity;
use crate::write::map;

/// A full packet with the most that a link may add to it.
pub(super) const LEAST_BURST: Bytes = Bytes::new(3000);

pub(super) fn burst(text: &str) -> Result<Bytes, String> {
    let burst = quantity::size(text)?;
    if burst < LEAST_BURST {
        return Err(format!(
            "a bucket holds at least {}, so that any packet fits",
            quantity::format_size(LEAST_BURST)
        ));
    }
    Ok(burst)
}

pub(super) fn read(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let rate = table
        .need("rate", "\"50 Mbit/s\"")?
        .read("\"50 Mbit/s\"", quantity::rate)?;
    let size = |key| {
        let item = table.get(key);
        item.map_or(Ok(LEAST_BURST), |item| item.read("\"32 kB\"", burst))
    };
    let peak = table.get("peak").map(|item| {
        let peak = item.read("\"1 Gbit/s\"", quantity::rate)?;
        if peak < rate {
            return Err(item.refuse("the peak is below the rate"));
        }
        Ok(peak)
    });
    if let (Some(item), None) = (table.get("peak_burst"), &peak) {
        return Err(item.refuse("only a bucket with a peak has this"));
    }
    Ok(AccessConfig::TokenBucket(TokenBucketConfig {
        rate,
        burst: size("burst")?,
        peak: peak.transpose()?,
        peak_burst: size("peak_burst")?,
    }))
}

pub(super) fn write<S: Serializer>(
    config: &TokenBucketConfig,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    map!(serializer,
        "kind": "token-bucket",
        "rate_bps": config.rate.bits_per_sec(),
        "burst_bytes": config.burst.get(),
        "peak_bps": config.peak.map(Rate::bits_per_sec),
        "peak_burst_bytes": config.peak_burst.get(),
    )
}

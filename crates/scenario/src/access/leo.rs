//! `model = "leo"`.

use network::AccessConfig;
use network::access::LeoConfig;
use serde::ser::{SerializeMap, Serializer};
use units::{Duration, Rate};

use crate::document::Table;
use crate::error::Error;
use crate::quantity::{self, MAX_DURATION};
use crate::read::{MAX_RTT, positive, time_up_to};
use crate::write::{map, millis};

/// Bursts of the slowest link still carry something.
const LEAST_RATE: Rate = Rate::from_bits_per_sec(1000);
/// Shorter intervals would be nothing but stops.
const LEAST_INTERVAL: Duration = Duration::from_secs(1);
/// The most packets that a stop drops.
const MAX_DROPS: u64 = 1_000_000;

pub(super) fn read(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let item = table.need("rate", "\"100 Mbit/s\"")?;
    let rate = item.read("\"100 Mbit/s\"", quantity::rate)?;
    if rate < LEAST_RATE {
        return Err(item.refuse(format!(
            "the least is {}",
            quantity::format_rate(LEAST_RATE)
        )));
    }
    let usual = LeoConfig::measured(rate);
    let delay = |text: &str| time_up_to(text, MAX_RTT);
    let phase = table
        .get("phase")
        .map(|item| item.read("\"5 s\"", |text| time_up_to(text, MAX_DURATION)));
    let drops = table
        .get("drop_packets")
        .map_or(Ok(u64::from(usual.drop_packets)), |item| {
            item.integer(0, MAX_DROPS)
        });
    let config = LeoConfig {
        rate,
        interval: table.time("interval", usual.interval, interval)?,
        phase: phase.transpose()?,
        spread: table.share("spread", usual.spread, 100)?,
        wander: table.share("wander", usual.wander, 100)?,
        correlation: table.time("correlation", usual.correlation, positive)?,
        burst: table.share("burst", usual.burst, 100)?,
        step: table.time("step", usual.step, delay)?,
        drift: table.time("drift", usual.drift, delay)?,
        jitter: table.time("jitter", usual.jitter, delay)?,
        outage: table.time("outage", usual.outage, delay)?,
        outage_mean: table.time("outage_mean", usual.outage_mean, delay)?,
        outage_max: table.time("outage_max", usual.outage_max, delay)?,
        drop: table.share("drop", usual.drop, 100)?,
        drop_packets: u32::try_from(drops?).unwrap_or(u32::MAX),
        grant: table.time("grant", usual.grant, delay)?,
    };
    if config.outage > config.outage_max {
        let key = ["outage", "outage_max"]
            .into_iter()
            .find(|key| table.has(key));
        return Err(table.refuse_at(
            key.unwrap_or("outage"),
            format!(
                "the shortest stop is outage = {}, and the longest outage_max = {}",
                quantity::format_duration(config.outage),
                quantity::format_duration(config.outage_max)
            ),
        ));
    }
    Ok(AccessConfig::Leo(config))
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = time_up_to(text, MAX_DURATION)?;
    if interval < LEAST_INTERVAL {
        return Err(format!(
            "the least is {}",
            quantity::format_duration(LEAST_INTERVAL)
        ));
    }
    Ok(interval)
}

pub(super) fn write<S: Serializer>(config: &LeoConfig, serializer: S) -> Result<S::Ok, S::Error> {
    map!(serializer,
        "kind": "leo",
        "rate_bps": config.rate.bits_per_sec(),
        "interval_s": config.interval.as_secs_f64(),
        "phase_s": config.phase.map(Duration::as_secs_f64),
        "spread": config.spread,
        "wander": config.wander,
        "correlation_ms": millis(config.correlation),
        "burst": config.burst,
        "step_ms": millis(config.step),
        "drift_ms": millis(config.drift),
        "jitter_ms": millis(config.jitter),
        "outage_ms": millis(config.outage),
        "outage_mean_ms": millis(config.outage_mean),
        "outage_max_ms": millis(config.outage_max),
        "drop": config.drop,
        "drop_packets": config.drop_packets,
        "grant_ms": millis(config.grant),
    )
}

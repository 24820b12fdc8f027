//! `model = "lte"`, `"5g"`, `"cell-uplink"`, `"cell-reduced"`, `"hsdpa"` and `"umts-uplink"`.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use network::AccessConfig;
use network::access::cellular::{
    BlockConfig, CellConfig, CellularConfig, ChannelConfig, Duplex, FadingConfig, GrantsConfig,
    HsdpaConfig, Length, OutageConfig, ReducedConfig, UmtsUplinkConfig,
};
use serde::ser::{Serialize, SerializeMap, Serializer};
use tables::{MAX_RATE, Value};
use units::Duration;

use super::rrc::{self, Rrc};
use crate::document::Table;
use crate::error::Error;
use crate::tables::cellular::LEAST_MEAN;
use crate::write::{map, millis};

/// Outages that leave less than one part in this many of the time are refused.
const LEAST_FREE: u64 = 100;

fn fading(table: &Table<'_>, usual: &FadingConfig) -> Result<FadingConfig, Error> {
    let mean = table.or("mean", usual.mean)?;
    let peak = table.or("peak", usual.peak)?;
    if peak < mean {
        return Err(table.refuse_at("peak", "the peak is below the mean"));
    }
    let config = FadingConfig {
        mean,
        spread: table.or("spread", usual.spread)?,
        fast: table.or("fast", usual.fast)?,
        tau_fast: table.or("tau_fast", usual.tau_fast)?,
        tau_slow: table.or("tau_slow", usual.tau_slow)?,
        grid: table.or("grid", usual.grid)?,
        peak,
        outages: outages(table, usual.outages)?,
    };
    if config.mean_rate().bits_per_sec() < mean.bits_per_sec() / LEAST_FREE {
        let reason = "such long and frequent outages leave less than 1 % of the time";
        return Err(table.refuse_at("outages", reason));
    }
    Ok(config)
}

/// `error`, and an RLC fraction no larger than the blocks that fail before the last transmission.
fn blocks(table: &Table<'_>, usual: BlockConfig) -> Result<BlockConfig, Error> {
    let error = table.or("error", usual.error)?;
    let blocks = BlockConfig { error, ..usual };
    Ok(BlockConfig {
        residual: usual.residual.min(before_the_last(&blocks)),
        ..blocks
    })
}

/// The fraction of the blocks all of whose transmissions but the last fail.
fn before_the_last(blocks: &BlockConfig) -> f64 {
    (2..blocks.transmissions).fold(blocks.error, |share, _| share * blocks.again)
}

/// A mean time from one event to the next, or `"none"`.
fn between(
    table: &Table<'_>,
    key: &str,
    usual: Option<Duration>,
) -> Result<Option<Duration>, Error> {
    match table.get(key).map(|item| item.value()).transpose()? {
        None => Ok(usual),
        Some(Value::Time(every)) => Ok(Some(every)),
        Some(_) => Ok(None),
    }
}

/// `outages` is the mean time between two, or `"none"`; `outage` is their median length, `longest`
/// the maximum.
fn outages(table: &Table<'_>, usual: Option<OutageConfig>) -> Result<Option<OutageConfig>, Error> {
    let every = between(table, "outages", usual.map(|outages| outages.every))?;
    let (usual_median, usual_most) = match usual {
        Some(OutageConfig {
            length: Length::LogNormal { median, most, .. },
            ..
        }) => (median, most),
        // The reduced model: docs/reference/sources.md, "Cells of LTE and 5G".
        _ => (Duration::from_millis(350), Duration::from_millis(1500)),
    };
    let (median, most) = (
        table.or("outage", usual_median)?,
        table.or("longest", usual_most)?,
    );
    if most < median {
        let (key, hint) = match table.has("longest") {
            true => ("longest", ""),
            false => ("outage", ": set longest too"),
        };
        return Err(table.refuse_at(
            key,
            format!("half of the outages exceed {median}, and the longest lasts {most}{hint}"),
        ));
    }
    let Some(every) = every else {
        for key in ["outage", "longest"] {
            if table.has(key) {
                return Err(table.refuse_at(key, "there are no outages"));
            }
        }
        return Ok(None);
    };
    Ok(Some(OutageConfig {
        every,
        length: Length::LogNormal {
            median,
            sigma: 0.6,
            most,
        },
    }))
}

fn cell(table: &Table<'_>, usual: CellConfig) -> Result<CellConfig, Error> {
    let channel = ChannelConfig {
        sinr_db: table.or("sinr", usual.channel.sinr_db)?,
        shadow_db: table.or("shadow", usual.channel.shadow_db)?,
        shadow_tau: table.or("shadow_tau", usual.channel.shadow_tau)?,
        doppler_hz: table.or("doppler", usual.channel.doppler_hz)?,
        ..usual.channel
    };
    let users = table.or("users", usual.users)?;
    let users_most = table.or("users_most", users.saturating_add(usual.more_users))?;
    if users_most < users {
        return Err(table.refuse_at(
            "users_most",
            format!("users_most must be at least users, which is {users}"),
        ));
    }
    let handovers = between(
        table,
        "handovers",
        usual.outages.map(|outages| outages.every),
    )?;
    let config = CellConfig {
        channel,
        prbs: table.or("prbs", usual.prbs)?,
        layers: table.or("layers", usual.layers)?,
        sinr_spread_db: table.or("sinr_spread", usual.sinr_spread_db)?,
        users,
        more_users: users_most - users,
        on: table.or("on", usual.on)?,
        off: table.or("off", usual.off)?,
        blocks: blocks(table, usual.blocks)?,
        outages: handovers.map(|every| OutageConfig {
            every,
            ..usual.outages.unwrap_or(CellConfig::HANDOVERS)
        }),
        ..usual
    };
    // Settings that do not change the mean rate of a known cell.
    let known = CellConfig {
        blocks: usual.blocks,
        ..config
    };
    if known == usual && usual.blockage.is_none() {
        return Ok(config);
    }
    let config = measured(config);
    if config.mean < LEAST_MEAN {
        return Err(table.refuse_at(
            "sinr",
            format!("such a cell carries less than {LEAST_MEAN} for the path's user"),
        ));
    }
    Ok(config)
}

/// The cell with its mean rate. To measure it takes 10 to 60 ms, and the hundreds of scenarios of a
/// study have few cells among them, so the last ones are remembered.
fn measured(config: CellConfig) -> CellConfig {
    static LAST: Mutex<VecDeque<(CellConfig, CellConfig)>> = Mutex::new(VecDeque::new());
    const MOST: usize = 64;
    let last = || LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let known = last().iter().find(|(cell, _)| *cell == config).copied();
    if let Some((_, found)) = known {
        return found;
    }
    let found = config.measured();
    let mut last = last();
    last.truncate(MOST - 1);
    last.push_front((config, found));
    found
}

fn done(config: CellularConfig) -> Result<AccessConfig, Error> {
    Ok(AccessConfig::Cellular(Box::new(config)))
}

pub(super) fn lte(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let config = cell(table, CellConfig::LTE)?;
    done(CellularConfig::Cell(config))
}

pub(super) fn nr(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let is_blocked = table.or("blockage", false)?;
    let usual = CellConfig {
        blockage: is_blocked.then_some(CellConfig::BLOCKAGE),
        ..CellConfig::NR
    };
    let config = cell(table, usual)?;
    done(CellularConfig::Cell(config))
}

pub(super) fn uplink(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let usual = GrantsConfig::lte(table.needed("rate")?);
    done(CellularConfig::Grants(GrantsConfig {
        request: table.or("request", usual.request)?,
        wait: table.or("wait", usual.wait)?,
        every: table.or("every", usual.every)?,
        prepare: table.or("prepare", usual.prepare)?,
        blocks: BlockConfig {
            retry: table.or("retry", usual.blocks.retry)?,
            ..blocks(table, usual.blocks)?
        },
        ..usual
    }))
}

pub(super) fn reduced(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let usual = ReducedConfig::around(table.needed("mean")?);
    done(CellularConfig::Reduced(ReducedConfig {
        fading: fading(table, &usual.fading)?,
        tti: table.or("tti", usual.tti)?,
        blocks: blocks(table, usual.blocks)?,
        ..usual
    }))
}

pub(super) fn hsdpa(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let usual = HsdpaConfig::DEFAULT;
    let mut blocks = blocks(table, usual.blocks)?;
    table.set("residual", &mut blocks.residual)?;
    let most = before_the_last(&blocks);
    if blocks.residual > most {
        let percent = (most * 1e8).round() / 1e6;
        return Err(table.refuse_at(
            "residual",
            format!("with this error no more than {percent} % of the blocks fail three times"),
        ));
    }
    let config = HsdpaConfig {
        fading: fading(table, &usual.fading)?,
        block: table.or("block", usual.block)?,
        blocks,
        discard: table.or("discard", usual.discard)?,
        ..usual
    };
    if config.category_rate() < config.fading.mean {
        return Err(table.refuse(format!(
            "a block of {} bits each 2 ms carries {}, which is less than the mean",
            config.block,
            config.category_rate()
        )));
    }
    done(CellularConfig::Hsdpa(config))
}

pub(super) fn umts_uplink(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let usual = UmtsUplinkConfig::at(table.needed("rate")?);
    done(CellularConfig::UmtsUplink(UmtsUplinkConfig {
        tti: table.or("tti", usual.tti)?,
        blocks: blocks(table, usual.blocks)?,
        ..usual
    }))
}

/// Reads `rrc` of a path, if this is the downlink of its radio.
pub(crate) fn take_rrc(config: &mut AccessConfig, path: &Table<'_>) -> Result<bool, Error> {
    let AccessConfig::Cellular(config) = config else {
        return Ok(false);
    };
    match &mut **config {
        CellularConfig::Cell(config) => config.rrc = rrc::read(path)?,
        CellularConfig::Reduced(config) => config.rrc = rrc::read(path)?,
        CellularConfig::Hsdpa(config) => config.rrc = rrc::read_umts(path)?,
        CellularConfig::Grants(_) | CellularConfig::UmtsUplink(_) => return Ok(false),
    }
    Ok(true)
}

struct Fading<'a>(&'a FadingConfig);

impl Serialize for Fading<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let config = self.0;
        map!(serializer,
            "mean_bps": config.mean.bits_per_sec(),
            "spread": config.spread,
            "fast": config.fast,
            "tau_fast_ms": millis(config.tau_fast),
            "tau_slow_ms": millis(config.tau_slow),
            "grid_ms": millis(config.grid),
            "peak_bps": (config.peak < MAX_RATE).then(|| config.peak.bits_per_sec()),
            "outages": config.outages.map(Outages),
        )
    }
}

struct Outages(OutageConfig);

impl Serialize for Outages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let every = millis(self.0.every);
        match self.0.length {
            Length::LogNormal {
                median,
                sigma,
                most,
            } => map!(serializer,
                "every_ms": every,
                "median_ms": millis(median),
                "sigma": sigma,
                "longest_ms": millis(most),
            ),
            Length::Handover => map!(serializer, "every_ms": every, "length": "handover"),
        }
    }
}

struct Blocks<'a>(&'a BlockConfig);

impl Serialize for Blocks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let config = self.0;
        map!(serializer,
            "error": config.error,
            "again": config.again,
            "transmissions": config.transmissions,
            "retry_ms": millis(config.retry),
            "residual": config.residual,
            "recovery_ms": [millis(config.recovery.0), millis(config.recovery.1)],
        )
    }
}

pub(super) fn write<S: Serializer>(
    config: &CellularConfig,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match config {
        CellularConfig::Cell(config) => map!(serializer,
            "kind": match config.duplex {
                Duplex::Fdd => "lte",
                Duplex::Tdd => "5g",
            },
            "mean_bps": config.mean.bits_per_sec(),
            "slot_ms": millis(config.slot),
            "prbs": config.prbs,
            "layers": config.layers,
            "sinr_db": config.channel.sinr_db,
            "sinr_spread_db": config.sinr_spread_db,
            "shadow_db": config.channel.shadow_db,
            "shadow_tau_ms": millis(config.channel.shadow_tau),
            "doppler_hz": config.channel.doppler_hz,
            "antennas": config.channel.antennas,
            "report_ms": [millis(config.report.0), millis(config.report.1)],
            "users": config.users,
            "users_most": config.users.saturating_add(config.more_users),
            "on_ms": millis(config.on),
            "off_ms": millis(config.off),
            "window_slots": config.window,
            "blocks": Blocks(&config.blocks),
            "latency_ms": millis(config.latency),
            "handovers": config.outages.map(Outages),
            "blockage": config.blockage.is_some(),
            ; "rrc": config.rrc.map(Rrc)
        ),
        CellularConfig::Grants(config) => map!(serializer,
            "kind": "cell-uplink",
            "rate_bps": config.rate.bits_per_sec(),
            "request_ms": millis(config.request),
            "wait_ms": millis(config.wait),
            "every_ms": millis(config.every),
            "prepare_ms": millis(config.prepare),
            "blocks": Blocks(&config.blocks),
            "latency_ms": millis(config.latency),
        ),
        CellularConfig::Reduced(config) => map!(serializer,
            "kind": "cell-reduced",
            "fading": Fading(&config.fading),
            "tti_ms": millis(config.tti),
            "blocks": Blocks(&config.blocks),
            "latency_ms": millis(config.latency),
            ; "rrc": config.rrc.map(Rrc)
        ),
        CellularConfig::Hsdpa(config) => map!(serializer,
            "kind": "hsdpa",
            "fading": Fading(&config.fading),
            "block_bits": config.block,
            "horizon_ms": millis(config.horizon),
            "blocks": Blocks(&config.blocks),
            "latency_ms": millis(config.latency),
            "discard": config.discard,
            ; "rrc": config.rrc.map(Rrc)
        ),
        CellularConfig::UmtsUplink(config) => map!(serializer,
            "kind": "umts-uplink",
            "rate_bps": config.rate.bits_per_sec(),
            "tti_ms": millis(config.tti),
            "blocks": Blocks(&config.blocks),
            "latency_ms": millis(config.latency),
        ),
    }
}

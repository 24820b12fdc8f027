//! `model = "lte"`, `"5g"`, `"cell-uplink"`, `"cell-reduced"`, `"hsdpa"` and `"umts-uplink"`.

use network::AccessConfig;
use network::access::cellular::{
    BlockConfig, CellConfig, CellularConfig, ChannelConfig, Duplex, FadingConfig, GrantsConfig,
    HsdpaConfig, Length, OutageConfig, ReducedConfig, UmtsUplinkConfig,
};
use serde::ser::{Serialize, SerializeMap, Serializer};
use units::{Duration, Rate};

use super::rrc::{self, Rrc};
use crate::document::Table;
use crate::error::Error;
use crate::quantity;
use crate::read::{MIN_SLOT, optional, positive, span};
use crate::write::{map, millis};

/// The slowest mean, below which blocks carry nothing.
const LEAST_MEAN: Rate = Rate::from_bits_per_sec(10_000);
/// Largest standard deviation of a rate's logarithm, in percent.
const MAX_SPREAD: u64 = 300;
/// The longest block, and the longest outage.
const MAX_TTI: Duration = Duration::from_millis(100);
const MAX_OUTAGE: Duration = Duration::from_secs(60);
/// Outages begin no more often.
const MIN_BETWEEN: Duration = Duration::from_millis(100);
/// The largest standard deviation of a shadow and between places, in dB.
const MAX_DEVIATION: f64 = 30.0;
/// A link whose outages leave less than one part in so many of the time is none.
const LEAST_FREE: u64 = 100;
/// Most other users of a cell.
const MAX_USERS: u64 = 50;
/// The largest block of an HSDPA category (category 20, two blocks of 64QAM).
const MAX_BLOCK: u64 = 84_384;

fn mean(text: &str) -> Result<Rate, String> {
    let rate = quantity::rate(text)?;
    if rate < LEAST_MEAN {
        return Err(format!(
            "the least is {}",
            quantity::format_rate(LEAST_MEAN)
        ));
    }
    Ok(rate)
}

fn percent(table: &Table<'_>, key: &'static str, usual: f64) -> Result<f64, Error> {
    optional(table, key, "\"10 %\"", usual, |text| {
        quantity::share(text, 100)
    })
}

fn fading(table: &Table<'_>, usual: &FadingConfig) -> Result<FadingConfig, Error> {
    let rate = optional(table, "mean", "\"40 Mbit/s\"", usual.mean, mean)?;
    let peak = optional(table, "peak", "\"100 Mbit/s\"", usual.peak, quantity::rate)?;
    if peak < rate {
        return Err(table.refuse_at("peak", "the peak is below the mean"));
    }
    let config = FadingConfig {
        mean: rate,
        spread: optional(table, "spread", "\"35 %\"", usual.spread, |text| {
            quantity::share(text, MAX_SPREAD)
        })?,
        fast: percent(table, "fast", usual.fast)?,
        tau_fast: optional(table, "tau_fast", "\"150 ms\"", usual.tau_fast, positive)?,
        tau_slow: optional(table, "tau_slow", "\"4 s\"", usual.tau_slow, positive)?,
        grid: optional(
            table,
            "grid",
            "\"10 ms\"",
            usual.grid,
            span(MIN_SLOT, MAX_OUTAGE),
        )?,
        peak,
        outages: outages(table, usual.outages)?,
    };
    if config.mean_rate().bits_per_sec() < rate.bits_per_sec() / LEAST_FREE {
        let reason = "outages so long and so often leave less than 1 % of the time";
        return Err(table.refuse_at("outages", reason));
    }
    Ok(config)
}

/// `error`, and no more for RLC than fails before the last transmission.
fn blocks(table: &Table<'_>, usual: BlockConfig) -> Result<BlockConfig, Error> {
    let error = percent(table, "error", usual.error)?;
    let blocks = BlockConfig { error, ..usual };
    Ok(BlockConfig {
        residual: usual.residual.min(before_the_last(&blocks)),
        ..blocks
    })
}

/// The share of the blocks whose transmissions but for the last all fail.
fn before_the_last(blocks: &BlockConfig) -> f64 {
    (2..blocks.transmissions).fold(blocks.error, |share, _| share * blocks.again)
}

/// `outages` is the mean time between two, or `"none"`; `outage` half of them do not exceed, `longest` none.
fn outages(table: &Table<'_>, usual: Option<OutageConfig>) -> Result<Option<OutageConfig>, Error> {
    let between = |text: &str| match text.trim() {
        "none" => Ok(None),
        text => span(MIN_BETWEEN, quantity::MAX_DURATION)(text).map(Some),
    };
    let every = usual.map(|outages| outages.every);
    let every = optional(table, "outages", "\"20 s\", or \"none\"", every, between)?;
    let (usual_median, usual_most) = match usual {
        Some(OutageConfig {
            length: Length::LogNormal { median, most, .. },
            ..
        }) => (median, most),
        // Network-models, section B.3.4.
        _ => (Duration::from_millis(350), Duration::from_millis(1500)),
    };
    let length = |key, usual| {
        let read = span(Duration::from_millis(1), MAX_OUTAGE);
        optional(table, key, "\"400 ms\"", usual, read)
    };
    let (median, most) = (
        length("outage", usual_median)?,
        length("longest", usual_most)?,
    );
    if most < median {
        let (key, hint) = match table.has("longest") {
            true => ("longest", ""),
            false => ("outage", ": say longest too"),
        };
        return Err(table.refuse_at(
            key,
            format!(
                "half of the outages exceed {}, and the longest lasts {}{hint}",
                quantity::format_duration(median),
                quantity::format_duration(most)
            ),
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

/// `"14 dB"`.
fn decibel(text: &str) -> Result<f64, String> {
    level(text, "dB", "14", (-20.0, 60.0))
}

/// `"3 Hz"`.
fn hertz(text: &str) -> Result<f64, String> {
    level(text, "Hz", "3", (0.0, 10_000.0))
}

fn level(text: &str, unit: &str, example: &str, (least, most): (f64, f64)) -> Result<f64, String> {
    let number = text.trim().strip_suffix(unit).map(str::trim);
    match number.and_then(|number| number.parse::<f64>().ok()) {
        Some(value) if (least..=most).contains(&value) => Ok(value),
        Some(_) => Err(format!("it is from {least} {unit} to {most} {unit}")),
        None => Err(format!(
            "a number of {unit} is expected, such as \"{example} {unit}\""
        )),
    }
}

fn count(table: &Table<'_>, key: &'static str, usual: u32, most: u64) -> Result<u32, Error> {
    let number = table.get(key).map(|item| item.integer(0, most));
    let number = number
        .transpose()?
        .and_then(|number| u32::try_from(number).ok());
    Ok(number.unwrap_or(usual))
}

fn cell(table: &Table<'_>, usual: CellConfig) -> Result<CellConfig, Error> {
    let switched = |key, usual| {
        let least = Duration::from_millis(1);
        optional(
            table,
            key,
            "\"1 s\"",
            usual,
            span(least, quantity::MAX_DURATION),
        )
    };
    let handovers = |text: &str| match text.trim() {
        "none" => Ok(None),
        text => {
            let every = span(MIN_BETWEEN, quantity::MAX_DURATION)(text)?;
            Ok(Some(OutageConfig {
                every,
                ..CellConfig::HANDOVERS
            }))
        }
    };
    let deviation = |key, usual| {
        let read = |text: &str| quantity::decibels(text, MAX_DEVIATION);
        optional(table, key, "\"2 dB\"", usual, read)
    };
    let channel = ChannelConfig {
        sinr_db: optional(table, "sinr", "\"14 dB\"", usual.channel.sinr_db, decibel)?,
        shadow_db: deviation("shadow", usual.channel.shadow_db)?,
        shadow_tau: optional(
            table,
            "shadow_tau",
            "\"10 s\"",
            usual.channel.shadow_tau,
            span(Duration::from_millis(10), quantity::MAX_DURATION),
        )?,
        doppler_hz: optional(
            table,
            "doppler",
            "\"3 Hz\"",
            usual.channel.doppler_hz,
            hertz,
        )?,
        ..usual.channel
    };
    let sinr_spread_db = deviation("sinr_spread", usual.sinr_spread_db)?;
    let [prbs, layers] = [("prbs", usual.prbs, 275), ("layers", usual.layers, 8)]
        .map(|(key, usual, most)| count(table, key, usual, most));
    let (prbs, layers) = (prbs?, layers?);
    for (key, value) in [("prbs", prbs), ("layers", layers)] {
        if value == 0 {
            return Err(table.refuse_at(key, format!("{key} is at least 1")));
        }
    }
    let users = count(table, "users", usual.users, MAX_USERS)?;
    let usual_most = users.saturating_add(usual.more_users);
    let users_most = count(table, "users_most", usual_most, MAX_USERS)?;
    if users_most < users {
        return Err(table.refuse_at(
            "users_most",
            format!("users_most is at least users, which is {users}"),
        ));
    }
    let config = CellConfig {
        channel,
        prbs,
        layers,
        sinr_spread_db,
        users,
        more_users: users_most - users,
        on: switched("on", usual.on)?,
        off: switched("off", usual.off)?,
        blocks: blocks(table, usual.blocks)?,
        outages: optional(
            table,
            "handovers",
            "\"40 s\", or \"none\"",
            usual.outages,
            handovers,
        )?,
        ..usual
    };
    // What does not change the mean of a cell that is known.
    let known = CellConfig {
        blocks: usual.blocks,
        ..config
    };
    if known == usual && usual.blockage.is_none() {
        return Ok(config);
    }
    let config = config.measured();
    if config.mean < LEAST_MEAN {
        return Err(table.refuse_at(
            "sinr",
            format!(
                "such a cell carries less than {} for the path's user",
                quantity::format_rate(LEAST_MEAN)
            ),
        ));
    }
    Ok(config)
}

fn done(config: CellularConfig) -> Result<AccessConfig, Error> {
    Ok(AccessConfig::Cellular(Box::new(config)))
}

pub(super) fn lte(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let config = cell(table, CellConfig::LTE)?;
    done(CellularConfig::Cell(config))
}

pub(super) fn nr(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let blocked = table.get("blockage").map(|item| item.boolean());
    let usual = CellConfig {
        blockage: blocked
            .transpose()?
            .unwrap_or(false)
            .then_some(CellConfig::BLOCKAGE),
        ..CellConfig::NR
    };
    let config = cell(table, usual)?;
    done(CellularConfig::Cell(config))
}

pub(super) fn uplink(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let rate = table
        .need("rate", "\"20 Mbit/s\"")?
        .read("\"20 Mbit/s\"", mean)?;
    let usual = GrantsConfig::lte(rate);
    let time = |key, usual| {
        let read = span(Duration::from_micros(100), MAX_TTI);
        optional(table, key, "\"5 ms\"", usual, read)
    };
    done(CellularConfig::Grants(GrantsConfig {
        request: time("request", usual.request)?,
        wait: time("wait", usual.wait)?,
        every: time("every", usual.every)?,
        prepare: time("prepare", usual.prepare)?,
        blocks: BlockConfig {
            retry: time("retry", usual.blocks.retry)?,
            ..blocks(table, usual.blocks)?
        },
        ..usual
    }))
}

pub(super) fn reduced(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let rate = table
        .need("mean", "\"40 Mbit/s\"")?
        .read("\"40 Mbit/s\"", mean)?;
    let usual = ReducedConfig::around(rate);
    done(CellularConfig::Reduced(ReducedConfig {
        fading: fading(table, &usual.fading)?,
        tti: optional(table, "tti", "\"1 ms\"", usual.tti, span(MIN_SLOT, MAX_TTI))?,
        blocks: blocks(table, usual.blocks)?,
        ..usual
    }))
}

pub(super) fn hsdpa(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let usual = HsdpaConfig::USUAL;
    let block = table.get("block").map(|item| item.integer(400, MAX_BLOCK));
    let block = block.transpose()?.and_then(|bits| u32::try_from(bits).ok());
    let mut blocks = blocks(table, usual.blocks)?;
    blocks.residual = percent(table, "residual", blocks.residual)?;
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
        block: block.unwrap_or(usual.block),
        blocks,
        discard: percent(table, "discard", usual.discard)?,
        ..usual
    };
    if config.category_rate() < config.fading.mean {
        return Err(table.refuse(format!(
            "a block of {} bits each 2 ms carries {}, which is less than the mean",
            config.block,
            quantity::format_rate(config.category_rate())
        )));
    }
    done(CellularConfig::Hsdpa(config))
}

pub(super) fn umts_uplink(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let rate = table
        .need("rate", "\"384 kbit/s\"")?
        .read("\"384 kbit/s\"", mean)?;
    let usual = UmtsUplinkConfig::at(rate);
    done(CellularConfig::UmtsUplink(UmtsUplinkConfig {
        tti: optional(
            table,
            "tti",
            "\"10 ms\"",
            usual.tti,
            span(MIN_SLOT, MAX_TTI),
        )?,
        blocks: blocks(table, usual.blocks)?,
        ..usual
    }))
}

/// Takes `rrc` of a path, where this is the downlink of its radio.
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
            "peak_bps": (config.peak < quantity::MAX_RATE).then(|| config.peak.bits_per_sec()),
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

//! `rrc` of a path: the radio of a cellular network while it is idle.

use network::access::cellular::{DrxConfig, RrcConfig, SleepConfig};
use serde::ser::{Serialize, SerializeMap, Serializer};
use units::Duration;

use tables::{Table as Known, Value};

use crate::document::{Item, Table};
use crate::error::Error;
use crate::tables::cellular::{RRC, RRC_UMTS};
use crate::write::{map, millis};

/// `rrc` of LTE and 5G.
pub(super) fn read(table: &Table<'_>) -> Result<Option<RrcConfig>, Error> {
    states(table, &RRC, RrcConfig::LTE, |rrc, config| {
        let usual = config.drx;
        let cycle = match rrc.get("cycle").map(|item| item.value()).transpose()? {
            None => usual.map(|usual| usual.cycle),
            Some(Value::Time(cycle)) => Some(cycle),
            Some(_) => None,
        };
        let Some(cycle) = cycle else {
            config.drx = None;
            return match rrc.has("inactivity") {
                true => Err(rrc.refuse_at("inactivity", "there is no cycle")),
                false => Ok(()),
            };
        };
        let usual = usual.map_or(Duration::ZERO, |usual| usual.after);
        let after = rrc.or("inactivity", usual)?;
        config.drx = Some(DrxConfig { after, cycle });
        if after >= config.idle.after {
            return Err(rrc.refuse_at("inactivity", "the radio goes idle before that"));
        }
        Ok(())
    })
}

/// `rrc` of HSDPA.
pub(super) fn read_umts(table: &Table<'_>) -> Result<Option<RrcConfig>, Error> {
    states(table, &RRC_UMTS, RrcConfig::UMTS, |rrc, config| {
        let usual = config.fach.unwrap_or(config.idle);
        let fach = SleepConfig {
            after: rrc.or("fach", usual.after)?,
            promotion: promotion(rrc, "fach_promotion", usual.promotion)?,
        };
        config.fach = Some(fach);
        if fach.after >= config.idle.after {
            return Err(rrc.refuse_at("fach", "the radio goes idle before that"));
        }
        Ok(())
    })
}

/// Reads `rrc`: the state at the start of a run, or a table with the keys of both kinds of radio
/// and those that `own` reads.
fn states(
    table: &Table<'_>,
    known: &'static Known,
    usual: RrcConfig,
    own: impl FnOnce(&Table<'_>, &mut RrcConfig) -> Result<(), Error>,
) -> Result<Option<RrcConfig>, Error> {
    let Some(item) = table.get("rrc") else {
        return Ok(None);
    };
    let mut config = usual;
    if item.as_text().is_some() {
        config.begins_connected = item.value()? == Value::Word(1);
        return Ok(Some(config));
    }
    let rrc = item.table(known)?;
    rrc.set("begins", &mut config.begins_connected)?;
    config.idle = SleepConfig {
        after: rrc.or("idle", usual.idle.after)?,
        promotion: promotion(&rrc, "promotion", usual.idle.promotion)?,
    };
    own(&rrc, &mut config)?;
    Ok(Some(config))
}

/// A time, or a minimum and a maximum.
fn promotion(
    rrc: &Table<'_>,
    key: &str,
    usual: (Duration, Duration),
) -> Result<(Duration, Duration), Error> {
    let Some(item) = rrc.get(key) else {
        return Ok(usual);
    };
    let read = |item: &Item<'_>| match item.value()? {
        Value::Time(span) => Ok(span),
        _ => Ok(Duration::ZERO),
    };
    let bounds = match item.items().as_deref() {
        None => {
            let both = read(&item)?;
            (both, both)
        }
        Some([least, most]) => (read(least)?, read(most)?),
        Some(_) => return Err(item.refuse("expected two times, the minimum and the maximum")),
    };
    if bounds.1 < bounds.0 {
        return Err(item.refuse("the maximum is below the minimum"));
    }
    Ok(bounds)
}

/// For output.
pub(super) struct Rrc(pub(super) RrcConfig);

impl Serialize for Rrc {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let config = &self.0;
        let begins = match config.begins_connected {
            true => "connected",
            false => "idle",
        };
        let between = |(least, most)| [millis(least), millis(most)];
        let fach = config.fach;
        let drx = config.drx;
        map!(serializer,
            "begins": begins,
            "inactivity_ms": drx.map(|drx| millis(drx.after)),
            "cycle_ms": drx.map(|drx| millis(drx.cycle)),
            "fach_ms": fach.map(|fach| millis(fach.after)),
            "fach_promotion_ms": fach.map(|fach| between(fach.promotion)),
            "idle_ms": millis(config.idle.after),
            "promotion_ms": between(config.idle.promotion),
        )
    }
}

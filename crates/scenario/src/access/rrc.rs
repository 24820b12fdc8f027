//! `rrc` of a path: what the radio of a cellular network does while nobody uses it.

use network::access::cellular::{DrxConfig, RrcConfig, SleepConfig};
use serde::ser::{Serialize, SerializeMap, Serializer};
use units::Duration;

use crate::document::{Item, Table};
use crate::error::Error;
use crate::quantity::MAX_DURATION;
use crate::read::{optional, span};
use crate::schema::{KnownTable, RRC, RRC_UMTS};
use crate::write::{map, millis};

/// A channel is kept for so long at least: longer than what is on its way in the other direction.
const LEAST_REST: Duration = Duration::from_secs(1);
/// The longest cycle of listening, and the longest promotion.
const MAX_CYCLE: Duration = Duration::from_secs(10);

/// The state that a run begins in.
const BEGINS: &[(&str, bool)] = &[("idle", false), ("connected", true)];

/// `rrc` of LTE and 5G.
pub(super) fn read(table: &Table<'_>) -> Result<Option<RrcConfig>, Error> {
    states(table, &RRC, RrcConfig::LTE, |rrc, config| {
        let usual = config.drx;
        let cycle = |text: &str| match text.trim() {
            "none" => Ok(None),
            text => span(Duration::from_millis(1), MAX_CYCLE)(text).map(Some),
        };
        let cycle = optional(
            rrc,
            "cycle",
            "\"160 ms\", or \"none\"",
            usual.map(|usual| usual.cycle),
            cycle,
        )?;
        let Some(cycle) = cycle else {
            config.drx = None;
            return match rrc.has("inactivity") {
                true => Err(rrc.refuse_at("inactivity", "there is no cycle")),
                false => Ok(()),
            };
        };
        let usual = usual.map_or(Duration::ZERO, |usual| usual.after);
        let read = span(Duration::from_millis(1), MAX_DURATION);
        let after = optional(rrc, "inactivity", "\"100 ms\"", usual, read)?;
        config.drx = Some(DrxConfig { after, cycle });
        if after >= config.idle.after {
            return Err(rrc.refuse_at("inactivity", "the radio is idle before"));
        }
        Ok(())
    })
}

/// `rrc` of HSDPA.
pub(super) fn read_umts(table: &Table<'_>) -> Result<Option<RrcConfig>, Error> {
    states(table, &RRC_UMTS, RrcConfig::UMTS, |rrc, config| {
        let usual = config.fach.unwrap_or(config.idle);
        let fach = SleepConfig {
            after: rest(rrc, "fach", usual.after)?,
            promotion: promotion(rrc, "fach_promotion", usual.promotion)?,
        };
        config.fach = Some(fach);
        if fach.after >= config.idle.after {
            return Err(rrc.refuse_at("fach", "the radio is idle before"));
        }
        Ok(())
    })
}

/// What stands at `rrc`: the state that a run begins in, or a table with what both kinds of radio have and what
/// `own` reads.
fn states(
    table: &Table<'_>,
    known: &'static KnownTable,
    usual: RrcConfig,
    own: impl FnOnce(&Table<'_>, &mut RrcConfig) -> Result<(), Error>,
) -> Result<Option<RrcConfig>, Error> {
    let Some(item) = table.get("rrc") else {
        return Ok(None);
    };
    let mut config = usual;
    if item.as_text().is_some() {
        config.begins_connected = item.choice(BEGINS)?;
        return Ok(Some(config));
    }
    let rrc = item.table(known)?;
    if let Some(begins) = rrc.get("begins") {
        config.begins_connected = begins.choice(BEGINS)?;
    }
    config.idle = SleepConfig {
        after: rest(&rrc, "idle", usual.idle.after)?,
        promotion: promotion(&rrc, "promotion", usual.idle.promotion)?,
    };
    own(&rrc, &mut config)?;
    Ok(Some(config))
}

fn rest(rrc: &Table<'_>, key: &'static str, usual: Duration) -> Result<Duration, Error> {
    optional(rrc, key, "\"10 s\"", usual, span(LEAST_REST, MAX_DURATION))
}

/// A time, or the least and the most.
fn promotion(
    rrc: &Table<'_>,
    key: &'static str,
    usual: (Duration, Duration),
) -> Result<(Duration, Duration), Error> {
    let Some(item) = rrc.get(key) else {
        return Ok(usual);
    };
    let read = |item: &Item<'_>| {
        let read = span(Duration::from_millis(1), MAX_CYCLE);
        item.read("\"170 ms\", or [\"80 ms\", \"260 ms\"]", read)
    };
    let bounds = match item.items().as_deref() {
        None => {
            let both = read(&item)?;
            (both, both)
        }
        Some([least, most]) => (read(least)?, read(most)?),
        Some(_) => return Err(item.refuse("two times are expected, the least and the most")),
    };
    if bounds.1 < bounds.0 {
        return Err(item.refuse("the most is below the least"));
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

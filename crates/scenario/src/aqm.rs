//! `aqm`: which packets a queue drops or marks before it is full. `ecn`: whether it marks.
//!
//! Defaults are those of the RFCs and, for RED, of ns-2.35. Without a `buffer` the queue limit is
//! that of Linux's discipline of the same name.

use network::{CoDelConfig, Discipline, FqCoDelConfig, PieConfig, RedConfig};
use tables::Value;
use units::Bytes;

use crate::document::{Item, Table};
use crate::error::Error;
use crate::quantity::Buffer;
use crate::tables::AQM;

/// The gateway of a GEO operator: 25 % of arrivals above half the limit (Kachooei 2024, chapter 5).
const GATEWAY: Discipline = Discipline::RandomAbove {
    fill: 0.5,
    probability: 0.25,
};
/// A name, or a table with the parameters of a kind.
pub(crate) fn read(item: &Item<'_>) -> Result<Discipline, Error> {
    let kinds = [
        Discipline::DropTail,
        GATEWAY,
        Discipline::CoDel(CoDelConfig::default()),
        Discipline::FqCoDel(FqCoDelConfig::default()),
        Discipline::Pie(PieConfig::default()),
        Discipline::Red(RedConfig::default()),
    ];
    let kind = |value| match value {
        Value::Word(word) => kinds.get(word).copied().unwrap_or(Discipline::DropTail),
        _ => Discipline::DropTail,
    };
    let Some(table) = item.as_table(&AQM) else {
        return item.value().map(kind);
    };
    let table = table?;
    let mut discipline = kind(table.need("kind")?.value()?);
    refuse_foreign(&table, discipline)?;
    match &mut discipline {
        Discipline::DropTail => {}
        Discipline::RandomAbove { fill, probability } => {
            table.set("fill", fill)?;
            table.set("probability", probability)?;
        }
        Discipline::CoDel(config) => codel(&table, config)?,
        Discipline::FqCoDel(config) => {
            codel(&table, &mut config.codel)?;
            if let Some(quantum) = table.read::<Bytes>("quantum")? {
                config.quantum = quantum.get() as u32;
            }
            table.set("flows", &mut config.flows)?;
        }
        Discipline::Pie(config) => {
            table.set("target", &mut config.target)?;
            table.set("update", &mut config.update)?;
            table.set("burst", &mut config.burst)?;
            table.set("gain", &mut config.gain)?;
        }
        Discipline::Red(config) => red(&table, config)?,
    }
    Ok(discipline)
}

fn codel(table: &Table<'_>, config: &mut CoDelConfig) -> Result<(), Error> {
    table.set("target", &mut config.target)?;
    table.set("interval", &mut config.interval)
}

fn red(table: &Table<'_>, config: &mut RedConfig) -> Result<(), Error> {
    table.set("min", &mut config.min)?;
    table.set("max", &mut config.max)?;
    if let (Some(item), Some(max)) = (table.get("max"), config.max)
        && config.min.is_none_or(|min| min >= max)
    {
        return Err(item.refuse("it needs a smaller min"));
    }
    table.set("probability", &mut config.probability)?;
    table.set("weight", &mut config.weight)?;
    table.set("gentle", &mut config.gentle)?;
    table.set("adaptive", &mut config.adaptive)
}

/// Refuses keys of other kinds.
fn refuse_foreign(table: &Table<'_>, discipline: Discipline) -> Result<(), Error> {
    let own: &[&str] = match discipline {
        Discipline::DropTail => &[],
        Discipline::RandomAbove { .. } => &["fill", "probability"],
        Discipline::CoDel(_) => &["target", "interval"],
        Discipline::FqCoDel(_) => &["target", "interval", "quantum", "flows"],
        Discipline::Pie(_) => &["target", "update", "burst", "gain"],
        Discipline::Red(_) => &["min", "max", "probability", "weight", "gentle", "adaptive"],
    };
    let foreign = AQM
        .keys
        .iter()
        .map(|key| key.name)
        .find(|key| *key != "kind" && !own.contains(key) && table.has(key));
    foreign
        .and_then(|key| table.get(key))
        .map_or(Ok(()), |item| {
            Err(item.refuse("its kind does not have this key"))
        })
}

/// Sets whether the discipline marks; `None` if it never can.
pub(crate) fn marking(mut discipline: Discipline, marks: bool) -> Option<Discipline> {
    let ecn = match &mut discipline {
        Discipline::DropTail | Discipline::RandomAbove { .. } => {
            return (!marks).then_some(discipline);
        }
        Discipline::CoDel(config) => &mut config.ecn,
        Discipline::FqCoDel(config) => &mut config.codel.ecn,
        Discipline::Pie(config) => &mut config.ecn,
        Discipline::Red(config) => &mut config.ecn,
    };
    *ecn = marks;
    Some(discipline)
}

/// Refuses `ecn = true` of a table whose queues never mark.
pub(crate) fn refuse_marking(table: &Table<'_>, aqm: Option<Discipline>) -> Result<(), Error> {
    let never = marking(aqm.unwrap_or(Discipline::DropTail), true).is_none();
    match table.get("ecn") {
        Some(item) if never && item.value()? == Value::Switch(true) => Err(item.refuse(
            "neither drop-tail nor random-above marks packets; leave it out, set it to false, or choose another aqm",
        )),
        _ => Ok(()),
    }
}

/// The buffer where the file gives none: the limit of Linux's discipline.
pub(crate) const fn usual_buffer(discipline: &Discipline) -> Option<Buffer> {
    match discipline {
        Discipline::CoDel(_) | Discipline::Pie(_) => Some(Buffer::Packets(1000)),
        Discipline::FqCoDel(_) => Some(Buffer::Packets(10_240)),
        Discipline::DropTail | Discipline::RandomAbove { .. } | Discipline::Red(_) => None,
    }
}

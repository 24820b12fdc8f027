//! `aqm`: which packets a queue refuses, drops or marks before it is full, and `ecn`: whether it marks.
//!
//! Defaults are those of the RFCs (network-models, sections A.5 to A.7); where no buffer is given, it is
//! the limit that Linux's discipline of the name has.

use network::{CoDelConfig, Discipline, FqCoDelConfig, PieConfig, RedConfig};
use units::Duration;

use crate::document::{Item, Table};
use crate::error::Error;
use crate::quantity::{self, Buffer};
use crate::read::{MAX_RTT, MIN_SLOT, positive, time_up_to};
use crate::schema::AQM;

/// The gateway of a GEO operator: a quarter of what arrives above half (network-models B.1.1).
const GATEWAY: Discipline = Discipline::RandomAbove {
    fill: 0.5,
    probability: 0.25,
};
/// Most queues of FQ-CoDel, and its least and largest quantum in bytes.
const MAX_FLOWS: u64 = 65_536;
const QUANTUM: (u64, u64) = (256, 1_000_000);
/// Most gain of PIE, in percent.
const MAX_GAIN: u64 = 1000;

/// A name, or a table with the parameters of a kind.
pub(crate) fn read(item: &Item<'_>) -> Result<Discipline, Error> {
    let kinds = [
        ("drop-tail", Discipline::DropTail),
        ("random-above", GATEWAY),
        ("codel", Discipline::CoDel(CoDelConfig::default())),
        ("fq-codel", Discipline::FqCoDel(FqCoDelConfig::default())),
        ("pie", Discipline::Pie(PieConfig::default())),
        ("red", Discipline::Red(RedConfig::default())),
    ];
    let Some(table) = item.as_table(&AQM) else {
        return item.choice(&kinds);
    };
    let table = table?;
    let mut discipline = table.need("kind", "\"codel\"")?.choice(&kinds)?;
    refuse_foreign(&table, discipline)?;
    match &mut discipline {
        Discipline::DropTail => {}
        Discipline::RandomAbove { fill, probability } => {
            set(&table, "fill", fill, percent)?;
            set(&table, "probability", probability, percent)?;
        }
        Discipline::CoDel(config) => codel(&table, config)?,
        Discipline::FqCoDel(config) => {
            codel(&table, &mut config.codel)?;
            let quantum = |item| whole(item, "\"1514 bytes\"", QUANTUM);
            set(&table, "quantum", &mut config.quantum, quantum)?;
            set(&table, "flows", &mut config.flows, |item| {
                let flows = item.integer(1, MAX_FLOWS)?;
                u32::try_from(flows).map_err(|_| item.refuse("the number is too large"))
            })?;
        }
        Discipline::Pie(config) => {
            set(&table, "target", &mut config.target, span)?;
            set(&table, "update", &mut config.update, |item| {
                item.read("\"15 ms\"", |text| match positive(text)? {
                    update if update < MIN_SLOT => Err(format!(
                        "the least is {}",
                        quantity::format_duration(MIN_SLOT)
                    )),
                    update => Ok(update),
                })
            })?;
            set(&table, "burst", &mut config.burst, |item| {
                item.read("\"150 ms\"", |text| time_up_to(text, MAX_RTT))
            })?;
            set(&table, "gain", &mut config.gain, |item| {
                item.read("\"200 %\"", |text| {
                    above_zero(quantity::share(text, MAX_GAIN)?)
                })
            })?;
        }
        Discipline::Red(config) => red(&table, config)?,
    }
    Ok(discipline)
}

fn codel(table: &Table<'_>, config: &mut CoDelConfig) -> Result<(), Error> {
    set(table, "target", &mut config.target, span)?;
    set(table, "interval", &mut config.interval, span)
}

fn red(table: &Table<'_>, config: &mut RedConfig) -> Result<(), Error> {
    let packets = |item: Item<'_>| {
        item.read("\"15 packets\"", |text| match quantity::buffer(text)? {
            Buffer::Packets(packets) => Ok(Some(packets as f64)),
            _ => Err("packets are expected".to_owned()),
        })
    };
    set(table, "min", &mut config.min, packets)?;
    set(table, "max", &mut config.max, packets)?;
    if let (Some(item), Some(max)) = (table.get("max"), config.max)
        && config.min.is_none_or(|min| min >= max)
    {
        return Err(item.refuse("it needs a min that is smaller"));
    }
    set(table, "probability", &mut config.probability, percent)?;
    set(table, "weight", &mut config.weight, |item| {
        let weight = item.read("\"0.2 %\"", |text| above_zero(quantity::share(text, 100)?));
        weight.map(Some)
    })?;
    set(table, "gentle", &mut config.gentle, |item| item.boolean())?;
    set(table, "adaptive", &mut config.adaptive, |item| {
        item.boolean()
    })
}

/// Refuses what other kinds alone have.
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
        .find(|key| **key != "kind" && !own.contains(key) && table.has(key));
    foreign
        .and_then(|key| table.get(key))
        .map_or(Ok(()), |item| {
            Err(item.refuse("its kind does not have this"))
        })
}

fn set<'a, T>(
    table: &Table<'a>,
    key: &'static str,
    value: &mut T,
    read: impl FnOnce(Item<'a>) -> Result<T, Error>,
) -> Result<(), Error> {
    if let Some(item) = table.get(key) {
        *value = read(item)?;
    }
    Ok(())
}

fn percent(item: Item<'_>) -> Result<f64, Error> {
    item.read("\"25 %\"", |text| quantity::share(text, 100))
}

/// A share without which a discipline would never act.
fn above_zero(share: f64) -> Result<f64, String> {
    if share > 0.0 {
        Ok(share)
    } else {
        Err("it is zero".to_owned())
    }
}

fn span(item: Item<'_>) -> Result<Duration, Error> {
    item.read("\"5 ms\"", positive)
}

fn whole(item: Item<'_>, example: &str, (least, most): (u64, u64)) -> Result<u32, Error> {
    item.read(example, |text| {
        let bytes = quantity::size(text)?.get();
        let number = u32::try_from(bytes).ok();
        number
            .filter(|_| (least..=most).contains(&bytes))
            .ok_or_else(|| format!("{least} to {most} bytes are expected"))
    })
}

/// Lets the discipline mark, or not; `None` where it never can.
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

/// Refuses `ecn = true` of a table where the queues that it speaks of never mark.
pub(crate) fn refuse_marking(table: &Table<'_>, aqm: Option<Discipline>) -> Result<(), Error> {
    let never = marking(aqm.unwrap_or(Discipline::DropTail), true).is_none();
    match table.get("ecn") {
        Some(item) if item.boolean()? && never => Err(item.refuse(
            "neither drop-tail nor random-above marks packets; leave it out, say false, or choose another aqm",
        )),
        _ => Ok(()),
    }
}

/// The buffer where none is said: the limit of Linux's discipline.
pub(crate) const fn usual_buffer(discipline: &Discipline) -> Option<Buffer> {
    match discipline {
        Discipline::CoDel(_) | Discipline::Pie(_) => Some(Buffer::Packets(1000)),
        Discipline::FqCoDel(_) => Some(Buffer::Packets(10_240)),
        Discipline::DropTail | Discipline::RandomAbove { .. } | Discipline::Red(_) => None,
    }
}

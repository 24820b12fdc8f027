//! Reads and writes any configuration that describes its table.

use std::ops::RangeInclusive;

use serde::ser::SerializeMap;
use tables::{DefaultValue, Described, Field, Given, Key, Kind, Value, Variant};

use crate::document::{Item, Table};
use crate::error::Error;
use crate::write::millis;

/// Reads a table. The caller reads keys of several kinds, except lists and single values of them,
/// and then calls [`check`].
pub(crate) fn fill(table: &Table<'_>, config: &mut dyn Described) -> Result<(), Error> {
    fill_only(table, config, |_| true)
}

/// Reads the keys that `takes` accepts.
pub(crate) fn fill_only(
    table: &Table<'_>,
    config: &mut dyn Described,
    takes: impl Fn(&str) -> bool,
) -> Result<(), Error> {
    for (place, key) in config.table().keys.iter().enumerate() {
        if key.is_derived || !takes(key.name) {
            continue;
        }
        let item = match (table.get(key.name), key.default) {
            (Some(item), _) => item,
            (None, DefaultValue::Needed(_)) => return Err(table.missing(key.name)),
            (None, _) => continue,
        };
        match key.kind {
            Kind::Any(kinds) => {
                let list = kinds.iter().find_map(|kind| match kind {
                    Kind::List(_, least, most) => Some(*least as usize..=*most as usize),
                    _ => None,
                });
                match list {
                    Some(range) => config.give(place, Given::List(&values(&item, range)?)),
                    None if !either(&item, kinds, place, config)? => continue,
                    None => {}
                }
            }
            Kind::Choice(kinds) => {
                let (place_of_kind, table) = kind(&item, kinds)?;
                config.set(place, Value::Word(place_of_kind));
                if let (Some(table), Some(inner)) = (table, config.inner_mut(place)) {
                    read(&table, inner)?;
                }
            }
            Kind::Text(_) => config.give(place, Given::Text(&item.words()?)),
            Kind::Table(inner) => {
                let inner = item.table(inner)?;
                if let Some(config) = config.inner_mut(place) {
                    read(&inner, config)?;
                }
            }
            _ => config.set(place, item.value()?),
        }
        config.follow(key.name);
    }
    Ok(())
}

/// Reads a key that has one of several kinds, each with its settings; `None` without the key.
pub(crate) fn choose<T: Field>(table: &Table<'_>, key: &str) -> Result<Option<T>, Error> {
    let Some(item) = table.get(key) else {
        return Ok(None);
    };
    let Kind::Choice(kinds) = item.kind else {
        debug_assert!(false, "{key} has no kinds");
        return Ok(None);
    };
    let (place, table) = kind(&item, kinds)?;
    let mut chosen = T::of(Value::Word(place));
    if let (Some(table), Some(inner)) = (table, chosen.as_mut().and_then(Field::inner_mut)) {
        read(&table, inner)?;
    }
    Ok(chosen)
}

/// The place of the kind that a word, or `kind` of a table, names, and the table.
fn kind<'a>(
    item: &Item<'a>,
    kinds: &'static [Variant],
) -> Result<(usize, Option<Table<'a>>), Error> {
    let words: Vec<(&str, usize)> = kinds.iter().map(|kind| kind.word).zip(0..).collect();
    if item.has_no_keys() {
        return Ok((item.choice(&words)?, None));
    }
    let Some(word) = item.inner("kind") else {
        let words: Vec<&str> = kinds.iter().map(|kind| kind.word).collect();
        return Err(item.refuse(format!("it needs a kind, one of {}", words.join(", "))));
    };
    let place = word.choice(&words)?;
    Ok((place, Some(item.table_of_kind(kinds, place)?)))
}

/// Reads a value or a table; false if the caller has to read it.
fn either(
    item: &Item<'_>,
    kinds: &[Kind],
    place: usize,
    config: &mut dyn Described,
) -> Result<bool, Error> {
    let mut tables = kinds.iter().filter_map(|kind| match kind {
        Kind::Table(table) => Some(*table),
        _ => None,
    });
    let (Some(known), None) = (tables.next(), tables.next()) else {
        return Ok(false);
    };
    let Some(table) = item.as_table(known) else {
        config.set(place, item.value()?);
        return Ok(true);
    };
    let Some(inner) = config.inner_mut(place) else {
        return Ok(false);
    };
    read(&table?, inner)?;
    Ok(true)
}

/// The values of a list, or the value in place of one.
fn values(item: &Item<'_>, count: RangeInclusive<usize>) -> Result<Vec<Value>, Error> {
    let items = item.items().unwrap_or_else(|| vec![*item]);
    if !count.contains(&items.len()) {
        let (least, most) = count.into_inner();
        return Err(item.refuse(format!("expected {least} to {most} values")));
    }
    items.iter().map(Item::value).collect()
}

/// Refuses values that contradict each other.
pub(crate) fn check(table: &Table<'_>, config: &dyn Described) -> Result<(), Error> {
    let said = |key: &str| table.has(key);
    config.check(&said).map_err(|wrong| table.wrong(wrong))
}

/// Reads a table, and checks it.
pub(crate) fn read(table: &Table<'_>, config: &mut dyn Described) -> Result<(), Error> {
    fill(table, config)?;
    check(table, config)
}

/// Writes each key of a configuration into its resolved form, except those that `odd` writes
/// itself, for which it returns true.
pub(crate) fn write<M: SerializeMap>(
    map: &mut M,
    config: &dyn Described,
    odd: impl Fn(&mut M, &str) -> Result<bool, M::Error>,
) -> Result<(), M::Error> {
    for (place, key) in config.table().keys.iter().enumerate() {
        let value = config.value(place);
        let is_usual = match (key.kind, key.default) {
            (Kind::Table(_), _) => config.inner(place).is_none(),
            (_, DefaultValue::Value(usual)) => usual() == value,
            _ => false,
        };
        if key.only_if_said && is_usual {
            continue;
        }
        if odd(map, key.name)? {
            continue;
        }
        let name = match key.resolved {
            "" => format!("{}{}", key.name, key.kind.suffix()),
            name => name.to_owned(),
        };
        match key.kind {
            Kind::Table(_) => map.serialize_entry(&name, &config.inner(place).map(Inner))?,
            Kind::Choice(kinds) => {
                let kind = match value {
                    Value::Word(word) => kinds.get(word),
                    _ => None,
                };
                let word = kind.map_or("", |kind| kind.word);
                map.serialize_entry(&name, &Chosen(word, config.inner(place)))?;
            }
            _ => map.serialize_entry(&name, &Plain { key, value })?,
        }
    }
    Ok(())
}

/// A kind with its settings, for output.
pub(crate) struct Chosen<'a>(
    pub(crate) &'static str,
    pub(crate) Option<&'a dyn Described>,
);

impl serde::Serialize for Chosen<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", self.0)?;
        if let Some(config) = self.1 {
            write(&mut map, config, |_, _| Ok(false))?;
        }
        map.end()
    }
}

struct Inner<'a>(&'a dyn Described);

impl serde::Serialize for Inner<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        write(&mut map, self.0, |_, _| Ok(false))?;
        map.end()
    }
}

/// A value in the unit of its key.
struct Plain<'a> {
    key: &'a Key,
    value: Value,
}

impl serde::Serialize for Plain<'_> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let words = match self.key.kind {
            Kind::Words(words) => words,
            _ => &[],
        };
        match self.value {
            Value::Nothing => to.serialize_none(),
            Value::Rate(rate) => to.serialize_u64(rate.bits_per_sec()),
            Value::Time(span) => to.serialize_f64(match self.key.kind {
                Kind::Seconds(..) => span.as_secs_f64(),
                _ => millis(span),
            }),
            Value::Size(bytes) => to.serialize_u64(bytes.get()),
            Value::Number(number) => to.serialize_f64(number),
            Value::Integer(number) => to.serialize_u64(number),
            Value::Switch(on) => match words.get(usize::from(on)) {
                Some(word) => to.serialize_str(word),
                None => to.serialize_bool(on),
            },
            Value::Word(word) => to.serialize_str(words.get(word).copied().unwrap_or_default()),
        }
    }
}

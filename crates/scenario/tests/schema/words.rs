//! Ranges and defaults in words.

use tables::{DefaultValue, Key, Kind, MAX_DELAY, MAX_DURATION, MAX_RATE, MAX_SIZE, Value};
use units::Bytes;

/// The range of a kind in words, if it is not a general one.
pub fn range(kind: &Kind) -> String {
    let of = |least: Option<String>, most: Option<String>| match (least, most) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => String::new(),
    };
    let unit = |least: f64, most: f64, unit: &str| {
        let least = (least != 0.0).then(|| format!("{least} {unit}"));
        of(least, Some(format!("{most} {unit}")))
    };
    match *kind {
        Kind::Rate(least, most) => of(
            (least.bits_per_sec() > 1).then(|| least.to_string()),
            (most != MAX_RATE).then(|| most.to_string()),
        ),
        Kind::Time(least, most) | Kind::Seconds(least, most) => of(
            (least.as_nanos() > 1).then(|| least.to_string()),
            (most != MAX_DURATION && most != MAX_DELAY).then(|| most.to_string()),
        ),
        Kind::Size(least, most) => of(
            (least.get() > 1).then(|| format!("{} bytes", least.get())),
            (most != MAX_SIZE).then(|| format!("{} bytes", most.get())),
        ),
        Kind::Share(_, 100.0) => String::new(),
        Kind::Share(_, most) => unit(0.0, most, "%"),
        Kind::Decibel(least, most) => unit(least, most, "dB"),
        Kind::Level(least, most) => unit(least, most, "dBm"),
        Kind::Length(least, most) => unit(least, most, "m"),
        Kind::Speed(least, most) => unit(least, most, "m/s"),
        Kind::Power(least, most) => unit(least, most, "W"),
        Kind::Energy(least, most) => unit(least, most, "J"),
        Kind::Angle(least, most) => unit(least, most, "deg"),
        Kind::Integer(least, most) => format!("{least} to {most}"),
        Kind::Number(least, most) => format!("{least} to {most}"),
        _ => String::new(),
    }
}

/// A value as a file has it, without quotes.
pub fn shown(kind: &Kind, value: Value) -> Option<String> {
    let list: &[&str] = match kind {
        Kind::Words(list) => list,
        _ => &[],
    };
    Some(match (kind, value) {
        (_, Value::Nothing) => return None,
        (_, Value::Rate(rate)) => rate.to_string(),
        (_, Value::Time(span)) if span.is_zero() => "0 s".to_owned(),
        (_, Value::Time(span)) => span.to_string(),
        (_, Value::Size(bytes)) => size(bytes.get()),
        (_, Value::Integer(number)) => number.to_string(),
        (_, Value::Word(word)) => list[word].to_owned(),
        (Kind::Words(_), Value::Switch(on)) => list[usize::from(on)].to_owned(),
        (_, Value::Switch(on)) => on.to_string(),
        (Kind::Share(..), Value::Number(number)) => format!("{} %", (number * 1e8).round() / 1e6),
        (Kind::Decibel(..), Value::Number(number)) => format!("{number} dB"),
        (Kind::Level(..), Value::Number(number)) => format!("{number} dBm"),
        (Kind::Hertz(..), Value::Number(number)) => format!("{number} Hz"),
        (Kind::Packets, Value::Number(number)) => format!("{number} packets"),
        (Kind::Length(..), Value::Number(number)) => format!("{number} m"),
        (Kind::Speed(..), Value::Number(number)) => format!("{number} m/s"),
        (Kind::Power(..), Value::Number(number)) => format!("{number} W"),
        (Kind::Energy(..), Value::Number(number)) => format!("{number} J"),
        (Kind::Angle(..), Value::Number(number)) => format!("{number} deg"),
        (_, Value::Number(number)) => number.to_string(),
    })
}

/// A size in the unit that needs the fewest characters; of those, the first.
fn size(bytes: u64) -> String {
    let binary = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let exact = binary
        .iter()
        .filter(|(_, shift)| bytes.is_multiple_of(1 << shift));
    let shown = exact.map(|(unit, shift)| format!("{} {unit}", bytes >> shift));
    std::iter::once(Bytes::new(bytes).to_string())
        .chain(shown)
        .chain([format!("{bytes} B")])
        .min_by_key(String::len)
        .unwrap_or_default()
}

/// The default as in a file: the value, and whether it is in quotes.
pub fn default(key: &Key) -> Option<(String, bool)> {
    let value = match key.default {
        DefaultValue::Is(value) => value.to_owned(),
        DefaultValue::Value(value) => shown(&key.kind, value())?,
        DefaultValue::Needed(_) | DefaultValue::Sometimes(..) | DefaultValue::Words(_) => {
            return None;
        }
    };
    let is_bare = matches!(
        key.kind,
        Kind::Integer(..) | Kind::Number(..) | Kind::Switch
    );
    Some((value, !is_bare))
}

/// One line of text, without its line breaks.
pub fn line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

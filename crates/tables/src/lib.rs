//! Descriptions of the tables of a scenario file, each key once.
//!
//! A [`Table`] lists its keys with their kind, range, default and one sentence. File reader,
//! resolved form, JSON Schema and reference all use this description.
//! [`described!`](crate::described) makes a configuration and its table from one list, so that a
//! new key is one line; [`Described`] is the interface for readers and writers.

#![no_std]

extern crate alloc;

mod macros;
mod support;

pub use support::{Lack, Stack, Supported};

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use units::{Bytes, Duration, Instant, Rate};

/// The slowest link.
pub const LEAST_RATE: Rate = Rate::from_bits_per_sec(1);
/// The fastest link: far beyond what is simulated, far below what overflows.
pub const MAX_RATE: Rate = Rate::from_bits_per_sec(1_000_000_000_000);
/// The longest span of time: a week.
pub const MAX_DURATION: Duration = Duration::from_secs(7 * 24 * 3600);
/// The longest delay, and the longest round trip.
pub const MAX_DELAY: Duration = Duration::from_secs(60);
/// The largest amount of data.
pub const MAX_SIZE: Bytes = Bytes::new(1_000_000_000_000_000);

/// A table of a scenario file.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name in the schema; for a model, the value of `model`.
    pub name: &'static str,
    /// Its name in messages.
    pub title: &'static str,
    /// One sentence about it.
    pub summary: &'static str,
    /// Its keys, in the order of the resolved form.
    pub keys: &'static [Key],
}

impl Table {
    /// The key of that name, if a file can have it.
    #[must_use]
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.given().find(|key| key.name == name)
    }

    /// The keys that a file can have.
    pub fn given(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.keys.iter().filter(|key| !key.is_derived)
    }
}

/// The keys of a table that consists of several lists, one after the other; `N` is how many.
#[must_use]
pub const fn joined<const N: usize>(lists: &[&[Key]]) -> [Key; N] {
    let mut keys = [Key::of(Kind::Switch); N];
    let (mut list, mut place, mut count) = (0, 0, 0);
    while list < lists.len() {
        if place < lists[list].len() {
            keys[count] = lists[list][place];
            place += 1;
            count += 1;
        } else {
            place = 0;
            list += 1;
        }
    }
    assert!(count == N, "`N` is the number of all keys");
    keys
}

/// The keys of a list except those with some names; `N` is how many remain.
#[must_use]
pub const fn without<const N: usize>(keys: &[Key], names: &[&str]) -> [Key; N] {
    let mut rest = [Key::of(Kind::Switch); N];
    let (mut place, mut count) = (0, 0);
    while place < keys.len() {
        if !is_one_of(keys[place].name, names) {
            rest[count] = keys[place];
            count += 1;
        }
        place += 1;
    }
    assert!(count == N, "`N` is the number of keys that remain");
    rest
}

/// The keys of a list that a file can have; `N` is how many.
#[must_use]
pub const fn given<const N: usize>(keys: &[Key]) -> [Key; N] {
    let mut rest = [Key::of(Kind::Switch); N];
    let (mut place, mut count) = (0, 0);
    while place < keys.len() {
        if !keys[place].is_derived {
            rest[count] = keys[place];
            count += 1;
        }
        place += 1;
    }
    assert!(count == N, "`N` is the number of keys that a file can have");
    rest
}

/// How many keys of a list a file can have.
#[must_use]
pub const fn given_len(keys: &[Key]) -> usize {
    let (mut place, mut count) = (0, 0);
    while place < keys.len() {
        if !keys[place].is_derived {
            count += 1;
        }
        place += 1;
    }
    count
}

/// The keys of a list, with words about their default; `N` is their number.
#[must_use]
pub const fn usually<const N: usize>(keys: &[Key], words: &'static str) -> [Key; N] {
    let mut with = [Key::of(Kind::Switch); N];
    let mut place = 0;
    while place < N {
        with[place] = keys[place].usually(words);
        place += 1;
    }
    with
}

/// The keys of several lists, each name once, at its first place; `N` is how many. What a list
/// needs, the union needs only where the list is used.
#[must_use]
pub const fn united<const N: usize>(lists: &[&[&[Key]]]) -> [Key; N] {
    let (keys, count) = union(lists);
    assert!(count == N, "`N` is the number of different names");
    keys
}

/// How many different names several lists have.
#[must_use]
pub const fn united_len(lists: &[&[&[Key]]]) -> usize {
    union::<MOST_KEYS>(lists).1
}

/// Most keys of a union.
const MOST_KEYS: usize = 256;

const fn union<const N: usize>(lists: &[&[&[Key]]]) -> ([Key; N], usize) {
    let mut keys = [Key::of(Kind::Switch); N];
    let mut names = [""; N];
    let (mut list, mut group, mut place, mut count) = (0, 0, 0, 0);
    while list < lists.len() {
        if group == lists[list].len() {
            (list, group) = (list + 1, 0);
        } else if place == lists[list][group].len() {
            (group, place) = (group + 1, 0);
        } else {
            let key = lists[list][group][place];
            if !is_one_of(key.name, &names) {
                keys[count] = match key.default {
                    DefaultValue::Needed(example) => {
                        key.sometimes(example, "needed by the kinds that have it")
                    }
                    _ => key,
                };
                names[count] = key.name;
                count += 1;
            }
            place += 1;
        }
    }
    (keys, count)
}

const fn is_one_of(name: &str, names: &[&str]) -> bool {
    let name = name.as_bytes();
    let mut place = 0;
    while place < names.len() {
        let other = names[place].as_bytes();
        let mut same = 0;
        while same < name.len() && same < other.len() && name[same] == other[same] {
            same += 1;
        }
        if same == name.len() && same == other.len() {
            return true;
        }
        place += 1;
    }
    false
}

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// Its type and range.
    pub kind: Kind,
    /// Its value if the file does not give it.
    pub default: DefaultValue,
    /// What it means, in one sentence.
    pub doc: &'static str,
    /// Its name in the resolved form; if empty, `name` with the suffix of the kind.
    pub resolved: &'static str,
    /// Whether the resolved form has it only if it is not the default.
    pub only_if_said: bool,
    /// Whether every stack supports it; otherwise those that declare it ([`Stack`]).
    pub everywhere: bool,
    /// Whether it follows from other keys: the resolved form has it, and no file.
    pub is_derived: bool,
}

/// The value of a key that the file does not give.
#[derive(Clone, Copy, Debug)]
pub enum DefaultValue {
    /// The file has to give it; an example.
    Needed(&'static str),
    /// Some files have to give it: an example, and which files.
    Sometimes(&'static str, &'static str),
    /// A value.
    Value(fn() -> Value),
    /// A value as a file has it, without quotes.
    Is(&'static str),
    /// A description; empty if there is none.
    Words(&'static str),
}

/// The type of a key. Bounds belong to the range.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A rate.
    Rate(Rate, Rate),
    /// A span of time; the resolved form has milliseconds.
    Time(Duration, Duration),
    /// A span of time; the resolved form has seconds.
    Seconds(Duration, Duration),
    /// A number of bytes.
    Size(Bytes, Bytes),
    /// The size of a queue.
    Buffer,
    /// A fraction, written in percent; the range is also in percent.
    Share(f64, f64),
    /// A ratio in dB.
    Decibel(f64, f64),
    /// A level in dBm.
    Level(f64, f64),
    /// A frequency in Hz.
    Hertz(f64, f64),
    /// A length; values are in metres.
    Length(f64, f64),
    /// A speed; values are in metres per second.
    Speed(f64, f64),
    /// A power; values are in watts.
    Power(f64, f64),
    /// An energy; values are in joules.
    Energy(f64, f64),
    /// An angle in degrees.
    Angle(f64, f64),
    /// Events per second, minute or hour; the range is per second.
    Frequency(f64, f64),
    /// A number of packets.
    Packets,
    /// A whole number.
    Integer(u64, u64),
    /// A number.
    Number(f64, f64),
    /// `true` or `false`.
    Switch,
    /// One of some words.
    Words(&'static [&'static str]),
    /// A line with a maximum number of characters.
    Text(u32),
    /// A table.
    Table(&'static Table),
    /// An array of tables, with a maximum number.
    Tables(&'static Table, u32),
    /// A list of values of a kind, with limits on their number.
    List(&'static Self, u32, u32),
    /// A model of an access network.
    Model,
    /// One of several kinds, each with a table of its own: a word, or a table that has the word at
    /// `kind`. See [`choice!`](crate::choice).
    Choice(&'static [Variant]),
    /// One of several kinds.
    Any(&'static [Self]),
}

/// A kind of a [`Kind::Choice`].
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Its word.
    pub word: &'static str,
    /// Its keys beside `kind`; none for a kind without settings.
    pub table: &'static Table,
}

impl Kind {
    /// Any rate.
    pub const RATE: Self = Self::Rate(LEAST_RATE, MAX_RATE);
    /// Any span of time above zero.
    pub const SPAN: Self = Self::Time(Duration::from_nanos(1), MAX_DURATION);
    /// Any delay, also none.
    pub const DELAY: Self = Self::Time(Duration::ZERO, MAX_DELAY);
    /// Any fraction of a whole.
    pub const PERCENT: Self = Self::Share(0.0, 100.0);

    /// The suffix of the key in the resolved form.
    #[must_use]
    pub const fn suffix(&self) -> &'static str {
        match self {
            Self::Rate(..) => "_bps",
            Self::Time(..) => "_ms",
            Self::Seconds(..) => "_s",
            Self::Size(..) => "_bytes",
            Self::Decibel(..) => "_db",
            Self::Level(..) => "_dbm",
            Self::Hertz(..) => "_hz",
            Self::Length(..) => "_m",
            Self::Speed(..) => "_m_per_s",
            Self::Power(..) => "_w",
            Self::Energy(..) => "_j",
            Self::Angle(..) => "_deg",
            _ => "",
        }
    }

    /// A value as text, without quotes.
    #[must_use]
    pub const fn example(&self) -> &'static str {
        match self {
            Self::Rate(..) => "50 Mbit/s",
            Self::Time(..) | Self::Seconds(..) => "10 ms",
            Self::Size(..) => "20 MB",
            Self::Buffer => "413 packets",
            Self::Share(..) => "10 %",
            Self::Decibel(..) => "2 dB",
            Self::Level(..) => "-53 dBm",
            Self::Hertz(..) => "3 Hz",
            Self::Length(..) => "500 m",
            Self::Speed(..) => "10 m/s",
            Self::Power(..) => "0.66 W",
            Self::Energy(..) => "1000 J",
            Self::Angle(..) => "37.9 deg",
            Self::Frequency(..) => "30 /s",
            Self::Packets => "15 packets",
            Self::List(of, ..) => of.example(),
            Self::Any(kinds) => {
                let mut place = 0;
                while place < kinds.len() {
                    if kinds[place].is_quantity() {
                        return kinds[place].example();
                    }
                    place += 1;
                }
                "..."
            }
            _ => "...",
        }
    }

    /// Whether it is neither a word nor a table nor a list.
    #[must_use]
    pub const fn is_quantity(&self) -> bool {
        !matches!(
            self,
            Self::Words(_)
                | Self::Table(_)
                | Self::Tables(..)
                | Self::List(..)
                | Self::Model
                | Self::Choice(_)
        )
    }
}

impl Key {
    /// A key of a table that is read by hand.
    #[must_use]
    pub const fn new(
        name: &'static str,
        kind: Kind,
        default: DefaultValue,
        doc: &'static str,
    ) -> Self {
        Self {
            name,
            kind,
            default,
            doc,
            resolved: "",
            only_if_said: false,
            everywhere: false,
            is_derived: false,
        }
    }

    /// A key of [`described!`](crate::described), which supplies the rest.
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        Self::new("", kind, DefaultValue::Words(""), "")
    }

    /// Sets a name that differs from the field's.
    #[must_use]
    pub const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// Sets a different name in the resolved form.
    #[must_use]
    pub const fn resolved(self, resolved: &'static str) -> Self {
        Self { resolved, ..self }
    }

    /// Requires the key in every file, and gives an example.
    #[must_use]
    pub const fn needed(self, example: &'static str) -> Self {
        Self {
            default: DefaultValue::Needed(example),
            ..self
        }
    }

    /// Requires the key in some files: an example, and which files.
    #[must_use]
    pub const fn sometimes(self, example: &'static str, which: &'static str) -> Self {
        Self {
            default: DefaultValue::Sometimes(example, which),
            ..self
        }
    }

    /// Describes a default that cannot be written in a file.
    #[must_use]
    pub const fn usually(self, words: &'static str) -> Self {
        Self {
            default: DefaultValue::Words(words),
            ..self
        }
    }

    /// Every stack supports it, and all keys of its table: a part that all stacks share, such as a
    /// link, implements it.
    #[must_use]
    pub const fn everywhere(self) -> Self {
        Self {
            everywhere: true,
            ..self
        }
    }

    /// Marks a field that follows from other keys: the resolved form has it, and no file.
    #[must_use]
    pub const fn derived(self) -> Self {
        Self {
            is_derived: true,
            ..self
        }
    }

    /// Omits the default from the resolved form.
    #[must_use]
    pub const fn only_if_said(self) -> Self {
        Self {
            only_if_said: true,
            ..self
        }
    }

    /// Supplies what [`described!`](crate::described) derives from the field.
    #[doc(hidden)]
    #[must_use]
    pub const fn complete(
        self,
        field: &'static str,
        default: fn() -> Value,
        doc: &'static str,
    ) -> Self {
        Self {
            name: if self.name.is_empty() {
                field
            } else {
                self.name
            },
            default: match self.default {
                DefaultValue::Words(text) if text.is_empty() => DefaultValue::Value(default),
                said => said,
            },
            doc,
            ..self
        }
    }
}

/// A value of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// None: an optional key without a value, or a table.
    Nothing,
    /// A rate.
    Rate(Rate),
    /// A span of time.
    Time(Duration),
    /// A number of bytes.
    Size(Bytes),
    /// A fraction, a level, or another number.
    Number(f64),
    /// A whole number.
    Integer(u64),
    /// `true` or `false`.
    Switch(bool),
    /// The index of a word in its list.
    Word(usize),
}

/// What a file gives for a key.
#[derive(Clone, Copy, Debug)]
pub enum Given<'a> {
    /// A value.
    One(Value),
    /// A line of text.
    Text(&'a str),
    /// The values of a list.
    List(&'a [Value]),
}

/// A field of a configuration that can be described as a key.
pub trait Field: Sized {
    /// Its value; nothing for a text and a list.
    fn value(&self) -> Value;
    /// The field from a value; from [`Value::Nothing`], a table with its defaults.
    fn of(value: Value) -> Option<Self>;
    /// The field from what a file gives.
    fn take(given: Given<'_>) -> Option<Self> {
        match given {
            Given::One(value) => Self::of(value),
            Given::Text(_) | Given::List(_) => None,
        }
    }
    /// The configuration in this field, if it is a table.
    fn inner(&self) -> Option<&dyn Described> {
        None
    }
    /// The same for writing, created with its defaults if there was none.
    fn inner_mut(&mut self) -> Option<&mut dyn Described> {
        None
    }
}

/// Why a set of values is refused: the key to report, and the end of a sentence about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The key; empty for the table as a whole.
    pub key: &'static str,
    /// Why its value is refused.
    pub reason: String,
    /// Whether the value itself is shown before the reason.
    pub shown: bool,
}

impl Wrong {
    /// `key = value: reason`.
    #[must_use]
    pub fn value(key: &'static str, reason: impl Into<String>) -> Self {
        Self {
            key,
            reason: reason.into(),
            shown: true,
        }
    }

    /// A complete sentence, reported at the key.
    #[must_use]
    pub fn at(key: &'static str, reason: impl Into<String>) -> Self {
        Self {
            shown: false,
            ..Self::value(key, reason)
        }
    }
}

/// Rules that involve more than one key of a table.
pub trait Rules {
    /// Called after a key has been set, in the order of the table; may change the defaults of later
    /// keys.
    fn follow(&mut self, _key: &str) {}

    /// Whether the values fit together; `said` is whether the file has a key.
    ///
    /// # Errors
    /// The first contradiction.
    fn check(&self, _said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        Ok(())
    }
}

/// A configuration with a description. Keys are indexed in the order of the table.
pub trait Described: Rules {
    /// The description.
    fn table(&self) -> &'static Table;
    /// The value of a key.
    fn value(&self, key: usize) -> Value;
    /// Sets a key to what a file gives; a value of another kind is ignored.
    fn give(&mut self, key: usize, given: Given<'_>);
    /// Sets a key to a value; one of another kind is ignored.
    fn set(&mut self, key: usize, value: Value) {
        self.give(key, Given::One(value));
    }
    /// The configuration at a key whose kind is a table.
    fn inner(&self, key: usize) -> Option<&dyn Described>;
    /// The same for writing, created with its defaults if there was none.
    fn inner_mut(&mut self, key: usize) -> Option<&mut dyn Described>;
}

/// `Field` of a type that is one variant of [`Value`].
macro_rules! field {
    ($($type:ty, $variant:ident, |$field:ident| $out:expr, |$value:ident| $in:expr;)*) => {$(
        impl Field for $type {
            fn value(&self) -> Value {
                let $field = *self;
                Value::$variant($out)
            }

            fn of(value: Value) -> Option<Self> {
                match value {
                    Value::$variant($value) => $in,
                    _ => None,
                }
            }
        }
    )*};
}

field! {
    Rate, Rate, |rate| rate, |rate| Some(rate);
    Duration, Time, |span| span, |span| Some(span);
    Instant, Time, |at| Duration::from_nanos(at.as_nanos()), |span| Some(Self::ZERO + span);
    Bytes, Size, |bytes| bytes, |bytes| Some(bytes);
    f64, Number, |number| number, |number| Some(number);
    u64, Integer, |number| number, |number| Some(number);
    u32, Integer, |number| number.into(), |number| Self::try_from(number).ok();
    u8, Integer, |number| number.into(), |number| Self::try_from(number).ok();
}

impl Field for bool {
    fn value(&self) -> Value {
        Value::Switch(*self)
    }

    /// A switch, or the second of two words.
    fn of(value: Value) -> Option<Self> {
        match value {
            Value::Switch(on) => Some(on),
            Value::Word(word) => Some(word == 1),
            _ => None,
        }
    }
}

impl Field for String {
    fn value(&self) -> Value {
        Value::Nothing
    }

    fn of(_: Value) -> Option<Self> {
        None
    }

    fn take(given: Given<'_>) -> Option<Self> {
        match given {
            Given::Text(text) => Some(text.into()),
            Given::One(_) | Given::List(_) => None,
        }
    }
}

impl<T: Field> Field for Vec<T> {
    fn value(&self) -> Value {
        Value::Nothing
    }

    fn of(value: Value) -> Option<Self> {
        T::of(value).map(|one| vec![one])
    }

    fn take(given: Given<'_>) -> Option<Self> {
        match given {
            Given::List(values) => values.iter().map(|&value| T::of(value)).collect(),
            Given::One(value) => Self::of(value),
            Given::Text(_) => None,
        }
    }
}

impl<T: Field> Field for Option<T> {
    fn value(&self) -> Value {
        self.as_ref().map_or(Value::Nothing, Field::value)
    }

    fn of(value: Value) -> Option<Self> {
        match value {
            Value::Nothing => Some(None),
            value => T::of(value).map(Some),
        }
    }

    fn take(given: Given<'_>) -> Option<Self> {
        match given {
            Given::One(value) => Self::of(value),
            given => T::take(given).map(Some),
        }
    }

    fn inner(&self) -> Option<&dyn Described> {
        self.as_ref()?.inner()
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Described> {
        if self.is_none() {
            *self = T::of(Value::Nothing);
        }
        self.as_mut()?.inner_mut()
    }
}

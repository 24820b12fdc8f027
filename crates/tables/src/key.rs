//! What a key is: its name, kind, range, default and sentence.

use units::{Bytes, Duration, Rate};

use crate::{LEAST_RATE, MAX_DELAY, MAX_DURATION, MAX_RATE, Table, Value};

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
    /// Whether every stack supports it; otherwise those that declare it ([`Stack`](crate::Stack)).
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

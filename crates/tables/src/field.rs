//! How a described configuration is read and written, field by field.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use units::{Bytes, Duration, Instant, Rate};

use crate::Table;

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

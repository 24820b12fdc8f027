//! Descriptions of the tables of a scenario file, each key once.
//!
//! A [`Table`] lists its keys with their kind, range, default and one sentence. File reader,
//! resolved form, JSON Schema and reference all use this description.
//! [`described!`](crate::described) makes a configuration and its table from one list, so that a
//! new key is one line; [`Described`] is the interface for readers and writers.

#![no_std]

extern crate alloc;

mod field;
mod key;
mod lists;
mod macros;
mod support;

pub use field::{Described, Field, Given, Rules, Value, Wrong};
pub use key::{DefaultValue, Key, Kind, Variant};
pub use lists::{given, given_len, joined, united, united_len, usually, without};
pub use support::{Lack, Stack, Supported};

use units::{Bytes, Duration, Rate};

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

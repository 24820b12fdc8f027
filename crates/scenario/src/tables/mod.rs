//! The tables of a scenario file that are read by hand: each key with its kind, range, default and
//! one sentence. Models of access networks describe their own tables.
//!
//! The readers take their ranges from here, and so do the JSON Schema and the reference.

pub(crate) mod cellular;
mod flow;
mod hosts;
mod network;
mod path;
mod traffic;

pub(crate) use flow::{APPLICATION, FLOW};
pub(crate) use hosts::HOSTS;
pub(crate) use network::{
    ADHOC, AODV, CLOUDS, CONSTELLATION, CSMA, DCF, DSDV, IDEAL, NETWORK, RANDOM_WAYPOINT, TERMINAL,
};
pub(crate) use path::{
    DELAY, DELAY_STEP, DIRECTION, LINK, LINK_REVERSE, NODE, PATH, PROXY, ROUTER, SCENARIO, STEP,
    TRACE,
};
pub(crate) use traffic::{TRAFFIC, TRAFFIC_SETTINGS};

/// A list of keys: `"key": kind, how "default", "What it means.";`, where `how` is `needed` (with an
/// example), `sometimes` (with an example and words), `is` (a value), or `or` (words about it). Behind
/// the meaning, `everywhere` says that every stack supports the key.
macro_rules! keys {
    ($( $key:literal: $kind:expr, $how:ident $($usual:literal)+, $doc:literal $($where:ident)?; )*) => {
        &[ $( tables::Key::new(
            $key,
            $kind,
            $crate::tables::usual!($how $($usual)+),
            $doc,
        )$(.$where())?, )* ]
    };
}

/// A table with its keys, or with the keys of several lists.
macro_rules! table {
    ($name:ident = $table:literal, $title:literal, $summary:literal { $($keys:tt)* }) => {
        pub(crate) const $name: tables::Table = tables::Table {
            name: $table,
            title: $title,
            summary: $summary,
            keys: $crate::tables::keys!($($keys)*),
        };
    };
    ($name:ident = $table:literal, $title:literal, $summary:literal [ $($list:expr),+ $(,)? ]) => {
        pub(crate) const $name: tables::Table = tables::Table {
            name: $table,
            title: $title,
            summary: $summary,
            keys: &tables::joined::<{ 0 $(+ $list.len())+ }>(&[ $($list),+ ]),
        };
    };
}

macro_rules! usual {
    (needed $example:literal) => {
        tables::DefaultValue::Needed($example)
    };
    (sometimes $example:literal $which:literal) => {
        tables::DefaultValue::Sometimes($example, $which)
    };
    (is $value:literal) => {
        tables::DefaultValue::Is($value)
    };
    (or $words:literal) => {
        tables::DefaultValue::Words($words)
    };
}

use {keys, table, usual};

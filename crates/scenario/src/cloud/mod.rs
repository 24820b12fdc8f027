//! `[network]`: an ad-hoc network or a constellation.

mod adhoc;
mod constellation;
mod positions;

use std::path::Path;

use serde::ser::SerializeMap;
use tables::Table as Known;
use units::Duration;
use wireless::{CloudConfig, IdealConfig};

use crate::described;
use crate::document::{Item, Table};
use crate::error::Error;
use crate::tables::{ADHOC, CONSTELLATION, IDEAL};

/// Reads a table of one kind. Names of files are relative to the folder.
type Reader = fn(&Table<'_>, &Path) -> Result<CloudConfig, Error>;

/// The kinds: the word, the table, and its reader.
const KINDS: [(&str, (&Known, Reader)); 3] = [
    ("adhoc", (&ADHOC, adhoc::read)),
    ("constellation", (&CONSTELLATION, constellation::read)),
    ("ideal", (&IDEAL, ideal)),
];

/// Reads `network` of a file, if present, with its warm-up.
pub(crate) fn read(
    root: &Table<'_>,
    folder: &Path,
) -> Result<Option<(CloudConfig, Duration)>, Error> {
    let Some(item) = root.get("network") else {
        return Ok(None);
    };
    let (known, read) = kind(&item)?;
    let table = item.table(known)?;
    let cloud = read(&table, folder)?;
    Ok(Some((cloud, table.or("warm_up", Duration::ZERO)?)))
}

fn kind(item: &Item<'_>) -> Result<(&'static Known, Reader), Error> {
    match item.inner("kind") {
        Some(word) => word.choice(&KINDS),
        None => {
            let names = KINDS.map(|(name, _)| name).join(", ");
            Err(item.refuse(format!("[network] needs a kind, one of {names}")))
        }
    }
}

fn ideal(table: &Table<'_>, _: &Path) -> Result<CloudConfig, Error> {
    let mut config = IdealConfig::DEFAULT;
    described::read(table, &mut config)?;
    Ok(CloudConfig::Ideal(config))
}

/// Writes the settings of a cloud beside its kind.
pub(crate) fn write<M: SerializeMap>(map: &mut M, cloud: &CloudConfig) -> Result<(), M::Error> {
    match cloud {
        CloudConfig::Ideal(config) => described::write(map, config, |_, _| Ok(false)),
        CloudConfig::AdHoc(config) => adhoc::write(map, config),
        CloudConfig::Constellation(config, terminals) => {
            constellation::write(map, config, terminals)
        }
    }
}

//! `kind = "constellation"`.

use std::path::Path;

use serde::ser::{Serialize, SerializeMap, Serializer};
use wireless::CloudConfig;
use wireless::constellation::{ConstellationConfig, Terminal, TerminalConfig};

use crate::described;
use crate::document::Table;
use crate::error::Error;
use crate::tables::TERMINAL;
use crate::write::map;

/// Names that mean something else where a node is named.
const RESERVED: [&str; 3] = ["left", "right", "any"];

pub(super) fn read(table: &Table<'_>, _: &Path) -> Result<CloudConfig, Error> {
    let mut config = ConstellationConfig::DEFAULT;
    described::read(table, &mut config)?;
    let item = table.need("terminal")?;
    let expected = || item.refuse("terminals are written as tables [[network.terminal]]");
    let tables = item
        .as_tables(&TERMINAL, wireless::MAX_NODES as u32)
        .ok_or_else(expected)??;
    let mut terminals: Vec<Terminal> = Vec::with_capacity(tables.len());
    for table in &tables {
        let item = table.need("name")?;
        let name = item.words()?;
        if RESERVED.contains(&name.as_str()) {
            return Err(item.refuse("this word has a meaning of its own: choose another name"));
        }
        if terminals.iter().any(|terminal| terminal.name == name) {
            return Err(item.refuse("another terminal has this name"));
        }
        let mut place = TerminalConfig::DEFAULT;
        described::read(table, &mut place)?;
        terminals.push(Terminal::of(name, &place));
    }
    Ok(CloudConfig::Constellation(Box::new(config), terminals))
}

pub(super) fn write<M: SerializeMap>(
    map: &mut M,
    config: &ConstellationConfig,
    terminals: &[Terminal],
) -> Result<(), M::Error> {
    described::write(map, config, |_, _| Ok(false))?;
    let terminals: Vec<_> = terminals.iter().map(Written).collect();
    map.serialize_entry("terminals", &terminals)
}

struct Written<'a>(&'a Terminal);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        map!(serializer,
            "name": self.0.name,
            "latitude_deg": self.0.place.latitude,
            "longitude_deg": self.0.place.longitude,
        )
    }
}

//! `kind = "adhoc"`.

use std::path::Path;

use serde::ser::{Serialize, SerializeMap, Serializer};
use tables::{Described, Table as Known, Value};
use wireless::CloudConfig;
use wireless::adhoc::arp::ArpConfig;
use wireless::adhoc::energy::EnergyConfig;
use wireless::adhoc::mac::csma::CsmaConfig;
use wireless::adhoc::mac::dcf::DcfConfig;
use wireless::adhoc::mobility::{Area, RandomWaypointConfig};
use wireless::adhoc::propagation::RadioConfig;
use wireless::adhoc::routing::aodv::AodvConfig;
use wireless::adhoc::routing::dsdv::DsdvConfig;
use wireless::adhoc::{AdHocConfig, MacConfig, MobilityConfig, RoutingConfig};

use super::positions;
use crate::described;
use crate::document::{Item, Table};
use crate::error::Error;
use crate::tables::{AODV, CSMA, DCF, DSDV, RANDOM_WAYPOINT};
use crate::write::map;

pub(super) fn read(table: &Table<'_>, folder: &Path) -> Result<CloudConfig, Error> {
    let mut config = AdHocConfig::new(0);
    if let Some(item) = table.get("area") {
        config.area = area(&item)?;
    }
    place(table, folder, &mut config)?;
    if let Some(item) = table.get("mac") {
        config.mac = mac(&item)?;
    }
    config.radio = config.mac.radio();
    if let Some(item) = table.get("radio") {
        described::read(&item.table(RadioConfig::TABLE)?, &mut config.radio)?;
    }
    if let Some(item) = table.get("routing") {
        config.routing = routing(&item)?;
        if config.routing == RoutingConfig::Fixed && config.mobility.moves() {
            return Err(item.refuse("fixed routes are those of the start, and these nodes move"));
        }
    }
    if let Some(item) = table.get("arp") {
        config.arp = arp(&item)?;
    }
    if let Some(Value::Number(packets)) = table.get("queue").map(|item| item.value()).transpose()? {
        config.queue = packets.min(1e9) as u32;
    }
    if let Some(item) = table.get("energy") {
        let mut energy = EnergyConfig::DEFAULT;
        described::read(&item.table(EnergyConfig::TABLE)?, &mut energy)?;
        config.energy = Some(energy);
    }
    Ok(CloudConfig::AdHoc(Box::new(config)))
}

/// A side, or two.
fn area(item: &Item<'_>) -> Result<Area, Error> {
    let two = || item.refuse("expected a side, such as \"500 m\", or a width and a height");
    let side = |item: &Item<'_>| match item.value()? {
        Value::Number(metres) => Ok(metres),
        _ => Err(two()),
    };
    let Some(sides) = item.items() else {
        return side(item).map(Area::square);
    };
    match &sides[..] {
        [width, height] => Ok(Area {
            width: side(width)?,
            height: side(height)?,
        }),
        _ => Err(two()),
    }
}

/// `nodes`, `placement`, `positions` and `mobility`.
fn place(table: &Table<'_>, folder: &Path, config: &mut AdHocConfig) -> Result<(), Error> {
    let nodes: Option<u32> = table.read("nodes")?;
    table.either("placement", "positions")?;
    let waypoint = table
        .get("mobility")
        .map(|item| mobility(&item))
        .transpose()?
        .flatten();
    if let Some(waypoint) = waypoint {
        let other = ["placement", "positions"]
            .into_iter()
            .find_map(|key| table.get(key));
        if let Some(item) = other {
            return Err(item.refuse("nodes that move at random have no placement: leave it out"));
        }
        config.mobility = MobilityConfig::RandomWaypoint(waypoint);
    } else if let Some(item) = table.get("positions") {
        let name = item.words()?;
        let path = folder.join(&name);
        let (count, list) = positions::read(&path, nodes, |reason| item.refuse(reason))?;
        config.nodes = count;
        config.mobility = MobilityConfig::Listed(list);
        return Ok(());
    } else if table.word("placement", &[false, true])? == Some(true) {
        config.mobility = MobilityConfig::Grid;
    }
    config.nodes = nodes.ok_or_else(|| table.missing("nodes"))?;
    Ok(())
}

/// The table of a word, or the one that its `model` selects, filled.
fn chosen<T: Copy>(
    item: &Item<'_>,
    choices: &[(&'static str, (&'static Known, T))],
    fill: impl FnOnce(T, Option<&Table<'_>>) -> Result<T, Error>,
) -> Result<T, Error> {
    if item.as_text().is_some() {
        let (_, usual) = item.choice(choices)?;
        return fill(usual, None);
    }
    let Some(word) = item.inner("model") else {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        return Err(item.refuse(format!(
            "expected one of {}, or a table with such a model",
            names.join(", ")
        )));
    };
    let (known, usual) = word.choice(choices)?;
    fill(usual, Some(&item.table(known)?))
}

/// Fills a configuration from its table, if there is one.
fn filled<C: Described>(mut config: C, table: Option<&Table<'_>>) -> Result<C, Error> {
    if let Some(table) = table {
        described::read(table, &mut config)?;
    }
    Ok(config)
}

fn mac(item: &Item<'_>) -> Result<MacConfig, Error> {
    let choices = [
        ("802.11", (&DCF, MacConfig::Dcf(DcfConfig::DEFAULT))),
        ("802.15.4", (&CSMA, MacConfig::Csma(CsmaConfig::DEFAULT))),
    ];
    chosen(item, &choices, |usual, table| {
        Ok(match usual {
            MacConfig::Dcf(config) => MacConfig::Dcf(filled(config, table)?),
            MacConfig::Csma(config) => MacConfig::Csma(filled(config, table)?),
        })
    })
}

fn routing(item: &Item<'_>) -> Result<RoutingConfig, Error> {
    if item.as_text() == Some("fixed") {
        return Ok(RoutingConfig::Fixed);
    }
    let choices = [
        ("dsdv", (&DSDV, RoutingConfig::Dsdv(DsdvConfig::DEFAULT))),
        ("aodv", (&AODV, RoutingConfig::Aodv(AodvConfig::DEFAULT))),
        ("fixed", (&DSDV, RoutingConfig::Fixed)),
    ];
    chosen(item, &choices, |usual, table| {
        Ok(match usual {
            RoutingConfig::Dsdv(config) => RoutingConfig::Dsdv(filled(config, table)?),
            RoutingConfig::Aodv(config) => RoutingConfig::Aodv(filled(config, table)?),
            RoutingConfig::Fixed => RoutingConfig::Fixed,
        })
    })
}

/// Random waypoints, or no motion.
fn mobility(item: &Item<'_>) -> Result<Option<RandomWaypointConfig>, Error> {
    if item.as_text() == Some("static") {
        return Ok(None);
    }
    let usual = RandomWaypointConfig::DEFAULT;
    let choices = [
        ("static", (&RANDOM_WAYPOINT, usual)),
        ("random-waypoint", (&RANDOM_WAYPOINT, usual)),
    ];
    chosen(item, &choices, filled).map(Some)
}

fn arp(item: &Item<'_>) -> Result<Option<ArpConfig>, Error> {
    let usual = ArpConfig::DEFAULT;
    match item.as_table(ArpConfig::TABLE) {
        Some(table) => Ok(Some(filled(usual, Some(&table?))?)),
        None => Ok((item.value()? == Value::Switch(true)).then_some(usual)),
    }
}

pub(super) fn write<M: SerializeMap>(map: &mut M, config: &AdHocConfig) -> Result<(), M::Error> {
    map.serialize_entry("nodes", &config.nodes)?;
    map.serialize_entry("area_m", &[config.area.width, config.area.height])?;
    map.serialize_entry("mobility", &Moves(&config.mobility))?;
    map.serialize_entry("radio", &Plain(None, &config.radio))?;
    let mac: &dyn Described = match &config.mac {
        MacConfig::Dcf(config) => config,
        MacConfig::Csma(config) => config,
    };
    map.serialize_entry("mac", &Plain(Some(config.mac.name()), mac))?;
    let routing: Option<&dyn Described> = match &config.routing {
        RoutingConfig::Dsdv(config) => Some(config),
        RoutingConfig::Aodv(config) => Some(config),
        RoutingConfig::Fixed => None,
    };
    map.serialize_entry("routing", &Routes(config.routing.name(), routing))?;
    map.serialize_entry("arp", &config.arp.as_ref().map(|arp| Plain(None, arp)))?;
    map.serialize_entry("queue_packets", &config.queue)?;
    let energy = config.energy.as_ref();
    map.serialize_entry("energy", &energy.map(|energy| Plain(None, energy)))
}

/// A configuration that describes itself, with the word that selects it.
struct Plain<'a>(Option<&'static str>, &'a dyn Described);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(name) = self.0 {
            map.serialize_entry("kind", name)?;
        }
        described::write(&mut map, self.1, |_, _| Ok(false))?;
        map.end()
    }
}

struct Routes<'a>(&'static str, Option<&'a dyn Described>);

impl Serialize for Routes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.1 {
            Some(config) => Plain(Some(self.0), config).serialize(serializer),
            None => map!(serializer, "kind": self.0),
        }
    }
}

struct Moves<'a>(&'a MobilityConfig);

impl Serialize for Moves<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            MobilityConfig::Random => map!(serializer, "kind": "static", "placement": "random"),
            MobilityConfig::Grid => map!(serializer, "kind": "static", "placement": "grid"),
            MobilityConfig::Listed(list) => {
                map!(serializer, "kind": "listed", "positions": list.len())
            }
            MobilityConfig::RandomWaypoint(config) => {
                Plain(Some("random-waypoint"), config).serialize(serializer)
            }
        }
    }
}

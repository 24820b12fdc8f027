//! `[[path.router]]` and `helps`: what stands before the bottleneck, and which routers read and write
//! what packets carry for them (fast-startup, sections A3 to A5).

use std::path::Path;

use network::router::{Help, QuickStartConfig, RcpConfig, XcpConfig};

use crate::aqm;
use crate::document::{Item, Table};
use crate::error::Error;
use crate::link::{Delay, LinkSpec, direction};
use crate::quantity;
use crate::schema::HELPS;

/// Most routers before the bottleneck.
pub(crate) const MAX_ROUTERS: usize = 32;

/// What was said about one router.
#[derive(Clone, Debug)]
pub(crate) struct RouterSpec {
    pub(crate) link: LinkSpec,
    pub(crate) help: Help,
}

impl RouterSpec {
    pub(crate) fn read(table: &Table<'_>, folder: &Path) -> Result<Self, Error> {
        let mut link = direction(table, folder)?;
        aqm::refuse_marking(table, link.aqm)?;
        if link.service.is_none() {
            table.need("rate", "\"100 Mbit/s\"")?;
        }
        if link.delay.is_none() {
            link.delay = Some(Delay::Constant(units::Duration::ZERO));
        }
        Ok(Self {
            link,
            help: help(table)?.unwrap_or_default(),
        })
    }
}

/// `helps`: a name, or a table with the settings of a kind.
pub(crate) fn help(table: &Table<'_>) -> Result<Option<Help>, Error> {
    let Some(item) = table.get("helps") else {
        return Ok(None);
    };
    let kinds = [
        ("none", Help::None),
        ("quick-start", Help::QuickStart(QuickStartConfig::default())),
        ("rcp", Help::Rcp(RcpConfig::default())),
        ("xcp", Help::Xcp(XcpConfig::default())),
    ];
    let Some(table) = item.as_table(&HELPS) else {
        return item.choice(&kinds).map(Some);
    };
    let table = table?;
    let mut help = table.need("kind", "\"rcp\"")?.choice(&kinds)?;
    let only =
        |item: Item<'_>, kind: &str| Err(item.refuse(format!("only the kind {kind:?} has this")));
    let gain = |item: Item<'_>| {
        item.read("\"40 %\"", |text| {
            let gain = quantity::share(text, 1000)?;
            if gain > 0.0 {
                Ok(gain)
            } else {
                Err("it is zero".to_owned())
            }
        })
    };
    if let Some(item) = table.get("threshold") {
        let Help::QuickStart(config) = &mut help else {
            return only(item, "quick-start");
        };
        config.threshold = item.read("\"85 %\"", |text| quantity::share(text, 100))?;
    }
    if let Some(item) = table.get("alpha") {
        let Help::Rcp(config) = &mut help else {
            return only(item, "rcp");
        };
        config.alpha = gain(item)?;
    }
    if let Some(item) = table.get("beta") {
        let Help::Rcp(config) = &mut help else {
            return only(item, "rcp");
        };
        config.beta = gain(item)?;
    }
    Ok(Some(help))
}

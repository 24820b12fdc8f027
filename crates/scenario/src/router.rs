//! `[[path.router]]` and `router_support`: the routers before the bottleneck, and explicit router
//! support (Quick-Start, RCP, XCP).

use std::path::Path;

use network::router::{Help, QuickStartConfig, RcpConfig, XcpConfig};
use tables::Value;

use crate::aqm;
use crate::document::Table;
use crate::error::Error;
use crate::link::{Delay, LinkSpec, direction};
use crate::tables::ROUTER_SUPPORT;

/// What the file says about one router.
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
            table.need("rate")?;
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

/// `router_support`: a name, or a table with the settings of a protocol.
pub(crate) fn help(table: &Table<'_>) -> Result<Option<Help>, Error> {
    let Some(item) = table.get("router_support") else {
        return Ok(None);
    };
    let kinds = [
        Help::None,
        Help::QuickStart(QuickStartConfig::default()),
        Help::Rcp(RcpConfig::default()),
        Help::Xcp(XcpConfig::default()),
    ];
    let kind = |value| match value {
        Value::Word(word) => kinds.get(word).copied().unwrap_or_default(),
        _ => Help::None,
    };
    let Some(table) = item.as_table(&ROUTER_SUPPORT) else {
        return item.value().map(kind).map(Some);
    };
    let table = table?;
    let mut help = kind(table.need("kind")?.value()?);
    let settings: Vec<(&str, &mut f64)> = match &mut help {
        Help::QuickStart(config) => vec![("threshold", &mut config.threshold)],
        Help::Rcp(config) => vec![("alpha", &mut config.alpha), ("beta", &mut config.beta)],
        Help::None | Help::Xcp(_) => Vec::new(),
    };
    let owners = [
        ("threshold", "quick-start"),
        ("alpha", "rcp"),
        ("beta", "rcp"),
    ];
    for (key, owner) in owners {
        let is_own = settings.iter().any(|(own, _)| *own == key);
        if let (false, Some(item)) = (is_own, table.get(key)) {
            return Err(item.refuse(format!("only the kind {owner:?} has this key")));
        }
    }
    for (key, value) in settings {
        table.set(key, value)?;
    }
    Ok(Some(help))
}

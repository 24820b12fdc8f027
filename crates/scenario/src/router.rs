//! `[[path.router]]` and `router_support`: the routers before the bottleneck, and explicit router
//! support (Quick-Start, RCP, XCP).

use std::path::Path;

use network::router::{QuickStartConfig, RcpConfig, RouterSupport, XcpConfig};
use tables::Value;

use crate::aqm;
use crate::document::Table;
use crate::error::Error;
use crate::link::{Delay, LinkSpec};
use crate::tables::ROUTER_SUPPORT;

/// What the file says about one router.
#[derive(Clone, Debug)]
pub(crate) struct RouterSpec {
    pub(crate) link: LinkSpec,
    pub(crate) router_support: RouterSupport,
}

impl RouterSpec {
    pub(crate) fn read(table: &Table<'_>, folder: &Path) -> Result<Self, Error> {
        let mut link = LinkSpec::of(table, folder)?;
        aqm::refuse_marking(table, link.aqm)?;
        if link.service.is_none() {
            table.need("rate")?;
        }
        if link.delay.is_none() {
            link.delay = Some(Delay::Constant(units::Duration::ZERO));
        }
        Ok(Self {
            link,
            router_support: router_support(table)?.unwrap_or_default(),
        })
    }
}

/// `router_support`: a name, or a table with the settings of a protocol.
pub(crate) fn router_support(table: &Table<'_>) -> Result<Option<RouterSupport>, Error> {
    let Some(item) = table.get("router_support") else {
        return Ok(None);
    };
    let kinds = [
        RouterSupport::None,
        RouterSupport::QuickStart(QuickStartConfig::default()),
        RouterSupport::Rcp(RcpConfig::default()),
        RouterSupport::Xcp(XcpConfig::default()),
    ];
    let kind = |value| match value {
        Value::Word(word) => kinds.get(word).copied().unwrap_or_default(),
        _ => RouterSupport::None,
    };
    let Some(table) = item.as_table(&ROUTER_SUPPORT) else {
        return item.value().map(kind).map(Some);
    };
    let table = table?;
    let mut router_support = kind(table.need("kind")?.value()?);
    let settings: Vec<(&str, &mut f64)> = match &mut router_support {
        RouterSupport::QuickStart(config) => vec![
            ("threshold", &mut config.threshold),
            ("overstate", &mut config.overstate),
        ],
        RouterSupport::Rcp(config) => vec![
            ("alpha", &mut config.alpha),
            ("beta", &mut config.beta),
            ("overstate", &mut config.overstate),
        ],
        RouterSupport::Xcp(config) => vec![("overstate", &mut config.overstate)],
        RouterSupport::None => Vec::new(),
    };
    let owners = [
        ("threshold", "the kind \"quick-start\" has"),
        ("alpha", "the kind \"rcp\" has"),
        ("beta", "the kind \"rcp\" has"),
        ("overstate", "a kind that grants rates has"),
    ];
    for (key, owner) in owners {
        let is_own = settings.iter().any(|(own, _)| *own == key);
        if let (false, Some(item)) = (is_own, table.get(key)) {
            return Err(item.refuse(format!("only {owner} this key")));
        }
    }
    for (key, value) in settings {
        table.set(key, value)?;
    }
    Ok(Some(router_support))
}

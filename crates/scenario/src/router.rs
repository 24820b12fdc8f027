//! `[[path.router]]` and `router_support`: the routers before the bottleneck, and explicit router
//! support (Quick-Start, RCP, XCP).

use std::path::Path;

use network::router::RouterSupport;

use crate::aqm;
use crate::described;
use crate::document::Table;
use crate::error::Error;
use crate::link::{Delay, LinkSpec};

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
            router_support: described::choose(table, "router_support")?.unwrap_or_default(),
        })
    }
}

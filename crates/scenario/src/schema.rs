//! All tables of a scenario file, and their JSON Schema.

use ::tables::{Table, Variant};
use network::router::RouterSupport;
use network::{Discipline, GilbertElliott, JitterKeys, ReorderingConfig, VaryingConfig};

use crate::access;
use crate::tables::{self, cellular};

/// All tables: first the file as a whole, last the models.
#[must_use]
pub fn known_tables() -> Vec<&'static Table> {
    let mut known: Vec<&'static Table> = vec![
        &tables::SCENARIO,
        &tables::PATH,
        &tables::DIRECTION,
        &tables::ROUTER,
        VaryingConfig::TABLE,
        &tables::STEP,
        &tables::TRACE,
        &tables::DELAY,
        &tables::DELAY_STEP,
        GilbertElliott::TABLE,
        JitterKeys::TABLE,
        ReorderingConfig::TABLE,
        &cellular::RRC,
        &cellular::RRC_UMTS,
        &tables::FLOW,
        &tables::APPLICATION,
        tcp::Misbehavior::TABLE,
        &tables::TRAFFIC,
        &tables::HOSTS,
        &tables::NODE,
        &tables::PROXY,
        &tables::LINK,
        &tables::LINK_REVERSE,
    ];
    known.extend(kinds().map(|kind| kind.table));
    known.extend(tables::CLOUDS);
    known.extend(models());
    known
}

/// The kinds with settings of keys that have several kinds.
pub fn kinds() -> impl Iterator<Item = &'static Variant> {
    let kinds = Discipline::KINDS.iter().chain(RouterSupport::KINDS);
    kinds.filter(|kind| !kind.table.keys.is_empty())
}

/// The tables of the models of access networks.
#[must_use]
pub fn models() -> Vec<&'static Table> {
    access::models().iter().map(|model| model.table).collect()
}

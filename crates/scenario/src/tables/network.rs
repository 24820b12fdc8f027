//! `[network]`: a table for each kind of cloud. What is particular to a kind comes from the tables of
//! `wireless`.

use tables::{Key, Kind, MAX_DURATION};
use units::Duration;
use wireless::IdealConfig;

use super::{keys, table};

const WARM_UP: Kind = Kind::Time(Duration::ZERO, MAX_DURATION);

/// A table of any kind.
pub(crate) const NETWORK: Kind = Kind::Any(&[Kind::Table(&IDEAL)]);

const LAST: &[Key] = keys! {
    "warm_up": WARM_UP, is "0 s",
        "Time for which the network runs before the flows' starts are counted, so that it finds its \
         routes.";
};

const IDEAL_KIND: &[Key] = keys! {
    "kind": Kind::Words(&["ideal"]), needed "ideal", "What the network is.";
};

table! { IDEAL = "network-ideal", "[network]",
    "A network without radios: every node reaches every other one at a fixed rate and delay."
    [IDEAL_KIND, IdealConfig::TABLE.keys, LAST]
}

//! `[network]`: a table for each kind of cloud. What is particular to a kind comes from the tables of
//! `wireless`.

use tables::{Key, Kind, MAX_DURATION};
use units::Duration;
use wireless::IdealConfig;
use wireless::MAX_NODES;
use wireless::adhoc::arp::ArpConfig;
use wireless::adhoc::energy::EnergyConfig;
use wireless::adhoc::mac::csma::CsmaConfig;
use wireless::adhoc::mac::dcf::DcfConfig;
use wireless::adhoc::mobility::RandomWaypointConfig;
use wireless::adhoc::propagation::RadioConfig;
use wireless::adhoc::routing::aodv::AodvConfig;
use wireless::adhoc::routing::dsdv::DsdvConfig;
use wireless::constellation::{ConstellationConfig, TerminalConfig};

use super::{keys, table};
use crate::limits::MAX_NAME;

const WARM_UP: Kind = Kind::Time(Duration::ZERO, MAX_DURATION);
const SIDE: Kind = Kind::Length(1.0, 1e6);

/// A table of any kind.
pub(crate) const NETWORK: Kind = Kind::Any(&[
    Kind::Table(&ADHOC),
    Kind::Table(&CONSTELLATION),
    Kind::Table(&IDEAL),
]);

const LAST: &[Key] = keys! {
    "warm_up": WARM_UP, is "0 s",
        "Time for which the network runs before the flows' starts are counted, so that it finds its \
         routes.";
};

const ADHOC_KEYS: &[Key] = keys! {
    "kind": Kind::Words(&["adhoc"]), needed "adhoc", "What the network is.";
    "nodes": Kind::Integer(2, MAX_NODES), sometimes "40" "needed, or `positions`",
        "Number of nodes. Their names are node 0, node 1, and so on.";
    "area": Kind::Any(&[SIDE, Kind::List(&SIDE, 2, 2)]), is "500 m",
        "Side of the square in which the nodes are, or width and height of a rectangle.";
    "placement": Kind::Words(&["random", "grid"]), is "random",
        "Where nodes are that do not move: at uniform random places, or on a grid.";
    "positions": Kind::Text(u32::MAX), or "`placement`",
        "CSV file with a line node,x,y for each node, or with lines time,node,x,y between which it \
         moves; in metres and seconds, relative to the folder of this file.";
    "mobility": MOBILITY, is "static", "How nodes move; a table, or a word for its defaults.";
    "mac": MAC, is "802.11",
        "Medium-access protocol; a table, or a word for its defaults.";
    "radio": Kind::Table(RadioConfig::TABLE), or "the usual radio of the `mac`",
        "Propagation, thresholds and reception.";
    "routing": ROUTING, is "dsdv",
        "Routing protocol; a table, or a word for its defaults. fixed: the shortest routes of the \
         start, without messages.";
    "arp": Kind::Any(&[Kind::Switch, Kind::Table(ArpConfig::TABLE)]), or "`true`",
        "Whether nodes look up the addresses of their neighbours.";
    "queue": Kind::Packets, is "50 packets",
        "Interface queue of each node, beside the packet in service.";
    "energy": Kind::Table(EnergyConfig::TABLE), or "unlimited", "The battery of each node.";
};

const MOBILITY: Kind = Kind::Any(&[
    Kind::Words(&["static", "random-waypoint"]),
    Kind::Table(&RANDOM_WAYPOINT),
]);
const MAC: Kind = Kind::Any(&[
    Kind::Words(&["802.11", "802.15.4"]),
    Kind::Table(&DCF),
    Kind::Table(&CSMA),
]);
const ROUTING: Kind = Kind::Any(&[
    Kind::Words(&["dsdv", "aodv", "fixed"]),
    Kind::Table(&DSDV),
    Kind::Table(&AODV),
]);

const CONSTELLATION_KIND: &[Key] = keys! {
    "kind": Kind::Words(&["constellation"]), needed "constellation", "What the network is.";
};
const TERMINALS: &[Key] = keys! {
    "terminal": Kind::Tables(&TERMINAL, MAX_NODES as u32), needed "[{ name = \"Berkeley\", latitude = \"37.9 deg\", longitude = \"-122.3 deg\" }]",
        "The terminals, which are the nodes of the network.";
};
const TERMINAL_NAME: &[Key] = keys! {
    "name": Kind::Text(MAX_NAME), needed "Berkeley", "Its name in links, hosts, flows and traffic; unique.";
};
const IDEAL_KIND: &[Key] = keys! {
    "kind": Kind::Words(&["ideal"]), needed "ideal", "What the network is.";
};

macro_rules! model {
    ($($name:ident: $word:literal;)*) => { $(
        const $name: &[Key] = keys! {
            "model": Kind::Words(&[$word]), needed $word, "The word of this table.";
        };
    )* };
}

model! {
    WAYPOINT_MODEL: "random-waypoint";
    DCF_MODEL: "802.11";
    CSMA_MODEL: "802.15.4";
    DSDV_MODEL: "dsdv";
    AODV_MODEL: "aodv";
}

table! { ADHOC = "network-adhoc", "[network]",
    "An ad-hoc network: nodes with radios that forward packets for each other."
    [ADHOC_KEYS, LAST]
}
table! { CONSTELLATION = "network-constellation", "[network]",
    "Satellites with links between them, and terminals on the ground."
    [CONSTELLATION_KIND, ConstellationConfig::TABLE.keys, TERMINALS, LAST]
}
table! { IDEAL = "network-ideal", "[network]",
    "A network without radios: every node reaches every other one at a fixed rate and delay."
    [IDEAL_KIND, IdealConfig::TABLE.keys, LAST]
}
table! { TERMINAL = "terminal", "[[network.terminal]]", "A terminal on the ground."
    [TERMINAL_NAME, TerminalConfig::TABLE.keys]
}
table! { RANDOM_WAYPOINT = "random-waypoint", "mobility",
    "Nodes move to uniform destinations at uniform speeds, and pause there."
    [WAYPOINT_MODEL, RandomWaypointConfig::TABLE.keys]
}
table! { DCF = "802.11", "mac", "The distributed coordination function of 802.11 (DSSS)."
    [DCF_MODEL, DcfConfig::TABLE.keys]
}
table! { CSMA = "802.15.4", "mac",
    "IEEE 802.15.4 at 2.4 GHz (250 kbit/s) with CSMA-CA, and 6LoWPAN above it."
    [CSMA_MODEL, CsmaConfig::TABLE.keys]
}
table! { DSDV = "dsdv", "routing",
    "Every node keeps a route to every other and advertises its table to its neighbours."
    [DSDV_MODEL, DsdvConfig::TABLE.keys]
}
table! { AODV = "aodv", "routing", "A node searches for a route when it needs one."
    [AODV_MODEL, AodvConfig::TABLE.keys]
}

/// All tables of this module, and those of `wireless` that stand for themselves.
pub(crate) const CLOUDS: [&tables::Table; 12] = [
    &ADHOC,
    &RANDOM_WAYPOINT,
    RadioConfig::TABLE,
    &DCF,
    &CSMA,
    &DSDV,
    &AODV,
    ArpConfig::TABLE,
    EnergyConfig::TABLE,
    &CONSTELLATION,
    &TERMINAL,
    &IDEAL,
];

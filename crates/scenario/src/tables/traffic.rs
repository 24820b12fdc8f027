//! `[[traffic]]`: background traffic. The keys of its kinds come from the crate `workload`.

use tables::{Key, Kind, MAX_DURATION};
use units::Duration;
use workload::kinds::{KEYS, WORDS};

use super::{keys, table};
use crate::limits::{MAX_DELAYS, MAX_NAME};
use crate::model::FlowSettings;

const AT: Kind = Kind::Time(Duration::ZERO, MAX_DURATION);

/// The settings of a flow that a table of traffic has too. `extra_delay` may be a list there, and
/// the device of a sender and receivers that misbehave are not part of the background.
pub(crate) const TRAFFIC_SETTINGS: &[Key] =
    &tables::without::<{ SETTINGS.len() - ODD.len() }>(SETTINGS, ODD);
const SETTINGS: &[Key] = FlowSettings::TABLE.keys;
const ODD: &[&str] = &["small_queue", "extra_delay", "misbehavior"];

const FIRST: &[Key] = keys! {
    "name": Kind::Text(MAX_NAME), or "the kind, with a number from the second on",
        "Name in results; unique.";
    "kind": Kind::Words(WORDS), needed "web", "What it sends.";
    "direction": Kind::Words(&["forward", "reverse"]), is "forward",
        "Direction of its data: that of the flows' data, or that of their ACKs. Where both sides of \
         a connection write, the acceptor's data takes it.";
};

const CONGESTION_CONTROL: &[Key] = keys! {
    "algorithm": Kind::Text(u32::MAX), is "cubic",
        "Congestion control of its connections; datagrams have none.";
};

const LAST: &[Key] = keys! {
    "extra_delay": Kind::Any(&[Kind::DELAY, Kind::List(&Kind::DELAY, 1, MAX_DELAYS)]), is "0 s",
        "One-way delay of a connection's own access link; connections take the values of a list \
         in turn.";
    "from": Kind::Text(MAX_NAME), or "the end of the path where its data enters",
        "The hosts that send, by the name of their table [[hosts]], which connections take in \
         turn; or a node. Where both sides write, these are the acceptors.";
    "to": Kind::Text(MAX_NAME), or "the end of the path where its data leaves",
        "The hosts that receive, by the name of their table [[hosts]], which connections take in \
         turn; or a node. Where both sides write, these are the initiators.";
    "start": AT, is "0 s", "Time at which it starts, counted as the flows' starts are.";
    "warm_up": AT, is "0 s", "Time for which it runs before the flows' starts are counted.";
    "duration": Kind::SPAN, or "until the run is over; for on-off an hour",
        "Time for which it lasts. Connections that are open then go on, except those of bulk and video.";
    "list_flows": Kind::Switch, is "false",
        "Whether results list each of its flows, or each request with its response.";
};

table! { TRAFFIC = "traffic", "[[traffic]]",
    "Background traffic. It follows from the seed and its name, so that every algorithm meets the \
     same."
    [FIRST, KEYS, CONGESTION_CONTROL, TRAFFIC_SETTINGS, LAST]
}

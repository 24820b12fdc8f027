//! `[[hosts]]`: the hosts behind access links.

use tables::Kind;

use super::table;
use crate::limits::{MAX_DELAYS, MAX_HOSTS, MAX_NAME};

table! { HOSTS = "hosts", "[[hosts]]",
    "Hosts at a node, each behind an access link of its own. With hosts at both ends the path is \
     the bottleneck of a dumbbell." {
    "name": Kind::Text(MAX_NAME), needed "clients",
        "Its name in `from` and `to` of flows and traffic; unique.";
    "at": Kind::Text(MAX_NAME), needed "left",
        "The node: left or right, the ends of the path, whose forward direction goes from left to \
         right, or the name of a `[[node]]`.";
    "count": Kind::Integer(1, MAX_HOSTS), is "1", "Number of such hosts.";
    "rate": Kind::RATE, or "unlimited", "Rate of each access link, in each direction.";
    "buffer": Kind::Buffer, is "1000 packets",
        "Buffer in front of each access link, in each direction; in packets or bytes.";
    "delay": Kind::Any(&[Kind::DELAY, Kind::List(&Kind::DELAY, 1, MAX_DELAYS)]), is "0 s",
        "One-way delay of each access link; the hosts take the values of a list in turn.";
}}

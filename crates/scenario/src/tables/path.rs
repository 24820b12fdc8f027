//! The file, `[path]`, and what a link is made of.

use network::router::RouterSupport;
use network::{Discipline, LinkConfig, MIN_SLOT, VaryingConfig};
use tables::{Key, Kind, MAX_DURATION, MAX_RATE};
use units::{Bytes, Rate};

use super::{FLOW, HOSTS, NETWORK, TRAFFIC, cellular, keys, table};
use crate::limits::{
    MAX_FLOWS, MAX_HOST_TABLES, MAX_INITIAL_WINDOW, MAX_LINKS, MAX_NAME, MAX_NODES, MAX_OVERHEAD,
    MAX_ROUTERS, MAX_RUNS, MAX_SEED, MAX_STEPS, MAX_SUMMARY, MAX_TRAFFIC, MIN_STEP, RECEIVE_BUFFER,
};

const NAME: Kind = Kind::Text(MAX_NAME);
const SUMMARY: Kind = Kind::Text(MAX_SUMMARY);
const FILE: Kind = Kind::Text(u32::MAX);
const SLOT: Kind = Kind::Time(MIN_SLOT, MAX_DURATION);
const OVERHEAD: Kind = Kind::Size(Bytes::ZERO, Bytes::new(MAX_OVERHEAD));

const SERVICE: Kind = Kind::Any(&[
    Kind::Words(&["unlimited"]),
    Kind::RATE,
    Kind::Table(VaryingConfig::TABLE),
    Kind::Model,
    Kind::Tables(&STEP, MAX_STEPS),
]);
const RECORDED: Kind = Kind::Any(&[FILE, Kind::Table(&TRACE)]);
const PROPAGATION: Kind = Kind::Any(&[
    Kind::DELAY,
    Kind::Table(&DELAY),
    Kind::Tables(&DELAY_STEP, MAX_STEPS),
]);
const DISCIPLINE: Kind = Kind::Choice(Discipline::KINDS);
const SUPPORT: Kind = Kind::Choice(RouterSupport::KINDS);
const RADIO: Kind = Kind::Any(&[
    Kind::Words(cellular::BEGINS),
    Kind::Table(&cellular::RRC),
    Kind::Table(&cellular::RRC_UMTS),
]);

table! { SCENARIO = "scenario", "the scenario", "A scenario, or a path alone." {
    "name": NAME, or "the file's name", "Name in results." everywhere;
    "summary": SUMMARY, or "", "One line about it." everywhere;
    "runs": Kind::Integer(1, MAX_RUNS), is "1", "Number of runs, each with its own seed." everywhere;
    "seed": Kind::Integer(0, MAX_SEED), is "1", "Seed of the first run." everywhere;
    "duration": Kind::SPAN, or "when all flows are done", "Time at which every run stops.";
    "time_limit": Kind::SPAN, is "600 s",
        "Safety limit: a run that reaches it is stopped and reported as incomplete.";
    "path": Kind::Table(&PATH), sometimes "{ preset = \"wired\" }, or a table [path]" "needed, or `network`",
        "The path that packets take." everywhere;
    "network": NETWORK, or "none",
        "An ad-hoc network or a constellation, in place of the path or joined to it by links.";
    "flow": Kind::Tables(&FLOW, MAX_FLOWS), or "none",
        "The flows; a file that only describes a path has none.";
    "traffic": Kind::Tables(&TRAFFIC, MAX_TRAFFIC), or "none",
        "Background traffic on the path.";
    "hosts": Kind::Tables(&HOSTS, MAX_HOST_TABLES), or "none",
        "Hosts at the nodes, each behind an access link of its own.";
    "node": Kind::Tables(&NODE, MAX_NODES), or "none",
        "Routers beside the ends of the path, which are the nodes left and right.";
    "link": Kind::Tables(&LINK, MAX_LINKS), or "none",
        "Links beside the path, between any two nodes.";
}}

table! { PATH = "path", "[path]",
    "The path that packets take. rate, trace, buffer, loss, jitter, reordering, aqm and ecn describe \
     the forward direction."
    [PATH_FIRST, LinkConfig::KEYS, PATH_LAST]
}

const PATH_FIRST: &[Key] = keys! {
    "name": NAME, or "the scenario's name, or the file's", "Name in results." everywhere;
    "summary": SUMMARY, or "", "One line about it." everywhere;
    "preset": Kind::Text(MAX_NAME), or "", "A path by name, whose keys the others replace." everywhere;
    "rate": SERVICE, or "needed, or trace, preset",
        "Rate of the bottleneck: fixed, varying or a model of an access network (tables), or \
         steps that repeat (array)." everywhere;
    "trace": RECORDED, or "",
        "A recorded rate in place of `rate`: a Mahimahi trace, or lines of time in s and rate in \
         Mbit/s. The file name is relative to this file." everywhere;
    "rtt": Kind::DELAY, or "needed, or delay",
        "Base round-trip time, half of it in each direction." everywhere;
    "delay": PROPAGATION, or "",
        "One-way propagation delay of each direction: a time, or a delay that varies and takes no \
         jitter beside it." everywhere;
    "buffer": Kind::Buffer, is "1 bdp", "Buffer in front of the bottleneck." everywhere;
};

const PATH_LAST: &[Key] = keys! {
    "aqm": DISCIPLINE, is "drop-tail",
        "Queue discipline: which packets are dropped or marked before the buffer is full." everywhere;
    "ecn": Kind::Switch, is "false",
        "Whether the queue marks ECN-capable packets instead of dropping them; needs codel, \
         fq-codel, pie, red or dual-pi2, whose L4S queue marks in any case." everywhere;
    "overhead": OVERHEAD, or "\"14 bytes\"; none with a trace",
        "Bytes that the link counts for each packet beside IP, in both directions." everywhere;
    "forward": Kind::Table(&DIRECTION), or "", "The direction from senders to receivers." everywhere;
    "reverse": Kind::Table(&DIRECTION), or "no rate limit, no loss",
        "The direction from receivers to senders: the path of the ACKs." everywhere;
    "router_support": SUPPORT, is "none",
        "What the router in front of the bottleneck does for flows that ask it.";
    "router": Kind::Tables(&ROUTER, MAX_ROUTERS), or "none",
        "Routers that data passes before the bottleneck, in order; none is slower than the \
         bottleneck.";
    "traffic": Kind::Tables(&TRAFFIC, MAX_TRAFFIC), or "none",
        "Background traffic, as `[[traffic]]` of the file, which replaces that of a preset.";
    "hosts": Kind::Tables(&HOSTS, MAX_HOST_TABLES), or "none",
        "Hosts at its ends, as `[[hosts]]` of the file.";
    "rrc": RADIO, or "a radio that is always ready",
        "What the radio of lte, 5g, cell-reduced (table rrc) or hsdpa (table rrc-umts) does while \
         it is idle: the state at the start of a run, or a table." everywhere;
};

/// What a direction of the path and other links have in common.
const COMMON: &[Key] = keys! {
    "aqm": DISCIPLINE, is "drop-tail",
        "Queue discipline: which packets are dropped or marked before the buffer is full.";
    "ecn": Kind::Switch, is "false",
        "Whether the queue marks ECN-capable packets instead of dropping them.";
    "overhead": OVERHEAD, or "the path's",
        "Bytes that the link counts for each packet beside IP.";
};

const DIRECTION_FIRST: &[Key] = keys! {
    "rate": SERVICE, or "unlimited",
        "Rate: fixed, varying or a model of an access network (tables), steps that repeat \
         (array), or \"unlimited\" in the reverse direction.";
    "trace": RECORDED, or "", "A recorded rate in place of `rate`.";
    "delay": PROPAGATION, or "", "One-way propagation delay: a time, steps that repeat (array) or a recorded delay.";
    "buffer": Kind::Buffer, or "1000 packets in reverse", "Buffer in front of the link.";
};

table! { DIRECTION = "direction", "a direction of the path", "One direction of a path."
    [DIRECTION_FIRST, LinkConfig::KEYS, COMMON]
}

const ROUTER_FIRST: &[Key] = keys! {
    "rate": SERVICE, sometimes "100 Mbit/s" "needed, or trace",
        "Rate, no slower than the bottleneck.";
    "trace": RECORDED, or "", "A recorded rate in place of `rate`.";
    "delay": PROPAGATION, is "0 s", "One-way propagation delay: a time, steps that repeat (array) or a recorded delay.";
    "buffer": Kind::Buffer, is "1 bdp", "Buffer in front of the link.";
};

const ROUTER_LAST: &[Key] = keys! {
    "router_support": SUPPORT, is "none", "What the router does for flows that ask it.";
};

table! { ROUTER = "router", "[[path.router]]",
    "A router before the bottleneck, and the link behind it."
    [ROUTER_FIRST, LinkConfig::KEYS, COMMON, ROUTER_LAST]
}

table! { NODE = "node", "[[node]]", "A router at which links meet." {
    "name": NAME, needed "r2",
        "Its name in links, hosts, flows and traffic; unique. left and right are the ends of the \
         path.";
    "proxy": Kind::Table(&PROXY), or "none",
        "A proxy that splits the connections that pass the node. The nodes left and right need no \
         table, except for this.";
}}

table! { PROXY = "proxy", "a proxy",
    "A performance-enhancing proxy (RFC 3135, section 2.4.1). It answers the handshake itself and \
     opens a connection of its own towards the receiver, with its own congestion control and loss \
     recovery. It does not split a connection that begins or ends at its node, but one of hosts \
     there." {
    "buffer": Kind::Size(RECEIVE_BUFFER.0, RECEIVE_BUFFER.1), is "4 MB",
        "Payload that it holds for each connection and direction: what has arrived and is not \
         acknowledged on the other side. When it is full, the receive window is zero.";
    "algorithm": Kind::Text(u32::MAX), or "that of the flow",
        "Congestion control of what the proxy sends, in either direction.";
    "initial_window": Kind::Integer(1, MAX_INITIAL_WINDOW), or "that of the flow",
        "Initial window of what it sends, in segments.";
    "pacing": Kind::Switch, or "as the flow", "Whether it paces what it sends.";
}}

const LINK_FIRST: &[Key] = keys! {
    "from": NAME, needed "right", "The node where its forward direction begins.";
    "to": NAME, needed "r2", "The node where its forward direction ends.";
    "name": NAME, or "from-to, such as right-r2; the reverse direction is r2-right",
        "Its name in results; `(reverse)` behind it names the reverse direction. Unique.";
    "one_way": Kind::Switch, is "false", "Whether it has no reverse direction.";
    "rate": SERVICE, or "unlimited",
        "Rate: fixed, varying or a model of an access network (tables), or steps that repeat \
         (array).";
    "trace": RECORDED, or "", "A recorded rate in place of `rate`.";
    "delay": PROPAGATION, is "0 s", "One-way propagation delay: a time, steps that repeat (array) or a recorded delay.";
    "buffer": Kind::Buffer, is "1 bdp",
        "Buffer in front of the link; a bdp is its own rate times the base RTT of the path.";
};

const LINK_LAST: &[Key] = keys! {
    "router_support": SUPPORT, is "none",
        "What the router in front of it does for flows that ask it.";
    "rrc": RADIO, or "a radio that is always ready", "The radio, as `rrc` of the path.";
    "reverse": Kind::Table(&LINK_REVERSE), or "like the forward direction",
        "What differs in the direction from `to` to `from`.";
};

table! { LINK = "link", "[[link]]",
    "A link between two nodes. Packets take the route with the shortest propagation delay; of equal \
     ones that with the fewest links, then the one with the first link in the file. The path is a \
     link from left to right, before all others."
    [LINK_FIRST, LinkConfig::KEYS, COMMON, LINK_LAST]
}

/// The keys of a link, by default as in its forward direction.
const INHERITED: &[Key] =
    &tables::usually::<{ LinkConfig::KEYS.len() }>(LinkConfig::KEYS, "that of the link");

const SAME: &[Key] = keys! {
    "rate": SERVICE, or "that of the link", "Rate, as `rate` of the link.";
    "trace": RECORDED, or "that of the link", "A recorded rate in place of `rate`.";
    "delay": PROPAGATION, or "that of the link", "One-way propagation delay.";
    "buffer": Kind::Buffer, or "that of the link", "Buffer in front of the link.";
};

const SAME_QUEUE: &[Key] = keys! {
    "aqm": DISCIPLINE, or "that of the link", "Queue discipline.";
    "ecn": Kind::Switch, or "that of the link", "Whether the queue marks ECN-capable packets.";
    "overhead": OVERHEAD, or "that of the link",
        "Bytes that the link counts for each packet beside IP.";
    "router_support": SUPPORT, or "that of the link",
        "What the router does for flows that ask it.";
};

table! { LINK_REVERSE = "link-reverse", "the reverse of a link",
    "What differs in the reverse direction of a `[[link]]`."
    [SAME, INHERITED, SAME_QUEUE]
}

table! { STEP = "rate-step", "a step of the rate",
    "One step of a rate; after the last step comes the first. All steps together last at least 1 \
     ms." {
    "for": Kind::Time(MIN_STEP, MAX_DURATION), needed "10 s", "How long the step lasts.";
    "rate": Kind::Rate(Rate::ZERO, MAX_RATE), needed "50 Mbit/s",
        "Rate of the step; zero is an outage.";
}}

table! { TRACE = "trace", "a trace", "A recorded rate." {
    "file": FILE, needed "Verizon-LTE-short.down", "File name, relative to this file.";
    "repeat": Kind::Switch, is "true",
        "Whether the trace starts again after its last line; a trace of rates always does.";
}}

table! { DELAY = "delay-trace", "a trace of delays",
    "A recorded one-way delay: one number of milliseconds on each line. It starts again after the \
     last line." {
    "trace": FILE, needed "starlink-leocc.delay", "File name, relative to this file.";
    "slot": SLOT, is "10 ms", "Time for which each line holds.";
}}

table! { DELAY_STEP = "delay-step", "a step of the delay",
    "One step of a one-way delay; after the last step comes the first." {
    "for": SLOT, needed "8 s", "How long the step lasts.";
    "delay": Kind::DELAY, needed "25 ms", "Delay of packets that leave the link in this step.";
}}

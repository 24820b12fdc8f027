//! `[[flow]]` and its application.

use tables::{Key, Kind, MAX_DURATION, MAX_SIZE};
use units::{Bytes, Duration};

use super::{keys, table};
use crate::limits::{MAX_FLOWS, MAX_NAME, MIN_INTERVAL};
use crate::model::{FlowSettings, FlowStack};

const AT: Kind = Kind::Time(Duration::ZERO, MAX_DURATION);
const TRANSFER: Kind = Kind::Size(Bytes::new(1), MAX_SIZE);

const FIRST: &[Key] = keys! {
    "name": Kind::Text(MAX_NAME), or "the algorithm", "Name in results." everywhere;
    "algorithm": Kind::Text(u32::MAX), needed "cubic+search",
        "`avoidance+startup[:option=value,...]`, as `slowstart list algorithms` shows.";
    "stack": Kind::Words(FlowStack::WORDS), is "simulated",
        "What stands at both ends: the simulated TCP, or a QUIC stack.";
    "size": TRANSFER, or "unlimited", "Bytes to send.";
    "duration": Kind::SPAN, or "until the run's `duration`",
        "Time for which it has data to send, from its start.";
    "start": AT, is "0 s", "Time at which its SYN leaves.";
    "count": Kind::Integer(1, MAX_FLOWS as u64), is "1", "Number of such flows." everywhere;
    "stagger": AT, is "0 s", "Time from the start of one of them to the start of the next." everywhere;
};

const LAST: &[Key] = keys! {
    "application": Kind::Table(&APPLICATION), or "all data at the start",
        "When the application has data to send.";
    "from": Kind::Text(MAX_NAME), or "the left end of the path",
        "The hosts that send, by the name of their table [[hosts]], which flows take in turn; or \
         a node.";
    "to": Kind::Text(MAX_NAME), or "the right end of the path",
        "The hosts that receive, by the name of their table [[hosts]], which flows take in turn; \
         or a node.";
};

table! { FLOW = "flow", "[[flow]]",
    "A sender, its receiver, and the data it sends. It has a size or a duration, not both."
    [FIRST, FlowSettings::TABLE.keys, LAST]
}

table! { APPLICATION = "application", "an application",
    "An application that has data from time to time: `write` with `every` or `pause`, or `rate`." {
    "write": TRANSFER, sometimes "10 kB" "needed, or rate", "Bytes of one write.";
    "every": Kind::Time(MIN_INTERVAL, MAX_DURATION), sometimes "100 ms" "needed with `write`, or pause",
        "Time from one write to the next.";
    "pause": Kind::SPAN, or "",
        "Time from the acknowledgment of all written bytes to the next write.";
    "rate": Kind::RATE, or "", "Rate at which full segments are written, one after the other.";
}}

//! `[[traffic]]`: background traffic.

use tables::{Kind, MAX_DURATION, MAX_SIZE};
use units::{Bytes, Duration};

use super::table;
use crate::limits::{ARRIVALS, MAX_COUNT, MAX_DELAYS, MAX_INITIAL_WINDOW, MAX_NAME, MIN_INTERVAL};

const AT: Kind = Kind::Time(Duration::ZERO, MAX_DURATION);
const INTERVAL: Kind = Kind::Time(MIN_INTERVAL, MAX_DURATION);
const TRANSFER: Kind = Kind::Size(Bytes::new(1), MAX_SIZE);

table! { TRAFFIC = "traffic", "[[traffic]]",
    "Background traffic. It follows from the seed and its name, so that every algorithm meets the \
     same." {
    "name": Kind::Text(MAX_NAME), or "the kind, with a number from the second on",
        "Name in results; unique.";
    "kind": Kind::Words(&["web", "bulk", "video", "datagrams"]), needed "web",
        "web: responses of random size; bulk: flows that send without pause; video: a segment \
         every few seconds over one connection; datagrams: packets that nobody acknowledges.";
    "direction": Kind::Words(&["forward", "reverse"]), is "forward",
        "Direction of its data: that of the flows' data, or that of their ACKs.";
    "load": Kind::Share(f64::MIN_POSITIVE, 100.0), sometimes "35 %" "needed for web, or arrivals",
        "web: payload as a fraction of the (mean) rate of the direction, below 100 %.";
    "arrivals": Kind::Frequency(ARRIVALS.0, ARRIVALS.1), or "",
        "web: mean number of responses that start per second, in place of `load`.";
    "mean": TRANSFER, is "14 kB", "web: mean size of a response.";
    "shape": Kind::Number(0.1, 10.0), is "1.1", "web: shape of the Pareto distribution of sizes.";
    "cut": TRANSFER, is "10 MB", "web: largest size; the smallest follows from the mean.";
    "count": Kind::Integer(1, MAX_COUNT), is "1", "bulk, video, datagrams: number of sources.";
    "spread": AT, or "\"1 s\"; for video one segment, for datagrams one period of on and off",
        "bulk, video, datagrams: each source starts at a random time within this span.";
    "size": TRANSFER, or "unlimited", "bulk: bytes of each flow.";
    "bitrate": Kind::RATE, sometimes "5 Mbit/s" "needed for video",
        "video: mean rate of the segments.";
    "segment": INTERVAL, is "4 s", "video: time from one segment to the next.";
    "rate": Kind::RATE, sometimes "5 Mbit/s" "needed for datagrams",
        "datagrams: rate of one source while it sends, in bytes of IP.";
    "on": INTERVAL, is "1 s", "datagrams: time for which a source sends.";
    "off": AT, is "0 s", "datagrams: time for which it then pauses.";
    "algorithm": Kind::Text(u32::MAX), is "cubic",
        "Congestion control of its connections; datagrams have none.";
    "initial_window": Kind::Integer(1, MAX_INITIAL_WINDOW), is "10",
        "Initial window of its connections in segments.";
    "pacing": Kind::Switch, is "false", "Whether its connections pace segments, as under fq.";
    "ecn": Kind::Switch, is "false", "Whether its data segments are ECN-capable.";
    "extra_delay": Kind::Any(&[Kind::DELAY, Kind::List(&Kind::DELAY, 1, MAX_DELAYS)]), is "0 s",
        "One-way delay of a connection's own access link; connections take the values of a list \
         in turn.";
    "from": Kind::Text(MAX_NAME), or "the end of the path where its data enters",
        "The hosts that send, by the name of their table [[hosts]], which connections take in \
         turn; or a node.";
    "to": Kind::Text(MAX_NAME), or "the end of the path where its data leaves",
        "The hosts that receive, by the name of their table [[hosts]], which connections take in \
         turn; or a node.";
    "start": AT, is "0 s", "Time at which it starts, counted as the flows' starts are.";
    "warm_up": AT, is "0 s", "Time for which it runs before the flows' starts are counted.";
    "duration": Kind::SPAN, or "until the run is over", "Time for which it lasts.";
    "list_flows": Kind::Switch, is "false", "Whether results list each of its flows.";
}}

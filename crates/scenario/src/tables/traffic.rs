//! `[[traffic]]`: background traffic. [`KINDS`](crate::kinds::KINDS) says which keys a kind has.

use tables::{Key, Kind, MAX_DURATION, MAX_SIZE};
use units::{Bytes, Duration};

use super::{keys, table};
use crate::kinds::WORDS;
use crate::limits::{ARRIVALS, MAX_BITRATES, MAX_COUNT, MAX_DELAYS, MAX_NAME, MIN_INTERVAL};
use crate::model::FlowSettings;

const AT: Kind = Kind::Time(Duration::ZERO, MAX_DURATION);
const INTERVAL: Kind = Kind::Time(MIN_INTERVAL, MAX_DURATION);
const TRANSFER: Kind = Kind::Size(Bytes::new(1), MAX_SIZE);
const SIGMA: Kind = Kind::Number(0.0, 5.0);

/// The settings of a flow that a table of traffic has too. `extra_delay` may be a list there, and
/// the device of a sender and receivers that misbehave are not part of the background.
pub(crate) const TRAFFIC_SETTINGS: &[Key] =
    &tables::without::<{ SETTINGS.len() - ODD.len() }>(SETTINGS, ODD);
const SETTINGS: &[Key] = FlowSettings::TABLE.keys;
const ODD: &[&str] = &["small_queue", "extra_delay", "misbehavior"];

const FIRST: &[Key] = keys! {
    "name": Kind::Text(MAX_NAME), or "the kind, with a number from the second on",
        "Name in results; unique." everywhere;
    "kind": Kind::Words(&WORDS), needed "web", "What it sends.";
    "direction": Kind::Words(&["forward", "reverse"]), is "forward",
        "Direction of its data: that of the flows' data, or that of their ACKs. Where both sides of \
         a connection write, the acceptor's data takes it.";
    "load": Kind::Share(f64::MIN_POSITIVE, 200.0), sometimes "35 %" "needed, or `arrivals`; for tmix, `scale`",
        "Offered load as a fraction of the (mean) rate of the direction. For web it counts payload, \
         else the acceptors' payload and 52 bytes of headers for each segment of 1448 bytes. 100 % or \
         more only if the traffic ends.";
    "arrivals": Kind::Frequency(ARRIVALS.0, ARRIVALS.1), or "",
        "Mean number of starts per second, in place of `load`: of responses, connections, sessions \
         (persistent) or pages (multiplexed).";
    "file": Kind::Text(u32::MAX), sometimes "trace.cvec" "needed for tmix",
        "File of connection vectors in either format of Tmix, relative to the folder of this file.";
    "scale": Kind::Number(1e-6, 1e6), is "1",
        "Factor on the start times of the file, in place of `load`: a smaller one gives a higher load.";
    "length": Kind::SPAN, or "the last start",
        "Time of the file that is used, before `scale`; later connections are left out.";
    "shuffle": Kind::Integer(0, 1000), or "no shuffle",
        "Permutes parts of 500 Mbit / rate seconds each, by the random numbers that the suite has for \
         the file of this number, from 0.";
    "prefill": Kind::SPAN, or "no prefill",
        "Time in which long connections start in place of all, so that the load is soon stationary.";
    "repeat": Kind::Switch, is "false", "Whether the file starts again after `length`.";
    "mean": TRANSFER, is "14 kB", "Mean size of a response, or of an object of a page.";
    "shape": Kind::Number(0.1, 10.0), is "1.1", "Shape of the Pareto distribution of these sizes.";
    "cut": TRANSFER, is "10 MB", "Largest of these sizes; the smallest follows from the mean.";
    "truncation": Kind::Words(&["bounded", "capped", "mean-before-cut"]), is "bounded",
        "Sizes above `cut` are drawn again, or set to `cut`; or drawn again, with `mean` as the mean \
         without a cut.";
    "size": TRANSFER, or "unlimited flows, random responses",
        "Bytes of each flow, or of each response in place of `mean`, `shape` and `cut`.";
    "request": TRANSFER, is "400 B", "Median size of a request.";
    "request_sigma": SIGMA, or "0.6; for http10 and multiplexed 0",
        "Standard deviation of the logarithm of that size; 0 for requests of equal size.";
    "server_delay": AT, or "\"20 ms\"; for http10 none",
        "Mean time for which a server works on a request (exponential).";
    "requests": Kind::Number(1.0, 1e6), or "1/0.35 for synthetic, 10 for persistent, 100 for request-response",
        "Mean number of requests of a connection or a session (geometric); for request-response the \
         number of each client.";
    "think": AT, is "1 s", "Median time from a response to the client's next request.";
    "think_sigma": SIGMA, is "1.3", "Standard deviation of the logarithm of that time.";
    "concurrent": Kind::PERCENT, is "5 %",
        "Fraction of the connections whose sides do not wait for each other.";
    "small_segments": Kind::PERCENT, or "none; segments are as large as the path allows",
        "Fraction of the connections with segments of 496 bytes; the others have 1460.";
    "idle_timeout": INTERVAL, is "5 s", "Time after which a server closes an idle connection.";
    "objects": Kind::Number(0.0, 10_000.0), is "20", "Mean number of objects of a page (geometric).";
    "parse": AT, is "50 ms", "Time from a page's document to the requests for its objects.";
    "count": Kind::Integer(1, MAX_COUNT), is "1", "Number of sources or clients.";
    "spread": AT, or "\"1 s\"; for videos one segment, for datagrams and on-off one period of on and off",
        "Each source or client starts at a random time within this span.";
    "bitrate": Kind::RATE, sometimes "5 Mbit/s" "needed for video", "Mean rate of the segments.";
    "bitrates": Kind::Any(&[Kind::RATE, Kind::List(&Kind::RATE, 1, MAX_BITRATES)]),
        sometimes "5 Mbit/s" "needed for adaptive-video", "The bitrates to choose from, ascending.";
    "segment": INTERVAL, is "4 s", "Playing time of a segment of a video.";
    "segments": Kind::Integer(1, 1_000_000), or "until the run is over", "Number of segments of the video.";
    "reservoir": AT, is "90 s", "Buffered playing time up to which the lowest bitrate is chosen.";
    "cushion": Kind::SPAN, is "126 s",
        "Buffered playing time above that over which the bitrate grows to the highest.";
    "playback_buffer": Kind::SPAN, is "240 s", "Most playing time that a client buffers.";
    "rate": Kind::RATE, sometimes "5 Mbit/s" "needed for datagrams and on-off",
        "Rate of one source while it sends: in bytes of IP (datagrams) or of payload (on-off).";
    "on": INTERVAL, is "1 s", "Time for which a source sends; for on-off the mean (exponential).";
    "off": AT, or "\"0 s\"; for on-off \"1 s\"",
        "Time for which it then pauses; for on-off the mean (exponential).";
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
    "warm_up": AT, is "0 s", "Time for which it runs before the flows' starts are counted." everywhere;
    "duration": Kind::SPAN, or "until the run is over; for on-off an hour",
        "Time for which it lasts. Connections that are open then go on, except those of bulk and video.";
    "list_flows": Kind::Switch, is "false",
        "Whether results list each of its flows, or each request with its response.";
};

table! { TRAFFIC = "traffic", "[[traffic]]",
    "Background traffic. It follows from the seed and its name, so that every algorithm meets the \
     same."
    [FIRST, TRAFFIC_SETTINGS, LAST]
}

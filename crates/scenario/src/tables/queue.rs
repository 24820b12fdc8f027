//! `aqm`: a queue discipline with its parameters.

use tables::{Kind, MAX_DURATION};
use units::Bytes;

use super::table;
use crate::limits::MIN_SLOT;

const FRACTION: Kind = Kind::Share(f64::MIN_POSITIVE, 100.0);

table! { AQM = "aqm", "a queue discipline", "A queue discipline with its parameters." {
    "kind": Kind::Words(&["drop-tail", "random-above", "codel", "fq-codel", "pie", "red"]),
        needed "codel", "The discipline.";
    "fill": Kind::PERCENT, is "50 %",
        "random-above: fill level of the buffer above which packets are dropped.";
    "probability": Kind::PERCENT, or "\"25 %\" for random-above, \"10 %\" for red",
        "random-above: drop probability above the fill level; red: drop probability at `max`.";
    "target": Kind::SPAN, or "\"5 ms\"; \"15 ms\" for pie",
        "codel, fq-codel: acceptable queueing delay; pie: queueing delay that the controller aims \
         at.";
    "interval": Kind::SPAN, is "100 ms",
        "codel, fq-codel: time for which the delay has to exceed the target before the first drop.";
    "quantum": Kind::Size(Bytes::new(256), Bytes::new(1_000_000)), is "1514 bytes",
        "fq-codel: bytes that a queue may send in each round.";
    "flows": Kind::Integer(1, 65_536), is "1024", "fq-codel: queues that flows are hashed to.";
    "update": Kind::Time(MIN_SLOT, MAX_DURATION), is "15 ms",
        "pie: time between two updates of the drop probability.";
    "burst": Kind::DELAY, is "150 ms", "pie: time for which a burst passes without drops.";
    "gain": Kind::Share(f64::MIN_POSITIVE, 1000.0), is "100 %",
        "pie: factor on the gains of RFC 8033; DOCSIS uses 200 %.";
    "min": Kind::Packets, or "5 packets, or 2.5 ms of the rate if that is more",
        "red: average queue length below which no packet is dropped.";
    "max": Kind::Packets, or "three times `min`",
        "red: average queue length at which the drop probability is `probability`.";
    "weight": FRACTION, or "1 - exp(-1/C) with C packets per second",
        "red: weight of the newest queue length in the average.";
    "gentle": Kind::Switch, is "true",
        "red: whether the drop probability rises to one between `max` and twice `max`, instead of \
         at once.";
    "adaptive": Kind::Switch, is "false",
        "red: whether the drop probability adapts to keep the average between `min` and `max`.";
}}

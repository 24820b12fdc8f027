//! Many flows and many hosts: both event loops give the same result, to the byte.
//!
//! With so many flows, the loop in turns requests memory ahead (`world/ahead.rs`). No scenario of
//! `event_loops` has as many of either.

#![allow(clippy::unwrap_used, reason = "a String takes all that is written")]

use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use measure::RunResult;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use scenario::Scenario;
use simulator::{EventLoop, RunOptions};

/// Scenarios of each kind.
const SCENARIOS: u64 = 4;
/// With more flows at a time, memory is requested ahead.
const MANY_FLOWS: u64 = 2048;
/// At least so many access links.
const MANY_LINKS: u64 = 4096;

/// Common ones, which lie in the connection, and others; paced ones, and one that is steered.
const ALGORITHMS: [&str; 6] = [
    "cubic",
    "reno",
    "bbr",
    "cubic+search",
    "cubic+suss",
    "vegas",
];

struct Draw(ChaCha8Rng);

impl Draw {
    /// From `least` to `most`.
    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.next_u64() % (most - least + 1)
    }

    fn algorithm(&mut self) -> &'static str {
        ALGORITHMS[self.between(0, ALGORITHMS.len() as u64 - 1) as usize]
    }
}

/// A bottleneck with a buffer, and delays in both directions.
fn path(draw: &mut Draw, mbit: u64, text: &mut String) {
    writeln!(
        text,
        "seed = {}\n[path]\nrate = '{mbit} Mbit/s'\nbuffer = '{} packets'\n\
         forward.delay = '{} us'\nreverse.delay = '{} us'",
        draw.between(0, 1 << 40),
        draw.between(20, 900),
        draw.between(100, 40_000),
        draw.between(100, 40_000),
    )
    .unwrap();
    if draw.between(0, 2) == 0 {
        text.push_str("loss = '0.5 %'\n");
    }
}

fn run(text: &str, event_loop: EventLoop) -> RunResult {
    let scenario = Scenario::parse(text, "crowd.toml", Path::new(""));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = RunOptions {
        event_loop,
        ..RunOptions::default()
    };
    let output = simulator::run(&scenario, 0, &options, &AtomicBool::new(false));
    output.unwrap().result
}

/// Runs a scenario with both loops, compares the results, and returns one of them.
fn compare(text: &str) -> RunResult {
    let plain = run(text, EventLoop::Plain);
    let expected = serde_json::to_string(&plain).unwrap();
    for event_loop in [EventLoop::Turns, EventLoop::Fastest] {
        let found = serde_json::to_string(&run(text, event_loop)).unwrap();
        assert!(found == expected, "the results differ:\n{text}");
    }
    plain
}

#[test]
fn many_flows_at_a_time_give_the_result_of_the_plain_loop() {
    for number in 0..SCENARIOS {
        let draw = &mut Draw(ChaCha8Rng::seed_from_u64(number));
        let mut text = "duration = '1500 ms'\n".to_owned();
        let mbit = draw.between(20, 300);
        path(draw, mbit, &mut text);
        let mut endless = 0;
        for kind in 0..3 {
            let count = draw.between(1100, 1500);
            let algorithm = draw.algorithm();
            writeln!(
                text,
                "[[flow]]\nalgorithm = '{algorithm}'\ncount = {count}\nstagger = '{} us'\n\
                 extra_delay = '{} ms'",
                draw.between(0, 300),
                draw.between(0, 30)
            )
            .unwrap();
            if kind == 0 {
                writeln!(text, "size = '{} B'", draw.between(1, 60_000)).unwrap();
            } else {
                endless += count;
            }
        }
        compare(&text);
        assert!(endless > MANY_FLOWS, "too few flows are open at a time");
    }
}

#[test]
fn many_hosts_give_the_result_of_the_plain_loop() {
    for number in 0..SCENARIOS {
        let draw = &mut Draw(ChaCha8Rng::seed_from_u64(!number));
        let mut text = "duration = '800 ms'\n".to_owned();
        path(draw, 400, &mut text);
        for at in ["left", "right"] {
            writeln!(
                text,
                "[[hosts]]\nname = '{at}'\nat = '{at}'\ncount = {}\nrate = '100 Mbit/s'\n\
                 buffer = '{} packets'\ndelay = ['{} us', '7 ms', '7 ms']",
                draw.between(3000, 4000),
                draw.between(5, 900),
                draw.between(0, 40_000)
            )
            .unwrap();
        }
        let algorithm = draw.algorithm();
        writeln!(
            text,
            "[[traffic]]\nkind = 'web'\narrivals = '4000 /s'\nmean = '3 kB'\n\
             algorithm = '{algorithm}'\nfrom = 'left'\nto = 'right'\nlist_flows = true"
        )
        .unwrap();
        let result = compare(&text);
        // Fewer than there are hosts: each has hosts of its own, with two links each.
        let flows = result.traffic[0].started;
        assert!(4 * flows > MANY_LINKS, "too few hosts: {flows} flows");
    }
}

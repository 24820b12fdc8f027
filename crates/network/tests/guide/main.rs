//! The example of `docs/guides/new-network.md` compiles, does what the guide says, and is shown there.

#![allow(missing_docs, reason = "the names of the crate, for the example")]

mod turns;

use network::AccessConfig;
pub use network::access::{AccessModel, AccessServer, Served, Serves, Surroundings};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use turns::{Turns, TurnsConfig};
use units::{Bytes, Duration, Instant, Rate};

/// One bit in a nanosecond for 2 ms of each 10 ms.
const CONFIG: TurnsConfig = TurnsConfig {
    rate: Rate::from_bits_per_sec(1_000_000_000),
    cycle: Duration::from_millis(10),
    turn: Duration::from_millis(2),
};

fn server(config: TurnsConfig) -> Turns {
    let rng = ChaCha8Rng::seed_from_u64(1);
    config.server(&Surroundings {
        rng: &rng,
        path: &rng,
        shared: &[],
    })
}

fn at(micros: u64) -> Instant {
    Instant::from_micros(micros)
}

#[test]
fn it_serves_in_its_turns() {
    let mut server = server(CONFIG);
    // Four packets of 1 ms each: two in the first turn, two in the next.
    let mut busy_until = Instant::ZERO;
    let mut ends = vec![];
    for _ in 0..4 {
        busy_until = server.serve(at(0), busy_until, 125_000).end;
        ends.push(busy_until);
    }
    assert_eq!(ends, [1_000, 2_000, 11_000, 12_000].map(at));
    // No capacity was wasted between two turns: the busy period continues.
    let served = server.serve(at(19_999), busy_until, 125_000);
    assert_eq!((served.end, served.after_gap), (at(21_000), false));
    // Half a turn passed unused, enough for this packet: a new busy period.
    let served = server.serve(at(22_000), served.end, 125_000);
    assert_eq!((served.end, served.after_gap), (at(31_000), true));
}

#[test]
fn it_says_what_it_gives() {
    assert_eq!(CONFIG.mean_rate(), Rate::from_bits_per_sec(200_000_000));
    assert_eq!(CONFIG.idle_delay(), Duration::from_micros(3_200));
    let second = Instant::from_secs(1);
    assert_eq!(server(CONFIG).capacity(second), Bytes::new(25_000_000));
    // A saturated queue uses all of it, to the byte.
    let (mut server, mut busy_until, mut bytes) = (server(CONFIG), Instant::ZERO, 0);
    while busy_until < second {
        busy_until = server.serve(at(0), busy_until, 1_000).end;
        bytes += 1_000;
    }
    assert_eq!(bytes, 25_000_000 + 1_000);
}

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

#[test]
fn every_model_has_its_page() {
    for (model, page) in AccessConfig::PAGES {
        let file = format!("{DOCS}/reference/networks/{page}");
        let text = std::fs::read_to_string(file).unwrap_or_default();
        assert!(text.starts_with("# "), "{model}: {page}");
    }
}

#[test]
fn the_guide_shows_this_example() {
    let guide = std::fs::read_to_string(format!("{DOCS}/guides/new-network.md"));
    let guide = guide.expect("the guide");
    let example = include_str!("turns.rs");
    assert!(
        guide.contains(&format!("```rust\n{example}```\n")),
        "the guide shows another example than crates/network/tests/guide/turns.rs"
    );
}

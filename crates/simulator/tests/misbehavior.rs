//! Receivers that do not comply, in scenarios.

mod common;

use std::path::Path;

use common::run;
use measure::FlowResult;
use scenario::Scenario;

fn flow(algorithm: &str, keys: &str) -> FlowResult {
    let text = format!(
        "path = {{ rate = '50 Mbit/s', rtt = '100 ms', buffer = '1 bdp' }}
         [[flow]]
         algorithm = '{algorithm}'
         size = '3 MB'
         {keys}"
    );
    let scenario =
        Scenario::parse(&text, "f.toml", Path::new("")).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, false).result.flows.remove(0)
}

fn completion(flow: &FlowResult) -> f64 {
    flow.fct_s.expect("completed")
}

/// Linux counts whole segments, so that parts of an ACK earn nothing; one that counts ACKs is
/// deceived into a burst that the path does not carry.
#[test]
fn division_deceives_only_who_counts_acks() {
    let divided = "misbehavior = { divide = 10 }";
    for algorithm in ["reno", "cubic", "cubic+search", "bbr"] {
        let (honest, attacked) = (flow(algorithm, ""), flow(algorithm, divided));
        let ratio = completion(&attacked) / completion(&honest);
        assert!((0.97..1.03).contains(&ratio), "{algorithm}: {ratio}");
        assert_eq!(attacked.segments_lost == 0, honest.segments_lost == 0);
    }
    let naive = "reno+abc:count=acks";
    let (honest, attacked) = (flow(naive, ""), flow(naive, divided));
    assert!(attacked.segments_lost > 4 * honest.segments_lost);
    assert!(completion(&attacked) < 0.9 * completion(&honest));
}

/// An optimistic receiver at twice the rate of the path gets its data sooner and causes losses that
/// the sender never learns about, so that some of the data is missing.
#[test]
fn optimistic_acks_conceal_the_losses_that_they_cause() {
    let (honest, attacked) = (
        flow("reno", ""),
        flow("reno", "misbehavior = { optimistic = '100 Mbit/s' }"),
    );
    let arrived = |flow: &FlowResult| flow.goodput_bps * completion(flow) / 8.0;
    assert!((arrived(&honest) - 3e6).abs() < 1.0);
    assert!(completion(&attacked) < completion(&honest));
    let dropped = attacked.segments_dropped.expect("the simulator knows");
    assert!(dropped > 100 && attacked.segments_lost < 10);
    let missing = (3e6 - arrived(&attacked)) / 1448.0;
    assert!(
        (missing - dropped as f64).abs() < 20.0,
        "{missing} {dropped}"
    );
}

/// One ACK for 64 segments: Linux's growth does not depend on their number, and each ACK releases a
/// burst.
#[test]
fn stretched_acks_slow_a_sender_that_counts_acks() {
    let stretched = "misbehavior = { stretch = 64, wait = '20 ms' }";
    let slower =
        |algorithm| completion(&flow(algorithm, stretched)) / completion(&flow(algorithm, ""));
    assert!((1.0..1.3).contains(&slower("reno")), "{}", slower("reno"));
    let naive = slower("reno+abc:count=acks");
    assert!(naive > 1.8, "{naive}");
}

/// What a start-up delivered is payload, each byte once: never more than the transfer, although the
/// sender counts the 2 bytes as a segment, and duplicate ACKs without SACK as data.
#[test]
fn a_start_up_delivers_no_more_than_the_transfer() {
    let lossy = "size = '1 MB'\nsack = false\nack_policy = 'every-segment'";
    for (loss, keys, size) in [
        (0, "size = '2 B'", 2),
        (2, lossy, 1_000_000),
        (2, "size = '1 MB'", 1_000_000),
        (
            0,
            "size = '1 MB'\nsack = false\nmisbehavior = { duplicate = 2 }",
            1_000_000,
        ),
    ] {
        let text = format!(
            "path = {{ rate = '50 Mbit/s', rtt = '50 ms', loss = '{loss} %' }}
             [[flow]]
             algorithm = 'cubic'
             {keys}"
        );
        let mut scenario = Scenario::parse(&text, "f.toml", Path::new("")).expect("a scenario");
        for seed in 1..4 {
            scenario.seed = seed;
            let flow = run(&scenario, false).result.flows.remove(0);
            let startup = flow.startup.as_ref().expect("simulated");
            for delivered in [startup.delivered_1s_bytes, startup.delivered_10s_bytes] {
                assert!(
                    delivered.is_some_and(|bytes| bytes <= size),
                    "{delivered:?}: {keys}"
                );
            }
            assert!(loss > 0 || startup.delivered_10s_bytes == Some(size));
        }
    }
}

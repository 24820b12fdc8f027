//! The example of `docs/guides/new-algorithm.md` compiles, does what the guide says, and stands there
//! as it is here.

#![allow(missing_docs, reason = "the names of the crate, for the example")]

mod gentle;

pub use congestion::{
    Ack, Avoidance, Classic, CongestionControl, Criterion, ExitReason, Phase, Recovery, Startup,
    Step, Unit, Window, avoidance, options, recovery, settings,
};

use gentle::{Gentle, GentleConfig};
use options::Options;
use units::{Bytes, Duration, Instant, Rate};

const SMSS: Bytes = Bytes::new(1_000);

/// The window after each round of 100 ms over a path that holds `path` segments.
fn windows(config: GentleConfig, path: u64, rounds: u64) -> (Vec<u64>, Option<ExitReason>) {
    let base = Duration::from_millis(100);
    let mut control = Classic::new(
        Gentle::new(config, Instant::ZERO, 0),
        avoidance::Reno::new(avoidance::RenoConfig::default()),
        recovery::Prr::new(recovery::PrrConfig::default()),
        SMSS,
        SMSS * 10,
    );
    let mut windows = vec![];
    let (mut now, mut snd_una) = (Instant::ZERO, 0);
    for _ in 0..rounds {
        let cwnd = control.window().cwnd_segments();
        let rtt = base.mul_div(cwnd.max(path), path);
        now += rtt;
        for _ in 0..cwnd {
            snd_una += SMSS.get();
            let ack = Ack {
                now,
                delivered: SMSS,
                newly_lost: Bytes::ZERO,
                prior_in_flight: SMSS * cwnd,
                in_flight: SMSS * cwnd,
                snd_una,
                snd_nxt: snd_una + cwnd * SMSS.get(),
                advanced: true,
                bytes_sent: snd_una,
                latest_rtt: Some(rtt),
                srtt: rtt,
                min_rtt: base,
                rate: None,
                cwnd_limited: true,
                app_limited: false,
                phase: Phase::Open,
                paced: false,
                pacing_rate: Rate::MAX,
            };
            control.on_delivery(&ack);
            control.on_ack(&ack);
        }
        windows.push(control.window().cwnd_segments());
    }
    (windows, control.slow_start_exit().map(|exit| exit.reason))
}

#[test]
fn it_grows_by_half_until_the_delay_stays_high() {
    let (windows, exit) = windows(GentleConfig::default(), 40, 6);
    // Half a segment is carried from 15 to 33. A window of 50 is exactly a quarter more than the path
    // holds, which is not too much; one of 75 is, and seven ACKs earn three segments before the exit.
    assert_eq!(windows, [15, 22, 33, 50, 75, 78]);
    assert!(
        matches!(exit, Some(ExitReason::Measured { .. })),
        "{exit:?}"
    );
}

#[test]
fn its_option_is_read() {
    let mut config = GentleConfig::default();
    assert!(config.set("growth", "2").is_err() && config.set("speed", "1").is_err());
    config.set("growth", "1").expect("taken");
    assert_eq!(windows(config, 1_000, 3).0, [20, 40, 80]);
}

#[test]
fn the_guide_shows_this_example() {
    let root = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/guides/new-algorithm.md"
    );
    let guide = std::fs::read_to_string(root).expect("the guide");
    let example = include_str!("gentle.rs");
    assert!(
        guide.contains(&format!("```rust\n{example}```\n")),
        "the guide shows another file than crates/congestion/tests/guide/gentle.rs"
    );
}

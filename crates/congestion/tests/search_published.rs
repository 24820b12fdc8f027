//! SEARCH as published, and versions 1.0 and 3.0, on the ACK streams of `search_vectors`.

mod startup_support;

use congestion::startup::Search;
use congestion::startup::search::{Exit, NormBase, SearchConfig, Version};
use congestion::{Congestion, CongestionKind, Phase, Startup, Step};
use startup_support::streams::{agree, events, expected, first_hit, stream, stream_a};
use startup_support::{vectors, window};
use units::{Bytes, Instant};

const STREAMS: [&str; 4] = ["A_fluid", "B_packets", "C_gaps", "D_app_limited"];

fn published(version: Version) -> SearchConfig {
    SearchConfig {
        as_published: true,
        ..SearchConfig::of(version)
    }
}

#[test]
fn linux_3_1_and_4_0_agree_with_every_row() {
    for (version, model) in [
        (Version::V3_1, "v3.1-published"),
        (Version::V4_0, "v4.0-tcp-thresh35"),
    ] {
        for name in STREAMS {
            let lines = stream(name);
            let tests = agree(name, model, published(version), &lines, |_| false);
            assert!(tests >= 6, "{name}");
        }
    }
}

/// The windows and the result of every test of 2.0, which picks one window, and of 3.0, whose
/// blend has no weight.
#[test]
fn linux_2_0_and_3_0_agree_with_every_row() {
    for (version, model) in [
        (Version::V2_0, "v2.0-linux-published"),
        (Version::V3_0, "v3.0-published-fraction0"),
    ] {
        for name in STREAMS {
            let lines = stream(name);
            let events = events(published(version), &lines);
            let rows = expected(name, model);
            assert_eq!(events.len(), rows.len() + 1, "the opening and the bins");
            let mut tests = 0;
            for row in rows {
                let event = &events[&row.micros];
                let place = format!("{name} {model} at {} us: {event:?}", row.micros);
                let Some(measurement) = event.measurement else {
                    assert!(row.norm.is_empty() && !row.hit, "{place}");
                    continue;
                };
                tests += 1;
                assert_eq!(Some(measurement.current.get()), row.current, "{place}");
                let previous = measurement.previous.get() as f64;
                assert_eq!(Some(previous), row.previous, "{place}");
                assert_eq!(measurement.hit, row.hit, "{place}");
            }
            assert!(tests >= 6, "{name} {model}: {tests} tests");
        }
    }
}

#[test]
fn first_hits() {
    let rows = vectors("first_hits.csv");
    for (model, config) in [
        ("v2.0-linux-published", published(Version::V2_0)),
        ("v3.0-published-fraction0", published(Version::V3_0)),
        ("v3.0-intended", SearchConfig::of(Version::V3_0)),
        ("v3.1-published", published(Version::V3_1)),
        ("v4.0-tcp-thresh35", published(Version::V4_0)),
    ] {
        for name in STREAMS {
            let row = rows.iter().find(|row| row[0] == name && row[1] == model);
            let row = row.expect("the model is listed");
            let found = first_hit(config, &stream(name));
            assert_eq!(
                found.map(|(micros, ..)| micros),
                row[2].parse().ok(),
                "{name} {model}"
            );
            if let Some((_, permille, cwnd)) = found {
                assert_eq!(cwnd.to_string(), row[5], "{name} {model}");
                let norm = row[3].parse::<f64>().expect("a norm");
                assert!(
                    (permille as f64 / 10.0 - norm).abs() <= 1.0,
                    "{name} {model}"
                );
            }
        }
    }
}

/// The sent bytes double like the delivered bytes, so that 1.0 measures the same as 2.0; its two
/// norms are related by `n / (1 - n)`.
#[test]
fn version_1_0_on_the_stream_that_doubles() {
    let lines = stream_a();
    let of = |norm_of| SearchConfig {
        norm_of,
        ..SearchConfig::of(Version::V1_0)
    };
    let (expected, delivered) = (
        events(of(NormBase::Expected), &lines),
        events(of(NormBase::Delivered), &lines),
    );
    let mut compared = 0;
    for (micros, event) in &expected {
        let (Some(one), Some(other)) = (event.measurement, delivered[micros].measurement) else {
            continue;
        };
        let norm = one.norm_permille as f64 / 1000.0;
        let related = norm / (1.0 - norm);
        assert!((other.norm_permille as f64 / 1000.0 - related).abs() < 0.003);
        compared += 1;
    }
    assert!(compared > 15, "{compared}");
    // 0.35 of the delivered bytes is 0.259 of the sent bytes: it exits earlier.
    let hit = |config| first_hit(config, &lines).expect("a hit").0;
    assert_eq!(hit(of(NormBase::Expected)), 1_050_000);
    assert_eq!(hit(of(NormBase::Delivered)), 945_000);
    // quicly rounds 2.86 bins to 3, so it looks back further and exits earlier or at once.
    assert!(hit(published(Version::V1_0)) <= 1_050_000);
}

#[test]
fn published_2_0_never_restarts_and_3_1_forgets_the_shift() {
    let lines = stream_a();
    let loss = Congestion {
        now: Instant::ZERO,
        kind: CongestionKind::Timeout,
        phase: Phase::Open,
        in_flight: Bytes::ZERO,
        snd_nxt: 0,
        first_of_window: true,
    };
    for (version, ends) in [(Version::V2_0, true), (Version::V3_1, false)] {
        let mut search = Search::new(published(version), Instant::ZERO, 0);
        search.on_congestion(&loss);
        search.restart(Instant::ZERO, 0);
        let exit = lines
            .iter()
            .find_map(|line| search.on_delivery(&line.ack(), &window(line.cwnd())));
        assert_eq!(exit.is_none(), ends, "{version:?}");
    }
    let rolled_back = |as_published| {
        let config = SearchConfig {
            exit: Some(Exit::Rollback),
            as_published,
            ..SearchConfig::of(Version::V3_1)
        };
        let mut search = Search::new(config, Instant::ZERO, 0);
        let exit = lines.iter().find_map(|line| {
            let before = line.cwnd();
            let step = search.on_delivery(&line.ack(), &window(before))?;
            Some((before, step))
        });
        let Some((before, Step::Exit { cwnd, .. })) = exit else {
            panic!("no exit");
        };
        before - cwnd.get() / 1448
    };
    // Seven bits are forgotten at this count.
    let (whole, forgotten) = (rolled_back(false), rolled_back(true));
    assert!(
        whole > 1_000 && forgotten > 0 && forgotten <= whole / 100,
        "{whole} {forgotten}"
    );
}

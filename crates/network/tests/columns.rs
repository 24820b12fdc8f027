//! Traces of rates and of delays: the formats, reference values of the recorded ones, and the links
//! that follow them.

use crate::common;

use std::collections::BTreeMap;

use common::{assert_conserved, bare, build, packet, pop_all};
use network::trace::{Recorded, parse_delays, parse_rates, read};
use network::{JitterConfig, JitterDistribution, LinkConfig, Service};
use proptest::prelude::*;
use units::{Bytes, Duration, Instant, Rate};

fn steps(text: &str) -> Vec<(u64, u64)> {
    let steps = parse_rates(text, "a").unwrap_or_else(|error| panic!("{error}"));
    steps
        .iter()
        .map(|(span, rate)| (span.as_nanos(), rate.bits_per_sec()))
        .collect()
}

#[test]
fn a_rate_holds_from_the_time_before_to_its_own() {
    // The rate of a first line at zero is never used.
    let two = [(500_000_000, 4_000_000), (1_000_000_000, 0)];
    assert_eq!(steps("0.0\t9.9\n0.5\t4\n1.5\t0\n"), two);
    assert_eq!(steps("0.5 4\r\n  1.5   0.0000004 \r\n\r\n"), two);
    // Times are rounded, not spans: three times a third of a nanosecond is one.
    let thirds = "1.0000000003 1\n1.0000000006 1\n";
    assert_eq!(steps(thirds), [(1_000_000_000, 1_000_000), (1, 1_000_000)]);
    assert_eq!(
        steps("1 1e-6\n2 1e6\n"),
        [(1_000_000_000, 1), (1_000_000_000, 1_000_000_000_000)]
    );
    assert_eq!(steps("604800 5"), [(604_800_000_000_000, 5_000_000)]);
}

#[test]
fn the_first_line_determines_the_kind() {
    assert!(matches!(read("1\n2\n", "a"), Ok(Recorded::Opportunities(trace)) if trace.repeat));
    assert!(matches!(read("1\t2\n", "a"), Ok(Recorded::Rates(steps)) if steps.len() == 1));
    for (text, expected) in [
        (
            "",
            "a: the trace is empty; it needs one line with a whole number of milliseconds for each delivery opportunity",
        ),
        ("\n1 2", "a:1: a blank line inside the trace; remove it"),
        (
            "1\n2 3",
            "a:2: expected nothing after the number of milliseconds, found \"3\"",
        ),
        (
            "1 2\n3",
            "a:2: expected a time in seconds and a rate in Mbit/s, found \"3\"",
        ),
        (
            "1 2 3",
            "a:1: expected a time in seconds and a rate in Mbit/s, found \"1 2 3\"",
        ),
        (
            "time rate\n1 2",
            "a:1: expected a time in seconds, found \"time\"",
        ),
        (
            "1 2\n2 nan",
            "a:2: expected a rate in Mbit/s, found \"nan\"",
        ),
        ("1 2\n-2 3", "a:2: a time in seconds cannot be below zero"),
        ("1 2\n2 -3", "a:2: a rate in Mbit/s cannot be below zero"),
        (
            "1 2\n1.0 3",
            "a:2: 1.0 s comes after 1 s; each line needs a later time",
        ),
        (
            "0 2\n0 3",
            "a:2: 0 s comes after 0 s; each line needs a later time",
        ),
        (
            "1 2\n1.0000000001 3",
            "a:2: 1.0000000001 s comes after 1 s; each line needs a later time",
        ),
        (
            "1500000000 2",
            "a:1: a time in seconds can be at most 604800 s after the trace began, a week",
        ),
        (
            "1 1000001",
            "a:1: a rate in Mbit/s can be at most 1000000 Mbit/s",
        ),
        (
            "1 0\n2 0",
            "a: the trace has no positive rate that lasts any time, so no packet would ever pass",
        ),
        (
            "0 5",
            "a: the trace has no positive rate that lasts any time, so no packet would ever pass",
        ),
    ] {
        assert_eq!(
            read(text, "a").unwrap_err().to_string(),
            expected,
            "{text:?}"
        );
    }
    let long = format!("1 {}", "z".repeat(1_000_000));
    assert!(read(&long, "a").unwrap_err().to_string().len() < 120);
}

#[test]
fn delays_are_milliseconds() {
    let delays = parse_delays("12\r\n0\n7.25\n\n", "a").unwrap();
    let nanos: Vec<_> = delays.iter().map(|delay| delay.as_nanos()).collect();
    assert_eq!(nanos, [12_000_000, 0, 7_250_000]);
    for (text, expected) in [
        (
            "",
            "a: the trace is empty; it needs one line with a delay in milliseconds for each slot of time",
        ),
        ("1\n\n2", "a:2: a blank line inside the trace; remove it"),
        (
            "1\n2 3",
            "a:2: expected a delay in milliseconds, found \"2 3\"",
        ),
        ("-1", "a:1: a delay in milliseconds cannot be below zero"),
        (
            "60000.000001",
            "a:1: a delay in milliseconds can be at most 60000 ms",
        ),
    ] {
        let error = parse_delays(text, "a").unwrap_err();
        assert_eq!(error.to_string(), expected, "{text:?}");
    }
}

/// A delay line of recorded delays.
fn delayed(delays_ms: &[u64], slot_ms: u64) -> LinkConfig {
    let delays: Vec<_> = delays_ms
        .iter()
        .map(|ms| Duration::from_millis(*ms))
        .collect();
    let (delay, jitter) = JitterConfig::recorded(&delays, Duration::from_millis(slot_ms));
    LinkConfig {
        delay,
        jitter: Some(jitter),
        ..bare(Service::Unlimited)
    }
}

#[test]
fn each_slot_has_its_delay_and_packets_keep_their_order() {
    let config = delayed(&[20, 5, 8], 10);
    assert_eq!(config.delay, Duration::from_millis(5));
    assert_eq!(
        config.jitter.as_ref().unwrap().amount,
        Duration::from_millis(15)
    );
    let mut link = build(&config);
    // At 10 ms the delay falls from 20 to 5 ms, but the packet of 9 ms is due at 29 ms.
    let arrivals = [0, 9, 10, 19, 20, 29, 30, 3_000_000_010];
    for ms in arrivals {
        let _ = link.push(Instant::from_millis(ms), packet(1, ms));
    }
    let due: Vec<_> = pop_all(&mut link, Instant::from_secs(4_000_000))
        .iter()
        .map(|(due, _)| due.as_millis())
        .collect();
    assert_eq!(due, [20, 29, 29, 29, 29, 37, 50, 3_000_000_015]);
    assert_conserved(&link);
    // No value, no addition.
    let mut link = build(&delayed(&[], 10));
    let _ = link.push(Instant::from_millis(3), packet(1, 0));
    assert_eq!(pop_all(&mut link, Instant::from_millis(3)).len(), 1);
}

/// The rules of the format, number by number, for numbers that are exact in floating point.
fn written(steps: &[(u32, u32)], scale: u32) -> String {
    let mut at = 0;
    let line = |(span, rate): &(u32, u32)| {
        at += span;
        format!(
            "{}\t{}\n",
            f64::from(at) / f64::from(scale),
            f64::from(*rate) / 64.0
        )
    };
    steps.iter().map(line).collect()
}

proptest! {
    #[test]
    fn no_text_makes_the_parsers_panic(
        text in "[0-9 \r\n\t.eE+-]{0,60}|\\PC{0,40}|([0-9]{1,3}\\.[0-9]{1,12}\t[0-9.]{1,6}\n){0,6}",
    ) {
        match read(&text, "f") {
            Ok(Recorded::Rates(steps)) => {
                prop_assert!(steps.iter().all(|step| !step.0.is_zero()));
                prop_assert!(steps.iter().any(|step| step.1 > Rate::ZERO));
            }
            Ok(Recorded::Opportunities(trace)) => prop_assert!(trace.lap_ms() > 0),
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
        }
        let _ = parse_rates(&text, "f").map_err(|error| error.to_string());
        if let Ok(delays) = parse_delays(&text, "f") {
            prop_assert!(!delays.is_empty());
            let (least, jitter) = JitterConfig::recorded(&delays, Duration::ZERO);
            let JitterDistribution::Recorded { additions } = jitter.distribution else {
                return Err(TestCaseError::fail("another kind"));
            };
            prop_assert!(delays.iter().zip(&*additions).all(|(delay, more)| least + *more == *delay));
        }
    }

    #[test]
    fn steps_are_as_written(
        spans in prop::collection::vec((1_u32..5000, 1_u32..100_000), 1..40),
        scale in prop::sample::select(vec![1_u32, 8, 64, 512]),
    ) {
        let steps = steps(&written(&spans, scale));
        let expected: Vec<_> = spans
            .iter()
            .map(|&(span, rate)| {
                // 10^9 / 512 and 10^6 / 64 are integers.
                (u64::from(span) * 1_000_000_000 / u64::from(scale), u64::from(rate) * 15_625)
            })
            .collect();
        prop_assert_eq!(steps, expected);
    }
}

/// Kind, files, total length of the laps in ns, mean rate over that time in bit/s, mean of the
/// files' line means in Mbit/s to two decimals. Computed from the files with exact fractions.
/// Published means are of a larger set (80 files) that includes these; the last column follows its
/// convention.
const NORWAY: [(&str, u64, u64, u64, f64); 6] = [
    ("bus", 10, 2_394_569_999_694, 1_761_862, 2.27),
    ("car", 2, 565_359_999_895, 1_408_172, 1.70),
    ("ferry", 2, 391_210_000_277, 1_213_911, 1.49),
    ("metro", 3, 938_990_000_010, 968_371, 1.12),
    ("train", 6, 1_356_380_000_115, 1_566_075, 1.88),
    ("tram", 17, 4_891_339_999_915, 874_422, 1.01),
];

#[test]
fn the_recorded_rates_have_their_means() {
    let Some(folder) = testing::traces::folder() else {
        return;
    };
    let mut kinds: BTreeMap<String, (u64, u128, u128, f64)> = BTreeMap::new();
    let mut extremes = (u64::MAX, 0);
    for entry in std::fs::read_dir(folder.join("norway-hsdpa")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let Recorded::Rates(steps) = read(&text, &name).unwrap() else {
            panic!("{name} is a trace of rates");
        };
        let kind = name.split('_').nth(1).unwrap().to_owned();
        let (files, lap, work, means) = kinds.entry(kind).or_default();
        *files += 1;
        let mut own_lap = 0;
        for (span, rate) in &*steps {
            extremes = (
                extremes.0.min(rate.bits_per_sec()),
                extremes.1.max(rate.bits_per_sec()),
            );
            own_lap += span.as_nanos();
            *work += u128::from(span.as_nanos()) * u128::from(rate.bits_per_sec());
        }
        *lap += u128::from(own_lap);
        // The mean of the lines includes the first line, which makes no step.
        let lines = text.lines().map(|line| line.split('\t').nth(1).unwrap());
        let rates: Vec<f64> = lines.map(|rate| rate.parse().unwrap()).collect();
        assert_eq!(rates.len(), steps.len() + 1, "{name}");
        *means += rates.iter().sum::<f64>() / rates.len() as f64;

        // A saturated link carries the capacity of the trace, and as much again in the next lap.
        let config = bare(Service::Steps {
            steps: steps.clone(),
        });
        let mean = config.service.mean_rate().unwrap();
        let mut link = build(&config);
        let lap = Instant::from_nanos(own_lap);
        let room = link.capacity(lap).unwrap();
        let exact = mean.bytes_in(lap - Instant::ZERO);
        // The mean is rounded down to a bit per second, capacity to a byte.
        let apart = room.get() - exact.get();
        assert!(
            apart <= own_lap / 8_000_000_000 + 1,
            "{name}: {room:?} {exact:?}"
        );
        let packets = 2 * room.get() / 1000;
        for number in 0..=packets + 1 {
            let _ = link.push(Instant::ZERO, packet(1000, number));
        }
        let first = pop_all(&mut link, lap).len() as u64;
        assert_eq!(first, room.get() / 1000, "{name}");
        let both = first + pop_all(&mut link, lap + (lap - Instant::ZERO)).len() as u64;
        assert!(
            (packets..=packets + 1).contains(&both),
            "{name}: {both} {packets}"
        );
        assert_conserved(&link);
    }
    for (kind, files, lap, mean, lines) in NORWAY {
        let found = &kinds[kind];
        assert_eq!((found.0, found.1), (files, u128::from(lap)), "{kind}");
        assert_eq!(found.2 / found.1, u128::from(mean), "{kind}");
        let means = found.3 / files as f64;
        assert_eq!((means * 100.0).round() / 100.0, lines, "{kind}");
    }
    assert_eq!(kinds.len(), NORWAY.len());
    // At most 8.0 Mbit/s in the reference statistics.
    assert_eq!(extremes, (212_352, 8_034_279));
}

#[test]
fn the_recorded_delay_has_its_extremes_and_mean() {
    let Some(text) = testing::traces::read("starlink-leocc.delay") else {
        return;
    };
    let delays = parse_delays(&text, "starlink-leocc.delay").unwrap();
    let ms: Vec<_> = delays.iter().map(|delay| delay.as_millis()).collect();
    assert_eq!((ms.len(), ms.iter().sum::<u64>()), (11_999, 127_989));
    assert_eq!((ms.iter().min(), ms.iter().max()), (Some(&7), Some(&68)));
    let (delay, jitter) = JitterConfig::recorded(&delays, Duration::from_millis(10));
    assert_eq!(
        (delay, jitter.amount),
        (Duration::from_millis(7), Duration::from_millis(61))
    );
    // Line 8383 is 68 ms, line 9946 is 7 ms; they repeat a lap later.
    let mut link = build(&LinkConfig {
        delay,
        jitter: Some(jitter),
        ..bare(Service::Unlimited)
    });
    let lap = 119_990;
    for (at, expected) in [
        (0, 12),
        (83_829, 68),
        (99_450, 7),
        (lap, 12),
        (lap + 83_820, 68),
    ] {
        let _ = link.push(Instant::from_millis(at), packet(1500, at));
        let due = link.next_event().unwrap();
        assert_eq!(due, Instant::from_millis(at + expected), "at {at} ms");
        assert_eq!(pop_all(&mut link, due).len(), 1);
    }
    assert_eq!(link.counters().bytes_out, Bytes::new(5 * 1500));
}

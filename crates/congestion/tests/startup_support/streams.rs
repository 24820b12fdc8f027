//! ACK streams for SEARCH, and the events of the reference calculation on them.

use std::collections::BTreeMap;

use congestion::startup::Search;
use congestion::startup::search::{
    AppLimited, Arithmetic, Boundary, Exit, Measurement, Missed, SearchConfig, Version,
};
use congestion::{Ack, ExitReason, Startup};
use units::{Bytes, Duration, Instant};

use super::{SMSS, ack, vectors, window};

/// One ACK of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub micros: u64,
    pub acked: u64,
    pub sent: u64,
    pub rtt: u64,
    pub app_limited: bool,
    /// Nanoseconds that one unit of `micros` and `rtt` stands for.
    pub unit: u64,
}

impl Line {
    pub fn ack(&self) -> Ack {
        Ack {
            bytes_sent: self.sent,
            app_limited: self.app_limited,
            ..ack(
                Instant::from_nanos(self.micros * self.unit),
                SMSS,
                self.acked,
                Some(Duration::from_nanos(self.rtt * self.unit)),
            )
        }
    }

    /// The window at this ACK: the initial window plus the acknowledged segments.
    pub fn cwnd(&self) -> u64 {
        10 + self.acked / SMSS.get()
    }
}

pub fn stream(name: &str) -> Vec<Line> {
    let rows = vectors(&format!("stream_{name}.csv"));
    let lines = rows.iter().map(|row| {
        let [micros, acked, sent, rtt, limited] =
            [0, 1, 2, 3, 4].map(|column: usize| row[column].parse::<u64>().expect("a number"));
        Line {
            micros,
            acked,
            sent,
            rtt,
            app_limited: limited == 1,
            unit: 1000,
        }
    });
    lines.collect()
}

/// Stream A from its description: an ACK every 5 ms, doubling from 10 segments at 100 ms for seven
/// rounds, then a constant rate.
pub fn stream_a() -> Vec<Line> {
    let delivered = |micros: u64| {
        let round = (micros as f64 - 100_000.0) / 100_000.0;
        let full = (128 * 14_480) as f64;
        if round <= 7.0 {
            14_480.0 * round.exp2()
        } else {
            full + (round - 7.0) * full * std::f64::consts::LN_2
        }
    };
    (0..=240)
        .map(|count| {
            let micros = 100_000 + 5_000 * count;
            let acked = delivered(micros) as u64;
            Line {
                micros,
                acked,
                sent: 2 * acked + 14_480,
                rtt: 100_000,
                app_limited: false,
                unit: 1000,
            }
        })
        .collect()
}

/// What happened at an ACK that ended a bin or opened the bins.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub index: u64,
    pub shift: u32,
    pub measurement: Option<Measurement>,
    pub drain_target: Option<Bytes>,
}

/// Runs passive SEARCH over a stream; returns the events by their time in microseconds.
pub fn events(config: SearchConfig, lines: &[Line]) -> BTreeMap<u64, Event> {
    let mut search = Search::new(
        SearchConfig {
            passive: true,
            ..config
        },
        Instant::ZERO,
        0,
    );
    let mut events = BTreeMap::new();
    for line in lines {
        let before = search.bin_end();
        assert_eq!(search.on_delivery(&line.ack(), &window(line.cwnd())), None);
        if search.bin_end() != before {
            let event = Event {
                index: search.index().expect("open bins"),
                shift: search.shift().expect("open bins"),
                measurement: search.measurement(),
                drain_target: search.drain_target(&window(line.cwnd())),
            };
            events.insert(line.micros, event);
        }
    }
    events
}

/// The first decision over a stream: time in microseconds, norm in thousandths, window in segments.
pub fn first_hit(config: SearchConfig, lines: &[Line]) -> Option<(u64, i64, u64)> {
    let mut search = Search::new(
        SearchConfig {
            passive: true,
            ..config
        },
        Instant::ZERO,
        0,
    );
    for line in lines {
        search.on_delivery(&line.ack(), &window(line.cwnd()));
    }
    search.decision().map(|exit| match exit.reason {
        ExitReason::Search { norm_permille, .. } => (
            exit.at.as_nanos() / lines[0].unit,
            norm_permille,
            exit.cwnd.segments(SMSS),
        ),
        other => panic!("{other:?}"),
    })
}

/// A row of an expected file.
pub struct Row {
    pub micros: u64,
    pub index: u64,
    pub acked: u64,
    pub shift: Option<u32>,
    pub previous_index: Option<i64>,
    pub current: Option<u64>,
    pub previous: Option<f64>,
    pub norm: String,
    pub hit: bool,
    pub target: Option<u64>,
    pub note: String,
}

pub fn expected(stream: &str, model: &str) -> Vec<Row> {
    let rows = vectors(&format!("expected_{stream}.csv"));
    rows.iter()
        .filter(|row| row[1] == model)
        .map(|row| Row {
            micros: row[2].parse().expect("a time"),
            index: row[5].parse().unwrap_or(u64::MAX),
            acked: row[6].parse().unwrap_or(u64::MAX),
            shift: row[8].parse().ok(),
            previous_index: row[9].parse().ok(),
            current: row[11].parse().ok(),
            previous: row[12].parse().ok(),
            norm: row[13].clone(),
            hit: row[14] == "1",
            target: row[16].parse().ok(),
            note: row[17].clone(),
        })
        .collect()
}

/// Panics unless `events` agree with all rows of `expected` (tests, openings and resets); returns
/// the number of tests. Rows for which `differs` holds must have no test in `events`.
pub fn agree(
    name: &str,
    model: &str,
    config: SearchConfig,
    lines: &[Line],
    differs: impl Fn(&Row) -> bool,
) -> usize {
    let events = events(config, lines);
    let rows = expected(name, model);
    assert_eq!(
        events.keys().copied().collect::<Vec<_>>(),
        rows.iter().map(|row| row.micros).collect::<Vec<_>>(),
        "{name} {model}: the bins end at these times"
    );
    let mut tests = 0;
    for row in &rows {
        let event = &events[&row.micros];
        let place = format!("{name} {model} at {} us: {event:?}", row.micros);
        assert_eq!(event.index, row.index, "{place}");
        if let Some(shift) = row.shift {
            assert_eq!(event.shift, shift, "{place}");
            let line = lines
                .iter()
                .find(|line| line.micros == row.micros)
                .expect("the event has an ACK");
            assert_eq!(line.acked >> shift, row.acked, "{place}");
        }
        if differs(row) {
            assert!(event.measurement.is_none(), "{place}");
            continue;
        }
        let Some(measurement) = event.measurement.filter(|_| !row.norm.is_empty()) else {
            assert!(
                event.measurement.is_none() && row.norm.is_empty() && !row.hit,
                "{place}"
            );
            continue;
        };
        tests += 1;
        assert_eq!(
            Some(measurement.index as i64 - measurement.look_back as i64),
            row.previous_index,
            "{place}"
        );
        assert_eq!(
            Some(measurement.current.get() >> event.shift),
            row.current,
            "{place}"
        );
        assert_eq!(
            Some((measurement.previous.get() >> event.shift) as f64),
            row.previous,
            "{place}"
        );
        match row.norm.as_str() {
            "<0" => assert!(measurement.norm_permille < 0, "{place}"),
            // The QUIC model saturates at zero.
            "0" if model.starts_with("v4.0-quic") && measurement.norm_permille < 0 => {}
            percent => assert_eq!(
                measurement.norm_permille.div_euclid(10),
                percent.parse::<i64>().expect("a percentage"),
                "{place}"
            ),
        }
        assert_eq!(measurement.hit, row.hit, "{place}");
        if let Some(target) = row.target {
            assert_eq!(
                event.drain_target.map(|target| target.segments(SMSS)),
                Some(target.max(10)),
                "{place}"
            );
        }
    }
    tests
}

/// The arithmetic of Linux 3.1 and 4.0.
pub fn shifted(version: Version) -> SearchConfig {
    SearchConfig {
        arithmetic: Arithmetic::Shifted,
        ..SearchConfig::of(version)
    }
}

/// The stream with the file's microseconds taken as nanoseconds: the QUIC model has bins of whole
/// microseconds, neqo (and `arithmetic=percent`) of whole nanoseconds.
pub fn whole_units(lines: Vec<Line>) -> Vec<Line> {
    lines
        .into_iter()
        .map(|line| Line { unit: 1, ..line })
        .collect()
}

/// The configuration of neqo.
pub fn quic() -> SearchConfig {
    SearchConfig {
        boundary: Some(Boundary::After),
        arithmetic: Arithmetic::Percent,
        app_limited: Some(AppLimited::Skip),
        missed: Missed::Reset,
        alpha: 5,
        extra_bins: Some(16),
        exit: Some(Exit::Plain),
        ..SearchConfig::of(Version::V4_0)
    }
}

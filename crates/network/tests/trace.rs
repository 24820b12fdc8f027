//! Mahimahi traces: the format, the semantics of `link_queue.cc`, and the statistics of recorded
//! traces (docs/reference/sources.md, "Recorded traces").

use crate::common;

use std::sync::Arc;

use common::{assert_conserved, bare, build, packet, pop_all};
use network::trace::{OPPORTUNITY_BYTES, TraceProblem, parse};
use network::{Admission, LinkConfig, QueueLimit, Service, TraceConfig};
use proptest::prelude::*;
use units::{Bytes, Duration, Instant, Rate};

fn link(opportunities_ms: &[u32], repeat: bool) -> LinkConfig {
    let trace = TraceConfig {
        opportunities_ms: opportunities_ms.to_vec(),
        repeat,
    };
    bare(Service::Trace(Arc::new(trace)))
}

fn ms(link: &[(Instant, network::Packet<u64>)]) -> Vec<u64> {
    assert!(link.iter().all(|(due, _)| due.as_nanos() % 1_000_000 == 0));
    link.iter().map(|(due, _)| due.as_millis()).collect()
}

/// A file "1" is 12.032 Mbit/s, 37.6 ACKs of 40 bytes per opportunity.
#[test]
fn one_opportunity_each_millisecond() {
    let trace = parse("1\n", "one").unwrap();
    assert_eq!(trace.mean_rate(), Rate::from_bits_per_sec(12_032_000));
    for (size, expected) in [(40, 37_600), (1500, 1002), (1504, 1000)] {
        let mut link = build(&bare(Service::Trace(Arc::new(trace.clone()))));
        for number in 0..100_000 {
            let _ = link.push(Instant::ZERO, packet(size, number));
        }
        assert_eq!(
            pop_all(&mut link, Instant::from_secs(1)).len(),
            expected,
            "{size}"
        );
        assert_eq!(
            link.capacity(Instant::from_secs(1)),
            Some(Bytes::new(1_504_000))
        );
    }
}

#[test]
fn the_rest_of_an_opportunity_goes_to_the_next_packet_or_is_lost() {
    // Two at once: the second continues where the first ends, so 1504 = 1500 + 4 at 1 ms, the other
    // 1496 at 2 ms, where 8 are left for a third.
    let mut link_ = build(&link(&[1], true));
    for (number, size) in [1500, 1500, 8, 1].into_iter().enumerate() {
        let _ = link_.push(Instant::ZERO, packet(size, number as u64));
    }
    assert_eq!(
        ms(&pop_all(&mut link_, Instant::from_secs(1))),
        [1, 2, 2, 3]
    );
    // Alone: the rest of the opportunity at 1 ms is lost, a packet of 1 byte waits for the next.
    let mut link_ = build(&link(&[1], true));
    let _ = link_.push(Instant::ZERO, packet(1500, 0));
    let _ = link_.push(Instant::from_millis(1), packet(1, 1));
    assert_eq!(ms(&pop_all(&mut link_, Instant::from_secs(1))), [1, 2]);
    // An isolated packet waits for the next millisecond, and a whole one if it arrives on one.
    for (arrival, expected) in [
        (3_000_000, 4),
        (3_000_001, 4),
        (3_999_999, 4),
        (4_000_000, 5),
    ] {
        let mut link_ = build(&link(&[1], true));
        let _ = link_.push(Instant::from_nanos(arrival), packet(1500, 0));
        assert_eq!(ms(&pop_all(&mut link_, Instant::from_secs(1))), [expected]);
    }
    // A packet larger than an opportunity takes several.
    let mut link_ = build(&link(&[1], true));
    let _ = link_.push(Instant::ZERO, packet(4512, 0));
    assert_eq!(ms(&pop_all(&mut link_, Instant::from_secs(1))), [3]);
}

#[test]
fn a_trace_wraps_or_stops() {
    // Second lap: base 5, so the entries 0, 2, 2, 5 come at 5, 7, 7, 10.
    let mut link_ = build(&link(&[0, 2, 2, 5], true));
    for number in 0..9 {
        let _ = link_.push(Instant::ZERO, packet(1504, number));
    }
    assert_eq!(
        ms(&pop_all(&mut link_, Instant::from_secs(1))),
        [2, 2, 5, 5, 7, 7, 10, 10, 12]
    );
    // A late packet finds its lap directly: an hour later, lap 720,000 starts.
    let _ = link_.push(Instant::from_secs(3600), packet(1504, 9));
    assert_eq!(
        ms(&pop_all(&mut link_, Instant::from_secs(3601))),
        [3_600_002]
    );

    let mut link_ = build(&link(&[0, 2, 2, 5], false));
    for number in 0..5 {
        let _ = link_.push(Instant::ZERO, packet(1504, number));
    }
    assert_eq!(ms(&pop_all(&mut link_, Instant::from_secs(1))), [2, 2, 5]);
    assert_eq!((link_.held(), link_.next_event()), (2, None));
    let _ = link_.push(Instant::from_secs(2), packet(1504, 5));
    assert_eq!(pop_all(&mut link_, Instant::from_secs(100)), []);
    assert_eq!(
        link_.capacity(Instant::from_secs(9)),
        Some(Bytes::new(4 * OPPORTUNITY_BYTES))
    );
    assert_conserved(&link_);
}

#[test]
fn the_packet_on_the_link_does_not_count_against_the_queue() {
    let mut config = link(&[1], true);
    config.queue.limit = QueueLimit::Packets(1);
    let mut link_ = build(&config);
    // Three opportunities for one packet, on the link from the first one on.
    assert_eq!(
        link_.push(Instant::ZERO, packet(4512, 0)),
        Admission::Accepted
    );
    assert_eq!(link_.queue_len(Instant::from_micros(999)).0, 1);
    assert_ne!(
        link_.push(Instant::from_micros(999), packet(1500, 1)),
        Admission::Accepted
    );
    assert_eq!(link_.queue_len(Instant::from_millis(1)).0, 0);
    assert_eq!(
        link_.push(Instant::from_millis(1), packet(1500, 2)),
        Admission::Accepted
    );
    assert_eq!(
        link_.busy_since(Instant::from_millis(1)),
        Some(Instant::ZERO)
    );
    assert_eq!(ms(&pop_all(&mut link_, Instant::from_secs(1))), [3, 4]);
}

/// The configuration decides: a scenario sets no overhead for a trace.
#[test]
fn overhead_and_delay_apply_as_configured() {
    for (overhead, expected) in [(0, 21), (14, 22)] {
        let mut config = link(&[1], true);
        config.overhead = overhead;
        config.delay = Duration::from_millis(20);
        let mut link_ = build(&config);
        let _ = link_.push(Instant::ZERO, packet(1504, 0));
        assert_eq!(ms(&pop_all(&mut link_, Instant::from_secs(1))), [expected]);
    }
}

#[test]
fn meaningless_traces_do_not_hang() {
    for opportunities in [&[][..], &[0, 0]] {
        let mut link_ = build(&link(opportunities, true));
        assert_eq!(
            link_.push(Instant::from_secs(1), packet(1500, 0)),
            Admission::Accepted
        );
        assert_eq!((link_.next_event(), link_.held()), (None, 1));
    }
    // Not in order: packets still keep their order.
    let mut link_ = build(&link(&[9, 3, 7], true));
    for number in 0..10 {
        let _ = link_.push(Instant::from_millis(number), packet(1000, number));
    }
    assert_conserved(&link_);
}

#[test]
fn wrong_files_get_one_sentence_with_the_place() {
    let sentence = |text| parse(text, "a.down").unwrap_err().to_string();
    assert_eq!(
        sentence(""),
        "a.down: the trace is empty; it needs one line with a whole number of milliseconds for \
         each delivery opportunity"
    );
    assert_eq!(sentence("\n\n"), sentence(""));
    assert_eq!(
        sentence("1\nx\n"),
        "a.down:2: expected a whole number of milliseconds, found \"x\""
    );
    assert_eq!(
        sentence("1.5\n"),
        "a.down:1: expected a whole number of milliseconds, found \"1.5\""
    );
    assert_eq!(
        sentence("+5"),
        "a.down:1: expected a whole number of milliseconds, found \"+5\""
    );
    assert_eq!(
        sentence("1\n-4\n"),
        "a.down:2: a time below zero; times are milliseconds since the trace began"
    );
    assert_eq!(
        sentence("1\n2\n7 8\n"),
        "a.down:3: expected nothing after the number of milliseconds, found \"8\""
    );
    assert_eq!(
        sentence("5\n3\n"),
        "a.down:2: 3 ms comes after 5 ms; times must not decrease"
    );
    assert_eq!(
        sentence("0\n0\n\n"),
        "a.down:2: the last time is 0 ms, so the trace lasts no time; it must be positive"
    );
    assert_eq!(
        sentence("4294967296"),
        "a.down:1: the time is too large; at most 4294967295 ms can be used"
    );
    assert_eq!(
        sentence("99999999999999999999999999"),
        sentence("4294967296")
    );
    assert_eq!(
        sentence("1\n\n2\n"),
        "a.down:2: a blank line inside the trace; remove it"
    );
    let long = "z".repeat(1_000_000);
    assert!(sentence(&long).len() < 120);
}

#[test]
fn right_files_are_read() {
    for text in [
        "0\n3\n3\n",
        "0\r\n3\r\n3\r\n",
        "0\n3\n3",
        "0\n3\n3\n\n",
        " 0\n3 \n3\n\r\n",
    ] {
        assert_eq!(
            parse(text, "a").unwrap().opportunities_ms,
            [0, 3, 3],
            "{text:?}"
        );
    }
    assert_eq!(
        parse("4294967295", "a").unwrap().opportunities_ms,
        [u32::MAX]
    );
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "[0-9 \r\n.x-]{0,60}|\\PC{0,40}") {
        match parse(&text, "f") {
            Ok(trace) => {
                prop_assert!(trace.lap_ms() > 0 && trace.opportunities_ms.is_sorted());
            }
            Err(error) => {
                prop_assert!(!matches!(error.problem, TraceProblem::Empty) || text.trim().is_empty());
                prop_assert!(!error.to_string().contains('\n'));
            }
        }
    }

    /// Compared with the rules, one millisecond and one byte budget at a time.
    #[test]
    fn a_link_follows_its_trace_by_the_rules(
        gaps in prop::collection::vec(0_u32..4, 1..8),
        last_gap in 1_u32..4,
        repeat: bool,
        arrivals in prop::collection::vec((0_u64..3000, 1_u32..4000), 1..60),
        limit in prop_oneof![Just(None), (0_u64..6).prop_map(Some)],
    ) {
        let mut at = 0;
        let mut opportunities: Vec<u32> = gaps.iter().map(|gap| { at += gap; at }).collect();
        opportunities.push(at + last_gap);
        let mut config = link(&opportunities, repeat);
        config.queue.limit = limit.map_or(QueueLimit::Unlimited, QueueLimit::Packets);

        let mut now = 0;
        let arrivals: Vec<(u64, u32)> =
            arrivals.into_iter().map(|(gap, size)| { now += gap * 1000; (now, size) }).collect();
        let mut built = build(&config);
        let mut taken = Vec::new();
        for (number, (at, size)) in (0..).zip(&arrivals) {
            let admission = built.push(Instant::from_nanos(*at), packet(*size, number));
            taken.push(admission == Admission::Accepted);
        }
        let end_ms = 2000;
        let out: Vec<_> = pop_all(&mut built, Instant::from_millis(end_ms))
            .into_iter().map(|(due, packet)| (due.as_millis(), packet.payload)).collect();
        assert_conserved(&built);

        // The reference: one lap after the other, one entry after the other.
        let mut events: Vec<u64> = Vec::new();
        let mut base = 0;
        while base <= end_ms && (repeat || base == 0) {
            events.extend(opportunities.iter().map(|ms| base + u64::from(*ms)));
            base += u64::from(*opportunities.last().unwrap());
        }
        let mut queue = std::collections::VecDeque::new();
        let mut in_transit: Option<(u64, u64)> = None;
        let (mut expected_out, mut expected_taken) = (Vec::new(), Vec::new());
        let mut events = events.into_iter().filter(|ms| *ms <= end_ms).peekable();
        let mut arrivals = (0..).zip(arrivals).peekable();
        loop {
            // An opportunity at the millisecond of an arrival comes before the arrival.
            let arrival_ms = arrivals.peek().map(|(_, (at, _))| at / 1_000_000);
            match (events.peek().copied(), arrival_ms) {
                (Some(event), arrival) if arrival.is_none_or(|arrival| event <= arrival) => {
                    events.next();
                    let mut budget = OPPORTUNITY_BYTES;
                    while budget > 0 {
                        let Some((number, left)) = in_transit.take().or_else(|| queue.pop_front())
                            else { break };
                        let sent = budget.min(left);
                        budget -= sent;
                        if sent == left {
                            expected_out.push((event, number));
                        } else {
                            in_transit = Some((number, left - sent));
                        }
                    }
                }
                (_, Some(_)) => {
                    let (number, (_, size)) = arrivals.next().unwrap();
                    let room = limit.is_none_or(|limit| (queue.len() as u64) < limit);
                    expected_taken.push(room);
                    if room {
                        queue.push_back((number, u64::from(size)));
                    }
                }
                (_, None) => break,
            }
        }
        prop_assert_eq!(taken, expected_taken);
        prop_assert_eq!(out, expected_out);
    }
}

/// The reference statistics of a recorded trace.
struct Recorded {
    name: &'static str,
    /// In Mbit/s with 1500 bytes for each opportunity, rounded to `decimals`.
    rate: f64,
    decimals: i32,
    /// How many gaps are longer than 200 ms, and the longest gap in ms.
    gaps: Option<(usize, u32)>,
}

const fn recorded(
    name: &'static str,
    rate: f64,
    decimals: i32,
    gaps: Option<(usize, u32)>,
) -> Recorded {
    Recorded {
        name,
        rate,
        decimals,
        gaps,
    }
}

const RECORDED: [Recorded; 7] = [
    recorded("Verizon-LTE-short.down", 5.03, 2, Some((5, 1447))),
    recorded("Verizon-LTE-short.up", 5.95, 2, None),
    recorded("TMobile-LTE-short.down", 16.7, 1, Some((9, 917))),
    recorded("TMobile-LTE-short.up", 13.3, 1, None),
    recorded("TMobile-UMTS-driving.down", 2.02, 2, Some((165, 5753))),
    recorded("TMobile-UMTS-driving.up", 0.94, 2, Some((112, 5830))),
    recorded("starlink-leocc.rate", 48.7, 1, None),
];

#[test]
fn recorded_traces_have_the_reference_statistics() {
    for Recorded {
        name,
        rate,
        decimals,
        gaps,
    } in RECORDED
    {
        let Some(text) = testing::traces::read(name) else {
            return;
        };
        let trace = parse(&text, name).unwrap();
        let mbit = trace.mean_rate().bits_per_sec() as f64 * 1500.0 / 1504.0 / 1e6;
        let scale = 10_f64.powi(decimals);
        assert_eq!((mbit * scale).round() / scale, rate, "{name}: {mbit}");
        let Some((long_gaps, longest)) = gaps else {
            continue;
        };
        let gaps = || {
            trace
                .opportunities_ms
                .windows(2)
                .map(|pair| pair[1] - pair[0])
        };
        assert_eq!(gaps().filter(|gap| *gap > 200).count(), long_gaps, "{name}");
        assert_eq!(gaps().max(), Some(longest), "{name}");

        // A saturated link carries every byte of the trace.
        let mut link_ = build(&bare(Service::Trace(Arc::new(trace.clone()))));
        let entries = trace.opportunities_ms.len() as u64;
        for number in 0..=entries {
            let _ = link_.push(Instant::ZERO, packet(1504, number));
        }
        // The entries "0" of the first lap come before the packets; those of the second lap come
        // with the last entry of the first.
        let lap = Instant::from_millis(u64::from(trace.lap_ms()));
        assert_eq!(pop_all(&mut link_, lap).len() as u64, entries, "{name}");
    }
}

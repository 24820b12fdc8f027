//! Policers: the arithmetic of their tokens.

use crate::common;

use common::{MBIT, assert_conserved, bare, build, fixed, packet, pop_all};
use network::access::PolicerConfig;
use network::{
    AccessConfig, Admission, CoDelConfig, Discipline, DropReason, Ecn, Link, Packet, QueueLimit,
    Service,
};
use proptest::prelude::*;
use units::{Bytes, Duration, Instant, Rate};

const POLICER: PolicerConfig = PolicerConfig {
    rate: Rate::from_bits_per_sec(10 * MBIT),
    burst: Bytes::new(32_000),
    then: Rate::from_bits_per_sec(100 * MBIT),
    marks: false,
};

fn service(config: PolicerConfig) -> Service {
    Service::Access(AccessConfig::Policer(config).into())
}

fn link(config: PolicerConfig) -> Link<u64> {
    build(&bare(service(config)))
}

const DROPPED: Admission = Admission::Dropped(DropReason::Early);

#[test]
fn a_burst_passes_at_the_rate_of_the_line_and_the_next_packet_does_not() {
    let mut link = link(POLICER);
    let start = Instant::from_secs(1);
    let taken: Vec<_> = (0..30)
        .map(|number| link.push(start, packet(1500, number)))
        .collect();
    // 32000 bytes are 21 packets and 500 bytes.
    assert!(taken[..21].iter().all(|one| *one == Admission::Accepted));
    assert!(taken[21..].iter().all(|one| *one == DROPPED));
    // 1000 bytes are missing, which take 800 us at 10 Mbit/s; a dropped packet takes none.
    let nearly = start + Duration::from_nanos(799_999);
    assert_eq!(link.push(nearly, packet(1500, 30)), DROPPED);
    // There are enough tokens for a smaller packet.
    assert_eq!(link.push(nearly, packet(1499, 31)), Admission::Accepted);
    let due: Vec<_> = pop_all(&mut link, Instant::MAX)
        .iter()
        .map(|(due, _)| (*due - start).as_nanos())
        .collect();
    let expected: Vec<_> = (1..=21).map(|number| number * 120_000).collect();
    assert_eq!(due[..21], expected);
    assert_eq!(due[21], 21 * 120_000 + 119_920);
    assert_eq!(link.counters().drops_early, 10);
    assert_conserved(&link);
}

#[test]
fn a_long_overload_passes_the_burst_and_the_rate() {
    // Twice the rate for 60 s: 32000 bytes and 10 Mbit/s, in packets of 1500 bytes.
    let mut link = link(POLICER);
    for number in 0..100_000_u64 {
        let at = Instant::from_micros(number * 600);
        let _ = link.push(at, packet(1500, number));
    }
    let last = Instant::from_micros(99_999 * 600);
    let passed = link.counters().packets_in - link.counters().dropped();
    let tokens = 32_000 + 10 * MBIT / 8 * last.as_micros() / 1_000_000;
    assert_eq!(passed, tokens / 1500);
    assert_eq!(passed, 50_020);
    // Without randomness, every other packet is dropped once the burst is used up.
    let _ = pop_all(&mut link, Instant::MAX);
    assert_eq!(link.counters().dropped(), 100_000 - 50_020);
    assert!(link.utilization(last) > 0.9999);
    assert_eq!(link.queue_max_packets(), 1);
}

#[test]
fn half_the_rate_keeps_no_policer_busy_and_more_than_the_rate_does() {
    let periods = |gap_us: u64| {
        let mut link = link(POLICER);
        for number in 0..2000 {
            let at = Instant::from_micros(number * gap_us);
            let _ = pop_all(&mut link, at);
            let _ = link.push(at, packet(1500, number));
        }
        link.busy_periods()
    };
    assert_eq!(periods(2400), 2000);
    // The line itself, ten times as fast, is idle between them.
    assert_eq!(periods(1100), 1);
}

#[test]
fn a_policer_can_mark_ecn_capable_packets() {
    let mut link = link(PolicerConfig {
        marks: true,
        ..POLICER
    });
    let start = Instant::from_secs(1);
    let offer = |link: &mut Link<u64>, number, ecn| {
        link.push(
            start,
            Packet {
                ecn,
                ..packet(1500, number)
            },
        )
    };
    for number in 0..30 {
        assert_eq!(offer(&mut link, number, Ecn::Ect), Admission::Accepted);
    }
    assert_eq!(offer(&mut link, 30, Ecn::NotEct), DROPPED);
    // Marked before this link: it passes, and does not count as a mark of this link.
    assert_eq!(offer(&mut link, 31, Ecn::Ce), Admission::Accepted);
    let marked = pop_all(&mut link, Instant::MAX)
        .iter()
        .filter(|(_, packet)| packet.ecn == Ecn::Ce)
        .count();
    assert_eq!(marked, 10);
    assert_eq!((link.counters().marks, link.counters().drops_early), (9, 1));
    // The marked packet took no tokens.
    let later = start + Duration::from_micros(800);
    assert_eq!(link.push(later, packet(1500, 32)), Admission::Accepted);
}

#[test]
fn the_queue_behind_is_the_links_own() {
    let mut config = bare(service(POLICER));
    config.queue.limit = QueueLimit::Packets(10);
    for discipline in [
        Discipline::DropTail,
        Discipline::CoDel(CoDelConfig::default()),
    ] {
        config.queue.discipline = discipline;
        let mut link = build(&config);
        let taken: Vec<_> = (0..21)
            .map(|number| link.push(Instant::ZERO, packet(1500, number)))
            .collect();
        // One on the line, ten in the queue; the others had tokens but found the queue full.
        let full = Admission::Dropped(DropReason::Overflow);
        assert_eq!(taken.iter().filter(|one| **one == full).count(), 10);
        assert_eq!(link.push(Instant::ZERO, packet(1500, 21)), DROPPED);
        let _ = pop_all(&mut link, Instant::MAX);
        assert_conserved(&link);
    }
}

proptest! {
    /// No span passes more than its tokens, conforming packets use the line as if it had no
    /// policer, and no packet with tokens is refused.
    #[test]
    fn tokens_are_counted_exactly(
        arrivals in prop::collection::vec((0_u64..3_000_000, 40_u32..1500), 1..300),
    ) {
        let mut policed = link(POLICER);
        let mut line = build(&bare(fixed(100 * MBIT)));
        // In bits times 10^9.
        let depth = 32_000_u128 * 8_000_000_000;
        let (mut at, mut tokens) = (Instant::ZERO, depth);
        for (number, (gap, size)) in (0_u64..).zip(arrivals) {
            at += Duration::from_nanos(gap);
            tokens = (tokens + u128::from(gap) * u128::from(10 * MBIT)).min(depth);
            let work = u128::from(size) * 8_000_000_000;
            let expected = tokens >= work;
            if expected {
                tokens -= work;
                let _ = line.push(at, packet(size, number));
            }
            prop_assert_eq!(policed.push(at, packet(size, number)) == Admission::Accepted, expected);
        }
        prop_assert_eq!(pop_all(&mut policed, Instant::MAX), pop_all(&mut line, Instant::MAX));
        assert_conserved(&policed);
    }
}

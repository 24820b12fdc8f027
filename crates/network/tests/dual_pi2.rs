//! DualPI2 against an independent model of RFC 9332, appendix A (`conformance/dual_pi2.py`).

use crate::common;

use common::{MBIT, assert_conserved, bare, build, fixed, packet, pop_all};
use network::{Discipline, DualPi2Config, Ecn, Packet};
use units::Instant;

/// What became of packets that do not respond to marks, in 3 s at 10 Mbit/s.
struct Outcome {
    /// Times of drops and marks in tenths of a millisecond.
    drops: Vec<u64>,
    marks: Vec<u64>,
    /// Of the L4S queue, and of the classic one.
    dropped: [usize; 2],
    marked: [usize; 2],
    delivered: [usize; 2],
    /// The longest waits in microseconds.
    longest: [u64; 2],
}

/// Flows are pairs of a codepoint and a gap; all begin at zero.
fn offer(flows: &[(Ecn, u64)], ecn: bool) -> Outcome {
    let mut config = bare(fixed(10 * MBIT));
    config.queue.discipline = Discipline::DualPi2(DualPi2Config {
        ecn,
        ..DualPi2Config::default()
    });
    let mut link = build(&config);
    let end = 3_000_000;
    let mut arrivals = Vec::new();
    for (order, &(ecn, gap)) in flows.iter().enumerate() {
        arrivals.extend((0..=end / gap).map(|number| (number * gap, order, ecn)));
    }
    arrivals.sort_by_key(|&(at, order, _)| (at, order));
    let mut outcome = Outcome {
        drops: Vec::new(),
        marks: Vec::new(),
        dropped: [0; 2],
        marked: [0; 2],
        delivered: [0; 2],
        longest: [0; 2],
    };
    let queue = |order: usize| usize::from(flows[order].0 != Ecn::Ect1);
    // The payload tells the flow and when the packet came.
    let flow_and_time = |payload: u64| ((payload % 8) as usize, payload / 8);
    for (at, order, ecn) in arrivals {
        let now = Instant::from_micros(at);
        let packet = Packet {
            ecn,
            flow: order as u32,
            ..packet(1500, at * 8 + order as u64)
        };
        let _ = link.push(now, packet);
        for (due, packet) in pop_all(&mut link, now) {
            let (order, came) = flow_and_time(packet.payload);
            let left = due.as_micros() - 1200;
            outcome.delivered[queue(order)] += 1;
            let longest = &mut outcome.longest[queue(order)];
            *longest = (*longest).max(left - came);
            if packet.ecn == Ecn::Ce {
                outcome.marks.push(left / 100);
                outcome.marked[queue(order)] += 1;
            }
        }
        while let Some(dropped) = link.take_dropped() {
            let (order, _) = flow_and_time(dropped.packet.payload);
            outcome.drops.push(dropped.at.as_micros() / 100);
            outcome.dropped[queue(order)] += 1;
        }
    }
    assert_conserved(&link);
    outcome
}

#[test]
fn a_classic_load_is_dropped_by_the_square() {
    let found = offer(&[(Ecn::NotEct, 1000)], false);
    assert_eq!(
        found.drops[..10],
        [2412, 2904, 3240, 3504, 3720, 3912, 4080, 4224, 4368, 4488]
    );
    assert_eq!((found.dropped, found.marked), ([0, 484], [0, 0]));
    assert_eq!(found.longest, [0, 72_600]);
}

#[test]
fn a_classic_load_is_marked_until_the_overload() {
    let found = offer(&[(Ecn::Ect, 1000)], true);
    assert_eq!(
        found.marks[..10],
        [2412, 2904, 3228, 3480, 3696, 3864, 4032, 4164, 4296, 4416]
    );
    assert_eq!(
        found.drops[..10],
        [5772, 5808, 5844, 5880, 5916, 5952, 5988, 6012, 6048, 6084]
    );
    assert_eq!(found.dropped, [0, 486]);
    assert!(found.marked[1].abs_diff(184) <= 1, "{:?}", found.marked);
}

#[test]
fn an_l4s_load_is_marked_by_the_ramp_and_dropped_under_overload() {
    let found = offer(&[(Ecn::Ect1, 1000)], false);
    assert_eq!(
        found.marks[..10],
        [84, 96, 108, 120, 132, 144, 156, 168, 180, 192]
    );
    assert_eq!(
        found.drops[..10],
        [5760, 5784, 5820, 5856, 5892, 5928, 5964, 6000, 6036, 6072]
    );
    assert_eq!(found.dropped, [484, 0]);
    assert_eq!(found.longest, [95_800, 0]);
}

/// 8 Mbit/s of classic and 4 of L4S traffic: no L4S packet waits for more than the packet in service.
#[test]
fn the_l4s_queue_stays_short_beside_a_classic_one() {
    let found = offer(&[(Ecn::NotEct, 1500), (Ecn::Ect1, 3000)], false);
    assert_eq!(
        found.marks[..10],
        [732, 972, 1176, 1332, 1476, 1596, 1692, 1812, 1896, 1992]
    );
    assert_eq!(
        found.drops[..10],
        [2088, 2520, 2820, 3060, 3264, 3420, 3588, 3708, 3828, 3948]
    );
    assert_eq!(found.dropped, [42, 448]);
    assert_eq!(found.longest, [1200, 91_800]);
}

/// Twice 12 Mbit/s: each queue gets the share that the coupling leaves it, and the L4S queue has
/// priority.
#[test]
fn both_queues_drop_alike_under_overload() {
    let found = offer(&[(Ecn::NotEct, 1000), (Ecn::Ect1, 1000)], false);
    assert_eq!(
        found.drops[..10],
        [1452, 1476, 1512, 1524, 1548, 1584, 1632, 1656, 1680, 1716]
    );
    assert_eq!(found.dropped, [1707, 1779]);
    assert_eq!(found.longest, [36_400, 201_000]);
}

//! Links that reorder packets: worked numbers, and the order and the conservation of any link.

use network::{Admission, CoDelConfig, Discipline, LinkConfig, ReorderingConfig, Service, Shift};
use units::{Duration, Instant};

use crate::common;
use common::{MBIT, assert_conserved, bare, build, fixed, packet, pop_all};

fn reordering(probability: f64, millis: u64, shift: Shift, gap: u32) -> ReorderingConfig {
    ReorderingConfig {
        probability,
        delay: Duration::from_millis(millis),
        shift,
        gap,
    }
}

/// A delay line of 10 ms that reorders.
fn wire(reordering: ReorderingConfig) -> LinkConfig {
    LinkConfig {
        delay: Duration::from_millis(10),
        reordering: Some(reordering),
        ..bare(Service::Unlimited)
    }
}

/// Numbers and due times, in ms, of packets of which one is sent every millisecond.
fn one_per_millisecond(config: &LinkConfig, count: u64) -> Vec<(u64, u64)> {
    let mut link = build(config);
    let mut out = Vec::new();
    for number in 0..count {
        let now = Instant::from_millis(number);
        out.extend(pop_all(&mut link, now));
        assert_eq!(link.push(now, packet(100, number)), Admission::Accepted);
        assert_conserved(&link);
    }
    out.extend(pop_all(&mut link, Instant::from_secs(1000)));
    assert_conserved(&link);
    let millis = |due: Instant| due.as_nanos() / 1_000_000;
    let result = out.iter();
    result
        .map(|(due, packet)| (packet.payload, millis(*due)))
        .collect()
}

#[test]
fn packets_overtake_one_that_comes_later() {
    // Each third packet is certain to leave its place: 2 is due at 12 + 5 ms, 5 at 15 + 5 ms.
    let config = wire(reordering(1.0, 5, Shift::Later, 3));
    let expected = [
        (0, 10),
        (1, 11),
        (3, 13),
        (4, 14),
        (6, 16),
        (2, 17),
        (7, 17),
        (5, 20),
        (8, 23),
    ];
    assert_eq!(one_per_millisecond(&config, 9), expected);
    assert_eq!(build(&config).shortest_delay(), config.delay);
}

#[test]
fn one_that_comes_earlier_overtakes_as_with_netem() {
    // `delay 10ms reorder 100% gap 5` of netem: four packets are delayed, the fifth is sent at once.
    let config = wire(reordering(1.0, 10, Shift::Earlier, 5));
    let expected = [
        (4, 4),
        (9, 9),
        (0, 10),
        (1, 11),
        (2, 12),
        (3, 13),
        (5, 15),
        (6, 16),
        (7, 17),
        (8, 18),
    ];
    assert_eq!(one_per_millisecond(&config, 10), expected);
    assert_eq!(build(&config).shortest_delay(), Duration::ZERO);
}

#[test]
fn a_packet_leaves_its_place_with_its_probability() {
    let moved = |gap| {
        let config = wire(reordering(0.25, 5, Shift::Later, gap));
        let out = one_per_millisecond(&config, 40_000);
        let late = |(number, due): &&(u64, u64)| *due == number + 15;
        out.iter().filter(late).count() as f64 / 40_000.0
    };
    // Four standard errors: sqrt(0.25 * 0.75 / 40,000) = 0.0022.
    assert!((moved(1) - 0.25).abs() < 0.0087, "{}", moved(1));
    // With a gap of 4: three packets that may not, and 4 on average that may. 1 of 7.
    assert!((moved(4) - 1.0 / 7.0).abs() < 0.0087, "{}", moved(4));
}

#[test]
fn a_queue_and_its_counters_do_not_notice() {
    // 1500 bytes at 12 Mbit/s take 1 ms; a queue of 5 packets.
    let plain = LinkConfig {
        delay: Duration::from_millis(10),
        queue: network::QueueConfig {
            limit: network::QueueLimit::Packets(5),
            discipline: Discipline::DropTail,
        },
        ..bare(fixed(12 * MBIT))
    };
    let reordered = LinkConfig {
        reordering: Some(reordering(0.3, 3, Shift::Later, 1)),
        ..plain.clone()
    };
    let run = |config: &LinkConfig| {
        let mut link = build(config);
        let (mut out, mut left) = (Vec::new(), Vec::new());
        for number in 0..400_u64 {
            let now = Instant::from_micros(number * 800);
            let _ = link.push(now, packet(1500, number));
        }
        while let Some(next) = link.next_event() {
            left.extend(link.front_left());
            let (due, packet) = link.pop(next).expect("a packet is due");
            assert_eq!(due, next);
            out.push((packet.payload, due));
        }
        let end = Instant::from_secs(1);
        let counters = (
            link.counters(),
            link.queue_max_packets(),
            link.busy_time(end),
        );
        assert_conserved(&link);
        (out, left, counters)
    };
    let (places, _, counters) = run(&plain);
    let (mut out, left, same) = run(&reordered);
    assert_eq!(counters, same);
    assert!(
        out.windows(2).all(|pair| pair[0].1 <= pair[1].1),
        "in order of time"
    );
    assert!(
        out.windows(2).any(|pair| pair[0].0 > pair[1].0),
        "packets overtake"
    );
    // Each packet reports when it left the server itself, in whatever order it is delivered.
    for ((number, due), (leaves, _)) in out.iter().zip(&left) {
        let place = places
            .iter()
            .find(|(own, _)| own == number)
            .expect("accepted")
            .1;
        assert_eq!(*leaves + plain.delay, place);
        assert!(*due == place || *due == place + Duration::from_millis(3));
    }
    out.sort_unstable();
    assert!(
        out.iter()
            .map(|(number, _)| number)
            .eq(places.iter().map(|(number, _)| number))
    );
}

#[test]
fn a_link_that_cannot_reorder_says_so() {
    let mut config = wire(reordering(0.1, 11, Shift::Earlier, 1));
    assert!(
        config
            .cannot_reorder()
            .expect("too early")
            .contains("more than its delay")
    );
    config.delay = Duration::from_millis(11);
    assert_eq!(config.cannot_reorder(), None);
    config.service = fixed(MBIT);
    config.queue.discipline = Discipline::CoDel(CoDelConfig::DEFAULT);
    assert!(
        config
            .cannot_reorder()
            .expect("late")
            .contains("another link")
    );
}

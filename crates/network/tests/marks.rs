//! A link measured from a mark: worked by hand, for each kind of queue.

use crate::common;

use common::{MBIT, bare, build, fixed, packet, pop_all};
use network::{CoDelConfig, Discipline, Link, LinkConfig, QueueLimit, RandomAboveConfig};
use units::Instant;

/// 12 Mbit/s, so that a packet of 1500 bytes takes 1 ms, and room for 9 packets.
fn links() -> Vec<Link<u64>> {
    let disciplines = [
        Discipline::DropTail,
        Discipline::RandomAbove(RandomAboveConfig {
            fill: 1.0,
            probability: 0.5,
        }),
        Discipline::CoDel(CoDelConfig::default()),
    ];
    let link = |discipline| {
        let mut config: LinkConfig = bare(fixed(12 * MBIT));
        config.queue.limit = QueueLimit::Packets(9);
        config.queue.discipline = discipline;
        build(&config)
    };
    disciplines.into_iter().map(link).collect()
}

const fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

#[test]
fn the_time_before_the_mark_does_not_count() {
    for mut link in links() {
        // 12 packets at 0: one in service, nine in the queue, two dropped. Five more at 100 ms.
        for number in 0..12 {
            let _ = link.push(at(0), packet(1500, number));
        }
        // At 5 ms the packets that start at 6, 7, 8 and 9 ms wait, 10 ms in total, and 5 ms of
        // service remain.
        let early = link.mark(at(5));
        let late = link.mark(at(50));
        assert_eq!(pop_all(&mut link, at(99)).len(), 10);
        for number in 0..5 {
            let _ = link.push(at(100), packet(1500, number));
        }
        assert_eq!(pop_all(&mut link, at(200)).len(), 5);
        let whole = link.summary(at(200));
        assert_eq!(
            (whole.counters.packets_out, whole.counters.dropped()),
            (15, 2)
        );
        for (mark, busy, queued, span) in [(early, 10.0, 20.0, 195.0), (late, 5.0, 10.0, 150.0)] {
            let since = link.summary_since(&mark, at(200));
            let utilization = since.utilization.expect("it has a rate");
            assert!((utilization - busy / span).abs() < 1e-9, "{utilization}");
            let queue = since.queue_mean_packets;
            assert!((queue - queued / span).abs() < 1e-9, "{queue}");
            assert_eq!(
                (since.counters.packets_in, since.counters.packets_out),
                (5, 5)
            );
            assert_eq!(since.counters.dropped(), 0);
        }
    }
}

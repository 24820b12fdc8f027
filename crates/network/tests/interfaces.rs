//! Interfaces of hosts: the same drops, departures and results as links of their configuration.

use crate::common;

use common::{MBIT, bare, build, fixed, packet};
use network::{
    Admission, Discipline, Interface, InterfaceClass, InterfaceSummary, LinkConfig, QueueLimit,
    RedConfig, Service, Summary,
};
use proptest::prelude::*;
use units::{Bytes, Duration, Instant};

/// What a [`Summary`] has of an interface.
fn of_link(summary: Summary) -> InterfaceSummary {
    InterfaceSummary {
        utilization: summary.utilization.unwrap_or(-1.0),
        packets: summary.counters.packets_out,
        drops: summary.counters.dropped(),
        queue_max_packets: summary.queue_max_packets,
        queue_mean_packets: summary.queue_mean_packets,
    }
}

fn limits() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        2 => (0_u64..20).prop_map(QueueLimit::Packets),
        1 => (0_u64..20_000).prop_map(|bytes| QueueLimit::Bytes(Bytes::new(bytes))),
        1 => Just(QueueLimit::Unlimited),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Two interfaces of a class take packets and bursts in turn, and neither changes what the other one
    /// does.
    #[test]
    fn an_interface_serves_packets_as_its_link(
        rate in prop_oneof![1_000_000_u64..1_000_000_000, 1_000_000_000_u64..=160_000_000_000],
        limit in limits(),
        overhead in 0_u32..40,
        delay in 0_u64..5_000_000,
        packets in prop::collection::vec(
            (
                // Also pauses after which the next packet comes as the last one leaves.
                prop_oneof![3 => Just(None), 3 => (0_u64..200_000).prop_map(Some), 1 => (0_u64..50_000_000).prop_map(Some)],
                prop_oneof![2 => Just(1500_u32), 1 => Just(52), 1 => 20_u32..3000],
                any::<bool>(),
                prop_oneof![2 => Just(1_u32), 1 => 1_u32..12],
            ),
            1..200,
        ),
    ) {
        let mut config = bare(fixed(rate));
        config.queue.limit = limit;
        config.overhead = overhead;
        config.delay = Duration::from_nanos(delay);
        let mut class = InterfaceClass::new(&config).expect("a plain link");
        let mut links = [build(&config), build(&config)];
        let mut interfaces = [Interface::default(), Interface::default()];
        let mut dues = [Vec::new(), Vec::new()];
        let mut now = Instant::ZERO;
        for (number, (pause, size, which, count)) in (0..).zip(packets) {
            let which = usize::from(which);
            let idle = links[which].busy_until().max(now);
            now = pause.map_or(idle, |pause| now + Duration::from_nanos(pause));
            let mut departures = Vec::new();
            for _ in 0..count {
                if links[which].push(now, packet(size, number)) == Admission::Accepted {
                    departures.push(links[which].busy_until());
                }
            }
            let mut leaves = Vec::new();
            if count == 1 {
                leaves.extend(interfaces[which].send(&mut class, now, size));
            } else {
                let burst = (size, count);
                let taken = interfaces[which].send_burst(&mut class, now, burst, |at| leaves.push(at));
                prop_assert_eq!(taken as usize, leaves.len());
            }
            prop_assert_eq!(&leaves, &departures);
            prop_assert_eq!(interfaces[which].busy_until(), links[which].busy_until());
            dues[which].extend(leaves.iter().map(|&at| (at + config.delay, size)));
        }
        for ((mut link, mut interface), dues) in links.into_iter().zip(interfaces).zip(dues) {
            prop_assert!(dues.is_sorted_by(|(one, _), (next, _)| one < next));
            let arrived = dues.partition_point(|(due, _)| *due <= now);
            for &due in &dues[..arrived] {
                let popped = link.pop(now).map(|(at, packet)| (at, packet.size));
                prop_assert_eq!(popped, Some(due));
            }
            for _ in &dues[arrived..] {
                interface.recall();
            }
            prop_assert!(link.counters().conserve(link.held()));
            prop_assert_eq!(interface.summary(&mut class, now), of_link(link.summary(now)));
        }
    }
}

#[test]
fn only_a_plain_link_is_an_interface() {
    let class = |change: fn(&mut LinkConfig)| {
        let mut config = bare(fixed(100 * MBIT));
        change(&mut config);
        InterfaceClass::new(&config).is_some()
    };
    assert!(class(|_| ()));
    assert!(class(|config| config.service = fixed(160_000 * MBIT)));
    // Two of the shortest packets would be due at one instant.
    assert!(!class(|config| config.service = fixed(160_000 * MBIT + 1)));
    assert!(!class(|config| config.service = Service::Unlimited));
    assert!(!class(|config| config.service = fixed(0)));
    assert!(!class(|config| config.overhead = u32::MAX));
    assert!(!class(|config| {
        config.queue.discipline = Discipline::Red(RedConfig::default());
    }));
}

//! The whole stack against published packet delivery ratios of mobile networks: 50 nodes in
//! 1500 m x 300 m that move at up to 20 m/s, with 20 flows of four packets of 64 bytes per second for
//! 900 s (Broch, Maltz, Johnson, Hu and Jetcheva, MobiCom 1998, section 5; numbers from memory).
//! Their DSDV does not use the MAC to detect broken links, and DSDV-SQ advertises each newer sequence
//! number.
#![allow(clippy::print_stdout, reason = "tests print their measurements")]

use network::{Ecn, Packet, Streams};
use units::{Duration, Instant};
use wireless::adhoc::mobility::{Area, RandomWaypointConfig, WaypointStart};
use wireless::adhoc::routing::aodv::AodvConfig;
use wireless::adhoc::routing::dsdv::DsdvConfig;
use wireless::adhoc::{AdHocConfig, MobilityConfig, RoutingConfig};
use wireless::{Cloud, DropCause, NodeId};

#[derive(Debug)]
struct Outcome {
    ratio: f64,
    /// By cause, in the order of the causes.
    drops: Vec<(&'static str, u64)>,
    messages: u64,
}

/// Flow i goes from node i to node 2i + 1.
fn run(routing: RoutingConfig, pause: u64, seconds: u64, seed: u64) -> Outcome {
    let config = AdHocConfig {
        area: Area {
            width: 1500.0,
            height: 300.0,
        },
        mobility: MobilityConfig::RandomWaypoint(RandomWaypointConfig {
            min_speed: 0.0,
            max_speed: 20.0,
            pause: Duration::from_secs(pause),
            start: WaypointStart::Uniform,
        }),
        routing,
        ..AdHocConfig::new(50)
    };
    let mut cloud: Box<dyn Cloud<u64>> = config.build(&Streams::new(seed));
    let take = |cloud: &mut Box<dyn Cloud<u64>>, until: Instant| {
        while cloud.next_event() <= until {
            cloud.advance(until);
            while cloud.pop().is_some() {}
            while cloud.take_lost().is_some() {}
        }
    };
    // Flows start one after the other within the first 180 s; each sends a packet every 250 ms.
    for tick in 0..seconds * 80 {
        let now = Instant::from_nanos(tick * 12_500_000);
        let flow = (tick % 20) as u32;
        if now < Instant::from_secs(u64::from(flow) * 9) {
            continue;
        }
        take(&mut cloud, now);
        let packet = Packet {
            size: 64 + 20,
            flow,
            ecn: Ecn::NotEct,
            payload: tick,
        };
        cloud.send(now, NodeId(flow), NodeId((flow * 2 + 1) % 50), packet);
    }
    let end = Instant::from_secs(seconds + 5);
    take(&mut cloud, end);
    let counters = cloud.counters().clone();
    let summary = cloud.summary(end);
    assert!(counters.conserve(cloud.held()));
    let drops = DropCause::ALL
        .iter()
        .map(|cause| (cause.name(), counters.dropped_by(*cause)));
    let outcome = Outcome {
        ratio: counters.delivered as f64 / counters.offered as f64,
        drops: drops.filter(|(_, count)| *count > 0).collect(),
        messages: summary.routing.map_or(0, |routing| routing.messages),
    };
    println!("{} {pause} s {outcome:?}", routing.name());
    outcome
}

const DSDV_SQ: RoutingConfig = RoutingConfig::Dsdv(DsdvConfig {
    mac_detection: false,
    sequence_triggers: true,
    ..DsdvConfig::DEFAULT
});
const AODV: RoutingConfig = RoutingConfig::Aodv(AodvConfig::DEFAULT);

#[test]
fn dsdv_sq_loses_a_third_of_the_packets_of_nodes_that_always_move() {
    let outcome = run(DSDV_SQ, 0, 900, 2);
    // Published: 0.70.
    assert!((0.60..0.80).contains(&outcome.ratio), "{outcome:?}");
    // Packets follow routes over broken links.
    let [.., (cause, count)] = outcome.drops[..] else {
        panic!("{outcome:?}");
    };
    let most = outcome.drops.iter().map(|(_, count)| *count).max();
    assert_eq!((cause, Some(count)), ("retry-limit", most));
    // Each of 50 nodes sends an update in every second: published 45,000.
    assert!((43_000..48_000).contains(&outcome.messages), "{outcome:?}");
}

#[test]
fn aodv_delivers_nearly_all() {
    // Published: above 0.95 for all pauses.
    let outcome = run(AODV, 0, 900, 1);
    assert!((0.95..0.999).contains(&outcome.ratio), "{outcome:?}");
}

#[test]
fn all_deliver_nearly_all_between_nodes_that_rest() {
    let dsdv = RoutingConfig::Dsdv(DsdvConfig::DEFAULT);
    for routing in [dsdv, DSDV_SQ, AODV] {
        let outcome = run(routing, 900, 200, 1);
        assert!(outcome.ratio > 0.99, "{outcome:?}");
    }
}

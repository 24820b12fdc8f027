//! Packets through constellations: delays, queues, handovers, conservation
//! (docs/reference/networks/constellation.md).

use network::{Ecn, Packet, Streams};
use proptest::prelude::*;
use units::{Duration, Instant, Rate};
use wireless::constellation::{Constellation, ConstellationConfig, Terminal, Tracker};
use wireless::{Cloud, CloudConfig, Delivery, DropCause, Lost, NodeId};

fn seconds(seconds: f64) -> Instant {
    Instant::from_nanos((seconds * 1e9).round() as u64)
}

fn packet(size: u32, payload: u64) -> Packet<u64> {
    Packet {
        size,
        flow: 0,
        ecn: Ecn::NotEct,
        payload,
    }
}

fn terminals() -> Vec<Terminal> {
    vec![
        Terminal::new("berkeley", 37.9, -122.3),
        Terminal::new("boston", 42.3, -71.1),
        Terminal::new("sydney", -33.9, 151.2),
        Terminal::new("svalbard", 78.2, 15.6),
    ]
}

fn cloud(config: &ConstellationConfig, seed: u64) -> Constellation<u64> {
    Constellation::new(config, &terminals(), &Streams::new(seed))
}

fn tracker(config: &ConstellationConfig, seed: u64) -> Tracker {
    Tracker::new(config, &terminals(), &Streams::new(seed))
}

/// What came out of a cloud.
#[derive(Debug, Default, PartialEq)]
struct Out {
    delivered: Vec<Delivery<u64>>,
    lost: Vec<Lost<u64>>,
}

impl Out {
    /// Advances to `until`, event by event; events are due when they are said to be.
    fn run(&mut self, cloud: &mut Constellation<u64>, until: Instant) {
        while cloud.next_event() <= until {
            let next = cloud.next_event();
            cloud.advance(next);
            self.take(cloud);
            assert!(
                cloud.next_event() > next,
                "an instant is performed as a whole"
            );
        }
        cloud.advance(until);
        self.take(cloud);
    }

    fn take(&mut self, cloud: &mut Constellation<u64>) {
        self.delivered.extend(core::iter::from_fn(|| cloud.pop()));
        self.lost.extend(core::iter::from_fn(|| cloud.take_lost()));
        assert!(cloud.counters().conserve(cloud.held()));
        assert_eq!(cloud.counters().delivered, self.delivered.len() as u64);
        assert_eq!(cloud.counters().dropped(), self.lost.len() as u64);
    }
}

const A: NodeId = NodeId(0);
const B: NodeId = NodeId(1);

/// Each ground link adds the transmission of 210 bytes at 1.5 Mbit/s (1.12 ms), each link between
/// satellites 0.0672 ms; the rest is propagation.
#[test]
fn a_packet_takes_the_route_of_its_instant() {
    let config = ConstellationConfig::iridium();
    let mut tracker = tracker(&config, 1);
    let mut cloud = cloud(&config, 1);
    assert_eq!(cloud.node_count(), 4);
    let mut hops = [0; 12];
    let mut out = Out::default();
    for probe in 0..200_u32 {
        let at = seconds(1.0 + 60.01 * f64::from(probe));
        assert_eq!(
            cloud.next_event(),
            Instant::MAX,
            "no event while no packet is inside"
        );
        let route = tracker.route(0, 1, at).unwrap();
        cloud.advance(at);
        cloud.send(at, A, B, packet(210, probe.into()));
        assert_eq!(cloud.held(), 1);
        out.run(&mut cloud, at + Duration::from_secs(2));
        assert_eq!(out.delivered.len() as u32, probe + 1);
        let delivery = out.delivered[probe as usize];
        assert_eq!(
            (delivery.node, delivery.packet),
            (B, packet(210, probe.into()))
        );
        let transmission = 2 * 1_120_000 + 67_200 * route.hops() as u64;
        let propagation = (delivery.at - at) - Duration::from_nanos(transmission);
        // Within 0.1 s, satellites move by less than 1 km each, and some routes change.
        let moved = propagation.as_secs_f64() - route.delay.as_secs_f64();
        if moved.abs() < 20e-6 {
            hops[route.hops()] += 1;
        }
    }
    assert!(hops.iter().sum::<i32>() >= 197, "{hops:?}");
    assert!(
        hops.iter().filter(|count| **count > 0).count() > 3,
        "{hops:?}"
    );
}

#[test]
fn a_packet_to_its_own_node_arrives_at_once() {
    let mut cloud = cloud(&ConstellationConfig::iridium(), 1);
    let at = seconds(3.0);
    cloud.send(at, B, B, packet(1500, 7));
    assert_eq!((cloud.next_event(), cloud.pop()), (at, None));
    cloud.advance(at);
    assert_eq!(
        cloud.pop(),
        Some(Delivery {
            at,
            node: B,
            packet: packet(1500, 7)
        })
    );
    assert_eq!(cloud.next_event(), Instant::MAX);
}

/// Nobody at 78 degrees north sees a shell inclined by 53 degrees.
#[test]
fn without_a_satellite_there_is_no_route() {
    let config = ConstellationConfig::starlink();
    let mut cloud = cloud(&config, 1);
    let svalbard = NodeId(3);
    let mut out = Out::default();
    cloud.send(seconds(1.0), svalbard, A, packet(100, 0));
    cloud.send(seconds(1.0), A, svalbard, packet(100, 1));
    out.run(&mut cloud, seconds(2.0));
    let [from, to] = &out.lost[..] else {
        panic!("{out:?}")
    };
    assert_eq!(
        (from.at, from.node, from.cause),
        (seconds(1.0), svalbard, DropCause::NoRoute)
    );
    assert_eq!((from.packet.payload, to.packet.payload), (0, 1));
    // The satellite finds out: its number follows those of the terminals.
    let satellite = tracker(&config, 1).satellite(0, seconds(1.0)).unwrap();
    assert_eq!(
        (to.node, to.cause),
        (NodeId(4 + satellite), DropCause::NoRoute)
    );
    assert!(to.at > seconds(1.0) && to.at < seconds(1.01), "{:?}", to.at);
}

/// Of 60 packets at once, one is sent, 50 wait and 9 are lost; 8 ms apart, the others arrive.
#[test]
fn a_queue_holds_fifty_packets() {
    let mut cloud = cloud(&ConstellationConfig::iridium(), 1);
    let at = seconds(1.0);
    for number in 0..60 {
        cloud.send(at, A, B, packet(1500, number));
    }
    let mut out = Out::default();
    out.run(&mut cloud, seconds(3.0));
    let lost: Vec<_> = out
        .lost
        .iter()
        .map(|lost| (lost.at, lost.packet.payload))
        .collect();
    assert_eq!(
        lost,
        (51..60).map(|number| (at, number)).collect::<Vec<_>>()
    );
    assert!(
        out.lost
            .iter()
            .all(|lost| lost.cause == DropCause::QueueFull && lost.node == A)
    );
    assert_eq!(cloud.counters().dropped_by(DropCause::QueueFull), 9);
    let order: Vec<_> = out
        .delivered
        .iter()
        .map(|delivery| delivery.packet.payload)
        .collect();
    assert_eq!(order, (0..51).collect::<Vec<_>>());
    assert_eq!(cloud.most_waiting(), 50);
    for pair in out.delivered.windows(2) {
        let gap = (pair[1].at - pair[0].at).as_secs_f64();
        assert!((gap - 8e-3).abs() < 1e-6, "{gap}");
    }
}

/// The owner sees each delivery before anything happens later.
#[test]
fn advancing_stops_after_an_instant_with_a_delivery_or_a_loss() {
    let mut cloud = cloud(&ConstellationConfig::iridium(), 1);
    for number in 0..53 {
        cloud.send(seconds(1.0), A, B, packet(1500, number));
    }
    cloud.advance(seconds(100.0));
    let lost: Vec<_> = core::iter::from_fn(|| cloud.take_lost()).collect();
    assert_eq!(
        (lost.len(), cloud.pop()),
        (2, None),
        "both are lost when they are offered"
    );
    for number in 0..51 {
        cloud.advance(seconds(100.0));
        assert_eq!(
            cloud.pop().map(|delivery| delivery.packet.payload),
            Some(number)
        );
        assert_eq!(cloud.pop(), None);
    }
    assert_eq!((cloud.held(), cloud.next_event()), (0, Instant::MAX));
}

/// Offers a packet of 1500 bytes from each of `from` to `to` every `gap`, until `until`.
fn offer(
    cloud: &mut Constellation<u64>,
    pairs: &[(NodeId, NodeId)],
    gap: Duration,
    (start, until): (Instant, Instant),
) -> Out {
    let mut out = Out::default();
    let mut at = start;
    let mut number = 0;
    while at < until {
        out.run(cloud, at);
        for (from, to) in pairs {
            cloud.send(at, *from, *to, packet(1500, number));
            number += 1;
        }
        at += gap;
    }
    out.run(cloud, until + Duration::from_secs(100));
    assert_eq!((cloud.held(), cloud.next_event()), (0, Instant::MAX));
    out
}

#[test]
fn a_saturated_path_carries_the_rate_of_the_ground_links() {
    let mut cloud = cloud(&ConstellationConfig::iridium(), 1);
    let span = (seconds(0.0), seconds(200.0));
    let out = offer(&mut cloud, &[(A, B)], Duration::from_millis(7), span);
    let arrived = out
        .delivered
        .iter()
        .filter(|delivery| delivery.at <= span.1)
        .count();
    let rate = arrived as f64 * 1500.0 * 8.0 / 200.0;
    assert!((rate / 1.5e6 - 1.0).abs() < 0.005, "{rate}");
}

/// Two terminals in one place have downlinks of their own, unless these are shared.
#[test]
fn terminals_below_a_satellite_share_its_downlink_if_told_so() {
    let places = [
        Terminal::new("sender-1", 37.9, -122.3),
        Terminal::new("sender-2", 37.8, -122.2),
        Terminal::new("receiver-1", 42.3, -71.1),
        Terminal::new("receiver-2", 42.3, -71.1),
    ];
    let pairs = [(NodeId(0), NodeId(2)), (NodeId(1), NodeId(3))];
    for (shared_downlink, expected) in [(false, 3.0e6), (true, 1.5e6)] {
        let config = ConstellationConfig {
            shared_downlink,
            random_handover: false,
            ..ConstellationConfig::iridium()
        };
        let mut cloud = Constellation::new(&config, &places, &Streams::new(1));
        let span = (seconds(0.0), seconds(60.0));
        let out = offer(&mut cloud, &pairs, Duration::from_millis(7), span);
        let arrived = out
            .delivered
            .iter()
            .filter(|delivery| delivery.at <= span.1)
            .count();
        let rate = arrived as f64 * 1500.0 * 8.0 / 60.0;
        assert!((rate / expected - 1.0).abs() < 0.01, "{rate}");
    }
}

/// The first handover of Boston after 100 s. All checks are at multiples of 10 s.
fn handover(config: &ConstellationConfig) -> Instant {
    let mut tracker = tracker(config, 1);
    let mut at = seconds(100.0);
    let before = tracker.satellite(1, at);
    while tracker.satellite(1, at) == before {
        at += Duration::from_secs(10);
    }
    at
}

/// Packets that wait for a downlink when its terminal hands over follow it over links between
/// satellites, or are lost.
#[test]
fn packets_that_wait_at_a_handover_are_routed_again_or_lost() {
    for reroute in [true, false] {
        let config = ConstellationConfig {
            // The queue forms in front of the downlink.
            uplink: Rate::from_bits_per_sec(10_000_000),
            random_handover: false,
            reroute,
            ..ConstellationConfig::iridium()
        };
        let at = handover(&config);
        let mut cloud = cloud(&config, 1);
        // 100 packets arrive 1.2 ms apart, and are in the queue or gone when the handover comes.
        let mut out = Out::default();
        let start = seconds(at.as_secs_f64() - 0.25);
        out.run(&mut cloud, start);
        for number in 0..51 {
            cloud.send(start, A, B, packet(1500, number));
        }
        out.run(&mut cloud, at + Duration::from_secs(5));
        assert_eq!(out.delivered.len() + out.lost.len(), 51);
        assert_eq!((cloud.held(), cloud.next_event()), (0, Instant::MAX));
        if reroute {
            assert_eq!(out.lost, []);
            assert!(
                (10..=50).contains(&cloud.rerouted()),
                "{}",
                cloud.rerouted()
            );
            let order = out.delivered.iter().map(|delivery| delivery.packet.payload);
            assert!(
                order.eq(0..51),
                "here the new route is longer: nothing overtakes"
            );
        } else {
            assert_eq!(cloud.rerouted(), 0);
            let lost = out.lost.len();
            assert!((10..=50).contains(&lost), "{lost}");
            for lost in &out.lost {
                assert_eq!(lost.cause, DropCause::LinkDown);
                // At the end of the transmission during which the terminal handed over.
                assert!(lost.at >= at && lost.at < at + Duration::from_millis(8));
            }
            assert_eq!(
                cloud.counters().dropped_by(DropCause::LinkDown),
                lost as u64
            );
        }
    }
}

/// A check at 10 s counts for a packet at 10 s, and not for one a nanosecond earlier.
#[test]
fn a_check_takes_effect_at_its_instant() {
    let config = ConstellationConfig {
        random_handover: false,
        ..ConstellationConfig::iridium()
    };
    let at = handover(&config);
    let mut tracker = tracker(&config, 1);
    let nanosecond_before = Instant::from_nanos(at.as_nanos() - 1);
    assert_ne!(
        tracker.satellite(1, nanosecond_before),
        tracker.satellite(1, at)
    );
}

/// Iridium for terminals that need a high elevation and look each second, with links that random
/// traffic fills.
fn busy(reroute: bool, shared_downlink: bool) -> ConstellationConfig {
    ConstellationConfig {
        elevation_mask: 16.0,
        uplink: Rate::from_bits_per_sec(60_000),
        downlink: Rate::from_bits_per_sec(4_000),
        isl: Rate::from_bits_per_sec(100_000),
        queue: 5.0,
        handover_interval: Duration::from_secs(1),
        routing_interval: Duration::from_millis(300),
        reroute,
        shared_downlink,
        ..ConstellationConfig::iridium()
    }
}

/// Twelve terminals over North America, so that there is a handover each half minute.
fn many() -> Vec<Terminal> {
    (0..12_u32)
        .map(|number| {
            let (row, column) = (f64::from(number / 4), f64::from(number % 4));
            Terminal::new(
                format!("terminal-{number}"),
                30.0 + 10.0 * row,
                -120.0 + 15.0 * column,
            )
        })
        .collect()
}

/// A packet: milliseconds after the one before, from, to, bytes.
type Sent = (u32, u32, u32, u32);

fn traffic() -> impl Strategy<Value = Vec<Sent>> {
    prop::collection::vec((0_u32..250, 0_u32..12, 0_u32..12, 40_u32..1500), 1..400)
}

/// Sends `sent` and looks at the cloud each `step`; checks conservation on the way.
fn replay(config: &ConstellationConfig, sent: &[Sent], step: Option<Duration>) -> (Out, u64) {
    let mut cloud = Constellation::new(config, &many(), &Streams::new(9));
    let mut out = Out::default();
    let mut at = Instant::ZERO;
    for (number, (gap, from, to, size)) in sent.iter().enumerate() {
        let next = at + Duration::from_millis((*gap).into());
        if let Some(step) = step {
            while at < next {
                // In steps that miss the events.
                at = (at + step).min(next);
                while cloud.next_event() <= at {
                    cloud.advance(at);
                    out.take(&mut cloud);
                }
                cloud.advance(at);
                out.take(&mut cloud);
            }
        }
        at = next;
        out.run(&mut cloud, at);
        cloud.send(at, NodeId(*from), NodeId(*to), packet(*size, number as u64));
        out.take(&mut cloud);
    }
    out.run(&mut cloud, Instant::from_secs(100_000));
    assert_eq!(cloud.held(), 0);
    (out, cloud.rerouted())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(48)
    })]

    #[test]
    fn packets_are_conserved_and_results_do_not_depend_on_calls(
        sent in traffic(),
        step in 1_u64..50_000_000,
        start in 0_u64..86_400,
        reroute: bool,
        shared: bool,
    ) {
        let config =
            ConstellationConfig { start: Duration::from_secs(start), ..busy(reroute, shared) };
        let once = replay(&config, &sent, None);
        let often = replay(&config, &sent, Some(Duration::from_nanos(step)));
        prop_assert_eq!(&once, &often);
        let (out, _) = once;
        prop_assert_eq!(out.delivered.len() + out.lost.len(), sent.len());
        let mut numbers: Vec<_> = out.delivered.iter().map(|d| d.packet.payload)
            .chain(out.lost.iter().map(|lost| lost.packet.payload)).collect();
        numbers.sort_unstable();
        prop_assert!(numbers.into_iter().eq(0..sent.len() as u64));
        for delivery in &out.delivered {
            let (_, _, to, size) = sent[delivery.packet.payload as usize];
            prop_assert_eq!((delivery.node.0, delivery.packet.size), (to, size));
        }
    }
}

/// The random traffic above does meet handovers, full queues and places without a satellite.
#[test]
fn the_random_traffic_meets_every_cause() {
    // Numbers that look random: 8 packets a second, of which the downlinks carry 6.
    let mixed = |n: u32, of: u32| n.wrapping_mul(2_654_435_761) / 4096 % of;
    let sent: Vec<Sent> = (0..3000)
        .map(|n| {
            (
                mixed(n, 250),
                mixed(n + 5000, 12),
                mixed(n + 9000, 12),
                1000,
            )
        })
        .collect();
    let (out, rerouted) = replay(&busy(true, false), &sent, None);
    let by = |out: &Out, cause| out.lost.iter().filter(|lost| lost.cause == cause).count();
    println!("{rerouted} {}", out.lost.len());
    assert!(rerouted > 0);
    assert!(by(&out, DropCause::QueueFull) > 0 && by(&out, DropCause::NoRoute) > 0);
    let (out, _) = replay(&busy(false, false), &sent, None);
    assert!(by(&out, DropCause::LinkDown) > 0);
}

#[test]
fn the_seed_decides_and_nothing_else() {
    let run = |seed| {
        let mut cloud = cloud(&ConstellationConfig::iridium(), seed);
        let span = (seconds(0.0), seconds(400.0));
        offer(
            &mut cloud,
            &[(A, B), (B, A)],
            Duration::from_millis(20),
            span,
        )
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2), "handovers have another phase");
}

/// The map has the terminals, then the satellites; routes are along its links.
#[test]
fn the_map_has_the_links_of_routes() {
    let config = ConstellationConfig::iridium();
    let network = CloudConfig::Constellation(Box::new(config.clone()), terminals());
    let names = [0, 4, 69].map(|node| network.node_name(NodeId(node)));
    assert_eq!(names, ["berkeley", "satellite 1-1", "satellite 6-11"]);
    let mut cloud = cloud(&config, 1);
    for at in [1.0, 5000.0, 20_000.0].map(seconds) {
        let map = cloud.map(at);
        assert_eq!(map.points.len(), 70);
        assert_eq!(map.points[0], [-122.3, 37.9]);
        let ups = tracker(&config, 1).links(at).filter(|link| link.2).count();
        assert_eq!(map.links.len(), 4 + ups, "each terminal sees a satellite");
        assert!((66..121).contains(&ups), "{ups}");
        let route = cloud.route(at, A, B).unwrap();
        assert_eq!((route.first(), route.last()), (Some(&0), Some(&1)));
        let mut delay = Duration::ZERO;
        for pair in route.windows(2) {
            let ends = [pair[0].min(pair[1]), pair[0].max(pair[1])];
            delay += map
                .links
                .iter()
                .find(|link| link.ends == ends)
                .unwrap()
                .delay;
        }
        let expected = tracker(&config, 1).route(0, 1, at).unwrap();
        assert_eq!(
            (delay, route.len()),
            (expected.delay, expected.satellites.len() + 2)
        );
        assert_eq!(cloud.route(at, B, B), Some(vec![1]));
    }
}

//! Packets of users over several hops of 802.15.4.

use network::{Ecn, Packet, Streams};
use units::{Duration, Instant};
use wireless::adhoc::mac::csma::CsmaConfig;
use wireless::adhoc::mobility::{Position, Waypoint};
use wireless::adhoc::{AdHocConfig, MacConfig, MobilityConfig, RoutingConfig};
use wireless::{Cloud, DropCause, NodeId};

/// A chain of nodes 25 m apart, of which each reaches only the next ones; the routes are given.
fn chain(nodes: u32, mac: CsmaConfig) -> Box<dyn Cloud<u64>> {
    let places = (0..nodes).map(|node| Waypoint {
        at: Instant::ZERO,
        node: NodeId(node),
        position: Position::new(25.0 * f64::from(node), 0.0),
    });
    let config = AdHocConfig {
        mobility: MobilityConfig::Listed(places.collect()),
        radio: CsmaConfig::radio(),
        mac: MacConfig::Csma(mac),
        routing: RoutingConfig::Fixed,
        arp: None,
        ..AdHocConfig::new(nodes)
    };
    config.build(&Streams::new(7))
}

/// Sends packets of 1064 bytes to the last node, each after the fate of the one before is known.
/// Returns the mean delay of those that arrived.
fn one_by_one(cloud: &mut dyn Cloud<u64>, count: u64) -> f64 {
    let last = NodeId(cloud.node_count() as u32 - 1);
    let mut at = Instant::ZERO;
    let (mut delay, mut arrived) = (0.0, 0.0);
    for payload in 0..count {
        let packet = Packet {
            size: 1064,
            flow: 0,
            ecn: Ecn::default(),
            payload,
        };
        let start = at + Duration::from_millis(50);
        cloud.advance(start);
        cloud.send(start, NodeId(0), last, packet);
        while cloud.held() > 0 {
            at = cloud.next_event();
            cloud.advance(at);
        }
        if let Some(delivery) = cloud.pop() {
            assert_eq!(delivery.packet.payload, payload);
            delay += delivery.at.saturating_since(start).as_secs_f64();
            arrived += 1.0;
        }
        let _ = cloud.take_lost();
        assert!(cloud.counters().conserve(cloud.held()));
    }
    delay / arrived
}

#[test]
fn every_hop_reassembles() {
    // The first hop takes 70.624 ms less the last exchange's end: turnaround, ACK and space of
    // 1.184 ms. The second one starts with the arrival: 11 frames again.
    let hop = 70.624e-3 - 1.184e-3;
    // It starts with a backoff, while the node still acknowledges the last frame (544 us). With 0
    // or 1 periods of 8 it finds itself busy, and waits for 7.5 periods more and an assessment.
    let own = (7.5 * 0.32e-3 + 0.128e-3) / 4.0;
    for hops in [1, 2, 3] {
        let mut cloud = chain(hops + 1, CsmaConfig::DEFAULT);
        let delay = one_by_one(&mut *cloud, 400);
        let expected = hop * f64::from(hops) + own * f64::from(hops - 1);
        println!(
            "{hops} hops: {:.2} ms (expected {:.2})",
            delay * 1e3,
            expected * 1e3
        );
        // Backoffs of 11 frames have a deviation of 2.43 ms, and the one more of 1.5 ms.
        let deviation = (f64::from(hops) / 400.0).sqrt() * 2.9e-3;
        assert!(
            (delay - expected).abs() < 4.0 * deviation,
            "{hops} hops: {delay}"
        );
    }
}

#[test]
fn packets_with_answers_leave_110_kbit_per_second() {
    // Packets of 1064 bytes and answers of 60 bytes, one after the other. Each starts with the
    // arrival of the other, as on the next hop above; an answer is one frame of 71 bytes.
    let cycle: f64 = 69.44e-3 + 3.904e-3 + 2.0 * 0.632e-3;
    let mut cloud = chain(2, CsmaConfig::DEFAULT);
    let packet = |node: u32, payload| Packet {
        size: if node == 0 { 1064 } else { 60 },
        flow: 0,
        ecn: Ecn::default(),
        payload,
    };
    cloud.send(Instant::ZERO, NodeId(0), NodeId(1), packet(0, 0));
    let end = Instant::from_secs(100);
    let mut answers = 0;
    while cloud.next_event() <= end {
        let now = cloud.next_event();
        cloud.advance(now);
        while let Some(delivery) = cloud.pop() {
            let (node, other) = (delivery.node, NodeId(1 - delivery.node.0));
            answers += u64::from(node.0 == 0);
            cloud.send(delivery.at, node, other, packet(node.0, answers));
        }
    }
    let rate = answers as f64 / 100.0;
    println!(
        "{:.1} kbit/s with answers (expected {:.1})",
        rate * 8.192,
        8.192 / cycle
    );
    // Backoffs have a deviation of 3.3 ms in a cycle.
    let deviation = 3.3e-3 / cycle / (100.0 / cycle).sqrt();
    assert!((rate * cycle - 1.0).abs() < 4.0 * deviation, "{rate}");
    // Full frames alone would give 99 kbit/s.
    assert!(rate * 8.192 > 99.0);
}

#[test]
fn a_packet_that_its_sender_believes_delivered_is_counted() {
    let mac = CsmaConfig {
        ack: false,
        frame_loss: 0.05,
        ..CsmaConfig::DEFAULT
    };
    let mut cloud = chain(2, mac);
    one_by_one(&mut *cloud, 1000);
    let counters = cloud.counters();
    assert_eq!(
        counters.dropped(),
        counters.dropped_by(DropCause::Reassembly)
    );
    let expected = f64::powi(0.95, 11);
    let deviation = (expected * (1.0 - expected) / 1000.0).sqrt();
    let measured = counters.delivered as f64 / 1000.0;
    assert!(
        (measured - expected).abs() < 4.0 * deviation,
        "{measured}, expected {expected}"
    );
}

//! Start-ups of the side that accepts a connection: what they need from the handshake reaches them.

mod common;

use std::sync::Arc;

use common::{algorithm, run, wired};
use network::router::{QuickStartConfig, RouterSupport};
use network::{QueueLimit, Service};
use scenario::{Direction, Ends, Flow, PathModel, Scenario, Traffic, TrafficKind};
use tcp::AckPolicy;
use units::{Bytes, Duration, Instant};
use workload::{Connection, Exchange, Headers, Plan, Recording, Side, Turn};

const PAYLOAD: u64 = 1448;

/// 10 Mbit/s with 100 ms and an unlimited queue, and nothing but IP.
fn idle_path() -> PathModel {
    let mut path = wired(10, 100, 413);
    for link in [&mut path.forward, &mut path.reverse] {
        link.overhead = 0;
        link.queue.limit = QueueLimit::Unlimited;
    }
    path.reverse.service = Service::Unlimited;
    path
}

/// The milliseconds that a response of so many packets takes to a request of 100 bytes.
fn epoch_ms(path: &PathModel, name: &str, packets: u64) -> f64 {
    let turn = |side, bytes| Turn {
        side,
        wait: Duration::ZERO,
        bytes: Bytes::new(bytes),
    };
    let turns = vec![
        turn(Side::Initiator, 100),
        turn(Side::Acceptor, packets * PAYLOAD),
    ];
    let plan = Plan::Recorded(Recording {
        file: "test".to_owned(),
        connections: Arc::from(vec![Connection {
            start: Instant::ZERO,
            id: 1,
            group: 1,
            headers: Headers::default(),
            exchange: Exchange::sequential(turns, Duration::ZERO),
        }]),
        repeat: None,
    });
    let mut flow = Flow::new(algorithm(name));
    flow.initial_window = 3;
    flow.tso_segments = 1;
    flow.ends = Ends::default();
    flow.ack_policy = AckPolicy::EverySegment;
    let mut path = path.clone();
    path.traffic = vec![Traffic {
        name: "web".to_owned(),
        kind: TrafficKind::Exchanges(plan),
        direction: Direction::Forward,
        flow,
        extra_delays: vec![Duration::ZERO],
        start: Instant::ZERO,
        stop: None,
        list_flows: true,
    }];
    let mut scenario = Scenario::new(path, Vec::new());
    scenario.duration = Some(Duration::from_secs(10));
    let result = run(&scenario, false).result;
    let exchanges = result.traffic[0].exchanges.as_ref().expect("a response");
    let list = exchanges.list.as_ref().expect("a list");
    assert_eq!(list.len(), 1, "{name}, {packets} packets");
    list[0].duration_s * 1e3
}

/// Jump-Start spreads `n` packets over the round-trip time of the handshake. As in Linux, the second
/// one leaves half an interval early, and so the last one after (n - 1.5) / n of that time.
#[test]
fn jump_start_jumps_with_the_first_response() {
    let path = idle_path();
    for packets in [4_u64, 10, 21, 44] {
        let duration = epoch_ms(&path, "reno+jump-start", packets);
        let last = 100.0 * (packets as f64 - 1.5) / packets as f64;
        let ideal = 100.0 + last + 1.2;
        assert!(
            (duration - ideal).abs() < 0.2,
            "{packets} packets: {duration} ms for {ideal} ms"
        );
    }
}

/// At an approved rate of 5.12 Mbit/s a packet leaves each 2.34 ms. Without a router that approves
/// there is slow start.
#[test]
fn quick_start_asks_in_the_syn_ack() {
    let name = "reno+quick-start:rate=5.12";
    let mut path = idle_path();
    let without = epoch_ms(&path, name, 35);
    assert!((without - 420.4).abs() < 0.2, "slow start: {without} ms");
    path.router_support = RouterSupport::QuickStart(QuickStartConfig {
        threshold: 0.85,
        overstate: 1.0,
    });
    for packets in [4_u64, 10, 21, 35] {
        let duration = epoch_ms(&path, name, packets);
        let ideal = 100.0 + (packets as f64 - 1.5) * 1500.0 * 8.0 / 5120.0 + 1.2;
        assert!(
            (duration - ideal).abs() < 0.2,
            "{packets} packets: {duration} ms for {ideal} ms"
        );
    }
}

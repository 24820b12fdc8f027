//! The layers of nodes with each routing protocol, over a MAC without contention: conservation of
//! packets while links come and go and acknowledgements are lost.
#![allow(clippy::print_stdout, reason = "tests print their measurements")]

use std::collections::BTreeMap;

use network::{Ecn, Packet, Streams};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use units::{Duration, Instant};
use wireless::adhoc::AdHoc;
use wireless::adhoc::arp::ArpConfig;
use wireless::adhoc::mac::{Mac, MacEvent, Outgoing};
use wireless::adhoc::mobility::{Area, Mobility, RandomWaypointConfig};
use wireless::adhoc::routing::Routing;
use wireless::adhoc::routing::aodv::{Aodv, AodvConfig};
use wireless::adhoc::routing::dsdv::{Dsdv, DsdvConfig};
use wireless::adhoc::routing::fixed::Fixed;
use wireless::adhoc::topology::Topology;
use wireless::{Cloud, DropCause, NodeId};

const AIRTIME: Duration = Duration::from_millis(3);
const GIVING_UP: Duration = Duration::from_millis(20);

/// Every frame to a neighbour in range arrives, after the same time. An acknowledgement may be lost.
#[derive(Debug)]
struct Disk {
    mobility: Mobility,
    range: f64,
    /// The probability that a frame arrives and its sender gives it up.
    unacknowledged: f64,
    rng: ChaCha8Rng,
    busy: Vec<bool>,
    /// Frames on the air, by the time at which they end.
    frames: BTreeMap<(Instant, NodeId), (Instant, Outgoing)>,
}

impl Disk {
    fn new(mobility: Mobility, range: f64, unacknowledged: f64, seed: u64) -> Self {
        Self {
            busy: vec![false; mobility.node_count()],
            mobility,
            range,
            unacknowledged,
            rng: Streams::new(seed).stream("acknowledgements"),
            frames: BTreeMap::new(),
        }
    }
}

impl Mac for Disk {
    fn is_idle(&self, node: NodeId) -> bool {
        !self.busy[node.index()]
    }

    fn send(&mut self, now: Instant, node: NodeId, frame: Outgoing) {
        assert!(!self.busy[node.index()]);
        self.busy[node.index()] = true;
        let positions = self.mobility.positions(now);
        let far = |to: NodeId| positions[to.index()].distance(positions[node.index()]) > self.range;
        let time = if frame.to.is_some_and(far) {
            GIVING_UP
        } else {
            AIRTIME
        };
        self.frames.insert((now + time, node), (now, frame));
    }

    fn next_event(&self) -> Instant {
        self.frames
            .first_key_value()
            .map_or(Instant::MAX, |((at, _), _)| *at)
    }

    fn step(&mut self, events: &mut Vec<MacEvent>) {
        let Some(((at, from), (start, frame))) = self.frames.pop_first() else {
            return;
        };
        self.busy[from.index()] = false;
        let handle = frame.handle;
        let sent = MacEvent::Sent { node: from, handle };
        let failed = MacEvent::Failed {
            node: from,
            handle,
            cause: DropCause::RetryLimit,
        };
        match frame.to {
            Some(node) if at.saturating_since(start) == AIRTIME => {
                events.push(MacEvent::Received { node, from, handle });
                let drawn = (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
                events.push(if drawn < self.unacknowledged {
                    failed
                } else {
                    sent
                });
            }
            Some(_) => events.push(failed),
            None => {
                let positions = self.mobility.positions(at);
                for (node, place) in positions.iter().enumerate() {
                    let node = NodeId(node as u32);
                    if node != from && place.distance(positions[from.index()]) <= self.range {
                        events.push(MacEvent::Received { node, from, handle });
                    }
                }
                events.push(sent);
            }
        }
    }
}

#[derive(Debug)]
struct Outcome {
    offered: u64,
    delivered: u64,
    drops: BTreeMap<&'static str, u64>,
}

/// Three flows for 60 s, then silence. Fails if a packet is unaccounted for, delivered twice or at a
/// wrong node.
fn run<R: Routing>(disk: Disk, routing: Vec<R>, arp: Option<ArpConfig>) -> Outcome {
    let count = routing.len() as u32;
    let mut cloud: AdHoc<u64, R> = AdHoc::new(Box::new(disk), routing, 20, arp);
    let mut seen = vec![false; 3 * 600];
    let mut drops = BTreeMap::new();
    let mut take = |cloud: &mut AdHoc<u64, R>, now| {
        loop {
            cloud.advance(now);
            let before = seen.iter().filter(|seen| **seen).count();
            while let Some(delivery) = cloud.pop() {
                let payload = delivery.packet.payload;
                assert_eq!(u64::from(delivery.node.0), payload & 0xFF);
                assert!(!std::mem::replace(&mut seen[payload as usize >> 8], true));
            }
            while let Some(lost) = cloud.take_lost() {
                let payload = lost.packet.payload;
                assert!(!std::mem::replace(&mut seen[payload as usize >> 8], true));
                *drops.entry(lost.cause.name()).or_default() += 1;
            }
            let held = cloud.held();
            assert!(
                cloud.counters().conserve(held),
                "{:?}, {held}",
                cloud.counters()
            );
            if before == seen.iter().filter(|seen| **seen).count() {
                break;
            }
        }
    };
    for step in 0..600_u32 {
        let now = Instant::from_millis(u64::from(step) * 100);
        take(&mut cloud, now);
        for flow in 0..3 {
            let (from, to) = (flow % count, (flow + 1 + step / 100) % count);
            let packet = Packet {
                size: 500,
                flow,
                ecn: Ecn::NotEct,
                payload: u64::from(step * 3 + flow) << 8 | u64::from(to),
            };
            cloud.send(now, NodeId(from), NodeId(to), packet);
        }
    }
    take(&mut cloud, Instant::from_secs(100));
    let counters = cloud.counters();
    assert_eq!(counters.offered, 1800);
    Outcome {
        offered: counters.offered,
        delivered: counters.delivered,
        drops,
    }
}

fn each<R: Routing>(count: usize, make: impl Fn(NodeId) -> R) -> Vec<R> {
    (0..count as u32).map(|own| make(NodeId(own))).collect()
}

#[test]
fn every_protocol_delivers_in_a_static_network() {
    let streams = Streams::new(1);
    let positions = Area::square(300.0).grid(16);
    let topology = Topology::new(&positions, 80.0);
    let disk = || Disk::new(Mobility::fixed(&positions), 80.0, 0.0, 1);
    let arp = Some(ArpConfig::DEFAULT);
    let fixed = run(disk(), Fixed::shortest(&topology), arp);
    let aodv = run(
        disk(),
        each(16, |own| Aodv::new(own, AodvConfig::DEFAULT, &streams)),
        arp,
    );
    let dsdv = run(
        disk(),
        each(16, |own| Dsdv::new(own, DsdvConfig::DEFAULT, &streams)),
        arp,
    );
    println!("fixed {fixed:?}\naodv {aodv:?}\ndsdv {dsdv:?}");
    // ARP holds one packet for each neighbour, so a burst into a new route loses some.
    for (outcome, least) in [(fixed, 0.99), (aodv, 0.99), (dsdv, 0.95)] {
        assert!(
            outcome.delivered as f64 >= least * outcome.offered as f64,
            "{outcome:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// No packet is lost without a trace or duplicated, whatever moves and whatever acknowledgement
    /// is lost.
    #[test]
    fn packets_are_conserved(
        seed in 0_u64..1_000_000,
        count in 2_usize..12,
        range in 100.0_f64..300.0,
        speed in 1.0_f64..30.0,
        unacknowledged in 0.0_f64..0.3,
        protocol in 0..4,
        arp in any::<bool>(),
    ) {
        let streams = Streams::new(seed);
        let moves = RandomWaypointConfig {
            min_speed: speed,
            max_speed: speed,
            ..RandomWaypointConfig::DEFAULT
        };
        let area = Area::square(400.0);
        let mut mobility = Mobility::random_waypoint(area, count, &moves, &streams);
        let topology = Topology::new(&mobility.positions(Instant::ZERO), range);
        let disk = Disk::new(mobility, range, unacknowledged, seed);
        let arp = arp.then_some(ArpConfig::DEFAULT);
        let dsdv = |recall| {
            let config = DsdvConfig { recall, ..DsdvConfig::DEFAULT };
            each(count, |own| Dsdv::new(own, config, &streams))
        };
        let aodv = AodvConfig { buffer: 5, ..AodvConfig::DEFAULT };
        let outcome = match protocol {
            0 => run(disk, dsdv(false), arp),
            1 => run(disk, dsdv(true), arp),
            2 => run(disk, each(count, |own| Aodv::new(own, aodv, &streams)), arp),
            _ => run(disk, Fixed::shortest(&topology), arp),
        };
        let dropped: u64 = outcome.drops.values().sum();
        prop_assert!(outcome.delivered + dropped <= outcome.offered);
    }
}

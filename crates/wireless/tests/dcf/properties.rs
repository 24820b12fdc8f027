//! What holds in every network.

use std::collections::BTreeSet;

use network::Streams;
use rand_core::RngCore;
use units::{Bytes, Duration, Instant};
use wireless::NodeId;
use wireless::adhoc::energy::{EnergyConfig, EnergyReport};
use wireless::adhoc::mac::dcf::{Dcf, DcfConfig, DcfCounters};
use wireless::adhoc::mac::{Mac, MacEvent};
use wireless::adhoc::mobility::{Area, Mobility, RandomWaypointConfig};
use wireless::adhoc::propagation::{PropagationModel, RadioConfig, ReceptionModel};

use crate::harness::Net;

const NODES: u32 = 24;
const END: Instant = Instant::from_secs(60);

/// The kinds of networks.
#[derive(Clone, Copy, Debug)]
struct Case {
    moving: bool,
    energy: bool,
    rts: u64,
    reception: ReceptionModel,
    propagation: PropagationModel,
}

const CASES: [Case; 4] = [
    Case {
        moving: false,
        energy: false,
        rts: 0,
        reception: ReceptionModel::Capture,
        propagation: PropagationModel::TwoRay,
    },
    Case {
        moving: true,
        energy: true,
        rts: 500,
        reception: ReceptionModel::Capture,
        propagation: PropagationModel::Shadowing,
    },
    Case {
        moving: true,
        energy: false,
        rts: 65_535,
        reception: ReceptionModel::Sinr,
        propagation: PropagationModel::TwoRay,
    },
    Case {
        moving: false,
        energy: true,
        rts: 0,
        reception: ReceptionModel::Sinr,
        propagation: PropagationModel::LogDistance,
    },
];

const ENERGY: EnergyConfig = EnergyConfig {
    initial: 8.0,
    transmit: 0.9,
    receive: 0.7,
    idle: 0.3,
    sleep: 0.1,
};

fn network(case: Case, seed: u64) -> Net {
    let streams = Streams::new(seed);
    let area = Area::square(700.0);
    let mobility = if case.moving {
        let config = RandomWaypointConfig::DEFAULT;
        Mobility::random_waypoint(area, NODES as usize, &config, &streams)
    } else {
        Mobility::fixed(&area.uniform(NODES as usize, &streams))
    };
    let radio = RadioConfig {
        reception: case.reception,
        propagation: case.propagation,
        exponent: 3.0,
        ..RadioConfig::DEFAULT
    };
    let config = DcfConfig {
        rts_threshold: Bytes::new(case.rts),
        ..DcfConfig::DEFAULT
    };
    let energy = case.energy.then_some(&ENERGY);
    let dcf = Dcf::new(&config, &radio, mobility, energy, &streams);
    Net::over(dcf, NODES as usize)
}

struct Outcome {
    offered: u32,
    log: Vec<(Instant, MacEvent)>,
    counters: DcfCounters,
    energy: Vec<Option<EnergyReport>>,
}

/// Random packets; `ask` questions between any two events.
fn run(case: Case, seed: u64, ask: u64) -> (Outcome, Net) {
    let mut net = network(case, seed);
    let mut rng = Streams::new(seed).stream("traffic");
    let mut next = Instant::ZERO;
    let mut offered = 0;
    let traffic = Instant::from_secs(15);
    while next < traffic {
        next += Duration::from_nanos(rng.next_u64() % 16_000_000);
        while net.dcf.next_event() <= next {
            let (now, until) = (net.dcf.next_event(), next);
            net.step(until);
            let gap = net.dcf.next_event().min(next).saturating_since(now);
            for share in 1..=ask {
                let at = now + gap.mul_div(share, ask + 1);
                let node = NodeId((rng.get_word_pos() as u64 + share) as u32 % NODES);
                net.dcf.energy(at, node);
                let radios = net.dcf.radios().unwrap();
                radios.neighbours(at, node);
                radios.frames(at);
            }
        }
        let (from, to) = (rng.next_u32() % NODES, rng.next_u32() % NODES);
        let bytes = 20 + rng.next_u32() % 1480;
        let to = (to != from).then_some(NodeId(to));
        net.offer(next, from, to, bytes);
        offered += 1;
    }
    net.run(END);
    let energy = (0..NODES).map(|node| net.dcf.energy(END, NodeId(node)));
    let outcome = Outcome {
        offered,
        energy: energy.collect(),
        log: net.log.clone(),
        counters: net.dcf.counters().clone(),
    };
    (outcome, net)
}

#[test]
fn every_frame_and_packet_is_accounted_for() {
    for case in CASES {
        let (outcome, mut net) = run(case, 3, 0);
        let mut sent = BTreeSet::new();
        let mut failed = BTreeSet::new();
        let mut received = BTreeSet::new();
        for (_, event) in &outcome.log {
            match *event {
                MacEvent::Received { node, handle, .. } => {
                    assert!(received.insert((handle, node)), "{case:?}: {event:?} twice");
                    assert!(!sent.contains(&handle), "{case:?}: {event:?} after `Sent`");
                }
                MacEvent::Sent { handle, .. } => assert!(sent.insert(handle)),
                MacEvent::Failed { handle, .. } => assert!(failed.insert(handle)),
            }
        }
        assert!(sent.is_disjoint(&failed));
        let waiting: usize = (0..NODES).map(|node| net.backlog(node)).sum();
        let serving = (0..NODES)
            .filter(|node| !net.dcf.is_idle(NodeId(*node)))
            .count();
        assert_eq!(
            sent.len() + failed.len() + waiting + serving,
            outcome.offered as usize
        );
        assert!(sent.len() > 100, "{case:?}: {}", sent.len());

        // All is quiet at the end, so each attempt has ended.
        assert_eq!(serving, 0);
        let counters = &outcome.counters;
        let summary = net.dcf.radios().unwrap().frames(END);
        assert_eq!(counters.frames(), summary.frames);
        assert!(summary.busy < Duration::from_secs(60));
        assert_eq!(counters.data, counters.missing_ack + counters.sent);
        assert!(counters.cts <= counters.rts && counters.ack <= counters.data);
        assert_eq!(counters.ack, counters.received + counters.duplicates);
        assert!(counters.sent <= counters.received);
        assert_eq!(counters.dropped + counters.dead, failed.len() as u64);
        let frames = net.dcf.air_counters(END);
        assert_eq!(frames.arrivals, frames.settled());
        for report in outcome.energy.iter().flatten() {
            let all = report.transmitting + report.receiving + report.idle + report.sleeping;
            let end = report.died.unwrap_or(END);
            assert_eq!(Instant::ZERO + all, end);
            assert!((report.left + report.used - 8.0).abs() < 1e-12);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_events_and_another_seed_others() {
    for case in CASES {
        let (first, _) = run(case, 5, 0);
        let (again, _) = run(case, 5, 0);
        let (other, _) = run(case, 6, 0);
        assert_eq!(first.log, again.log);
        assert_ne!(first.log, other.log);
    }
}

#[test]
fn questions_change_nothing() {
    for case in CASES {
        let (silent, _) = run(case, 7, 0);
        let (asked, _) = run(case, 7, 3);
        assert_eq!(silent.log, asked.log, "{case:?}");
        assert_eq!(silent.counters, asked.counters);
        assert_eq!(silent.energy, asked.energy);
    }
}

/// A node far away changes nothing.
#[test]
fn a_node_out_of_range_moves_no_draws() {
    let places = |more: bool| {
        let mut places = Area::square(300.0).uniform(8, &Streams::new(1));
        if more {
            places.push(wireless::adhoc::mobility::Position::new(9e3, 9e3));
        }
        places
    };
    let run = |more: bool| {
        let mut net = Net::new(DcfConfig::DEFAULT, &places(more));
        for node in 0..8 {
            net.saturate(node, Some((node + 1) % 8), 1000);
        }
        net.run(Instant::from_secs(5));
        net.log
    };
    assert_eq!(run(false), run(true));
}

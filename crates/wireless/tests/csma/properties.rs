//! What holds in every network: conservation, order, and the same results for the same seed.

use std::collections::BTreeMap;

use proptest::prelude::*;
use units::{Duration, Instant};
use wireless::adhoc::mac::csma::CsmaConfig;
use wireless::adhoc::mac::{Mac as _, MacEvent, Outgoing};
use wireless::adhoc::mobility::Position;
use wireless::{DropCause, NodeId};

use crate::harness::Net;

#[derive(Clone, Debug)]
struct Network {
    config: CsmaConfig,
    places: Vec<(f64, f64)>,
    /// Sender, receiver, bytes and pause before it, in microseconds.
    packets: Vec<(usize, Option<usize>, u32, u64)>,
    seed: u64,
}

fn networks() -> impl Strategy<Value = Network> {
    let config = (
        any::<bool>(),
        prop::option::of(0u8..4),
        prop::option::of(2u8..40),
        prop_oneof![Just(0.0), Just(0.2)],
        any::<bool>(),
        1u32..4,
    );
    let config = config.prop_map(
        |(ack, order, header, loss, ns2_compat, buffers)| CsmaConfig {
            ack,
            beacon_order: order.map(|order| order + 1),
            superframe_order: order,
            compressed_header: header,
            frame_loss: loss,
            ns2_compat,
            reassembly_buffers: buffers,
            ..CsmaConfig::DEFAULT
        },
    );
    let places = prop::collection::vec((0.0..60.0, 0.0..60.0), 2..8);
    let packet = (
        any::<prop::sample::Index>(),
        prop::option::weighted(0.8, any::<prop::sample::Index>()),
        1u32..1400,
        0u64..60_000,
    );
    let packets = prop::collection::vec(packet, 1..40);
    (config, places, packets, any::<u64>()).prop_map(|(config, places, packets, seed)| {
        let count = places.len();
        let packets = packets
            .into_iter()
            .map(|(from, to, bytes, pause)| {
                let from = from.index(count);
                // Another node.
                let to = to.map(|to| (from + 1 + to.index(count - 1)) % count);
                (from, to, bytes, pause)
            })
            .collect();
        Network {
            config,
            places,
            packets,
            seed,
        }
    })
}

/// Offers the packets; a node that is not idle misses its turn. Returns what was offered.
fn run(network: &Network, extra: Option<(f64, f64)>) -> (Net, BTreeMap<u32, Outgoing>) {
    let places = network.places.iter().copied().chain(extra);
    let places: Vec<_> = places.map(|(x, y)| Position::new(x, y)).collect();
    let mut net = Net::new(&network.config, &CsmaConfig::radio(), &places, network.seed);
    let mut offered = BTreeMap::new();
    let mut at = Instant::ZERO;
    for (handle, (from, to, bytes, pause)) in network.packets.iter().enumerate() {
        at += Duration::from_micros(*pause);
        net.run(at, |_, _, _| {});
        if net.mac.is_idle(NodeId(*from as u32)) {
            let frame = Outgoing {
                to: to.map(|to| NodeId(to as u32)),
                bytes: *bytes,
                handle: handle as u32,
            };
            net.mac.send(at, NodeId(*from as u32), frame);
            offered.insert(handle as u32, frame);
        }
    }
    net.finish();
    (net, offered)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn packets_and_frames_are_conserved(network in networks()) {
        let (mut net, offered) = run(&network, None);
        // What became of each packet: who received it, and whether its sender is done.
        let mut received: BTreeMap<u32, Vec<NodeId>> = BTreeMap::new();
        let mut done: BTreeMap<u32, bool> = BTreeMap::new();
        let mut lost = 0;
        let mut last = Instant::ZERO;
        for (at, event) in &net.log {
            prop_assert!(*at >= last);
            last = *at;
            match *event {
                MacEvent::Received { node, from, handle } => {
                    let packet = offered[&handle];
                    prop_assert!(packet.to.is_none_or(|to| to == node) && node != from);
                    let nodes = received.entry(handle).or_default();
                    prop_assert!(!nodes.contains(&node), "twice");
                    prop_assert!(!done.contains_key(&handle), "after its end");
                    nodes.push(node);
                }
                MacEvent::Sent { handle, .. } => {
                    prop_assert!(done.insert(handle, true).is_none());
                    let packet = offered[&handle];
                    lost += u64::from(packet.to.is_some() && !received.contains_key(&handle));
                }
                MacEvent::Failed { handle, cause, .. } => {
                    prop_assert!(done.insert(handle, false).is_none());
                    let is_long = !network.config.ns2_compat && offered[&handle].bytes > 1280;
                    let is_length = cause == DropCause::Length;
                    prop_assert!(network.config.ns2_compat || is_long == is_length);
                }
            }
        }
        prop_assert_eq!(done.len(), offered.len());
        let counters = *net.mac.counters();
        prop_assert_eq!(counters.packets, offered.len() as u64);
        prop_assert_eq!(counters.packets, counters.sent + counters.failed);
        prop_assert_eq!(counters.sent, done.values().filter(|sent| **sent).count() as u64);
        prop_assert_eq!(counters.lost, lost);
        prop_assert!(counters.acks <= counters.arrived);
        let air = net.mac.air_mut();
        air.settle(Instant::MAX);
        prop_assert_eq!(air.counters().frames, counters.data_frames + counters.acks);
        prop_assert_eq!(air.counters().arrivals, air.counters().settled());
    }

    #[test]
    fn the_same_seed_gives_the_same_events(network in networks()) {
        prop_assert_eq!(run(&network, None).0.log, run(&network, None).0.log);
        // A node out of range of all others changes nothing.
        prop_assert_eq!(run(&network, None).0.log, run(&network, Some((900.0, 0.0))).0.log);
    }
}

#[test]
fn another_seed_gives_other_backoffs() {
    let logs = [1, 2].map(|seed| {
        let places = crate::harness::star(3);
        let mut net = Net::new(&CsmaConfig::DEFAULT, &CsmaConfig::radio(), &places, seed);
        net.send(Instant::ZERO, 1, None, 1000, 0);
        net.finish();
        net.log
    });
    assert_ne!(logs[0], logs[1]);
}

#[test]
fn acknowledgements_lost_in_collisions_make_duplicates_but_no_second_packets() {
    let places = crate::harness::star(10);
    let radio = crate::harness::no_capture();
    let mut net = Net::new(&CsmaConfig::DEFAULT, &radio, &places, 5);
    net.saturate(10, 116, Duration::from_secs(100));
    let counters = net.mac.counters();
    println!("{counters:?}");
    assert!(counters.duplicates > 100);
    assert_eq!(counters.arrived, net.tally.received + counters.duplicates);
    // Packets that arrived, but whose senders gave up, or learned it from another's
    // acknowledgement.
    let mut handles: Vec<_> = net
        .log
        .iter()
        .filter_map(|(_, event)| match event {
            MacEvent::Received { handle, .. } => Some(*handle),
            _ => None,
        })
        .collect();
    let count = handles.len();
    handles.sort_unstable();
    handles.dedup();
    assert_eq!(handles.len(), count);
}

#[test]
fn an_acknowledgement_for_another_node_may_be_taken_for_the_own_one() {
    // Node 1 sends to node 0, which is out of range. It hears node 2 acknowledge the frames of node
    // 3, which it does not hear, and of which its own frames destroy none: node 3 is close.
    let places = [0.0, 100.0, 128.0, 131.5].map(|x| Position::new(x, 0.0));
    let mut net = Net::new(&CsmaConfig::DEFAULT, &CsmaConfig::radio(), &places, 6);
    let to = |node: u32| Some(if node == 1 { 0 } else { 5 - node });
    net.saturate_to(3, to, 20, Duration::from_secs(100));
    let events = net.log.iter().map(|(_, event)| *event);
    let (mut believed, mut given_up) = (0, 0);
    for event in events {
        match event {
            MacEvent::Sent {
                node: NodeId(1), ..
            } => believed += 1,
            MacEvent::Failed {
                node: NodeId(1), ..
            } => given_up += 1,
            MacEvent::Received { node, .. } => assert_ne!(node, NodeId(0)),
            _ => {}
        }
    }
    println!("{believed} packets believed delivered, {given_up} given up");
    // Four tries, and an acknowledgement in one wait of some: of 256 numbers one is its own.
    assert_eq!(net.mac.counters().lost, believed);
    let fraction = f64::from(u32::try_from(believed).expect("few")) / f64::from(given_up);
    assert!(
        fraction > 0.1 / 256.0 && fraction < 4.0 / 256.0,
        "{fraction}"
    );
}

//! AODV over given links: discovery, expanding ring, errors, local repair, buffer, rate limits.
#![allow(clippy::print_stdout, reason = "tests print their measurements")]

use crate::common;

use common::{Net, SentMessage, chain, node};
use network::Streams;
use proptest::prelude::*;
use units::{Duration, Instant};
use wireless::adhoc::mobility::{Area, Mobility, Position, RandomWaypointConfig};
use wireless::adhoc::routing::aodv::{Aodv, AodvConfig, AodvMessage, RouteReply, RouteRequest};
use wireless::adhoc::routing::{Action, Decision, Header, Routing};
use wireless::adhoc::topology::Topology;
use wireless::{DropCause, NodeId};

fn net(config: AodvConfig, links: Topology, seed: u64) -> Net<Aodv> {
    let streams = Streams::new(seed);
    let nodes = (0..links.node_count() as u32)
        .map(|own| Aodv::new(node(own), config, &streams))
        .collect();
    Net::new(nodes, links)
}

fn at(seconds: f64) -> Instant {
    Instant::from_nanos((seconds * 1e9) as u64)
}

/// Times and hop limits of the requests that a node originated.
fn requests(net: &Net<Aodv>, own: NodeId) -> Vec<(f64, u8)> {
    let own = |sent: &SentMessage<AodvMessage>| match &sent.message {
        AodvMessage::Request(request) if request.origin == own && sent.from == own => {
            Some((sent.at.as_secs_f64(), request.ttl))
        }
        _ => None,
    };
    net.sent.iter().filter_map(own).collect()
}

/// The nodes that reported a destination as unreachable.
fn errors(net: &Net<Aodv>, to: NodeId) -> Vec<NodeId> {
    let reports = |sent: &&SentMessage<AodvMessage>| match &sent.message {
        AodvMessage::Error(ended) => ended.iter().any(|(ended, _)| *ended == to),
        _ => false,
    };
    net.sent
        .iter()
        .filter(reports)
        .map(|sent| sent.from)
        .collect()
}

#[test]
fn a_route_is_found_in_every_connected_graph() {
    let (mut hops, mut least, mut pairs) = (0, 0, 0);
    let mut latest: f64 = 0.0;
    for seed in 0..60_u64 {
        let positions = Area::square(500.0).uniform(40, &Streams::new(seed));
        let links = Topology::new(&positions, 140.0);
        if !links.is_connected() {
            continue;
        }
        let shortest = links.hops(node(39))[0].unwrap_or(0);
        let mut net = net(AodvConfig::DEFAULT, links, seed);
        let handle = net.offer(node(0), node(39));
        net.run(at(3.0), |_| ());
        assert!(net.is_delivered(handle), "seed {seed}");
        latest = latest.max(net.delivered[0].0.as_secs_f64());
        hops += net.visited[&handle].len() as u32 - 1;
        least += shortest;
        pairs += 1;
        // Both ends know a route now, without further requests.
        let before = requests(&net, node(39)).len();
        net.offer(node(39), node(0));
        assert_eq!(requests(&net, node(39)).len(), before);
    }
    println!("{pairs} graphs: {hops} hops, shortest {least}, the slowest packet {latest:.3} s");
    assert!(pairs > 25);
    // The first request to arrive makes the route, which delays of 10 ms per hop do not make shortest.
    assert!(hops <= 2 * least);
    // Two rings and a flood: 0.42 s, 0.54 s and 30 hops of at most 12 ms and back.
    assert!(latest < 0.42 + 0.54 + 1.0);
}

#[test]
fn the_ring_expands() {
    for (hops, expected) in [
        (1, &[5][..]),
        (5, &[5]),
        (6, &[5, 7]),
        (7, &[5, 7]),
        (8, &[5, 7, 30]),
        (29, &[5, 7, 30]),
        (30, &[5, 7, 30]),
        (31, &[5, 7, 30, 30, 30, 30]),
    ] {
        let mut net = net(AodvConfig::DEFAULT, chain(hops + 1), 1);
        let handle = net.offer(node(0), node(hops as u32));
        net.run(at(40.0), |_| ());
        let limits: Vec<_> = requests(&net, node(0))
            .iter()
            .map(|(_, ttl)| *ttl)
            .collect();
        assert_eq!(limits, expected, "{hops} hops");
        assert_eq!(net.is_delivered(handle), hops <= 30);
        // A request goes as far as its hop limit: each node within it sends it once.
        let first = |sent: &&SentMessage<AodvMessage>| matches!(&sent.message, AodvMessage::Request(request) if request.id == 1);
        let copies = net.sent.iter().filter(first).count();
        assert_eq!(copies, hops.min(5), "{hops} hops");
    }
}

#[test]
fn a_search_without_an_answer_ends() {
    let mut net = net(AodvConfig::DEFAULT, chain(1), 1);
    // The destination is no node of the chain.
    let handle = net.offer(node(0), node(7));
    net.run(at(60.0), |_| ());
    let sent = requests(&net, node(0));
    // 2 x 30 ms x (hop limit + 2), then 2 x 30 ms x 30, doubled up to 10 s.
    let mut expected = vec![(0.0, 5), (0.42, 7)];
    expected.extend([0.96, 2.76, 6.36, 13.56].map(|time| (time, 30)));
    assert_eq!(sent.len(), expected.len());
    for ((time, ttl), (expected_time, expected_ttl)) in sent.iter().zip(expected) {
        assert!(
            (time - expected_time).abs() < 1e-9 && *ttl == expected_ttl,
            "{sent:?}"
        );
    }
    let ended = at(13.56) + Duration::from_secs(10);
    assert_eq!(net.dropped, [(ended, handle, DropCause::NoRoute)]);
    assert_eq!(net.nodes[0].held(), 0);
}

#[test]
fn messages_have_the_sizes_of_the_standard() {
    let mut net = net(
        AodvConfig {
            local_repair: false,
            ..AodvConfig::DEFAULT
        },
        chain(4),
        1,
    );
    net.offer(node(0), node(3));
    net.run(at(1.0), |_| ());
    net.links = Topology::new(&[0.0, 1.0, 2.0, 9.0].map(|x| Position::new(x, 0.0)), 1.0);
    net.offer(node(0), node(3));
    net.run(at(1.1), |_| ());
    for sent in &net.sent {
        let expected = match sent.message {
            AodvMessage::Request(_) => 24 + 28,
            AodvMessage::Reply(_) => 20 + 28,
            AodvMessage::Error(_) => 4 + 8 + 28,
            AodvMessage::Hello(_) => 0,
        };
        assert_eq!(Aodv::bytes(&sent.message), expected);
        assert_eq!(
            sent.to.is_some(),
            matches!(sent.message, AodvMessage::Reply(_))
        );
    }
    assert_eq!(
        errors(&net, node(3)),
        [2, 1].map(node),
        "node 0 has nobody to report to"
    );
}

#[test]
fn a_broken_link_is_reported_to_the_origin() {
    let config = AodvConfig {
        local_repair: false,
        ..AodvConfig::DEFAULT
    };
    let mut net = net(config, chain(6), 2);
    let first = net.offer(node(0), node(5));
    net.run(at(2.0), |_| ());
    assert!(net.is_delivered(first));
    let number = net.nodes[0].sequence(node(5)).unwrap_or_default();
    // 0 - 1 - 2 - 3   4 - 5
    let places = [0.0, 1.0, 2.0, 3.0, 9.0, 10.0].map(|x| Position::new(x, 0.0));
    net.links = Topology::new(&places, 1.0);
    let second = net.offer(node(0), node(5));
    net.run(at(2.2), |_| ());
    assert_eq!(net.dropped.len(), 1);
    assert_eq!(
        (net.dropped[0].1, net.dropped[0].2),
        (second, DropCause::NoRoute)
    );
    assert_eq!(errors(&net, node(5)), [3, 2, 1].map(node));
    for own in 0..4 {
        assert_eq!(net.nodes[own].next_hop(node(5)), None, "node {own}");
    }
    assert_eq!(net.nodes[0].sequence(node(5)), Some(number + 1));
    assert_eq!(
        net.nodes[0].next_hop(node(3)),
        None,
        "only what was searched for is known"
    );
    // The link returns; the next packet searches, with a newer number.
    net.links = chain(6);
    let third = net.offer(node(0), node(5));
    net.run(at(4.0), |_| ());
    assert!(net.is_delivered(third));
    assert!(net.nodes[0].sequence(node(5)) >= Some(number + 1));
}

/// 0 - 1 - 2 - 3 - 4, where 2 - 5 - 6 - 4 is a second way; without 3 only the second one is left.
fn bypass(with_third: bool) -> Topology {
    let third = if with_third { (3.0, 0.0) } else { (30.0, 30.0) };
    let places = [
        (0.0, 0.0),
        (1.0, 0.0),
        (2.0, 0.0),
        third,
        (4.0, 0.0),
        (2.5, 0.8),
        (3.5, 0.8),
    ];
    let places: Vec<_> = places.iter().map(|(x, y)| Position::new(*x, *y)).collect();
    Topology::new(&places, 1.01)
}

#[test]
fn a_route_near_its_destination_is_repaired_on_the_spot() {
    let mut net = net(AodvConfig::DEFAULT, bypass(true), 3);
    // The route over node 3 is shorter, and its request arrives first.
    let first = net.offer(node(0), node(4));
    net.run(at(2.0), |_| ());
    assert!(net.is_delivered(first));
    assert_eq!(net.visited[&first], [0, 1, 2, 3, 4].map(node));
    net.links = bypass(false);
    let (second, third) = (net.offer(node(0), node(4)), net.offer(node(0), node(4)));
    net.run(at(3.0), |_| ());
    assert!(net.is_delivered(second) && net.is_delivered(third));
    assert_eq!(
        net.visited[&second],
        [0, 1, 2, 2, 5, 6, 4].map(node),
        "node 2 sent it twice"
    );
    assert!(errors(&net, node(4)).is_empty());
    assert_eq!(requests(&net, node(2)).len(), 1);
    assert_eq!(requests(&net, node(0)).len(), 1, "only the first search");
}

#[test]
fn a_repair_that_fails_is_reported() {
    let mut net = net(AodvConfig::DEFAULT, chain(5), 4);
    let first = net.offer(node(0), node(4));
    net.run(at(2.0), |_| ());
    assert!(net.is_delivered(first));
    let places = [0.0, 1.0, 2.0, 9.0, 10.0].map(|x| Position::new(x, 0.0));
    net.links = Topology::new(&places, 1.0);
    let start = net.now;
    let second = net.offer(node(0), node(4));
    net.run(at(3.0), |_| ());
    assert_eq!(
        (net.dropped[0].1, net.dropped[0].2),
        (second, DropCause::NoRoute)
    );
    // Two hops to the destination and two more: 2 x 30 ms x 6, after the hops of the packet.
    let search = requests(&net, node(2));
    assert_eq!((search.len(), search[0].1), (1, 4));
    let waited = net.dropped[0].0.saturating_since(start).as_secs_f64();
    assert!((waited - (3.0 * 0.002 + 0.36)).abs() < 1e-9, "{waited}");
    assert_eq!(errors(&net, node(4)), [2, 1].map(node));
    assert_eq!(net.nodes[0].next_hop(node(4)), None);
}

#[test]
fn the_buffer_holds_64_packets_for_30_seconds() {
    let config = AodvConfig {
        retries: 100,
        ..AodvConfig::DEFAULT
    };
    let mut net = net(config, chain(1), 5);
    for place in 0..70_u32 {
        net.run(at(0.1 * f64::from(place)), |_| ());
        assert_eq!(net.offer(node(0), node(9)), place);
    }
    assert_eq!(net.nodes[0].held(), 64);
    let dropped: Vec<_> = net.dropped.iter().map(|(_, handle, _)| *handle).collect();
    assert_eq!(dropped, [0, 1, 2, 3, 4, 5]);
    net.run(at(40.0), |_| ());
    assert_eq!(net.nodes[0].held(), 0);
    for (time, handle, cause) in &net.dropped[6..] {
        let waited = time.as_secs_f64() - 0.1 * f64::from(*handle);
        assert!((waited - 30.0).abs() < 1e-6 && *cause == DropCause::NoRoute);
    }
    let last = requests(&net, node(0)).last().map(|(time, _)| *time);
    assert!(last < Some(37.0), "no packet waits, so no request leaves");
}

#[test]
fn at_most_ten_requests_leave_in_a_second() {
    let mut net = net(AodvConfig::DEFAULT, chain(1), 6);
    for to in 1..40 {
        net.offer(node(0), node(to));
    }
    net.run(at(20.0), |_| ());
    let sent = requests(&net, node(0));
    println!("{} requests", sent.len());
    for window in sent.windows(11) {
        assert!(window[10].0 - window[0].0 >= 1.0 - 1e-9);
    }
    assert!((190..=210).contains(&sent.len()), "{}", sent.len());
}

/// One node, number 9, whose neighbours are played by the test.
fn alone() -> Aodv {
    Aodv::new(node(9), AodvConfig::DEFAULT, &Streams::new(1))
}

const fn request(to: u32, to_sequence: Option<u32>, id: u32) -> AodvMessage {
    AodvMessage::Request(RouteRequest {
        ttl: 5,
        hops: 1,
        id,
        to: NodeId(to),
        to_sequence,
        origin: NodeId(1),
        origin_sequence: 40 + id,
    })
}

const fn reply(to: u32, sequence: u32, hops: u8, origin: u32) -> AodvMessage {
    AodvMessage::Reply(RouteReply {
        hops,
        to: NodeId(to),
        sequence,
        origin: NodeId(origin),
        lifetime: Duration::from_secs(10),
    })
}

#[test]
fn a_node_answers_with_a_route_that_is_new_enough() {
    let mut aodv = alone();
    let mut actions = Vec::new();
    aodv.receive(at(1.0), node(3), reply(30, 20, 2, 9), &mut actions);
    assert_eq!(aodv.hops(node(30)), Some(3));
    assert_eq!(actions, []);
    for (id, known, answers) in [(1, None, true), (2, Some(20), true), (3, Some(21), false)] {
        actions.clear();
        aodv.receive(at(2.0), node(2), request(30, known, id), &mut actions);
        assert_eq!(actions.len(), 1);
        match &actions[0] {
            Action::Send { message, to, .. } if answers => {
                let expected = RouteReply {
                    hops: 3,
                    to: node(30),
                    sequence: 20,
                    origin: node(1),
                    lifetime: Duration::from_secs(9),
                };
                assert_eq!(
                    (message, *to),
                    (&AodvMessage::Reply(expected), Some(node(2)))
                );
            }
            Action::Send {
                message: AodvMessage::Request(further),
                to: None,
                after,
            } => {
                assert!(!answers && *after < Duration::from_millis(10));
                assert_eq!(
                    (further.ttl, further.hops, further.to_sequence),
                    (4, 2, Some(21))
                );
            }
            other => panic!("{other:?}"),
        }
        // The same request again is ignored.
        actions.clear();
        aodv.receive(at(2.1), node(4), request(30, known, id), &mut actions);
        assert_eq!(actions, []);
    }
    assert_eq!(aodv.next_hop(node(1)), Some(node(2)), "the way back");
    // The neighbour that got an answer hears of the broken link.
    actions.clear();
    let header = Header {
        from: node(9),
        to: node(30),
        hop_limit: 32,
        bytes: 40,
    };
    let decision = aodv.link_failed(at(3.0), node(3), &header, 0, &mut actions);
    assert_eq!(decision, Decision::Hold);
    let report = |action: &Action<AodvMessage>| match action {
        Action::Send {
            message: AodvMessage::Error(ended),
            ..
        } => Some(ended.to_vec()),
        _ => None,
    };
    assert_eq!(actions.iter().find_map(report), Some(vec![(node(30), 21)]));
    assert!(actions.contains(&Action::Recall(node(3))));
}

#[test]
fn the_destination_answers_with_a_number_as_new_as_the_request_demands() {
    let mut aodv = alone();
    let mut actions = Vec::new();
    for (id, known, expected) in [(1, None, 0), (2, Some(7), 7), (3, Some(5), 7)] {
        actions.clear();
        aodv.receive(at(1.0), node(2), request(9, known, id), &mut actions);
        let Action::Send {
            message: AodvMessage::Reply(reply),
            to,
            ..
        } = &actions[0]
        else {
            panic!("{actions:?}");
        };
        assert_eq!(
            (reply.hops, reply.sequence, *to),
            (0, expected, Some(node(2)))
        );
        assert_eq!(reply.lifetime, Duration::from_secs(20));
    }
}

#[test]
fn an_unused_route_ends_after_ten_seconds() {
    let mut net = net(AodvConfig::DEFAULT, chain(4), 7);
    net.offer(node(0), node(3));
    net.run(at(1.0), |_| ());
    // Used every 8 s, it lives on.
    for round in 1..5 {
        net.run(at(f64::from(8 * round)), |_| ());
        net.offer(node(0), node(3));
    }
    net.run(at(40.0), |_| ());
    assert_eq!(requests(&net, node(0)).len(), 1);
    net.run(at(60.0), |_| ());
    net.offer(node(0), node(3));
    assert_eq!(requests(&net, node(0)).len(), 2);
}

#[test]
fn announcements_find_a_broken_link_without_traffic() {
    let config = AodvConfig {
        hello: true,
        active_route: Duration::from_secs(60),
        ..AodvConfig::DEFAULT
    };
    let mut net = net(config, chain(3), 8);
    net.offer(node(0), node(2));
    net.run(at(5.0), |_| ());
    assert_eq!(net.nodes[0].next_hop(node(2)), Some(node(1)));
    net.links = Topology::new(&[0.0, 1.0, 9.0].map(|x| Position::new(x, 0.0)), 1.0);
    // The last announcement came after 4 s, and three may be missing.
    net.run(at(6.9), |_| ());
    assert_eq!(net.nodes[0].next_hop(node(2)), Some(node(1)));
    net.run(at(10.0), |_| ());
    assert_eq!(net.nodes[1].next_hop(node(2)), None);
    assert_eq!(net.nodes[0].next_hop(node(2)), None, "node 1 reported it");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Every packet is delivered, dropped with a cause or held, whatever moves and whatever is lost;
    /// and next hops form no loop.
    #[test]
    fn packets_are_conserved_and_there_is_no_loop(
        seed in 0_u64..1_000_000,
        count in 2_usize..14,
        range in 120.0_f64..350.0,
        speed in 1.0_f64..40.0,
        loss in 0.0_f64..0.5,
        local_repair in any::<bool>(),
        hello in any::<bool>(),
    ) {
        let streams = Streams::new(seed);
        let moves = RandomWaypointConfig {
            min_speed: speed,
            max_speed: speed,
            ..RandomWaypointConfig::DEFAULT
        };
        let mut mobility = Mobility::random_waypoint(Area::square(500.0), count, &moves, &streams);
        let config = AodvConfig {
            local_repair,
            hello,
            ..AodvConfig::DEFAULT
        };
        let links = Topology::new(&mobility.positions(Instant::ZERO), range);
        let mut net = net(config, links, seed);
        net.loss = loss;
        for second in 1..100_u32 {
            net.run(at(f64::from(second)), Net::assert_no_loop);
            net.links = Topology::new(&mobility.positions(net.now), range);
            for flow in 0..3 {
                let (from, to) = ((second + flow) % count as u32, second * (7 + flow) % count as u32);
                if from != to {
                    net.offer(node(from), node(to));
                }
            }
        }
        let accounted = net.delivered.len() + net.dropped.len() + net.held();
        prop_assert_eq!(accounted, net.offered());
        // After the longest search, nothing is held.
        net.run(at(140.0), Net::assert_no_loop);
        prop_assert_eq!(net.held(), 0);
    }
}

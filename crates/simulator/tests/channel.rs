//! The links of a scenario meet the same channel whatever their packets carry.

use std::path::Path;

use network::router::RouterSupport;
use network::{Admission, Ecn, Link, Packet, Payload, Streams};
use scenario::Scenario;
use simulator::{Channel, ChannelLink};
use units::{Duration, Instant};

/// Random losses and a variable rate on each link, two of which share a medium.
const NETWORK: &str = "
[path]
rate = '20 Mbit/s'
rtt = '40 ms'
loss = '10 %'
reverse = { loss = '5 %' }
[[path.router]]
rate = '30 Mbit/s'
loss = '20 %'
router_support = 'quick-start'
[[node]]
name = 'a'
[[link]]
name = 'radio'
from = 'right'
to = 'a'
rate = { model = 'wifi' }
loss = '10 %'
[[link]]
name = 'alone'
from = 'a'
to = 'left'
rate = '8 Mbit/s'
loss = '30 %'
one_way = true
[[flow]]
algorithm = 'reno'
size = '1 kB'
";

/// When packets offered at a constant rate leave a link, by their number.
fn passage<T: Payload>(mut link: Link<T>, payload: &T) -> Vec<(u32, Instant)> {
    let mut out = Vec::new();
    for flow in 0..1000 {
        let now = Instant::ZERO + Duration::from_micros(2500) * u64::from(flow);
        while let Some((due, packet)) = link.pop(now) {
            out.push((packet.flow, due));
        }
        let packet = Packet {
            size: 1500,
            flow,
            ecn: Ecn::NotEct,
            payload: payload.clone(),
        };
        assert!(matches!(
            link.push(now, packet),
            Admission::Accepted | Admission::Dropped(_)
        ));
    }
    out
}

fn links<T: Payload>(channel: Channel<'_, T>) -> Vec<ChannelLink<'_, T>> {
    let beside = channel.links.into_iter();
    let beside = beside.flat_map(|(forward, reverse)| std::iter::once(forward).chain(reverse));
    let own = channel.path.into_iter().chain(channel.routers);
    own.chain(beside).collect()
}

#[test]
fn the_channel_depends_on_the_names_of_links_and_the_seed_alone() {
    let scenario = Scenario::parse(NETWORK, "f.toml", Path::new("")).expect("a valid scenario");
    let path = &scenario.path;
    let streams = Streams::new(7);
    let segments = links(Channel::new(path, &streams));
    let datagrams = links(Channel::new(path, &streams));
    let names: Vec<&str> = segments.iter().map(|link| link.link.name()).collect();
    let expected = [
        "forward",
        "reverse",
        "router 1",
        "radio",
        "radio (reverse)",
        "alone",
    ];
    assert_eq!(names, expected);
    let supported: Vec<bool> = segments.iter().map(|link| link.router.is_some()).collect();
    assert_eq!(supported, [false, false, true, false, false, false]);
    let support = &path.routers[0].router_support;
    assert!(matches!(support, RouterSupport::QuickStart(_)));
    // Links without a medium of their own: the stream alone decides.
    let streams_of = [
        "path.forward",
        "path.reverse",
        "path.router 1",
        "",
        "",
        "link alone",
    ];
    for ((one, other), stream) in segments.into_iter().zip(datagrams).zip(streams_of) {
        let ChannelLink { config, link, .. } = one;
        let passed = passage(link, &());
        assert!((100..1000).contains(&passed.len()), "{}", config.name);
        assert_eq!(passed, passage(other.link, &[0_u64; 4]), "{}", config.name);
        if !stream.is_empty() {
            let alone = Link::new(config, streams.stream(stream));
            assert_eq!(passed, passage::<()>(alone, &()), "{stream}");
        }
    }
}

//! Frames per second of processor time of saturated 802.11 nodes: 40 in one collision domain; 40,
//! 400 and 4000 at constant density, fixed and moving; 1, 10 and 100 clusters out of range of each
//! other.
//!
//! `cargo run --release -p slowstart-wireless --example saturated`
#![allow(clippy::print_stdout, reason = "it prints what it measures")]
#![allow(
    clippy::disallowed_methods,
    reason = "it measures the time of the machine"
)]

use network::Streams;
use units::{Duration, Instant};
use wireless::NodeId;
use wireless::adhoc::mac::dcf::{Dcf, DcfConfig};
use wireless::adhoc::mac::{Mac, MacEvent, Outgoing};
use wireless::adhoc::mobility::{Area, Mobility, Position, RandomWaypointConfig};
use wireless::adhoc::propagation::RadioConfig;

/// Processor time of this process, in seconds (Linux).
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = stat
        .split(' ')
        .next()
        .and_then(|text| text.parse::<u64>().ok());
    nanos.unwrap_or_default() as f64 / 1e9
}

/// Every node sends to one neighbour without a pause.
fn measure(name: &str, mobility: Mobility, to: &[NodeId], span: Duration) {
    let streams = Streams::new(1);
    let mut dcf = Dcf::new(
        &DcfConfig::DEFAULT,
        &RadioConfig::DEFAULT,
        mobility,
        None,
        &streams,
    );
    let start = processor();
    let packet = |node: usize| Outgoing {
        to: Some(to[node]),
        bytes: 1064,
        handle: 0,
    };
    for node in 0..to.len() {
        dcf.send(Instant::ZERO, NodeId(node as u32), packet(node));
    }
    let (mut events, mut steps, mut reports) = (Vec::new(), 0_u64, 0_u64);
    let end = Instant::ZERO + span;
    while dcf.next_event() < end {
        let now = dcf.next_event();
        dcf.step(&mut events);
        steps += 1;
        for event in events.drain(..) {
            reports += 1;
            if let MacEvent::Sent { node, .. } | MacEvent::Failed { node, .. } = event {
                dcf.send(now, node, packet(node.index()));
            }
        }
    }
    let seconds = processor() - start;
    let frames = dcf.counters().frames() as f64;
    let arrivals = dcf.air_counters(end).arrivals;
    let in_range = arrivals as f64 / frames;
    println!(
        "{name}: {:.0} frames/s, {:.2} us/frame, {:.1} nodes in range, {:.0} ns for each, \
         {:.1} events/frame, \
         {:.2} Mbit/s, {reports} reports, {:.0} s in {seconds:.2} s",
        frames / seconds,
        seconds / frames * 1e6,
        in_range,
        seconds / frames * 1e9 / in_range,
        steps as f64 / frames,
        dcf.counters().received as f64 * 8192.0 / span.as_secs_f64() / 1e6,
        span.as_secs_f64(),
    );
}

/// The nearest other node of a cluster that repeats.
fn nearest(cluster: &[Position], node: usize) -> NodeId {
    let (first, own) = (node - node % cluster.len(), node % cluster.len());
    let others = (0..cluster.len()).filter(|other| *other != own);
    let distance = |other: &usize| cluster[own].distance_squared(cluster[*other]);
    let nearest = others.min_by(|a, b| distance(a).total_cmp(&distance(b)));
    NodeId((first + nearest.unwrap_or(own)) as u32)
}

fn main() {
    let area = Area::square(100.0);
    let domain = area.uniform(40, &Streams::new(1));
    let ring: Vec<_> = (0..40).map(|node| NodeId((node + 1) % 40)).collect();
    measure(
        "40 in one domain",
        Mobility::fixed(&domain),
        &ring,
        Duration::from_secs(100),
    );
    for count in [40, 400, 4000] {
        // 500 m x 500 m for 40 nodes: 20 in range of reception, if that were endless.
        let area = Area::square(500.0 * (count as f64 / 40.0).sqrt());
        let places = area.uniform(count, &Streams::new(1));
        let to: Vec<_> = (0..count).map(|node| nearest(&places, node)).collect();
        let span = Duration::from_secs(4000 / count as u64);
        measure(
            &format!("{count} fixed"),
            Mobility::fixed(&places),
            &to,
            span,
        );
        let config = RandomWaypointConfig::DEFAULT;
        let moving = Mobility::random_waypoint(area, count, &config, &Streams::new(1));
        measure(&format!("{count} moving"), moving, &to, span);
    }
    // The same 40 nodes several times, 2 km apart: nobody hears another cluster.
    for clusters in [1, 10, 100] {
        let one = Area::square(500.0).uniform(40, &Streams::new(1));
        let place = |node: usize| {
            let (cluster, at) = (node / 40, one[node % 40]);
            let (east, north) = ((cluster % 10) as f64, (cluster / 10) as f64);
            Position::new(at.x + 2000.0 * east, at.y + 2000.0 * north)
        };
        let places: Vec<_> = (0..40 * clusters).map(place).collect();
        let to: Vec<_> = (0..places.len()).map(|node| nearest(&one, node)).collect();
        let span = Duration::from_secs(200 / clusters as u64);
        let name = format!("{clusters} clusters of 40");
        measure(&name, Mobility::fixed(&places), &to, span);
    }
    let line: Vec<_> = (0..2).map(|x| Position::new(f64::from(x), 0.0)).collect();
    let to = [NodeId(1), NodeId(0)];
    measure(
        "2 nodes",
        Mobility::fixed(&line),
        &to,
        Duration::from_secs(1000),
    );
}

//! The map of an ad-hoc network or a constellation, without a packet of a user: where the nodes
//! are, which of them hear each other, and the routes between the ends of the flows.
//!
//! The network draws from the same random streams as that of a run with the same seed, so it is the
//! network that the run's flows meet, except that no user loads it. A routing protocol that
//! searches for a route when a packet needs one (AODV) shows none.

use std::sync::atomic::{AtomicBool, Ordering};

use measure::{NetworkCharacterization, NetworkFrame, NetworkRoute, RouteSeries};
use network::Streams;
use scenario::{CloudConfig, Direction, Ends, Map, PathModel, Place, Step};
use units::{Duration, Instant};
use wireless::{Cloud, CloudMap, NodeId};

use crate::RunError;
use crate::fabric::drawn;

/// Most routes that are followed.
const MOST_ROUTES: usize = 10;
/// Moments at which a network that changes is drawn, and those at which its routes are asked for.
const FRAMES: u64 = 6;
const SAMPLES: u64 = 300;
/// How far the network goes before the loop looks whether it was cancelled.
const STEP: Duration = Duration::from_millis(100);

/// Looks at the network of a map for `span` after its warm-up; `None` if it has none.
///
/// # Errors
/// [`RunError::Cancelled`] when `cancel` became true.
pub fn characterize_network(
    map: &Map,
    seed: u64,
    span: Duration,
    cancel: &AtomicBool,
) -> Result<Option<NetworkCharacterization>, RunError> {
    let path = map.path();
    let Some(config) = &path.cloud else {
        return Ok(None);
    };
    let streams = Streams::new(seed);
    let pairs = pairs(map, &streams);
    let mut cloud: Box<dyn Cloud<()>> = config.build(&streams);
    let name = |node: &NodeId| config.node_name(*node).into_owned();
    let mut found = NetworkCharacterization {
        kind: config.kind().to_owned(),
        nodes: (0..config.node_count())
            .map(|node| name(&NodeId(node)))
            .collect(),
        moves: moves(config),
        area_m: match config {
            CloudConfig::AdHoc(config) => Some([config.area.width, config.area.height]),
            _ => None,
        },
        frames: Vec::new(),
        routes: pairs
            .iter()
            .map(|[from, to]| RouteSeries {
                from: name(from),
                to: name(to),
                ..RouteSeries::default()
            })
            .collect(),
    };
    let start = Instant::ZERO + path.warm_up;
    let samples = SAMPLES.min(span.as_nanos().max(1));
    let every = SAMPLES / (FRAMES - 1);
    for sample in 0..=samples {
        let at = start + span / samples * sample;
        advance(&mut *cloud, at, cancel)?;
        let is_frame = match found.moves {
            true => sample % every == 0 || sample == samples,
            false => sample == samples,
        };
        let map = cloud.map(at);
        for ([from, to], series) in pairs.iter().zip(&mut found.routes) {
            let points = cloud.route(at, *from, *to);
            let delay = points.as_ref().and_then(|points| delay(&map, points));
            series.time_s.push(at.as_secs_f64());
            series
                .hops
                .push(points.map(|points| points.len() as u64 - 1));
            series.delay_ms.push(delay);
        }
        if is_frame {
            let frame = frame(&mut *cloud, at, &map, &pairs);
            found.frames.push(frame);
        }
    }
    Ok(Some(found))
}

fn advance(cloud: &mut dyn Cloud<()>, at: Instant, cancel: &AtomicBool) -> Result<(), RunError> {
    while cloud.next_event() <= at {
        if cancel.load(Ordering::Relaxed) {
            return Err(RunError::Cancelled);
        }
        cloud.advance(at.min(cloud.next_event() + STEP));
    }
    Ok(())
}

fn moves(config: &CloudConfig) -> bool {
    match config {
        CloudConfig::Ideal(_) => false,
        CloudConfig::AdHoc(config) => config.mobility.moves(),
        CloudConfig::Constellation(..) => true,
    }
}

fn frame(
    cloud: &mut dyn Cloud<()>,
    at: Instant,
    map: &CloudMap,
    pairs: &[[NodeId; 2]],
) -> NetworkFrame {
    NetworkFrame {
        time_s: at.as_secs_f64(),
        points: map.points.clone(),
        links: map.links.iter().map(|link| link.ends).collect(),
        routes: pairs
            .iter()
            .map(|&[from, to]| NetworkRoute {
                points: cloud.route(at, from, to),
            })
            .collect(),
    }
}

/// Propagation over the links of a route, in milliseconds; `None` if a link is not there any more.
fn delay(map: &CloudMap, points: &[u32]) -> Option<f64> {
    let mut sum = Duration::ZERO;
    for pair in points.windows(2) {
        let ends = [pair[0].min(pair[1]), pair[0].max(pair[1])];
        sum += map.links.iter().find(|link| link.ends == ends)?.delay;
    }
    Some(sum.as_secs_f64() * 1e3)
}

/// The crossings of the flows and the background traffic, as in run 0 with this seed; without
/// either, that from the first node to the last.
fn pairs(map: &Map, streams: &Streams) -> Vec<[NodeId; 2]> {
    let path = map.path();
    let flows = map.flows().iter().enumerate().map(|(index, flow)| {
        let name = format!("ends of flow {index}");
        (flow.ends, Direction::Forward, name)
    });
    let traffic = path.traffic.iter().map(|traffic| {
        let name = format!("ends of {} 0", traffic.name);
        (traffic.flow.ends, traffic.direction, name)
    });
    let mut found: Vec<[NodeId; 2]> = Vec::new();
    for (ends, direction, name) in flows.chain(traffic) {
        let ends = match ends.is_drawn() {
            true => drawn(path, streams, ends, &name),
            false => ends,
        };
        if let Some(pair) = crossing(path, ends, direction)
            && !found.contains(&pair)
            && found.len() < MOST_ROUTES
        {
            found.push(pair);
        }
    }
    if found.is_empty() && path.cloud_nodes().count() > 1 {
        let last = path.cloud_nodes().count() as u32 - 1;
        found.push([NodeId(0), NodeId(last)]);
    }
    found
}

fn crossing(path: &PathModel, ends: Ends, direction: Direction) -> Option<[NodeId; 2]> {
    debug_assert!(ends.from != Some(Place::Any));
    let [from, to] = path.ends_of(ends, direction);
    let route = path.route(from, to)?;
    route.steps.iter().find_map(|step| match *step {
        Step::Cloud { from, to } => Some([from, to]),
        Step::Link { .. } => None,
    })
}

//! The benchmark scenarios: bulk TCP over one drop-tail bottleneck, CUBIC with HyStart, SACK,
//! RACK-TLP and PRR as in Linux, no tracing, one thread; and connections with requests and
//! responses between the hosts of a dumbbell.

use std::path::Path;

use congestion::Algorithm;
use network::{Discipline, LinkConfig, LossConfig, QueueConfig, QueueLimit, Service, Streams};
use rand_core::RngCore;
use scenario::{
    Autotuning, Direction, Ends, Flow, Hosts, Node, PathModel, Place, Scenario, Traffic,
    TrafficKind,
};
use units::{Bytes, Duration, Instant, Rate};
use workload::Plan;
use workload::generate::Http10Config;

/// A benchmark scenario.
pub struct Bench {
    pub name: &'static str,
    pub summary: &'static str,
    pub build: fn() -> Scenario,
}

/// Every scenario.
pub fn all() -> impl Iterator<Item = Bench> {
    usual()
        .into_iter()
        .chain(by_hosts())
        .chain(many_flows())
        .chain(million())
        .chain(windows())
        .chain([adhoc(), short_sense()])
}

/// Many hidden nodes, queues and routes. Its packets are the frames on the air, with control frames
/// and retries.
fn adhoc() -> Bench {
    Bench {
        name: "A40",
        summary: "ad hoc: 40 nodes, 802.11, DSDV, 20 flows, 100 s",
        build: || {
            let parsed = Scenario::parse(ADHOC, "adhoc", Path::new(""));
            parsed.unwrap_or_else(|error| unreachable!("{error}"))
        },
    }
}

/// A40 for the comparison with ns-3: its radios sense as far as they decode, and the places of the
/// nodes and the ends of the flows are given.
fn short_sense() -> Bench {
    Bench {
        name: "A40R",
        summary: "A40 without carrier sense beyond the range",
        build: || {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/ns3");
            let text = include_str!("../ns3/adhoc.toml");
            let parsed = Scenario::parse(text, "adhoc", Path::new(folder));
            parsed.unwrap_or_else(|error| unreachable!("{error}"))
        },
    }
}

const ADHOC: &str = r#"
name = "adhoc"
duration = "100 s"

[network]
kind = "adhoc"
nodes = 40
area = "500 m"
mac = { model = "802.11", data_rate = "1 Mbit/s", basic_rate = "1 Mbit/s" }
radio = { range_multiplier = 1.316 }
routing = "dsdv"
warm_up = "30 s"

[[flow]]
algorithm = "cubic"
from = "node 0"
to = "any"
count = 20
mss = "1024 B"
stagger = "150 ms"
"#;

/// More and more bulk flows over one link; their starts are spread over a second. What differs is
/// how much memory the flows take, not how much traffic there is.
pub fn many_flows() -> [Bench; 5] {
    let bench = |name, summary, build| Bench {
        name,
        summary,
        build,
    };
    [
        bench("F10", "10 flows, 1 Gbit/s, 50 ms, 5 s", || flows(10)),
        bench("F100", "100 flows", || flows(100)),
        bench("F1000", "1000 flows", || flows(1000)),
        bench("F10000", "10,000 flows", || flows(10_000)),
        bench("L1000", "1000 flows, 50 s: ten times as long", || {
            flows_for(1000, 50)
        }),
    ]
}

/// `count` flows over 1 Gbit/s and 50 ms, with a buffer of one BDP or of two packets a flow.
fn flows(count: u32) -> Scenario {
    flows_for(count, 5)
}

/// The same for so many seconds: the longer, the less the starts of the flows count.
fn flows_for(count: u32, seconds: u64) -> Scenario {
    let packets = u64::from(count * 2).max(4130);
    let mut scenario = bulk(1000, 50, packets, count as usize, seconds);
    for (index, flow) in (0..).zip(&mut scenario.flows) {
        flow.start = Instant::from_micros(1_000_000 / u64::from(count) * index);
    }
    scenario
}

/// HTTP/1.0 at 35 % of 100 Mbit/s for 30 s, between more and more hosts: the cost of a packet
/// depends on the traffic, not on the number of hosts.
pub fn by_hosts() -> [Bench; 5] {
    let bench = |name, summary, build| Bench {
        name,
        summary,
        build,
    };
    [
        bench(
            "H10",
            "HTTP/1.0, 35 % of 100 Mbit/s, 10 hosts, 30 s",
            || http(100, 5, 30),
        ),
        bench("H100", "100 hosts", || http(100, 50, 30)),
        bench("H1000", "1000 hosts", || http(100, 500, 30)),
        bench("H10000", "10,000 hosts", || http(100, 5000, 30)),
        bench("H100000", "100,000 hosts", || http(100, 50_000, 30)),
    ]
}

/// A million short connections in one run.
pub fn million() -> [Bench; 1] {
    [Bench {
        name: "C1M",
        summary: "10^6 HTTP/1.0 connections, 35 % of 1 Gbit/s",
        build: || http(1000, 450, 328),
    }]
}

/// Slow start into a buffer that is as large as the BDP: the last round loses thousands of the
/// packets in flight, every second one for the most part, and SACK repairs them. Four windows of
/// data; what differs is how many packets the scoreboard holds.
pub fn windows() -> [Bench; 3] {
    let bench = |name, summary, build| Bench {
        name,
        summary,
        build,
    };
    [
        bench("W1000", "overshoot of 1000 packets in flight", || {
            overshoot(1000)
        }),
        bench("W10000", "of 10,000", || overshoot(10_000)),
        bench("W100000", "of 100,000", || overshoot(100_000)),
    ]
}

/// A flow that sends four times `window` packets, half of a window in flight on the path and half in
/// its buffer, over 100 ms.
fn overshoot(window: u64) -> Scenario {
    let mut path = path(0, 100, window / 2);
    // 1514 bytes a packet with the link's own header.
    let bits = window / 2 * 1514 * 8 * 10;
    path.forward.service = Service::Fixed(Rate::from_bits_per_sec(bits));
    let mut flow = Flow::new(algorithm("cubic+standard"));
    flow.size = Some(Bytes::new(4 * window * 1448));
    flow.receive_buffer = Bytes::new(1 << 30);
    flow.autotuning = Autotuning::Off;
    Scenario::new(path, vec![flow])
}

/// What `bench` runs.
pub fn usual() -> [Bench; 7] {
    [
        Bench {
            name: "S1",
            summary: "1 flow, 50 Mbit/s, 100 ms, 413 packets, 60 s",
            build: || bulk(50, 100, 413, 1, 60),
        },
        Bench {
            name: "S2",
            summary: "1 flow, GEO: 144 Mbit/s, 600 ms, 25000 packets, 60 s",
            build: || {
                let mut scenario = bulk(144, 600, 25_000, 1, 60);
                scenario.flows[0].algorithm = algorithm("cubic+standard").into();
                scenario
            },
        },
        Bench {
            name: "S3",
            summary: "1 flow, 1 Gbit/s, 30 ms, 1 BDP, 20 s",
            build: || bulk(1000, 30, 2477, 1, 20),
        },
        Bench {
            name: "S4",
            summary: "100 flows, 1 Gbit/s, nine RTTs 10..200 ms, 20 s",
            build: many,
        },
        Bench {
            name: "S5",
            summary: "9375 transfers, 10 Mbit/s, 50 packets, 35 % load, 300 s",
            build: web,
        },
        Bench {
            name: "S6",
            summary: "S5 between 450+450 hosts, 100 Mbit/s each",
            build: dumbbell,
        },
        Bench {
            name: "S7",
            summary: "HTTP/1.0, 35 % of 10 Mbit/s, 450+450 hosts, 300 s",
            build: || http(10, 450, 300),
        },
    ]
}

fn algorithm(name: &str) -> Algorithm {
    Algorithm::parse(name).unwrap_or_else(|error| unreachable!("{error}"))
}

fn path(mbit: u64, rtt_ms: u64, packets: u64) -> PathModel {
    let half = Duration::from_micros(rtt_ms * 500);
    let link = |name: &str, service, limit| LinkConfig {
        name: name.to_owned(),
        service,
        overhead: 14,
        queue: QueueConfig {
            limit,
            discipline: Discipline::DropTail,
        },
        loss: LossConfig::None,
        delay: half,
        jitter: None,
        reordering: None,
    };
    let rate = Service::Fixed(Rate::from_bits_per_sec(mbit * 1_000_000));
    PathModel::from_links(
        "bench",
        "",
        link("forward", rate, QueueLimit::Packets(packets)),
        link("reverse", Service::Unlimited, QueueLimit::Unlimited),
    )
}

fn bulk(mbit: u64, rtt_ms: u64, packets: u64, flows: usize, seconds: u64) -> Scenario {
    let flow = Flow::new(algorithm("cubic"));
    let mut scenario = Scenario::new(path(mbit, rtt_ms, packets), vec![flow; flows]);
    scenario.duration = Some(Duration::from_secs(seconds));
    scenario
}

/// S4: the flows' base RTTs cycle through nine values from 10 to 200 ms. The buffer is one BDP of
/// 100 ms.
fn many() -> Scenario {
    let rtts_ms = [10, 34, 58, 81, 105, 129, 153, 176, 200];
    let mut scenario = bulk(1000, 10, 8256, 100, 20);
    for (index, flow) in scenario.flows.iter_mut().enumerate() {
        flow.extra_delay = Duration::from_micros((rtts_ms[index % 9] - 10) * 500);
        // Starts are spread over a second, so that the flows are not synchronized.
        flow.start = Instant::from_millis(10 * index as u64);
    }
    scenario
}

/// S5: Poisson arrivals of transfers at 35 % of 10 Mbit/s, which is 31.25 transfers per second.
/// Their size is Pareto with shape 1.1, truncated at 10 MB, mean 14 kB (scale 2238.6 bytes).
fn web() -> Scenario {
    let rtts_ms = [4, 28, 54, 74, 98, 124, 150, 174, 200];
    let mut random = Streams::new(1).stream("arrivals");
    let mut uniform = move || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let mut at = 0.0;
    let mut flows = Vec::new();
    let base = Flow::new(algorithm("cubic"));
    loop {
        at -= libm::log(1.0 - uniform()) / 31.25;
        if at >= 300.0 {
            break;
        }
        let (shape, scale, cut) = (1.1, 2238.6, 1e7);
        // Inverse of the truncated distribution function.
        let mass = 1.0 - libm::pow(scale / cut, shape);
        let size = scale / libm::pow(1.0 - uniform() * mass, 1.0 / shape);
        let mut flow = base.clone();
        flow.size = Some(Bytes::new(size as u64));
        flow.start = Instant::from_nanos((at * 1e9) as u64);
        flow.extra_delay = Duration::from_micros((rtts_ms[flows.len() % 9] - 4) * 500);
        flows.push(flow);
    }
    let mut scenario = Scenario::new(path(10, 4, 50), flows);
    scenario.duration = Some(Duration::from_secs(300));
    scenario
}

/// The hosts of a dumbbell, `count` at each end. The edge delays are those of the Common TCP
/// Evaluation Suite, with the same nine round-trip times.
fn edges(count: u32, mbit: u64) -> Vec<Hosts> {
    let hosts = |name: &str, at, delays_ms: &[u64]| Hosts {
        name: name.to_owned(),
        at,
        count,
        rate: Some(Rate::from_bits_per_sec(mbit * 1_000_000)),
        buffer: QueueLimit::Packets(1000),
        overhead: 14,
        delays: delays_ms
            .iter()
            .map(|&ms| Duration::from_millis(ms))
            .collect(),
    };
    vec![
        hosts("servers", Node::LEFT, &[0, 12, 25]),
        hosts("clients", Node::RIGHT, &[2, 2, 2, 37, 37, 37, 75, 75, 75]),
    ]
}

const BETWEEN: Ends = Ends {
    from: Some(Place::Hosts(0)),
    to: Some(Place::Hosts(1)),
};

/// S6: the transfers of S5 between hosts of a dumbbell, each behind an interface of 100 Mbit/s.
fn dumbbell() -> Scenario {
    let mut scenario = web();
    scenario.path = path(10, 0, 50);
    scenario.path.hosts = edges(450, 100);
    for flow in &mut scenario.flows {
        flow.extra_delay = Duration::ZERO;
        flow.ends = BETWEEN;
    }
    scenario
}

/// Requests and responses of HTTP/1.0 with the sizes of S5, `hosts` at each end. The payload of the
/// responses is 35 % of `mbit`; interfaces have ten times that rate.
fn http(mbit: u64, hosts: u32, seconds: u64) -> Scenario {
    let mut path = path(mbit, 0, 5 * mbit);
    path.hosts = edges(hosts, 10 * mbit);
    let mut flow = Flow::new(algorithm("cubic"));
    flow.ends = BETWEEN;
    let plan = Plan::Http10(Http10Config::new(3.125 * mbit as f64));
    path.traffic = vec![Traffic {
        name: "http".to_owned(),
        kind: TrafficKind::Exchanges(plan),
        direction: Direction::Forward,
        flow,
        extra_delays: vec![Duration::ZERO],
        start: Instant::ZERO,
        stop: None,
        list_flows: false,
    }];
    let mut scenario = Scenario::new(path, Vec::new());
    scenario.duration = Some(Duration::from_secs(seconds));
    scenario
}

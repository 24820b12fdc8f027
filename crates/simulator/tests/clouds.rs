//! Ad-hoc networks and constellations in a run. The cloud without radios stands for all of them: what
//! it does is known exactly.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use measure::{NetworkResult, RunResult};
use scenario::Scenario;
use simulator::{EventLoop, RunOptions, run};

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "f.toml", Path::new("")).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn run_with(text: &str, event_loop: EventLoop, traces: bool) -> RunResult {
    let options = RunOptions {
        traces,
        event_loop,
        ..RunOptions::default()
    };
    let output = run(&scenario(text), 0, &options, &AtomicBool::new(false));
    output.expect("a run").result
}

fn result(text: &str) -> (RunResult, NetworkResult) {
    let run = run_with(text, EventLoop::Fastest, false);
    let network = run.network.clone().expect("a network");
    (run, network)
}

const ALONE: &str = "[network]\nkind = 'ideal'\nnodes = 12\nrate = '10 Mbit/s'\ndelay = '20 ms'\n";

#[test]
fn a_flow_crosses_a_network_alone() {
    let (run, network) = result(&format!(
        "{ALONE}queue = '5000 packets'\n[[flow]]\nalgorithm = 'reno'\nsize = '5 MB'\nfrom = 'node 3'\nto = 'node 7'\n"
    ));
    assert!(run.links.is_empty());
    let flow = &run.flows[0];
    assert!(flow.completed && flow.segments_retransmitted == 0);
    // 3453 segments of 1500 bytes at 10 Mbit/s, and two round trips.
    let fct = flow.fct_s.expect("complete");
    assert!((4.2..4.5).contains(&fct), "{fct}");
    assert_eq!(flow.capacity.true_s, None);
    let data = &network.data;
    assert_eq!((data.sent, data.copies, data.delivered), (3454, 3454, 3454));
    assert_eq!(data.bytes_delivered, 5_000_000);
    assert_eq!(data.delivery_ratio, Some(1.0));
    let receiver = &network.nodes[7];
    assert_eq!(receiver.bytes_delivered, 5_000_000);
    assert_eq!(network.nodes[3].sent, 3454);
    assert_eq!(
        network.packets.offered,
        network.packets.delivered + network.packets.inside
    );
}

/// Retransmissions are copies of the same packets, and drops have their cause.
#[test]
fn losses_are_told_from_retransmissions() {
    let (run, network) = result(&format!(
        "{ALONE}queue = '10 packets'\n[[flow]]\nalgorithm = 'reno'\nsize = '5 MB'\nfrom = 'node 3'\nto = 'node 7'\n"
    ));
    let (flow, data) = (&run.flows[0], &network.data);
    assert!(flow.completed && flow.segments_retransmitted > 5);
    assert_eq!(data.sent, 3454);
    assert_eq!(data.delivered, 3454);
    assert_eq!(data.copies, 3454 + flow.segments_retransmitted);
    assert_eq!(Some(data.dropped), flow.segments_dropped);
    assert!(data.packets_hit <= data.dropped && data.packets_hit > 0);
    assert_eq!(network.packets.drops["queue-full"], network.packets.dropped);
    assert!(data.delay_mean_ms.expect("delays") > 20.0);
}

const JOINED: &str = "path = { rate = '8 Mbit/s', rtt = '40 ms', buffer = '50 packets' }
duration = '20 s'
[network]
kind = 'ideal'
nodes = 6
[[link]]
from = 'right'
to = 'node 0'
rate = '5 Mbit/s'
delay = '3 ms'
buffer = '50 packets'
[[hosts]]
name = 'phones'
at = 'node 4'
count = 3
rate = '20 Mbit/s'
delay = '1 ms'
[[flow]]
algorithm = 'cubic'
to = 'node 2'
[[flow]]
algorithm = 'cubic'
from = 'phones'
to = 'left'
[[flow]]
algorithm = 'cubic'
from = 'any'
to = 'any'
[[traffic]]
kind = 'datagrams'
rate = '300 kbit/s'
from = 'node 5'
to = 'right'
[[traffic]]
kind = 'web'
arrivals = '3 /s'
from = 'left'
to = 'any'
[[traffic]]
kind = 'request-response'
count = 3
from = 'right'
to = 'node 3'
";

/// Wires and the cloud carry the same flows, and a run depends neither on the event loop nor on how
/// often the cloud is asked.
#[test]
fn wires_and_a_network_carry_the_same_flows() {
    let (run, network) = result(JOINED);
    for flow in &run.flows {
        assert!(flow.bytes_acked > 1_000_000, "{}", flow.name);
    }
    assert!(network.nodes[2].bytes_delivered > 1_000_000);
    for traffic in &run.traffic {
        assert!(traffic.bytes_delivered > 10_000, "{}", traffic.name);
    }
    let datagrams = &run.traffic[0];
    assert!(datagrams.segments_sent > 400);
    let names: Vec<&str> = run.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "forward",
            "reverse",
            "right-node 0",
            "node 0-right",
            "phones (up)",
            "phones (down)"
        ]
    );
    // Data of the first flow takes the path, the link and the cloud; the second one the way back.
    assert!(run.links[2].packets > 700 && run.links[3].packets > 700);
    for event_loop in [EventLoop::Plain, EventLoop::Turns] {
        assert_eq!(run_with(JOINED, event_loop, false), run);
    }
    assert_eq!(run_with(JOINED, EventLoop::Fastest, true), run);
}

/// Nodes drawn at random differ from run to run, but not from algorithm to algorithm.
#[test]
fn drawn_nodes_follow_from_the_seed() {
    let ends = |algorithm: &str, seed: u32| -> Vec<usize> {
        let text = format!(
            "seed = {seed}\n{ALONE}[[flow]]\nalgorithm = '{algorithm}'\nsize = '100 kB'\ncount = 6\n"
        );
        let nodes = result(&text).1.nodes;
        let takes_part = |node: &usize| nodes[*node].sent > 0 || nodes[*node].delivered > 0;
        (0..nodes.len()).filter(takes_part).collect()
    };
    assert_eq!(ends("reno", 1), ends("cubic+search", 1));
    let others = (2..6).filter(|&seed| ends("reno", seed) != ends("reno", 1));
    assert!(others.count() >= 3);
}

const ADHOC: &str = "duration = '30 s'
[network]
kind = 'adhoc'
nodes = 16
area = ['400 m', '400 m']
warm_up = '30 s'
energy = { initial = '50 J' }
[[flow]]
algorithm = 'cubic'
count = 4
";

/// Packets, energy and frames of radios add up.
#[test]
fn an_adhoc_network_carries_flows() {
    let (run, network) = result(ADHOC);
    let total: u64 = run.flows.iter().map(|flow| flow.bytes_acked).sum();
    assert!(total > 500_000, "{total}");
    assert!(network.data.bytes_delivered >= total);
    let air = network.air.as_ref().expect("frames");
    assert!(air.frames > air.data_frames && air.data_frames > network.data.copies);
    assert!(air.busy > 0.3 && air.busy <= 1.0, "{}", air.busy);
    let routing = network.routing.as_ref().expect("messages");
    assert!(routing.messages > 16 * 4);
    let energy = network.energy.as_ref().expect("batteries");
    let nodes: f64 = network
        .nodes
        .iter()
        .filter_map(|node| node.energy_used_j)
        .sum();
    assert!((energy.used_j - nodes).abs() < 1e-6 && energy.used_j > 1.0);
    assert_eq!(energy.initial_j, 16.0 * 50.0);
    for event_loop in [EventLoop::Plain, EventLoop::Turns] {
        assert_eq!(run_with(ADHOC, event_loop, false), run);
    }
}

/// Flows that start at one moment each ask for the address of their receiver in a broadcast. With a
/// backoff the broadcasts leave one after the other; without one they collide, time after time,
/// where no receiver is so near to one sender that it captures its frame.
#[test]
fn flows_that_start_together_connect() {
    let connected = |idle_backoff: bool| {
        let text = format!(
            "duration = '10 s'\n[network]\nkind = 'adhoc'\nnodes = 10\narea = '200 m'
             placement = 'grid'\nrouting = 'fixed'
             mac = {{ model = '802.11', idle_backoff = {idle_backoff} }}\n"
        );
        let flows: String = (0..5)
            .map(|k| {
                let (from, to) = (k, k + 5);
                format!(
                    "[[flow]]\nalgorithm = 'cubic'\nstart = '1 s'
                    from = 'node {from}'\nto = 'node {to}'\n"
                )
            })
            .collect();
        let (run, _) = result(&(text + &flows));
        run.flows.iter().filter(|flow| flow.bytes_acked > 0).count()
    };
    assert_eq!(connected(true), 5);
    assert_eq!(connected(false), 0);
}

/// Sixteen nodes on a grid, 300 m apart: a range of 320 m makes them neighbours of the nodes beside,
/// above and below them, and one of 280 m leaves each alone.
#[test]
fn the_result_says_which_nodes_could_reach_each_other() {
    let topology = |multiplier: f64| {
        let text = format!(
            "duration = '1 s'\n[network]\nkind = 'adhoc'\nnodes = 16\narea = '1200 m'
             placement = 'grid'\nradio = {{ range_multiplier = {multiplier} }}\n[[flow]]\nalgorithm = 'reno'\n"
        );
        result(&text).1.topology.expect("a topology")
    };
    let near = topology(320.0 / 250.0);
    assert_eq!((near.mean_degree, near.pairs_connected), (3.0, 1.0));
    let alone = topology(280.0 / 250.0);
    assert_eq!((alone.mean_degree, alone.pairs_connected), (0.0, 0.0));
}

const IRIDIUM: &str = "
[network]
kind = 'constellation'
[[network.terminal]]
name = 'Berkeley'
latitude = '37.9 deg'
longitude = '-122.3 deg'
[[network.terminal]]
name = 'Boston'
latitude = '42.3 deg'
longitude = '-71.1 deg'
[[flow]]
algorithm = 'cubic'
size = '1 MB'
from = 'Berkeley'
to = 'Boston'
";

#[test]
fn a_flow_crosses_a_constellation() {
    let (run, network) = result(IRIDIUM);
    let flow = &run.flows[0];
    assert!(flow.completed);
    // At 1 s a probe of 33.9 ms takes two links between satellites.
    let rtt = flow.rtt_min_ms.expect("samples");
    assert!((60.0..90.0).contains(&rtt), "{rtt}");
    assert_eq!(network.nodes[1].name, "Boston");
    assert_eq!(network.nodes[1].bytes_delivered, 1_000_000);
    assert!(network.air.is_none() && network.energy.is_none());
}

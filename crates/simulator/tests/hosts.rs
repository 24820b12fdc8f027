//! A dumbbell: hosts behind access links at both ends of the path.

mod common;

use common::{algorithm, run, wired};
use measure::LinkResult;
use network::QueueLimit;
use scenario::{Ends, Flow, Hosts, Node, Place, Scenario};
use units::{Bytes, Duration, Instant, Rate};

fn hosts(name: &str, at: Node, count: u32, mbit: Option<u64>, delays_ms: &[u64]) -> Hosts {
    Hosts {
        name: name.to_owned(),
        at,
        count,
        rate: mbit.map(|mbit| Rate::from_bits_per_sec(mbit * 1_000_000)),
        buffer: match mbit {
            Some(_) => QueueLimit::Packets(50),
            None => QueueLimit::Unlimited,
        },
        overhead: 14,
        delays: delays_ms
            .iter()
            .map(|&ms| Duration::from_millis(ms))
            .collect(),
    }
}

const BETWEEN: Ends = Ends {
    from: Some(Place::Hosts(0)),
    to: Some(Place::Hosts(1)),
};

fn flow(name: &str, bytes: u64) -> Flow {
    let mut flow = Flow::new(algorithm(name));
    flow.size = Some(Bytes::new(bytes));
    flow.ends = BETWEEN;
    flow
}

fn link<'a>(links: &'a [LinkResult], name: &str) -> &'a LinkResult {
    let found = links.iter().find(|link| link.name == name);
    found.unwrap_or_else(|| panic!("no link {name} in {links:?}"))
}

/// The Common TCP Evaluation Suite (Hayes, Ros, Andrew and Floyd 2014, section 3): edge delays of 0,
/// 12, 25 ms at the left and 2, 37, 75 ms at the right give nine round-trip times.
#[test]
fn edge_delays_of_the_evaluation_suite_give_its_nine_round_trip_times() {
    let mut path = wired(1000, 0, 413);
    let right = [2, 2, 2, 37, 37, 37, 75, 75, 75];
    path.hosts = vec![
        hosts("servers", Node::LEFT, 9, None, &[0, 12, 25]),
        hosts("clients", Node::RIGHT, 9, None, &right),
    ];
    // One after the other, so that no queue adds to the round trips.
    let one = |number: u64| Flow {
        start: Instant::from_millis(1000 * number),
        ..flow("reno", 1000)
    };
    let output = run(&Scenario::new(path, (0..9).map(one).collect()), false);
    let rtts: Vec<u64> = output
        .result
        .flows
        .iter()
        .map(|flow| flow.rtt_min_ms.expect("a sample").round() as u64)
        .collect();
    assert_eq!(rtts, [4, 28, 54, 74, 98, 124, 150, 174, 200]);
}

/// Seen from the sender, a delay of the access links is the same wherever it stands.
#[test]
fn an_access_link_of_unlimited_rate_only_delays() {
    let plain = |name: &str| {
        let mut flow = flow(name, 5_000_000);
        flow.ends = Ends::default();
        flow.extra_delay = Duration::from_millis(30);
        run(&Scenario::new(wired(50, 100, 413), vec![flow]), false).result
    };
    let through = |name: &str| {
        let mut path = wired(50, 100, 413);
        path.hosts = vec![
            hosts("servers", Node::LEFT, 1, None, &[10]),
            hosts("clients", Node::RIGHT, 1, None, &[20]),
        ];
        run(&Scenario::new(path, vec![flow(name, 5_000_000)]), false).result
    };
    for name in ["cubic", "reno+standard", "bbr", "cubic+search"] {
        let [plain, through] = [plain(name), through(name)];
        let [one, other] = [&plain, &through].map(|result| &result.flows[0]);
        assert_eq!(one.segments_sent, other.segments_sent, "{name}");
        assert_eq!(one.segments_dropped, other.segments_dropped, "{name}");
        assert_eq!(one.rtt_mean_ms, other.rtt_mean_ms, "{name}");
        // The packets reach the bottleneck later, so what it holds at the exit differs.
        let exits = [one, other].map(|flow| {
            let mut exit = flow.slow_start_exit.clone().expect("an exit");
            let path = exit.path.take().expect("the path at the exit");
            let sent = (path.round_trips, path.in_flight_bytes, path.delivered_bps);
            (exit, sent, path.app_limited)
        });
        assert_eq!(exits[0], exits[1], "{name}");
        let [first, second] = [one, other].map(|flow| flow.fct_s.expect("completed"));
        assert!((first - second).abs() < 1e-9, "{name}: {first} {second}");
    }
}

#[test]
fn a_slow_access_link_is_the_bottleneck_and_its_drops_count() {
    let mut path = wired(50, 100, 413);
    path.hosts = vec![
        hosts("servers", Node::LEFT, 2, Some(5), &[5]),
        hosts("clients", Node::RIGHT, 1000, Some(100), &[0]),
    ];
    let flows = vec![flow("reno+standard", 3_000_000); 3];
    let output = run(&Scenario::new(path, flows), false);
    let result = &output.result;
    let drops: u64 = result
        .flows
        .iter()
        .filter_map(|flow| flow.segments_dropped)
        .sum();
    assert!(drops > 0);
    let up = link(&result.links, "servers (up)");
    let down = link(&result.links, "clients (down)");
    assert_eq!((up.drops, down.drops), (drops, 0));
    assert_eq!(up.queue_max_packets, 50);
    // The first and the third flow share the first server, the second has the other alone.
    let goodput = |flow: usize| result.flows[flow].goodput_bps / 1e6;
    assert!(goodput(1) > 4.2 && goodput(1) < 5.0, "{}", goodput(1));
    let shared = goodput(0).min(goodput(2));
    assert!(shared < 3.5, "{shared}");
    // What a link carries arrives at the next one, or is in it at the end.
    let forward = link(&result.links, "forward");
    assert!(up.packets >= forward.packets && forward.packets >= down.packets);
    let sent: u64 = result.flows.iter().map(|flow| flow.segments_sent).sum();
    assert!(up.packets + drops >= sent);
    assert_eq!(link(&result.links, "clients (up)").drops, 0);
}

/// Traffic in both directions between hosts.
#[test]
fn connections_take_the_hosts_in_turn_in_both_directions() {
    let text = "
[path]
rate = '10 Mbit/s'
rtt = '20 ms'
reverse.rate = '10 Mbit/s'
reverse.buffer = '50 packets'
[[hosts]]
name = 'servers'
at = 'left'
count = 30
rate = '100 Mbit/s'
delay = ['0 ms', '12 ms', '25 ms']
[[hosts]]
name = 'clients'
at = 'right'
count = 30
rate = '100 Mbit/s'
delay = ['2 ms', '37 ms', '75 ms']
[[traffic]]
kind = 'web'
load = '35 %'
from = 'servers'
to = 'clients'
list_flows = true
[[traffic]]
kind = 'web'
load = '10 %'
direction = 'reverse'
from = 'clients'
to = 'servers'
[[flow]]
algorithm = 'cubic'
duration = '20 s'
from = 'servers'
to = 'clients'
";
    let scenario =
        Scenario::parse(text, "f.toml", std::path::Path::new("")).expect("a valid scenario");
    let result = run(&scenario, false).result;
    assert!(result.flows[0].bytes_acked > 2_000_000);
    let [down, up] = &result.traffic[..] else {
        panic!("{:?}", result.traffic);
    };
    assert!(down.finished > 100 && up.finished > 20, "{down:?} {up:?}");
    // No response is faster than its hosts allow: a round trip to open, and one at least for data.
    let rtts_ms = [2 + 10, 49 + 10, 100 + 10].map(|one_way| f64::from(2 * one_way));
    let flows = down.flows.as_ref().expect("they are listed");
    for (flow, rtt_ms) in flows.iter().zip(rtts_ms.iter().cycle()) {
        if let Some(fct_s) = flow.fct_s {
            assert!(fct_s * 1000.0 >= 1.5 * rtt_ms, "{flow:?} {rtt_ms}");
        }
    }
    let names: Vec<&str> = result.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "forward",
            "reverse",
            "servers (up)",
            "servers (down)",
            "clients (up)",
            "clients (down)"
        ]
    );
}

/// Ten packets of 1514 bytes take 4.04 ms at 30 Mbit/s, and the path at 3000 Mbit/s adds the last one.
/// Without the host they leave at once, and the path takes its time for ten.
#[test]
fn a_sending_host_takes_its_time_for_a_burst() {
    let flow = Flow {
        ends: Ends::default(),
        ..flow("reno", 10 * 1448)
    };
    let at_once = Scenario::new(wired(3000, 40, 413), vec![flow]);
    let mut limited = at_once.clone();
    limited.limit_bursts(Rate::from_bits_per_sec(30_000_000));
    let times = [at_once, limited].map(|scenario| {
        let output = run(&scenario, false);
        output.result.flows[0].fct_s.expect("completes")
    });
    let bits = 1514.0 * 8.0;
    // The handshake's packets and the last ACK, of 66 to 88 bytes, pass the host as well.
    let later = times[1] - times[0] - 9.0 * (bits / 30e6 - bits / 3e9) - bits / 30e6;
    assert!((0.0..0.000_1).contains(&later), "{times:?}");
    let mut own = Scenario::new(wired(3000, 40, 413), vec![]);
    own.path.hosts = vec![hosts("servers", Node::LEFT, 9, None, &[0])];
    let before = own.clone();
    own.limit_bursts(Rate::from_bits_per_sec(30_000_000));
    assert_eq!(own, before);
}

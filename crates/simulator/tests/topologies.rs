//! Networks of several links: routes, base RTTs, conservation over the whole graph, and the models
//! that stand on a link beside the path.

mod common;

use std::fmt::Write;
use std::path::Path;

use common::run;
use measure::{LinkResult, RunResult};
use proptest::prelude::*;
use scenario::{Direction, Ends, Node, Place, Scenario};

fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "f.toml", Path::new("")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn result(text: &str) -> RunResult {
    run(&parse(text), false).result
}

fn link<'a>(result: &'a RunResult, name: &str) -> &'a LinkResult {
    let found = result.links.iter().find(|link| link.name == name);
    found.unwrap_or_else(|| panic!("no link {name} in {:?}", result.links))
}

const FORK: &str = "
[path]
rate = '20 Mbit/s'
rtt = '40 ms'
[[node]]
name = 'a'
[[node]]
name = 'b'
[[link]]
from = 'right'
to = 'a'
rate = '100 Mbit/s'
delay = '5 ms'
[[link]]
from = 'left'
to = 'b'
rate = '8 Mbit/s'
delay = '3 ms'
reverse = { delay = '4 ms' }
[[hosts]]
name = 'hosts'
at = 'b'
delay = '10 ms'
";

#[test]
fn each_flow_has_the_base_rtt_of_its_own_route() {
    let flow = |ends: &str| format!("[[flow]]\nalgorithm = 'reno'\nsize = '1 kB'\n{ends}\n");
    let of = |ends: &str| {
        let found = result(&format!("{FORK}{}", flow(ends)));
        found.flows[0].rtt_min_ms.expect("a sample")
    };
    // Propagation, and at most the transmission of one packet on each link.
    let near = |ends: &str, least: f64| {
        let rtt = of(ends);
        assert!(rtt >= least && rtt < least + 3.0, "{ends}: {rtt}");
    };
    near("", 40.0);
    near("to = 'a'", 50.0);
    near("from = 'right'\nto = 'a'", 10.0);
    near("from = 'left'\nto = 'b'", 7.0);
    near("from = 'hosts'\nto = 'left'", 27.0);
    near("from = 'hosts'\nto = 'a'", 77.0);
    near("from = 'a'\nto = 'hosts'", 77.0);
    // The access delay of a flow is added where its ACKs do not take the path's reverse link, too.
    near("extra_delay = '6 ms'\nto = 'a'", 62.0);
    near("extra_delay = '6 ms'\nfrom = 'right'\nto = 'a'", 22.0);
}

#[test]
fn the_access_delay_counts_once_in_a_completion_time_on_any_route() {
    let fct = |keys: &str| {
        let text = format!("{FORK}[[flow]]\nalgorithm = 'cubic'\nsize = '300 kB'\n{keys}\n");
        result(&text).flows[0].fct_s.expect("complete")
    };
    let hosts = FORK.replace("delay = '10 ms'", "delay = '0 s'");
    let moved = |ms: u32| {
        let text = hosts.replace(
            "at = 'b'\ndelay = '0 s'",
            &format!("at = 'left'\ndelay = '{ms} ms'"),
        );
        let flow = "[[flow]]\nalgorithm = 'cubic'\nsize = '300 kB'\nfrom = 'hosts'\nto = 'b'\n";
        result(&format!("{text}{flow}")).flows[0]
            .fct_s
            .expect("complete")
    };
    // A host whose access link takes as long meets the same network.
    let line = fct("extra_delay = '6 ms'\nfrom = 'left'\nto = 'b'");
    assert!((line - moved(6)).abs() < 1e-9, "{line} {}", moved(6));
}

/// A flow that saturates a link beside the path has no capacity point: that is one of the path.
#[test]
fn a_flow_beside_the_path_has_no_capacity_point() {
    let text = format!(
        "{FORK}
        [[flow]]
        algorithm = 'cubic'
        size = '5 MB'
        [[flow]]
        algorithm = 'cubic'
        size = '5 MB'
        to = 'b'
        [[flow]]
        algorithm = 'cubic'
        size = '5 MB'
        start = '1 s'
        to = 'a'"
    );
    let found = result(&text);
    let points: Vec<bool> = found
        .flows
        .iter()
        .map(|flow| flow.capacity.true_s.is_some())
        .collect();
    assert_eq!(points, [true, false, true]);
    assert!(link(&found, "left-b").utilization.expect("a rate") > 0.5);
    let names: Vec<&str> = found.links.iter().map(|link| link.name.as_str()).collect();
    let own = [
        "forward", "reverse", "right-a", "a-right", "left-b", "b-left",
    ];
    assert_eq!(names, [&own[..], &["hosts (up)", "hosts (down)"]].concat());
}

/// Nodes and links that no packet passes change nothing else.
#[test]
fn links_without_packets_change_nothing() {
    let path = "
        runs = 1
        [path]
        rate = { mean = '10 Mbit/s', variation = '30 %', correlation = '1 s' }
        loss = '0.5 %'
        rtt = '50 ms'
        [[traffic]]
        kind = 'web'
        load = '20 %'
        [[flow]]
        algorithm = 'cubic'
        size = '2 MB'
        extra_delay = '3 ms'
        ";
    let more = "
        [[node]]
        name = 'a'
        [[link]]
        from = 'right'
        to = 'a'
        rate = { mean = '10 Mbit/s', variation = '30 %', correlation = '1 s' }
        loss = '1 %'
        ";
    let [alone, among] = [path.to_owned(), format!("{path}{more}")].map(|text| result(&text));
    assert_eq!(alone.flows, among.flows);
    assert_eq!(alone.traffic, among.traffic);
    assert_eq!(alone.links[..], among.links[..2]);
    assert_eq!(among.links[2].packets, 0);
}

/// A Wi-Fi link carries both directions over one medium, wherever it stands.
#[test]
fn wifi_beside_the_path_shares_its_medium() {
    let goodput = |upload: bool| {
        let mut text = "
            duration = '5 s'
            [path]
            rate = '1 Gbit/s'
            rtt = '10 ms'
            [[node]]
            name = 'cell'
            [[link]]
            from = 'right'
            to = 'cell'
            rate = { model = 'wifi', standard = 'g' }
            [[flow]]
            algorithm = 'cubic'
            to = 'cell'
            "
        .to_owned();
        if upload {
            text.push_str("[[flow]]\nalgorithm = 'cubic'\nfrom = 'cell'\nto = 'right'\n");
        }
        let found = result(&text);
        found
            .flows
            .iter()
            .map(|flow| flow.goodput_bps / 1e6)
            .collect::<Vec<_>>()
    };
    let [alone, both] = [goodput(false), goodput(true)];
    assert!(alone[0] > 15.0, "{alone:?}");
    assert!(both[0] < 0.8 * alone[0], "{alone:?} {both:?}");
    assert!(both[0] + both[1] < 1.2 * alone[0], "{alone:?} {both:?}");
}

/// Each router on the way decreases the TTL of a Quick-Start request, so routers that do not take
/// part show (RFC 4782, section 3.3).
#[test]
fn a_quick_start_request_is_approved_only_if_each_router_of_the_route_takes_part() {
    let first_window = |second: &str| {
        let text = format!(
            "[path]\nrate = '40 Mbit/s'\nrtt = '100 ms'\nrouter_support = 'quick-start'\n\
             [[node]]\nname = 'a'\n[[link]]\nfrom = 'right'\nto = 'a'\nrate = '80 Mbit/s'\n\
             delay = '20 ms'\nrouter_support = '{second}'\n\
             [[flow]]\nalgorithm = 'cubic+quick-start'\nsize = '500 kB'\nto = 'a'\n"
        );
        result(&text).flows[0].fct_s.expect("complete")
    };
    let [with, without] = ["quick-start", "none"].map(first_window);
    // It saves at least one round trip.
    assert!(with + 0.14 < without, "{with} {without}");
}

#[test]
fn rcp_on_each_link_of_a_route_gives_the_rate_of_the_slowest() {
    let found = result(
        "duration = '10 s'\n[path]\nrate = '40 Mbit/s'\nrtt = '60 ms'\nrouter_support = 'rcp'\n\
         [[node]]\nname = 'a'\n[[link]]\nfrom = 'right'\nto = 'a'\nrate = '10 Mbit/s'\n\
         delay = '10 ms'\nrouter_support = 'rcp'\n\
         [[flow]]\nalgorithm = 'rcp'\nto = 'a'\n",
    );
    let goodput = found.flows[0].goodput_bps / 1e6;
    assert!((8.0..10.0).contains(&goodput), "{goodput}");
    assert!(
        link(&found, "right-a").drops < 10,
        "{:?}",
        link(&found, "right-a")
    );
}

/// Three equal bottlenecks: the long flow shares each with one short flow, and gets less than it
/// (it has more losses); each bottleneck is full, and carries the long flow and its short one.
#[test]
fn a_parking_lot_is_full_and_favours_short_flows() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/parking-lot.toml");
    let scenario = Scenario::load(&file).expect("a scenario");
    let path = &scenario.path;
    for flow in &scenario.flows {
        let [from, to] = path.ends_of(flow.ends, Direction::Forward);
        let there = path.route(from, to).expect("a route");
        let hosts = [flow.ends.from, flow.ends.to].map(|place| match place {
            Some(Place::Hosts(table)) => path.hosts[table as usize].delay(0),
            _ => panic!("{}: no hosts", flow.name),
        });
        let one_way = there.delay + hosts[0] + hosts[1];
        assert_eq!(one_way.as_nanos(), 30_000_000, "{}", flow.name);
        assert_eq!(there.steps.len(), if flow.name == "long" { 3 } else { 1 });
    }
    let found = run(&scenario, false).result;
    let goodput = |flow: usize| found.flows[flow].goodput_bps / 1e6;
    for (short, name) in [(1, "forward"), (2, "second"), (3, "third")] {
        let link = link(&found, name);
        assert!(link.utilization.expect("a rate") > 0.9, "{link:?}");
        let sum = goodput(0) + goodput(short);
        assert!((80.0..96.0).contains(&sum), "{name}: {sum}");
        assert!(goodput(0) < goodput(short), "{name}");
    }
    assert!(goodput(0) > 2.0, "{}", goodput(0));
}

/// Datagrams over a random network that drains before the end of the run.
#[derive(Clone, Debug)]
struct Drained {
    text: String,
    senders: usize,
}

fn drained() -> impl Strategy<Value = Drained> {
    let link = (
        any::<prop::sample::Index>(),
        1_u32..40,
        0_u32..30,
        2_u32..40,
        0_u32..3,
    );
    let sender = (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        1_u32..20,
    );
    let links = prop::collection::vec(link, 1..7);
    let senders = prop::collection::vec(sender, 1..6);
    (links, senders).prop_map(|(links, senders)| {
        let mut text = "[path]\nrate = '12 Mbit/s'\nrtt = '20 ms'\nbuffer = '20 packets'\n\
                        reverse = { rate = '9 Mbit/s', buffer = '9 packets' }\n"
            .to_owned();
        let mut nodes = vec!["left".to_owned(), "right".to_owned()];
        for (number, (other, rate, delay, buffer, loss)) in links.into_iter().enumerate() {
            let (other, name) = (other.get(&nodes).clone(), format!("n{number}"));
            write!(
                text,
                "[[node]]\nname = '{name}'\n[[link]]\nfrom = '{name}'\nto = '{other}'\n\
                 rate = '{rate} Mbit/s'\ndelay = '{delay} ms'\nbuffer = '{buffer} packets'\n\
                 loss = '{loss} %'\n"
            )
            .expect("a string");
            nodes.push(name);
        }
        let mut count = 0;
        for (from, to, rate) in senders {
            let (from, to) = (from.get(&nodes), to.get(&nodes));
            if from != to {
                write!(
                    text,
                    "[[traffic]]\nkind = 'datagrams'\nrate = '{rate} Mbit/s'\nduration = '2 s'\n\
                     from = '{from}'\nto = '{to}'\n"
                )
                .expect("a string");
                count += 1;
            }
        }
        // One flow of a byte, when everything has arrived.
        text.push_str("[[flow]]\nalgorithm = 'reno'\nsize = '1 B'\nstart = '20 s'\n");
        Drained {
            text,
            senders: count,
        }
    })
}

/// Bytes of payload of a datagram.
const DATAGRAM: u64 = 1472;

/// The names of the links that data between two places takes.
fn names(scenario: &Scenario, ends: Ends) -> Vec<String> {
    let path = &scenario.path;
    let [from, to] = path.ends_of(ends, Direction::Forward);
    let route = path.route(from, to).expect("a route");
    let configs = route.steps.iter().flat_map(|step| path.configs(*step));
    configs.map(|config| config.name.clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// What a link delivers is offered to the next link of its route, or to a host: over the whole
    /// graph, what senders send is delivered or dropped.
    #[test]
    fn packets_are_conserved_over_the_graph(case in drained()) {
        let scenario = parse(&case.text);
        let found = run(&scenario, false).result;
        let traffic = &scenario.path.traffic;
        prop_assert_eq!(traffic.len(), case.senders);
        let first = &scenario.flows[0];
        let back = Ends {
            from: Some(Place::Node(Node::RIGHT)),
            to: Some(Place::Node(Node::LEFT)),
        };
        let of_flow = [names(&scenario, first.ends), names(&scenario, back)].concat();
        for own in found.links.iter().filter(|link| !of_flow.contains(&link.name)) {
            // Each table whose route takes the link offers it what it sends, less what earlier links
            // of the route have dropped.
            let (mut least, mut most) = (0, 0);
            for (table, totals) in traffic.iter().zip(&found.traffic) {
                let route = names(&scenario, table.flow.ends);
                if let Some(place) = route.iter().position(|name| *name == own.name) {
                    let delivered = totals.bytes_delivered / DATAGRAM;
                    most += totals.segments_sent;
                    least += if place == 0 { totals.segments_sent } else { delivered };
                }
            }
            let offered = own.packets + own.drops;
            prop_assert!((least..=most).contains(&offered), "{:?} {} {}", own, least, most);
        }
        let sent: u64 = found.traffic.iter().map(|totals| totals.segments_sent).sum();
        let delivered: u64 = found.traffic.iter().map(|totals| totals.bytes_delivered).sum();
        let dropped: u64 = found.links.iter().map(|link| link.drops).sum();
        let lost: u64 = found.traffic.iter().map(|totals| totals.segments_lost).sum();
        prop_assert_eq!(sent * DATAGRAM, delivered + dropped * DATAGRAM);
        prop_assert_eq!(lost, dropped);
    }
}

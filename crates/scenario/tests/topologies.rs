//! `[[node]]` and `[[link]]`: results, routes against an exhaustive search, and refusals.

use std::path::Path;

use network::router::RouterSupport;
use network::{Discipline, LinkConfig, QueueConfig, QueueLimit, Service};
use proptest::prelude::*;
use scenario::{
    Direction, Ends, ExactScenario, LinkModel, Misbehavior, Node, PathModel, Place, RouterModel,
    Scenario, Step,
};
use units::{Duration, Rate};

const PATH: &str = "[path]\nrate = '10 Mbit/s'\nrtt = '20 ms'\noverhead = '20 bytes'\n";
const NODES: &str = "[[node]]\nname = 'r2'\n[[node]]\nname = 'r3'\n";
const FLOW: &str = "[[flow]]\nalgorithm = 'cubic'\nsize = '1 MB'\n";

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, "f.toml", Path::new("")).map_err(|error| error.to_string())
}

/// A link of `keys`.
fn link(from: &str, to: &str, keys: &str) -> String {
    format!("[[link]]\nfrom = '{from}'\nto = '{to}'\n{keys}\n")
}

fn whole(links: &[String], flow: &str) -> String {
    format!("{PATH}{NODES}{}{FLOW}{flow}", links.concat())
}

#[test]
fn a_link_has_the_keys_of_a_direction_and_its_reverse_overrides_them() {
    let links = [
        link(
            "right",
            "r2",
            "rate = '8 Mbit/s'\nbuffer = '2 bdp'\ndelay = '3 ms'\nrouter_support = 'rcp'",
        ),
        link("r2", "r3", "name = 'core'\nrate = '1 Gbit/s'"),
        link(
            "r3",
            "left",
            "rate = '5 Mbit/s'\naqm = 'codel'\nreverse = { rate = '1 Mbit/s', aqm = 'drop-tail', delay = '7 ms', router_support = 'xcp' }",
        ),
        link("left", "r2", "one_way = true\ndelay = '1 ms'"),
        link("r3", "right", "rate = { model = 'wifi' }"),
    ];
    let text = whole(&links, "from = 'r3'\nto = 'r2'\n");
    let scenario = parse(&text).expect("a valid scenario");
    let path = &scenario.path;
    assert_eq!(path.nodes, ["r2", "r3"]);
    let names: Vec<[&str; 2]> = path
        .links
        .iter()
        .map(|link| {
            let back = link.reverse.as_ref().map_or("-", |back| &back.link.name);
            [link.forward.link.name.as_str(), back]
        })
        .collect();
    assert_eq!(
        names,
        [
            ["right-r2", "r2-right"],
            ["core", "core (reverse)"],
            ["r3-left", "left-r3"],
            ["left-r2", "-"],
            ["r3-right", "right-r3"],
        ]
    );
    let first = &path.links[0];
    assert_eq!((first.from, first.to), (Node::RIGHT, Node(2)));
    // Its own rate, the path's base RTT and overhead.
    assert_eq!(
        first.forward.link.queue.limit,
        QueueLimit::Packets(2 * 8_000_000 / 8 * 20 / 1000 / 1520)
    );
    assert_eq!(first.forward.link.overhead, 20);
    assert!(matches!(
        first.forward.router_support,
        RouterSupport::Rcp(_)
    ));
    let back = first.reverse.as_ref().expect("both directions");
    let same = LinkConfig {
        name: "right-r2".to_owned(),
        ..back.link.clone()
    };
    assert_eq!(
        (&same, back.router_support),
        (&first.forward.link, first.forward.router_support)
    );
    let third = &path.links[2];
    let back = third.reverse.as_ref().expect("both directions");
    assert!(matches!(
        third.forward.link.queue.discipline,
        Discipline::CoDel(_)
    ));
    assert_eq!(back.link.queue.discipline, Discipline::DropTail);
    assert_eq!(back.link.delay, Duration::from_millis(7));
    assert_eq!(
        back.link.service,
        Service::Fixed(Rate::from_bits_per_sec(1_000_000))
    );
    assert!(matches!(back.router_support, RouterSupport::Xcp(_)));
    assert_eq!(path.links[3].forward.link.service, Service::Unlimited);
    assert!(
        path.links[4]
            .reverse
            .as_ref()
            .is_some_and(|back| back.link.service.wifi().is_some())
    );
    let ends = Ends {
        from: Some(Place::Node(Node(3))),
        to: Some(Place::Node(Node(2))),
    };
    assert_eq!(scenario.flows[0].ends, ends);

    let resolved = serde_json::to_value(&scenario).expect("JSON");
    assert_eq!(resolved["path"]["nodes"], serde_json::json!(["r2", "r3"]));
    assert_eq!(
        resolved["path"]["links"][3]["reverse"],
        serde_json::Value::Null
    );
    assert_eq!(resolved["path"]["links"][2]["from"], "r3");
    assert_eq!(
        resolved["path"]["links"][2]["reverse"]["link"]["delay_ms"],
        7.0
    );
    assert_eq!(resolved["flows"][0]["from"], "r3");
    let exact = serde_json::to_string(&ExactScenario(scenario.clone())).expect("JSON");
    let arrived: ExactScenario = serde_json::from_str(&exact).expect("an exact scenario");
    assert_eq!(arrived.0, scenario);
}

#[test]
fn a_path_alone_mentions_no_nodes() {
    let resolved =
        serde_json::to_value(parse(&format!("{PATH}{FLOW}")).expect("valid")).expect("JSON");
    assert_eq!(
        (resolved["path"].get("nodes"), resolved["path"].get("links")),
        (None, None)
    );
}

#[test]
fn the_path_is_one_link_among_others() {
    let path = |links: &[String]| parse(&whole(links, "")).expect("a valid scenario").path;
    let around = |delay: &str| {
        [
            link("left", "r2", &format!("delay = '{delay}'")),
            link("r2", "right", ""),
        ]
    };
    let steps = |path: &PathModel, from, to| -> Vec<u32> {
        let route = path.route(from, to).expect("a route");
        route.steps.iter().map(|step| link_of(*step).0).collect()
    };
    let longer = path(&around("10 ms"));
    assert_eq!(
        steps(&longer, Node::LEFT, Node::RIGHT),
        [0],
        "as long, with more links"
    );
    assert_eq!(steps(&longer, Node::RIGHT, Node(2)), [2]);
    assert_eq!(longer.route(Node::LEFT, Node(3)), None);
    let shorter = path(&around("9 ms"));
    assert_eq!(steps(&shorter, Node::LEFT, Node::RIGHT), [1, 2]);
    let route = shorter.route(Node::RIGHT, Node::LEFT).expect("a route");
    assert_eq!(shorter.nodes_of(&route), [Node::RIGHT, Node(2), Node::LEFT]);
    assert_eq!(route.delay, Duration::from_millis(9));
    let nowhere = shorter
        .route(Node::LEFT, Node::LEFT)
        .expect("a route of no links");
    assert_eq!(
        (nowhere.steps.len(), shorter.nodes_of(&nowhere)),
        (0, vec![])
    );
}

/// Two ways of equal length: both directions take the one with the first link of the file.
#[test]
fn equal_routes_lead_over_the_same_links_in_both_directions() {
    let links = [
        link("left", "r2", "delay = '1 ms'"),
        link("r3", "right", "delay = '1 ms'"),
        link("left", "r3", "delay = '1 ms'"),
        link("r2", "right", "delay = '1 ms'"),
    ];
    let path = parse(&whole(&links, "")).expect("a valid scenario").path;
    let steps = |from, to| -> Vec<u32> {
        let route = path.route(from, to).expect("a route");
        route.steps.iter().map(|step| link_of(*step).0).collect()
    };
    assert_eq!(steps(Node::LEFT, Node::RIGHT), [1, 4]);
    assert_eq!(steps(Node::RIGHT, Node::LEFT), [4, 1]);
}

fn config(name: &str, delay_ms: u64) -> LinkConfig {
    LinkConfig {
        name: name.to_owned(),
        service: Service::Unlimited,
        overhead: 14,
        queue: QueueConfig {
            limit: QueueLimit::Unlimited,
            discipline: Discipline::DropTail,
        },
        delay: Duration::from_millis(delay_ms),
        ..LinkConfig::DEFAULT
    }
}

fn hop(delay_ms: u64) -> RouterModel {
    RouterModel {
        link: config("", delay_ms),
        router_support: RouterSupport::None,
    }
}

/// A graph of up to six nodes with delays so short that many routes are equally long.
fn graph() -> impl Strategy<Value = PathModel> {
    let link = (0_u32..6, 0_u32..6, 0_u64..4, prop::option::of(0_u64..4));
    (0_u64..4, 0_u64..4, prop::collection::vec(link, 0..9)).prop_map(|(there, back, links)| {
        let mut path = PathModel::from_links("p", "", config("f", there), config("r", back));
        path.nodes = (2..6).map(|number| format!("n{number}")).collect();
        let links = links.into_iter().filter(|(from, to, ..)| from != to);
        path.links = links
            .map(|(from, to, there, back)| LinkModel {
                from: Node(from),
                to: Node(to),
                forward: hop(there),
                reverse: back.map(hop),
            })
            .collect();
        path
    })
}

/// What a route is judged by: delay, hops, and the numbers of its links, sorted.
type Worth = (Duration, usize, Vec<u32>);

/// The link of a step, and its direction.
fn link_of(step: Step) -> (u32, Direction) {
    match step {
        Step::Link { link, direction } => (link, direction),
        Step::Cloud { .. } => unreachable!("there is no cloud"),
    }
}

/// The best of all ways without a loop.
fn best(path: &PathModel, from: Node, to: Node, visited: &[Node], so_far: &Worth) -> Option<Worth> {
    if from == to {
        return Some(so_far.clone());
    }
    let mut found: Option<Worth> = None;
    for number in 0..=path.links.len() as u32 {
        let [left, right] = path.link_ends(number);
        for (direction, start, end) in [
            (Direction::Forward, left, right),
            (Direction::Reverse, right, left),
        ] {
            let step = Step::Link {
                link: number,
                direction,
            };
            let mut configs = path.configs(step).peekable();
            if start != from || visited.contains(&end) || configs.peek().is_none() {
                continue;
            }
            let (mut delay, hops, mut links) = so_far.clone();
            delay = configs.fold(delay, |sum, config| sum + config.delay);
            links.push(number);
            links.sort_unstable();
            let visited = [visited, &[end]].concat();
            let way = best(path, end, to, &visited, &(delay, hops + 1, links));
            found = match (found, way) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
    }
    found
}

proptest! {
    #[test]
    fn routes_are_the_best_of_all_ways(path in graph()) {
        for from in (0..6).map(Node) {
            for (to, route) in (0..6).map(Node).zip(path.routes_from(from)) {
                let best = best(&path, from, to, &[from], &(Duration::ZERO, 0, Vec::new()));
                let found = route.as_ref().map(|route| {
                    let mut links: Vec<u32> = route.steps.iter().map(|step| link_of(*step).0).collect();
                    links.sort_unstable();
                    (route.delay, route.steps.len(), links)
                });
                prop_assert_eq!(&found, &best, "from {:?} to {:?}", from, to);
                // The links follow each other from one end to the other.
                if let Some(route) = route.filter(|_| from != to) {
                    let nodes = path.nodes_of(&route);
                    prop_assert_eq!((nodes[0], nodes[nodes.len() - 1]), (from, to));
                    for (step, pair) in route.steps.iter().zip(nodes.windows(2)) {
                        let (link, direction) = link_of(*step);
                        let mut ends = path.link_ends(link);
                        if direction == Direction::Reverse {
                            ends.reverse();
                        }
                        prop_assert_eq!(&ends[..], pair);
                    }
                }
            }
        }
    }
}

/// A trace counts bytes of IP only, in the direction that has it.
#[test]
fn the_overhead_of_a_trace_is_none_in_its_own_direction() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("overhead.down"), "1\n2\n").expect("a trace");
    let read = |keys: &str| {
        let links = [link("right", "r2", keys)];
        Scenario::parse(&whole(&links, "to = 'r2'\n"), "f.toml", folder)
            .map(|scenario| {
                let LinkModel {
                    forward, reverse, ..
                } = &scenario.path.links[0];
                let reverse = reverse.as_ref().expect("a reverse direction");
                (forward.link.overhead, reverse.link.overhead)
            })
            .map_err(|error| error.to_string())
    };
    assert_eq!(read("trace = 'overhead.down'"), Ok((0, 0)));
    let other = "trace = 'overhead.down'\nreverse.rate = '1 Mbit/s'";
    assert_eq!(read(other), Ok((0, 20)));
    let other = "rate = '1 Mbit/s'\noverhead = '3 bytes'\nreverse.trace = 'overhead.down'";
    assert_eq!(read(other), Ok((3, 0)));
    let error = read("trace = 'overhead.down'\nreverse.overhead = '3 bytes'").expect_err("refused");
    assert!(
        error.starts_with("f.toml:13:9: overhead = \"3 bytes\": a trace counts bytes of IP only"),
        "{error}"
    );
}

#[test]
fn contradictions_are_refused_at_their_line() {
    let refused = |text: String, at: &str, words: &str| {
        let message = parse(&text).expect_err(words);
        assert!(message.contains(words), "{message}");
        assert!(message.starts_with(at), "{message} (wanted {at})");
        assert!(!message.contains('\n'), "{message}");
    };
    let linked = |links: &[String], flow: &str| whole(links, flow);
    let usual = || link("right", "r2", "rate = '1 Gbit/s'");
    refused(
        format!("{PATH}[[node]]\nname = 'left'\n{FLOW}"),
        "f.toml:6:1",
        "name = \"left\": this is the name of an end of the path",
    );
    refused(
        format!("{PATH}{NODES}[[node]]\nname = 'r2'\n{FLOW}"),
        "f.toml:10:1",
        "name = \"r2\": another node has this name",
    );
    refused(
        format!("{PATH}[[node]]\n{FLOW}"),
        "f.toml:5:1",
        "[[node]] needs name",
    );
    refused(
        linked(&[link("r2", "r4", "")], ""),
        "f.toml:11:1",
        "to = \"r4\": no [[node]] has this name; did you mean \"r2\"?",
    );
    refused(
        linked(&[link("r2", "r2", "")], ""),
        "f.toml:11:1",
        "a link leads to another node than it comes from",
    );
    refused(
        linked(&[usual(), usual()], ""),
        "f.toml:13:1",
        "another link has the name \"right-r2\"",
    );
    refused(
        linked(&[link("r2", "r3", "name = 'forward'")], ""),
        "f.toml:12:1",
        "another link has the name \"forward\"",
    );
    refused(
        linked(&[usual()], "to = 'r3'\n"),
        "f.toml:16:1",
        "to = \"r3\": there is no route from left to r3",
    );
    refused(
        linked(
            &[usual(), link("r2", "r3", "one_way = true")],
            "to = 'r3'\n",
        ),
        "f.toml:20:1",
        "there is no route back from r3 to left, which ACKs need",
    );
    refused(
        linked(&[usual()], "to = 'r2'\nfrom = 'r2'\n"),
        "f.toml:16:1",
        "data does not leave the place that it comes from",
    );
    refused(
        linked(&[link("left", "r2", "")], "to = 'r2'\n"),
        "f.toml:16:1",
        "to = \"r2\": the links between left and r2 have neither a rate nor a delay, so the data \
         would take no time: give one of them a rate or a delay",
    );
    refused(
        linked(&[usual()], "to = 'rx'\n"),
        "f.toml:16:1",
        "no table [[hosts]] and no [[node]] has this name; did you mean \"r2\"?",
    );
    refused(
        linked(&[], "to = 'r2'\n"),
        "f.toml:12:1",
        "there is no route from left to r2",
    );
    refused(
        linked(&[], "to = 'left'\n"),
        "f.toml:12:1",
        "this is the left end of the path, and this data goes to the right end",
    );
    refused(
        format!("{PATH}[[hosts]]\nname = 'a'\nat = 'r7'\n{FLOW}"),
        "f.toml:7:1",
        "at = \"r7\": no [[node]] has this name; known are left, right",
    );
    refused(
        format!("{PATH}{NODES}[[hosts]]\nname = 'r2'\nat = 'left'\n{FLOW}"),
        "f.toml:10:1",
        "a [[node]] has this name",
    );
    refused(
        linked(
            &[link(
                "r2",
                "r3",
                "one_way = true\nrate = { model = 'wifi' }",
            )],
            "",
        ),
        "f.toml:12:1",
        "a Wi-Fi network carries both directions",
    );
    refused(
        linked(
            &[link(
                "r2",
                "r3",
                "one_way = true\nreverse = { delay = '1 ms' }",
            )],
            "",
        ),
        "f.toml:13:1",
        "a link with one_way = true has no reverse direction",
    );
    refused(
        linked(&[link("r2", "r3", "router_support = 'xcp'")], ""),
        "f.toml:9:1",
        "[[link]] has router_support for r2-r3, which needs a limited rate",
    );
    refused(
        linked(&[link("r2", "r3", "buffer = '1 bdp'")], ""),
        "f.toml:9:1",
        "[[link]] has a r2-r3 buffer in bdp, but no r2-r3 rate",
    );
    refused(
        linked(&[link("r2", "r3", "ecn = true\nrate = '1 Mbit/s'")], ""),
        "f.toml:12:1",
        "neither drop-tail nor random-above marks packets",
    );
    refused(
        linked(&[link("r2", "r3", "rrc = 'idle'\nrate = '1 Mbit/s'")], ""),
        "f.toml:12:1",
        "no rate of the link is of model lte",
    );
    refused(
        format!("node = 3\n{PATH}{FLOW}"),
        "f.toml:1:1",
        "nodes are written as tables [[node]]",
    );
}

/// The device of a sender is the first link of its own route.
#[test]
fn a_small_queue_needs_wifi_or_a_drop_tail_queue_where_its_route_begins() {
    let with = |keys: &str, ends: &str| {
        let link = link("right", "r2", keys);
        parse(&whole(
            std::slice::from_ref(&link),
            &format!("small_queue = 10\n{ends}"),
        ))
    };
    let (codel, wifi) = (
        "rate = '10 Mbit/s'\naqm = 'codel'",
        "rate = { model = 'wifi' }",
    );
    let message = with(codel, "from = 'r2'\nto = 'right'\n").expect_err("CoDel");
    assert!(message.contains("small_queue"), "{message}");
    assert!(with(codel, "to = 'r2'\n").is_ok());
    assert!(with(wifi, "from = 'r2'\nto = 'right'\n").is_ok());
}

#[test]
fn a_node_or_an_end_of_the_path_may_be_a_proxy() {
    let right = "[[node]]\nname = 'right'\nproxy = {}\n";
    let nodes = "[[node]]\nname = 'r2'\nproxy = { buffer = '100 kB', algorithm = 'hybla', \
                 initial_window = 40, pacing = true }\n[[node]]\nname = 'r3'\n";
    let links = [link("right", "r2", ""), link("r2", "r3", "delay = '1 ms'")].concat();
    let hosts = "[[hosts]]\nname = 'users'\nat = 'right'\n";
    let flows = [
        "to = 'r3'",
        "to = 'users'",
        "to = 'r2'",
        "from = 'r3'\nto = 'users'",
    ];
    let flows: String = flows.iter().map(|ends| format!("{FLOW}{ends}\n")).collect();
    let text = format!("{PATH}{right}{nodes}{links}{hosts}{flows}");
    let scenario = parse(&text).expect("a valid scenario");
    let path = &scenario.path;
    let [at_right, at_r2] = &path.proxies[..] else {
        panic!("{:?}", path.proxies);
    };
    assert_eq!(
        (at_right.at, at_right.buffer.get()),
        (Node::RIGHT, 4_000_000)
    );
    assert_eq!(
        (&at_right.algorithm, at_right.initial_window),
        (&None, None)
    );
    assert_eq!((at_r2.at, at_r2.buffer.get()), (Node(2), 100_000));
    assert_eq!((at_r2.initial_window, at_r2.pacing), (Some(40), Some(true)));
    assert_eq!(
        at_r2.algorithm.as_ref().map(ToString::to_string),
        Some("hybla+standard".to_owned())
    );
    assert_eq!(path.proxy(Node(3)), None);
    // A proxy splits what passes its node, and what goes to hosts behind it.
    let passed: Vec<Vec<u32>> = scenario
        .flows
        .iter()
        .map(|flow| path.proxies_between(flow.ends, Direction::Forward))
        .map(|proxies| proxies.iter().map(|proxy| proxy.at.0).collect())
        .collect();
    assert_eq!(passed, [vec![1, 2], vec![1], vec![1], vec![2, 1]]);
    // The sender's end decides how a leg sends, the receiver's end how much it takes.
    let flow = &scenario.flows[0];
    let leg = flow.leg(Some(at_right), Some(at_r2));
    assert_eq!(
        (&leg.algorithm, leg.initial_window),
        (&flow.algorithm, flow.initial_window)
    );
    assert_eq!(
        (leg.receive_buffer.get(), leg.autotuning),
        (100_000, scenario::Autotuning::Off)
    );
    let leg = flow.leg(Some(at_r2), None);
    assert_eq!(
        (leg.algorithm.to_string().as_str(), leg.initial_window),
        ("hybla+standard", 40)
    );
    assert_eq!(
        (leg.receive_buffer, leg.pacing),
        (flow.receive_buffer, true)
    );
    // The client misbehaves, not the proxies.
    let mut attacked = flow.clone();
    attacked.settings.misbehavior = Some(Misbehavior {
        divide: 10,
        ..Misbehavior::DEFAULT
    });
    assert_eq!(attacked.leg(None, Some(at_right)).misbehavior, None);
    assert_eq!(attacked.leg(Some(at_right), Some(at_r2)).misbehavior, None);
    assert!(attacked.leg(Some(at_r2), None).misbehavior.is_some());
    let resolved = serde_json::to_value(&scenario).expect("JSON");
    assert_eq!(
        resolved["path"]["proxies"],
        serde_json::json!([
            {"node": "right", "buffer_bytes": 4_000_000, "algorithm": null,
             "initial_window_segments": null, "pacing": null},
            {"node": "r2", "buffer_bytes": 100_000, "algorithm": "hybla+standard",
             "initial_window_segments": 40, "pacing": true},
        ])
    );
    let exact = serde_json::to_string(&ExactScenario(scenario.clone())).expect("JSON");
    let ExactScenario(same) = serde_json::from_str(&exact).expect("an exact scenario");
    assert_eq!(same, scenario);
}

#[test]
fn a_wrong_proxy_is_refused_at_its_line() {
    let refused = |node: &str, words: &str| {
        let message = parse(&format!("{PATH}{node}{FLOW}")).expect_err(words);
        assert!(message.starts_with("f.toml:"), "{message}");
        assert!(message.contains(words), "{message}");
    };
    let proxy = |keys: &str| format!("[[node]]\nname = 'right'\nproxy = {{ {keys} }}\n");
    refused(&proxy("buffer = '2895 B'"), "it is from 2.896 kB to");
    refused(&proxy("buffers = '1 MB'"), "did you mean \"buffer\"?");
    refused(&proxy("algorithm = 'hyblo'"), "hybla");
    refused(&proxy("initial_window = 0"), "f.toml:7");
    refused("[[node]]\nname = 'right'\nproxy = 1\n", "f.toml:7");
    refused(&(proxy("") + &proxy("")), "another node has this name");
    refused(
        "[[node]]\nname = 'right'\n",
        "this is the name of an end of the path",
    );
}

/// A rate or a delay anywhere between the ends is enough.
#[test]
fn data_that_takes_no_time_is_refused() {
    let nodes = "[[node]]\nname = 'a'\n[[link]]\nfrom = 'left'\nto = 'a'\n";
    let hosts = |keys: &str| format!("[[hosts]]\nname = 'h'\nat = 'a'\n{keys}");
    let web =
        "[[traffic]]\nkind = 'web'\narrivals = '1 /s'\nmean = '1 kB'\nfrom = 'a'\nto = 'left'\n";
    let instant = "have neither a rate nor a delay";
    for (links, ends, is_refused) in [
        (format!("{PATH}{nodes}"), "to = 'a'\n", true),
        (format!("{PATH}{nodes}"), "from = 'a'\nto = 'left'\n", true),
        (format!("{PATH}{nodes}{web}"), "", true),
        (
            format!("{PATH}{nodes}"),
            "to = 'a'\nextra_delay = '1 ns'\n",
            false,
        ),
        (
            format!("{PATH}{nodes}delay = '1 ns'\n"),
            "to = 'a'\n",
            false,
        ),
        (
            format!("{PATH}{nodes}rate = '1 Gbit/s'\n"),
            "to = 'a'\n",
            false,
        ),
        (
            format!("{PATH}{nodes}reverse = {{ delay = '1 ns' }}\n"),
            "to = 'a'\n",
            false,
        ),
        (format!("{PATH}{nodes}"), "from = 'a'\n", false),
        (
            format!("{PATH}{nodes}{}", hosts("count = 2\n")),
            "to = 'h'\n",
            true,
        ),
        (
            format!("{PATH}{nodes}{}", hosts("delay = ['1 ms', '0 s']\n")),
            "to = 'h'\n",
            false,
        ),
        (
            format!(
                "{PATH}{nodes}{}",
                hosts("count = 2\ndelay = ['1 ms', '0 s']\n")
            ),
            "to = 'h'\n",
            true,
        ),
        (
            format!("{PATH}{nodes}{}", hosts("rate = '1 Gbit/s'\n")),
            "to = 'h'\n",
            false,
        ),
        (
            format!("{PATH}{nodes}{}", hosts("")),
            "from = 'h'\nto = 'a'\n",
            true,
        ),
    ] {
        let text = format!("{links}{FLOW}{ends}");
        match parse(&text) {
            Err(message) => assert!(is_refused && message.contains(instant), "{message}\n{text}"),
            Ok(_) => assert!(!is_refused, "accepted:\n{text}"),
        }
    }
}

//! `[network]`: an ad-hoc network or a constellation, alone or joined to a path.

use std::path::Path;

use scenario::{Ends, Node, Place, Scenario, Step};
use units::Duration;
use wireless::{CloudConfig, NodeId};

const FLOW: &str = "[[flow]]\nalgorithm = 'cubic'\nsize = '1 MB'\n";
const ALONE: &str = "[network]\nkind = 'ideal'\nnodes = 20\nwarm_up = '5 s'\n";

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, "f.toml", Path::new("")).map_err(|error| error.to_string())
}

fn read(text: &str) -> Scenario {
    parse(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_network_alone_has_no_path() {
    let scenario = read(&format!(
        "{ALONE}{FLOW}from = 'node 3'\nto = 'node 17'\n{FLOW}"
    ));
    let path = &scenario.path;
    assert!(path.is_absent);
    assert_eq!(path.warm_up, Duration::from_secs(5));
    let nodes = path.cloud.as_ref().map(CloudConfig::node_count);
    assert_eq!(nodes, Some(20));
    let [first, second] = [0, 1].map(|flow: usize| scenario.flows[flow].ends);
    assert_eq!(first.from, Some(Place::Node(Node(2 + 3))));
    assert_eq!(first.to, Some(Place::Node(Node(2 + 17))));
    assert_eq!(second, Ends::ANY);
    let [from, to] = path.ends_of(first, scenario::Direction::Forward);
    let route = path.route(from, to).expect("a route");
    let crossing = Step::Cloud {
        from: NodeId(3),
        to: NodeId(17),
    };
    assert_eq!(route.steps, [crossing]);
    assert_eq!(path.nodes_of(&route), [from, to]);
    let resolved = serde_json::to_value(&scenario).expect("JSON");
    assert_eq!(resolved["path"]["network"]["kind"], "ideal");
    for key in ["rate_bps", "bdp_bytes", "base_rtt_ms", "forward", "nodes"] {
        assert!(resolved["path"].get(key).is_none(), "{key}");
    }
    assert_eq!(resolved["flows"][1]["from"], "any");
}

const JOINED: &str = "path = { rate = '10 Mbit/s', rtt = '40 ms' }
[network]
kind = 'ideal'
nodes = 4
[[node]]
name = 'far'
[[link]]
from = 'right'
to = 'node 0'
rate = '5 Mbit/s'
delay = '3 ms'
[[link]]
from = 'node 1'
to = 'far'
delay = '1 ms'
";

/// A route takes wires where it can, and the cloud once where it must; both directions alike.
#[test]
fn a_route_crosses_the_cloud_once_and_only_if_it_must() {
    let scenario = read(&format!("{JOINED}{FLOW}to = 'node 2'\n"));
    let path = &scenario.path;
    let node = |name: &str| {
        let mut all = (0..path.node_count() as u32).map(Node);
        all.find(|&node| path.node_name(node) == name)
            .expect("a node")
    };
    let names = |from: &str, to: &str| -> Vec<&str> {
        let route = path.route(node(from), node(to)).expect("a route");
        let nodes = path.nodes_of(&route);
        nodes.into_iter().map(|node| path.node_name(node)).collect()
    };
    assert_eq!(names("left", "right"), ["left", "right"]);
    assert_eq!(
        names("left", "node 2"),
        ["left", "right", "node 0", "node 2"]
    );
    assert_eq!(
        names("node 2", "left"),
        ["node 2", "node 0", "right", "left"]
    );
    assert_eq!(names("node 3", "node 0"), ["node 3", "node 0"]);
    assert_eq!(
        names("left", "far"),
        ["left", "right", "node 0", "node 1", "far"]
    );
    assert_eq!(names("left", "node 0"), ["left", "right", "node 0"]);
    let route = path.route(node("left"), node("far")).expect("a route");
    assert_eq!(route.delay, Duration::from_millis(24));
    assert!(route.crosses());
}

#[test]
fn mistakes_have_their_line() {
    let cases = [
        (
            format!("{ALONE}{FLOW}to = 'node 20'\n"),
            "f.toml:8:1: to = \"node 20\": the [network] has 20 nodes, from node 0 to node 19",
        ),
        (
            format!("{ALONE}{FLOW}to = 'nod 3'\n"),
            "f.toml:8:1: to = \"nod 3\": no table [[hosts]] and no [[node]] has this name; did you mean \"node 3\"?",
        ),
        (
            format!("{ALONE}{FLOW}to = 'right'\n"),
            "f.toml:8:1: to = \"right\": the file has no [path], of which this is an end",
        ),
        (
            format!("{ALONE}{FLOW}from = 'node 1'\nto = 'node 1'\n"),
            "f.toml:9:1: to = \"node 1\": data does not leave the place that it comes from",
        ),
        (
            "[network]\nnodes = 3\n".to_owned() + FLOW,
            "f.toml:1:2: network = {...}: [network] needs a kind, one of adhoc, constellation, ideal",
        ),
        (
            format!("[network]\nkind = 'ideal'\n{FLOW}"),
            "f.toml:1:2: [network] needs nodes, such as nodes = 10",
        ),
        (
            FLOW.to_owned(),
            "f.toml:1:1: the scenario needs path, such as path = { preset = \"wired\" }, or a table [path]",
        ),
        (
            format!("{ALONE}[[node]]\nname = 'node 3'\n{FLOW}"),
            "f.toml:6:1: name = \"node 3\": this is the name of a node of the [network]",
        ),
        (
            format!("{ALONE}[[node]]\nname = 'r'\n{FLOW}to = 'r'\n"),
            "f.toml:10:1: to = \"r\": there is no route from node 0 to r",
        ),
        (
            format!("{ALONE}[[traffic]]\nkind = 'web'\nload = '10 %'\n{FLOW}"),
            "f.toml:7:1: load = \"10 %\": this direction has no rate limit to take a fraction of",
        ),
        (
            format!("{ALONE}{FLOW}small_queue = 10\n"),
            "f.toml: the flow \"cubic+hystart\" has a small_queue, whose device is the first link of its route, and its data comes from a node of the [network]",
        ),
        (
            format!(
                "{ALONE}[[node]]\nname = 'r'\n[[link]]\nfrom = 'r'\nto = 'node 0'\nrate = '1 Mbit/s'\nbuffer = '1 bdp'\n{FLOW}"
            ),
            "f.toml:7:1: [[link]] has a buffer for r-node 0 in bdp, and without a [path] there is no RTT to compute them from",
        ),
        (
            format!(
                "{JOINED}[[node]]\nname = 'right'\nproxy = {{}}\n{FLOW}from = 'any'\nto = 'any'\n"
            ),
            "f.toml:23:1: to = \"any\": with proxies, data comes from and goes to nodes that the file names",
        ),
    ];
    for (text, sentence) in cases {
        assert_eq!(parse(&text).err().as_deref(), Some(sentence), "{text}");
    }
}

#[test]
fn a_parcel_keeps_the_network() {
    let scenario = read(&format!("{JOINED}{FLOW}to = 'any'\n"));
    let exact = scenario::ExactScenario(scenario);
    let text = serde_json::to_string(&exact).expect("JSON");
    assert_eq!(
        serde_json::from_str::<scenario::ExactScenario>(&text).expect("an exact scenario"),
        exact
    );
}

const ADHOC: &str = "[network]\nkind = 'adhoc'\nnodes = 12\n";

fn adhoc(keys: &str) -> Result<Scenario, String> {
    parse(&format!("{ADHOC}{keys}\n{FLOW}"))
}

#[test]
fn an_adhoc_network_has_its_parts() {
    let scenario = adhoc(
        "area = ['1 km', '200 m']\nmac = { model = '802.11', data_rate = '11 Mbit/s' }\n\
         routing = 'aodv'\narp = false\nqueue = '20 packets'\nradio = { range_multiplier = 3 }\n\
         energy = { idle = '40 mW' }\nmobility = { model = 'random-waypoint', max_speed = '20 m/s' }",
    );
    let scenario = scenario.expect("a scenario");
    let network = &serde_json::to_value(&scenario).expect("JSON")["path"]["network"];
    assert_eq!(network["area_m"], serde_json::json!([1000.0, 200.0]));
    assert_eq!(network["mac"]["kind"], "802.11");
    assert_eq!(network["mac"]["data_rate_bps"], 11_000_000);
    assert_eq!(network["routing"]["kind"], "aodv");
    assert_eq!(network["mobility"]["max_speed_m_per_s"], 20.0);
    assert_eq!(network["radio"]["range_multiplier"], 3.0);
    assert_eq!(network["energy"]["idle_w"], 0.04);
    assert!(network["arp"].is_null());
    assert_eq!(network["queue_packets"], 20);
}

#[test]
fn mistakes_in_an_adhoc_network_have_their_line() {
    let cases = [
        (
            "mac = '802.12'",
            "f.toml:4:1: mac = \"802.12\": this is not known; did you mean \"802.11\"?",
        ),
        (
            "mac = { data_rate = '1 Mbit/s' }",
            "f.toml:4:1: mac = {...}: expected one of 802.11, 802.15.4, or a table with such a model",
        ),
        (
            "mobility = 'random-waypoint'\nrouting = 'fixed'",
            "f.toml:5:1: routing = \"fixed\": fixed routes are those of the start, and these nodes move",
        ),
        (
            "mobility = 'random-waypoint'\nplacement = 'grid'",
            "f.toml:5:1: placement = \"grid\": nodes that move at random have no placement: leave it out",
        ),
        (
            "area = '500'",
            "f.toml:4:1: area = \"500\": a length needs a unit, such as \"500 m\"",
        ),
        (
            "positions = 'nothing.csv'",
            "f.toml:4:1: positions = \"nothing.csv\": the file does not exist",
        ),
    ];
    for (keys, sentence) in cases {
        assert_eq!(adhoc(keys).err().as_deref(), Some(sentence), "{keys}");
    }
}

/// Positions of a file: with and without times, and each mistake with its line.
#[test]
fn positions_come_from_a_file() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let read = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).expect("a file");
        let file = format!("[network]\nkind = 'adhoc'\npositions = '{name}'\n{FLOW}");
        Scenario::parse(&file, "f.toml", folder).map_err(|error| error.to_string())
    };
    let still = read(
        "still.csv",
        "node,x,y\n0,0,0\n1,100,50.5\n# the end\n2,200,0\n",
    );
    let network = still.expect("a scenario").path.cloud;
    let network = network.expect("a network");
    assert_eq!(network.node_count(), 3);
    let CloudConfig::AdHoc(network) = network else {
        panic!("another kind");
    };
    assert!(!network.mobility.moves());
    let moving = read("moving.csv", "0,0,0,0\n0,1,10,0\n5.5,1,20,0\n");
    let Some(CloudConfig::AdHoc(network)) = moving.expect("a scenario").path.cloud else {
        panic!("another kind");
    };
    assert!(network.mobility.moves() && network.nodes == 2);
    let cases = [
        (
            "short.csv",
            "0,1\n",
            "short.csv:1:1: expected node,x,y or time,node,x,y",
        ),
        (
            "gap.csv",
            "0,0,0\n2,0,0\n",
            "gap.csv: node 1 has no position",
        ),
        (
            "twice.csv",
            "0,0,0\n1,0,0\n1,5,5\n",
            "twice.csv:3:1: the node has another position at this time",
        ),
        (
            "word.csv",
            "0,0,0\n1,east,0\n",
            "word.csv:2:1: expected node,x,y or time,node,x,y",
        ),
        (
            "none.csv",
            "node,x,y\n",
            "none.csv: the file has no position",
        ),
    ];
    for (name, text, sentence) in cases {
        let error = read(name, text).expect_err(text);
        assert!(error.ends_with(sentence), "{error}");
    }
}

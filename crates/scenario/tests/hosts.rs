//! `[[hosts]]`: results, their resolved form, and refusals.

use std::path::Path;

use network::QueueLimit;
use scenario::{Ends, ExactScenario, Node, Place, Scenario};
use units::{Duration, Rate};

const PATH: &str = "[path]\nrate = '10 Mbit/s'\nrtt = '20 ms'\n";
const FLOW: &str = "[[flow]]\nalgorithm = 'cubic'\nsize = '1 MB'\n";

fn scenario(hosts: &str, flow: &str) -> Result<Scenario, String> {
    let text = format!("{PATH}{hosts}{FLOW}{flow}");
    Scenario::parse(&text, "f.toml", Path::new("")).map_err(|error| error.to_string())
}

const CLIENTS: &str = "[[hosts]]\nname = 'clients'\nat = 'right'\n";
const SERVERS: &str = "[[hosts]]
    name = 'servers'
    at = 'left'
    count = 450
    rate = '100 Mbit/s'
    delay = ['0 ms', '12 ms', '25 ms']
    ";

#[test]
fn a_dumbbell() {
    let flow = "from = 'servers'\nto = 'clients'\n[[traffic]]\nkind = 'bulk'\ndirection = 'reverse'\n\
                from = 'clients'\n";
    let scenario = scenario(&format!("{CLIENTS}{SERVERS}"), flow).expect("a valid scenario");
    let [clients, servers] = &scenario.path.hosts[..] else {
        panic!("{:?}", scenario.path.hosts);
    };
    assert_eq!(
        (clients.at, clients.count, clients.rate),
        (Node::RIGHT, 1, None)
    );
    assert_eq!(clients.buffer, QueueLimit::Unlimited);
    assert_eq!(clients.delay(0), Duration::ZERO);
    assert_eq!((servers.at, servers.count), (Node::LEFT, 450));
    assert_eq!(servers.rate, Some(Rate::from_bits_per_sec(100_000_000)));
    assert_eq!(servers.buffer, QueueLimit::Packets(1000));
    assert_eq!(servers.overhead, 14);
    // Connections take the hosts in turn, and the hosts the delays.
    assert_eq!([0, 449, 450].map(|turn| servers.host(turn)), [0, 449, 0]);
    assert_eq!(
        [0, 1, 2, 3, 449].map(|host| servers.delay(host)),
        [0, 12, 25, 0, 25].map(Duration::from_millis)
    );
    let both = Ends {
        from: Some(Place::Hosts(1)),
        to: Some(Place::Hosts(0)),
    };
    assert_eq!(scenario.flows[0].ends, both);
    let upload = Ends {
        from: Some(Place::Hosts(0)),
        to: None,
    };
    assert_eq!(scenario.path.traffic[0].flow.ends, upload);

    let resolved = serde_json::to_value(&scenario).expect("JSON");
    assert_eq!(resolved["flows"][0]["from"], "servers");
    assert_eq!(resolved["path"]["traffic"][0]["from"], "clients");
    assert_eq!(resolved["path"]["traffic"][0].get("to"), None);
    assert_eq!(resolved["path"]["hosts"][1]["queue_limit_packets"], 1000);
    let exact = serde_json::to_string(&ExactScenario(scenario.clone())).expect("JSON");
    let arrived: ExactScenario = serde_json::from_str(&exact).expect("an exact scenario");
    assert_eq!(arrived.0, scenario);
}

#[test]
fn a_path_without_hosts_does_not_mention_them() {
    let resolved = serde_json::to_value(scenario("", "").expect("a valid scenario")).expect("JSON");
    assert_eq!(resolved["path"].get("hosts"), None);
    assert_eq!(resolved["flows"][0].get("from"), None);
}

#[test]
fn contradictions_are_refused() {
    let refused = |hosts: &str, flow: &str, words: &str| {
        let message = scenario(hosts, flow).expect_err(words);
        assert!(message.contains(words), "{message}");
        assert!(message.starts_with("f.toml:"), "{message}");
    };
    refused("[[hosts]]\nat = 'left'\n", "", "[[hosts]] needs name");
    refused("[[hosts]]\nname = 'a'\n", "", "[[hosts]] needs at");
    refused(
        &CLIENTS.repeat(2),
        "",
        "another table of hosts has this name",
    );
    refused(
        CLIENTS,
        "to = 'client'",
        "no table [[hosts]] and no [[node]] has this name; did you mean \"clients\"?",
    );
    refused(CLIENTS, "from = 'clients'", "at the right end of the path");
    refused(
        &format!("{CLIENTS}buffer = '1 bdp'\n"),
        "",
        "give it in packets or bytes",
    );
    refused(
        &format!("{CLIENTS}buffer = '1 kB'\n"),
        "",
        "one full packet",
    );
    refused(&format!("{CLIENTS}count = 0\n"), "", "count = 0");
    refused(
        &format!("{CLIENTS}delay = []\n"),
        "",
        "expected 1 to 1000 delays",
    );
}

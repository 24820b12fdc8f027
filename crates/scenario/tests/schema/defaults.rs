//! Checks that the defaults in the descriptions are those of the readers.

use std::path::Path;

use network::Discipline;
use network::router::RouterSupport;
use scenario::{KnownTraffic, PathModel, Scenario, known_tables};
use tables::{Key, Variant};

use super::words::default;

/// A file with a table: the text before its keys, and after them.
fn around(table: &str) -> Option<(String, &'static str)> {
    const PATH: &str = "path = { rate = '50 Mbit/s', rtt = '100 ms' }\n";
    const FLOW: &str = "\n[[flow]]\nalgorithm = 'cubic'\nsize = '1 MB'\n";
    const ROUTED: &str =
        "[path]\nrate = '50 Mbit/s'\nrtt = '100 ms'\n[[path.router]]\nrate = '80 Mbit/s'\n";
    const ADHOC: &str = "[network]\nkind = 'adhoc'\nnodes = 3\n";
    let part = |key: &str, model: &str| (format!("{ADHOC}{key} = {{ model = '{model}', "), " }");
    let rate = |keys: &str| (format!("path.rtt = '300 ms'\npath.rate = {{ {keys}"), " }");
    let wired = "path.rtt = '300 ms'\npath.rate = '50 Mbit/s'\n";
    Some(match table {
        "scenario" => (PATH.to_owned(), FLOW),
        "path" => (
            "[path]\nrtt = '100 ms'\nrate = '50 Mbit/s'\n".to_owned(),
            FLOW,
        ),
        "direction" => (
            "path.rtt = '100 ms'\n[path.forward]\nrate = '50 Mbit/s'\n".to_owned(),
            FLOW,
        ),
        "router" => (ROUTED.to_owned(), FLOW),
        "varying-rate" => rate("mean = '4 Mbit/s', variation = '30 %', correlation = '1 s', "),
        "gilbert-elliott" => (format!("{wired}path.loss = {{ p = '1 %', "), " }"),
        "jitter" => (format!("{wired}path.jitter = {{ amount = '5 ms', "), " }"),
        "reordering" => (
            format!("{wired}path.reordering = {{ probability = '1 %', delay = '5 ms', "),
            " }",
        ),
        "link" => (
            format!(
                "{PATH}[[node]]\nname = 'r2'\n[[link]]\nfrom = 'right'\nto = 'r2'\nrate = '1 Gbit/s'\n"
            ),
            FLOW,
        ),
        "flow" => (format!("{PATH}{FLOW}"), ""),
        "lte" | "5g" | "hsdpa" => rate(&format!("model = '{table}', ")),
        "cell-uplink" | "umts-uplink" => rate(&format!("model = '{table}', rate = '1 Mbit/s', ")),
        "cell-reduced" => rate("model = 'cell-reduced', mean = '40 Mbit/s', "),
        "network-adhoc" => (ADHOC.to_owned(), FLOW),
        "network-constellation" => (
            "[network]\nkind = 'constellation'\nterminal = [{ name = 'a', latitude = '1 deg', \
             longitude = '2 deg' }, { name = 'b', latitude = '3 deg', longitude = '4 deg' }]\n"
                .to_owned(),
            FLOW,
        ),
        "network-ideal" => ("[network]\nkind = 'ideal'\nnodes = 3\n".to_owned(), FLOW),
        "random-waypoint" => part("mobility", table),
        "802.11" | "802.15.4" => part("mac", table),
        "dsdv" | "aodv" => part("routing", table),
        "radio" | "arp" | "energy" => (format!("{ADHOC}{table} = {{ "), " }"),
        "rrc" => ("path.preset = 'lte'\npath.rrc = { ".to_owned(), " }"),
        "rrc-umts" => ("path.preset = 'hsdpa'\npath.rrc = { ".to_owned(), " }"),
        _ => return None,
    })
}

/// A file with a table of a kind, or with a table whose kind has a key.
fn kinds(table: &str, key: &Key) -> Option<(String, String)> {
    const PATH: &str =
        "path.rate = '50 Mbit/s'\npath.rtt = '100 ms'\npath.buffer = '100 packets'\n";
    let is_of = |kinds: &[Variant]| kinds.iter().any(|kind| kind.table.name == table);
    let owner = match table {
        "traffic" => return Some((traffic(key), String::new())),
        _ if is_of(Discipline::KINDS) => "aqm",
        _ if is_of(RouterSupport::KINDS) => "router_support",
        _ => return None,
    };
    let before = format!("{PATH}path.{owner} = {{ kind = '{table}', ");
    Some((before, " }".to_owned()))
}

/// A path with traffic of the first kind that has a key.
fn traffic(key: &Key) -> String {
    let kinds = KnownTraffic::all();
    let owner = kinds
        .iter()
        .find(|kind| kind.own_keys().any(|own| own == key.name));
    let (kind, example) = owner.map_or(("bulk", ""), |kind| (kind.name, kind.example));
    let vectors = concat!(env!("CARGO_TARGET_TMPDIR"), "/defaults.cvec");
    std::fs::write(vectors, "SEQ 0 1 1 1\n> 400\nt 0\n< 14000\n").expect("a file");
    let example = example.replace("trace.cvec", vectors);
    format!(
        "path = {{ rate = '50 Mbit/s', rtt = '100 ms' }}\n[[traffic]]\nkind = '{kind}'\n{example}\n"
    )
}

/// The resolved form of a file.
fn resolved(text: &str) -> String {
    match text.contains("[[flow]]") {
        true => Scenario::parse(text, "f.toml", Path::new(""))
            .map(|scenario| serde_json::to_string(&scenario).expect("JSON")),
        false => PathModel::parse(text, "f.toml", Path::new(""))
            .map(|path| serde_json::to_string(&path).expect("JSON")),
    }
    .unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A key with its default as the value changes nothing.
#[test]
fn the_defaults_are_those_of_the_readers() {
    let mut judged = 0;
    for table in known_tables() {
        for key in table.given() {
            let Some((value, is_quoted)) = default(key) else {
                continue;
            };
            // Allowed only with several flows.
            if matches!(key.name, "stagger") {
                continue;
            }
            let (before, after) = match (around(table.name), kinds(table.name, key)) {
                (Some((before, after)), _) => (before, after.to_owned()),
                (None, Some(both)) => both,
                (None, None) => continue,
            };
            // Outages require a time between two of them.
            let extra = match key.name {
                "outage" | "longest" if table.name == "cell-reduced" => "outages = '20 s', ",
                "impatient" => "sack = false\n",
                _ => "",
            };
            let value = if is_quoted {
                format!("'{value}'")
            } else {
                value
            };
            let said = format!("{before}{extra}{} = {value}{after}", key.name);
            let unsaid = format!("{before}{extra}{after}").replace(",  }", " }");
            assert_eq!(
                resolved(&said),
                resolved(&unsaid),
                "{}: {}",
                table.name,
                key.name
            );
            judged += 1;
        }
    }
    assert!(judged > 110, "{judged}");
}

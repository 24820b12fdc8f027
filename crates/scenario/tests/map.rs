//! The map of a topology: what `slowstart path` prints and draws.

use std::path::Path;

use scenario::Map;
use serde_json::{Value, json};

fn map(file: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let spec = folder.join(file);
    let map = Map::resolve(&spec.to_string_lossy()).expect("a valid file");
    serde_json::to_value(map).expect("JSON")
}

#[test]
fn a_parking_lot() {
    let map = map("parking-lot.toml");
    assert_eq!(
        map["nodes"],
        json!([
            {"name": "left", "distance_ms": 0.0, "hops": 0},
            {"name": "right", "distance_ms": 10.0, "hops": 1},
            {"name": "r3", "distance_ms": 20.0, "hops": 2},
            {"name": "r4", "distance_ms": 30.0, "hops": 3},
        ])
    );
    assert_eq!(map["links"].as_array().map(Vec::len), Some(3));
    assert_eq!(map["links"][0]["is_path"], true);
    let second = &map["links"][1];
    assert_eq!(
        (&second["from"], &second["to"]),
        (&json!("right"), &json!("r3"))
    );
    assert_eq!(second["reverse"]["name"], "second (reverse)");
    assert_eq!(second["forward"]["mean_bps"], 100_000_000);
    assert_eq!(map["hosts"][7]["at"], "r4");
    let routes = map["routes"].as_array().expect("routes");
    assert_eq!(routes.len(), 4);
    assert_eq!(routes[0]["nodes"], json!(["left", "right", "r3", "r4"]));
    assert_eq!(routes[0]["links"], json!(["forward", "second", "third"]));
    assert_eq!(
        routes[0]["back_nodes"],
        json!(["r4", "r3", "right", "left"])
    );
    for route in routes {
        assert_eq!(route["base_rtt_min_ms"], 60.0);
        assert_eq!(route["base_rtt_max_ms"], 60.0);
        assert_eq!(route["bottleneck_bps"], 100_000_000);
    }
}

#[test]
fn a_dumbbell_has_one_route_for_all_flows_between_the_same_hosts() {
    let map = map("dumbbell.toml");
    let [flow, web] = &map["routes"].as_array().expect("routes")[..] else {
        panic!("{map:#}");
    };
    assert_eq!((&flow["what"], &flow["count"]), (&json!("flow"), &json!(1)));
    assert_eq!(
        (&web["what"], &web["count"]),
        (&json!("traffic"), &Value::Null)
    );
    assert_eq!(web["base_rtt_min_ms"], 4.0);
    assert_eq!(web["base_rtt_max_ms"], 200.0);
    assert_eq!(web["nodes"], json!(["left", "right"]));
}

/// The spare way is longer, so it carries only what begins or ends there.
#[test]
fn a_graph() {
    let map = map("graph.toml");
    let routes = map["routes"].as_array().expect("routes");
    let nodes: Vec<&Value> = routes.iter().map(|route| &route["nodes"]).collect();
    assert_eq!(
        nodes,
        [
            &json!(["left", "right", "exchange", "data centre"]),
            &json!(["data centre", "exchange", "cell"]),
            &json!(["spare", "data centre"]),
            &json!(["data centre", "exchange", "right", "left"]),
        ]
    );
    assert_eq!(
        routes[1]["links"],
        json!(["data centre-exchange", "exchange-cell"])
    );
}

#[test]
fn a_preset_is_one_link() {
    let map = serde_json::to_value(Map::resolve("geo").expect("a preset")).expect("JSON");
    assert_eq!(map["links"].as_array().map(Vec::len), Some(1));
    assert_eq!((&map["hosts"], &map["routes"]), (&json!([]), &json!([])));
}

//! `[[path.router]]` and `router_support`: results and refusals.

use std::path::Path;

use network::router::{QuickStartConfig, RcpConfig, RouterSupport, XcpConfig};
use network::{QueueLimit, Service};
use scenario::PathModel;
use units::{Bytes, Duration, Rate};

fn parse(text: &str) -> Result<PathModel, String> {
    PathModel::parse(&format!("[path]\n{text}"), "test.toml", Path::new(""))
        .map_err(|error| error.to_string())
}

#[test]
fn routers_add_their_delay_and_inherit_other_settings() {
    let path = parse(
        "rate = '10 Mbit/s'\nrtt = '90 ms'\nbuffer = '1 bdp'\noverhead = '20 bytes'\nrouter_support = 'quick-start'\n\
         [[path.router]]\nrate = '100 Mbit/s'\ndelay = '4 ms'\nrouter_support = { kind = 'quick-start', threshold = '50 %' }\n\
         [[path.router]]\nrate = '10 Mbit/s'\ndelay = '6 ms'\nbuffer = '50 packets'\noverhead = '0 bytes'",
    )
    .expect("a path");
    assert_eq!(path.base_rtt, Duration::from_millis(100));
    assert_eq!(path.bdp, Bytes::new(125_000));
    assert_eq!(
        path.router_support,
        RouterSupport::QuickStart(QuickStartConfig::default())
    );
    let [first, second] = path.routers.as_slice() else {
        panic!("two routers: {:?}", path.routers);
    };
    assert_eq!(
        (first.link.name.as_str(), first.link.overhead),
        ("router 1", 20)
    );
    assert_eq!(
        first.link.service,
        Service::Fixed(Rate::from_bits_per_sec(100_000_000))
    );
    // One BDP of its own rate over the whole base round trip: 1.25 MB in packets of 1520.
    assert_eq!(first.link.queue.limit, QueueLimit::Packets(822));
    assert_eq!(
        first.router_support,
        RouterSupport::QuickStart(QuickStartConfig {
            threshold: 0.5,
            overstate: 1.0
        })
    );
    assert_eq!(
        (
            second.link.queue.limit,
            second.link.overhead,
            second.router_support
        ),
        (QueueLimit::Packets(50), 0, RouterSupport::None)
    );
    // The bottleneck's own buffer counts the routers' delay too.
    assert_eq!(path.forward.queue.limit, QueueLimit::Packets(82));
    let shown = serde_json::to_value(&path).expect("it serialises");
    assert_eq!(shown["routers"][0]["router_support"]["threshold"], 0.5);
    assert_eq!(shown["routers"][1]["link"]["queue_limit_packets"], 50);
    assert_eq!(shown["router_support"]["kind"], "quick-start");
}

/// The delay of a router's model on an idle path is part of the base round trip, as for the two
/// directions.
#[test]
fn a_routers_model_adds_its_delay() {
    let router = "[[path.router]]\nrate = { model = 'geo', rate = '20 Mbit/s', frame = '10 ms' }\ndelay = '15 ms'";
    let path = parse(&format!("rate = '10 Mbit/s'\nrtt = '80 ms'\n{router}")).expect("a path");
    assert_eq!(path.base_rtt, Duration::from_millis(100));
    assert_eq!(path.forward.queue.limit, QueueLimit::Packets(83));
}

#[test]
fn every_kind_of_support() {
    let router_support = |text: &str| {
        parse(&format!("preset = 'wired'\nrouter_support = {text}")).map(|path| path.router_support)
    };
    assert_eq!(router_support("'none'"), Ok(RouterSupport::None));
    assert_eq!(
        router_support("'rcp'"),
        Ok(RouterSupport::Rcp(RcpConfig::default()))
    );
    assert_eq!(
        router_support("'xcp'"),
        Ok(RouterSupport::Xcp(XcpConfig::default()))
    );
    assert_eq!(
        router_support("{ kind = 'rcp', alpha = '10 %', beta = '100 %' }"),
        Ok(RouterSupport::Rcp(RcpConfig {
            alpha: 0.1,
            beta: 1.0,
            overstate: 1.0
        }))
    );
    assert_eq!(
        router_support("{ kind = 'xcp', overstate = 4 }"),
        Ok(RouterSupport::Xcp(XcpConfig { overstate: 4.0 }))
    );
    // The resolved form names a lie, and nothing else.
    for (text, lie) in [
        ("'xcp'", None),
        ("{ kind = 'xcp', overstate = 4 }", Some(4.0)),
    ] {
        let path = parse(&format!("preset = 'wired'\nrouter_support = {text}")).expect("a path");
        let shown = serde_json::to_value(&path).expect("it serialises");
        assert_eq!(
            shown["router_support"].get("overstate"),
            lie.map(serde_json::Value::from).as_ref()
        );
    }
    assert_eq!(
        parse("preset = 'wired'").map(|path| path.has_routers()),
        Ok(false)
    );
}

#[test]
fn refusals() {
    let base = "rate = '10 Mbit/s'\nrtt = '90 ms'\n";
    for (text, sentence) in [
        (
            "router_support = 'rcpp'",
            "test.toml:4:1: router_support = \"rcpp\": this is not known; did you mean \"rcp\"?",
        ),
        (
            "router_support = { kind = 'rcp', threshold = '50 %' }",
            "only the kind \"quick-start\" has this",
        ),
        (
            "router_support = { kind = 'xcp', alpha = '50 %' }",
            "only the kind \"rcp\" has this",
        ),
        (
            "router_support = { kind = 'rcp', beta = '0 %' }",
            "it is zero",
        ),
        (
            "router_support = { kind = 'none', overstate = 2 }",
            "only the kinds \"quick-start\", \"rcp\", \"xcp\" have this",
        ),
        (
            "router_support = { kind = 'rcp', overstate = 0.5 }",
            "expected a number from 1 to 1000",
        ),
        (
            "router_support = { alpha = '50 %' }",
            "it needs a kind, one of none, quick-start, rcp, xcp",
        ),
        (
            "router_support = 3",
            "expected one of none, quick-start, rcp, xcp",
        ),
        (
            "[[path.router]]\ndelay = '1 ms'",
            "test.toml:4:1: [[path.router]] needs rate, such as rate = \"100 Mbit/s\"",
        ),
        (
            "[[path.router]]\nrate = '1 Mbit/s'",
            "[path] has a router 1 of 1 Mbit/s, which is slower than the path's rate",
        ),
        (
            "[[path.router]]\nrate = 'unlimited'\nrouter_support = 'rcp'",
            "router 1 with router_support, which needs a limited rate",
        ),
        (
            "[[path.router]]\nrate = '100 Mbit/s'\nrtt = '5 ms'",
            "unknown key \"rtt\" in [[path.router]]",
        ),
        (
            "[[path.router]]\nrate = '100 Mbit/s'\ndelay = '59.95 s'",
            "round trip of more than 60 s",
        ),
        (
            "router = 'one'",
            "routers are written as tables [[path.router]]",
        ),
    ] {
        let message = parse(&format!("{base}{text}")).expect_err(text);
        assert!(message.contains(sentence), "{text}: {message}");
    }
}

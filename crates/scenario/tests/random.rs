//! What a scenario says about itself: whether its runs may differ.

use std::path::Path;

use scenario::Scenario;

fn is_random(path: &str, flow: &str) -> bool {
    let text = format!(
        "[path]\nrate = '10 Mbit/s'\nrtt = '20 ms'\nbuffer = '100 packets'\n{path}\n[[flow]]\n{flow}\n"
    );
    let scenario = Scenario::parse(&text, "f.toml", Path::new(""));
    scenario
        .unwrap_or_else(|error| panic!("{error}"))
        .is_random()
}

#[test]
fn a_path_is_random_where_a_part_draws() {
    let cubic = "algorithm = 'cubic'\nsize = '1 MB'";
    for (path, expected) in [
        ("", false),
        ("aqm = 'codel'", false),
        ("aqm = 'fq-codel'", true),
        ("aqm = 'red'", true),
        ("loss = '1 %'", true),
        ("jitter = '2 ms'", true),
        ("reordering = { probability = '1 %', delay = '1 ms' }", true),
        (
            "jitter = { amount = '2 ms', distribution = 'sine', period = '2 s' }",
            true,
        ),
        ("reverse = { loss = '1 %' }", true),
        ("router_support = 'quick-start'", true),
        ("traffic = [{ kind = 'bulk' }]", true),
        ("hosts = [{ name = 'h', at = 'left' }]", true),
    ] {
        assert_eq!(is_random(path, cubic), expected, "{path}");
    }
}

#[test]
fn a_flow_is_random_where_its_congestion_control_draws() {
    for (algorithm, expected) in [
        ("cubic", false),
        ("cubic+search", false),
        ("cubic+suss", false),
        ("reno+hystart++", false),
        ("cubic+quick-start", true),
        ("bbr", true),
        ("bbr3", true),
        ("bbrp", true),
    ] {
        let flow = format!("algorithm = '{algorithm}'\nsize = '1 MB'");
        assert_eq!(is_random("", &flow), expected, "{algorithm}");
    }
}

//! Complete scenario files: results, refusals, and robustness against any text.

use std::path::Path;

use congestion::Algorithm;
use proptest::prelude::*;
use scenario::{
    AckPolicy, Application, Autotuning, CompareOptions, ExactScenario, Misbehavior, PRESETS,
    PathModel, Scenario,
};
use units::{Bytes, Duration, Instant, Rate};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");

const VALID: &str = r#"
name = "all"
runs = 3
seed = 9
duration = "20 s"
time_limit = "1 min"

[path]
preset = "geo-reduced"
buffer = "1.5 bdp"
loss = { p = "1 %", r = "30 %", bad_loss = "50 %", good_loss = "0.1 %" }
jitter = { amount = "5 ms", distribution = "exponential", slot = "1 ms" }
aqm = { kind = "random-above", fill = "50 %", probability = "25 %" }
overhead = "14 bytes"

[path.reverse]
rate = { mean = "4 Mbit/s", variation = "30 %", correlation = "1 s", slot = "10 ms", peak = "8 Mbit/s" }
jitter = { amount = "700 ms", distribution = "sine", period = "2 s" }

[[flow]]
algorithm = "cubic"
size = "20 MB"
start = "1 s"
count = 2
stagger = "500 ms"

[[flow]]
name = "chatty"
algorithm = "reno"
duration = "10 s"
initial_window = 3
pacing = true
receive_buffer = "6 MiB"
syn_window = "1 MiB"
ack_policy = "every-segment"
ecn = true
sack = false
impatient = true
small_queue = 8
autotuning = "linux-5.4"
restart_after_idle = false
tso_segments = 1
extra_delay = "5 ms"
application = { write = "10 kB", every = "100 ms" }
"#;

fn load(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, "f.toml", Path::new(FOLDER)).map_err(|error| error.to_string())
}

#[test]
fn every_key_of_a_flow() {
    let scenario = load(VALID).unwrap();
    assert_eq!(
        (scenario.name.as_str(), scenario.path.name.as_str()),
        ("all", "all")
    );
    assert_eq!((scenario.runs, scenario.seed), (3, 9));
    assert_eq!(
        (scenario.duration, scenario.time_limit),
        (Some(Duration::from_secs(20)), Duration::from_secs(60))
    );
    let starts: Vec<Instant> = scenario.flows.iter().map(|flow| flow.start).collect();
    assert_eq!(
        starts,
        [
            Instant::from_secs(1),
            Instant::from_millis(1500),
            Instant::ZERO
        ]
    );
    assert_eq!(
        (scenario.flows[0].name.as_str(), scenario.flows[0].size),
        (
            scenario.flows[0].algorithm.to_string().as_str(),
            Some(Bytes::new(20_000_000))
        )
    );
    let chatty = &scenario.flows[2];
    assert_eq!(chatty.name, "chatty");
    assert_eq!(
        (chatty.size, chatty.duration),
        (None, Some(Duration::from_secs(10)))
    );
    assert_eq!(
        (
            chatty.initial_window,
            chatty.pacing,
            chatty.ecn,
            chatty.restart_after_idle,
            chatty.tso_segments
        ),
        (3, true, true, false, 1)
    );
    assert_eq!(
        (chatty.receive_buffer, chatty.ack_policy),
        (Bytes::new(6 << 20), AckPolicy::EverySegment)
    );
    assert_eq!(chatty.syn_window, Bytes::new(1 << 20));
    assert_eq!((chatty.sack, chatty.impatient), (false, true));
    assert_eq!(chatty.small_queue, Some(8));
    assert_eq!(chatty.autotuning, Autotuning::Linux54);
    assert_eq!(chatty.extra_delay, Duration::from_millis(5));
    assert_eq!(
        chatty.application,
        Application::Periodic {
            write: Bytes::new(10_000),
            every: Duration::from_millis(100)
        }
    );
}

#[test]
fn defaults_are_those_of_linux() {
    let scenario =
        load("path = { preset = 'wired' }\nflow = [{ algorithm = 'cubic', size = '1 MB' }]")
            .unwrap();
    assert_eq!(
        (scenario.name.as_str(), scenario.runs, scenario.seed),
        ("f", 1, 1)
    );
    assert_eq!(
        (scenario.time_limit, scenario.duration),
        (Duration::from_secs(600), None)
    );
    let flow = &scenario.flows[0];
    assert_eq!((flow.sack, flow.impatient), (true, false));
    assert_eq!(flow.misbehavior, None);
    assert_eq!(
        (
            flow.initial_window,
            flow.tso_segments,
            flow.pacing,
            flow.ecn,
            flow.restart_after_idle
        ),
        (10, 45, false, false, true)
    );
    assert_eq!(
        (flow.receive_buffer, flow.ack_policy, flow.application),
        (Bytes::new(64 << 20), AckPolicy::Delayed, Application::Bulk)
    );
}

#[test]
fn receivers_that_misbehave() {
    let text = |keys: &str| {
        format!("path.preset = 'wired'\n[[flow]]\nalgorithm = 'cubic'\nsize = '1 MB'\n{keys}")
    };
    let scenario = load(&text(
        "misbehavior = { optimistic = '20 Mbit/s', divide = 3 }",
    ))
    .unwrap();
    assert_eq!(
        scenario.flows[0].misbehavior,
        Some(Misbehavior {
            divide: 3,
            optimistic: Some(Rate::from_bits_per_sec(20_000_000)),
            ..Misbehavior::DEFAULT
        })
    );
    let shown = serde_json::to_value(&scenario).unwrap();
    let misbehavior = &shown["flows"][0]["misbehavior"];
    assert_eq!(misbehavior["divide"], 3);
    assert_eq!(misbehavior["optimistic_bps"], 20_000_000);
    // One that complies is not mentioned.
    let shown = serde_json::to_value(load(&text("")).unwrap()).unwrap();
    assert!(shown["flows"][0].get("misbehavior").is_none());
    // Background traffic complies.
    let error = load(&text(
        "[[traffic]]\nkind = 'bulk'\nmisbehavior = { divide = 2 }",
    ))
    .unwrap_err();
    assert!(
        error.starts_with("f.toml:7:1: unknown key \"misbehavior\" in [[traffic]]"),
        "{error}"
    );
}

#[test]
fn refusals() {
    let path = "path.preset = 'wired'\n";
    for (text, expected) in [
        ("", "f.toml:1:1: the scenario needs path, such as path = { preset = \"wired\" }, or a table [path]".to_owned()),
        (path, "f.toml: there is no [[flow]], so there is nothing to run".to_owned()),
        ("flow = []", "f.toml: there is no [[flow]], so there is nothing to run".to_owned()),
        ("flow = 3", "f.toml:2:1: flow = 3: flows are written as tables [[flow]]".to_owned()),
        ("[[flow]]\nsize = '1 MB'", "f.toml:2:1: [[flow]] needs algorithm, such as algorithm = \"cubic+search\"".to_owned()),
        ("[[flow]]\nalgorithm = 'cubic'", "f.toml: the flow \"cubic+hystart\" never ends: give it a size or a duration, or the scenario a duration".to_owned()),
        ("[[flow]]\nalgorithm = 'cubic'\nsize = '0 B'", "f.toml:4:1: size = \"0 B\": it is zero".to_owned()),
        ("[[flow]]\nalgorithm = 'cubic'\nsize = '1 B'\nduration = '1 s'", "f.toml:5:1: [[flow]] takes size or duration, not both".to_owned()),
        ("[[flow]]\nalgorithm = 'cubic'\nsize = '1 B'\nstart = '11 min'", "f.toml: the flow \"cubic+hystart\" starts when the run is already over".to_owned()),
        ("[[flow]]\nalgorithm = 'cubic'\n  initial_windw = 3", "f.toml:4:3: unknown key \"initial_windw\" in [[flow]]; did you mean \"initial_window\"?".to_owned()),
        ("[[flow]]\nalgorithm = 'cubic'\ninitial_window = 0", "f.toml:4:1: initial_window = 0: expected a whole number from 1 to 65535".to_owned()),
        ("[[flow]]\nalgorithm = 'cubic'\ninitial_window = '10'", "f.toml:4:1: initial_window = \"10\": expected a whole number from 1 to 65535".to_owned()),
        ("[[flow]]\nalgorithm = 'cubic'\npacing = 'yes'", "f.toml:4:1: pacing = \"yes\": expected true or false, without quotes".to_owned()),
        ("[[flow]]\nalgorithm = 'cubic'\nack_policy = 'every'", "f.toml:4:1: ack_policy = \"every\": this is not known; did you mean \"every-segment\"?".to_owned()),
        ("[[flow]]\nalgorithm = 'cubic'\nmisbehavior = { divid = 2 }", "f.toml:4:17: unknown key \"divid\" in misbehavior; did you mean \"divide\"?".to_owned()),
        ("[[flow]]\nalgorithm = 'cubic'\nmisbehavior = { divide = 0 }", "f.toml:4:17: divide = 0: expected a whole number from 1 to 1000".to_owned()),
        ("[[flow]]\nalgorithm = 'cubic'\nmisbehavior = {}", "f.toml:4:1: misbehavior: say what the receiver does: divide, duplicate, optimistic or stretch".to_owned()),
        ("[[flow]]\nalgorithm = 'cubic'\nmisbehavior = { divide = 2, wait = '1 ms' }", "f.toml:4:29: wait needs a stretch of 2 segments or more".to_owned()),
        ("[[flow]]\nalgorithm = 'cubic'\nmisbehavior = { stretch = 2, optimistic = '1 Mbit/s' }", "f.toml:4:17: a receiver with optimistic ACKs follows their rate: leave out stretch".to_owned()),
        ("[[flow]]\nalgorithm = 'cubic'\nack_policy = 'every-segment'\nmisbehavior = { stretch = 2 }", "f.toml:4:1: a receiver that acknowledges every segment does not stretch its ACKs: leave out ack_policy or the stretch of misbehavior".to_owned()),
        ("[[flow]]\nalgorithm = 'cubic'\nreceive_buffer = '2 GB'", "f.toml:4:1: receive_buffer = \"2 GB\": it is from 2.896 kB to 1.07372544 GB".to_owned()),
        ("path.aqm = 'fq-codel'\n[[flow]]\nalgorithm = 'cubic'\nsize = '1 B'\nsmall_queue = 10", "f.toml: the flow \"cubic+hystart\" has a small_queue, for which its device, the path's first link, is Wi-Fi or has a drop-tail queue that knows on arrival when a packet leaves: no other aqm, no dama".to_owned()),
        ("rate = '1 Mbit/s'", "f.toml:2:1: unknown key \"rate\" in the scenario; put it under [path]".to_owned()),
        ("[[traffic]]\nkind = 'bulk'\nlist = true", "f.toml:4:1: `list` is now `list_flows`".to_owned()),
        ("runs = -1", "f.toml:2:1: runs = -1: expected a whole number from 1 to 1000000".to_owned()),
        ("seed = 99999999999999999999", "f.toml:2:1: seed = 99999999999999999999: expected a whole number from 0 to 9223372036854775807".to_owned()),
        ("run = 3", "f.toml:2:1: unknown key \"run\" in the scenario; did you mean \"runs\"?".to_owned()),
        ("zzzzzz = 3", "f.toml:2:1: unknown key \"zzzzzz\" in the scenario; known are name, summary, runs, seed, duration, time_limit, path, network, flow, traffic, hosts, node, link".to_owned()),
        ("[[traffic]]\nkind = 'web'\nzzzzzz = 3", "f.toml:4:1: unknown key \"zzzzzz\" in [[traffic]]; docs/reference/scenario.md lists its keys".to_owned()),
        ("[[traffic]]\nkind = 'web'\nlaod = 3", "f.toml:4:1: unknown key \"laod\" in [[traffic]]; did you mean \"load\"?".to_owned()),
        ("flow = [3]", "f.toml:2:9: each entry of flow is a table; docs/reference/scenario.md lists its keys".to_owned()),
    ] {
        let text = if text.is_empty() { String::new() } else { format!("{}{text}", if text == path { "" } else { path }) };
        assert_eq!(load(&text).map(|_| ()), Err(expected), "{text}");
    }
    let unknown = load(&format!(
        "{path}[[flow]]\nalgorithm = 'cubik'\nsize = '1 MB'"
    ))
    .unwrap_err();
    assert!(
        unknown.starts_with("f.toml:3:1: algorithm = \"cubik\": ") && unknown.contains("cubic"),
        "{unknown}"
    );
}

#[test]
fn columns_count_characters() {
    let error = load("name = \"\u{e9}\u{e9}\"\npath = { name = \"\u{e9}\", pre = 1 }").unwrap_err();
    assert!(
        error.starts_with("f.toml:2:22: unknown key \"pre\""),
        "{error}"
    );
}

#[test]
fn files() {
    let missing = Scenario::load("nowhere.toml").unwrap_err();
    assert_eq!(missing.to_string(), "nowhere.toml: the file does not exist");
    assert_eq!(
        Scenario::load("src").unwrap_err().to_string(),
        "src: this is a folder, not a file"
    );
}

/// The examples of the repository, loaded as a user loads them.
#[test]
fn examples() {
    let mut names: Vec<_> = std::fs::read_dir(FOLDER)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    let mut seen = 0;
    for name in names
        .iter()
        .filter(|name| name.extension().is_some_and(|end| end == "toml"))
    {
        let path = PathModel::resolve(name.to_str().unwrap()).unwrap();
        let text = std::fs::read_to_string(name).unwrap();
        if text.contains("[[flow]]") {
            assert_eq!(Scenario::load(name).unwrap().path, path);
        }
        seen += 1;
    }
    assert!(seen >= 4, "{seen} examples in {FOLDER}");
}

#[test]
fn comparisons() {
    let path = PathModel::resolve("wired").unwrap();
    let algorithms = ["cubic", "reno"].map(|name| Algorithm::parse(name).unwrap());
    let size = CompareOptions {
        size: Some(Bytes::new(1_000_000)),
        runs: 20,
        seed: 5,
        ..CompareOptions::default()
    };
    let apart = Scenario::compare(&path, &algorithms, &size).unwrap();
    assert_eq!(apart.len(), 2);
    assert_eq!(
        (apart[1].runs, apart[1].seed, apart[1].flows.len()),
        (20, 5, 1)
    );
    assert_eq!(*apart[1].flows[0].algorithm, algorithms[1]);
    let timed = CompareOptions {
        duration: Some(Duration::from_secs(10)),
        flows: 2,
        stagger: Duration::from_secs(1),
        together: true,
        ..CompareOptions::default()
    };
    let together = Scenario::compare(&path, &algorithms, &timed).unwrap();
    assert_eq!(together.len(), 1);
    let starts: Vec<u64> = together[0]
        .flows
        .iter()
        .map(|flow| flow.start.as_millis() / 1000)
        .collect();
    assert_eq!(
        (starts, together[0].duration),
        (vec![0, 1, 2, 3], Some(Duration::from_secs(13)))
    );
    let refused = |options: &CompareOptions| {
        Scenario::compare(&path, &algorithms, options)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused(&CompareOptions::default()),
        "give a size or a duration of the transfer"
    );
    assert_eq!(
        refused(&CompareOptions {
            duration: timed.duration,
            ..size.clone()
        }),
        "give a size or a duration, not both"
    );
    assert_eq!(
        refused(&CompareOptions {
            size: Some(Bytes::ZERO),
            ..size.clone()
        }),
        "a transfer has at least one byte"
    );
    assert_eq!(
        refused(&CompareOptions {
            runs: 0,
            ..size.clone()
        }),
        "the number of runs is 0; it must be from 1 to 1000000"
    );
    assert_eq!(
        refused(&CompareOptions {
            stagger: Duration::from_secs(1),
            ..size.clone()
        }),
        "there is only one flow: the stagger is the time to the next"
    );
    assert!(Scenario::compare(&path, &[], &size).is_err());
}

#[test]
fn the_resolved_form_names_its_units() {
    let scenario = load(VALID).unwrap();
    let json = serde_json::to_value(&scenario).unwrap();
    assert_eq!(json["path"]["rate_bps"], 25_000_000);
    assert_eq!(json["path"]["base_rtt_ms"], 600.0);
    assert_eq!(json["path"]["bdp_bytes"], 1_875_000);
    assert_eq!(json["path"]["bdp_packets"], 1238);
    assert_eq!(json["path"]["forward"]["queue_limit_packets"], 1858);
    assert_eq!(json["path"]["reverse"]["jitter"]["amount_ms"], 700.0);
    assert_eq!(json["flows"][1]["start_s"], 1.5);
    assert_eq!(json["flows"][2]["application"]["write_bytes"], 10_000);
    assert_eq!(json["flows"][0]["duration_s"], serde_json::Value::Null);
}

proptest! {
    /// For any file, the result is a scenario or one line that starts with the file name.
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        if let Err(message) = load(&text) {
            prop_assert!(message.starts_with("f.toml") && !message.contains('\n'), "{}", message);
        }
    }

    /// A valid file with a part replaced by other text.
    #[test]
    fn no_change_of_a_valid_file_makes_it_panic(
        at in 0..VALID.len(),
        cut in 0_usize..30,
        put in prop_oneof![
            any::<String>(),
            "[-0-9a-zA-Z\"'=.,%{}\\[\\]\n #_/]{0,12}",
            Just(String::new()),
            Just("\n[path]\n".to_owned()),
            Just("[[flow]]\n".to_owned()),
            Just("99999999999999999999".to_owned()),
            Just("\"0 %\"".to_owned()),
            Just("\"unlimited\"".to_owned()),
        ],
    ) {
        let end = (at + cut).min(VALID.len());
        let text = format!("{}{put}{}", &VALID[..at], &VALID[end..]);
        match load(&text) {
            Ok(scenario) => prop_assert!(!scenario.flows.is_empty() && serde_json::to_string(&scenario).is_ok()),
            Err(message) => prop_assert!(message.starts_with("f.toml") && !message.contains('\n'), "{}", message),
        }
    }
}

/// The exact form preserves the scenario to the last bit.
#[test]
fn a_parcel_holds_the_complete_scenario() {
    let there_and_back = |scenario: Scenario| {
        let text = serde_json::to_string(&ExactScenario(scenario.clone())).unwrap();
        let ExactScenario(back) = serde_json::from_str(&text).unwrap();
        assert_eq!(back, scenario, "{text}");
    };
    there_and_back(Scenario::parse(VALID, "all.toml", Path::new("")).unwrap());
    let size = CompareOptions {
        size: Some(Bytes::new(1_000_000)),
        ..CompareOptions::default()
    };
    let algorithm = Algorithm::parse("cubic+search:version=4.0,exit=drain").unwrap();
    for preset in PRESETS {
        let path = PathModel::resolve(preset.name).unwrap();
        let compared = Scenario::compare(&path, std::slice::from_ref(&algorithm), &size);
        compared.unwrap().into_iter().for_each(there_and_back);
    }
}

//! `rrc` of a path: the radio while it is idle.

use std::path::Path;

use network::access::CellularConfig;
use network::access::cellular::{DrxConfig, RrcConfig, SleepConfig};
use scenario::PathModel;
use units::Duration;

fn parse(keys: &str) -> Result<PathModel, String> {
    let text = format!("[path]\n{keys}");
    PathModel::parse(&text, "test.toml", Path::new("")).map_err(|error| error.to_string())
}

fn rrc(keys: &str) -> [Option<RrcConfig>; 2] {
    let path = parse(keys).expect("a path");
    [&path.forward, &path.reverse].map(|link| link.service.cellular().and_then(CellularConfig::rrc))
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const CONNECTED: RrcConfig = RrcConfig {
    begins_connected: true,
    ..RrcConfig::LTE
};

#[test]
fn one_word_or_every_key() {
    for (keys, expected) in [
        ("preset = 'lte'", None),
        ("preset = 'lte'\nrrc = 'idle'", Some(RrcConfig::LTE)),
        ("preset = '5g'\nrrc = {}", Some(RrcConfig::LTE)),
        ("preset = 'lte'\nrrc = 'connected'", Some(CONNECTED)),
        (
            "preset = 'lte'\nrate = { model = 'cell-reduced', mean = '10 Mbit/s' }\nrrc = { begins = 'connected' }",
            Some(CONNECTED),
        ),
        (
            "preset = 'lte'\nrrc = { inactivity = '200 ms', cycle = '320 ms', idle = '5 s', promotion = '100 ms' }",
            Some(RrcConfig {
                drx: Some(DrxConfig {
                    after: ms(200),
                    cycle: ms(320),
                }),
                fach: None,
                idle: SleepConfig {
                    after: ms(5000),
                    promotion: (ms(100), ms(100)),
                },
                begins_connected: false,
            }),
        ),
        (
            "preset = 'lte'\nrrc = { cycle = 'none', promotion = ['50 ms', '60 ms'] }",
            Some(RrcConfig {
                drx: None,
                idle: SleepConfig {
                    promotion: (ms(50), ms(60)),
                    ..RrcConfig::LTE.idle
                },
                ..RrcConfig::LTE
            }),
        ),
        ("preset = 'hsdpa'\nrrc = 'idle'", Some(RrcConfig::UMTS)),
        (
            "preset = 'hsdpa'\nrrc = { fach = '3 s', fach_promotion = ['1 s', '2 s'], idle = '30 s' }",
            Some(RrcConfig {
                fach: Some(SleepConfig {
                    after: ms(3000),
                    promotion: (ms(1000), ms(2000)),
                }),
                idle: SleepConfig {
                    after: ms(30_000),
                    ..RrcConfig::UMTS.idle
                },
                ..RrcConfig::UMTS
            }),
        ),
    ] {
        assert_eq!(rrc(keys), [expected, None], "{keys}");
    }
    // An upload: the cell is in the reverse direction.
    let upload = "preset = 'hsdpa-uplink'\nrrc = 'idle'";
    assert_eq!(rrc(upload), [None, Some(RrcConfig::UMTS)]);
}

/// Results contain it only if the file has it; it changes neither the mean rate nor the round trip.
#[test]
fn the_resolved_form_has_it_if_configured() {
    let resolved = |keys| serde_json::to_value(parse(keys).unwrap()).unwrap();
    let [without, with] = ["preset = 'lte'", "preset = 'lte'\nrrc = 'idle'"].map(resolved);
    assert!(!without.to_string().contains("rrc"));
    let mut rest = with;
    let rrc = take(&mut rest).expect("it is there");
    assert_eq!(
        rrc,
        serde_json::json!({
            "begins": "idle", "inactivity_ms": 100.0, "cycle_ms": 160.0, "fach_ms": null,
            "fach_promotion_ms": null, "idle_ms": 10_000.0, "promotion_ms": [80.0, 260.0]
        })
    );
    assert_eq!(rest, without);
}

/// Removes `rrc`.
fn take(value: &mut serde_json::Value) -> Option<serde_json::Value> {
    match value {
        serde_json::Value::Object(map) => map
            .remove("rrc")
            .or_else(|| map.values_mut().find_map(take)),
        serde_json::Value::Array(list) => list.iter_mut().find_map(take),
        _ => None,
    }
}

#[test]
fn wrong_states_get_one_sentence() {
    for (keys, sentence) in [
        (
            "preset = 'lte'\nrrc = 'asleep'",
            "rrc = \"asleep\": this is not known",
        ),
        (
            "preset = 'lte'\nrrc = true",
            "expected a table; its keys are begins, inactivity, cycle, idle, promotion",
        ),
        (
            "preset = 'lte'\nrrc = { fach = '5 s' }",
            "unknown key \"fach\" in a radio's states",
        ),
        (
            "preset = 'hsdpa'\nrrc = { cycle = '40 ms' }",
            "unknown key \"cycle\" in a UMTS radio's states",
        ),
        (
            "preset = 'lte'\nrrc = { idle = '500 ms' }",
            "the least is 1 s",
        ),
        (
            "preset = 'lte'\nrrc = { inactivity = '10 s' }",
            "the radio goes idle before that",
        ),
        (
            "preset = 'hsdpa'\nrrc = { idle = '5 s' }",
            "the radio goes idle before that",
        ),
        (
            "preset = 'lte'\nrrc = { cycle = 'none', inactivity = '100 ms' }",
            "there is no cycle",
        ),
        (
            "preset = 'lte'\nrrc = { promotion = ['260 ms', '80 ms'] }",
            "the maximum is below the minimum",
        ),
        (
            "preset = 'lte'\nrrc = { promotion = ['260 ms'] }",
            "expected two times, the minimum and the maximum",
        ),
        (
            "preset = 'lte'\nrrc = { promotion = '20 s' }",
            "it is from 1 ms to 10 s",
        ),
        (
            "preset = 'wired'\nrrc = 'idle'",
            "no rate of the path is of model lte, 5g, cell-reduced or hsdpa",
        ),
        (
            "preset = 'lte'\nrate = { model = 'lte', rrc = 'idle' }",
            "unknown key \"rrc\" in an LTE cell",
        ),
    ] {
        let error = parse(keys).expect_err(keys);
        assert!(error.contains(sentence), "{keys}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

//! `rrc`: what a radio does while nobody uses it, as a path says it.

use std::path::Path;

use network::access::CellularConfig;
use network::access::cellular::{DrxConfig, RrcConfig, SleepConfig};
use scenario::PathModel;
use units::Duration;

fn parse(keys: &str) -> Result<PathModel, String> {
    let text = format!("[path]\npreset = 'lte'\n{keys}");
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
        ("", None),
        ("rate = { model = 'lte' }", None),
        (
            "rate = { model = 'lte', rrc = 'idle' }",
            Some(RrcConfig::LTE),
        ),
        ("rate = { model = '5g', rrc = {} }", Some(RrcConfig::LTE)),
        (
            "rate = { model = 'lte', rrc = 'connected' }",
            Some(CONNECTED),
        ),
        (
            "rate = { model = 'cell-reduced', mean = '10 Mbit/s', rrc = { begins = 'connected' } }",
            Some(CONNECTED),
        ),
        (
            "rate = { model = 'lte', rrc = { inactivity = '200 ms', cycle = '320 ms', idle = '5 s', promotion = '100 ms' } }",
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
            "rate = { model = 'lte', rrc = { cycle = 'none', promotion = ['50 ms', '60 ms'] } }",
            Some(RrcConfig {
                drx: None,
                idle: SleepConfig {
                    promotion: (ms(50), ms(60)),
                    ..RrcConfig::LTE.idle
                },
                ..RrcConfig::LTE
            }),
        ),
        (
            "rate = { model = 'hsdpa', rrc = 'idle' }",
            Some(RrcConfig::UMTS),
        ),
        (
            "rate = { model = 'hsdpa', rrc = { fach = '3 s', fach_promotion = ['1 s', '2 s'], idle = '30 s' } }",
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
    let upload = "rate = { model = 'umts-uplink', rate = '384 kbit/s' }\n\
                  reverse.rate = { model = 'hsdpa', rrc = 'idle' }\nrtt = '120 ms'";
    assert_eq!(rrc(upload), [None, Some(RrcConfig::UMTS)]);
}

/// What nobody asked for does not stand in results, and changes neither the mean nor the round trip.
#[test]
fn the_resolved_form_has_it_where_it_is_said() {
    let resolved = |keys| serde_json::to_value(parse(keys).unwrap()).unwrap();
    let [without, with] = [
        "rate = { model = 'lte' }",
        "rate = { model = 'lte', rrc = 'idle' }",
    ]
    .map(resolved);
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

/// Takes `rrc` out.
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
            "rate = { model = 'lte', rrc = 'asleep' }",
            "rrc = \"asleep\": this is not known",
        ),
        (
            "rate = { model = 'lte', rrc = true }",
            "a table is expected; its keys are begins, inactivity, cycle, idle, promotion",
        ),
        (
            "rate = { model = 'lte', rrc = { fach = '5 s' } }",
            "unknown key \"fach\" in a radio's states",
        ),
        (
            "rate = { model = 'hsdpa', rrc = { cycle = '40 ms' } }",
            "unknown key \"cycle\" in a UMTS radio's states",
        ),
        (
            "rate = { model = 'lte', rrc = { idle = '500 ms' } }",
            "it is from 1 s to ",
        ),
        (
            "rate = { model = 'lte', rrc = { inactivity = '10 s' } }",
            "the radio is idle before",
        ),
        (
            "rate = { model = 'hsdpa', rrc = { idle = '5 s' } }",
            "the radio is idle before",
        ),
        (
            "rate = { model = 'lte', rrc = { cycle = 'none', inactivity = '100 ms' } }",
            "there is no cycle",
        ),
        (
            "rate = { model = 'lte', rrc = { promotion = ['260 ms', '80 ms'] } }",
            "the most is below the least",
        ),
        (
            "rate = { model = 'lte', rrc = { promotion = ['260 ms'] } }",
            "two times are expected, the least and the most",
        ),
        (
            "rate = { model = 'lte', rrc = { promotion = '20 s' } }",
            "it is from 1 ms to 10 s",
        ),
        (
            "rate = { model = 'lte', rrc = 'idle' }\nreverse.rate = { model = 'lte', rrc = 'idle' }\nrtt = '100 ms'",
            "says rrc in both directions, which are one radio: keep one",
        ),
        (
            "reverse.rate = { model = 'cell-uplink', rate = '20 Mbit/s', rrc = 'idle' }",
            "unknown key \"rrc\" in a cell's uplink",
        ),
    ] {
        let error = parse(keys).expect_err(keys);
        assert!(error.contains(sentence), "{keys}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

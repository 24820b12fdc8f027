//! The keys of Wi-Fi networks in a path file.

use std::path::Path;

use network::access::{WifiConfig, WifiRateMap, WifiStandard, WifiTraffic, WifiWidth};
use network::{Discipline, QueueLimit};
use scenario::PathModel;
use units::{Duration, Rate};

fn parse(keys: &str) -> Result<PathModel, String> {
    let text = format!("[path]\nrtt = '10 ms'\n{keys}");
    PathModel::parse(&text, "test.toml", Path::new("")).map_err(|error| error.to_string())
}

fn wifi(keys: &str) -> WifiConfig {
    let path = parse(keys).expect("a path");
    path.forward.service.wifi().expect("Wi-Fi").clone()
}

#[test]
fn every_key_is_read() {
    let config = wifi(
        "rate = { model = 'wifi', standard = 'n', width = '20 MHz', streams = 1, guard = 'long', rssi = '-64.5 dBm', \
         rssi_deviation = '3 dB', rssi_correlation = '1 s', blocked = '10 %', mcs = 5, rate_map = 'sensitivity', \
         aggregation = false, max_frame = '4 ms', aifsn = 2, cw_min = 7, cw_max = 63, retries = 4, hidden = '2 %', \
         stations = 3, traffic = { on = '1 s', off = '2 s' }, station_packets = 8, station_mcs = 2, busy = '30 %', \
         airtime_limit = '5 ms', assembled_ahead = true }",
    );
    let expected = WifiConfig {
        standard: WifiStandard::N,
        width: WifiWidth::Mhz20,
        streams: 1,
        short_guard: false,
        rssi: -64.5,
        rssi_deviation: 3.0,
        rssi_correlation: Duration::from_secs(1),
        blocked: 0.1,
        mcs: Some(5),
        rate_map: WifiRateMap::Sensitivity,
        aggregation: false,
        max_frame: Duration::from_millis(4),
        aifsn: 2,
        cw_min: 7,
        cw_max: 63,
        retries: 4,
        hidden: 0.02,
        stations: 3,
        traffic: WifiTraffic::OnOff {
            on: Duration::from_secs(1),
            off: Duration::from_secs(2),
        },
        station_packets: 8,
        station_mcs: Some(2),
        busy: 0.3,
        airtime_limit: Duration::from_millis(5),
        assembled_ahead: true,
    };
    assert_eq!(config, expected);
    let poisson = wifi("rate = { model = 'wifi', traffic = { rate = '5 Mbit/s' } }");
    let rate = Rate::from_bits_per_sec(5_000_000);
    assert_eq!(poisson.traffic, WifiTraffic::Poisson(rate));
    let bare = wifi("rate = { model = 'wifi' }");
    assert_eq!(bare, WifiConfig::new(WifiStandard::Ac, -53.0));
}

#[test]
fn both_directions_are_on_one_medium_with_queues_of_their_own() {
    let keys = "rate = { model = 'wifi', rssi = '-60 dBm' }\nbuffer = '4 MB'\nreverse.buffer = '50 packets'";
    for also in ["", "\nreverse.rate = { model = 'wifi' }"] {
        let path = parse(&format!("{keys}{also}")).unwrap();
        assert_eq!(path.forward.service, path.reverse.service);
        assert_eq!(path.reverse.queue.limit, QueueLimit::Packets(50));
    }
}

/// The example of docs/reference/networks/wifi.md: mac80211's queue over a preset.
#[test]
fn the_queue_of_mac80211_can_override_a_preset() {
    let text = "[path]\npreset = 'wifi-testbed'\nbuffer = '8192 packets'\n\
                aqm = { kind = 'fq-codel', target = '20 ms', quantum = '300 bytes' }";
    let path = PathModel::parse(text, "test.toml", Path::new("")).unwrap();
    assert_eq!(path.forward.queue.limit, QueueLimit::Packets(8192));
    let Discipline::FqCoDel(config) = path.forward.queue.discipline else {
        panic!("{:?}", path.forward.queue.discipline);
    };
    assert_eq!(config.target, Duration::from_millis(20));
    assert_eq!(
        (config.quantum, config.flows),
        (units::Bytes::new(300), 1024)
    );
}

#[test]
fn an_error_is_one_sentence() {
    let cases = [
        (
            "rate = { model = 'wifi', rssi = '-53' }",
            "a level needs a unit, such as \"-53 dBm\"",
        ),
        (
            "rate = { model = 'wifi', rssi = '20 dBm' }",
            "it is from -120 dBm to 0 dBm",
        ),
        (
            "rate = { model = 'wifi', standard = 'n', mcs = 8 }",
            "expected a whole number from 0 to 7",
        ),
        (
            "rate = { model = 'wifi', standard = 'n', width = '80 MHz' }",
            "802.11n has channels of 20 and 40 MHz",
        ),
        (
            "rate = { model = 'wifi', standard = 'b', streams = 2 }",
            "802.11a, b and g have one rate and one packet in a frame",
        ),
        (
            "rate = { model = 'wifi', standard = 'ax', guard = 'long' }",
            "802.11ax is modelled with its guard interval of 0.8 us",
        ),
        (
            "rate = { model = 'wifi', cw_min = 31, cw_max = 15 }",
            "cw_max is below cw_min",
        ),
        (
            "rate = { model = 'wifi', max_frame = '6 ms' }",
            "it is from 100 us to 5.484 ms",
        ),
        (
            "rate = { model = 'wifi', traffic = { on = '1 s' } }",
            "the traffic of a station needs off",
        ),
        (
            "rate = { model = 'wifi', traffic = { on = '1 s', off = '1 s', rate = '1 Mbit/s' } }",
            "takes on or rate, not both",
        ),
        (
            "rate = { model = 'wifi', traffic = { rate = '1 Tbit/s' } }",
            "the limit is 10 Gbit/s",
        ),
        (
            "rate = { model = 'wifi', statons = 2 }",
            "unknown key \"statons\" in a Wi-Fi network; did you mean \"stations\"?",
        ),
        (
            "rate = { model = 'wifi' }\nreverse.rate = '5 Mbit/s'",
            "leave reverse.rate or reverse.trace out",
        ),
        (
            "rate = { model = 'wifi', stations = 2 }\nreverse.rate = { model = 'wifi', stations = 3 }",
            "write reverse.rate = { model = \"wifi\" }, or leave it out",
        ),
        (
            "rate = '5 Mbit/s'\nreverse.rate = { model = 'wifi' }",
            "describe it in the forward direction",
        ),
        (
            "rate = '5 Mbit/s'\n[[path.router]]\nrate = { model = 'wifi' }",
            "it can only be the path's own",
        ),
        (
            "rate = { model = 'wifi' }\naqm = 'random-above'\nbuffer = '100 packets'",
            "which the forward model does not support",
        ),
    ];
    for (keys, sentence) in cases {
        let error = parse(keys).expect_err(keys);
        assert!(error.contains(sentence), "{keys}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

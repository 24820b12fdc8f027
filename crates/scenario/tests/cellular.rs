//! The keys of cellular networks in a path file.

use std::path::Path;

use scenario::PathModel;

fn parse(keys: &str) -> Result<PathModel, String> {
    let text = format!("[path]\nrtt = '120 ms'\n{keys}");
    PathModel::parse(&text, "test.toml", Path::new("")).map_err(|error| error.to_string())
}

/// The forward direction's service in the resolved form.
fn resolved(keys: &str) -> serde_json::Value {
    let path = parse(&format!("rate = {{ {keys} }}")).expect("a path");
    serde_json::to_value(&path).expect("JSON")["forward"]["service"].take()
}

#[test]
fn every_key_is_read() {
    let cell = resolved(
        "model = '5g', sinr = '-3.5 dB', sinr_spread = '4 dB', shadow = '5 dB', shadow_tau = '3 s', doppler = '70 Hz', \
         prbs = 51, layers = 4, users = 1, users_most = 3, on = '500 ms', off = '3 s', error = '20 %', \
         handovers = '30 s', blockage = true",
    );
    for (key, value) in [
        ("sinr_db", -3.5),
        ("sinr_spread_db", 4.0),
        ("shadow_db", 5.0),
        ("shadow_tau_ms", 3000.0),
        ("doppler_hz", 70.0),
        ("prbs", 51.0),
        ("layers", 4.0),
        ("users", 1.0),
        ("users_most", 3.0),
        ("on_ms", 500.0),
        ("off_ms", 3000.0),
    ] {
        assert_eq!(cell[key].as_f64(), Some(value), "{key}");
    }
    assert_eq!(cell["blocks"]["error"], 0.2);
    assert_eq!(cell["handovers"]["every_ms"], 30_000.0);
    assert_eq!(cell["blockage"], true);
    let hsdpa = resolved(
        "model = 'hsdpa', mean = '1.5 Mbit/s', spread = '60 %', fast = '20 %', tau_fast = '50 ms', tau_slow = '5 s', \
         grid = '20 ms', peak = '3 Mbit/s', block = 14411, error = '20 %', residual = '0.2 %', discard = '0.1 %', \
         outages = '6 s', outage = '300 ms', longest = '5 s'",
    );
    assert_eq!(
        hsdpa["fading"],
        serde_json::json!({
            "mean_bps": 1_500_000, "spread": 0.6, "fast": 0.2, "tau_fast_ms": 50.0, "tau_slow_ms": 5000.0,
            "grid_ms": 20.0, "peak_bps": 3_000_000,
            "outages": {"every_ms": 6000.0, "median_ms": 300.0, "sigma": 0.6, "longest_ms": 5000.0}
        })
    );
    assert_eq!(hsdpa["block_bits"], 14_411);
    assert_eq!(hsdpa["blocks"]["residual"], 0.002);
    assert_eq!(hsdpa["discard"], 0.001);
    let uplink = resolved(
        "model = 'cell-uplink', rate = '5 Mbit/s', request = '20 ms', wait = '6 ms', every = '4 ms', prepare = '3 ms', \
         error = '5 %', retry = '10 ms'",
    );
    for (key, value) in [
        ("rate_bps", 5e6),
        ("request_ms", 20.0),
        ("wait_ms", 6.0),
        ("every_ms", 4.0),
        ("prepare_ms", 3.0),
    ] {
        assert_eq!(uplink[key].as_f64(), Some(value), "{key}");
    }
    assert_eq!(uplink["blocks"]["error"], 0.05);
    assert_eq!(uplink["blocks"]["retry_ms"], 10.0);
    let umts = resolved("model = 'umts-uplink', rate = '64 kbit/s', tti = '20 ms', error = '2 %'");
    assert_eq!(
        (&umts["rate_bps"], &umts["tti_ms"]),
        (&64_000.into(), &20.0.into())
    );
    assert_eq!(umts["blocks"]["error"], 0.02);
    // A block that never fails leaves nothing to RLC, and the resolved form shows this.
    let flawless = resolved("model = 'hsdpa', error = '0 %'");
    assert_eq!(flawless["blocks"]["residual"], 0.0);
}

#[test]
fn an_error_is_one_sentence() {
    for (keys, sentence) in [
        (
            "model = 'lte', sinr = '14'",
            "sinr = \"14\": a level needs a unit, such as \"12 dB\"",
        ),
        (
            "model = 'lte', sinr = '70 dB'",
            "it is from -20 dB to 60 dB",
        ),
        (
            "model = 'lte', sinr = 'nan dB'",
            "it does not start with a number",
        ),
        (
            "model = 'lte', doppler = '3 kHz'",
            "unknown unit \"kHz\"; did you mean \"Hz\"?",
        ),
        ("model = 'lte', doppler = '-3 Hz'", "it is negative"),
        ("model = 'lte', shadow = '-5 dB'", "shadow = \"-5 dB\": "),
        ("model = 'lte', shadow = '31 dB'", "the limit is 30 dB"),
        (
            "model = 'lte', prbs = 0",
            "expected a whole number from 1 to 275",
        ),
        (
            "model = 'lte', layers = 9",
            "expected a whole number from 1 to 8",
        ),
        ("model = 'lte', on = '0 s'", "it is zero"),
        (
            "model = 'lte', blockage = true",
            "unknown key \"blockage\" in an LTE cell",
        ),
        (
            "model = 'lte', sinr = '-20 dB', shadow = '0 dB', doppler = '0 Hz', users = 0",
            "such a cell carries less than 10 kbit/s for the path's user",
        ),
        (
            "model = 'cell-uplink'",
            "needs rate, such as rate = \"20 Mbit/s\"",
        ),
        (
            "model = 'cell-uplink', rate = '9 kbit/s'",
            "the least is 10 kbit/s",
        ),
        (
            "model = 'cell-uplink', rate = '1 Mbit/s', every = '50 us'",
            "it is from 100 us to 100 ms",
        ),
        (
            "model = 'cell-reduced'",
            "needs mean, such as mean = \"40 Mbit/s\"",
        ),
        (
            "model = 'cell-reduced', mean = '40 Mbit/s', peak = '30 Mbit/s'",
            "the peak is below the mean",
        ),
        (
            "model = 'cell-reduced', mean = '40 Mbit/s', outage = '1 s'",
            "there are no outages",
        ),
        (
            "model = 'cell-reduced', mean = '40 Mbit/s', outages = '20 s', outage = '2 s'",
            "half of the outages exceed 2 s, and the longest lasts 1.5 s: set longest too",
        ),
        (
            "model = 'cell-reduced', mean = '40 Mbit/s', outages = '100 ms', outage = '1 s'",
            "such long and frequent outages leave less than 1 % of the time",
        ),
        (
            "model = 'hsdpa', mean = '4 Mbit/s'",
            "a block of 7298 bits each 2 ms carries 3.36 Mbit/s, which is less than the mean",
        ),
        (
            "model = 'hsdpa', residual = '0.2 %'",
            "with this error no more than 0.1 % of the blocks fail three times",
        ),
        (
            "model = 'hsdpa', block = 399",
            "expected a whole number from 400 to 84384",
        ),
        (
            "model = 'umts-uplink', rate = '64 kbit/s', tti = '1 s'",
            "it is from 10 us to 100 ms",
        ),
    ] {
        let error = parse(&format!("rate = {{ {keys} }}")).expect_err(keys);
        assert!(error.contains(sentence), "{keys}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

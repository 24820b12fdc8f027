//! Paths from `[path]`, and presets.

use std::path::Path;

use network::{
    CoDelConfig, Discipline, FqCoDelConfig, GilbertElliott, JitterDistribution, LossConfig,
    PieConfig, QueueLimit, RandomAboveConfig, RedConfig, Service,
};
use scenario::{PRESETS, PathModel};
use units::{Bytes, Duration, Rate};

fn path(text: &str) -> PathModel {
    PathModel::parse(&format!("[path]\n{text}"), "test.toml", Path::new("")).expect("a path")
}

fn refusal(text: &str) -> String {
    PathModel::parse(&format!("[path]\n{text}"), "test.toml", Path::new(""))
        .expect_err("no path")
        .to_string()
}

#[test]
fn one_bdp_at_50_mbit_and_100_ms_is_413_packets() {
    let path = path("rate = '50 Mbit/s'\nrtt = '100 ms'\nbuffer = '1 bdp'");
    assert_eq!(path.bdp, Bytes::new(625_000));
    assert_eq!(path.bdp_packets(), 413);
    assert_eq!(path.forward.queue.limit, QueueLimit::Packets(413));
    assert_eq!(path.buffer, Some(Bytes::new(413 * 1514)));
    assert_eq!(
        (path.forward.delay, path.reverse.delay),
        (Duration::from_millis(50), Duration::from_millis(50))
    );
    assert_eq!(path.reverse.service, Service::Unlimited);
    assert_eq!(path.reverse.queue.limit, QueueLimit::Unlimited);
}

/// SUSS developers 2025 publish 50 Mbit/s, 150 ms and 619 packets for the kernel; a link that
/// counts only IP has 417 at 100 ms.
#[test]
fn other_bdps() {
    assert_eq!(
        path("rate = '50 Mbit/s'\nrtt = '150 ms'").bdp_packets(),
        619
    );
    assert_eq!(
        path("rate = '50 Mbit/s'\nrtt = '100 ms'\noverhead = '0 bytes'").bdp_packets(),
        417
    );
    assert_eq!(
        path("rate = '50 Mbit/s'\nrtt = '0 ms'\nbuffer = '1 bdp'")
            .forward
            .queue
            .limit,
        QueueLimit::Packets(1)
    );
    assert_eq!(
        path("rate = '50 Mbit/s'\nrtt = '100 ms'\nbuffer = '1.5 bdp'")
            .forward
            .queue
            .limit,
        QueueLimit::Packets(619)
    );
}

#[test]
fn the_ends_of_the_range_work() {
    let fast = path("rate = '100 Gbit/s'\nrtt = '10 s'\nbuffer = '1 packets'");
    assert_eq!(fast.bdp, Bytes::new(125_000_000_000));
    assert_eq!(fast.forward.queue.limit, QueueLimit::Packets(1));
    let odd = path("rate = '1 bit/s'\nrtt = '1 ns'");
    assert_eq!(
        (odd.forward.delay, odd.reverse.delay),
        (Duration::ZERO, Duration::from_nanos(1))
    );
}

#[test]
fn presets_have_the_values_of_their_sources() {
    for preset in PRESETS {
        let path = PathModel::resolve(preset.name).unwrap();
        assert_eq!(
            (path.name.as_str(), path.summary.as_str()),
            (preset.name, preset.summary)
        );
    }
    let rtt_rate = |name: &str| {
        let path = PathModel::resolve(name).unwrap();
        (
            path.base_rtt.as_millis(),
            path.rate.bits_per_sec() / 1_000_000,
        )
    };
    assert_eq!(rtt_rate("wired"), (100, 50));
    assert_eq!(rtt_rate("ethernet"), (10, 1000));
    assert_eq!(rtt_rate("dsl"), (30, 50));
    assert_eq!(rtt_rate("docsis"), (26, 100));
    assert_eq!(rtt_rate("policed"), (40, 50));
    assert_eq!(rtt_rate("geo"), (600, 28));
    assert_eq!(rtt_rate("leo"), (41, 100));
    assert_eq!(rtt_rate("geo-reduced"), (600, 25));
    assert_eq!(rtt_rate("leo-reduced"), (45, 100));
    // Over places and load; a cell that is always the same has 40.
    assert_eq!(rtt_rate("lte"), (60, 55));
    // Throughput of a saturated direction alone; ACKs, a changing signal and collisions reduce it.
    assert_eq!(rtt_rate("wifi-strong"), (1, 252));
    assert_eq!(rtt_rate("wifi-weak"), (1, 178));
    assert_eq!(rtt_rate("wifi-testbed"), (52, 23));
    assert_eq!(rtt_rate("wifi-strong-reduced"), (5, 80));
    assert_eq!(rtt_rate("wifi-weak-reduced"), (5, 45));
    let geo = PathModel::resolve("geo-reduced").unwrap();
    assert_eq!(
        geo.forward.queue.discipline,
        Discipline::RandomAbove(RandomAboveConfig {
            fill: 0.5,
            probability: 0.25
        })
    );
    let jitter = geo.reverse.jitter.unwrap();
    // Model M1 adds A (1 + sin) with A = 0.35 s; the element adds amount (1 + sin) / 2.
    assert_eq!(jitter.amount, Duration::from_millis(700));
    assert_eq!(
        jitter.distribution,
        JitterDistribution::Sine {
            period: Duration::from_secs(2)
        }
    );
}

#[test]
fn a_file_overrides_a_preset() {
    let own = path(
        "preset = 'geo-reduced'\nrate = '50 Mbit/s'\nforward.delay = '250 ms'\nreverse.jitter = '0 ms'\nname = 'mine'",
    );
    assert_eq!(own.name, "mine");
    assert_eq!(own.rate, Rate::from_bits_per_sec(50_000_000));
    assert_eq!(own.base_rtt, Duration::from_millis(550));
    assert_eq!(own.reverse.jitter, None);
    assert_eq!(own.buffer, Some(Bytes::new(36_000_000)));
    assert_eq!(
        path("preset = 'geo-reduced'\nrtt = '500 ms'").reverse.delay,
        Duration::from_millis(250)
    );
    assert_eq!(
        path("preset = 'lte'\naqm = 'random-above'")
            .forward
            .queue
            .discipline,
        Discipline::RandomAbove(RandomAboveConfig {
            fill: 0.5,
            probability: 0.25
        })
    );
    // A buffer in BDPs follows the new rate.
    assert_eq!(
        path("preset = 'ethernet'\nrate = '100 Mbit/s'")
            .forward
            .queue
            .limit,
        QueueLimit::Packets(83)
    );
}

#[test]
fn every_form_of_a_direction() {
    let own = path(
        "rtt = '80 ms'\nrate = [{ for = '10 s', rate = '30 Mbit/s' }, { for = '5 s', rate = '0 bit/s' }]\n\
         loss = { p = '1 %', r = '30 %' }\njitter = { amount = '2 ms', distribution = 'exponential', slot = '1 ms' }\n\
         [path.reverse]\nrate = { mean = '10 Mbit/s', variation = '30 %', correlation = '1 s' }\n\
         loss = '0 %'\noverhead = '38 bytes'\nbuffer = '2 bdp'\n",
    );
    assert_eq!(own.rate, Rate::from_bits_per_sec(20_000_000));
    assert_eq!(
        own.forward.loss,
        LossConfig::GilbertElliott(GilbertElliott {
            p: 0.01,
            r: 0.3,
            bad_loss: 1.0,
            good_loss: 0.0
        })
    );
    assert_eq!(own.reverse.loss, LossConfig::None);
    assert_eq!((own.forward.overhead, own.reverse.overhead), (14, 38));
    // 2 x 10 Mbit/s x 80 ms / 1538 bytes.
    assert_eq!(own.reverse.queue.limit, QueueLimit::Packets(130));
}

#[test]
fn refusals_of_paths() {
    for (text, expected) in [
        (
            "",
            "test.toml:1:2: [path] needs rate, trace or preset, such as rate = \"50 Mbit/s\"",
        ),
        (
            "rate = '50 Mbit/s'",
            "test.toml:1:2: [path] needs rtt, such as rtt = \"100 ms\", or both forward.delay and reverse.delay",
        ),
        (
            "rate = '50 Mbits'",
            "test.toml:2:1: rate = \"50 Mbits\": unknown unit \"Mbits\"; did you mean \"Mbit/s\"?",
        ),
        (
            "rate = 50",
            "test.toml:2:1: rate = 50: expected a quoted string, such as \"50 Mbit/s\"",
        ),
        (
            "rate = '-5 Mbit/s'",
            "test.toml:2:1: rate = \"-5 Mbit/s\": it is negative",
        ),
        (
            "  bufer = '1 bdp'",
            "test.toml:2:3: unknown key \"bufer\" in [path]; did you mean \"buffer\"?",
        ),
        (
            "rate = { model = 'leo', rate = '2 Mbit/s', outage_maxs = '1 ms' }",
            "test.toml:2:44: unknown key \"outage_maxs\" in a low-orbit link; did you mean \"outage_max\"?",
        ),
        (
            "reverse.dealy = '1 ms'",
            "test.toml:2:9: unknown key \"dealy\" in a direction of the path; did you mean \"delay\"?",
        ),
        (
            "preset = 'goe'",
            "test.toml:2:1: preset = \"goe\": there is no such preset; did you mean \"geo\"?",
        ),
        (
            "rtt = '1 ms'\nrate = { model = 'policer', rate = '2 Mbit/s' }",
            "test.toml:3:1: a policer needs then, such as then = \"1 Gbit/s\"",
        ),
        (
            "rtt = '1 ms'\nrate = { model = 'policer', rate = '2 Mbit/s', then = '1 Mbit/s' }",
            "test.toml:3:48: then = \"1 Mbit/s\": the line behind the policer is slower than the policer's rate",
        ),
        (
            "rtt = '1 ms'\nrate = { model = 'policer', rate = '2 Mbit/s', then = '3 Mbit/s', exceed = 'marc' }",
            "test.toml:3:67: exceed = \"marc\": this is not known; did you mean \"mark\"?",
        ),
        (
            "preset = 'wired'\necn = true",
            "test.toml:3:1: ecn = true: neither drop-tail nor random-above marks packets; leave it out, set it to false, or choose another aqm",
        ),
        (
            "preset = 'wired'\nreverse.rate = '1 Mbit/s'\nreverse.ecn = true",
            "test.toml:4:9: ecn = true: neither drop-tail nor random-above marks packets; leave it out, set it to false, or choose another aqm",
        ),
        (
            "rtt = '1 ms'\nrate = { model = 'token-bucket', rate = '2 Mbit/s', peak_burst = '4 kB' }",
            "test.toml:3:53: peak_burst = \"4 kB\": only a bucket with a peak has this key",
        ),
        (
            "rtt = '50 ms'\nrate = { model = 'leo', rate = '2 Mbit/s', outage = '200 ms' }",
            "test.toml:3:44: the shortest interruption is outage = 200 ms, and the longest outage_max = 140 ms",
        ),
        (
            "rtt = '50 ms'\nrate = { model = 'leo', rate = '2 Mbit/s', outage_max = '0 s' }",
            "test.toml:3:44: the shortest interruption is outage = 60 ms, and the longest outage_max = 0 ns",
        ),
        (
            "rate = '1 Mbit/s'\nrtt = '1 ms'\n[[path.router]]\nrate = '2 Mbit/s'\necn = true",
            "test.toml:6:1: ecn = true: neither drop-tail nor random-above marks packets; leave it out, set it to false, or choose another aqm",
        ),
        (
            "rtt = '1 s'\nrate = '1 Mbit/s'\nreverse.rate = { model = 'dama', cra = '5 Mbit/s' }",
            "test.toml:4:34: the constant rate is cra = 5 Mbit/s, and the largest total max = 4 Mbit/s",
        ),
        (
            "preset = 'wired'\naqm = { kind = 'red', weight = '0 %' }",
            "test.toml:3:23: weight = \"0 %\": it is zero",
        ),
        (
            "preset = 'wired'\naqm = { kind = 'pie', gain = '0 %' }",
            "test.toml:3:23: gain = \"0 %\": it is zero",
        ),
        (
            "preset = 'wired'\naqm = 'coddle'",
            "test.toml:3:1: aqm = \"coddle\": this is not known; did you mean \"codel\"?",
        ),
        (
            "preset = 'wired'\naqm = { kind = 'codel', fill = '50 %' }",
            "test.toml:3:25: fill = \"50 %\": only the kind \"random-above\" has this key",
        ),
        (
            "preset = 'wired'\naqm = { kind = 'fq-codel', quantum = '1 B' }",
            "test.toml:3:28: quantum = \"1 B\": it is from 256 B to 1 MB",
        ),
        (
            "preset = 'wired'\naqm = { kind = 'pie', update = '0 s' }",
            "test.toml:3:23: update = \"0 s\": it is zero",
        ),
        (
            "preset = 'wired'\naqm = { kind = 'red', min = '9 packets', max = '9 packets' }",
            "test.toml:3:42: max = \"9 packets\": it needs a smaller min",
        ),
        (
            "preset = 'wired'\nreverse.aqm = 'codel'",
            "test.toml:1:2: [path] has a reverse aqm, but no reverse rate limit, so no queue",
        ),
        (
            "preset = 'wired'\nbuffer = '500 B'",
            "test.toml:1:2: [path] has a forward buffer that is too small for one full packet of 1.514 kB, overhead included",
        ),
        (
            "preset = 'wired'\nreverse.buffer = '1 bdp'",
            "test.toml:1:2: [path] has a reverse buffer in bdp, but no reverse rate to compute them from",
        ),
        (
            "preset = 'wired'\nrtt = '61 s'",
            "test.toml:3:1: rtt = \"61 s\": the limit is 60 s",
        ),
        (
            "rtt = '1 s'\nforward.delay = '1 s'",
            "test.toml:2:1: rtt = \"1 s\": [path] takes rtt, or forward.delay and reverse.delay, not both",
        ),
        (
            "rate = '1 Mbit/s'\nforward.rate = '1 Mbit/s'",
            "test.toml:3:9: rate and forward.rate are the same thing: keep one",
        ),
        (
            "rate = '1 Mbit/s'\ntrace = 'x'",
            "test.toml:3:1: [path] takes rate or trace, not both",
        ),
        (
            "trace = 'nowhere.down'",
            "test.toml:2:1: trace = \"nowhere.down\": the file does not exist",
        ),
        (
            "trace = 'x'\noverhead = '4 B'",
            "test.toml:3:1: overhead = \"4 B\": a trace counts bytes of IP only: leave overhead out",
        ),
        (
            "rate = [{ for = '1 ns', rate = '1 bit/s' }]",
            "test.toml:2:11: for = \"1 ns\": the least is 1 us",
        ),
        (
            "rate = [{ for = '500 us', rate = '1 bit/s' }]",
            "test.toml:2:1: rate = [...]: the steps together must last at least 1 ms",
        ),
        (
            "helps = 'rcp'",
            "test.toml:2:1: `helps` is now `router_support`",
        ),
        (
            "rate = []",
            "test.toml:2:1: rate = [...]: at least one step needs a rate above zero",
        ),
        (
            "jitter = { amount = '1 ms', distribution = 'sinus', period = '2 s' }",
            "test.toml:2:29: distribution = \"sinus\": this is not known; did you mean \"sine\"?",
        ),
        (
            "jitter = { amount = '1 ms', distribution = 'sine' }",
            "test.toml:2:1: a jitter model needs period, such as period = \"2 s\"",
        ),
        (
            "rtt = '20 ms'\nrate = '1 Mbit/s'\n\
             reordering = { probability = '1 %', delay = '11 ms', shift = 'earlier' }",
            "test.toml:1:2: [path] reorders packets by more than its delay, so that they would \
             arrive before they are sent: choose a shorter reordering.delay",
        ),
        (
            "rtt = '20 ms'\nrate = '1 Mbit/s'\naqm = 'codel'\n\
             reordering = { probability = '1 %', delay = '1 ms' }",
            "test.toml:1:2: [path] reorders packets, and its queue or model decides only when \
             packets leave it: reorder on another link of the path",
        ),
        (
            "rate = '1 Mbit/s",
            "test.toml:2:17: invalid TOML: invalid literal string, expected `'`",
        ),
        (
            "loss = '0.1 %'\nloss = '0.2 %'",
            "test.toml:3:1: invalid TOML: duplicate key",
        ),
    ] {
        assert_eq!(refusal(text), expected);
    }
}

#[test]
fn refusals_of_names() {
    let refused = |spec| PathModel::resolve(spec).unwrap_err().to_string();
    assert_eq!(
        refused("goe"),
        "\"goe\" is neither the name of a path nor a file; did you mean \"geo\"?"
    );
    assert_eq!(
        refused("nowhere/my.toml"),
        "nowhere/my.toml: the file does not exist"
    );
    assert_eq!(refused("trace:nowhere"), "nowhere: the file does not exist");
    assert_eq!(refused("src/"), "src/: this is a folder, not a file");
    assert_eq!(refused("/dev/zero"), "/dev/zero: not a regular file");
    assert!(refused("").starts_with("the path has no name"));
}

#[test]
fn disciplines_have_their_defaults_and_parameters() {
    let discipline = |text: &str| path(text).forward.queue.discipline;
    let own = "rate = '50 Mbit/s'\nrtt = '100 ms'\naqm = ";
    assert_eq!(
        discipline(&format!("{own}'codel'\necn = true")),
        Discipline::CoDel(CoDelConfig {
            ecn: true,
            ..CoDelConfig::default()
        })
    );
    assert_eq!(
        discipline(&format!(
            "{own}{{ kind = 'fq-codel', target = '1 ms', interval = '20 ms', quantum = '300 B', flows = 32 }}"
        )),
        Discipline::FqCoDel(FqCoDelConfig {
            target: Duration::from_millis(1),
            interval: Duration::from_millis(20),
            ecn: false,
            flows: 32,
            quantum: Bytes::new(300),
        })
    );
    assert_eq!(
        discipline(&format!("{own}{{ kind = 'pie', burst = '0 s' }}")),
        Discipline::Pie(PieConfig {
            burst: Duration::ZERO,
            ..PieConfig::default()
        })
    );
    assert_eq!(
        discipline(&format!(
            "{own}{{ kind = 'red', min = '20 packets', weight = '0.2 %', gentle = false, adaptive = true }}"
        )),
        Discipline::Red(RedConfig {
            min: Some(20.0),
            weight: Some(0.002),
            gentle: false,
            adaptive: true,
            ..RedConfig::default()
        })
    );
    // The limits of Linux, without a buffer in the file.
    let limit = |text: &str| path(&format!("{own}{text}")).forward.queue.limit;
    assert_eq!(limit("'codel'"), QueueLimit::Packets(1000));
    assert_eq!(limit("'fq-codel'"), QueueLimit::Packets(10_240));
    assert_eq!(limit("'red'"), QueueLimit::Packets(413));
    assert_eq!(limit("'codel'\nbuffer = '1 bdp'"), QueueLimit::Packets(413));
    // A file can mark the packets that its preset drops, also in one direction only.
    let both = path(
        "preset = 'wired'\naqm = 'pie'\nreverse = { rate = '1 Mbit/s', aqm = 'codel', ecn = true }",
    );
    assert!(matches!(both.forward.queue.discipline, Discipline::Pie(pie) if !pie.ecn));
    assert!(matches!(both.reverse.queue.discipline, Discipline::CoDel(codel) if codel.ecn));
    // Wherever the discipline itself comes from.
    let short = path("preset = 'wired'\naqm = 'codel'\nforward.ecn = true");
    assert!(matches!(short.forward.queue.discipline, Discipline::CoDel(codel) if codel.ecn));
    let preset = path("preset = 'docsis'\nreverse.ecn = true");
    assert!(matches!(preset.reverse.queue.discipline, Discipline::Pie(pie) if pie.ecn));
}

/// Differences between runs: the keys, their defaults (none), and refused values.
#[test]
fn runs_differ_if_configured() {
    let cell = |keys: &str| {
        let json = serde_json::to_value(path(&format!(
            "rate = {{ model = 'lte'{keys} }}\nrtt = '60 ms'"
        )));
        let cell = json.unwrap()["forward"]["service"].clone();
        ["sinr_spread_db", "users", "users_most"].map(|key| cell[key].as_f64().unwrap())
    };
    assert_eq!(cell(""), [0.0, 2.0, 2.0]);
    assert_eq!(cell(", users = 5"), [0.0, 5.0, 5.0]);
    let keys = ", sinr_spread = '8 dB', users = 0, users_most = 4";
    assert_eq!(cell(keys), [8.0, 0.0, 4.0]);
    for (model, expected) in [
        (
            "model = 'lte', users = 3, users_most = 2",
            "users_most must be at least users, which is 3",
        ),
        (
            "model = '5g', users_most = 1",
            "users_most must be at least users, which is 2",
        ),
        (
            "model = 'lte', users_most = 51",
            "users_most = 51: expected a whole number from 0 to 50",
        ),
        (
            "model = 'lte', sinr_spread = '31 dB'",
            "sinr_spread = \"31 dB\": the limit is 30 dB",
        ),
        (
            "model = 'dama', granted = '0.9 %'",
            "at least 1 % of a request must be granted",
        ),
        (
            "model = 'dama', granted = '101 %'",
            "granted = \"101 %\": the limit is 100 %",
        ),
    ] {
        let error = refusal(&format!("rate = {{ {model} }}\nrtt = '60 ms'"));
        assert!(error.ends_with(expected), "{error}");
    }
}

/// The two directions of a geostationary satellite and of a low-orbit one, with all their keys.
#[test]
fn satellites_have_their_keys() {
    let file = r#"
rate = { model = "geo", rate = "33 Mbit/s", spread = "20 %", frame = "1250 us", acm = { clear_sky = "11 dB", deviation = "0 dB", correlation = "5 s", margin = "1.5 dB", every = "250 ms", lag = "500 ms", rain = { depth = "4 dB", start = "1 s", ramp = "20 s", hold = "30 s" } } }
rtt = "600 ms"
buffer = "36 MB"
reverse.rate = { model = "dama", frame = "20 ms", slot = "48 bytes", cra = "0 bit/s", max = "1 Mbit/s", request = 4, loop = "500 ms", hold = "1 s", phase = "10 ms", granted = "40 %" }
"#;
    let found = path(file);
    assert_eq!(found.rate, Rate::from_bits_per_sec(33_000_000));
    assert_eq!(found.base_rtt, Duration::from_millis(600));
    let json = serde_json::to_value(&found).unwrap();
    let forward = &json["forward"]["service"];
    assert_eq!(forward["acm"]["rain"]["depth_db"], 4.0);
    assert_eq!(forward["acm"]["every_ms"], 250.0);
    let reverse = &json["reverse"]["service"];
    assert_eq!(reverse["kind"], "dama");
    assert_eq!(reverse["request_frames"], 4);
    assert_eq!(reverse["phase_ms"], 10.0);
    assert_eq!(reverse["granted"], 0.4);
    let leo = r#"
rate = { model = "leo", rate = "200 Mbit/s", interval = "10 s", phase = "3 s", spread = "10 %", wander = "0 %", correlation = "2 s", burst = "0 %", step = "0 s", drift = "0 s", jitter = "0 s", outage = "0 s", outage_mean = "0 s", outage_max = "0 s", drop = "0 %", drop_packets = 0, drop_time = "0 s", grant = "0 s" }
rtt = "40 ms"
reverse.rate = { model = "leo", rate = "15 Mbit/s", grant = "12 ms" }
"#;
    let json = serde_json::to_value(path(leo)).unwrap();
    assert_eq!(json["forward"]["service"]["interval_s"], 10.0);
    assert_eq!(json["reverse"]["service"]["grant_ms"], 12.0);
    let phase = serde_json::Value::Null;
    assert_eq!(json["reverse"]["service"]["phase_s"], phase);
}

#[test]
fn a_return_link_filters_acks_if_configured() {
    let parse = |reverse: &str| {
        let text = format!("[path]\npreset = 'geo'\n{reverse}");
        PathModel::parse(&text, "test.toml", Path::new("")).map_err(|error| error.to_string())
    };
    let filter = "reverse.rate = { model = 'dama', ack_filter = true }";
    let plain = "reverse.rate = { model = 'dama', ack_filter = false }";
    let [with, without] = [filter, plain].map(|reverse| parse(reverse).expect("a path"));
    assert!(with.reverse.service.filters_acks() && !without.reverse.service.filters_acks());
    let shown = |path: &PathModel| serde_json::to_string(path).expect("it is shown");
    assert_eq!(shown(&with).matches("\"ack_filter\":true").count(), 1);
    assert!(!shown(&without).contains("ack_filter"));
    let error = parse(&format!("{filter}\nreverse.aqm = 'codel'")).expect_err("two disciplines");
    assert!(error.contains("whose queue is drop-tail"), "{error}");
    let error =
        parse("reverse.rate = { model = 'dama', ack_filter = 'yes' }").expect_err("no truth");
    assert!(error.contains("expected true or false"), "{error}");
}

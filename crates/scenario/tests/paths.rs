//! What a `[path]` comes to, and what presets are.

use std::path::Path;

use network::{Discipline, JitterDistribution, LossConfig, QueueLimit, Service};
use scenario::{PRESETS, PathModel};
use units::{Bytes, Duration, Rate};

fn path(text: &str) -> PathModel {
    PathModel::parse(&format!("[path]\n{text}"), "test.toml", Path::new("")).unwrap()
}

fn refusal(text: &str) -> String {
    PathModel::parse(&format!("[path]\n{text}"), "test.toml", Path::new(""))
        .unwrap_err()
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

/// The kernel's published pair is 50 Mbit/s, 150 ms, 619 packets; a link that counts IP alone has
/// 417 at 100 ms (network-models A.1).
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
fn presets_are_what_their_sources_say() {
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
    assert_eq!(rtt_rate("geo"), (600, 25));
    assert_eq!(rtt_rate("leo"), (45, 100));
    assert_eq!(rtt_rate("lte"), (60, 40));
    assert_eq!(rtt_rate("wifi-strong"), (5, 80));
    assert_eq!(rtt_rate("wifi-weak"), (5, 45));
    let geo = PathModel::resolve("geo").unwrap();
    assert_eq!(
        geo.forward.queue.discipline,
        Discipline::RandomAbove {
            fill: 0.5,
            probability: 0.25
        }
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
        "preset = 'geo'\nrate = '50 Mbit/s'\nforward.delay = '250 ms'\nreverse.jitter = '0 ms'\nname = 'mine'",
    );
    assert_eq!(own.name, "mine");
    assert_eq!(own.rate, Rate::from_bits_per_sec(50_000_000));
    assert_eq!(own.base_rtt, Duration::from_millis(550));
    assert_eq!(own.reverse.jitter, None);
    assert_eq!(own.buffer, Some(Bytes::new(36_000_000)));
    assert_eq!(
        path("preset = 'geo'\nrtt = '500 ms'").reverse.delay,
        Duration::from_millis(250)
    );
    assert_eq!(
        path("preset = 'lte'\naqm = 'random-above'")
            .forward
            .queue
            .discipline,
        Discipline::RandomAbove {
            fill: 0.5,
            probability: 0.25
        }
    );
    // A buffer in BDPs follows the rate that overrides.
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
        LossConfig::GilbertElliott {
            p: 0.01,
            r: 0.3,
            bad_loss: 1.0,
            good_loss: 0.0
        }
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
            "test.toml:2:1: rate = 50: a text in quotes is expected, such as \"50 Mbit/s\"",
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
            "reverse.dealy = '1 ms'",
            "test.toml:2:9: unknown key \"dealy\" in a direction of the path; did you mean \"delay\"?",
        ),
        (
            "preset = 'goe'",
            "test.toml:2:1: preset = \"goe\": there is no such preset; did you mean \"geo\"?",
        ),
        (
            "preset = 'wired'\necn = true",
            "test.toml:3:1: ecn = true: neither drop-tail nor random-above marks packets; leave it out or say false",
        ),
        (
            "preset = 'wired'\nbuffer = '500 B'",
            "test.toml:1:2: [path] has a forward buffer that is too small for one full packet of 1.514 kB, overhead included",
        ),
        (
            "preset = 'wired'\nreverse.buffer = '1 bdp'",
            "test.toml:1:2: [path] has a reverse buffer in bdp, but no reverse rate to count them with",
        ),
        (
            "preset = 'wired'\nrtt = '61 s'",
            "test.toml:3:1: rtt = \"61 s\": the limit is 60 s",
        ),
        (
            "rtt = '1 s'\nforward.delay = '1 s'",
            "test.toml:2:1: rtt = \"1 s\": [path] says rtt, or forward.delay and reverse.delay, not both",
        ),
        (
            "rate = '1 Mbit/s'\nforward.rate = '1 Mbit/s'",
            "test.toml:3:9: rate and forward.rate are the same thing: keep one",
        ),
        (
            "rate = '1 Mbit/s'\ntrace = 'x'",
            "test.toml:3:1: [path] says rate or trace, not both",
        ),
        (
            "trace = 'nowhere.down'",
            "test.toml:2:1: trace = \"nowhere.down\": the file does not exist",
        ),
        (
            "trace = 'x'\noverhead = '4 B'",
            "test.toml:3:1: overhead = \"4 B\": a trace counts bytes of IP alone, so nothing is added: leave overhead out",
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
            "rate = '1 Mbit/s",
            "test.toml:2:17: this is no TOML: invalid literal string, expected `'`",
        ),
        (
            "loss = '0.1 %'\nloss = '0.2 %'",
            "test.toml:3:1: this is no TOML: duplicate key",
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
        "\"goe\" is neither a path's name nor a file; did you mean \"geo\"?"
    );
    assert_eq!(
        refused("nowhere/my.toml"),
        "nowhere/my.toml: the file does not exist"
    );
    assert_eq!(refused("trace:nowhere"), "nowhere: the file does not exist");
    assert_eq!(refused("src/"), "src/: this is a folder, not a file");
    assert_eq!(refused("/dev/zero"), "/dev/zero: this is no regular file");
    assert!(refused("").starts_with("the path has no name"));
}

#[test]
fn recorded_traces() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/traces");
    if !Path::new(folder).exists() {
        println!("skipped: the recorded traces are not here");
        return;
    }
    let path = PathModel::resolve(&format!(
        "trace:{folder}/TMobile-LTE-short.down,{folder}/TMobile-LTE-short.up"
    ))
    .unwrap();
    assert_eq!(path.base_rtt, Duration::from_millis(60));
    assert_eq!(
        (path.forward.overhead, path.full_packet()),
        (0, Bytes::new(1500))
    );
    assert!(matches!(path.reverse.service, Service::Trace(_)));
    // B.3.4 fits this trace with a mean of 16.7 Mbit/s.
    assert!(
        (16_000_000..17_500_000).contains(&path.rate.bits_per_sec()),
        "{:?}",
        path.rate
    );
    let own = PathModel::parse(
        "path = { trace = 'Verizon-LTE-short.down', rtt = '50 ms', buffer = '1 bdp' }",
        "t.toml",
        Path::new(folder),
    )
    .unwrap();
    assert!(
        matches!(&own.forward.service, Service::Trace(trace) if trace.repeat && trace.opportunities_ms.len() == 58_655)
    );
    let wrong = PathModel::parse(
        "path = { trace = 'starlink-leocc.delay', rtt = '50 ms' }",
        "t.toml",
        Path::new(folder),
    )
    .unwrap_err();
    assert!(
        wrong.to_string().contains("starlink-leocc.delay:"),
        "{wrong}"
    );
}

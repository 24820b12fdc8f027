//! Paths of recorded traces, and rates and delays from files.

use std::path::Path;

use network::{JitterDistribution, QueueLimit, Service};
use scenario::PathModel;
use units::{Bytes, Duration, Rate};

#[test]
fn recorded_traces() {
    let Some(place) = testing::traces::folder() else {
        return;
    };
    let folder = place.display();
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
    // The fit of the reduced model to this trace has a mean of 16.7 Mbit/s.
    assert!(
        (16_000_000..17_500_000).contains(&path.rate.bits_per_sec()),
        "{:?}",
        path.rate
    );
    let own = PathModel::parse(
        "path = { trace = 'Verizon-LTE-short.down', rtt = '50 ms', buffer = '1 bdp' }",
        "t.toml",
        &place,
    )
    .unwrap();
    assert!(
        matches!(&own.forward.service, Service::Trace(trace) if trace.repeat && trace.opportunities_ms.len() == 58_655)
    );
    let wrong = PathModel::parse(
        "path = { trace = 'starlink-leocc.delay', rtt = '50 ms' }",
        "t.toml",
        &place,
    )
    .unwrap_err();
    let wrong = wrong.to_string();
    assert!(
        wrong.contains("starlink-leocc.delay:5: 14 ms comes after 16 ms"),
        "{wrong}"
    );
    assert!(wrong.contains("trace:RATE,delay=FILE"), "{wrong}");
    let norway = format!("trace:{folder}/norway-hsdpa/norway_bus_1");
    let path = PathModel::resolve(&norway).unwrap();
    assert_eq!(
        (path.name.as_str(), path.forward.overhead),
        (norway.as_str(), 0)
    );
    assert_eq!(path.rate, Rate::from_bits_per_sec(2_911_594));
    let both =
        PathModel::resolve(&format!("{norway},{folder}/norway-hsdpa/norway_tram_27")).unwrap();
    assert_eq!(
        both.reverse.service.mean_rate(),
        Some(Rate::from_bits_per_sec(767_770))
    );
    assert_eq!(both.reverse.overhead, 0);
    let starlink =
        format!("trace:{folder}/starlink-leocc.rate,delay={folder}/starlink-leocc.delay");
    let path = PathModel::resolve(&starlink).unwrap();
    assert_eq!(path.base_rtt, Duration::from_millis(14));
    assert_eq!(
        path.reverse.service.mean_rate(),
        Some(Rate::from_bits_per_sec(20_000_000))
    );
    assert!(
        path.summary.contains("starlink-leocc.delay each way"),
        "{}",
        path.summary
    );
    assert_eq!(path.forward.jitter, path.reverse.jitter);
    assert_eq!(
        path.forward.jitter.unwrap().amount,
        Duration::from_millis(61)
    );
}

/// A folder with traces, deleted when dropped.
struct Traces(std::path::PathBuf);

impl Traces {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        for (name, text) in files {
            std::fs::write(folder.join(name), text).expect("the file can be written");
        }
        Self(folder)
    }

    fn path(&self, text: &str) -> Result<PathModel, String> {
        let text = format!("[path]\n{text}");
        PathModel::parse(&text, "t.toml", &self.0).map_err(|error| self.plain(&error))
    }

    fn resolve(&self, words: &str) -> Result<PathModel, String> {
        let words = words.replace('@', &format!("{}/", self.0.display()));
        PathModel::resolve(&words).map_err(|error| self.plain(&error))
    }

    fn plain(&self, error: &scenario::Error) -> String {
        error
            .to_string()
            .replace(&format!("{}/", self.0.display()), "@")
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn rates_and_delays_from_files() {
    let traces = Traces::new(
        "rates-and-delays",
        &[
            ("rates", "0 9\n1 4\n3 1\n"),
            ("ms", "10\n10\n20\n"),
            ("delays", "30\n25\n40\n"),
            ("commas,delay=x", "1\n"),
            ("a,b", "1\n"),
            ("broken", "0 9\n1 -4\n"),
            ("endless", "0.000000001 0.000001\n0.000000002 0.000002\n"),
        ],
    );
    let path = traces.path("trace = 'rates'\nrtt = '50 ms'").unwrap();
    assert_eq!(path.rate, Rate::from_bits_per_sec(2_000_000));
    assert_eq!((path.forward.overhead, path.reverse.overhead), (0, 14));
    assert_eq!(path.forward.queue.limit, QueueLimit::Packets(8));
    let path = traces
        .path("trace = { file = 'rates', repeat = true }\nrtt = '50 ms'")
        .unwrap();
    assert!(matches!(path.forward.service, Service::Steps { ref steps } if steps.len() == 2));
    // The trace replaces the preset's jitter; the other direction keeps its own.
    let path = traces
        .path("preset = 'leo-reduced'\nforward.delay = { trace = 'delays', slot = '20 ms' }")
        .unwrap();
    assert_eq!(path.forward.delay, Duration::from_millis(25));
    let jitter = path.forward.jitter.unwrap();
    assert_eq!(
        (jitter.slot, jitter.amount),
        (Duration::from_millis(20), Duration::from_millis(15))
    );
    assert_eq!(
        path.reverse.jitter.unwrap().distribution,
        JitterDistribution::Uniform
    );
    let path = traces.path("preset = 'wired'\nforward.trace = 'rates'\noverhead = '38 B'\ndelay = { trace = 'delays' }").unwrap();
    assert_eq!(path.base_rtt, Duration::from_millis(50));
    assert_eq!((path.forward.overhead, path.reverse.overhead), (0, 38));
    assert_eq!(path.forward.jitter, path.reverse.jitter);
    // Steps are a trace in the file itself; their slot is the greatest common divisor.
    let steps = "[{ for = '20 ms', delay = '30 ms' }, { for = '20 ms', delay = '25 ms' }, \
                 { for = '20 ms', delay = '40 ms' }]";
    let read = |delay: &str| traces.path(&format!("preset = 'leo-reduced'\ndelay = {delay}"));
    let trace = read("{ trace = 'delays', slot = '20 ms' }").unwrap();
    assert_eq!(read(steps).unwrap(), trace);
    let steps = "[{ for = '8 s', delay = '25 ms' }, { for = '12 s', delay = '50 ms' }]";
    let path = read(steps).unwrap();
    assert_eq!(path.base_rtt, Duration::from_millis(50));
    let jitter = path.forward.jitter.unwrap();
    assert_eq!(jitter.slot, Duration::from_secs(4));
    let more = |jitter: JitterDistribution| match jitter {
        JitterDistribution::Recorded { additions } => additions.to_vec(),
        _ => Vec::new(),
    };
    let (none, some) = (Duration::ZERO, Duration::from_millis(25));
    assert_eq!(more(jitter.distribution), [none, none, some, some, some]);

    let path = traces.path("rate = '1 Mbit/s'\ndelay = '7 ms'").unwrap();
    assert_eq!(path.base_rtt, Duration::from_millis(14));
    assert_eq!(path.forward.jitter, None);

    // The name of an existing file is not split.
    for (words, rtt, up) in [
        ("trace:@rates", 60, Some(20_000_000)),
        ("trace:@commas,delay=x", 60, Some(20_000_000)),
        ("trace:@a,b", 60, Some(20_000_000)),
        ("trace:@a,b,delay=@delays", 50, Some(20_000_000)),
        ("trace:@ms,@rates,delay=@delays", 50, Some(2_000_000)),
        ("trace:@ms,delay=@ms", 20, Some(20_000_000)),
    ] {
        let path = traces.resolve(words).unwrap();
        assert_eq!(path.base_rtt, Duration::from_millis(rtt), "{words}");
        assert_eq!(path.forward.overhead, 0, "{words}");
        let up = up.map(Rate::from_bits_per_sec);
        assert_eq!(path.reverse.service.mean_rate(), up, "{words}");
    }
    for (words, expected) in [
        (
            "trace:@delays",
            "@delays:2: 25 ms comes after 30 ms; times must not decrease; if these are delays, name the \
          file after a trace of the rate: trace:RATE,delay=FILE, or delay = { trace = \"FILE\" } in a path file",
        ),
        (
            "trace:@endless",
            "@endless: each rate must hold for at least 1 us, and all together for 1 ms",
        ),
        (
            "trace:@broken",
            "@broken:2: a rate in Mbit/s cannot be below zero",
        ),
        (
            "trace:@ms,delay=@rates",
            "@rates:1: expected a delay in milliseconds, found \"0 9\"",
        ),
        ("trace:@ms,delay=@none", "@none: the file does not exist"),
        (
            "trace:,delay=@delays",
            "trace: needs the name of a file, as in trace:FILE or trace:FILE,delay=FILE; the file \
          does not exist",
        ),
    ] {
        assert_eq!(traces.resolve(words).unwrap_err(), expected, "{words}");
    }
    for (text, expected) in [
        (
            "trace = { file = 'rates', repeat = false }\nrtt = '1 s'",
            "t.toml:2:27: repeat = false: a trace of rates always \
          repeats: leave it out",
        ),
        (
            "trace = 'rates'\nrtt = '1 s'\nforward.overhead = '1 B'",
            "t.toml:4:9: overhead = \"1 B\": a trace counts bytes of IP \
         only: leave overhead out",
        ),
        (
            "rate = '1 Mbit/s'\nrtt = '1 s'\ndelay = '1 s'",
            "t.toml:4:1: [path] takes rtt or delay, not both",
        ),
        (
            "rate = '1 Mbit/s'\ndelay = '1 s'\nreverse.delay = '1 s'",
            "t.toml:3:1: delay = \"1 s\": [path] takes delay, or \
          forward.delay and reverse.delay, not both",
        ),
        (
            "rate = '1 Mbit/s'\ndelay = { trace = 'delays' }\njitter = '1 ms'",
            "t.toml:1:2: [path] has forward delays that vary and forward jitter; such delays hold \
             all variation: keep one",
        ),
        (
            "rate = '1 Mbit/s'\ndelay = []",
            "t.toml:3:1: delay = [...]: at least one step is needed",
        ),
        (
            "rate = '1 Mbit/s'\ndelay = [{ for = '8 s', delay = '1 ms' }, { for = '1 s' }]",
            "t.toml:3:43: a step of the delay needs delay, such as delay = \"25 ms\"",
        ),
        (
            "rate = '1 Mbit/s'\ndelay = [{ for = '8 s', delay = '1 ms' }, { for = '20 us', delay = \
             '2 ms' }, { for = '10 us', delay = '2 ms' }]",
            "t.toml:3:1: delay = [...]: the steps are 800003 times as long as their greatest common \
             divisor, and the limit is 100000: choose rounder lengths",
        ),
        (
            "rate = '1 Mbit/s'\ndelay = { trace = 'nothing' }",
            "t.toml:3:11: trace = \"nothing\": the file does not exist",
        ),
        (
            "rate = '1 Mbit/s'\ndelay = { slot = '1 s' }",
            "t.toml:3:1: a trace of delays needs trace, such as trace = \
          \"starlink-leocc.delay\"",
        ),
        (
            "rate = '1 Mbit/s'\ndelay = { trace = 'delays', slot = '0 s' }",
            "t.toml:3:29: slot = \"0 s\": it is zero",
        ),
        (
            "rate = '1 Mbit/s'\ndelay = { file = 'delays' }",
            "t.toml:3:11: unknown key \"file\" in a trace of delays; known \
          are trace, slot",
        ),
        (
            "rate = '1 Mbit/s'\ndelay = '61 s'",
            "t.toml:3:1: delay = \"61 s\": the limit is 60 s",
        ),
    ] {
        assert_eq!(traces.path(text).unwrap_err(), expected, "{text}");
    }
}

//! `[[traffic]]` whose connections both sides write to: generators and files of connection vectors.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use rand_core::SeedableRng;
use scenario::{Autotuning, ExactScenario, LossDetection, PathModel, Scenario, TrafficKind};
use units::{Bytes, Duration, Instant, Rate};
use workload::draw::{Sizes, Times};
use workload::generate::{
    Epochs, Http10Config, MultiplexedConfig, OnOffConfig, PersistentConfig, RequestResponseConfig,
    SyntheticConfig,
};
use workload::suite::{Framing, Offered};
use workload::{Plan, Recording, Side, TruncatedPareto, Truncation, VideoConfig};

const PATH: &str = "[path]\nrate = '10 Mbit/s'\nrtt = '100 ms'\n";

/// A folder of its own for the files of a test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("workloads-{test}"));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn path_in(folder: &Path, text: &str) -> Result<PathModel, String> {
    let text = format!("{PATH}[[traffic]]\n{text}");
    PathModel::parse(&text, "f.toml", folder).map_err(|error| error.to_string())
}

fn plan_in(folder: &Path, text: &str) -> Result<Plan, String> {
    match path_in(folder, text)?.traffic.remove(0).kind {
        TrafficKind::Exchanges(plan) => Ok(plan),
        kind => panic!("{kind:?}"),
    }
}

fn plan(text: &str) -> Plan {
    plan_in(Path::new(""), text).expect(text)
}

fn recording(folder: &Path, text: &str) -> Recording {
    match plan_in(folder, text).expect(text) {
        Plan::Recorded(recording) => recording,
        plan => panic!("{plan:?}"),
    }
}

#[test]
fn without_keys_a_kind_is_its_generator() {
    // 10 % of 10 Mbit/s in bytes, and 14 kB in full segments of 1448 bytes with 52 of headers.
    let starts = |responses: f64| 125_000.0 / (responses * 14_000.0 * 1500.0 / 1448.0);
    let near = |found: f64, expected: f64| {
        assert!(
            (found / expected - 1.0).abs() < 1e-9,
            "{found}, not {expected}"
        );
    };
    let Plan::Http10(http10) = plan("kind = 'http10'\nload = '10 %'") else {
        panic!();
    };
    assert_eq!(http10, Http10Config::new(http10.arrivals_per_s));
    near(http10.arrivals_per_s, starts(1.0));
    let Plan::Persistent(persistent) = plan("kind = 'persistent'\nload = '10 %'") else {
        panic!();
    };
    assert_eq!(persistent, PersistentConfig::new(persistent.sessions_per_s));
    near(persistent.sessions_per_s, starts(10.0));
    let Plan::Synthetic(synthetic) = plan("kind = 'synthetic'\nload = '10 %'") else {
        panic!();
    };
    assert_eq!(synthetic, SyntheticConfig::new(synthetic.arrivals_per_s));
    near(synthetic.arrivals_per_s, starts(1.0 / 0.35));
    let Plan::Multiplexed(pages) = plan("kind = 'multiplexed'\nload = '10 %'") else {
        panic!();
    };
    assert_eq!(pages, MultiplexedConfig::new(pages.pages_per_s));
    near(pages.pages_per_s, starts(21.0) / (1.0 + 9.0 / 16_384.0));
    assert_eq!(
        plan("kind = 'request-response'"),
        Plan::RequestResponse(RequestResponseConfig {
            clients: 1,
            begin: Instant::ZERO,
            spread: Duration::from_secs(1),
            requests: 100,
            epochs: Epochs::default(),
        })
    );
    let Plan::AdaptiveVideo(video) = plan("kind = 'adaptive-video'\nbitrates = '3 Mbit/s'") else {
        panic!();
    };
    let rate = Rate::from_bits_per_sec(3_000_000);
    assert_eq!(video.client, VideoConfig::new([rate], None));
    assert_eq!((video.clients, video.spread), (1, Duration::from_secs(4)));
}

#[test]
fn a_load_counts_headers() {
    // Scharf 2011: 35 % of 10 Mbit/s.
    let Plan::Http10(config) = plan("kind = 'http10'\nload = '35 %'") else {
        panic!();
    };
    assert!((config.arrivals_per_s - 30.1667).abs() < 1e-4);
    // Segments of 1460 and 496 bytes: 10 and 30 of them for 14,600 bytes.
    let text = "kind = 'synthetic'\nload = '10 %'\nsize = '14600 B'\nrequests = 2\nsmall_segments = '10 %'";
    let Plan::Synthetic(config) = plan(text) else {
        panic!();
    };
    let response = 14_600.0 + 52.0 * (0.9 * 10.0 + 0.1 * 30.0);
    assert!((config.arrivals_per_s - 125_000.0 / (2.0 * response)).abs() < 1e-9);
}

#[test]
fn every_key_of_the_generators() {
    let ms = Duration::from_millis;
    let text = "kind = 'persistent'
        arrivals = '3 /s'
        mean = '20 kB'
        shape = 1.3
        cut = '5 MB'
        truncation = 'capped'
        request = '300 B'
        request_sigma = 0.2
        server_delay = '5 ms'
        requests = 4
        think = '2 s'
        think_sigma = 0
        idle_timeout = '15 s'";
    let response = TruncatedPareto::new(Truncation::Capped, 20e3, 1.3, 5e6);
    assert_eq!(
        plan(text),
        Plan::Persistent(PersistentConfig {
            sessions_per_s: 3.0,
            begin: Instant::ZERO,
            epochs: Epochs {
                request: Sizes::LogNormal {
                    median: 300.0,
                    sigma: 0.2
                },
                delay: Times::Exponential { mean: ms(5) },
                response: Sizes::Pareto(response),
                think: Times::Constant(ms(2_000)),
            },
            requests: 4.0,
            idle_timeout: ms(15_000),
        })
    );
    let text = "kind = 'synthetic'
        arrivals = '3 /s'
        size = '20 kB'
        request_sigma = 0
        server_delay = '0 s'
        requests = 2
        think = '3 s'
        think_sigma = 1
        concurrent = '0 %'
        small_segments = '10 %'";
    assert_eq!(
        plan(text),
        Plan::Synthetic(SyntheticConfig {
            arrivals_per_s: 3.0,
            begin: Instant::ZERO,
            epochs: Epochs {
                request: Sizes::Constant(Bytes::new(400)),
                delay: Times::Constant(Duration::ZERO),
                response: Sizes::Constant(Bytes::new(20_000)),
                think: Times::LogNormal {
                    median: ms(3_000),
                    sigma: 1.0
                },
            },
            last: 0.5,
            concurrent: 0.0,
            small_segments: Some(0.1),
        })
    );
    let text = "kind = 'multiplexed'\narrivals = '1 /s'\nobjects = 3.5\nparse = '70 ms'";
    assert_eq!(
        plan(text),
        Plan::Multiplexed(MultiplexedConfig {
            objects: 3.5,
            parse: Times::Constant(ms(70)),
            ..MultiplexedConfig::new(1.0)
        })
    );
    let text = "kind = 'on-off'\ncount = 3\nrate = '2 Mbit/s'\non = '500 ms'\noff = '250 ms'\nduration = '60 s'";
    assert_eq!(
        plan(text),
        Plan::OnOff(OnOffConfig {
            count: 3,
            begin: Instant::ZERO,
            spread: ms(750),
            lifetime: ms(60_000),
            rate: Rate::from_bits_per_sec(2_000_000),
            on: Times::Exponential { mean: ms(500) },
            off: Times::Exponential { mean: ms(250) },
            sender: Side::Acceptor,
        })
    );
    let text = "kind = 'adaptive-video'
        count = 5
        spread = '30 s'
        bitrates = ['1 Mbit/s', '3 Mbit/s']
        segment = '2 s'
        segments = 20
        request = '500 B'
        reservoir = '10 s'
        cushion = '20 s'
        playback_buffer = '40 s'";
    let Plan::AdaptiveVideo(video) = plan(text) else {
        panic!();
    };
    assert_eq!((video.clients, video.spread), (5, ms(30_000)));
    let rates = [1_000_000, 3_000_000].map(Rate::from_bits_per_sec);
    let expected = VideoConfig {
        segment: ms(2_000),
        request: Bytes::new(500),
        reservoir: ms(10_000),
        cushion: ms(20_000),
        buffer: ms(40_000),
        ..VideoConfig::new(rates, Some(20))
    };
    assert_eq!(video.client, expected);
}

#[test]
fn the_settings_of_an_old_kernel() {
    let text = "kind = 'http10'
        load = '10 %'
        algorithm = 'cubic:version=2.1+standard+rate-halving'
        initial_window = 3
        receive_buffer = '8 MiB'
        autotuning = 'off'
        tso_segments = 1
        byte_counting = false
        loss_detection = 'fack'
        extra_delay = ['1 ms', '2 ms']";
    let path = path_in(Path::new(""), text).unwrap();
    let traffic = &path.traffic[0];
    let settings = traffic.flow.settings;
    assert_eq!(settings.receive_buffer, Bytes::new(8 << 20));
    assert_eq!(
        (settings.autotuning, settings.loss_detection),
        (Autotuning::Off, LossDetection::Fack)
    );
    assert_eq!(
        (
            settings.initial_window,
            settings.tso_segments,
            settings.byte_counting
        ),
        (3, 1, false)
    );
    assert_eq!(
        (traffic.extra_delays.len(), settings.extra_delay),
        (2, Duration::ZERO)
    );
    let resolved = serde_json::to_value(&path).unwrap();
    let resolved = &resolved["traffic"][0];
    assert_eq!(resolved["receive_buffer_bytes"], 8 << 20);
    assert_eq!(resolved["loss_detection"], "fack");
    // A setting at its default is not listed, except the three that always were.
    assert_eq!(resolved["pacing"], false);
    assert_eq!(resolved.get("sack"), None);
}

/// Ten connections, one per second, with a response of 14,480 bytes each: ten full segments.
fn vectors() -> String {
    let mut text = String::from("# ten connections\n");
    for number in 0..10 {
        let start = number * 1_000_000;
        write!(
            text,
            "SEQ {start} 1 7 {number}\n> 400\nt 1000\n< 14480\nt 0\n"
        )
        .expect("text");
    }
    text
}

#[test]
fn a_file_is_relative_to_the_scenario_and_has_either_format() {
    let folder = folder("formats");
    std::fs::write(folder.join("a.cvec"), vectors()).unwrap();
    let original = recording(&folder, "kind = 'tmix'\nfile = 'a.cvec'");
    assert_eq!((original.connections.len(), original.repeat), (10, None));
    assert_eq!(original.connections[3].start, Instant::from_secs(3));
    let mut alternate = Vec::new();
    let input = std::io::Cursor::new(vectors());
    let format = workload::tmix::Format::Alternate;
    let reader = workload::tmix::Reader::new("a", input).unwrap();
    workload::tmix::convert(reader, &mut alternate, format).unwrap();
    std::fs::write(folder.join("b.cvec"), alternate).unwrap();
    let other = recording(&folder, "kind = 'tmix'\nfile = 'b.cvec'");
    assert_eq!(other.connections, original.connections);
    let whole = folder.join("a.cvec");
    let text = format!("kind = 'tmix'\nfile = '{}'", whole.display());
    assert_eq!(
        recording(Path::new(""), &text).connections,
        original.connections
    );
}

#[test]
fn a_file_is_fitted_to_the_path() {
    let folder = folder("fitted");
    std::fs::write(folder.join("a.cvec"), vectors()).unwrap();
    let of = |keys: &str| recording(&folder, &format!("kind = 'tmix'\nfile = 'a.cvec'\n{keys}"));
    let starts = |recording: &Recording| -> Vec<u64> {
        let starts = recording
            .connections
            .iter()
            .map(|one| one.start.as_millis());
        starts.collect()
    };
    assert_eq!(starts(&of("scale = 0.5"))[..4], [0, 500, 1000, 1500]);
    assert_eq!(starts(&of("length = '4 s'")), [0, 1000, 2000, 3000]);

    // 15,000 bytes per second are 1.2 % of 10 Mbit/s: a load of 2.4 % needs half of the time.
    let half = of("length = '10 s'\nload = '2.4 %'");
    let starts_of_half = starts(&half);
    assert!(starts_of_half[9].abs_diff(4500) <= 1, "{starts_of_half:?}");
    let mut offered = Offered::default();
    half.connections
        .iter()
        .for_each(|one| offered.add(one, Framing::default()));
    let rate = Rate::from_bits_per_sec(10_000_000);
    let load = offered.load(Side::Acceptor, rate, Duration::from_secs(5));
    assert!((load - 0.024).abs() < 1e-6, "{load}");
    // A finite file may offer more than the path carries.
    let all = of("length = '10 s'\nload = '110 %'");
    assert!(starts(&all)[9].abs_diff(98) <= 1, "{:?}", starts(&all));

    // Bins of 50 s at 10 Mbit/s.
    let shuffled = of("scale = 100\nlength = '10 s'\nshuffle = 3");
    assert_ne!(starts(&shuffled), starts(&of("scale = 100")));
    assert_eq!(shuffled.connections.len(), 10);
    assert!(starts(&shuffled).is_sorted());
    let bins = |starts: Vec<u64>| starts.iter().map(|start| start % 50_000).sum::<u64>();
    assert_eq!(bins(starts(&shuffled)), 0);

    // Of the first five, those from 3 s and 4 s last beyond 2.5 s. They bring 30,000 bytes, which
    // at 1.2 % of 10 Mbit/s take 2 s: the starts from 0 s to 5 s go into the 2 s before 5 s.
    let prefilled = of("length = '10 s'\nprefill = '5 s'");
    assert_eq!(
        starts(&prefilled),
        [4200, 4600, 5000, 6000, 7000, 8000, 9000]
    );

    let again = of("repeat = true\nlength = '10 s'");
    assert_eq!(again.repeat, Some(Duration::from_secs(10)));
    let plan = Plan::Recorded(again);
    let mut dialogues = plan.dialogues(rand_chacha::ChaCha8Rng::from_seed([0; 32]));
    assert_eq!(dialogues.nth(25).unwrap().start(), Instant::from_secs(25));
}

#[test]
fn it_is_resolved_and_travels() {
    let folder = folder("resolved");
    std::fs::write(folder.join("a.cvec"), vectors()).unwrap();
    let kinds = [
        "kind = 'tmix'\nfile = 'a.cvec'\nscale = 2",
        "kind = 'synthetic'\nload = '10 %'\nsmall_segments = '10 %'",
        "kind = 'http10'\narrivals = '2 /s'",
        "kind = 'persistent'\nload = '10 %'",
        "kind = 'multiplexed'\nload = '10 %'",
        "kind = 'request-response'",
        "kind = 'on-off'\nrate = '1 Mbit/s'",
        "kind = 'adaptive-video'\nbitrates = ['1 Mbit/s', '2 Mbit/s']",
    ];
    let tables = kinds.map(|keys| format!("[[traffic]]\n{keys}\n")).concat();
    let text = format!("duration = '60 s'\n{PATH}{tables}");
    let scenario = Scenario::parse(&text, "f.toml", &folder).unwrap();
    assert!(scenario.flows.is_empty());
    let exact = serde_json::to_string(&ExactScenario(scenario.clone())).unwrap();
    let ExactScenario(back) = serde_json::from_str(&exact).unwrap();
    assert_eq!(back, scenario);
    let resolved = serde_json::to_value(&scenario.path).unwrap();
    let resolved = &resolved["traffic"];
    let vectors = &resolved[0];
    assert_eq!(
        (&vectors["kind"], &vectors["file"]),
        (&"tmix".into(), &"a.cvec".into())
    );
    assert_eq!(vectors["connections"], 10);
    assert_eq!(vectors["response_bytes"], 144_800);
    assert_eq!(vectors["last_start_s"], 18.0);
    assert_eq!(
        resolved[2]["response"],
        serde_json::json!({
            "kind": "pareto", "mean_bytes": resolved[2]["response"]["mean_bytes"],
            "least_bytes": resolved[2]["response"]["least_bytes"],
            "shape": 1.1, "cut_bytes": 1e7, "capped": false,
        })
    );
    assert_eq!(resolved[2]["arrivals_per_s"], 2.0);
    assert_eq!(
        resolved[3]["think"],
        serde_json::json!({ "kind": "log-normal", "median_s": 1.0, "sigma": 1.3 })
    );
    assert_eq!(
        resolved[7]["bitrates_bps"],
        serde_json::json!([1_000_000, 2_000_000])
    );
    for entry in resolved.as_array().unwrap() {
        assert_eq!(entry["algorithm"], "cubic+hystart");
    }
}

#[test]
fn traffic_alone_needs_a_duration() {
    let text = format!("{PATH}[[traffic]]\nkind = 'http10'\nload = '10 %'");
    let error = Scenario::parse(&text, "f.toml", Path::new("")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "f.toml: there is no [[flow]], and [[traffic]] alone never ends: give the scenario a \
         duration, such as duration = \"60 s\""
    );
    let text = format!("duration = '900 s'\n{text}\nwarm_up = '5 s'");
    let scenario = Scenario::parse(&text, "f.toml", Path::new("")).unwrap();
    assert_eq!(scenario.duration, Some(Duration::from_secs(905)));
    assert_eq!(scenario.time_limit, Duration::from_secs(905));
}

#[test]
fn refusals_name_the_line_and_the_way_out() {
    let folder = folder("refused");
    let whole = vectors();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("whole.cvec", &whole);
    write("cut.cvec", &whole[..whole.len() - 9]);
    write("early.cvec", "SEQ 0 2 1 8\n> 400\nt 0\n< 5\nt 9\n");
    write("other.cvec", "SEQ 0 1 1 1\n> 400\n< 5\n");
    write("one.cvec", "SEQ 0 1 1 1\n> 400\nt 0\n< 5\n");
    write(
        "silent.cvec",
        "SEQ 0 1 1 1\n> 400\nt 0\nSEQ 9 1 1 2\n> 400\nt 0\n",
    );
    write("empty.cvec", "# nothing\n");
    let place = folder.display();
    for (text, expected) in [
        (
            "kind = 'tmix'",
            "f.toml:4:1: [[traffic]] needs file, such as file = \"trace.cvec\"",
        ),
        (
            "kind = 'tmix'\nfile = 'none.cvec'",
            "f.toml:6:1: file = \"none.cvec\": the file does not exist",
        ),
        (
            "kind = 'tmix'\nfile = '.'",
            "f.toml:6:1: file = \".\": this is a folder, not a file",
        ),
        (
            "kind = 'tmix'\nfile = 'cut.cvec'",
            "{place}/cut.cvec:50: the last line has no line end: the file is cut, or needs a line end there",
        ),
        (
            "kind = 'tmix'\nfile = 'early.cvec'",
            "{place}/early.cvec:1: the file ends early: connection 8 announces 2 epochs but has 1",
        ),
        (
            "kind = 'tmix'\nfile = 'other.cvec'",
            "{place}/other.cvec:3: two data units need a line with a wait between them",
        ),
        (
            "kind = 'tmix'\nfile = 'empty.cvec'",
            "f.toml:6:1: file = \"empty.cvec\": the file has no connection",
        ),
        (
            "kind = 'tmix'\nfile = 'one.cvec'\nload = '10 %'",
            "f.toml:7:1: all connections of the file start at once: give the table a length for load",
        ),
        (
            "kind = 'tmix'\nfile = 'silent.cvec'\nload = '10 %'",
            "f.toml:7:1: the acceptors of the file send no data to load a link with",
        ),
        (
            "kind = 'tmix'\nfile = 'silent.cvec'\nrepeat = true\nscale = 0.5",
            "f.toml:7:1: this gives more than 100000 starts per second",
        ),
        (
            "kind = 'tmix'\nfile = 'whole.cvec'\nload = '10 %'\nscale = 2",
            "f.toml:7:1: [[traffic]] takes scale or load, not both",
        ),
        (
            "kind = 'tmix'\nfile = 'whole.cvec'\nload = '10 %'\ndirection = 'reverse'",
            "f.toml:7:1: load = \"10 %\": this direction has no rate limit to take a fraction of",
        ),
        (
            "kind = 'tmix'\nfile = 'whole.cvec'\nshuffle = 1\ndirection = 'reverse'",
            "f.toml:7:1: shuffle needs a direction with a rate limit",
        ),
        (
            "kind = 'tmix'\nfile = 'whole.cvec'\nload = '110 %'\nrepeat = true",
            "f.toml:7:1: load = \"110 %\": a load of 100 % or more that does not end never drains: give it a duration",
        ),
        (
            "kind = 'tmix'\nfile = 'whole.cvec'\nload = '201 %'",
            "f.toml:7:1: load = \"201 %\": the limit is 200 %",
        ),
        (
            "kind = 'http10'\nload = '110 %'",
            "f.toml:6:1: load = \"110 %\": a load of 100 % or more that does not end never drains: give it a duration",
        ),
        (
            "kind = 'http1'\nload = '10 %'",
            "f.toml:5:1: kind = \"http1\": this is not known; did you mean \"http10\"?",
        ),
        (
            "kind = 'http10'\nload = '10 %'\nthink = '1 s'",
            "f.toml:7:1: think belongs to another kind of traffic; this kind has load, arrivals, mean, shape, cut, truncation, size, request, request_sigma, server_delay",
        ),
        (
            "kind = 'http10'\nload = '10 %'\nsize = '1 kB'\nmean = '1 kB'",
            "f.toml:8:1: [[traffic]] takes size, or mean, shape, cut, truncation, not both",
        ),
        (
            "kind = 'http10'\nload = '10 %'\nshape = 0.9\ntruncation = 'mean-before-cut'",
            "f.toml:7:1: without a cut, a shape of at most 1 has no mean",
        ),
        (
            "kind = 'http10'\nload = '10 %'\nfrom = 'nobody'",
            "f.toml:7:1: from = \"nobody\": no table [[hosts]] and no [[node]] has this name; known are left, right",
        ),
        (
            "kind = 'http10'\nload = '10 %'\nsack = false\nloss_detection = 'fack'",
            "f.toml:8:1: fack needs SACK: leave out sack = false",
        ),
        (
            "kind = 'request-response'\nrequests = 2.5",
            "f.toml:6:1: a client sends a whole number of requests",
        ),
        (
            "kind = 'adaptive-video'\nbitrates = ['2 Mbit/s', '1 Mbit/s']",
            "f.toml:6:1: bitrates = [...]: expected one or more bitrates, each above the one before",
        ),
        (
            "kind = 'adaptive-video'\nbitrates = ['1 Mbit/s', '2 Mbit']",
            "f.toml:6:25: bitrates = \"2 Mbit\": unknown unit \"Mbit\"; did you mean \"Mbit/s\"?",
        ),
        (
            "kind = 'adaptive-video'\nbitrates = '1 Mbit/s'\nplayback_buffer = '3 s'",
            "f.toml:7:1: a segment must fit in playback_buffer",
        ),
    ] {
        let expected = expected.replace("{place}", &place.to_string());
        assert_eq!(path_in(&folder, text).expect_err(text), expected, "{text}");
    }
}

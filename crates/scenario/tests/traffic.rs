//! `[[traffic]]`: results, places, and refusals.

use std::path::Path;

use scenario::{
    Application, CompareOptions, Direction, ExactScenario, PathModel, Scenario, TrafficKind,
};
use units::{Bytes, Duration, Instant};
use workload::kinds::{BulkTraffic, DatagramTraffic, VideoTraffic, WebTraffic};

const PATH: &str = "[path]\nrate = '10 Mbit/s'\nrtt = '100 ms'\n";

fn path(text: &str) -> Result<PathModel, String> {
    let text = format!("{PATH}{text}");
    PathModel::parse(&text, "f.toml", Path::new("")).map_err(|error| error.to_string())
}

fn refusal(text: &str) -> String {
    path(text).expect_err(text)
}

#[test]
fn every_key_of_every_kind() {
    let path = path(
        "[[traffic]]
        kind = 'web'
        load = '35 %'
        mean = '20 kB'
        shape = 1.3
        cut = '5 MB'
        algorithm = 'reno'
        initial_window = 4
        pacing = true
        ecn = true
        extra_delay = ['0 s', '12 ms']
        warm_up = '10 s'
        duration = '30 s'
        [[traffic]]
        kind = 'web'
        arrivals = '120 /min'
        direction = 'reverse'
        list_flows = true
        [[traffic]]
        name = 'backups'
        kind = 'bulk'
        count = 3
        spread = '5 s'
        size = '100 MB'
        start = '2 s'
        [[traffic]]
        kind = 'video'
        bitrate = '5 Mbit/s'
        extra_delay = '5 ms'
        [[traffic]]
        kind = 'datagrams'
        rate = '2 Mbit/s'
        on = '500 ms'
        off = '250 ms'
        ",
    )
    .unwrap();
    let [web, second, bulk, video, datagrams] = &path.traffic[..] else {
        panic!("{:?}", path.traffic);
    };
    let names: Vec<&str> = path.traffic.iter().map(|each| each.name.as_str()).collect();
    assert_eq!(names, ["web", "web 2", "backups", "video", "datagrams"]);
    assert_eq!(path.warm_up, Duration::from_secs(10));

    // 35 % of 10 Mbit/s in responses of 20 kB.
    let kind = TrafficKind::Web(WebTraffic {
        arrivals_per_s: 21.875,
        mean: Bytes::new(20_000),
        shape: 1.3,
        cut: Bytes::new(5_000_000),
    });
    assert_eq!((&web.kind, web.direction), (&kind, Direction::Forward));
    assert_eq!(web.flow.algorithm.to_string(), "reno+standard");
    assert_eq!(
        (web.flow.initial_window, web.flow.pacing, web.flow.ecn),
        (4, true, true)
    );
    assert_eq!(
        web.extra_delays,
        [Duration::ZERO, Duration::from_millis(12)]
    );
    assert_eq!(
        (web.start, web.stop),
        (Instant::ZERO, Some(Instant::from_secs(30)))
    );

    // Background traffic starts when the flows' time does.
    let kind = TrafficKind::Web(WebTraffic {
        arrivals_per_s: 2.0,
        mean: Bytes::new(14_000),
        shape: 1.1,
        cut: Bytes::new(10_000_000),
    });
    assert_eq!(
        (&second.kind, second.direction),
        (&kind, Direction::Reverse)
    );
    assert_eq!(second.flow.algorithm.to_string(), "cubic+hystart");
    assert!(second.list_flows && !web.list_flows);
    assert_eq!((second.start, second.stop), (Instant::from_secs(10), None));
    assert_eq!(bulk.start, Instant::from_secs(12));
    assert_eq!(
        bulk.kind,
        TrafficKind::Bulk(BulkTraffic {
            count: 3,
            spread: Duration::from_secs(5),
            size: Some(Bytes::new(100_000_000)),
        })
    );
    let (segment, every) = (Bytes::new(2_500_000), Duration::from_secs(4));
    assert_eq!(
        video.kind,
        TrafficKind::Video(VideoTraffic {
            count: 1,
            spread: every,
            segment,
            every
        })
    );
    let application = Application::Periodic {
        write: segment,
        every,
    };
    assert_eq!(video.flow.application, application);
    let TrafficKind::Datagrams(DatagramTraffic {
        spread, on, off, ..
    }) = datagrams.kind
    else {
        panic!("{datagrams:?}");
    };
    let millis = Duration::from_millis;
    assert_eq!((on, off, spread), (millis(500), millis(250), millis(750)));
}

#[test]
fn a_load_of_scharf() {
    let path = path("[[traffic]]\nkind = 'web'\nload = '35 %'").unwrap();
    let TrafficKind::Web(WebTraffic { arrivals_per_s, .. }) = path.traffic[0].kind else {
        panic!("{:?}", path.traffic);
    };
    assert_eq!(arrivals_per_s, 31.25);
}

#[test]
fn a_load_counts_the_rate_of_its_direction() {
    let text =
        "reverse.rate = '2 Mbit/s'\n[[traffic]]\nkind = 'web'\nload = '7 %'\ndirection = 'reverse'";
    let TrafficKind::Web(WebTraffic { arrivals_per_s, .. }) = path(text).unwrap().traffic[0].kind
    else {
        panic!("{text}");
    };
    assert_eq!(arrivals_per_s, 1.25);
}

#[test]
fn it_may_be_in_the_path_and_override_a_preset() {
    let inside = path("traffic = [{ kind = 'bulk' }]").unwrap();
    assert_eq!(
        inside.traffic,
        path("[[traffic]]\nkind = 'bulk'").unwrap().traffic
    );
    let text = "[path]\npreset = 'wired'\n[[traffic]]\nkind = 'web'\nload = '10 %'";
    let wired = PathModel::parse(text, "f.toml", Path::new("")).unwrap();
    let web = &wired.traffic[0];
    assert!(
        matches!(web.kind, TrafficKind::Web(WebTraffic { arrivals_per_s, .. }) if arrivals_per_s > 44.6 && arrivals_per_s < 44.7)
    );
}

#[test]
fn flows_count_from_the_end_of_the_warm_up() {
    let text = format!(
        "duration = '20 s'\n{PATH}[[traffic]]\nkind = 'bulk'\nwarm_up = '7 s'\n[[flow]]\nalgorithm = 'cubic'\nstart = '1 s'\n"
    );
    let scenario = Scenario::parse(&text, "f.toml", Path::new("")).unwrap();
    assert_eq!(scenario.flows[0].start, Instant::from_secs(8));
    assert_eq!(scenario.duration, Some(Duration::from_secs(27)));
    assert_eq!(scenario.time_limit, Duration::from_secs(607));

    let options = CompareOptions {
        duration: Some(Duration::from_secs(5)),
        stagger: Duration::from_secs(1),
        flows: 2,
        ..CompareOptions::default()
    };
    let algorithms = [*scenario.flows[0].algorithm];
    let compared = Scenario::compare(&scenario.path, &algorithms, &options).unwrap();
    let starts: Vec<Instant> = compared[0].flows.iter().map(|flow| flow.start).collect();
    assert_eq!(starts, [Instant::from_secs(7), Instant::from_secs(8)]);
    assert_eq!(compared[0].duration, Some(Duration::from_secs(13)));
}

#[test]
fn it_is_resolved_and_travels() {
    let text = "[[traffic]]\nkind = 'web'\nload = '35 %'\nextra_delay = ['0 s', '12 ms']\nduration = '5 s'\n[[traffic]]\nkind = 'datagrams'\nrate = '1 Mbit/s'\n[[flow]]\nalgorithm = 'cubic'\nsize = '1 MB'\n";
    let scenario = Scenario::parse(&format!("{PATH}{text}"), "f.toml", Path::new("")).unwrap();
    let resolved = serde_json::to_value(&scenario.path).unwrap();
    assert_eq!(
        resolved["traffic"][0],
        serde_json::json!({
            "name": "web", "kind": "web", "direction": "forward",
            "arrivals_per_s": 31.25, "mean_bytes": 14_000, "shape": 1.1, "cut_bytes": 10_000_000,
            "algorithm": "cubic+hystart", "initial_window_segments": 10, "pacing": false, "ecn": false,
            "extra_delays_ms": [0.0, 12.0], "start_s": 0.0, "stop_s": 5.0, "list_flows": false,
        })
    );
    assert_eq!(resolved["traffic"][1].get("algorithm"), None);
    let exact = serde_json::to_string(&ExactScenario(scenario.clone())).unwrap();
    let ExactScenario(back) = serde_json::from_str(&exact).unwrap();
    assert_eq!(back, scenario);
}

#[test]
fn refusals_name_the_line_and_the_way_out() {
    for (text, expected) in [
        (
            "[[traffic]]\nload = '35 %'",
            "f.toml:4:1: [[traffic]] needs kind, such as kind = \"web\"",
        ),
        (
            "[[traffic]]\nkind = 'webb'",
            "f.toml:5:1: kind = \"webb\": this is not known; did you mean \"web\"?",
        ),
        (
            "[[traffic]]\nkind = 'web'",
            "f.toml:4:1: [[traffic]] needs load, such as load = \"35 %\"",
        ),
        (
            "[[traffic]]\nkind = 'web'\nlaod = '3 %'",
            "f.toml:6:1: unknown key \"laod\" in [[traffic]]; did you mean \"load\"?",
        ),
        (
            "[[traffic]]\nkind = 'web'\nload = '35'",
            "f.toml:6:1: load = \"35\": a share needs a unit, such as \"0.1 %\"",
        ),
        (
            "[[traffic]]\nkind = 'web'\nload = '0 %'",
            "f.toml:6:1: load = \"0 %\": it is zero",
        ),
        (
            "[[traffic]]\nkind = 'web'\nload = '100 %'",
            "f.toml:6:1: load = \"100 %\": a load of 100 % or more that does not end never drains: give it a duration",
        ),
        (
            "[[traffic]]\nkind = 'web'\nload = '3 %'\narrivals = '3 /s'",
            "f.toml:7:1: [[traffic]] takes load or arrivals, not both",
        ),
        (
            "[[traffic]]\nkind = 'web'\narrivals = '3'",
            "f.toml:6:1: arrivals = \"3\": a frequency needs a unit, such as \"30 /s\"",
        ),
        (
            "[[traffic]]\nkind = 'web'\narrivals = '0 /s'",
            "f.toml:6:1: arrivals = \"0 /s\": expected 0.00001 to 100000 /s",
        ),
        (
            "[[traffic]]\nkind = 'web'\nload = '3 %'\ndirection = 'reverse'",
            "f.toml:6:1: load = \"3 %\": this direction has no rate limit to take a fraction of",
        ),
        (
            "[[traffic]]\nkind = 'web'\nload = '90 %'\nmean = '1 B'\ncut = '2 B'",
            "f.toml:6:1: load = \"90 %\": this gives more than 100000 starts per second: lower it, or increase the sizes",
        ),
        (
            "[[traffic]]\nkind = 'web'\nload = '3 %'\nshape = 0",
            "f.toml:7:1: shape = 0: expected a number from 0.1 to 10",
        ),
        (
            "[[traffic]]\nkind = 'web'\nload = '3 %'\nshape = nan",
            "f.toml:7:1: shape = nan: expected a number from 0.1 to 10",
        ),
        (
            "[[traffic]]\nkind = 'web'\nload = '3 %'\nmean = '20 MB'",
            "f.toml:7:1: no distribution has a mean of 20 MB and a largest size of 10 MB: the mean must be below the cut",
        ),
        (
            "[[traffic]]\nkind = 'bulk'\nload = '3 %'",
            "f.toml:6:1: load belongs to another kind of traffic; this kind has count, spread, size",
        ),
        (
            "[[traffic]]\nkind = 'datagrams'\nrate = '1 Mbit/s'\nalgorithm = 'cubic'",
            "f.toml:7:1: algorithm belongs to another kind of traffic; this kind has count, spread, rate, on, off",
        ),
        (
            "[[traffic]]\nkind = 'bulk'\ncount = 0",
            "f.toml:6:1: count = 0: expected a whole number from 1 to 10000",
        ),
        (
            "[[traffic]]\nkind = 'video'",
            "f.toml:4:1: [[traffic]] needs bitrate, such as bitrate = \"5 Mbit/s\"",
        ),
        (
            "[[traffic]]\nkind = 'video'\nbitrate = '1 bit/s'\nsegment = '1 s'",
            "f.toml:6:1: bitrate = \"1 bit/s\": a segment would have no bytes",
        ),
        (
            "[[traffic]]\nkind = 'bulk'\nextra_delay = []",
            "f.toml:6:1: extra_delay = [...]: expected 1 to 1000 delays",
        ),
        (
            "[[traffic]]\nkind = 'bulk'\nextra_delay = [\n'1 ms',\n'2 m']",
            "f.toml:8:1: extra_delay = \"2 m\": unknown unit \"m\"; did you mean \"ms\"?",
        ),
        (
            "[[traffic]]\nkind = 'bulk'\nstart = '1 s'\nwarm_up = '1 s'",
            "f.toml:7:1: [[traffic]] takes start or warm_up, not both",
        ),
        (
            "[[traffic]]\nkind = 'bulk'\n[[traffic]]\nkind = 'web'\nload = '1 %'\nname = 'bulk'",
            "f.toml:9:1: name = \"bulk\": another traffic table has this name",
        ),
        (
            "traffic = []\n[[traffic]]\nkind = 'bulk'",
            "f.toml:5:3: traffic = [...]: traffic and path.traffic are the same thing: keep one",
        ),
        (
            "traffic = 'web'",
            "f.toml:4:1: traffic = \"web\": background traffic is written as tables [[traffic]]",
        ),
    ] {
        assert_eq!(refusal(text), expected, "{text}");
    }
}

#[test]
fn applications_with_pauses_or_a_rate() {
    let application = |text: &str| {
        let text =
            format!("{PATH}[[flow]]\nalgorithm = 'cubic'\nsize = '1 MB'\napplication = {text}\n");
        Scenario::parse(&text, "f.toml", Path::new(""))
            .map(|scenario| scenario.flows[0].application)
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        application("{ write = '2 MB', pause = '3 s' }"),
        Ok(Application::Pausing {
            write: Bytes::new(2_000_000),
            pause: Duration::from_secs(3),
        })
    );
    // A full segment of 1448 bytes at 256 kbit/s.
    assert_eq!(
        application("{ rate = '256 kbit/s' }"),
        Ok(Application::Periodic {
            write: Bytes::new(1448),
            every: Duration::from_micros(45_250),
        })
    );
    for (text, expected) in [
        (
            "{ write = '2 MB' }",
            "f.toml:7:1: an application needs every, such as every = \"100 ms\"",
        ),
        (
            "{ write = '2 MB', every = '1 s', pause = '3 s' }",
            "f.toml:7:48: an application takes every or pause, not both",
        ),
        (
            "{ write = '2 MB', rate = '1 Mbit/s' }",
            "f.toml:7:33: an application takes write or rate, not both",
        ),
        (
            "{ rate = '1 Mbit/s', pause = '3 s' }",
            "f.toml:7:36: an application with a rate has no pause",
        ),
        // Values that would take for ever.
        (
            "{ write = '1 B', every = '1 ns' }",
            "f.toml:7:32: every = \"1 ns\": the least is 1 us",
        ),
        (
            "{ rate = '12 Gbit/s' }",
            "f.toml:7:17: rate = \"12 Gbit/s\": the rate of an application is at most 11 Gbit/s",
        ),
    ] {
        assert_eq!(application(text), Err(expected.to_owned()), "{text}");
    }
}

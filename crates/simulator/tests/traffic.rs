//! Background traffic: its flows do not depend on the measured flows, it offers the configured
//! load, and it does not affect other random draws.

mod common;

use common::{algorithm, run, wired};
use measure::{RunResult, TrafficFlow, TrafficResult};
use scenario::{Flow, PathModel, Scenario};
use units::{Bytes, Duration, Instant};

/// A path of 10 Mbit/s and 100 ms with `[[traffic]]` tables.
fn path(traffic: &str) -> PathModel {
    let text = format!(
        "[path]\nrate = '10 Mbit/s'\nrtt = '100 ms'\nreverse.rate = '2 Mbit/s'\nreverse.buffer = '60 packets'\n{traffic}"
    );
    PathModel::parse(&text, "test.toml", std::path::Path::new(""))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn scenario(path: &PathModel, name: &str, seconds: u64) -> Scenario {
    let mut scenario = Scenario::new(path.clone(), vec![Flow::new(algorithm(name))]);
    scenario.duration = Some(Duration::from_secs(seconds));
    scenario.time_limit = Duration::from_secs(seconds);
    scenario
}

fn result(path: &PathModel, name: &str, seconds: u64) -> RunResult {
    run(&scenario(path, name, seconds), false).result
}

fn started(traffic: &TrafficResult) -> Vec<(f64, Option<u64>)> {
    let listed = traffic.flows.as_ref().expect("they are listed");
    listed
        .iter()
        .map(|flow: &TrafficFlow| (flow.start_s, flow.size_bytes))
        .collect()
}

const MIXED: &str = "
[[traffic]]
kind = 'web'
load = '35 %'
extra_delay = ['0 s', '12 ms', '25 ms']
list_flows = true
[[traffic]]
kind = 'web'
load = '20 %'
direction = 'reverse'
list_flows = true
[[traffic]]
kind = 'bulk'
count = 2
size = '1 MB'
spread = '10 s'
extra_delay = '30 ms'
list_flows = true
[[traffic]]
kind = 'video'
bitrate = '1 Mbit/s'
segment = '2 s'
count = 2
list_flows = true
[[traffic]]
kind = 'datagrams'
rate = '500 kbit/s'
on = '500 ms'
off = '500 ms'
count = 3
list_flows = true
";

#[test]
fn the_same_flows_start_for_every_algorithm() {
    let path = path(MIXED);
    let cubic = result(&path, "cubic", 30);
    let bbr = result(&path, "bbr", 30);
    assert!(
        cubic.flows[0].bytes_acked != bbr.flows[0].bytes_acked,
        "they differ"
    );
    assert_eq!(cubic.traffic.len(), 5);
    for (one, other) in cubic.traffic.iter().zip(&bbr.traffic) {
        assert!(one.started > 0 && one.rejected == 0, "{one:?}");
        assert_eq!(started(one), started(other), "{}", one.name);
    }
    let fct = |run: &RunResult| run.traffic[0].fct_mean_s;
    assert_ne!(
        fct(&cubic),
        fct(&bbr),
        "the completion times depend on the measured flow"
    );
}

#[test]
fn the_seed_determines_the_traffic() {
    let path = path(MIXED);
    let mut scenario = scenario(&path, "cubic", 10);
    let bytes = |scenario: &Scenario| serde_json::to_string(&run(scenario, false).result).unwrap();
    assert_eq!(bytes(&scenario), bytes(&scenario));
    let first = started(&run(&scenario, false).result.traffic[0]);
    scenario.seed += 1;
    assert_ne!(started(&run(&scenario, false).result.traffic[0]), first);
}

/// Traffic that has not started does not change results or random draws. Further tables do not
/// change the draws of the first one.
#[test]
fn a_table_does_not_change_other_random_draws() {
    let mut plain = path("");
    plain.forward.loss = network::LossConfig::Bernoulli(0.01);
    let mut later = path("[[traffic]]\nkind = 'bulk'\nstart = '1 h'\nextra_delay = '9 ms'\n");
    later.forward.loss = plain.forward.loss;
    let (alone, beside) = (result(&plain, "cubic", 10), result(&later, "cubic", 10));
    assert!(alone.flows[0].segments_lost > 0);
    assert_eq!((alone.flows, alone.links), (beside.flows, beside.links));
    assert_eq!(beside.traffic[0].started, 0);

    let one = "[[traffic]]\nkind = 'web'\nload = '10 %'\nlist_flows = true\n";
    let two = format!("{one}[[traffic]]\nkind = 'web'\nload = '10 %'\nlist_flows = true\n");
    let (one, two) = (
        result(&path(one), "cubic", 10),
        result(&path(&two), "cubic", 10),
    );
    assert_eq!(started(&one.traffic[0]), started(&two.traffic[0]));
    assert_ne!(started(&two.traffic[0]), started(&two.traffic[1]));
}

/// 31.25 arrivals per second with a mean of 14 kB over 2000 seconds, both within four standard
/// errors.
#[test]
fn it_offers_the_load_that_was_asked_for() {
    let path = path("[[traffic]]\nkind = 'web'\nload = '35 %'\nlist_flows = true\n");
    let traffic = &result(&path, "cubic", 2000).traffic[0];
    let expected = 2000.0 * 31.25;
    let arrivals = traffic.started as f64;
    assert!(
        (arrivals - expected).abs() < 4.0 * expected.sqrt(),
        "{arrivals}"
    );
    // The second moment of the distribution of shape 1.1, truncated to 2238.6 to 1e7 bytes.
    let (scale, cut, shape) = (2238.6f64, 1e7f64, 1.1f64);
    let mass = 1.0 - (scale / cut).powf(shape);
    let second = shape * scale.powf(shape) * (cut.powf(2.0 - shape) - scale.powf(2.0 - shape))
        / ((2.0 - shape) * mass);
    let offered = traffic.bytes_offered.expect("sizes are known") as f64;
    let error = (expected * second).sqrt();
    assert!(
        (offered - expected * 14_000.0).abs() < 4.0 * error,
        "{offered} with a standard error of {error}"
    );
    assert!((traffic.load_offered.unwrap() - offered * 8.0 / 2000.0 / 1e7).abs() < 1e-12);

    let mut sizes: Vec<u64> = started(traffic)
        .into_iter()
        .filter_map(|(_, size)| size)
        .collect();
    sizes.sort_unstable();
    let quantile = |fraction: f64| sizes[(fraction * sizes.len() as f64) as usize] as f64;
    // The standard error of a quantile's level q is sqrt(q (1 - q) / n) with n values.
    for (fraction, expected) in [(0.5, 4203.0), (0.9, 18_100.0), (0.99, 146_000.0)] {
        let error = 4.0 * (fraction * (1.0f64 - fraction) / arrivals).sqrt();
        let (low, high) = (quantile(fraction - error), quantile(fraction + error));
        assert!(
            low < expected && expected < high,
            "{fraction}: {low} to {high}"
        );
    }
    let fraction = |most: u64| sizes.partition_point(|&size| size <= most) as f64 / arrivals;
    for (found, expected) in [(1.0 - fraction(10_000), 0.193), (fraction(14_600), 0.873)] {
        let error = 0.0005 + 4.0 * (expected * (1.0f64 - expected) / arrivals).sqrt();
        assert!((found - expected).abs() < error, "{found}, not {expected}");
    }
}

#[test]
fn an_uncongested_path_delivers_the_offered_load() {
    let mut quiet = path("[[traffic]]\nkind = 'web'\nload = '35 %'\n");
    quiet.forward.queue.limit = network::QueueLimit::Unlimited;
    let mut scenario = scenario(&quiet, "cubic", 300);
    scenario.flows[0].size = Some(Bytes::new(1));
    scenario.flows[0].start = Instant::from_secs(299);
    let run = run(&scenario, false).result;
    let traffic = &run.traffic[0];
    let (offered, carried) = (
        traffic.load_offered.unwrap(),
        traffic.load_delivered.unwrap(),
    );
    assert!(
        carried <= offered && offered - carried < 0.01,
        "{carried} of {offered}"
    );
    assert!(
        traffic.finished * 1000 > traffic.started * 995,
        "{traffic:?}"
    );
    assert_eq!(traffic.segments_lost, 0);
    // At least a handshake and another round trip, and for most flows little more.
    let fct = traffic.fct_mean_s.unwrap();
    assert!((0.15..0.4).contains(&fct), "{fct}");
    // Headers are 66 bytes per 1448 bytes of payload; small segments and SYNs add more.
    let utilization = run.links[0].utilization.unwrap();
    assert!(
        (1.04..1.12).contains(&(utilization / carried)),
        "{utilization} with {carried}"
    );
}

/// Datagrams that still wait in the queue when their sources stop arrive within the time that counts.
#[test]
fn datagrams_deliver_no_more_than_the_path_carries() {
    let path = path(
        "[[traffic]]\nkind = 'datagrams'\nrate = '40 Mbit/s'\non = '1 s'\noff = '1 s'\n\
         duration = '500 ms'\nspread = '0 s'\n",
    );
    let traffic = &result(&path, "cubic", 20).traffic[0];
    let (offered, delivered) = (
        traffic.load_offered.unwrap(),
        traffic.load_delivered.unwrap(),
    );
    assert!(offered > 1.5, "{offered}");
    assert!((0.5..1.0).contains(&delivered), "{delivered}");
}

/// Its data takes the reverse path and its ACKs the bottleneck. It fills the reverse path, and does
/// not compete with the measured flow's data.
#[test]
fn traffic_in_the_reverse_direction_fills_the_reverse_path() {
    let bulk = |direction: &str| {
        path(&format!(
            "[[traffic]]\nkind = 'bulk'\ndirection = '{direction}'\nextra_delay = '5 ms'\nspread = '0 s'\n"
        ))
    };
    let back = result(&bulk("reverse"), "cubic", 60);
    let carried = back.traffic[0].load_delivered.unwrap();
    // 400 to 800 ACKs of 66 bytes per second take 10 to 20 %, and headers 5 % of the rest.
    assert!((0.65..0.85).contains(&carried), "{carried}");
    assert!(
        back.links[1].utilization.unwrap() > 0.9,
        "{:?}",
        back.links[1]
    );
    assert_eq!(
        (back.traffic[0].bytes_offered, back.traffic[0].load_offered),
        (None, None)
    );
    let alone = result(&path(""), "cubic", 60).flows[0].goodput_bps;
    let beside = back.flows[0].goodput_bps;
    assert!(
        beside < alone && beside > 0.5 * alone,
        "ACKs are delayed: {beside} of {alone}"
    );
    // In the same direction it uses about half of the bottleneck.
    let there = result(&bulk("forward"), "cubic", 60);
    let fractions = (
        there.flows[0].goodput_bps / alone,
        there.traffic[0].load_delivered.unwrap(),
    );
    assert!(
        (0.25..0.75).contains(&fractions.0) && (0.2..0.75).contains(&fractions.1),
        "{fractions:?}"
    );
}

#[test]
fn a_reverse_path_without_a_rate_carries_data_too() {
    let mut ideal = wired(10, 100, 83);
    ideal.traffic = path("[[traffic]]\nkind = 'bulk'\nsize = '1 MB'\ncount = 2\ndirection = 'reverse'\nextra_delay = ['0 s', '5 ms']\n").traffic;
    let traffic = &result(&ideal, "cubic", 20).traffic[0];
    assert_eq!(
        (traffic.started, traffic.finished, traffic.bytes_delivered),
        (2, 2, 2_000_000)
    );
    assert_eq!(traffic.load_delivered, None);
}

#[test]
fn it_passes_routers() {
    let text = "[[path.router]]\nrate = '20 Mbit/s'\n[[path.router]]\nrate = '15 Mbit/s'\n
        [[traffic]]\nkind = 'bulk'\nsize = '500 kB'\n
        [[traffic]]\nkind = 'bulk'\nname = 'back'\nsize = '500 kB'\ndirection = 'reverse'\nextra_delay = '5 ms'\n";
    let run = result(&path(text), "cubic", 30);
    let delivered: Vec<u64> = run
        .traffic
        .iter()
        .map(|each| each.bytes_delivered)
        .collect();
    assert_eq!(delivered, [500_000, 500_000]);
}

/// Web-like flows that start within half a second complete in the following seconds.
#[test]
fn no_more_is_delivered_than_the_rate_allows() {
    let path =
        path("[[traffic]]\nkind = 'web'\nload = '95 %'\nmean = '2 MB'\nduration = '500 ms'\n");
    let mut largest = 0.0_f64;
    for seed in 0..20 {
        let mut scenario = scenario(&path, "cubic", 20);
        scenario.seed = seed;
        scenario.flows[0].start = Instant::from_secs(19);
        let traffic = &run(&scenario, false).result.traffic[0];
        let delivered = traffic.load_delivered.unwrap();
        assert!(delivered <= 1.0, "{traffic:?}");
        largest = largest.max(delivered);
    }
    assert!(largest > 0.3, "{largest}");
}

#[test]
fn video_writes_its_segments_and_is_idle_between() {
    let path = path(
        "[[traffic]]\nkind = 'video'\nbitrate = '1 Mbit/s'\nsegment = '4 s'\nspread = '0 s'\nduration = '20 s'\n",
    );
    let mut scenario = scenario(&path, "cubic", 30);
    scenario.flows[0].size = Some(Bytes::new(1));
    scenario.flows[0].start = Instant::from_secs(29);
    let run = run(&scenario, false).result;
    let traffic = &run.traffic[0];
    assert_eq!((traffic.started, traffic.finished), (1, 0));
    // Segments of 500 kB at 0, 4, 8, 12 and 16 seconds.
    assert_eq!(
        (traffic.bytes_offered, traffic.bytes_delivered),
        (Some(2_500_000), 2_500_000)
    );
    assert_eq!(traffic.load_delivered, Some(0.1));
}

#[test]
fn datagrams_keep_their_rate_despite_losses() {
    let tables = "[[traffic]]\nkind = 'datagrams'\nrate = '6 Mbit/s'\non = '500 ms'\noff = '500 ms'\nspread = '0 s'\nduration = '60 s'\n";
    let run = result(&path(tables), "cubic", 60);
    let traffic = &run.traffic[0];
    // 1500 bytes every 2 ms, half of the time.
    assert_eq!((traffic.started, traffic.segments_sent), (1, 15_000));
    assert_eq!(traffic.bytes_offered, Some(15_000 * 1472));
    assert!(traffic.segments_lost > 0, "the queue overflows");
    let arrived = traffic.bytes_delivered / 1472;
    let under_way = traffic.segments_sent - traffic.segments_lost - arrived;
    assert!(under_way < 200, "{traffic:?}");
    let expected = 1472.0 * 15_000.0 * 8.0 / 60.0 / 1e7;
    assert!((traffic.load_offered.unwrap() - expected).abs() < 1e-9);
}

/// Both directions of every preset carry background traffic, for any medium.
#[test]
fn every_preset_carries_background_traffic() {
    for preset in scenario::PRESETS {
        let text = format!(
            "[path]\npreset = '{}'\n[[traffic]]\nkind = 'web'\narrivals = '5 /s'\n
            [[traffic]]\nkind = 'bulk'\nsize = '10 kB'\ncount = 2\ndirection = 'reverse'\nextra_delay = ['0 s', '5 ms']\n",
            preset.name
        );
        let path = PathModel::parse(&text, "test.toml", std::path::Path::new(""))
            .unwrap_or_else(|error| panic!("{error}"));
        let run = result(&path, "cubic", 8);
        let delivered: Vec<u64> = run
            .traffic
            .iter()
            .map(|each| each.bytes_delivered)
            .collect();
        assert!(
            delivered[0] > 0 && delivered[1] > 0,
            "{}: {:?}",
            preset.name,
            run.traffic
        );
    }
}

/// Finished flows leave no state behind.
#[test]
fn many_short_flows_leave_nothing() {
    let path =
        path("[[traffic]]\nkind = 'web'\narrivals = '1000 /s'\nmean = '100 bytes'\ncut = '1 kB'\n");
    let traffic = &result(&path, "cubic", 20).traffic[0];
    assert!(
        (19_000..21_000).contains(&traffic.started),
        "{}",
        traffic.started
    );
    assert!(traffic.finished * 10 > traffic.started * 9);
    assert_eq!(traffic.flows, None);
}

#[test]
fn an_application_resumes_after_its_pause() {
    let quiet = wired(50, 100, 413);
    let mut flow = Flow::new(algorithm("cubic"));
    flow.size = Some(Bytes::new(900_000));
    flow.application = scenario::Application::Pausing {
        write: Bytes::new(300_000),
        pause: Duration::from_secs(2),
    };
    let output = common::run_traced(&quiet, flow.clone());
    let result = &output.result.flows[0];
    assert!(result.completed);
    let trace = &output.traces.expect("traced").flows[0];
    let gaps: Vec<f64> = trace
        .time_s
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .filter(|&gap| gap > 1.0)
        .collect();
    // A pause, and a round trip until the next ACK.
    assert_eq!(gaps.len(), 2, "{gaps:?}");
    assert!(
        gaps.iter().all(|gap| (2.1..2.102).contains(gap)),
        "{gaps:?}"
    );

    // If the pause resets the window, the second part takes as long as the first without handshake.
    flow.restart_after_idle = false;
    let kept = common::run_traced(&quiet, flow).result;
    let (shrunk, kept) = (result.fct_s.unwrap(), kept.flows[0].fct_s.unwrap());
    assert!(kept < shrunk - 0.2, "{kept} {shrunk}");
}

#[test]
fn a_slow_application_limits_its_flow() {
    let text = "[path]\nrate = '50 Mbit/s'\nrtt = '100 ms'\n[[flow]]\nalgorithm = 'cubic'\nduration = '20 s'\napplication = { rate = '256 kbit/s' }\n";
    let trickle = Scenario::parse(text, "test.toml", std::path::Path::new("")).unwrap();
    let flow = &run(&trickle, false).result.flows[0];
    assert!(
        (flow.goodput_bps / 256e3 - 1.0).abs() < 0.02,
        "{}",
        flow.goodput_bps
    );
    assert_eq!(flow.slow_start_exit, None);
}

/// Results published under a seed must stay the same: the start times and sizes of all flows,
/// as a hash (FNV-1a).
#[test]
fn starts_and_sizes_are_pinned() {
    let shapes = [
        ("0.5", "20 kB"),
        ("1.0", "14 kB"),
        ("1.3", "9 kB"),
        ("3.0", "50 kB"),
    ];
    let web = |(shape, mean): (&str, &str)| {
        format!(
            "[[traffic]]\nkind = 'web'\narrivals = '5 /s'\nshape = {shape}\nmean = '{mean}'\n\
             list_flows = true\n"
        )
    };
    let path = path(&format!("{MIXED}{}", shapes.map(web).concat()));
    let result = result(&path, "cubic+standard", 30);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |number: u64| {
        for byte in number.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    for (start_s, size) in result.traffic.iter().flat_map(started) {
        add(start_s.to_bits());
        add(size.unwrap_or(0));
    }
    assert_eq!(hash, 12_153_654_260_612_728_164);
}

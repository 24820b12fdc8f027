//! TCP over queues with CoDel, FQ-CoDel, PIE and RED, with drops or marks.

mod common;

use common::{algorithm, run, wired};
use network::{
    CoDelConfig, Discipline, Ecn, FqCoDelConfig, Link, LinkConfig, Packet, PieConfig, QueueConfig,
    QueueLimit, RedConfig, Service, Streams,
};
use scenario::{Flow, PathModel, Scenario};
use units::{Bytes, Duration, Instant};

fn path(discipline: Discipline) -> PathModel {
    // 50 Mbit/s and 100 ms, with a buffer that never fills.
    let mut path = wired(50, 100, 10_000);
    path.forward.queue.discipline = discipline;
    path
}

fn cubic(ecn: bool) -> Flow {
    let mut flow = Flow::new(algorithm("cubic+standard"));
    flow.size = Some(Bytes::new(20_000_000));
    flow.ecn = ecn;
    flow
}

fn codel(ecn: bool) -> Discipline {
    Discipline::CoDel(CoDelConfig {
        ecn,
        ..CoDelConfig::default()
    })
}

fn all(ecn: bool) -> [Discipline; 4] {
    let codel = CoDelConfig {
        ecn,
        ..CoDelConfig::default()
    };
    [
        Discipline::CoDel(codel),
        Discipline::FqCoDel(FqCoDelConfig {
            ecn,
            ..FqCoDelConfig::default()
        }),
        Discipline::Pie(PieConfig {
            ecn,
            ..PieConfig::default()
        }),
        Discipline::Red(RedConfig {
            min: Some(50.0),
            ecn,
            ..RedConfig::default()
        }),
    ]
}

/// RFC 8289: the first drop comes one interval after the sojourn time exceeded 5 ms, about one
/// round trip after the pipe is full.
#[test]
fn slow_start_meets_codel_an_interval_after_the_queue_begins() {
    let output = run(&Scenario::new(path(codel(false)), vec![cubic(false)]), true);
    let flow = &output.result.flows[0];
    let traces = output.traces.expect("traced");
    // The reference calculation expects a window of about two BDPs (of 412.8 packets) then. Here
    // the bursts already queue in the round in which the window exceeds half a BDP, so it is
    // smaller.
    let sent = &traces.flows[0];
    let dropped_s = flow.first_drop_s.expect("it drops");
    let windows = sent.time_s.iter().zip(&sent.cwnd_bytes);
    let before = windows.take_while(|(at, _)| **at <= dropped_s);
    let window = before.map(|(_, bytes)| *bytes).last().expect("a window");
    let bdps = window as f64 / 1448.0 / 412.8;
    println!("a window of {bdps:.2} BDP at the first drop");
    assert!((1.5..2.0).contains(&bdps), "{bdps}");
    let trace = &traces.links[0];
    let five_ms = 50_000_000 / 8 * 5 / 1000;
    let begins = trace
        .time_s
        .iter()
        .zip(&trace.queue_bytes)
        // The last time before the first drop at which the queue was short.
        .take_while(|(at, _)| **at < flow.first_drop_s.expect("it drops"))
        .filter(|(_, bytes)| **bytes <= five_ms)
        .map(|(at, _)| *at)
        .fold(0.0, f64::max);
    let after = flow.first_drop_s.unwrap() - begins;
    assert!((0.100..0.112).contains(&after), "{after}");
    assert!(flow.completed);
    assert_eq!(flow.segments_dropped, Some(output.result.links[0].drops));
}

/// Every drop is attributed to its flow, and every flow completes.
#[test]
fn every_drop_is_attributed_to_its_flow() {
    for discipline in all(false) {
        let mut flows = vec![cubic(false); 3];
        flows[1].start = Instant::from_millis(500);
        flows[2].start = Instant::from_millis(700);
        let output = run(&Scenario::new(path(discipline), flows), false);
        let flows = &output.result.flows;
        assert!(flows.iter().all(|flow| flow.completed), "{discipline:?}");
        let drops: u64 = flows.iter().filter_map(|flow| flow.segments_dropped).sum();
        assert_eq!(drops, output.result.links[0].drops, "{discipline:?}");
        assert!(drops > 0, "{discipline:?}");
        for flow in flows {
            let retransmitted = flow.segments_retransmitted;
            assert!(
                Some(retransmitted) >= flow.segments_dropped,
                "{discipline:?}"
            );
        }
    }
}

/// A mark ends slow start, without a retransmission.
#[test]
fn marks_replace_drops() {
    for discipline in all(true) {
        let output = run(&Scenario::new(path(discipline), vec![cubic(true)]), false);
        let flow = &output.result.flows[0];
        assert!(flow.completed, "{discipline:?}");
        let exit = flow.slow_start_exit.as_ref().expect("an exit");
        assert_eq!(exit.reason, "ecn", "{discipline:?}");
        assert!(output.result.links[0].marks > 0, "{discipline:?}");
        if !matches!(discipline, Discipline::Pie(_) | Discipline::Red(_)) {
            // PIE and RED also drop ECN-capable packets while the queue is very long.
            assert_eq!(flow.segments_dropped, Some(0), "{discipline:?}");
            assert_eq!(flow.segments_retransmitted, 0, "{discipline:?}");
        }
        // Packets that are not ECN-capable are dropped.
        let output = run(&Scenario::new(path(discipline), vec![cubic(false)]), false);
        assert_eq!(output.result.links[0].marks, 0, "{discipline:?}");
        assert!(
            output.result.flows[0].segments_dropped > Some(0),
            "{discipline:?}"
        );
    }
}

/// RFC 3168, section 6.1.5: retransmissions are not ECN-capable. A router before the bottleneck
/// loses packets. CoDel, whose buffer never fills, drops retransmissions and marks other packets.
#[test]
fn retransmissions_are_not_ecn_capable() {
    let text = "[path]\nrate = '20 Mbit/s'\nrtt = '40 ms'\nbuffer = '10000 packets'\naqm = 'codel'\necn = true\n
        [[path.router]]\nrate = '1 Gbit/s'\nloss = '5 %'\n
        [[flow]]\nalgorithm = 'bbr'\nsize = '20 MB'\ncount = 4\necn = true\n";
    let folder = std::path::Path::new("");
    let scenario = Scenario::parse(text, "test.toml", folder).expect("a scenario");
    let result = run(&scenario, false).result;
    let link = &result.links[0];
    let count = |of: fn(&measure::FlowResult) -> u64| result.flows.iter().map(of).sum::<u64>();
    let fraction =
        count(|flow| flow.segments_retransmitted) as f64 / count(|flow| flow.segments_sent) as f64;
    let dropped = link.drops as f64 / (link.drops + link.marks) as f64;
    println!(
        "{} marks, {} drops ({dropped:.3} of both); retransmitted {fraction:.3}",
        link.marks, link.drops
    );
    assert!(link.marks > 100);
    // CoDel acts on the packet at the head, whatever its flow.
    assert!(
        (0.5 * fraction..2.0 * fraction).contains(&dropped),
        "{dropped}"
    );
}

/// FQ-CoDel isolates a short flow from the queue of a long one.
#[test]
fn fq_codel_lets_a_short_flow_pass() {
    let times = [codel(false), all(false)[1]].map(|discipline| {
        let mut short = Flow::new(algorithm("cubic+standard"));
        short.size = Some(Bytes::new(14_000));
        short.start = Instant::ZERO + Duration::from_millis(850);
        let flows = vec![cubic(false), short];
        let output = run(&Scenario::new(path(discipline), flows), false);
        output.result.flows[1].fct_s.expect("completed")
    });
    // It completes after one and a half round trips and ten packets, despite the other flow.
    assert!((0.15..0.156).contains(&times[1]), "{times:?}");
    assert!(times[0] > times[1] + 0.02, "{times:?}");
}

/// In front of every preset's links, a discipline that never acts equals a drop-tail queue: each
/// packet leaves at the same time.
#[test]
fn a_discipline_that_never_acts_changes_no_preset() {
    let never = Discipline::CoDel(CoDelConfig {
        target: Duration::from_secs(1000),
        ..CoDelConfig::default()
    });
    for preset in scenario::PRESETS {
        let path = PathModel::resolve(preset.name).expect("a preset");
        for plain in [path.forward, path.reverse] {
            if plain.service == Service::Unlimited {
                continue;
            }
            let carried = |discipline| {
                let queue = QueueConfig {
                    limit: QueueLimit::Unlimited,
                    discipline,
                };
                let config = LinkConfig {
                    queue,
                    ..plain.clone()
                };
                let mut link: Link<u64> = Link::new(&config, Streams::new(3).stream(&plain.name));
                let mut generator = testing::random::Random::new(11);
                let mut random = |below: u64| generator.below(below);
                let (mut now, mut out) = (Instant::ZERO, Vec::new());
                for number in 0..8_000 {
                    // Bursts, trains and pauses.
                    now += Duration::from_micros(
                        [300_000, 3_000, 300, 0][random(400).min(3) as usize],
                    );
                    out.extend(std::iter::from_fn(|| link.pop(now)));
                    let packet = Packet {
                        size: [52, 1500][random(2) as usize],
                        flow: 0,
                        ecn: Ecn::NotEct,
                        payload: number,
                    };
                    let _ = link.push(now, packet);
                }
                let end = now + Duration::from_secs(3600);
                out.extend(std::iter::from_fn(|| link.pop(end)));
                (out, link.counters())
            };
            let (plain_out, late_out) = (carried(Discipline::DropTail), carried(never));
            assert!(plain_out.0.len() > 1000, "{} {}", preset.name, plain.name);
            assert!(plain_out == late_out, "{} {}", preset.name, plain.name);
        }
    }
}

/// Two runs with the same seed are equal.
#[test]
fn runs_repeat() {
    for discipline in all(true) {
        let scenario = Scenario::new(path(discipline), vec![cubic(true), cubic(false)]);
        let result = || format!("{:?}", run(&scenario, false).result);
        assert_eq!(result(), result());
    }
}

/// RED drops a third of the last window of slow start. SEARCH then tests in fast recovery, because
/// the window is below the threshold, and lowers the threshold to two segments, with which the other
/// losses are repaired. A SEARCH that rests in recovery does what standard slow start does.
#[test]
fn search_that_tests_in_recovery_collapses_behind_red() {
    let text = |algorithm: &str| {
        format!(
            "duration = '10 s'
             seed = 2
             path = {{ rate = '50 Mbit/s', rtt = '40 ms', buffer = '1000 packets',
                      jitter = '500 us', aqm = 'red' }}
             flow = [{{ algorithm = '{algorithm}' }}]"
        )
    };
    let least_threshold = |algorithm: &str| {
        let scenario = Scenario::parse(&text(algorithm), "f.toml", std::path::Path::new(""))
            .unwrap_or_else(|error| panic!("{error}"));
        let output = run(&scenario, true);
        let traces = output.traces.expect("asked for");
        let trace = &traces.flows[0];
        let mut low = u64::MAX;
        for (at, threshold) in trace.time_s.iter().zip(&trace.ssthresh_bytes) {
            if *at < 1.0 {
                low = low.min(threshold.unwrap_or(u64::MAX));
            }
        }
        (low, output.result.flows[0].goodput_bps / 1e6)
    };
    let (low, rate) = least_threshold("cubic+search");
    assert_eq!(low, 2 * 1448);
    assert!(rate < 3.0, "{rate}");
    let standard = least_threshold("cubic+standard");
    assert!(standard.0 > 500_000 && standard.1 > 10.0, "{standard:?}");
    for rested in [
        "cubic+search:in_recovery=rest",
        "cubic+search:as_published=true",
        "cubic+search:version=4.0",
    ] {
        assert_eq!(least_threshold(rested), standard, "{rested}");
    }
}

//! TCP over queues that CoDel, FQ-CoDel, PIE and RED keep, dropping or marking.

mod common;

use common::{algorithm, run, wired};
use network::{
    CoDelConfig, Discipline, Ecn, FqCoDelConfig, Link, LinkConfig, Packet, PieConfig, QueueConfig,
    QueueLimit, RedConfig, Service, Streams,
};
use scenario::{Flow, PathModel, Scenario};
use units::{Bytes, Duration, Instant};

fn path(discipline: Discipline) -> PathModel {
    // 50 Mbit/s and 100 ms, with more room than is ever needed.
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
            codel,
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

/// Network-models A.6: the first drop comes one interval after the wait has passed 5 ms, about one
/// round trip after the pipe is full.
#[test]
fn slow_start_meets_codel_an_interval_after_the_queue_begins() {
    let output = run(&Scenario::new(path(codel(false)), vec![cubic(false)]), true);
    let flow = &output.result.flows[0];
    let traces = output.traces.expect("they were asked for");
    // The notes expect a window of about two BDPs (of 412.8 packets) then. The bursts of the round in which
    // the window passes half a BDP stand in the queue already, so that it is somewhat less.
    let sent = &traces.flows[0];
    let dropped_s = flow.first_drop_s.expect("it drops");
    let windows = sent.time_s.iter().zip(&sent.cwnd_bytes);
    let before = windows.take_while(|(at, _)| **at <= dropped_s);
    let window = before.map(|(_, bytes)| *bytes).last().expect("it had one");
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

/// Every drop of a discipline finds its flow; every flow ends.
#[test]
fn every_discipline_drops_and_every_drop_has_its_flow() {
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

/// A sender that is marked leaves slow start for it and sends nothing again.
#[test]
fn marks_take_the_place_of_drops() {
    for discipline in all(true) {
        let output = run(&Scenario::new(path(discipline), vec![cubic(true)]), false);
        let flow = &output.result.flows[0];
        assert!(flow.completed, "{discipline:?}");
        let exit = flow.slow_start_exit.as_ref().expect("it was marked");
        assert_eq!(exit.reason, "ecn", "{discipline:?}");
        assert!(output.result.links[0].marks > 0, "{discipline:?}");
        if !matches!(discipline, Discipline::Pie(_) | Discipline::Red(_)) {
            // The other two drop the capable as well while the queue is very long.
            assert_eq!(flow.segments_dropped, Some(0), "{discipline:?}");
            assert_eq!(flow.segments_retransmitted, 0, "{discipline:?}");
        }
        // Who is not capable is dropped as ever.
        let output = run(&Scenario::new(path(discipline), vec![cubic(false)]), false);
        assert_eq!(output.result.links[0].marks, 0, "{discipline:?}");
        assert!(
            output.result.flows[0].segments_dropped > Some(0),
            "{discipline:?}"
        );
    }
}

/// RFC 3168, section 6.1.5: what is sent again is not capable. A router before the bottleneck loses packets; CoDel, which
/// has room for all, drops of what comes again where it marks of what comes first.
#[test]
fn what_is_sent_again_is_not_capable() {
    let text = "[path]\nrate = '20 Mbit/s'\nrtt = '40 ms'\nbuffer = '10000 packets'\naqm = 'codel'\necn = true\n
        [[path.router]]\nrate = '1 Gbit/s'\nloss = '5 %'\n
        [[flow]]\nalgorithm = 'bbr'\nsize = '20 MB'\ncount = 4\necn = true\n";
    let folder = std::path::Path::new("");
    let scenario = Scenario::parse(text, "test.toml", folder).expect("a scenario");
    let result = run(&scenario, false).result;
    let link = &result.links[0];
    let count = |of: fn(&measure::FlowResult) -> u64| result.flows.iter().map(of).sum::<u64>();
    let share =
        count(|flow| flow.segments_retransmitted) as f64 / count(|flow| flow.segments_sent) as f64;
    let dropped = link.drops as f64 / (link.drops + link.marks) as f64;
    println!(
        "{} marks, {} drops: {dropped:.3} of them; sent again {share:.3}",
        link.marks, link.drops
    );
    assert!(link.marks > 100);
    // CoDel takes whoever is at the head.
    assert!((0.5 * share..2.0 * share).contains(&dropped), "{dropped}");
}

/// A short flow beside a long one: FQ-CoDel keeps it from the other's queue.
#[test]
fn fq_codel_lets_a_short_flow_pass() {
    let times = [codel(false), all(false)[1]].map(|discipline| {
        let mut short = Flow::new(algorithm("cubic+standard"));
        short.size = Some(Bytes::new(14_000));
        short.start = Instant::ZERO + Duration::from_millis(850);
        let flows = vec![cubic(false), short];
        let output = run(&Scenario::new(path(discipline), flows), false);
        output.result.flows[1].fct_s.expect("it is done")
    });
    // The receiver has it after one and a half round trips and ten packets, whoever else is there.
    assert!((0.15..0.156).contains(&times[1]), "{times:?}");
    assert!(times[0] > times[1] + 0.02, "{times:?}");
}

/// In front of every preset's links too, whatever their model, a discipline that never acts is a drop-tail queue: each packet
/// comes out when it would have.
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
                let mut state = 11_u64;
                let mut random = move |below: u64| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    (state >> 33) % below
                };
                let (mut now, mut out) = (Instant::ZERO, Vec::new());
                for number in 0..8_000 {
                    // Bursts, trains and rests.
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

/// The same run twice is the same run.
#[test]
fn runs_repeat() {
    for discipline in all(true) {
        let scenario = Scenario::new(path(discipline), vec![cubic(true), cubic(false)]);
        let result = || format!("{:?}", run(&scenario, false).result);
        assert_eq!(result(), result());
    }
}

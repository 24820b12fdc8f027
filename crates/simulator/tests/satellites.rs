//! The satellite presets compared with the runs of Kachooei 2024 with HyStart off, to which they
//! are calibrated, and with a reference calculation (docs/reference/sources.md, "Geostationary
//! return link" and "Low Earth orbit").

mod common;

use common::{algorithm, run};
use network::access::LeoConfig;
use network::{AccessConfig, Ecn, Link, LossConfig, Packet, QueueLimit, Service, Streams};
use scenario::{AckPolicy, Flow, PathModel, Scenario};
use simulator::RunOptions;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use units::{Bytes, Duration, Instant, Rate};

fn baseline(path: PathModel, seconds: u64) -> Scenario {
    let mut flow = Flow::new(algorithm("cubic+standard"));
    // The hosts of Kachooei 2024 have receive buffers larger than the gateway's queue.
    flow.receive_buffer = Bytes::new(256 << 20);
    flow.duration = Some(Duration::from_secs(seconds));
    let mut scenario = Scenario::new(path, vec![flow]);
    scenario.duration = Some(Duration::from_secs(seconds));
    scenario
}

fn mean_sd(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0)).sqrt())
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Capacity (by the latency heuristic), first loss and smallest RTT of runs with HyStart off.
#[expect(clippy::print_stdout, reason = "tests print their measurements")]
fn table(name: &str, runs: u32, seconds: u64) -> [Vec<f64>; 3] {
    let scenario = baseline(PathModel::resolve(name).expect("a preset"), seconds);
    let [mut capacity, mut loss, mut least] = [const { Vec::new() }; 3];
    for number in 0..runs {
        let options = RunOptions {
            traces: false,
            ..RunOptions::default()
        };
        let output = simulator::run(&scenario, number, &options, &AtomicBool::new(false));
        let output = output.expect("not cancelled");
        let flow = &output.result.flows[0];
        capacity.extend(flow.capacity.latency_offset_s);
        loss.extend(flow.first_loss_s);
        least.extend(flow.rtt_min_ms);
    }
    for (what, values) in [
        ("capacity", &capacity),
        ("first loss", &loss),
        ("smallest RTT, ms", &least),
    ] {
        let (mean, sd) = mean_sd(values);
        let (median, count) = (median(values), values.len());
        println!(
            "{name} {what}: {count} of {runs} runs, median {median:.2}, mean {mean:.2} ({sd:.2})"
        );
    }
    [capacity, loss, least]
}

/// The peak of the RTT's spectrum before saturation, in Hz, from 0.2 Hz on: resampled every 50 ms,
/// linear trend removed, Hann window, averaged over `runs` runs.
#[expect(clippy::print_stdout, reason = "tests print their measurements")]
fn peak(name: &str, runs: u32) -> f64 {
    let scenario = baseline(PathModel::resolve(name).expect("a preset"), 20);
    let mut spectrum = vec![0.0; 200];
    for number in 0..runs {
        let options = RunOptions {
            traces: true,
            ..RunOptions::default()
        };
        let output = simulator::run(&scenario, number, &options, &AtomicBool::new(false));
        let output = output.expect("not cancelled");
        let end = output.result.flows[0]
            .capacity
            .true_s
            .expect("it saturates");
        let trace = &output.traces.expect("traced").flows[0];
        let samples: Vec<(f64, f64)> = trace
            .time_s
            .iter()
            .zip(&trace.rtt_ms)
            .filter_map(|(at, trip)| trip.map(|trip| (*at, trip)))
            .collect();
        let first = samples[0].0;
        let count = ((end - first) / 0.05) as usize;
        let at = |step: usize| first + 0.05 * step as f64;
        let values = (0..count).map(|step| {
            let next = samples.partition_point(|sample| sample.0 <= at(step));
            samples[next - 1].1
        });
        let values: Vec<f64> = values.collect();
        let (mean, middle) = (mean_sd(&values).0, (count as f64 - 1.0) / 2.0);
        let moments = values
            .iter()
            .enumerate()
            .fold((0.0, 0.0), |(up, down), (step, value)| {
                let off = step as f64 - middle;
                (up + off * (value - mean), down + off * off)
            });
        let slope = moments.0 / moments.1;
        for (place, sum) in spectrum.iter_mut().enumerate() {
            let turn = core::f64::consts::TAU * 0.01 * place as f64 * 0.05;
            let (mut cosine, mut sine) = (0.0, 0.0);
            for (step, value) in values.iter().enumerate() {
                let step = step as f64;
                let window = 0.5 - 0.5 * (core::f64::consts::TAU * step / count as f64).cos();
                let value = (value - mean - slope * (step - middle)) * window;
                cosine += value * (turn * step).cos();
                sine += value * (turn * step).sin();
            }
            *sum += cosine.hypot(sine) / count as f64;
        }
    }
    let best = (20..200).max_by(|a, b| spectrum[*a].total_cmp(&spectrum[*b]));
    let peak = 0.01 * best.expect("a place") as f64;
    println!("{name}: the spectrum of {runs} runs has its peak at {peak:.2} Hz");
    peak
}

/// Kachooei 2024, table 5.1: capacity 11.8 (2.6) s, first loss 22.9 (8.7) s, means of 77 runs.
#[test]
fn the_geostationary_preset_matches_kachooei_2024() {
    let [capacity, loss, least] = table("geo", 50, 120);
    assert_eq!(capacity.len(), 50);
    assert!(loss.len() >= 49);
    // Two standard errors of both means: 2 sqrt(2.6^2/77 + 1.2^2/50) and 2 sqrt(8.7^2/77 + 7^2/50).
    assert!((mean_sd(&capacity).0 - 11.8).abs() < 0.7);
    assert!((mean_sd(&loss).0 - 22.9).abs() < 2.8);
    // Standard deviations: for capacity, about half to all of the published one; for loss, about
    // the published one.
    assert!((0.9..=2.6).contains(&mean_sd(&capacity).1));
    assert!((5.5..=10.0).contains(&mean_sd(&loss).1));
    assert!((580.0..=625.0).contains(&median(&least)));
}

/// Kachooei 2024, section 4.3: the peak is at 0.5 Hz.
#[test]
fn the_return_delay_has_a_period_of_two_seconds() {
    for name in ["geo", "geo-reduced"] {
        let peak = peak(name, 16);
        assert!((peak - 0.5).abs() <= 0.15, "{name} {peak}");
    }
}

/// The return delay of `geo` falls by at most pi x 0.48 s / 2 s = 0.754 per second, so that ACKs
/// sent a millisecond apart arrive at least 0.246 ms apart. In the simple form, whose delay swings by
/// 0.7 s, ACKs catch up with those before them.
#[test]
fn the_return_delay_of_geo_falls_more_slowly_than_time_passes() {
    let closest_ms = |name: &str| {
        let mut reverse = PathModel::resolve(name).unwrap().reverse;
        // The swing alone, without the wait for a frame.
        reverse.service = Service::Unlimited;
        let mut link = Link::new(&reverse, Streams::new(1).stream("path.reverse"));
        for ms in 0..4_000_u64 {
            let packet = Packet {
                size: 52,
                flow: 0,
                ecn: Ecn::NotEct,
                payload: ms,
            };
            link.push(Instant::from_millis(ms), packet);
        }
        let mut arrivals = Vec::new();
        while let Some((at, _)) = link.pop(Instant::from_secs(60)) {
            arrivals.push(at.as_nanos() as f64 / 1e6);
        }
        assert_eq!(arrivals.len(), 4_000);
        let gaps = arrivals.windows(2).map(|pair| pair[1] - pair[0]);
        gaps.fold(f64::MAX, f64::min)
    };
    let closest = closest_ms("geo");
    assert!((0.245..0.250).contains(&closest), "{closest}");
    assert_eq!(closest_ms("geo-reduced"), 0.0);
}

/// Kachooei 2024, table 5.1: capacity 0.4 (0.1) s, first loss 0.6 (0.1) s, means of 77 runs; every
/// run exits late. The smallest RTT is about 30 ms.
#[test]
fn the_low_orbit_preset_matches_kachooei_2024() {
    let [capacity, loss, least] = table("leo", 100, 5);
    assert!(capacity.len() >= 98 && loss.len() == 100);
    // The table gives tenths of a second; two standard errors of both means come on top:
    // 2 sqrt(0.1^2/77 + 0.09^2/100).
    assert!((mean_sd(&capacity).0 - 0.4).abs() <= 0.05 + 0.029);
    assert!((mean_sd(&loss).0 - 0.6).abs() <= 0.05);
    assert!(mean_sd(&capacity).1 <= 0.15 && mean_sd(&loss).1 <= 0.15);
    assert!((25.0..=36.0).contains(&median(&least)));
}

/// Jitter alone triggers HyStart's delay rule in every run. Kachooei 2024 found early exits in all
/// runs; the model has them in most.
#[test]
fn jitter_makes_hystart_exit_early_in_most_runs() {
    let mut scenario = baseline(PathModel::resolve("leo").expect("a preset"), 5);
    scenario.flows[0].algorithm = algorithm("cubic+hystart").into();
    let mut early = 0;
    for number in 0..40 {
        let options = RunOptions {
            traces: false,
            ..RunOptions::default()
        };
        let output = simulator::run(&scenario, number, &options, &AtomicBool::new(false));
        let output = output.expect("not cancelled");
        let flow = &output.result.flows[0];
        let exit = flow.slow_start_exit.as_ref().expect("it ends");
        assert_eq!(exit.reason, "delay", "run {number}");
        early += u32::from(flow.exit_class == Some(measure::ExitClass::Early));
    }
    println!("{early} of 40 runs leave slow start early");
    assert!((24..=40).contains(&early), "{early}");
}

/// Classic slow start over 100 Mbit/s: a low-orbit link without variation equals a link of fixed
/// rate, except for its bursts.
#[test]
fn slow_start_over_a_link_without_variation() {
    for (rtt_ms, buffer, drop_s, detected_s) in [
        (45, 1_000_000, 0.408, 0.533),
        (45, 1_500_000, 0.448, 0.613),
        (30, 1_000_000, 0.282, 0.392),
        (60, 1_000_000, 0.543, 0.683),
    ] {
        let rate = Rate::from_bits_per_sec(100_000_000);
        let steady = LeoConfig {
            spread: 0.0,
            wander: 0.0,
            burst: 0.0,
            step: Duration::ZERO,
            drift: Duration::ZERO,
            jitter: Duration::ZERO,
            phase: Some(Duration::from_secs(10)),
            ..LeoConfig::measured(rate)
        };
        let bursts = Service::Access(Arc::new(AccessConfig::Leo(steady)));
        for (what, service, within) in [
            ("fixed", Service::Fixed(rate), 0.03),
            ("bursts", bursts, 0.06),
        ] {
            let mut path = common::wired(100, rtt_ms, 1);
            path.forward.service = service;
            path.forward.queue.limit = QueueLimit::Bytes(Bytes::new(buffer));
            path.forward.loss = LossConfig::None;
            let mut flow = Flow::new(algorithm("reno"));
            flow.ack_policy = AckPolicy::EverySegment;
            flow.size = Some(Bytes::new(20_000_000));
            let output = run(&Scenario::new(path, vec![flow]), false);
            let flow = &output.result.flows[0];
            let found = [flow.first_drop_s, flow.first_loss_s].map(|at| at.expect("it overshoots"));
            println!(
                "{rtt_ms} ms, {buffer} bytes, {what}: first drop {:.3}, detected {:.3}",
                found[0], found[1]
            );
            for (found, expected) in found.into_iter().zip([drop_s, detected_s]) {
                assert!(
                    (found - expected).abs() <= within * expected,
                    "{what}: {found}, reference {expected}"
                );
            }
        }
    }
}

/// A return link that filters ACKs, with losses on the path. It suppresses thousands of ACKs, but
/// every transfer completes, and the five runs together have no more retransmissions and timeouts
/// than without the filter. The filter never suppresses an ACK with more than an ACK number.
#[test]
fn the_ack_filter_keeps_every_ack_that_a_sender_needs() {
    let text = |filter: bool| {
        format!(
            "[path]\npreset = 'geo'\nreverse.rate = {{ model = 'dama', ack_filter = {filter} }}\nloss = '0.05 %'\n\
             [[flow]]\nalgorithm = 'cubic+standard'\nsize = '20 MB'\n"
        )
    };
    let mut all = [[0; 2]; 2];
    for seed in 1..=5 {
        let runs = [false, true].map(|filter| {
            let folder = std::path::Path::new("");
            let mut scenario =
                Scenario::parse(&text(filter), "test.toml", folder).expect("a scenario");
            scenario.seed = seed;
            run(&scenario, false).result
        });
        for (filter, (result, all)) in [false, true].into_iter().zip(runs.iter().zip(&mut all)) {
            let (flow, reverse) = (&result.flows[0], &result.links[1]);
            println!(
                "{seed}: {:?} s, {} retransmitted, {} lost, {} timeouts, {} ACKs arrived, {} suppressed",
                flow.fct_s,
                flow.segments_retransmitted,
                flow.segments_lost,
                flow.timeouts,
                reverse.packets,
                reverse.drops
            );
            assert!(flow.completed);
            assert_eq!(reverse.drops > 1000, filter);
            assert!(filter || reverse.drops == 0);
            all[0] += flow.segments_retransmitted;
            all[1] += flow.timeouts;
        }
    }
    let [plain, thinned] = all;
    assert!(thinned[0] <= plain[0] && thinned[1] <= plain[1], "{all:?}");
}

/// As the model of a router, the return link filters the ACKs of traffic in the reverse direction.
#[test]
fn a_router_filters_acks_too() {
    let drops = |filter: bool| {
        let text = format!(
            "[path]\nrate = '100 kbit/s'\nrtt = '600 ms'\nreverse.rate = '20 Mbit/s'\n
            [[path.router]]\nrate = {{ model = 'dama', ack_filter = {filter} }}\nbuffer = '10000 packets'\n
            [[traffic]]\nkind = 'bulk'\ndirection = 'reverse'\n
            [[flow]]\nalgorithm = 'cubic'\nsize = '1 B'\nstart = '29 s'\n"
        );
        let folder = std::path::Path::new("");
        let scenario = Scenario::parse(&text, "test.toml", folder).expect("a scenario");
        let result = run(&scenario, false).result;
        let router = result.links.iter().find(|link| link.name == "router 1");
        router.expect("the router").drops
    };
    assert_eq!(drops(false), 0);
    assert!(drops(true) > 100);
}

#[test]
fn the_sender_declares_only_dropped_segments_lost() {
    // A frame delivers hundreds of ACKs at once, and each lets the sender send.
    let mut scenario = baseline(PathModel::resolve("geo").expect("a preset"), 30);
    scenario.flows[0].algorithm = algorithm("cubic+search").into();
    let mut dropped = 0;
    for number in 0..5 {
        let options = RunOptions {
            traces: false,
            ..RunOptions::default()
        };
        let output = simulator::run(&scenario, number, &options, &AtomicBool::new(false));
        let output = output.expect("not cancelled");
        let flow = &output.result.flows[0];
        let in_network = flow.segments_dropped.expect("a simulated network");
        assert!(
            flow.segments_lost <= in_network,
            "run {number}: {} declared lost by the sender, {in_network} dropped by the network",
            flow.segments_lost
        );
        dropped += in_network;
    }
    assert!(dropped > 5000, "only {dropped} were dropped");
}

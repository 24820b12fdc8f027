//! `characterize` measures a path's rate and delay, on the same channel as a run with the same seed.

mod common;

use std::sync::atomic::AtomicBool;

use common::{algorithm, run_traced};
use measure::Characterization;
use scenario::{Flow, PRESETS, PathModel};
use simulator::characterize;
use units::Duration;

fn at(path: &PathModel, seed: u64, seconds: u64) -> Characterization {
    let span = Duration::from_secs(seconds);
    let every = Duration::from_millis(10);
    characterize(path, seed, span, every, &AtomicBool::new(false)).expect("not cancelled")
}

fn preset(name: &str) -> PathModel {
    PathModel::resolve(name).expect("a preset")
}

#[test]
fn a_wired_path_has_its_configured_rate_and_delay() {
    let found = at(&preset("wired"), 1, 10);
    assert_eq!(found.deliveries.len(), 1, "the reverse link has no rate");
    let forward = &found.deliveries[0];
    // 50 Mbit/s of 1514 bytes for 10 s.
    assert_eq!(forward.time_s.len(), 41_281);
    assert_eq!(forward.packet_bytes, 1514);
    assert_eq!(found.probes.len(), 1000);
    for probe in &found.probes {
        // 98 bytes at 50 Mbit/s are 15.68 us.
        assert!((probe.forward_s.expect("none is lost") - 0.050_015_68).abs() < 1e-9);
        assert!((probe.reverse_s.expect("none is lost") - 0.05).abs() < 1e-9);
    }
}

#[test]
fn a_policer_passes_no_more_than_its_tokens() {
    let found = at(&preset("policed"), 1, 10);
    let bytes = found.deliveries[0].time_s.len() as f64 * 1514.0;
    let tokens = 500e3 + 50e6 / 8.0 * 10.0;
    // The queue is refilled every millisecond, so tokens since the last refused packet are unused.
    assert!(
        bytes <= tokens && bytes > tokens - 3.0 * 1514.0 - 6250.0,
        "{bytes} of {tokens}"
    );
}

#[test]
fn every_preset_has_about_its_mean_rate() {
    for each in PRESETS {
        let path = preset(each.name);
        let found = at(&path, 3, 20);
        // Averaged over several seeds, because the rate of GEO varies from run to run.
        let bits = |found: &Characterization| {
            let forward = &found.deliveries[0];
            let bits = forward.time_s.len() as f64 * f64::from(forward.packet_bytes) * 8.0;
            bits / forward.end_s
        };
        let sum: f64 = (1..=8).map(|seed| bits(&at(&path, seed, 10))).sum();
        let fraction = sum / 8.0 / path.rate.bits_per_sec() as f64;
        println!("{}: {fraction:.3} of the mean rate", each.name);
        assert!((0.6..1.7).contains(&fraction), "{}: {fraction}", each.name);
        let ordered = |times: &[f64]| times.windows(2).all(|two| two[0] <= two[1]);
        assert!(found.deliveries.iter().all(|one| ordered(&one.time_s)));
        let lost = found
            .probes
            .iter()
            .filter(|probe| probe.forward_s.is_none());
        assert!(lost.count() < found.probes.len() / 10, "{}", each.name);
        let least = |of: &dyn Fn(&measure::Probe) -> Option<f64>| {
            found
                .probes
                .iter()
                .filter_map(of)
                .fold(f64::INFINITY, f64::min)
        };
        let (there, back) = (
            least(&|probe| probe.forward_s),
            least(&|probe| probe.reverse_s),
        );
        assert!(
            there >= path.forward.delay.as_secs_f64() - 1e-9,
            "{}: {there}",
            each.name
        );
        assert!(
            back >= path.reverse.delay.as_secs_f64() - 1e-9,
            "{}: {back}",
            each.name
        );
    }
}

/// A flow that saturates the link gets the rate that `characterize` reports.
#[test]
fn a_run_with_the_same_seed_has_the_same_channel() {
    let mut path = preset("lte-reduced");
    path.forward.queue.limit = network::QueueLimit::Unlimited;
    let mut flow = Flow::new(algorithm("reno"));
    flow.duration = Some(Duration::from_secs(20));
    let output = run_traced(&path, flow);
    let link = &output.result.links[0];
    // The run's seed is 1. The small difference is capacity that the start-up left unused.
    for (seed, same) in [(1, true), (2, false)] {
        let seen = at(&path, seed, 20);
        let given = seen.deliveries[0].time_s.len() as f64;
        let fraction = link.packets as f64 / given;
        println!("seed {seed}: {fraction}, {} packets", link.packets);
        assert_eq!((0.97..1.0).contains(&fraction), same, "{fraction}");
    }
}

#[test]
fn the_seed_determines_the_result() {
    let path = preset("leo");
    assert_eq!(at(&path, 5, 5), at(&path, 5, 5));
    assert_ne!(at(&path, 5, 5), at(&path, 6, 5));
}

//! Runs that differ in what a passive start-up decides are one simulation, with the results that
//! each has alone.

mod common;

use std::sync::atomic::AtomicBool;

use common::algorithm;
use scenario::{Flow, PathModel, Scenario};
use simulator::{RunOptions, groups_of_alike, run, run_alike};
use units::{Bytes, Duration};

/// A passive start-up over a preset.
fn passive(preset: &str, options: &str, seconds: u64) -> Scenario {
    let mut flow = Flow::new(algorithm(&format!("cubic+search:passive=true{options}")));
    flow.duration = Some(Duration::from_secs(seconds));
    let path = PathModel::resolve(preset).expect("a preset");
    let mut scenario = Scenario::new(path, vec![flow]);
    scenario.seed = 7;
    scenario
}

const SETTINGS: [&str; 6] = [
    "",
    ",window=2,threshold=20",
    ",window=5.5,threshold=45",
    ",bins=40,extra_bins=60",
    ",extra_bins=1",
    ",as_published=true",
];

#[test]
fn each_run_has_the_result_that_it_has_alone() {
    let cancel = AtomicBool::new(false);
    let mut exits = Vec::new();
    for (preset, seconds) in [("geo", 30), ("leo", 3), ("lte", 10), ("wifi-weak", 3)] {
        let scenarios = SETTINGS.map(|options| passive(preset, options, seconds));
        for number in 0..2 {
            let runs: Vec<_> = scenarios
                .iter()
                .map(|scenario| (scenario, number))
                .collect();
            assert_eq!(groups_of_alike(&runs).len(), 1, "{preset}");
            let together = run_alike(&runs, &cancel).expect("not cancelled");
            assert_eq!(together.len(), runs.len());
            for (shared, (scenario, number)) in together.iter().zip(&runs) {
                let options = RunOptions::default();
                let alone = run(scenario, *number, &options, &cancel).expect("not cancelled");
                assert_eq!(shared.result, alone.result, "{preset}, run {number}");
            }
            let flows = together.iter().map(|output| &output.result.flows[0]);
            exits.extend(flows.map(|flow| flow.passive_exit.as_ref().map(|exit| exit.time_s)));
        }
    }
    // They decide at different times, and some never.
    assert!(exits.iter().any(Option::is_none));
    exits.sort_by(|one, other| one.partial_cmp(other).expect("times"));
    exits.dedup();
    assert!(exits.len() > 20, "{} different times", exits.len());
}

/// A run that ends before the handshake, and one whose SYN never leaves.
#[test]
fn runs_that_hardly_begin_have_their_results_too() {
    let cancel = AtomicBool::new(false);
    for (start_ms, end_ms) in [(0, 100), (200, 100)] {
        let scenarios = SETTINGS.map(|options| {
            let mut scenario = passive("geo", options, 1);
            scenario.flows[0].start = units::Instant::from_millis(start_ms);
            scenario.duration = Some(Duration::from_millis(end_ms));
            scenario
        });
        let runs: Vec<_> = scenarios.iter().map(|scenario| (scenario, 0)).collect();
        let together = run_alike(&runs, &cancel).expect("not cancelled");
        for (shared, scenario) in together.iter().zip(&scenarios) {
            let options = RunOptions::default();
            let alone = run(scenario, 0, &options, &cancel).expect("not cancelled");
            assert_eq!(shared.result, alone.result);
        }
    }
}

#[test]
fn only_runs_of_one_transfer_are_one_group() {
    let own = passive("leo", "", 3);
    let other = passive("leo", ",threshold=20", 3);
    let mut next = own.clone();
    next.seed += 1;
    let mut larger = own.clone();
    larger.flows[0].size = Some(Bytes::new(1_000_000));
    let mut pair = own.clone();
    pair.flows.push(pair.flows[0].clone());
    let mut active = own.clone();
    active.flows[0].algorithm = algorithm("cubic+search").into();
    let holding = passive("leo", ",few_bins=hold", 3);
    let elsewhere = passive("lte", "", 3);
    let runs = [
        (&own, 0),
        (&next, 0),
        (&larger, 0),
        (&pair, 0),
        (&active, 0),
        (&holding, 0),
        (&elsewhere, 0),
        (&active, 0),
        (&pair, 0),
        (&other, 0),
        (&own, 1),
    ];
    let groups = groups_of_alike(&runs);
    let expected: [&[usize]; 9] = [&[0, 9], &[1, 10], &[2], &[3], &[4], &[5], &[6], &[7], &[8]];
    assert_eq!(groups, expected);
}

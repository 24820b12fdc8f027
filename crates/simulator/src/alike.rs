//! Runs that differ only in what a passive start-up decides, in one simulation.
//!
//! A passive start-up acts on nothing that it decides, so the transfer is the same to the last packet
//! whatever its parameters ([`Algorithm::acts_as`](congestion::Algorithm::acts_as)). The other
//! start-ups watch the first one's transfer, and each run gets the result that it has alone.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use scenario::Scenario;

use crate::{RunError, RunOptions, RunOutput, legs, world};

/// Whether two scenarios of one flow of the simulated TCP are one transfer in each run.
fn are_alike(one: &Scenario, other: &Scenario) -> bool {
    let ([flow], [others]) = (&*one.flows, &*other.flows) else {
        return false;
    };
    if flow.stack.is_foreign() || !flow.algorithm.acts_as(&others.algorithm) {
        return false;
    }
    let mut same = other.clone();
    same.flows[0].name.clone_from(&flow.name);
    same.flows[0].algorithm = flow.algorithm.clone();
    same.summary.clone_from(&one.summary);
    // Run 1 of one seed is run 0 of the next.
    (same.runs, same.seed) = (one.runs, one.seed);
    same == *one
}

/// The places of `runs`, scenarios with run numbers, in groups for [`run_alike`]. Groups are in the
/// order of their first runs.
#[must_use]
pub fn groups_of_alike(runs: &[(&Scenario, u32)]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut by_seed: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (place, (scenario, run)) in runs.iter().enumerate() {
        let is_passive = |flow: &scenario::Flow| flow.algorithm.acts_as(&flow.algorithm);
        if scenario.flows.iter().all(is_passive) {
            let seed = scenario.seed.wrapping_add(u64::from(*run));
            let there = by_seed.entry(seed).or_default();
            let first = |group: &&usize| runs[groups[**group][0]].0;
            if let Some(&group) = there.iter().find(|group| are_alike(first(group), scenario)) {
                groups[group].push(place);
                continue;
            }
            there.push(groups.len());
        }
        groups.push(vec![place]);
    }
    groups
}

/// Runs a group of [`groups_of_alike`], without time series or packets.
///
/// # Errors
/// Those of [`crate::run`].
pub fn run_alike(
    runs: &[(&Scenario, u32)],
    cancel: &AtomicBool,
) -> Result<Vec<RunOutput>, RunError> {
    let Some(((scenario, run), others)) = runs.split_first() else {
        return Ok(Vec::new());
    };
    let legs = legs::Legs::of(scenario);
    let world = world::World::new(scenario, &legs, *run, &RunOptions::default());
    let watching = others.iter().map(|(other, _)| &other.flows[0]).collect();
    let (first, mut watched) = world.watched_by(watching).run(cancel)?;
    if watched.is_empty() {
        // The flow has not started.
        watched = vec![first.result.flows[0].clone(); others.len()];
        for (flow, (other, _)) in watched.iter_mut().zip(others) {
            flow.name = other.flows[0].name.as_str().into();
            flow.algorithm = other.flows[0].algorithm.name().into();
        }
    }
    let mut outputs = vec![first];
    for (flow, (_, run)) in watched.into_iter().zip(others) {
        let mut output = outputs[0].clone();
        output.result.run = *run;
        output.result.flows = vec![flow];
        outputs.push(output);
    }
    Ok(outputs)
}

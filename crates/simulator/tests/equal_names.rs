//! Two names of one algorithm give the same results.

mod common;

use common::{algorithm, run};
use scenario::{Flow, PRESETS, PathModel, Scenario};
use units::Bytes;

/// The results of one transfer of 1 MB, without the names of the flow and its algorithm.
fn results(preset: &str, name: &str) -> String {
    let model = PathModel::resolve(preset).expect(preset);
    let mut flow = Flow::new(algorithm(name));
    flow.size = Some(Bytes::new(1_000_000));
    let mut result = run(&Scenario::new(model, vec![flow]), false).result;
    result.flows[0].algorithm = "".into();
    result.flows[0].name = "".into();
    format!("{:?} {:?}", result.flows, result.links)
}

#[test]
fn bbrp_with_a_pace_of_one_is_bbr_over_every_preset() {
    for preset in PRESETS {
        let [plain, paced] = ["bbr", "bbrp:pace=1"].map(|name| results(preset.name, name));
        assert_eq!(plain, paced, "{}", preset.name);
    }
}

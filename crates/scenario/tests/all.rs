//! The tests of scenarios: files in, models or sentences out.

mod cellular;
mod clouds;
mod hosts;
mod map;
mod paths;
mod quantities;
mod random;
mod routers;
mod rrc;
mod scenarios;
mod support;
mod topologies;
mod traces;
mod traffic;
mod wifi;
mod workloads;

#[test]
fn every_file_of_tests_is_a_module() {
    testing::modules::assert_complete(env!("CARGO_MANIFEST_DIR"), "all.rs");
}

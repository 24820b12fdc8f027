//! The tests of links, queues, access networks and routers.

mod aqm;
mod cells;
mod columns;
mod common;
mod dual_pi2;
mod geo;
mod hsdpa;
mod interfaces;
mod leo;
mod marks;
mod medium;
mod numbers;
mod policer;
mod properties;
mod reordering;
mod routers;
mod rrc;
mod serialization;
mod token_bucket;
mod trace;
mod trace_statistics;
mod trains;
mod wifi;

#[test]
fn every_file_of_tests_is_a_module() {
    testing::modules::assert_complete(env!("CARGO_MANIFEST_DIR"), "all.rs");
}

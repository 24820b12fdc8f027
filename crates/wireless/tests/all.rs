//! The tests of ad-hoc networks and constellations.

mod aodv;
mod common;
mod constellation;
mod constellation_packets;
mod dsdv;
mod layers;
mod lowpan;
mod mobility;
mod published;

#[test]
fn every_file_of_tests_is_a_module() {
    testing::modules::assert_complete(env!("CARGO_MANIFEST_DIR"), "all.rs");
}

//! The memory of hosts: those that no connection has used, and those whose connections are over.
//!
//! Both are in one test, so that no other test of the process takes memory meanwhile.
#![cfg(target_os = "linux")]

mod common;

use std::path::Path;

use common::{peak, run};
use measure::RunResult;
use scenario::Scenario;

/// Short connections for ten seconds, one after the other, to `count` hosts in turn.
fn connections(per_second: u32, count: u32) -> RunResult {
    let text = format!(
        "duration = '10 s'
        [path]
        rate = '100 Mbit/s'
        rtt = '10 ms'
        [[node]]
        name = 'a'
        [[link]]
        from = 'right'
        to = 'a'
        [[hosts]]
        name = 'clients'
        at = 'a'
        count = {count}
        rate = '100 Mbit/s'
        [[traffic]]
        kind = 'web'
        arrivals = '{per_second} /s'
        mean = '1 kB'
        cut = '5 kB'
        to = 'clients'
        [[flow]]
        algorithm = 'cubic'
        application = {{ rate = '10 kbit/s' }}"
    );
    let scenario = Scenario::parse(&text, "f.toml", Path::new("")).expect("a valid scenario");
    run(&scenario, false).result
}

#[test]
fn a_host_costs_nothing_before_its_first_connection_and_three_kilobytes_after_it() {
    // About ten connections, among one host and among 99,000.
    connections(1, 1);
    let before = peak();
    connections(1, 99_000);
    let each = (peak() - before) / 99_000;
    println!("{each} bytes for each of 99,000 hosts without a connection");
    assert!(each < 20, "{each} bytes for each host without a connection");
    let one = connections(1000, 1);
    assert!(one.traffic[0].finished > 9_000, "{:?}", one.traffic[0]);
    let before = peak();
    let all = connections(1000, 9_000);
    assert!(all.traffic[0].finished > 9_000, "{:?}", all.traffic[0]);
    // Each host has had a connection, which is over: two links keep the rings of their packets.
    let each = (peak() - before) / 9_000;
    println!("{each} bytes for each of 9,000 hosts that have had a connection");
    assert!(
        (100..3_000).contains(&each),
        "{each} bytes for each host that has had a connection"
    );
}

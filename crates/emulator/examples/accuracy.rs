//! How accurate the emulator is on this machine: `accuracy [RUNS [SECONDS]]`, as root, prints the
//! table of docs/guides/accuracy.md.
//!
//! In each run the kernel's TCP keeps a link saturated without overflowing it. Figures are medians
//! over the runs that passed the emulator's timing self-check; the table has the number of those
//! that failed. Above 144 Mbit/s all runs count.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a measurement prints its results, and panics if it fails"
)]

#[path = "../tests/common/mod.rs"]
mod common;

use emulator::SelfCheck;
use units::Duration;

/// Rates in Mbit/s and round trips in ms.
const PATHS: [(u64, u64); 5] = [(10, 60), (50, 100), (100, 45), (144, 100), (1000, 20)];

/// Above this rate every run counts.
const CLAIMED: u64 = 144;

fn main() {
    let mut numbers = std::env::args_os()
        .skip(1)
        .map(|word| word.to_str().and_then(|text| text.parse().ok()));
    let mut number = |default: u64| numbers.next().unwrap_or(Some(default));
    let (Some(runs), Some(seconds)) = (number(7), number(4)) else {
        println!("accuracy [RUNS [SECONDS]]");
        return;
    };
    println!(
        "| path | runs | invalid | goodput / ideal | lateness p50 | p99 | worst | probe - RTT | \
         CPU |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (mbits, rtt) in PATHS {
        let measured: Vec<(f64, SelfCheck)> = (0..runs)
            .map(|_| {
                let (rate, report) = common::goodput(mbits, Duration::from_millis(rtt), seconds);
                // 1448 bytes of payload in each packet of 1500.
                (rate / (mbits as f64 * 1e6 * 1448.0 / 1500.0), report.check)
            })
            .collect();
        for reason in measured.iter().flat_map(|(_, check)| &check.reasons) {
            eprintln!("{mbits} Mbit/s, {rtt} ms: {reason}");
        }
        let good: Vec<&(f64, SelfCheck)> = measured
            .iter()
            .filter(|(_, check)| check.valid || mbits > CLAIMED)
            .collect();
        let invalid = measured.iter().filter(|(_, check)| !check.valid).count();
        if good.is_empty() {
            println!("| {mbits} Mbit/s, {rtt} ms | {runs} | {invalid} | - | - | - | - | - | - |");
            continue;
        }
        let median = |value: &dyn Fn(&(f64, SelfCheck)) -> f64| {
            let mut values: Vec<f64> = good.iter().map(|run| value(run)).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let late = |at: fn(&SelfCheck) -> Option<u64>| {
            median(&move |(_, check)| at(check).unwrap_or(0) as f64 / 1e3)
        };
        println!(
            "| {mbits} Mbit/s, {rtt} ms | {runs} | {invalid} | {:.5} | {:.3} ms | {:.3} ms | \
             {:.1} ms | {:.2} ms | {:.0} % |",
            median(&|(goodput, _)| *goodput),
            late(|check| check.lateness_p50_us),
            late(|check| check.lateness_p99_us),
            late(|check| check.lateness_max_us),
            median(&|(_, check)| check.probe_rtt_ms.unwrap_or(f64::NAN) - check.base_rtt_ms),
            100.0 * median(&|(_, check)| check.cpu_share),
        );
    }
}

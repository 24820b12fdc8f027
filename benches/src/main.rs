//! `make bench`: data packets through the bottleneck per second of processor time, and peak memory.
//!
//! Each scenario runs in a process of its own (so that its peak memory is its own), several times
//! in turn; the median is printed. A result depends on the machine: a regression is judged by
//! running before and after on the same machine, in turns.
//!
//! `bench` runs all; `bench S2 S3` some; `bench --repeat 9 S1` more often. `bench acks` tells what
//! each algorithm costs for an ACK.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark measures the machine and prints"
)]

mod acks;
mod scenarios;
#[cfg(test)]
mod traffic;

use std::process::{Command, ExitCode};
use std::sync::atomic::AtomicBool;

use scenarios::{Bench, all};

/// What one process measured.
struct Measured {
    packets: u64,
    cpu_seconds: f64,
    peak_kilobytes: u64,
}

fn main() -> ExitCode {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name] = names.as_slice()
        && flag == "--one"
    {
        return one(name);
    }
    if names == ["acks"] {
        acks();
        return ExitCode::SUCCESS;
    }
    let mut repeat = 5;
    if let Some(at) = names.iter().position(|word| word == "--repeat") {
        match names.get(at + 1).and_then(|word| word.parse().ok()) {
            Some(times) if times > 0 => repeat = times,
            _ => {
                eprintln!("bench: --repeat takes a positive number");
                return ExitCode::from(2);
            }
        }
        names.drain(at..at + 2);
    }
    let benches: Vec<Bench> = all()
        .into_iter()
        .filter(|bench| names.is_empty() || names.iter().any(|name| name == bench.name))
        .collect();
    if benches.is_empty() {
        eprintln!("bench: no such scenario; there are S1, S2, S3, S4, S5, and acks");
        return ExitCode::from(2);
    }
    println!(
        "{:<4} {:<52} {:>9} {:>9} {:>16} {:>9}",
        "", "scenario", "packets", "CPU s", "M packets/s", "peak MB"
    );
    for bench in &benches {
        let mut runs: Vec<Measured> = (0..repeat)
            .filter_map(|_| in_own_process(bench.name))
            .collect();
        runs.sort_by(|a, b| a.cpu_seconds.total_cmp(&b.cpu_seconds));
        let Some(middle) = runs.get(runs.len() / 2) else {
            eprintln!("bench: {} did not run", bench.name);
            return ExitCode::FAILURE;
        };
        let rate = |measured: &Measured| measured.packets as f64 / measured.cpu_seconds / 1e6;
        println!(
            "{:<4} {:<52} {:>9} {:>9.3} {:>5.2} ({:.2}-{:.2}) {:>9.1}",
            bench.name,
            bench.summary,
            middle.packets,
            middle.cpu_seconds,
            rate(middle),
            runs.last().map_or(0.0, rate),
            runs.first().map_or(0.0, rate),
            middle.peak_kilobytes as f64 / 1024.0,
        );
    }
    ExitCode::SUCCESS
}

/// Runs a scenario in a child, which prints its three numbers.
fn in_own_process(name: &str) -> Option<Measured> {
    let output = Command::new(std::env::current_exe().ok()?)
        .args(["--one", name])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut words = text.split_whitespace();
    Some(Measured {
        packets: words.next()?.parse().ok()?,
        cpu_seconds: words.next()?.parse().ok()?,
        peak_kilobytes: words.next()?.parse().ok()?,
    })
}

fn one(name: &str) -> ExitCode {
    let Some(bench) = all().into_iter().find(|bench| bench.name == name) else {
        return ExitCode::from(2);
    };
    let scenario = (bench.build)();
    let before = cpu_seconds();
    let never = AtomicBool::new(false);
    let Ok(output) = simulator::run(&scenario, 0, &simulator::RunOptions::default(), &never) else {
        return ExitCode::FAILURE;
    };
    let spent = cpu_seconds() - before;
    println!(
        "{} {} {}",
        output.result.links[0].packets,
        spent,
        peak_kilobytes()
    );
    ExitCode::SUCCESS
}

/// Prints what an ACK costs in each algorithm: the median of five measurements.
fn acks() {
    // The scheduler's account moves in steps of some milliseconds.
    const COUNT: u64 = 3_000_000;
    let cost = |run: fn(&congestion::Algorithm, u64), algorithm: &congestion::Algorithm| {
        let mut times = [(); 5].map(|()| {
            let before = cpu_seconds();
            run(algorithm, COUNT);
            cpu_seconds() - before
        });
        times.sort_by(f64::total_cmp);
        times[2] / COUNT as f64 * 1e9
    };
    println!(
        "{:<24} {:>18} {:>18}",
        "ns per ACK", "in slow start", "after a loss"
    );
    for algorithm in acks::algorithms() {
        println!(
            "{:<24} {:>18.0} {:>18.0}",
            algorithm.name(),
            cost(acks::slow_start, &algorithm),
            cost(acks::after_a_loss, &algorithm),
        );
    }
}

/// Processor time of this process, from the scheduler's own account in nanoseconds.
fn cpu_seconds() -> f64 {
    std::fs::read_to_string("/proc/self/schedstat")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok())
        .map_or(f64::NAN, |nanos| nanos / 1e9)
}

/// The most memory that this process ever had resident.
fn peak_kilobytes() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
            line.split_whitespace().nth(1)?.parse().ok()
        })
        .unwrap_or(0)
}

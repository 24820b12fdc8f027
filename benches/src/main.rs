//! `make bench`: data packets through the bottleneck per CPU second, and peak memory.
//!
//! Each scenario runs in separate processes, so that its peak memory can be measured. A process
//! repeats the scenario and reads its own CPU time around each repetition. Medians and quartiles
//! cover all repetitions. Absolute figures depend on the machine: to judge a change, run the
//! versions before and after it alternately (`make bench BASE=COMMIT`, which calls `bench --against
//! PROGRAM`).
//!
//! `bench` runs all scenarios, `bench S2 S3` a selection, and `bench --repeat 9 S1` more processes
//! of each. `bench flows` prints the cost of 10 to 10,000 flows, `bench hosts` that between 10 to
//! 100,000 hosts, `bench windows` that of 1000 to 100,000 packets in flight when slow start ends with
//! a loss, and `bench million` that of a million connections. `bench acks` prints the cost of an ACK for each algorithm, and `bench
//! instructions` the instructions per packet by component.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark measures the machine and prints"
)]

mod acks;
mod clock;
mod instructions;
mod scenarios;
#[cfg(test)]
mod traffic;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::AtomicBool;

use clock::{Quartiles, children_cpu_seconds, cpu_seconds, peak_kilobytes};
use scenarios::{Bench, all, by_hosts, many_flows, million, usual, windows};

/// That of the Python module. Tests count allocations with one of their own.
#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A process repeats its scenario for about this many CPU seconds, and at least three times.
const SECONDS: f64 = 0.4;
const LEAST: usize = 3;
/// Pairs of runs of `--against`.
const PAIRS: usize = 15;

const USAGE: &str = "usage: bench [--repeat N] [--against PROGRAM] [SCENARIO ...]\n\
                     \x20      SCENARIO: S1 to S7, F10 to F10000, L1000, H10 to H100000, C1M, A40,\n\
                     \x20                A40R, W1000 to W100000, flows, hosts, million, windows\n\
                     \x20      bench instructions [S1 ...]\n\
                     \x20      bench acks";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.as_slice() {
        [flag, name] if flag == "--one" => return one(name, 1, 0.0),
        [flag, name, more] if flag == "--one" && more == "--many" => {
            return one(name, LEAST, SECONDS);
        }
        [word] if word == "acks" => {
            acks();
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    match Options::read(words) {
        Ok(options) => options.run(),
        Err(message) => {
            eprintln!("bench: {message}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// The options on the command line.
struct Options {
    repeat: Option<usize>,
    against: Option<PathBuf>,
    instructions: bool,
    benches: Vec<Bench>,
}

impl Options {
    fn read(mut words: Vec<String>) -> Result<Self, String> {
        let mut value = |flag: &str| -> Result<Option<String>, String> {
            let Some(at) = words.iter().position(|word| word == flag) else {
                return Ok(None);
            };
            words.remove(at);
            let given = (at < words.len()).then(|| words.remove(at));
            given.map(Some).ok_or(format!("{flag} needs a value"))
        };
        let number = |text: String| {
            let number = text.parse().ok().filter(|&number| number > 0);
            number.ok_or("--repeat takes a positive number".to_owned())
        };
        let repeat = value("--repeat")?.map(number).transpose()?;
        let against = value("--against")?.map(PathBuf::from);
        let instructions = words.first().is_some_and(|word| word == "instructions");
        let names = &words[usize::from(instructions)..];
        let benches = match names {
            [] => Vec::from(usual()),
            names => {
                let mut benches = Vec::new();
                for name in names {
                    benches.extend(named(name)?);
                }
                benches
            }
        };
        Ok(Self {
            repeat,
            against,
            instructions,
            benches,
        })
    }

    fn run(&self) -> ExitCode {
        let done = if self.instructions {
            self.benches.iter().try_for_each(print_instructions)
        } else if let Some(base) = &self.against {
            print_against(&self.benches, base, self.repeat.unwrap_or(PAIRS))
        } else {
            print_rates(&self.benches, self.repeat.unwrap_or(5))
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => {
                eprintln!("bench: {message}");
                ExitCode::FAILURE
            }
        }
    }
}

/// The scenario or the group of scenarios called `name`.
fn named(name: &str) -> Result<Vec<Bench>, String> {
    let found: Vec<Bench> = match name {
        "flows" => many_flows().into(),
        "hosts" => by_hosts().into(),
        "million" => million().into(),
        "windows" => windows().into(),
        name => all().filter(|bench| bench.name == name).collect(),
    };
    if found.is_empty() {
        return Err(format!("unknown scenario {name}"));
    }
    Ok(found)
}

fn print_rates(benches: &[Bench], repeat: usize) -> Result<(), String> {
    println!(
        "{:<7} {:<55} {:>9} {:>9} {:>23} {:>6} {:>8}",
        "", "scenario", "packets", "CPU ms", "M packets/s (quartiles)", "ns", "peak MB"
    );
    let program = own_program()?;
    for bench in benches {
        let mut seconds = Vec::new();
        let mut packets = 0;
        let mut peak = 0;
        for _ in 0..repeat {
            let measured = Measured::of(&program, bench.name, true)?;
            seconds.extend(measured.seconds);
            packets = measured.packets;
            peak = peak.max(measured.peak_kilobytes);
        }
        let seconds = Quartiles::of(seconds).ok_or("there is no measurement")?;
        let rate = |seconds: f64| packets as f64 / seconds / 1e6;
        println!(
            "{:<7} {:<55} {packets:>9} {:>9.2} {:>23} {:>6.0} {:>8.1}",
            bench.name,
            bench.summary,
            seconds.median * 1e3,
            format!(
                "{:.2} ({:.2}-{:.2})",
                rate(seconds.median),
                rate(seconds.high),
                rate(seconds.low)
            ),
            seconds.median * 1e9 / packets as f64,
            peak as f64 / 1024.0,
        );
    }
    Ok(())
}

/// Runs this program and another one alternately, and prints the ratio of their speeds.
fn print_against(benches: &[Bench], base: &Path, pairs: usize) -> Result<(), String> {
    println!(
        "{:<7} {:<55} {:>9} {:>9} {:>22}",
        "", "scenario", "base M/s", "M/s", "times base (quartiles)"
    );
    let program = own_program()?;
    for bench in benches {
        // An older program does not repeat within a process, and reads a coarser clock.
        let repeats = Measured::of(base, bench.name, true).is_ok();
        let cost = |program: &Path| -> Result<(f64, u64), String> {
            if repeats {
                let measured = Measured::of(program, bench.name, true)?;
                let seconds = Quartiles::of(measured.seconds).ok_or("there is no measurement")?;
                return Ok((seconds.median, measured.packets));
            }
            let before = children_cpu_seconds();
            let measured = Measured::of(program, bench.name, false)?;
            Ok((children_cpu_seconds() - before, measured.packets))
        };
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        let mut ratios = Vec::new();
        for pair in 0..pairs {
            // The order alternates, so that drift of the machine favours neither program.
            let (mine, other) = if pair % 2 == 0 {
                let mine = cost(&program)?;
                (mine, cost(base)?)
            } else {
                let other = cost(base)?;
                (cost(&program)?, other)
            };
            ours.push(mine.1 as f64 / mine.0 / 1e6);
            theirs.push(other.1 as f64 / other.0 / 1e6);
            ratios.push(other.0 / mine.0);
        }
        let [ours, theirs, ratios] = [ours, theirs, ratios].map(Quartiles::of);
        let (Some(ours), Some(theirs), Some(ratio)) = (ours, theirs, ratios) else {
            return Err("there is no measurement".to_owned());
        };
        println!(
            "{:<7} {:<55} {:>9.2} {:>9.2} {:>8.3} ({:.3}-{:.3}){}",
            bench.name,
            bench.summary,
            theirs.median,
            ours.median,
            ratio.median,
            ratio.low,
            ratio.high,
            if repeats { "" } else { "  whole processes" },
        );
    }
    Ok(())
}

fn print_instructions(bench: &Bench) -> Result<(), String> {
    let (packets, components) = instructions::count(bench.name)?;
    let total: u64 = components.values().sum();
    let per_packet = |count: u64| count as f64 / packets as f64;
    println!(
        "{} {}: {:.0} instructions per packet",
        bench.name,
        bench.summary,
        per_packet(total)
    );
    for (component, count) in components {
        println!("    {component:<24} {:>8.1}", per_packet(count));
    }
    Ok(())
}

fn own_program() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| error.to_string())
}

/// The measurements of one process.
struct Measured {
    packets: u64,
    peak_kilobytes: u64,
    /// CPU seconds of each repetition.
    seconds: Vec<f64>,
}

impl Measured {
    /// Runs `program --one NAME`. It prints its packets, the CPU seconds of its first repetition,
    /// its peak memory in kilobytes, and with `--many` the CPU seconds of all further repetitions.
    fn of(program: &Path, name: &str, many: bool) -> Result<Self, String> {
        let output = Command::new(program)
            .args(["--one", name])
            .args(many.then_some("--many"))
            .stderr(Stdio::null())
            .output()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let numbers: Vec<f64> = text
            .split_whitespace()
            .map_while(|word| word.parse().ok())
            .collect();
        match numbers.as_slice() {
            [packets, first, peak, rest @ ..] if output.status.success() => Ok(Self {
                packets: *packets as u64,
                peak_kilobytes: *peak as u64,
                seconds: std::iter::once(first).chain(rest).copied().collect(),
            }),
            _ => Err(format!("{} did not run {name}", program.display())),
        }
    }
}

/// Repeats a scenario `least` times and for at least `seconds`, and prints its cost.
fn one(name: &str, least: usize, seconds: f64) -> ExitCode {
    let Some(bench) = all().find(|bench| bench.name == name) else {
        return ExitCode::from(2);
    };
    let scenario = (bench.build)();
    let never = AtomicBool::new(false);
    let mut costs: Vec<f64> = Vec::new();
    let mut packets = 0;
    while costs.len() < least || costs.iter().sum::<f64>() < seconds {
        let before = cpu_seconds();
        let options = simulator::RunOptions::default();
        let Ok(output) = simulator::run(&scenario, 0, &options, &never) else {
            return ExitCode::FAILURE;
        };
        costs.push(cpu_seconds() - before);
        let network = output.result.network.as_ref();
        let frames = network.and_then(|network| network.air.as_ref());
        packets = frames.map_or_else(|| output.result.links[0].packets, |air| air.frames);
    }
    let first = costs.remove(0);
    println!("{packets} {first} {}", peak_kilobytes());
    for cost in costs {
        println!("{cost}");
    }
    ExitCode::SUCCESS
}

/// Prints the cost of an ACK for each algorithm: the median of five measurements.
fn acks() {
    const COUNT: u64 = 300_000;
    let cost = |run: fn(&congestion::Algorithm, u64), algorithm: &congestion::Algorithm| {
        let times = [(); 5].map(|()| {
            let before = cpu_seconds();
            run(algorithm, COUNT);
            cpu_seconds() - before
        });
        let median = Quartiles::of(times.to_vec()).map_or(f64::NAN, |times| times.median);
        median / COUNT as f64 * 1e9
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

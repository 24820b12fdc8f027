//! Shared by the tests in the running kernel.
#![allow(dead_code, reason = "each test file uses some of it")]

#[path = "../../../emulator/tests/common/turns.rs"]
pub mod turns;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kernel_stack::{self as stack, StackOptions, StackOutput};
use measure::{FlowResult, SlowStartExitResult, Traces};
use scenario::Scenario;
use simulator::{RunOptions, RunOutput};
use testing::notes::skip;

/// One test at a time: two would be measured against each other.
static ONE: Mutex<()> = Mutex::new(());

/// A turn, where the kernel can be changed; if not, why is noted.
pub fn allowed() -> Option<MutexGuard<'static, ()>> {
    let turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let reason = kernel::missing_for_guests().join("\n");
    if !reason.is_empty() {
        skip(&reason);
        return None;
    }
    Some(turn)
}

#[allow(clippy::print_stdout, reason = "a test says what it measured")]
pub fn print(line: &str) {
    println!("{line}");
}

/// A flow over a path with a rate in Mbit/s, an RTT in milliseconds, and a buffer.
pub fn scenario(algorithm: &str, (rate, rtt, buffer): (u32, u32, &str), size: &str) -> Scenario {
    let text = format!(
        "[path]\nrate = \"{rate} Mbit/s\"\nrtt = \"{rtt} ms\"\nbuffer = \"{buffer}\"\noverhead = \"0 bytes\"\n\n[[flow]]\nalgorithm = \"{algorithm}\"\nsize = \"{size}\"\n"
    );
    Scenario::parse(&text, "test.toml", Path::new(".")).expect("a scenario")
}

fn simulation(scenario: &Scenario, traces: bool) -> RunOutput {
    let cancel = AtomicBool::new(false);
    simulator::run(
        scenario,
        0,
        &RunOptions {
            traces,
            ..RunOptions::default()
        },
        &cancel,
    )
    .expect("a run")
}

pub fn simulated(scenario: &Scenario) -> FlowResult {
    simulation(scenario, false).result.flows[0].clone()
}

/// The time series of a simulation.
pub fn traced(scenario: &Scenario) -> Traces {
    simulation(scenario, true).traces.expect("traces")
}

/// A run on the kernel.
pub fn run(scenario: &Scenario, attempt: u32, options: &StackOptions) -> StackOutput {
    let cancel = AtomicBool::new(false);
    let output = stack::run(scenario, attempt, options, &cancel).expect("a run");
    assert!(output.result.flows[0].completed, "{:?}", output.result);
    output
}

/// Time in seconds, window in segments, and the reason.
pub fn exit(exit: Option<&SlowStartExitResult>) -> Option<(f64, f64, String)> {
    let exit = exit?;
    Some((
        exit.time_s,
        exit.cwnd_bytes as f64 / 1448.0,
        exit.reason.to_string(),
    ))
}

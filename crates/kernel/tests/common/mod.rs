//! What the tests in the running kernel share.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use emulator::stack::{self, StackOptions, StackOutput};
use measure::{FlowResult, SlowStartExitResult, Traces};
use scenario::Scenario;
use simulator::{RunOptions, RunOutput};

/// How often a run may try to show something on a busy machine.
const ATTEMPTS: u32 = 8;

/// In how many runs that the emulator vouches for a difference has to come to be believed. A host is
/// stalled now and then where the emulator cannot see it; a difference that is not the machine's comes
/// again in each.
const BELIEVED: u32 = 3;

/// One test at a time: two would be measured against each other.
static ONE: Mutex<()> = Mutex::new(());

/// Whether a skipped test is a failure.
pub fn required() -> bool {
    let names = ["CI", "SLOWSTART_REQUIRE_ROOT_TESTS"];
    names.iter().any(|name| std::env::var_os(name).is_some())
}

/// A turn, where the kernel can be changed; if not, why is printed.
pub fn allowed() -> Option<MutexGuard<'static, ()>> {
    let turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let reason = kernel::missing_for_guests().join("\n");
    assert!(reason.is_empty() || !required(), "{reason}");
    if !reason.is_empty() {
        print(&format!("skipped: {reason}"));
        return None;
    }
    Some(turn)
}

#[allow(clippy::print_stdout, reason = "a test says what it measured")]
pub fn print(line: &str) {
    println!("{line}");
}

/// What a run showed.
pub struct Shown {
    /// What was to be shown.
    pub agrees: bool,
    /// Whether the emulator vouches for it.
    pub vouched: bool,
}

/// Makes runs until one shows `what`, which no stalled machine does by chance; fails where enough
/// runs that the emulator vouches for did not.
pub fn assert_shown(what: &str, attempt: impl FnMut(u32) -> Shown) {
    let mut against = 0;
    for shown in (0..ATTEMPTS).map(attempt) {
        if shown.agrees {
            return;
        }
        against += u32::from(shown.vouched);
        assert!(against < BELIEVED, "{what}: {against} runs do not show it");
    }
    print(&format!(
        "{what}: not judged, the emulator vouches for {against} of {ATTEMPTS} runs on this machine now"
    ));
}

/// A flow over a path of so many Mbit/s, milliseconds and multiples of the BDP.
pub fn scenario(algorithm: &str, (rate, rtt, buffer): (u32, u32, &str), size: &str) -> Scenario {
    let text = format!(
        "[path]\nrate = \"{rate} Mbit/s\"\nrtt = \"{rtt} ms\"\nbuffer = \"{buffer}\"\noverhead = \"0 bytes\"\n\n[[flow]]\nalgorithm = \"{algorithm}\"\nsize = \"{size}\"\n"
    );
    Scenario::parse(&text, "test.toml", Path::new(".")).expect("a scenario")
}

fn simulation(scenario: &Scenario, traces: bool) -> RunOutput {
    let cancel = AtomicBool::new(false);
    simulator::run(scenario, 0, &RunOptions { traces }, &cancel).expect("a run")
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
        exit.reason.clone(),
    ))
}

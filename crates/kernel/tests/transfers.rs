//! The congestion controls on the running kernel: loaded, selected by sockets behind an emulated
//! path, compared with the simulator on the same path, and unloaded.
//!
//! Needs `--features bpf`, the objects of `make -C bpf`, and root. What is missing is printed and
//! the test skipped; it fails instead where `CI` or `SLOWSTART_REQUIRE_ROOT_TESTS` is set.
#![cfg(all(feature = "bpf", target_os = "linux"))]

use std::path::Path;
use std::sync::atomic::AtomicBool;

use emulator::stack::{self, KernelName, Kind, StackOptions};
use kernel::{CONTROLS, Control, Error, ExitAction, Options, load, needs, status, unload};
use measure::FlowResult;
use scenario::Scenario;

/// Base round trip of the path in seconds; a bin of SEARCH is 0.35 of it.
const RTT: f64 = 0.06;
/// How often a run is repeated that the emulator declares invalid, because the machine is busy.
const ATTEMPTS: u32 = 8;

/// Whether a skipped test is a failure.
fn required() -> bool {
    let names = ["CI", "SLOWSTART_REQUIRE_ROOT_TESTS"];
    names.iter().any(|name| std::env::var_os(name).is_some())
}

/// Whether the kernel can be changed; if not, why is printed.
fn allowed() -> bool {
    let missing: Vec<String> = needs()
        .into_iter()
        .filter_map(|need| need.missing)
        .collect();
    let reason = missing.join("\n");
    let required = ["CI", "SLOWSTART_REQUIRE_ROOT_TESTS"];
    let required = required.iter().any(|name| std::env::var_os(name).is_some());
    assert!(missing.is_empty() || !required, "{reason}");
    if !missing.is_empty() {
        print(&format!("skipped: {reason}"));
    }
    missing.is_empty()
}

#[allow(clippy::print_stdout, reason = "a test says what it measured")]
fn print(line: &str) {
    println!("{line}");
}

fn scenario(algorithm: &str) -> Scenario {
    let text = format!(
        "[path]\nrate = \"20 Mbit/s\"\nrtt = \"60 ms\"\nbuffer = \"6 bdp\"\noverhead = \"0 bytes\"\n\n[[flow]]\nalgorithm = \"{algorithm}\"\nsize = \"5 MB\"\n"
    );
    Scenario::parse(&text, "test.toml", Path::new(".")).expect("a scenario")
}

fn simulated(algorithm: &str) -> FlowResult {
    let options = simulator::RunOptions::default();
    let cancel = AtomicBool::new(false);
    let output = simulator::run(&scenario(algorithm), 0, &options, &cancel).expect("a run");
    output.result.flows[0].clone()
}

/// The flow on the kernel, with what the kernel calls its algorithm. `None` where it carried every
/// transfer, but the emulator vouches for none, because the host stalls its guests: then its times
/// cannot be judged.
fn on_the_kernel(algorithm: &str, kernel: &str) -> Option<FlowResult> {
    let scenario = scenario(algorithm);
    let canonical = congestion::Algorithm::parse(algorithm)
        .expect("known")
        .to_string();
    let exit = if kernel.starts_with("ss_search") {
        "search"
    } else if kernel == "ss_hspp" {
        "css-rounds"
    } else {
        "ssthresh"
    };
    let mut options = StackOptions::default();
    options.names.push(KernelName {
        algorithm: canonical,
        kernel: kernel.to_owned(),
        kind: Kind {
            exit,
            decrease: Some((717, 1024)),
            hystart: false,
        },
    });
    let cancel = AtomicBool::new(false);
    let expected = simulated(algorithm).fct_s.expect("a complete transfer");
    let mut vouched = None;
    let mut why = String::new();
    for attempt in 0..ATTEMPTS {
        let output = stack::run(&scenario, attempt, &options, &cancel).expect("a run");
        assert_eq!(output.congestion, [kernel], "the socket has another one");
        let flow = &output.result.flows[0];
        assert!(flow.completed, "{flow:?}");
        // A host that was stalled where the emulator cannot see it gets more turns; a difference that
        // is not the machine's comes again in each.
        let as_expected = flow
            .fct_s
            .is_some_and(|fct| (fct / expected - 1.0).abs() < 0.02);
        if output.check.valid {
            vouched = Some(flow.clone());
            if as_expected {
                return vouched;
            }
        }
        why = format!("{:?}", output.check);
    }
    if vouched.is_none() {
        print(&format!(
            "{kernel}: not judged, the machine is too busy: {why}"
        ));
    }
    vouched
}

/// The exit on the kernel beside the simulated one.
fn compare(control: &Control, kernel: &FlowResult, simulated: &FlowResult) {
    let exit = |flow: &FlowResult| {
        let exit = flow.slow_start_exit.as_ref().expect("an exit");
        (
            exit.time_s,
            exit.cwnd_bytes as f64 / 1448.0,
            exit.reason.to_string(),
        )
    };
    let (kernel_exit, simulated_exit) = (exit(kernel), exit(simulated));
    print(&format!(
        "{}: exit after {:.3} s at {:.0} segments ({}), {} retransmitted; simulated {:.3} s, {:.0} ({}), {}",
        control.name,
        kernel_exit.0,
        kernel_exit.1,
        kernel_exit.2,
        kernel.segments_retransmitted,
        simulated_exit.0,
        simulated_exit.1,
        simulated_exit.2,
        simulated.segments_retransmitted,
    ));
    assert!(kernel.completed);
    assert_eq!(kernel_exit.2, simulated_exit.2, "{}", control.name);
    // Two bins, or one round, which the own queue has made longer than the base.
    let slack = (2.0 * 0.35 * RTT).max(simulated.rtt_p95_ms.unwrap_or(0.0) / 1_000.0);
    assert!(
        (kernel_exit.0 - simulated_exit.0).abs() <= slack,
        "{}: {} s and {} s",
        control.name,
        kernel_exit.0,
        simulated_exit.0
    );
}

fn is_loaded(name: &str) -> bool {
    let status = status();
    let mut controls = status.controls.iter();
    controls.any(|there| there.control.name == name && there.loaded)
}

/// Unloads what this test loaded, also when it fails.
struct Unload(&'static str);

impl Drop for Unload {
    fn drop(&mut self) {
        if is_loaded(self.0) {
            let _ = unload(&[self.0]);
        }
    }
}

#[test]
fn every_control_carries_a_transfer() {
    if !allowed() {
        return;
    }
    for control in CONTROLS {
        // Somebody may use it; on a machine that is there for tests, a test that was killed left it.
        if is_loaded(control.name) && required() {
            unload(&[control.name]).expect("unloaded");
        } else if is_loaded(control.name) {
            print(&format!("skipped: {} is loaded already", control.name));
            continue;
        }
        let _unload = Unload(control.name);
        let loaded = load(&[control.name], &Options::default()).expect("loaded");
        assert_eq!(loaded, [control]);
        assert!(is_loaded(control.name));
        let again = load(&[control.name], &Options::default()).expect_err("twice");
        assert!(matches!(again, Error::Invalid(_)), "{again}");
        if let Some(kernel) = on_the_kernel(control.algorithm, control.name) {
            let simulated = simulated(control.algorithm);
            match control.name {
                "ss_search" => {
                    compare(control, &kernel, &simulated);
                    options(&kernel);
                }
                "ss_search40" => drained(control, &kernel, &simulated),
                _ => compare(control, &kernel, &simulated),
            }
        }
        if is_loaded(control.name) {
            assert_eq!(unload(&[control.name]), Ok(vec![control]));
        }
        assert!(!is_loaded(control.name));
        assert!(unload(&[control.name]).is_err());
    }
}

/// A drain sets the threshold only when it is over, and that is what the kernel shows; so the whole
/// transfer is compared, and the exit of the same SEARCH without a drain.
fn drained(control: &Control, kernel: &FlowResult, drained: &FlowResult) {
    let fct = |flow: &FlowResult| flow.fct_s.expect("a complete transfer");
    let (kernel_fct, simulated_fct) = (fct(kernel), fct(drained));
    print(&format!(
        "{}: complete after {kernel_fct:.3} s, {} retransmitted; simulated {simulated_fct:.3} s, {}",
        control.name, kernel.segments_retransmitted, drained.segments_retransmitted
    ));
    assert_eq!(
        kernel.segments_retransmitted,
        drained.segments_retransmitted
    );
    assert!((kernel_fct / simulated_fct - 1.0).abs() < 0.05);
    unload(&[control.name]).expect("unloaded");
    let plain = Options {
        exit: Some(ExitAction::Plain),
        ..Options::default()
    };
    load(&[control.name], &plain).expect("loaded");
    let algorithm = "cubic+search:version=4.0,arithmetic=percent,exit=plain";
    if let Some(kernel) = on_the_kernel(algorithm, control.name) {
        compare(control, &kernel, &simulated(algorithm));
    }
}

/// With a rollback the window after the exit is smaller than without; with a threshold of 100 %
/// SEARCH never exits.
fn options(plain: &FlowResult) {
    let name = "ss_search";
    let exit = |flow: &FlowResult| {
        let exit = flow.slow_start_exit.as_ref();
        exit.map(|exit| (exit.reason.to_string(), exit.cwnd_bytes))
    };
    assert_eq!(exit(plain).expect("an exit").0, "search");
    for (algorithm, options) in [
        (
            "cubic+search:version=2.0,arithmetic=percent,exit=rollback",
            Options {
                exit: Some(ExitAction::Rollback),
                ..Options::default()
            },
        ),
        (
            "cubic+search:version=2.0,arithmetic=percent,threshold=100",
            Options {
                threshold_permille: Some(1_000),
                ..Options::default()
            },
        ),
    ] {
        unload(&[name]).expect("unloaded");
        load(&[name], &options).expect("loaded");
        let Some(kernel) = on_the_kernel(algorithm, name) else {
            continue;
        };
        let simulated = simulated(algorithm);
        print(&format!(
            "{algorithm}: {:?}, simulated {:?}",
            exit(&kernel),
            exit(&simulated)
        ));
        assert_eq!(
            exit(&kernel).map(|exit| exit.0 == "search"),
            exit(&simulated).map(|exit| exit.0 == "search")
        );
    }
}

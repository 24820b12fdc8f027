//! The congestion controls on the running kernel: loaded, selected by sockets behind an emulated
//! path, compared with the simulator on the same path, and unloaded.
//!
//! Needs `--features bpf`, the objects of `make -C bpf`, and root. Where something is missing, the
//! test prints it and is skipped, or fails if `CI` or `SLOWSTART_REQUIRE_ROOT_TESTS` is set.
#![cfg(all(feature = "bpf", target_os = "linux"))]

mod common;

use kernel::{CONTROLS, Control, Error, Guest, Wanted, load, status, unload};
use kernel_stack::{Sampler, StackOptions};

use measure::{FlowResult, FlowTrace};

use common::turns::with_turns;
use common::{allowed, exit, print, run, scenario, simulated, traced};
use testing::notes::{required, skip};

/// Mbit/s, milliseconds and buffer of the path; a bin of SEARCH is 0.35 of the round trip.
const PATH: (u32, u32, &str) = (20, 60, "6 bdp");

/// Each congestion control with its defaults, and with options.
const ALGORITHMS: &[&str] = &[
    "cubic+standard",
    "cubic+hystart++",
    "cubic+hystart++:form=patch",
    "cubic+hystart:variant=paper",
    "cubic+suss",
    "bic+standard",
    "westwood+standard",
    "cubic+search:arithmetic=percent",
    "cubic+search:arithmetic=percent,exit=rollback",
    "cubic+search:version=3.1,arithmetic=percent",
    "cubic+search:version=4.0,arithmetic=percent",
    "cubic+search:version=4.0,arithmetic=percent,exit=plain",
];

/// Slow start ends for the same reason as in the simulator, and within two bins or a round of it; a
/// decision to drain is reported when it is made, as there.
#[test]
fn slow_start_ends_where_it_does_in_the_simulator() {
    let Some(_turn) = allowed() else {
        return;
    };
    for algorithm in ALGORITHMS {
        let scenario = scenario(algorithm, PATH, "5 MB");
        let expected = simulated(&scenario);
        let (time, cwnd, reason) = exit(expected.slow_start_exit.as_deref()).expect("an exit");
        // Two bins, or one round, which the flow's own queue makes longer than the base RTT.
        let rtt = f64::from(PATH.1) / 1_000.0;
        let slack = (2.0 * 0.35 * rtt).max(expected.rtt_p95_ms.unwrap_or(0.0) / 1_000.0);
        with_turns(algorithm, |turn| {
            let output = run(&scenario, turn.number, &StackOptions::default());
            turn.note(&output.check);
            let flow = &output.result.flows[0];
            let (kernel_time, kernel_cwnd, kernel_reason) =
                exit(flow.slow_start_exit.as_deref()).expect("an exit");
            print(&format!(
                "{algorithm}: exit after {kernel_time:.3} s at {kernel_cwnd:.0} segments \
                 ({kernel_reason}), {} retransmitted; simulated {time:.3} s, {cwnd:.0} ({reason}), {}",
                flow.segments_retransmitted, expected.segments_retransmitted
            ));
            let wanted = Wanted::named(algorithm).expect("known");
            assert_eq!(output.congestion, [wanted.control.name]);
            assert_eq!(output.sampler, Sampler::TcpProbe);
            let decided = output.decisions[0].is_some();
            let own = ["search", "css-rounds", "ack-train", "delay"];
            assert_eq!(decided, own.contains(&kernel_reason.as_str()));
            assert_eq!(kernel_reason, reason);
            assert!((kernel_time - time).abs() <= slack);
            let fct = flow.fct_s.zip(expected.fct_s);
            assert!(fct.is_some_and(|(fct, expected)| (fct / expected - 1.0).abs() < 0.05));
        });
    }
}

/// The red segments of SUSS's first accelerated round leave after the guard interval and paced,
/// when they leave in the simulator: their ACKs arrive one by one, at a time without others.
#[test]
fn suss_paces_what_it_adds() {
    let Some(_turn) = allowed() else {
        return;
    };
    let path = (50, 100, "413 packets");
    let scenario = scenario("cubic+suss", path, "1 MB");
    // The channel's time begins with the run; the machine may delay a handshake.
    let red = |trace: &FlowTrace, start: f64| -> Vec<f64> {
        let times = trace.time_s.iter().map(|time| time - start);
        times.filter(|time| (0.310..0.390).contains(time)).collect()
    };
    let expected = red(&traced(&scenario).flows[0], 0.0);
    assert_eq!(expected.len(), 10);
    let options = StackOptions {
        traces: true,
        ..StackOptions::default()
    };
    with_turns("SUSS paces as the simulator does", |turn| {
        let output = run(&scenario, turn.number, &options);
        turn.note(&output.check);
        let trace = &output.traces.as_ref().expect("traces").flows[0];
        let times = red(trace, output.result.flows[0].start_s);
        let rounds = output.decisions[0].map(|exit| exit.bin);
        print(&format!(
            "SUSS: {rounds:?} rounds, ACKs after {times:.4?} s; simulated {expected:.4?}"
        ));
        let mut pairs = times.iter().zip(&expected);
        assert_eq!(times.len(), expected.len());
        assert!(pairs.all(|(time, at)| (time - at).abs() < 0.002));
        assert_eq!(rounds, Some(2));
    });
}

/// With a threshold of 100 % SEARCH never exits; its guest reaches the kernel with this option.
#[test]
fn options_reach_the_kernel() {
    let Some(_turn) = allowed() else {
        return;
    };
    let scenario = scenario("cubic+search:threshold=100", PATH, "5 MB");
    let output = run(&scenario, 0, &StackOptions::default());
    let reason = exit(output.result.flows[0].slow_start_exit.as_deref()).map(|exit| exit.2);
    assert_ne!(reason.as_deref(), Some("search"));
    assert_eq!(output.decisions, [None]);
}

/// Passive SEARCH reports when it would have ended slow start, and slow start continues until the
/// loss.
#[test]
fn a_passive_decision_is_reported_and_changes_nothing() {
    let Some(_turn) = allowed() else {
        return;
    };
    let scenario = scenario("cubic+search:passive=true,arithmetic=percent", PATH, "5 MB");
    let decided = |flow: &FlowResult| {
        let decision = flow.passive_exit.as_ref().expect("a decision");
        let exit = flow.slow_start_exit.as_deref().expect("an exit");
        (decision.time_s, exit.time_s, exit.reason.clone())
    };
    let (time, later, reason) = decided(&simulated(&scenario));
    let slack = 2.0 * 0.35 * f64::from(PATH.1) / 1_000.0;
    with_turns("passive SEARCH decides when the simulator does", |turn| {
        let output = run(&scenario, turn.number, &StackOptions::default());
        turn.note(&output.check);
        let flow = &output.result.flows[0];
        let (kernel_time, kernel_later, kernel_reason) = decided(flow);
        print(&format!(
            "passive: {kernel_time:.3} s, then {kernel_reason} after {kernel_later:.3} s; \
             simulated {time:.3} s, {reason} after {later:.3} s"
        ));
        assert_eq!(
            flow.exit_class.map(|class| class.name()),
            Some("chokepoint")
        );
        assert_eq!(kernel_reason, reason);
        assert!((kernel_time - time).abs() <= slack);
    });
}

fn is_loaded(name: &str) -> bool {
    let status = status();
    let mut controls = status.controls.iter();
    controls.any(|there| there.control.name == name && there.loaded)
}

/// Unloads what this test loaded, also when it fails.
struct Unload(&'static Control);

impl Drop for Unload {
    fn drop(&mut self) {
        if is_loaded(self.0.name) {
            let _ = unload(&[self.0]);
        }
    }
}

#[test]
fn what_is_loaded_stays_until_it_is_unloaded() {
    let Some(_turn) = allowed() else {
        return;
    };
    let options = StackOptions {
        guests: false,
        ..StackOptions::default()
    };
    for control in CONTROLS {
        // Another program may use it; on a test machine, a killed test left it.
        if is_loaded(control.name) && required() {
            unload(&[control]).expect("unloaded");
        } else if is_loaded(control.name) {
            skip(&format!("{} is loaded already", control.name));
            continue;
        }
        let _unload = Unload(control);
        let wanted = Wanted::named(control.name).expect("known");
        assert_eq!(load(&[wanted]), Ok(vec![control]));
        assert!(is_loaded(control.name));
        let again = load(&[wanted]).expect_err("twice");
        assert!(matches!(again, Error::Invalid(_)), "{again}");
        // A guest does not conflict with it.
        let guest = Guest::register(&wanted).expect("a guest");
        assert!(guest.name().starts_with(control.name));
        drop(guest);
        let output = run(&scenario(control.algorithm, PATH, "500 kB"), 0, &options);
        assert_eq!(output.congestion, [control.name]);
        assert_eq!(unload(&[control]), Ok(vec![control]));
        assert!(!is_loaded(control.name));
        assert!(unload(&[control]).is_err());
    }
}

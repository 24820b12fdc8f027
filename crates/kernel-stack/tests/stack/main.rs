//! The TCP of this kernel over emulated paths: it runs, its results are complete and plausible,
//! what it cannot do is refused before anything is created, each setting shows on the wire, and a
//! clean path gives the same slow-start exit again.
//!
//! Needs root (or namespaces, /dev/net/tun and permission to choose a congestion control). Where
//! these are missing the tests report it and pass, except where CI or SLOWSTART_REQUIRE_ROOT_TESTS
//! is set.
#![cfg(target_os = "linux")]
#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test prints what it measured, and panics if it fails"
)]

#[path = "../../../emulator/tests/common/mod.rs"]
mod common;
mod exchanges;
mod helpers;
mod refusals;
mod settings;

use std::sync::atomic::AtomicBool;

use measure::{ExitClass, FlowResult, FlowTrace};
use scenario::Scenario;

use helpers::{SMSS, check_complete, flow, run_in, traces, wired};

#[test]
fn the_kernels_own_algorithms_finish_and_fill_every_field() {
    let Some(_turn) = common::may_emulate() else {
        return;
    };
    common::turns::with_turns("what a run on the kernel reports", |turn| {
        let bytes = 6_000_000;
        for (name, reason) in [
            ("cubic", "ack-train"),
            ("reno", "loss"),
            ("bbr", "full-pipe"),
        ] {
            let scenario = Scenario::new(wired(50, 40, 165), vec![flow(name, bytes)]);
            let output = run_in(turn, &scenario);
            let result = &output.result.flows[0];
            check_complete(result, bytes, 40.0);
            assert_eq!(output.congestion, [name]);
            let exit = result.slow_start_exit.as_ref().expect("an exit");
            // HyStart may detect the delay before the train; both are its own exits.
            assert!(
                exit.reason == reason || (name == "cubic" && exit.reason == "delay"),
                "{name}: {exit:?}"
            );
            assert_eq!(exit.cwnd_bytes % SMSS, 0);
            // The BDP is 165 packets, and so is the buffer.
            let segments = exit.cwnd_bytes / SMSS;
            assert!((80..=700).contains(&segments), "{name}: {exit:?}");
            let capacity = result.capacity.true_s.expect("a point of capacity");
            assert!(capacity > 0.08 && capacity < 1.0, "{result:?}");
            let class = result.exit_class.expect("a class");
            assert_eq!(
                class == ExitClass::Late,
                name == "reno" && exit.time_s >= capacity
            );
            let [forward, reverse] = &output.result.links[..] else {
                panic!("{:?}", output.result.links)
            };
            assert!(forward.queue_max_packets <= 165);
            assert!(
                forward
                    .utilization
                    .is_some_and(|share| share > 0.5 && share <= 1.0)
            );
            assert_eq!(forward.drops, result.segments_dropped.unwrap_or(0));
            assert!(reverse.utilization.is_none() && reverse.packets > 1000);
            let trace = &traces(&output)[0];
            assert!(trace.time_s.len() > 300, "{} rows", trace.time_s.len());
            assert!(trace.time_s.is_sorted() && trace.acked_bytes.is_sorted());
            assert_eq!(trace.acked_bytes.last(), Some(&bytes));
            // The first row follows the first ACKs, which add what they acknowledge.
            assert!((10..=20).contains(&(trace.cwnd_bytes[0] / SMSS)), "{name}");
            assert!(
                trace
                    .rtt_ms
                    .iter()
                    .flatten()
                    .all(|rtt| *rtt > 39.9 && *rtt < 120.0)
            );
        }
    });
}

/// Repeated runs leave slow start at the same number of segments. Measured in about 125 runs on a loaded
/// machine: 530 or 531 segments, except for 499 in one that passed the timing self-check and 511 in
/// one that failed it; more runs differ while a hypervisor stalls its guests. The self-check does
/// not see what delays a host, so the number of runs that agree within one percent is printed here,
/// and judged where many runs are compared.
#[test]
fn a_clean_path_gives_the_same_exit_again() {
    let Some(_turn) = common::may_emulate() else {
        return;
    };
    let scenario = Scenario::new(wired(50, 100, 413), vec![flow("cubic", 2_000_000)]);
    common::turns::with_turns("the exit on a clean path", |turn| {
        let mut exits: Vec<u64> = (0..5)
            .map(|_| {
                let output = run_in(turn, &scenario);
                let exit = output.result.flows[0].slow_start_exit.as_ref();
                let exit = exit.expect("an exit");
                eprintln!(
                    "exit at {} segments, {:.4} s, {}; at most {:?} us late, longest gap {} us; \
                     valid: {}",
                    exit.cwnd_bytes / SMSS,
                    exit.time_s,
                    exit.reason,
                    output.check.lateness_max_us,
                    output.longest_gap.as_micros(),
                    output.check.valid
                );
                exit.cwnd_bytes / SMSS
            })
            .collect();
        exits.sort_unstable();
        let median = exits[2];
        let near = |segments: &&u64| segments.abs_diff(median) * 100 <= median;
        let agreeing = exits.iter().filter(near).count();
        eprintln!("{agreeing} of 5 exits agree within one percent: {exits:?}");
        // The BDP is 413 packets, and so is the buffer.
        assert!((300..=700).contains(&median), "{exits:?}");
    });
}

#[test]
fn the_same_scenario_simulated_and_on_the_kernel_side_by_side() {
    let Some(_turn) = common::may_emulate() else {
        return;
    };
    let row = |who: &str, flow: &FlowResult, trace: &FlowTrace| {
        let time_to = |bytes| {
            let at = trace.acked_bytes.iter().position(|&acked| acked >= bytes)?;
            Some(trace.time_s[at] - flow.start_s)
        };
        let exit = flow.slow_start_exit.as_ref().expect("an exit");
        eprintln!(
            "{:15} {who:9} exit {:5} segments {:6.3} s {:9} first drop {:?} first loss {:?} \
             retransmitted {} time to 1 MB {:?} 5 MB {:?} RTT {:?} {:?} {:?}",
            flow.algorithm,
            exit.cwnd_bytes / SMSS,
            exit.time_s,
            exit.reason,
            flow.first_drop_s,
            flow.first_loss_s,
            flow.segments_retransmitted,
            time_to(1_000_000),
            time_to(5_000_000),
            flow.rtt_min_ms,
            flow.rtt_mean_ms,
            flow.rtt_p95_ms,
        );
        time_to(5_000_000).expect("five megabytes")
    };
    for name in ["cubic", "cubic+standard", "reno", "bbr"] {
        let scenario = Scenario::new(wired(50, 100, 413), vec![flow(name, 6_000_000)]);
        let options = simulator::RunOptions {
            traces: true,
            ..simulator::RunOptions::default()
        };
        let simulated = simulator::run(&scenario, 0, &options, &AtomicBool::new(false)).unwrap();
        let simulated_traces = simulated.traces.expect("traces");
        let a = &simulated.result.flows[0];
        // A sanity check only; the fidelity study measures how far they are apart.
        common::turns::with_turns(name, |turn| {
            let kernel = run_in(turn, &scenario);
            let b = &kernel.result.flows[0];
            let times = [
                row("simulated", a, &simulated_traces.flows[0]),
                row("kernel", b, &traces(&kernel)[0]),
            ];
            let exits =
                [a, b].map(|flow| flow.slow_start_exit.as_ref().expect("an exit").cwnd_bytes);
            assert!((times[1] / times[0] - 1.0).abs() < 0.25, "{times:?}");
            assert!(exits[0] < exits[1] * 3 / 2, "{exits:?}");
            assert!(exits[1] < exits[0] * 3 / 2, "{exits:?}");
        });
    }
}

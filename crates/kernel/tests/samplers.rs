//! The probe in the kernel against TCP_INFO: it tells of each ACK, and both conclude the same.
//!
//! Needs what `transfers.rs` needs.
#![cfg(all(feature = "bpf", target_os = "linux"))]

mod common;

use emulator::Direction;
use emulator::stack::{Sampler, StackOptions, StackOutput};
use measure::FlowTrace;

use common::{ATTEMPTS, allowed, exit, print, run, scenario};

fn sampled(sampler: Sampler) -> StackOptions {
    StackOptions {
        sampler: Some(sampler),
        traces: true,
        ..StackOptions::default()
    }
}

fn trace(output: &StackOutput) -> &FlowTrace {
    &output.traces.as_ref().expect("traces").flows[0]
}

#[test]
fn the_probe_tells_of_each_ack() {
    let Some(_turn) = allowed() else {
        return;
    };
    for algorithm in ["cubic+hystart", "reno+standard"] {
        let scenario = scenario(algorithm, (50, 40, "1 bdp"), "4 MB");
        let output = run(&scenario, 0, &sampled(Sampler::TcpProbe));
        assert_eq!(output.sampler, Sampler::TcpProbe);
        assert_eq!(output.samples_lost, 0);
        let back = output
            .report
            .flows
            .iter()
            .find(|facts| facts.direction == Direction::Reverse)
            .expect("ACKs");
        // All but the SYN's; at the end the FIN may be acknowledged, and is no ACK of data.
        print(&format!(
            "{algorithm}: {} samples of {} ACKs",
            output.samples,
            back.packets - 1
        ));
        assert!(
            output.samples + 2 >= back.packets,
            "{} of {}",
            output.samples,
            back.packets
        );
        assert!(
            output.samples < back.packets,
            "{} of {}",
            output.samples,
            back.packets
        );
        let trace = trace(&output);
        assert_eq!(trace.time_s.len() as u64, output.samples);
        assert!(trace.time_s.is_sorted() && trace.acked_bytes.is_sorted());
        assert_eq!(trace.acked_bytes.last(), Some(&4_000_000));
        // Slow start, ACK by ACK: the window never grows by more than what was acknowledged.
        let flow = &output.result.flows[0];
        let (time, cwnd, _) = exit(flow).expect("an exit");
        let mut before = (10 * 1448, 0);
        for at in 0..trace.time_s.len() {
            let now = (trace.cwnd_bytes[at], trace.acked_bytes[at]);
            if trace.time_s[at] < flow.start_s + time - 0.001 {
                assert!(now.0 - before.0 <= now.1 - before.1, "row {at}");
                assert_eq!(trace.ssthresh_bytes[at], None, "row {at}");
                assert!(now.0 as f64 / 1448.0 <= cwnd, "row {at}");
            }
            before = now;
        }
        let rows = trace.rtt_ms.iter().flatten();
        assert!(rows.clone().count() * 10 >= trace.time_s.len() * 9);
        assert!(rows.clone().all(|rtt| (39.9..200.0).contains(rtt)));
    }
}

/// Both see the same exit: the window to one ACK, the time to one look.
#[test]
fn both_samplers_see_the_same_exit() {
    let Some(_turn) = allowed() else {
        return;
    };
    for algorithm in ["cubic+hystart", "cubic+standard"] {
        let scenario = scenario(algorithm, (50, 100, "413 packets"), "3 MB");
        let mut vouched = 0;
        let agree = (0..ATTEMPTS).any(|attempt| {
            let outputs = [Sampler::TcpProbe, Sampler::TcpInfo]
                .map(|sampler| run(&scenario, attempt, &sampled(sampler)));
            let [probe, info] = [&outputs[0], &outputs[1]]
                .map(|output| exit(&output.result.flows[0]).expect("an exit"));
            print(&format!(
                "{algorithm}: {probe:?} by ACK, {info:?} by TCP_INFO"
            ));
            if outputs.iter().any(|output| !output.check.valid) {
                return false;
            }
            vouched += 1;
            probe.2 == info.2 && (probe.1 - info.1).abs() <= 2.0 && (probe.0 - info.0).abs() < 0.002
        });
        if vouched == 0 {
            print(&format!("{algorithm}: not judged, the machine is too busy"));
            continue;
        }
        assert!(agree, "{algorithm}: none of {vouched} pairs agrees");
    }
}

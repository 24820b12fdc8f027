//! Compares the probe in the kernel with TCP_INFO: it reports each ACK, and both find the same
//! exit.
//!
//! The requirements are those of `transfers.rs`.
#![cfg(all(feature = "bpf", target_os = "linux"))]

mod common;

use emulator::Direction;
use kernel_stack::{Sampler, StackOptions, StackOutput};
use measure::FlowTrace;

use common::{allowed, exit, print, run, scenario};

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
fn the_probe_reports_each_ack() {
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
        // All except the SYN's; the FIN may be acknowledged at the end, which is no ACK of data.
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
        // Slow start, ACK by ACK: the window never grows by more segments than were acknowledged. A
        // segment is shorter where the writer was too late to fill it.
        let flow = &output.result.flows[0];
        let (time, cwnd, _) = exit(flow.slow_start_exit.as_deref()).expect("an exit");
        let mut before = (10 * 1448, 0);
        for at in 0..trace.time_s.len() {
            let now = (trace.cwnd_bytes[at], trace.acked_bytes[at]);
            if trace.time_s[at] < flow.start_s + time - 0.001 {
                let [grown, acked] = [now.0 - before.0, now.1 - before.1];
                assert!(grown <= acked.next_multiple_of(1448), "row {at}");
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

/// Both find the same exit of one connection: the window to one segment, the time to one poll. Two
/// connections would leave slow start at different times.
#[test]
fn both_samplers_see_the_same_exit() {
    let Some(_turn) = allowed() else {
        return;
    };
    let options = StackOptions {
        cross_check: true,
        ..sampled(Sampler::TcpProbe)
    };
    for algorithm in ["cubic+hystart", "cubic+standard", "reno+standard"] {
        let scenario = scenario(algorithm, (50, 100, "413 packets"), "3 MB");
        let output = run(&scenario, 0, &options);
        let by_ack = exit(output.result.flows[0].slow_start_exit.as_deref()).expect("an exit");
        let by_look = exit(output.cross_checked[0].as_ref()).expect("an exit");
        print(&format!(
            "{algorithm}: {by_ack:?} by ACK, {by_look:?} by TCP_INFO, which was asked at least \
             every {:?}",
            output.longest_gap
        ));
        assert_eq!(by_ack.2, by_look.2, "{algorithm}");
        assert!((by_ack.1 - by_look.1).abs() <= 1.0, "{algorithm}");
        // A poll returns the state of its moment, and is timed a moment later.
        let late = by_look.0 - by_ack.0;
        let moment = 0.001;
        let most = output.longest_gap.as_secs_f64() + moment;
        assert!((0.0..=most).contains(&late), "{algorithm}: {late}");
    }
}

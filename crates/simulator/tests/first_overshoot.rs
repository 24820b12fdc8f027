//! How a window-based slow start ends, and what follows its overshoot: 5 MB over 50 Mbit/s, 100 ms and 413
//! packets of buffer. Debian's kernels 6.1 and 6.12 in virtual time, and Linux 6.18 on a host, are
//! what the values are compared with.

mod common;

use common::{algorithm, run, wired};
use measure::FlowResult;
use network::Service;
use scenario::{Flow, Scenario};
use tcp::LossDetection;
use units::{Bytes, Rate};

/// The flow over a link of `kbit` kbit/s.
fn transfer(name: &str, kbit: u64, loss_detection: LossDetection) -> FlowResult {
    let mut path = wired(50, 100, 413);
    path.forward.service = Service::Fixed(Rate::from_bits_per_sec(kbit * 1_000));
    let mut flow = Flow::new(algorithm(name));
    flow.size = Some(Bytes::new(5_000_000));
    flow.loss_detection = loss_detection;
    let output = run(&Scenario::new(path, vec![flow]), false);
    let result = output.result.flows.into_iter().next().expect("a flow");
    assert!(result.completed);
    result
}

/// Reno retransmits 830 segments within one round trip, into a queue that drains meanwhile. If one
/// of them is dropped again, the last segments wait for it. A rate that differs by 0.1 % decides
/// that. (Linux 6.18: 1.438 s and 1.503 s in two runs; 6.1 and 6.12: 1.502 s.)
#[test]
fn whether_a_retransmission_is_lost_again_decides_on_a_knifes_edge() {
    let runs: Vec<FlowResult> = (-10..=10)
        .map(|step| transfer("reno", (50_000 + 50 * step) as u64, LossDetection::Rack))
        .collect();
    let times: Vec<f64> = runs
        .iter()
        .map(|flow| flow.fct_s.expect("completed"))
        .collect();
    let near = |time: f64| {
        times
            .iter()
            .filter(|&fct| (fct - time).abs() < 0.01)
            .count()
    };
    let (short, long) = (near(1.437), near(1.501));
    assert_eq!(short + long, times.len(), "{times:?}");
    assert!(short > 0 && long > short, "{times:?}");
    assert!(runs.iter().all(|flow| flow.timeouts == 0));
}

/// RACK detects lost retransmissions; forward acknowledgment waits for a timeout. Hybla's window has
/// by then 4,500 segments, of which 1,700 are lost. (Linux 6.1: 1.372 s and 1,734 retransmissions;
/// 6.12: 1.357 s and 1,720.)
#[test]
fn hybla_needs_rack_to_repair_its_overshoot_without_a_timeout() {
    let rack = transfer("hybla", 50_000, LossDetection::Rack);
    let fct = rack.fct_s.expect("completed");
    assert!((1.34..1.41).contains(&fct), "{fct}");
    assert!((1_690..1_740).contains(&rack.segments_retransmitted));
    assert_eq!(rack.timeouts, 0);

    let fack = transfer("hybla", 50_000, LossDetection::Fack);
    assert_eq!(fack.timeouts, 1);
    assert!(fack.fct_s > rack.fct_s.map(|fct| fct + 1.0));
}

/// The baseline of Scharf 2011: CUBIC of Linux 2.6.18 leaves slow start at 100 segments, before the
/// loss; that of 2.6.24 at the loss.
#[test]
fn cubic_of_2_6_18_leaves_slow_start_at_100_segments() {
    let exit = |name: &str| {
        let mut flow = Flow::new(algorithm(name));
        flow.size = Some(Bytes::new(5_000_000));
        flow.initial_window = 3;
        flow.byte_counting = false;
        flow.loss_detection = LossDetection::Fack;
        let output = run(&Scenario::new(wired(50, 100, 413), vec![flow]), false);
        let flow = &output.result.flows[0];
        assert!(flow.completed);
        let exit = flow.slow_start_exit.as_ref().expect("it ends");
        (exit.reason.clone(), exit.cwnd_bytes / 1448)
    };
    for version in ["2.6.18", "2.0"] {
        let (reason, segments) = exit(&format!("cubic:version={version}+standard+rate-halving"));
        assert_eq!((&*reason, segments), ("ssthresh", 100), "{version}");
        let none = format!("cubic:version={version},initial_ssthresh=none+standard+rate-halving");
        assert_eq!(exit(&none).0, "loss");
    }
    let (reason, segments) = exit("cubic:version=2.1+standard+rate-halving");
    assert!(reason == "loss" && segments > 1_000, "{reason} {segments}");
}

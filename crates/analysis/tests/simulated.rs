//! Connections of the simulator, whose start-up is known, through a capture and back.

use std::sync::atomic::AtomicBool;

use analysis::{Connection, Tracker, Vantage};
use measure::{FlowResult, Vantage as Host};
use scenario::Scenario;
use simulator::RunOptions;

/// What the simulator knows, and what the analysis of the capture at a host says.
fn analyze(path: &str, algorithm: &str, flow: &str, host: Host) -> (FlowResult, Connection) {
    let text = format!("[path]\n{path}\n[[flow]]\nalgorithm = \"{algorithm}\"\n{flow}\n");
    let scenario = Scenario::parse(&text, "test.toml", ".".as_ref()).expect("a scenario");
    let options = RunOptions {
        packets: true,
        ..RunOptions::default()
    };
    let output =
        simulator::run(&scenario, 0, &options, &AtomicBool::new(false)).expect("not cancelled");
    let bytes = capture::simulated::write(Vec::new(), "test", &output.packets, &[host], &[])
        .expect("memory");
    let mut tracker = Tracker::new(100);
    let mut decoder = capture::Decoder::default();
    let summary = capture::packets::read(&bytes[..], |frame| {
        tracker.take(&decoder.decode(frame).expect("TCP"));
    })
    .expect("a capture");
    assert_eq!(summary.ending, capture::Ending::Whole);
    let mut found = tracker.finish();
    assert_eq!(found.len(), 1);
    let truth = output.result.flows.into_iter().next().expect("a flow");
    (truth, found.remove(0))
}

#[test]
fn counters_are_those_of_the_sender() {
    for algorithm in ["reno+standard", "cubic+hystart", "bbr"] {
        let (truth, found) = analyze(
            "preset = \"wired\"",
            algorithm,
            "size = \"3 MB\"",
            Host::Sender,
        );
        assert_eq!(found.bytes, truth.bytes_acked, "{algorithm}");
        assert_eq!(found.segments, truth.segments_sent, "{algorithm}");
        assert_eq!(
            found.retransmissions.segments, truth.segments_retransmitted,
            "{algorithm}"
        );
        assert_eq!(found.vantage, Vantage::Sender);
        assert_eq!(found.initial_window_bytes, Some(14_480));
        assert_eq!(found.handshake.mss_bytes, Some(1460));
        let base = found.rtt_ms.expect("samples")[0];
        let expected = truth.rtt_min_ms.expect("samples");
        // The sender's own samples are whole milliseconds.
        assert!(
            (base - expected).abs() <= 1.0,
            "{algorithm}: {base} {expected}"
        );
    }
}

#[test]
fn the_receiver_of_the_data_is_recognized() {
    let (_, found) = analyze(
        "preset = \"wired\"",
        "cubic+hystart",
        "size = \"3 MB\"",
        Host::Receiver,
    );
    assert_eq!(found.vantage, Vantage::Receiver);
    assert_eq!(found.initial_window_bytes, Some(14_480));
    let base = found.rtt_ms.expect("samples")[0];
    assert!((95.0..110.0).contains(&base), "{base}");
}

/// Prints every verdict beside the truth: `cargo test -p slowstart-analysis --test simulated --
/// --ignored --nocapture table`.
#[test]
#[ignore = "prints a table"]
fn table() {
    for path in ["wired", "geo", "lte", "wifi-strong", "leo"] {
        for algorithm in [
            "reno+standard",
            "cubic+standard",
            "cubic+hystart",
            "cubic+hystart++",
            "cubic+search",
            "bbr",
        ] {
            for host in [Host::Sender, Host::Receiver] {
                let preset = format!("preset = \"{path}\"");
                let (truth, found) = analyze(&preset, algorithm, "size = \"20 MB\"", host);
                let exit = found.verdict.exit.as_ref();
                let rtt = truth.rtt_min_ms.unwrap_or(1.0) / 1e3;
                let base = truth.slow_start_exit.as_ref();
                let error = exit.zip(base).map(|(found, truth)| {
                    (
                        (found.time_s - truth.time_s) / rtt,
                        found.cwnd_bytes as f64 / truth.cwnd_bytes as f64 - 1.0,
                    )
                });
                println!(
                    "{path:11} {algorithm:16} {host:?} truth {:?} {:?} {:?} | {:?} {:?} {:.2} err {error:.3?} {:?}",
                    base.map(|exit| exit.reason.clone()),
                    base.map(|exit| (exit.time_s, exit.cwnd_bytes)),
                    truth.exit_class,
                    found.verdict.reason,
                    found.vantage,
                    found.verdict.confidence,
                    found.verdict.class,
                );
            }
        }
    }
}

//! Connections of the simulator, whose start-up is known, through a capture and back.

use std::sync::atomic::AtomicBool;

use analysis::{Connection, Options, Reason, Tracker, Vantage};
use measure::{FlowResult, PacketKind, Vantage as Host};
use scenario::Scenario;
use simulator::{RunOptions, RunOutput};
use units::Duration;

/// A run of one flow, with its packets.
fn simulate(path: &str, algorithm: &str, flow: &str) -> RunOutput {
    simulate_run(0, path, algorithm, flow)
}

/// Run `run` of one flow, with its packets.
fn simulate_run(run: u32, path: &str, algorithm: &str, flow: &str) -> RunOutput {
    let text = format!("[path]\n{path}\n[[flow]]\nalgorithm = \"{algorithm}\"\n{flow}\n");
    let scenario = Scenario::parse(&text, "test.toml", ".".as_ref()).expect("a scenario");
    let options = RunOptions {
        packets: true,
        ..RunOptions::default()
    };
    simulator::run(&scenario, run, &options, &AtomicBool::new(false)).expect("not cancelled")
}

/// The packets of a run as a capture at a host.
fn captured(output: &RunOutput, host: Host) -> Vec<u8> {
    capture::simulated::write(Vec::new(), "test", &output.packets, &[host], &[]).expect("memory")
}

/// What the analysis of a run's capture at the sender says of its connection.
fn at_sender(output: &RunOutput) -> Connection {
    let bytes = captured(output, Host::Sender);
    let report = analysis::analyze_reader(std::io::Cursor::new(bytes), &Options::default())
        .expect("a capture");
    report.connections.into_iter().next().expect("a connection")
}

/// What the simulator knows, and what the analysis of the capture at a host says.
fn analyze(path: &str, algorithm: &str, flow: &str, host: Host) -> (FlowResult, Connection) {
    analyze_output(simulate(path, algorithm, flow), host)
}

/// The same of a run that was simulated.
fn analyze_output(output: RunOutput, host: Host) -> (FlowResult, Connection) {
    let bytes = captured(&output, host);
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

/// The reasons of the analysis for those of the simulator.
fn reason_of(truth: &FlowResult) -> Option<Reason> {
    truth
        .slow_start_exit
        .as_ref()
        .map(|exit| match &*exit.reason {
            "loss" | "timeout" => Reason::Loss,
            "ecn" => Reason::Ecn,
            _ => Reason::Heuristic,
        })
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

/// Paths on which the exit is clear: fixed rate, satellite, varying rates, Wi-Fi's aggregates.
const PATHS: [&str; 5] = [
    "preset = \"wired\"",
    "preset = \"geo\"",
    "preset = \"lte\"",
    // `wifi-strong` until 28 November 2026. Over the preset with heavier neighbours, losses are taken
    // for decisions (docs/reference/analysis.md, "Error").
    "preset = \"wifi-strong\"\nrate = { model = \"wifi\", standard = \"ac\", width = \"80 MHz\", \
     streams = 2, rssi = \"-53 dBm\", busy = \"50 %\" }\nbuffer = \"2.5 MB\"",
    "preset = \"leo\"",
];

const SENDERS: [&str; 4] = [
    "reno+standard",
    "cubic+standard",
    "cubic+hystart",
    "cubic+hystart++",
];

/// 95 % of the reasons, as below, in five runs of each. The receive window holds many of these flights
/// before the loss.
#[test]
fn exits_of_several_runs_have_the_right_reason() {
    let (mut right, mut all) = (0, 0);
    for path in PATHS {
        for algorithm in SENDERS {
            for run in 0..5 {
                let output = simulate_run(run, path, algorithm, "size = \"20 MB\"");
                let (truth, found) = analyze_output(output, Host::Sender);
                let expected = reason_of(&truth).unwrap_or(Reason::Completed);
                right += u32::from(found.verdict.reason == expected);
                all += 1;
            }
        }
    }
    assert!(right * 100 >= all * 95, "{right} of {all} reasons");
}

/// The goals of the whole grid (`slowstart validate analyze`), at the sender, for senders that end
/// slow start by their window. Set before the first run: a time within one RTT in 95 % of the
/// exits, a median error of the window below 3 %, and 95 % of the reasons right.
#[test]
fn exits_of_large_transfers_have_the_right_time_window_and_reason() {
    let (mut right, mut all) = (0, 0);
    let (mut near, mut windows) = (0, Vec::new());
    for path in PATHS {
        for algorithm in SENDERS {
            let (truth, found) = analyze(path, algorithm, "size = \"20 MB\"", Host::Sender);
            all += 1;
            let reason = found.verdict.reason;
            right += u32::from(reason == reason_of(&truth).unwrap_or(Reason::Completed));
            let Some(left) = &truth.slow_start_exit else {
                continue;
            };
            let Some(exit) = &found.verdict.exit else {
                continue;
            };
            let rtt = truth.rtt_min_ms.expect("samples") / 1e3;
            near += u32::from((exit.time_s - left.time_s).abs() <= rtt);
            windows.push((exit.cwnd_bytes as f64 / left.cwnd_bytes as f64 - 1.0).abs());
        }
    }
    windows.sort_by(f64::total_cmp);
    assert!(windows.len() >= 15, "{}", windows.len());
    assert!(right * 100 >= all * 95, "{right} of {all} reasons");
    // One exit of those of 16: Wi-Fi's base RTT is 3 ms, and its queue a second.
    assert!(
        near as usize + 1 >= windows.len(),
        "{near} of {}",
        windows.len()
    );
    assert!(windows[windows.len() / 2] < 0.03, "{windows:?}");
}

/// The clock of the sender's timestamps removes the queues in front of a receiver's capture.
#[test]
fn a_capture_at_the_receiver_gives_the_same_exit() {
    for (path, algorithm) in [
        ("wired", "reno+standard"),
        ("geo", "cubic+hystart"),
        ("lte", "cubic+hystart++"),
    ] {
        let preset = format!("preset = \"{path}\"");
        let (truth, found) = analyze(&preset, algorithm, "size = \"20 MB\"", Host::Receiver);
        let left = truth.slow_start_exit.as_ref().expect("an exit");
        let exit = found.verdict.exit.as_ref().expect("an exit");
        let rtt = truth.rtt_min_ms.expect("samples") / 1e3;
        assert!(
            (exit.time_s - left.time_s).abs() < 0.5 * rtt,
            "{path}: {exit:?} {left:?}"
        );
        let window = exit.cwnd_bytes as f64 / left.cwnd_bytes as f64 - 1.0;
        assert!(window.abs() < 0.03, "{path}: {window}");
    }
}

/// A capture 20 ms from the sender, made of what the sender sees: data passes it 20 ms later, and
/// ACKs 20 ms earlier.
#[test]
fn a_capture_between_the_hosts_gives_the_same_exit() {
    for (algorithm, timestamps) in [
        ("reno+standard", true),
        ("cubic+hystart", true),
        ("cubic+hystart", false),
    ] {
        let text = format!(
            "[path]\npreset = \"wired\"\n[[flow]]\nalgorithm = \"{algorithm}\"\nsize = \"20 MB\"\n"
        );
        let scenario = Scenario::parse(&text, "test.toml", ".".as_ref()).expect("a scenario");
        let options = RunOptions {
            packets: true,
            ..RunOptions::default()
        };
        let mut output =
            simulator::run(&scenario, 0, &options, &AtomicBool::new(false)).expect("not cancelled");
        let shift = Duration::from_millis(20);
        let packets = &mut output.packets[0].packets;
        packets.retain(|packet| packet.seen_by == Host::Sender);
        for packet in packets.iter_mut() {
            match packet.kind {
                PacketKind::SynAck | PacketKind::Ack => packet.at = packet.at - shift,
                _ => packet.at += shift,
            }
        }
        packets.sort_by_key(|packet| packet.at);
        let bytes =
            capture::simulated::write(Vec::new(), "", &output.packets, &[Host::Sender], &[])
                .expect("memory");
        let mut tracker = Tracker::new(0);
        let mut decoder = capture::Decoder::default();
        capture::packets::read(&bytes[..], |frame| {
            let mut segment = decoder.decode(frame).expect("TCP");
            if !timestamps {
                segment.options.timestamps = None;
            }
            tracker.take(&segment);
        })
        .expect("a capture");
        let found = tracker.finish().remove(0);
        assert_eq!(found.vantage, Vantage::Middle);
        let left = output.result.flows[0]
            .slow_start_exit
            .as_ref()
            .expect("an exit");
        let exit = found.verdict.exit.as_ref().expect("an exit");
        assert!(
            (exit.time_s - left.time_s).abs() < 0.1,
            "{algorithm}: {exit:?} {left:?}"
        );
        let window = exit.cwnd_bytes as f64 / left.cwnd_bytes as f64 - 1.0;
        assert!(window.abs() < 0.05, "{algorithm}: {window}");
        let base = found.rtt_ms.expect("samples")[0];
        assert!((98.0..105.0).contains(&base), "{algorithm}: {base}");
    }
}

/// A small receive window stops the growth: no exit, and the receiver was the limit.
#[test]
fn a_small_receive_window_is_not_an_exit() {
    let flow = "size = \"4 MB\"\nreceive_buffer = \"48 kB\"\nautotuning = \"off\"";
    for host in [Host::Sender, Host::Receiver] {
        let (_, found) = analyze("preset = \"wired\"", "cubic+standard", flow, host);
        assert_eq!(found.verdict.reason, Reason::ReceiverLimited, "{host:?}");
        assert_eq!(
            found.limits.main().map(|(name, _)| name),
            Some("receive-window"),
            "{host:?}"
        );
    }
}

/// Without the SYN, the beginning is missing, and the verdict is none.
#[test]
fn a_capture_that_begins_late_cannot_tell() {
    let mut output = simulate("preset = \"wired\"", "cubic", "size = \"3 MB\"");
    output.packets[0].packets.drain(..100);
    let verdict = at_sender(&output).verdict;
    assert_eq!((verdict.reason, &verdict.exit), (Reason::CannotTell, &None));
}

/// Over a cell whose rate varies, the packets often hide the beginning of the drain. The verdict is
/// then "cannot tell": in 5 of these 24 captures. Another reason would be wrong. A third of the times
/// is within a round trip.
#[test]
fn the_exit_of_bbr_over_lte_is_found_or_not_told() {
    let (mut found_reasons, mut near) = (0, 0);
    for run in 1..=12 {
        for host in [Host::Sender, Host::Receiver] {
            let output = simulate_run(run, "preset = \"lte\"", "bbr", "size = \"20 MB\"");
            let (truth, found) = analyze_output(output, host);
            let left = truth.slow_start_exit.as_ref().expect("an exit");
            let Some(exit) = &found.verdict.exit else {
                assert_eq!(found.verdict.reason, Reason::CannotTell, "run {run}");
                continue;
            };
            assert_eq!(found.verdict.reason, Reason::Heuristic, "run {run}");
            found_reasons += 1;
            let rtt = truth.rtt_min_ms.expect("samples") / 1e3;
            near += u32::from((exit.time_s - left.time_s).abs() < rtt);
        }
    }
    assert!(found_reasons >= 18, "{found_reasons} of 24");
    assert!(near >= 8, "{near} of 24");
}

/// BBR's start-up ends when it drains its queue, long after its flight has stopped to grow.
#[test]
fn the_exit_of_bbr_is_the_beginning_of_its_drain() {
    for path in ["dsl", "docsis", "leo"] {
        let preset = format!("preset = \"{path}\"");
        for host in [Host::Sender, Host::Receiver] {
            let (truth, found) = analyze(&preset, "bbr", "size = \"20 MB\"", host);
            let left = truth.slow_start_exit.as_ref().expect("an exit");
            assert_eq!(found.verdict.reason, Reason::Heuristic, "{path}");
            let exit = found.verdict.exit.as_ref().expect("an exit");
            let rtt = truth.rtt_min_ms.expect("samples") / 1e3;
            assert!(
                (exit.time_s - left.time_s).abs() < rtt,
                "{path}: {exit:?} {left:?}"
            );
            let window = exit.cwnd_bytes as f64 / left.cwnd_bytes as f64 - 1.0;
            assert!(window.abs() < 0.1, "{path}: {window}");
        }
    }
}

/// While the receive window holds the flight, the congestion window goes on to grow: the decision
/// comes when the delivered bytes reach the last window, long before the flight does.
#[test]
fn an_exit_behind_the_receive_window_has_the_time_of_the_decision() {
    let (truth, found) = analyze(
        "preset = \"wifi-strong\"",
        "cubic",
        "size = \"20 MB\"",
        Host::Sender,
    );
    let left = truth.slow_start_exit.as_ref().expect("an exit");
    let exit = found.verdict.exit.as_ref().expect("an exit");
    assert!(
        (exit.time_s - left.time_s).abs() < 0.002,
        "{exit:?} {left:?}"
    );
}

/// Behind a policer, a capture at the receiver shows the loss as a gap, not as flight.
#[test]
fn a_gap_at_the_receiver_is_a_loss() {
    let (truth, found) = analyze(
        "preset = \"policed\"",
        "reno+standard",
        "size = \"2 MB\"",
        Host::Receiver,
    );
    assert_eq!(reason_of(&truth), Some(Reason::Loss));
    assert_eq!(found.verdict.reason, Reason::Loss);
}

/// Data before the first segment of a capture was not seen, and does not count.
#[test]
fn bytes_before_the_capture_do_not_count() {
    let mut output = simulate("preset = \"wired\"", "cubic", "size = \"300 kB\"");
    let packets = &mut output.packets[0].packets;
    let first = packets
        .iter()
        .position(|packet| packet.seen_by == Host::Sender && packet.kind == PacketKind::Data)
        .expect("data");
    let length = packets.remove(first).amount;
    let found = at_sender(&output);
    assert_eq!(found.bytes, 300_000 - u64::from(length));
    assert_eq!(found.missing_bytes, u64::from(length));
}

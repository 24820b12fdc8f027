//! CUBIC of Linux, with the numbers worked from `tcp_cubic.c` and google/packetdrill's scripts.

use congestion::{CongestionControl, CongestionKind, ExitReason, Phase};
use units::{Duration, Instant};

use crate::flow::Flow;

/// Linux's threshold for windows of 1 to 20 segments.
// Tests RFC9438-4.6a, RFC9438-4.6b
#[test]
fn the_threshold_is_seven_tenths() {
    let thresholds: Vec<u64> = (1..=20).map(threshold).collect();
    assert_eq!(
        thresholds,
        [
            2, 2, 2, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 9, 10, 11, 11, 12, 13, 14
        ]
    );
    assert_eq!(threshold(100), 70);
}

fn threshold(cwnd: u64) -> u64 {
    let mut flow = Flow::new("cubic", cwnd);
    flow.congestion(CongestionKind::Loss);
    flow.ssthresh()
}

/// The window after each of `rounds` round trips, from 70 after a loss at 100, one ACK a segment.
fn trajectory(name: &str, rtt: Duration, rounds: &[usize]) -> Vec<u64> {
    let mut flow = Flow::new(name, 100);
    flow.send();
    // One ACK tells the delay; then the loss.
    flow.now = Instant::ZERO + rtt;
    flow.cwnd_limited = false;
    flow.acknowledge(1);
    flow.congestion(CongestionKind::Loss);
    flow.phase = Phase::Recovery;
    while flow.in_flight() > 0 {
        flow.acknowledge(1);
    }
    flow.control.on_recovery_exit(flow.now);
    flow.phase = Phase::Open;
    flow.cwnd_limited = true;
    assert_eq!(flow.cwnd(), 70);
    let start = flow.now;
    flow.send();
    flow.spread(rtt);
    let after = |round: &usize| {
        flow.clock_until(start + rtt * (*round as u64 + 1), rtt);
        flow.cwnd()
    };
    rounds.iter().map(after).collect()
}

// Tests RFC9438-4.2a, RFC9438-4.4a, RFC9438-4.5a
#[test]
fn the_curve_at_100_ms() {
    let rounds = [1, 2, 5, 10, 15, 20, 30, 50, 60, 70, 80];
    let windows = trajectory(
        "cubic:hz=1000+standard",
        Duration::from_millis(100),
        &rounds,
    );
    assert_eq!(windows, [72, 74, 80, 87, 92, 97, 100, 100, 102, 109, 122]);
}

// Tests RFC9438-4.3a, RFC9438-4.3b
#[test]
fn at_20_ms_the_reno_friendly_window_wins() {
    let rounds = [50, 100, 200, 300, 400];
    let windows = trajectory("cubic:hz=1000+standard", Duration::from_millis(20), &rounds);
    // 281 or 282 after the 400th, by where in a jiffy the ACKs fall.
    assert_eq!(windows, [95, 122, 176, 228, 282]);
}

/// RFC 9438's form follows its equation, rounded down: 79.46 after 0.5 s, 86.68 after 1 s, 95.64
/// after 2 s, 99.99 at K = 4.2 s, 102.27 after 6 s.
// Tests RFC9438-4.4a, RFC9438-4.5a
#[test]
fn the_rfc_reaches_its_maximum_at_k() {
    let rounds = [5, 10, 20, 42, 60];
    let windows = trajectory(
        "cubic:rfc9438=true+standard",
        Duration::from_millis(100),
        &rounds,
    );
    assert_eq!(windows, [79, 86, 95, 99, 102]);
}

/// cubic-bulk-166k: two segments of 1000 bytes every 100 ms, one ACK for both, endless data.
fn bulk(hystart: &str, acks: &[u64]) -> (Flow, Vec<u64>) {
    let mut flow = Flow::new(&format!("cubic:hz=1000+{hystart}"), 10);
    flow.send();
    let mut windows = vec![];
    for ack in 1..=acks.last().copied().unwrap_or_default() / 2 {
        flow.now = Instant::from_millis(100 * ack);
        flow.acknowledge(2);
        if acks.contains(&flow.una()) {
            windows.push(flow.cwnd());
        }
        flow.send();
    }
    (flow, windows)
}

#[test]
fn bulk_over_166_kbit_with_the_hystart_of_5_16() {
    let acks = [10, 20, 30, 40, 60, 80, 100, 120, 400];
    let (flow, windows) = bulk("hystart:linux=5.16", &acks);
    assert_eq!(windows, [20, 30, 40, 48, 49, 50, 52, 58, 198]);
    let exit = flow.control.slow_start_exit().expect("HyStart");
    assert!(matches!(exit.reason, ExitReason::Delay { .. }));
    assert_eq!(exit.at, Instant::from_millis(2_000));
}

/// The same on kernels with the fix of January 2025.
#[test]
fn bulk_over_166_kbit_with_the_hystart_of_today() {
    let acks = [10, 20, 30, 38, 60, 80, 100, 120, 400];
    let (flow, windows) = bulk("hystart", &acks);
    assert_eq!(windows, [20, 30, 36, 36, 37, 39, 45, 54, 194]);
    let exit = flow.control.slow_start_exit().expect("HyStart");
    assert_eq!(exit.at, Instant::from_millis(1_400));
}

/// cubic-rto-ss-ca-cwnd-bump: after a timeout at 10, slow start to 7; 8 with the 16th ACK after that.
// Tests RFC9438-4.8a, RFC9438-4.10a
#[test]
fn after_a_timeout_the_friendly_window_leads() {
    let mut flow = Flow::new("cubic:hz=1000", 10);
    flow.send();
    flow.timeout();
    assert_eq!((flow.cwnd(), flow.ssthresh()), (1, 7));
    // Milliseconds between the ACKs: of 2001 to 7001, and of 8001 to 23001.
    let slow_start = [100, 100, 2, 98, 2, 2];
    let avoidance = [2, 98, 2, 2, 2, 2, 2, 2, 98, 3, 2, 2, 2, 2, 2, 98];
    let mut windows = vec![];
    for gap in slow_start.into_iter().chain(avoidance) {
        flow.send();
        flow.now += Duration::from_millis(gap);
        flow.acknowledge(1);
        windows.push(flow.cwnd());
    }
    assert_eq!(windows[..6], [2, 3, 4, 5, 6, 7]);
    assert_eq!(windows[6..21], [7; 15]);
    assert_eq!(windows[21], 8);
}

/// A pause earns no growth: the epoch moves with it.
#[test]
fn the_epoch_waits_for_an_idle_sender() {
    let mut flow = Flow::new("cubic:hz=1000+standard", 100);
    flow.send();
    flow.congestion(CongestionKind::Loss);
    flow.control.on_recovery_exit(flow.now);
    flow.now = Instant::from_millis(100);
    flow.acknowledge(1);
    let mut idle = flow.control.clone();
    let sent = congestion::Sent {
        now: Instant::from_secs(11),
        size: crate::flow::SMSS,
        in_flight: units::Bytes::ZERO,
        snd_nxt: 0,
        retransmission: false,
        idle_since: Some(Instant::from_secs(1)),
        app_limited: true,
    };
    let epoch = |control: &congestion::AnyCongestionControl| match control {
        congestion::AnyCongestionControl::Classic(classic) => {
            congestion::Avoidance::epoch(classic.avoidance())
        }
        _ => None,
    };
    idle.on_sent(&sent);
    let (before, after) = (epoch(&flow.control), epoch(&idle));
    assert_eq!(before, Some(Instant::from_millis(100)));
    assert_eq!(after, Some(Instant::from_millis(10_100)));
}

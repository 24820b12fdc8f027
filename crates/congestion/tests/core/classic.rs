//! What Linux's core does around a classic congestion control: sections 3.1 of RFC 5681 and the
//! numbers worked from `tcp_cong.c`, `tcp_output.c` and google/packetdrill's slow_start scripts.

use congestion::avoidance::AdditiveIncrease;
use congestion::{CongestionControl, CongestionKind, ExitReason, Phase};
use units::{Bytes, Duration, Instant};

use crate::flow::{Flow, SMSS, build};

const RTT: Duration = Duration::from_millis(100);

// Tests RFC5681-3.1e
#[test]
fn a_connection_begins_without_a_threshold() {
    for name in ["reno", "cubic", "westwood", "bic"] {
        assert_eq!(build(name, 10).window().ssthresh, Bytes::MAX, "{name}");
    }
}

/// slow-start-ack-per-{1,2,4}pkt: the window doubles whatever the ACKs are.
// Tests RFC5681-3.1f
#[test]
fn slow_start_credits_every_segment() {
    for per_ack in [1, 2, 5, 10] {
        let mut flow = Flow::new("reno+standard", 10);
        flow.send();
        flow.round(RTT, per_ack);
        assert_eq!(flow.cwnd(), 20, "{per_ack} segments for each ACK");
    }
    // No limit to a stretch ACK: 44 segments add 44, where RFC 5681 adds one.
    let mut flow = Flow::new("reno+standard", 44);
    flow.send();
    flow.acknowledge(44);
    assert_eq!(flow.cwnd(), 88);
}

// Tests RFC9438-4.6c
#[test]
fn a_sender_that_its_window_does_not_limit_does_not_grow() {
    let mut flow = Flow::new("cubic+standard", 10);
    flow.send();
    flow.cwnd_limited = false;
    flow.acknowledge(4);
    assert_eq!(flow.cwnd(), 10);
}

/// The part of an ACK beyond the threshold belongs to avoidance, in the same ACK.
#[test]
fn the_threshold_splits_an_ack() {
    let mut flow = Flow::new("reno+standard", 10);
    flow.send();
    flow.timeout();
    assert_eq!((flow.cwnd(), flow.ssthresh()), (1, 5));
    flow.send();
    flow.acknowledge(1);
    flow.send();
    flow.acknowledge(2);
    assert_eq!(flow.cwnd(), 4);
    flow.send();
    // Four more: one reaches the threshold, three count toward the next segment (of five).
    flow.acknowledge(4);
    assert_eq!(flow.cwnd(), 5);
    flow.send();
    flow.acknowledge(1);
    assert_eq!(flow.cwnd(), 5);
    flow.acknowledge(1);
    assert_eq!(flow.cwnd(), 6);
}

/// `tcp_cong_avoid_ai(w, acked)`.
#[test]
fn additive_increase_carries_what_is_left() {
    let mut increase = AdditiveIncrease::default();
    let mut grow = |acked, per| {
        increase
            .on_acked(SMSS * acked, SMSS * per, SMSS)
            .segments(SMSS)
    };
    assert_eq!(grow(9, 10), 0);
    assert_eq!(grow(1, 10), 1);
    assert_eq!(grow(25, 10), 2);
    assert_eq!(grow(4, 10), 0);
    // Nine are credited; a divisor of three takes effect at once, but earns one segment only, and
    // then the seven of this ACK earn two more.
    assert_eq!(grow(7, 3), 3);
    assert_eq!(grow(1, 3), 0);
    assert_eq!(grow(1, 3), 1);
}

// Tests RFC5681-3.1g, RFC5681-3.1h
#[test]
fn reno_halves_the_window_and_grows_by_one_a_round() {
    for (cwnd, ssthresh) in [(1, 2), (2, 2), (3, 2), (5, 2), (10, 5), (21, 10)] {
        let mut control = Flow::new("reno", cwnd);
        control.congestion(CongestionKind::Loss);
        assert_eq!(control.ssthresh(), ssthresh);
    }
    let mut flow = Flow::new("reno", 20);
    flow.congestion(CongestionKind::Loss);
    flow.control.on_recovery_exit(Instant::ZERO);
    flow.send();
    let windows: Vec<u64> = (0..5)
        .map(|_| {
            flow.round(RTT, 1);
            flow.cwnd()
        })
        .collect();
    assert_eq!(windows, [11, 12, 13, 14, 15]);
}

/// The first slow start of one flow, by round: an integer snapshot.
// Tests RFC5681-3.1a, RFC5681-3.2f
#[test]
fn slow_start_then_loss_then_avoidance() {
    let mut flow = Flow::new("reno+standard", 10);
    flow.send();
    let mut windows = vec![];
    for round in 0..8 {
        if round == 3 {
            flow.drop_next(1);
        }
        flow.round(RTT, 1);
        windows.push(flow.cwnd());
    }
    // The first of the 80 is lost: one round to come down to 40, and one to recover.
    assert_eq!(windows, [20, 40, 80, 40, 40, 41, 42, 43]);
    let exit = flow
        .control
        .slow_start_exit()
        .expect("a loss ended slow start");
    assert_eq!((exit.reason, exit.cwnd), (ExitReason::Loss, SMSS * 80));
}

#[test]
fn the_exit_is_recorded_once_with_the_window_of_that_moment() {
    let mut flow = Flow::new("reno+standard", 10);
    assert_eq!(flow.control.slow_start_exit(), None);
    flow.send();
    flow.now = Instant::from_millis(70);
    flow.timeout();
    let exit = flow
        .control
        .slow_start_exit()
        .expect("a timeout ended slow start");
    assert_eq!(exit.reason, ExitReason::Timeout);
    assert_eq!((exit.cwnd, exit.at), (SMSS * 10, flow.now));
    flow.send();
    flow.round(RTT, 1);
    flow.congestion(CongestionKind::Loss);
    assert_eq!(flow.control.slow_start_exit(), Some(exit));
}

/// cwnd 40, used 12, one RTO unlimited: 26, with a threshold of at least 30.
#[test]
fn an_unused_window_decays() {
    let mut control = build("reno", 40);
    control.on_window_unused(Instant::ZERO, SMSS * 12, SMSS * 10);
    assert_eq!(control.window().cwnd, SMSS * 26);
    assert_eq!(control.window().ssthresh, Bytes::MAX);
    // With a finite threshold below, it rises to three quarters of the window.
    let mut flow = Flow::new("reno", 80);
    flow.congestion(CongestionKind::Loss);
    flow.control.on_recovery_exit(Instant::ZERO);
    assert_eq!((flow.cwnd(), flow.ssthresh()), (40, 40));
    flow.control
        .on_window_unused(Instant::ZERO, SMSS * 12, SMSS * 10);
    assert_eq!((flow.cwnd(), flow.ssthresh()), (26, 40));
    flow.control
        .on_window_unused(Instant::ZERO, SMSS * 40, SMSS * 10);
    assert_eq!(flow.cwnd(), 26);
}

/// Idle restart: halved for each RTO beyond the first, down to the initial window.
#[test]
fn an_idle_window_decays() {
    let rows = [
        (80, 1_000, 1_000, 80),
        (80, 1_000, 1_100, 40),
        (80, 1_000, 2_100, 20),
        (80, 1_000, 3_500, 10),
        (80, 1_000, 10_000, 10),
        (36, 300, 2_000, 10),
        (8, 1_000, 5_000, 8),
    ];
    for (cwnd, rto, idle, expected) in rows {
        let mut control = build("cubic", cwnd);
        let (idle, rto) = (Duration::from_millis(idle), Duration::from_millis(rto));
        control.on_idle_restart(Instant::from_secs(20), idle, rto, SMSS * 10, 0);
        let cwnd_now = control.window().cwnd_segments();
        assert_eq!(
            cwnd_now, expected,
            "cwnd {cwnd}, RTO {rto:?}, idle {idle:?}"
        );
    }
    // The threshold remembers three quarters of the window.
    let mut flow = Flow::new("reno", 100);
    flow.congestion(CongestionKind::Loss);
    flow.control.on_recovery_exit(Instant::ZERO);
    flow.send();
    for _ in 0..30 {
        flow.round(RTT, 1);
    }
    assert_eq!((flow.cwnd(), flow.ssthresh()), (80, 50));
    let (idle, rto) = (Duration::from_secs(9), Duration::from_secs(1));
    flow.control
        .on_idle_restart(flow.now, idle, rto, SMSS * 10, 0);
    assert_eq!((flow.cwnd(), flow.ssthresh()), (10, 60));
}

/// A8: the window and the threshold of before come back, and with them slow start.
// Tests RFC9438-4.9a
#[test]
fn a_spurious_reduction_is_undone() {
    for kind in [CongestionKind::Loss, CongestionKind::Timeout] {
        let mut flow = Flow::new("cubic+standard", 20);
        flow.send();
        match kind {
            CongestionKind::Timeout => flow.timeout(),
            _ => flow.congestion(kind),
        }
        assert_eq!(flow.ssthresh(), 14);
        assert!(flow.control.slow_start_exit().is_some());
        flow.control.undo(flow.now);
        let window = flow.control.window();
        assert_eq!((window.cwnd, window.ssthresh), (SMSS * 20, Bytes::MAX));
        assert_eq!(flow.control.slow_start_exit(), None);
    }
    // Outside slow start the threshold that returns is three quarters of the window.
    let mut flow = Flow::new("reno+standard", 80);
    flow.congestion(CongestionKind::Loss);
    flow.control.on_recovery_exit(flow.now);
    flow.congestion(CongestionKind::Loss);
    flow.control.undo(flow.now);
    assert_eq!((flow.cwnd(), flow.ssthresh()), (40, 40));
}

#[test]
fn a_mark_is_not_undone() {
    let mut flow = Flow::new("cubic+standard", 20);
    flow.send();
    flow.congestion(CongestionKind::Ecn);
    flow.phase = Phase::Cwr;
    flow.control.undo(flow.now);
    assert_eq!(flow.ssthresh(), 14);
    // Nor is a loss that a mark follows; the mark itself reduces nothing more.
    for (kind, phase) in [
        (CongestionKind::Loss, Phase::Recovery),
        (CongestionKind::Timeout, Phase::Loss),
    ] {
        let mut flow = Flow::new("cubic+standard", 20);
        flow.send();
        flow.congestion(kind);
        flow.phase = phase;
        flow.congestion(CongestionKind::Ecn);
        flow.control.undo(flow.now);
        assert_eq!(flow.ssthresh(), 14, "{kind:?}");
    }
}

/// The threshold is kept when the timer expires again for the same window.
// Tests RFC5681-3.1i
#[test]
fn a_repeated_timeout_keeps_the_threshold() {
    let mut flow = Flow::new("reno+standard", 20);
    flow.send();
    flow.timeout();
    assert_eq!((flow.cwnd(), flow.ssthresh()), (1, 10));
    flow.control.on_congestion(&congestion::Congestion {
        now: flow.now,
        kind: CongestionKind::Timeout,
        phase: Phase::Loss,
        in_flight: Bytes::ZERO,
        snd_nxt: 0,
        first_of_window: false,
    });
    assert_eq!((flow.cwnd(), flow.ssthresh()), (1, 10));
    flow.control.undo(flow.now);
    assert_eq!(flow.cwnd(), 20);
}

/// Linux `tcp_mtup_probe_success`: the window keeps its bytes, in whole segments of the new size.
#[test]
fn a_larger_packet_keeps_the_bytes_of_the_window() {
    let mut control = build("cubic+standard", 10);
    let window = control.window();
    assert_eq!((window.cwnd, window.ssthresh), (SMSS * 10, Bytes::MAX));
    control.on_mtu(Instant::ZERO, Bytes::new(1_452));
    let window = control.window();
    assert_eq!(window.cwnd, Bytes::new(1_452) * (SMSS.get() * 10 / 1_452));
    assert_eq!(
        (window.ssthresh, window.smss),
        (Bytes::MAX, Bytes::new(1_452))
    );
}

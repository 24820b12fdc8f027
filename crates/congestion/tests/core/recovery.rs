//! Recovery: the figures of RFC 9937 (by its formulas), and Linux's `tcp_cwnd_reduction` with the
//! numbers of google/packetdrill's fast_recovery and cwnd_moderation scripts.

use congestion::{CongestionControl, CongestionKind, Phase};

use crate::flow::Flow;

/// The windows after each of `acks` ACKs of one segment, when the first `lost` of `window` were lost.
fn windows(name: &str, window: u64, lost: usize, acks: usize) -> (Flow, Vec<u64>) {
    let mut flow = Flow::new(name, window);
    flow.send();
    flow.drop_next(lost);
    let windows = (0..acks)
        .map(|_| {
            flow.acknowledge(1);
            let cwnd = flow.cwnd();
            flow.send();
            cwnd
        })
        .collect();
    (flow, windows)
}

/// Figure 1: 20 in flight, threshold 10, the first lost. The drawing has 11 at ACK 19.
// Tests RFC9937-6a, RFC9937-6b
#[test]
fn rfc_9937_figure_1() {
    let (mut flow, windows) = windows("reno+standard+prr:rfc=9937", 20, 1, 21);
    assert_eq!(
        windows,
        [
            20, 20, 19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 10, 10, 10
        ]
    );
    flow.acknowledge(1);
    assert_eq!((flow.phase, flow.ssthresh()), (Phase::Open, 10));
}

/// Figure 2: the first 15 of 20 lost; one retransmission for each ACK.
// Tests RFC9937-6c
#[test]
fn rfc_9937_figure_2() {
    let (_, windows) = windows("reno+standard+prr:rfc=9937", 20, 15, 5);
    // ACK 16 and 17 of the figure are the limited transmits.
    assert_eq!(windows, [20, 20, 5, 5, 5]);
}

/// Nine of 22 lost, three SACKed: as much is in flight as the threshold allows, and the first
/// retransmission leaves nevertheless.
// Tests RFC9937-6e
#[test]
fn the_first_retransmission_leaves_at_the_threshold() {
    for name in ["reno+standard+prr:rfc=9937", "reno+standard+prr"] {
        let (flow, windows) = windows(name, 20, 9, 3);
        assert_eq!(flow.ssthresh(), 10, "{name}");
        assert_eq!(windows, [20, 20, 11], "{name}");
    }
}

/// Linux, CUBIC: 20 outstanding, threshold 14, the first lost.
#[test]
fn linux_spreads_over_the_window_at_entry() {
    let (mut flow, windows) = windows("cubic+standard", 20, 1, 21);
    assert_eq!(
        windows,
        [
            20, 20, 19, 19, 19, 18, 18, 18, 17, 17, 17, 16, 16, 16, 16, 15, 14, 14, 14, 14, 14
        ]
    );
    flow.acknowledge(1);
    assert_eq!((flow.phase, flow.cwnd()), (Phase::Open, 14));
}

/// prr-ss-10pkt-lost-1, without and with data to send before recovery begins.
#[test]
fn linux_ten_segments_the_first_lost() {
    let mut flow = Flow::new("cubic+standard", 10);
    flow.unsent = 10;
    flow.send();
    flow.drop_next(1);
    for _ in 0..3 {
        flow.acknowledge(1);
    }
    assert_eq!((flow.in_flight(), flow.cwnd(), flow.ssthresh()), (6, 7, 7));
    flow.unsent = u64::MAX;
    flow.send();
    while flow.phase == Phase::Recovery {
        flow.acknowledge(1);
        flow.send();
        assert_eq!(flow.cwnd(), 7);
    }
    let (_, windows) = windows("cubic+standard", 10, 1, 11);
    assert_eq!(windows, [10, 10, 9, 9, 9, 8, 7, 7, 7, 7, 7]);
}

/// A mark with 3 of 4 still in flight: an advancing ACK adds one segment to what it delivered.
/// (cwnd-moderation-ecn-enter-cwr-no-moderation-700 asserts 5; before Linux 5.13 it was 4.)
#[test]
fn linux_reduces_for_a_mark() {
    let mut flow = Flow::new("cubic+standard", 10);
    flow.unsent = 4;
    flow.send();
    flow.cwnd_limited = false;
    flow.congestion(CongestionKind::Ecn);
    flow.phase = Phase::Cwr;
    flow.acknowledge(1);
    assert_eq!((flow.ssthresh(), flow.cwnd()), (7, 5));
    flow.control.on_recovery_exit(flow.now);
    assert_eq!(flow.cwnd(), 7);
}

/// Without a transition nothing leaves until half of the window is acknowledged.
#[test]
fn plain_recovery_waits_for_the_pipe() {
    let mut flow = Flow::new("reno+standard+plain", 20);
    flow.send();
    flow.drop_next(1);
    let mut sent = vec![];
    for _ in 0..22 {
        flow.acknowledge(1);
        let before = flow.in_flight();
        flow.send();
        sent.push(flow.in_flight() - before);
    }
    // Two limited transmits, silence while 18 in flight become 10, then one for each ACK.
    assert_eq!(sent[..12], [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert!(sent[12..19].iter().all(|sent| *sent == 1));
    assert_eq!(flow.ssthresh(), 10);
    assert_eq!(flow.control.window().cwnd_segments(), 10);
}

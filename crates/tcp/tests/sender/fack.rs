//! Loss detection and timeouts of Linux 2.6.24: forward acknowledgment, F-RTO, rate halving. The
//! numbers follow from the descriptions in `fack.rs` and `rate_halving.rs`.

use congestion::Phase;
use tcp::{LossDetection, SenderConfig};

use super::support::{Script, config, ms};

fn of_2008(algorithm: &str) -> SenderConfig {
    SenderConfig {
        loss_detection: LossDetection::Fack,
        byte_counting: false,
        ..config(algorithm)
    }
}

/// Ten segments in flight at 100 ms with an RTT of 100 ms, endless data, and the clock at 200 ms.
fn ten_out(algorithm: &str) -> Script {
    let mut script = Script::established(of_2008(algorithm), 100);
    script.write(u64::MAX);
    assert_eq!(script.sent.len(), 10);
    script.now = ms(200);
    script
}

#[test]
fn all_but_three_below_the_highest_sack_are_lost_at_once() {
    let mut script = ten_out("reno+standard+rate-halving");
    // Seven are lost, two in flight: the window is one above the flight, so one segment leaves.
    assert_eq!(script.ack(0, &[(9, 10)]), [0]);
    assert_eq!(script.sender.phase(), Phase::Recovery);
    assert_eq!(script.sender.stats().segments_lost, 7);
    assert_eq!(
        (script.cwnd(), script.in_flight(), script.ssthresh()),
        (3, 3, 5)
    );
    // RACK would have waited, and would then have declared all nine lost.
    let mut rack = Script::bulk("reno+standard", 100);
    rack.now = ms(200);
    assert_eq!(rack.ack(0, &[(9, 10)]), [10]);
    assert_eq!(rack.sender.stats().segments_lost, 0);
}

#[test]
fn up_to_three_missing_below_a_sack_are_reordering() {
    let mut script = ten_out("reno+standard+rate-halving");
    assert_eq!(script.ack(0, &[(2, 3)]), [10]);
    assert_eq!(script.sender.phase(), Phase::Disorder);
    // The fourth is one too many: the head is lost. The window is three quarters through a halving,
    // which the second ACK of each pair continues.
    assert_eq!(script.ack(0, &[(2, 4)]), [0]);
    assert_eq!(script.sender.stats().segments_lost, 1);
    assert_eq!((script.cwnd(), script.in_flight()), (9, 9));
}

/// One segment for two ACKs, and the threshold at the end.
#[test]
fn rate_halving_sends_one_for_two() {
    let mut script = Script::established(
        SenderConfig {
            initial_window: 20,
            ..of_2008("reno+standard+rate-halving")
        },
        100,
    );
    script.write(u64::MAX);
    script.now = ms(200);
    let mut windows = Vec::new();
    let mut sent = 0;
    for sacked in 2..=20 {
        sent += script.ack(0, &[(1, sacked)]).len();
        windows.push(script.cwnd());
    }
    assert_eq!(
        windows,
        [
            20, 20, 19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 11
        ]
    );
    // Two by limited transmit, the retransmission, and one for each later pair.
    assert_eq!(sent, 11);
    script.ack(20, &[]);
    assert_eq!((script.cwnd(), script.ssthresh()), (10, 10));
    script.ack(29, &[]);
    assert_eq!(script.sender.phase(), Phase::Open);
    assert_eq!(script.ssthresh(), 10);
    assert_eq!(script.cwnd(), 10);
}

#[test]
fn there_is_no_probe_before_the_timeout() {
    let mut script = ten_out("reno+standard+rate-halving");
    assert_eq!(script.run_to(ms(399)), []);
    assert_eq!(script.run_to(ms(400)), [(400, 0)]);
    assert_eq!(script.sender.stats().timeouts, 1);
    assert_eq!(script.sender.stats().tlp_probes, 0);
    // The timeout doubles, and again only the head leaves.
    assert_eq!(script.run_to(ms(1_000)), [(1_000, 0)]);
    assert_eq!(script.sender.stats().timeouts, 2);
}

/// Ten in flight, a timeout at 400 ms, and an ACK of the head that lets two new segments leave.
fn suspected(algorithm: &str) -> Script {
    let mut script = ten_out(algorithm);
    assert_eq!(script.run_to(ms(400)), [(400, 0)]);
    script.now = ms(450);
    assert_eq!(script.ack(1, &[]), [10, 11]);
    assert_eq!(script.sender.phase(), Phase::Disorder);
    script
}

#[test]
fn a_spurious_timeout_reduces_and_retransmits_nothing() {
    let mut script = suspected("reno+standard+rate-halving");
    script.ack(2, &[]);
    assert_eq!(script.sender.phase(), Phase::Cwr);
    let stats = *script.sender.stats();
    assert_eq!(
        (stats.timeouts, stats.spurious_timeouts, stats.undone),
        (1, 1, 0)
    );
    assert_eq!(stats.segments_retransmitted, 1);
    assert_eq!(script.ssthresh(), 5);
    for ack in 3..=10 {
        script.ack(ack, &[]);
    }
    assert_eq!(script.sender.stats().segments_retransmitted, 1);
    assert_eq!(script.cwnd(), 6);
    // All data in flight when the reduction began, and one more segment.
    while script.sender.phase() == Phase::Cwr {
        let una = script.sender.snd_una() / 1_000;
        script.ack(una + 1, &[]);
    }
    assert_eq!((script.cwnd(), script.ssthresh()), (5, 5));
}

#[test]
fn a_genuine_timeout_retransmits_everything() {
    let mut script = suspected("reno+standard+rate-halving");
    // The new segment arrived and nothing before it: 1 to 9 are lost, one is in flight, and three
    // more may leave.
    assert_eq!(script.ack(1, &[(10, 11)]), [1, 2, 3]);
    assert_eq!(script.sender.phase(), Phase::Loss);
    let stats = *script.sender.stats();
    assert_eq!((stats.timeouts, stats.spurious_timeouts), (1, 0));
    assert_eq!(stats.segments_lost, 10);
    assert_eq!((script.cwnd(), script.ssthresh()), (4, 5));
    // Slow start over the lost segments: each ACK adds one segment, whatever it acknowledges.
    script.now = ms(550);
    assert_eq!(script.ack(3, &[(10, 12)]).len(), 4);
    assert_eq!(script.cwnd(), 5);
    script.ack(12, &[]);
    assert_eq!(script.sender.phase(), Phase::Open);
}

#[test]
fn an_ack_of_everything_settles_a_timeout_as_genuine() {
    let mut script = ten_out("cubic:version=2.1+standard+rate-halving");
    script.run_to(ms(400));
    script.now = ms(450);
    script.ack(10, &[]);
    assert_eq!(script.sender.phase(), Phase::Open);
    assert_eq!(script.ssthresh(), 7);
    assert_eq!(script.sender.stats().spurious_timeouts, 0);
}

#[test]
fn a_retransmission_is_lost_when_newer_data_is_sacked() {
    let mut script = ten_out("reno+standard+rate-halving");
    assert_eq!(script.ack(0, &[(1, 5)]), [0]);
    let mut newest = 0;
    for sacked in 6..=10 {
        newest = script
            .ack(0, &[(1, sacked)])
            .last()
            .copied()
            .unwrap_or(newest);
    }
    assert!(
        newest >= 10,
        "new data left after the retransmission: {newest}"
    );
    assert_eq!(script.sender.stats().segments_lost, 1);
    script.now = ms(300);
    let again = script.ack(0, &[(1, newest + 1)]);
    assert_eq!(again.first(), Some(&0));
    assert_eq!(script.sender.stats().segments_lost, 2);
}

#[test]
fn an_old_head_is_lost_with_the_next_duplicate() {
    let mut script = ten_out("reno+standard+rate-halving");
    // An ACK restarts the timer while the head grows older than the timeout of 362 ms.
    script.now = ms(300);
    assert_eq!(script.ack(1, &[]), [10, 11]);
    script.now = ms(500);
    // One duplicate: the highest SACK is within three segments, yet all segments except the new
    // ones are old.
    script.ack(1, &[(3, 4)]);
    assert_eq!(script.sender.phase(), Phase::Recovery);
    assert_eq!(script.sender.stats().segments_lost, 8);
}

#[test]
fn an_ack_earns_growth_for_one_segment() {
    let mut script = ten_out("reno+standard+rate-halving");
    script.ack(2, &[]);
    assert_eq!(script.cwnd(), 11);
    script.ack(8, &[]);
    assert_eq!(script.cwnd(), 12);
    let mut current = Script::bulk("reno+standard", 100);
    current.now = ms(200);
    current.ack(2, &[]);
    assert_eq!(current.cwnd(), 12);
}

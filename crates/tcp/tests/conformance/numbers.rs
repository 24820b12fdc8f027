//! Numbers computed from the formulas of PRR, RACK and the tail loss probe, checked at the sender.

use congestion::Phase;
use units::Instant;

use crate::script::{Script, Setup};

/// Ten in flight and more to send: the window after each ACK of a recovery from one loss. (Within a
/// millisecond of the last transmission, TSO deferral could hold back the second segment of the
/// limited transmit.)
#[test]
fn prr_with_unlimited_data() {
    let mut script = Script::new(Setup::default());
    script.write(100).expect_new(10).at(100);
    for (end, window) in (2..).zip([10, 10, 9, 9, 9, 8, 7, 7, 7]) {
        script.after(2).sack(0, &[(1, end)]).expect_cwnd(window);
    }
    script
        .expect_phase(Phase::Recovery)
        .expect_ssthresh(Some(7));
}

/// Twenty in flight, CUBIC's threshold of 14, the first segment lost, one ACK for each other
/// segment and for each one sent meanwhile.
// Tests RFC9937-6b
#[test]
fn prr_of_linux_from_twenty() {
    let mut script = Script::new(Setup::default());
    script
        .write(10)
        .expect_new(10)
        .at(100)
        .ack(10)
        .expect_cwnd(20);
    script.write(100).expect_new(20).at(200);
    let windows = [
        20, 20, 19, 19, 19, 18, 18, 18, 17, 17, 17, 16, 16, 16, 16, 15, 14, 14, 14, 14, 14,
    ];
    for (end, window) in (12..).zip(windows) {
        script.after(2).sack(10, &[(11, end)]).expect_cwnd(window);
    }
    script.expect_ssthresh(Some(14));
}

/// RACK: with one SACK, of the last segment, it waits a quarter of the smallest RTT plus 2 ms; with
/// three SACKs it does not wait.
#[test]
fn rack_waits_for_reordering_or_does_not() {
    let mut script = Script::new(Setup::default());
    script.write(4).expect_new(4);
    script.at(100).sack(0, &[(3, 4)]);
    script.at(500);
    assert_eq!(script.take_departures()[0], 127_000);
    let mut script = Script::new(Setup::default());
    script.write(4).expect_new(4);
    script.at(100).sack(0, &[(1, 4)]).expect_retransmitted(&[0]);
}

/// RACK: after reordering was seen, it waits a quarter of the smallest RTT even with many SACKs, in
/// Open and Disorder. A segment no later than that is not retransmitted.
#[test]
fn rack_tolerates_reordering_that_it_has_seen() {
    let mut script = Script::new(Setup::default());
    script.write(10).expect_new(10);
    script
        .at(100)
        .sack(0, &[(1, 2)])
        .ack(2)
        .ack(10)
        .expect_nothing();
    script.at(200).write(10).expect_new(10);
    script
        .at(300)
        .sack(10, &[(11, 20)])
        .expect_nothing()
        .expect_phase(Phase::Disorder);
    script
        .at(320)
        .ack(20)
        .expect_nothing()
        .expect_phase(Phase::Open);
    assert_eq!(script.sender.stats().segments_lost, 0);
}

/// Tail loss probe: twice the smoothed RTT plus 2 ms with several segments in flight. With one
/// segment, 200 ms more for a delayed ACK, but never later than the retransmission timeout.
#[test]
fn tail_loss_probe_timing() {
    let mut script = Script::new(Setup::default());
    script.write(4).expect_new(4).at(201).expect_nothing();
    script.at(202).expect_retransmitted(&[3]);
    assert_eq!(script.sender.stats().tlp_probes, 1);
    let mut script = Script::new(Setup::default());
    script.write(1).expect_new(1).at(299).expect_nothing();
    script.at(300).expect_retransmitted(&[0]);
    assert_eq!(
        (
            script.sender.stats().tlp_probes,
            script.sender.stats().timeouts
        ),
        (1, 0)
    );
}

/// A probe that carries new data and is acknowledged with all earlier data: no loss.
#[test]
fn a_probe_of_new_data_costs_nothing() {
    let mut script = Script::new(Setup::default());
    script.write(12).expect_new(10);
    script.at(202).expect_new(1);
    script
        .at(302)
        .ack(11)
        .expect_phase(Phase::Open)
        .expect_ssthresh(None);
}

/// The timeout: the smoothed RTT plus at least 200 ms, doubled each time.
// Tests RFC6298-5b, RFC6298-5c
#[test]
fn timeouts_double() {
    let mut script = Script::new(Setup::default());
    script.write(1).expect_new(1);
    // The probe leaves at the time of the first timeout, and the timer restarts after it.
    let mut due = 300;
    for span in [0, 300, 600, 1_200, 2_400] {
        due += span;
        script.at(due - 1).expect_nothing();
        script.at(due).expect_retransmitted(&[0]);
    }
    assert_eq!(script.sender.stats().timeouts, 4);
}

/// A timeout sets the window to one segment, and the threshold to CUBIC's fraction of the previous
/// window. A second timeout for the same data leaves the threshold.
// Tests RFC5681-3.1j
#[test]
fn a_timeout_restarts_slow_start() {
    let mut script = Script::new(Setup::default());
    script.write(10).expect_new(10);
    script
        .at(600)
        .ignore_sent()
        .expect_phase(Phase::Loss)
        .expect_cwnd(1)
        .expect_ssthresh(Some(7));
    script
        .at(2_000)
        .ignore_sent()
        .expect_cwnd(1)
        .expect_ssthresh(Some(7));
    assert!(script.sender.stats().timeouts >= 2);
}

/// Undo: a DSACK for every retransmission restores the window.
#[test]
fn a_reported_duplicate_undoes_the_reduction() {
    let mut script = Script::new(Setup::default());
    script.write(10).expect_new(10);
    script
        .at(100)
        .sack(0, &[(1, 4)])
        .expect_retransmitted(&[0])
        .expect_ssthresh(Some(7));
    // The original arrives after all, and then the retransmission.
    script.at(110).ack(4).at(112).ack(10);
    script.at(200).sack(10, &[(0, 1)]);
    script
        .expect_phase(Phase::Open)
        .expect_cwnd(10)
        .expect_ssthresh(None);
    assert_eq!(script.sender.stats().undone, 1);
}

/// The RFC's own example with Reno's threshold: its figure 1 (twenty in flight, the first lost),
/// with the windows computed from its formula.
#[test]
fn prr_of_rfc_9937_figure_1() {
    let mut script = twenty("reno+standard+prr:rfc=9937");
    let windows = [
        20, 20, 19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 10, 10, 10,
    ];
    for (end, window) in (12..).zip(windows) {
        script.after(2).sack(10, &[(11, end)]).expect_cwnd(window);
    }
    script
        .expect_ssthresh(Some(10))
        .expect_phase(Phase::Recovery);
}

/// Figure 2: the first fifteen of twenty are lost; each of the last three SACKs triggers one
/// retransmission.
// Tests RFC9937-6c
#[test]
fn prr_of_rfc_9937_figure_2() {
    let mut script = twenty("reno+standard+prr:rfc=9937");
    script
        .after(2)
        .sack(10, &[(25, 26)])
        .after(2)
        .sack(10, &[(25, 27)])
        .ignore_sent();
    for (lost, end) in (10..13).zip(28..31) {
        script
            .after(2)
            .sack(10, &[(25, end)])
            .expect_retransmitted(&[lost])
            .expect_cwnd(5);
    }
}

/// Twenty in flight after ten were acknowledged, and more to send.
fn twenty(algorithm: &'static str) -> Script {
    let mut script = Script::new(Setup {
        algorithm,
        ..Setup::default()
    });
    script
        .write(10)
        .expect_new(10)
        .at(100)
        .ack(10)
        .expect_cwnd(20);
    script.write(100).expect_new(20).at(200);
    script
}

/// ECN: a mark with three of four segments left in flight. The threshold is CUBIC's fraction of the
/// window. The window is the data in flight, plus one for the delivered segment, plus one because
/// the ACK advanced and reported no loss. (Linux before 5.14 did not grant the last one: 4.)
// Tests RFC9937-6d
#[test]
fn a_mark_reduces_the_window_once() {
    let mut script = Script::new(Setup {
        ecn: true,
        ..Setup::default()
    });
    script.write(4).expect_new(4);
    script.at(100).marked(true).ack(1);
    script
        .expect_phase(Phase::Cwr)
        .expect_cwnd(5)
        .expect_ssthresh(Some(7));
    script
        .at(101)
        .ack(2)
        .expect_phase(Phase::Cwr)
        .expect_ssthresh(Some(7));
    script
        .marked(false)
        .at(102)
        .ack(4)
        .at(103)
        .write(1)
        .at(203)
        .ack(5);
    script
        .expect_phase(Phase::Open)
        .expect_cwnd(7)
        .expect_ssthresh(Some(7));
}

/// Eifel: the ACK that ends the recovery echoes the timestamp of the original or of the
/// retransmission. It delivers one segment, by which a restored slow start then grows.
#[test]
fn an_older_echo_undoes_the_reduction() {
    let recovery = || {
        let mut script = Script::new(Setup::default());
        script.write(10).expect_new(10).echo(0);
        script
            .at(100)
            .sack(0, &[(1, 4)])
            .expect_retransmitted(&[0])
            .expect_ssthresh(Some(7));
        script
            .at(110)
            .sack(0, &[(1, 10)])
            .expect_nothing()
            .expect_phase(Phase::Recovery);
        script
    };
    let mut script = recovery();
    script
        .at(120)
        .ack(10)
        .expect_phase(Phase::Open)
        .expect_cwnd(11)
        .expect_ssthresh(None);
    assert_eq!(script.sender.stats().undone, 1);

    let mut script = recovery();
    script.at(200).echo(100).ack(10);
    script
        .expect_phase(Phase::Open)
        .expect_cwnd(7)
        .expect_ssthresh(Some(7));
    assert_eq!(script.sender.stats().undone, 0);
}

/// F-RTO: after a timeout, the first ACK releases new data, and the second delivers an original:
/// the timeout was spurious. (Without timestamps, which would show this at once.)
#[test]
fn f_rto_recognizes_a_spurious_timeout() {
    let mut script = Script::new(Setup::default());
    script.write(20).expect_new(10);
    script.at(202).expect_new(1);
    script
        .at(602)
        .expect_retransmitted(&[0])
        .expect_phase(Phase::Loss)
        .expect_cwnd(1);
    assert_eq!(script.sender.stats().timeouts, 1);
    // The delay has ended: the originals are acknowledged one by one.
    script.at(610).ack(1);
    assert!(
        script.take_retransmitted().is_empty(),
        "new data, no retransmission"
    );
    script
        .at(611)
        .ack(2)
        .expect_phase(Phase::Open)
        .expect_ssthresh(None);
    assert_eq!(script.sender.stats().spurious_timeouts, 1);
    script.expect_lost(0);
    let cwnd = script.sender.window().cwnd_segments();
    assert!(cwnd >= 10, "the window must be restored, got {cwnd}");
}

/// F-RTO: a SACK after the new data shows that the loss is genuine, and slow start retransmits the
/// rest.
#[test]
fn f_rto_recognizes_a_genuine_loss() {
    let mut script = Script::new(Setup::default());
    script.write(20).expect_new(10);
    script.at(202).expect_new(1);
    script
        .at(602)
        .expect_retransmitted(&[0])
        .expect_phase(Phase::Loss);
    script.at(702).ack(1).ignore_sent().expect_ssthresh(Some(7));
    script.at(802).sack(1, &[(11, 12)]);
    script.expect_phase(Phase::Loss);
    let retransmitted = script.take_retransmitted();
    assert_eq!(retransmitted.first(), Some(&1), "{retransmitted:?}");
    assert_eq!(script.sender.stats().spurious_timeouts, 0);
}

/// Idle: each full timeout without transmissions halves the window, down to the initial window.
#[test]
fn idle_periods_halve_the_window() {
    // The timeout is 300 ms: all RTTs were 100 ms.
    for (idle, window) in [
        (300, 80),
        (301, 40),
        (599, 40),
        (601, 20),
        (901, 10),
        (5_000, 10),
    ] {
        let setup = Setup {
            algorithm: "reno+standard",
            restart_after_idle: true,
            ..Setup::default()
        };
        let mut script = Script::new(setup);
        // Flights of 10, 20 and 40 segments: the window is 80 when all are acknowledged.
        script.write(70);
        for (ms, next) in [(100, 10), (200, 30)] {
            script.at(ms).ack(next);
        }
        script.at(300).ack(70).expect_cwnd(80);
        assert_eq!(script.sender.rto().as_millis(), 300);
        // Idle time counts from the last segment sent, 100 ms before the last ACK.
        script.at(200 + idle).write(1).expect_cwnd(window);
    }
}

/// One segment and no more data. The timeout of 300 ms (after the probe, 300 + 300) cuts the window
/// to 1, which the one segment fills; but with nothing to send, nothing was limited. The ACK of the
/// original undoes the cut, and 10 does not grow, because the largest flight was 1 and 10 is not
/// below twice that.
#[test]
fn a_sender_without_data_is_not_limited_by_a_window_that_a_timeout_cut() {
    let mut script = Script::new(Setup::default());
    script.write(1).expect_new(1);
    script.at(650).expect_cwnd(1);
    assert_eq!(script.take_departures(), [300_000, 600_000]);
    script.at(700).echo(0).ack(1).expect_cwnd(10);
    // With a second segment to send, the same window did limit it: 10 and the segment acknowledged.
    let mut script = Script::new(Setup::default());
    script.write(1).expect_new(1);
    script.at(350).expect_retransmitted(&[0]);
    script.at(650).expect_retransmitted(&[0]).write(1);
    script.expect_nothing().expect_cwnd(1);
    script.at(700).echo(0).ack(1).expect_cwnd(11);
}

/// Twelve segments and 1,627 bytes. Each of the first ACKs frees two segments, which are a full
/// burst. What is left for the second burst is less, and leaves all the same.
#[test]
fn a_full_burst_that_the_windows_permit_does_not_wait_for_more_data() {
    let mut script = Script::new(Setup::default());
    script.write(12).expect_new(10).at(100);
    script.sender.write(Instant::from_millis(201), 1_627);
    script.ack(1).expect_new(2);
    script.ack(2);
    assert_eq!(script.take_departures(), [100_000, 100_000]);
    assert_eq!(script.sender.stats().bytes_sent, 13_627);
}

/// Undo: the ACK that ends a recovery carries a DSACK. It proves the retransmission unnecessary only
/// if it reports the retransmitted segment (0). Segment 3 was sent once: the network duplicated it.
#[test]
fn a_packet_that_the_network_duplicated_undoes_nothing() {
    for (duplicate, ssthresh) in [((0, 1), None), ((3, 4), Some(7))] {
        let mut script = Script::new(Setup::default());
        script.write(10).expect_new(10).at(110);
        script.sack(0, &[(1, 4)]).expect_retransmitted(&[0]);
        script.expect_ssthresh(Some(7)).at(210);
        script.sack(10, &[duplicate]).expect_phase(Phase::Open);
        script.expect_ssthresh(ssthresh);
    }
}

/// A receive window that ends within a segment. 3,500 bytes: a burst of two, then one and the part
/// that fits. While that part is not acknowledged, no other part leaves (Minshall's form of Nagle's
/// rule), and never a part alone, before which no full segment fits.
#[test]
fn the_part_of_a_segment_that_fits_into_the_window_leaves() {
    let mut script = Script::new(Setup::default());
    script.write(2).expect_new(2).at(100).window(3_500).ack(2);
    script.write(20);
    assert_eq!(script.take_departures().len(), 4);
    assert_eq!(script.sender.stats().bytes_sent, 2_000 + 3_500);
    // 5,500 of 7,000 bytes: a full segment leaves, and the part of 500 bytes waits.
    script.at(200).window(4_000).ack(3);
    assert_eq!(script.sender.stats().bytes_sent, 6_500);
    // 900 bytes do not hold a full segment, so nothing leaves.
    script.at(300).window(4_400).ack(3);
    assert_eq!(script.sender.stats().bytes_sent, 6_500);
}

/// Of ten segments, the ACK of the first reports the last three, so 1 to 6 are lost, and proportional
/// rate reduction permits four retransmissions. The ACK shrinks the window to 3,000 bytes: 4 begins
/// beyond them, and waits until the next ACK moves the window. A closed window permits the first alone.
#[test]
fn nothing_but_the_head_is_retransmitted_beyond_a_window_that_shrank() {
    for (window, again) in [(65_535, &[1, 2, 3, 4][..]), (3_000, &[1, 2, 3]), (0, &[1])] {
        let mut script = Script::new(Setup::default());
        script.write(10).expect_new(10).at(100);
        script.window(window).sack(1, &[(7, 10)]);
        script.expect_lost(6).expect_retransmitted(again);
        if window == 3_000 {
            script
                .after(50)
                .sack(2, &[(7, 10)])
                .expect_retransmitted(&[4]);
        }
    }
}

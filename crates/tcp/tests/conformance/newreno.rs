//! NewReno without SACK: an example computed by hand from the rules of RFC 6582, and Linux's
//! additions to them.

use congestion::Phase;

use crate::script::{Script, Setup};

fn newreno(algorithm: &'static str) -> Script {
    established(Setup {
        algorithm,
        sack: false,
        ..Setup::default()
    })
}

/// The ACKs advertise the window of the SYN-ACK, because an ACK that opens the window is not a
/// duplicate.
pub fn established(setup: Setup) -> Script {
    let mut script = Script::new(setup);
    script.window(65_535);
    script
}

/// A window of 20 segments in flight, and no more data to send.
fn twenty_out(script: &mut Script) {
    script.write(20).expect_new(10);
    script.at(100);
    for next in 1..=10 {
        script.ack(next);
    }
    script.expect_new(10).expect_cwnd(20);
    // Segments 10 to 29 are in flight, as 1 to 20 of the example (which sends all of them at once).
    script.write(10).expect_new(10);
    script.at(200);
}

/// 20 segments in flight; the first and the eleventh are lost; no limited transmit; then unlimited
/// data. The reference calculation gives the segments that leave at each ACK, with RFC 6582's
/// inflated window. A window that drops to the threshold at once, with duplicates subtracted from
/// the flight, sends the same segments.
#[test]
fn an_example_worked_from_rfc_6582() {
    let mut script = newreno("reno+standard+newreno");
    twenty_out(&mut script);
    // No data to send, so no limited transmit.
    script.ack(10).ack(10).expect_nothing();
    script
        .ack(10)
        .expect_retransmitted(&[10])
        .expect_ssthresh(Some(10));
    script.write(100).expect_nothing();
    // The example's window of 13 is full until the 11th duplicate ACK, and reaches 28 at the 18th,
    // the last.
    for _ in 4..=10 {
        script.ack(10).expect_nothing();
    }
    for _ in 11..=18 {
        script.ack(10).expect_new(1);
    }
    // Partial ACK: the example's #11 is retransmitted, and #29 leaves.
    script.at(300).ack(20).expect_sent(&[20], 1);
    for _ in 0..8 {
        script.ack(20).expect_new(1);
    }
    // The ACK covers the example's #28: a full ACK. Nine are in flight, the window is 10.
    script.at(400).ack(38).expect_cwnd(10).expect_new(1);
}

/// With PRR, Linux's default, the same losses are repaired at the same ACKs.
#[test]
fn partial_acks_repair_one_segment_each() {
    let mut script = newreno("reno+standard");
    twenty_out(&mut script);
    for _ in 0..3 {
        script.ack(10);
    }
    script.expect_retransmitted(&[10]);
    for _ in 0..14 {
        script.ack(10);
    }
    script.expect_nothing().expect_phase(Phase::Recovery);
    // 13, 17 and 22 were lost too.
    script
        .at(300)
        .ack(13)
        .expect_retransmitted(&[13])
        .expect_lost(1);
    script.at(400).ack(17).expect_retransmitted(&[17]);
    script.at(500).ack(22).expect_retransmitted(&[22]);
    script.at(600).ack(30).expect_phase(Phase::Recovery);
    assert_eq!(script.sender.stats().segments_lost, 4);
    assert_eq!(script.sender.stats().timeouts, 0);
    assert_eq!(script.sender.stats().recoveries, 1);
}

/// Linux restarts the timer at each partial ACK. The RFC's impatient variant restarts it only at
/// the first, so that many losses end in a timeout.
#[test]
fn impatient_does_not_restart_the_timer() {
    let timeouts = |impatient| {
        let mut script = established(Setup {
            algorithm: "reno+standard",
            sack: false,
            impatient,
            ..Setup::default()
        });
        script.write(10).at(100);
        for _ in 0..3 {
            script.ack(0);
        }
        for next in 1..=8 {
            script.after(100).ack(next);
        }
        script.sender.stats().timeouts
    };
    assert_eq!((timeouts(false), timeouts(true)), (0, 1));
}

/// Duplicates of the flight before a recovery do not begin another one (RFC 6582, section 3.2 step
/// 1).
#[test]
fn duplicates_of_the_old_flight_are_not_a_new_loss() {
    let mut script = newreno("reno+standard");
    script.write(30).expect_new(10).at(100);
    for _ in 0..3 {
        script.after(10).ack(0);
    }
    script.expect_sent(&[0], 2);
    let before = script.sender.window().ssthresh;
    // All data in flight at the time of the loss is acknowledged, and late duplicates follow.
    script.at(230).ack(12).expect_phase(Phase::Recovery);
    for _ in 0..4 {
        script.ack(12);
    }
    assert_eq!(script.sender.window().ssthresh, before);
    assert_eq!(script.sender.stats().recoveries, 1);
}

/// Without SACK there is no tail loss probe: the last segment waits for the timer.
#[test]
fn a_lost_tail_waits_for_the_timer() {
    let mut script = newreno("cubic");
    script.write(4).expect_new(4).at(100);
    script.ack(3).expect_nothing();
    script.at(399).expect_nothing();
    script
        .at(400)
        .expect_retransmitted(&[3])
        .expect_phase(Phase::Loss);
    assert_eq!(script.sender.stats().tlp_probes, 0);
}

/// More duplicates than segments in flight are reordering, and never make the flight negative.
#[test]
fn too_many_duplicates_are_reordering() {
    let mut script = newreno("cubic");
    script.write(5).expect_new(5).at(100);
    for _ in 0..50 {
        script.ack(0);
        assert!(script.sender.is_consistent());
    }
    assert!(script.sender.segments_sacked_out() < 5);
    assert!(script.sender.reordering_seen() > 0);
    script.at(60_000).ack(5).expect_sacked(0).expect_lost(0);
}

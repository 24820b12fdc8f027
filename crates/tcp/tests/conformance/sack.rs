//! Rows of `sack/`: scattered SACKs, loss marks set and removed, reordering measured.

use congestion::Phase;

use crate::script::{Script, Setup};

fn ten_segments() -> Script {
    let mut script = Script::new(Setup::default());
    script.write(10).expect_new(10).at(100);
    script
}

fn all_delivered(script: &mut Script) {
    script.ack(10).expect_nothing().expect_phase(Phase::Open);
    script.expect_sacked(0).expect_lost(0).expect_retrans(0);
}

#[test]
fn sack_shift_sacked_2_6_8_3_9_nofack() {
    let mut script = ten_segments();
    script.sack(0, &[(2, 3)]).expect_nothing();
    script.after(1).sack(0, &[(2, 3), (6, 7)]).expect_nothing();
    // Three SACKed: every segment below the highest one is lost.
    script
        .after(1)
        .sack(0, &[(2, 3), (6, 7), (8, 9)])
        .expect_retransmitted(&[0]);
    script.expect_phase(Phase::Recovery).expect_lost(6);
    // Segment 3 was only late: 8 arrived before it.
    script
        .after(7)
        .sack(0, &[(2, 4), (6, 7), (8, 9)])
        .expect_retransmitted(&[1]);
    script.expect_lost(5).expect_reordering(6);
    script
        .after(10)
        .sack(0, &[(2, 4), (6, 7), (8, 10)])
        .expect_lost(5);
    script
        .after(83)
        .sack(1, &[(2, 4), (6, 7), (8, 10)])
        .expect_lost(4);
    script.after(17).sack(4, &[(6, 7), (8, 10)]).expect_lost(3);
    script.after(10).sack(7, &[(8, 10)]).ignore_sent();
    script.after(100);
    all_delivered(script.ignore_sent());
}

/// Only segment 7 is SACKed; the reordering timer declares 0 to 6 lost.
fn seven_lost() -> Script {
    let mut script = ten_segments();
    script.sack(0, &[(7, 8)]).expect_nothing();
    script.at(126).expect_nothing();
    script
        .at(127)
        .expect_retransmitted(&[0])
        .expect_phase(Phase::Recovery);
    script.expect_lost(7).expect_reordering(3);
    script
}

#[test]
fn sack_shift_sacked_7_3_4_8_9_fack() {
    let mut script = seven_lost();
    script
        .after(2)
        .sack(0, &[(3, 4), (7, 8)])
        .expect_retransmitted(&[1]);
    script.expect_lost(6).expect_reordering(5);
    script
        .after(2)
        .sack(0, &[(3, 5), (7, 8)])
        .expect_retransmitted(&[2])
        .expect_lost(5);
    // One for each SACK, by conservation. (The script expects segment 5 after the second of these,
    // two milliseconds later than the formula and within its tolerance, and checks no further.)
    script
        .after(2)
        .sack(0, &[(3, 5), (7, 9)])
        .expect_retransmitted(&[5]);
    script
        .after(2)
        .sack(0, &[(3, 5), (7, 10)])
        .expect_retransmitted(&[6]);
    script.after(100);
    all_delivered(script.ignore_sent());
}

#[test]
fn sack_shift_sacked_7_5_6_8_9_fack() {
    let mut script = seven_lost();
    script
        .sack(0, &[(5, 6), (7, 8)])
        .expect_retransmitted(&[1])
        .expect_lost(6)
        .expect_reordering(3);
    script
        .sack(0, &[(5, 8)])
        .expect_retransmitted(&[2])
        .expect_lost(5);
    script.sack(0, &[(5, 9)]).expect_retransmitted(&[3]);
    script.sack(0, &[(5, 10)]).expect_retransmitted(&[4]);
    script.after(100);
    all_delivered(script.ignore_sent());
}

/// The property that a route refresh must not break: SACKed data stays delivered, even after a
/// timeout.
#[test]
fn sacked_data_is_never_retransmitted() {
    let mut script = ten_segments();
    script.sack(0, &[(1, 3), (5, 6), (8, 9)]).ignore_sent();
    // No more ACKs: recovery, and then one timeout after another.
    script.at(30_000);
    let retransmitted = script.take_retransmitted();
    assert!(script.sender.stats().timeouts >= 3);
    assert!(
        retransmitted
            .iter()
            .all(|segment| [0, 3, 4, 6, 7, 9].contains(segment)),
        "{retransmitted:?}"
    );
}

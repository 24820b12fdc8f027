//! Rows of `fast_retransmit/` and `limited_transmit/`.

use congestion::Phase;

use crate::newreno::established;
use crate::script::{Script, Setup};

// Tests RFC5681-3.2c
#[test]
fn fr_4pkt_sack() {
    let mut script = Script::new(Setup {
        mss: 1460,
        ..Setup::default()
    });
    script.write(4).expect_new(4);
    script
        .at(100)
        .sack(0, &[(1, 2)])
        .sack(0, &[(1, 3)])
        .expect_nothing();
    script.sack(0, &[(1, 4)]).expect_retransmitted(&[0]);
    script
        .at(200)
        .ack(4)
        .expect_nothing()
        .expect_phase(Phase::Open);
}

// Tests RFC5681-3.2c
#[test]
fn fr_4pkt() {
    let mut script = established(Setup {
        mss: 1460,
        sack: false,
        ..Setup::default()
    });
    script.write(4).expect_new(4);
    script.at(100).ack(0).ack(0).expect_nothing();
    script.ack(0).expect_retransmitted(&[0]);
    script.expect_phase(Phase::Recovery).expect_lost(1);
    // An ACK of exactly the recovery point does not end it; data above must be acknowledged.
    script
        .at(200)
        .ack(4)
        .expect_nothing()
        .expect_phase(Phase::Recovery);
    assert_eq!(script.sender.stats().timeouts, 0);
    script.write(1).expect_new(1);
    script.at(300).ack(5).expect_phase(Phase::Open);
}

#[test]
fn fr_4pkt_fack_last_mss() {
    let mut script = Script::new(Setup::default());
    script.write(4).expect_new(4);
    script
        .at(100)
        .sack(0, &[(3, 4)])
        .expect_nothing()
        .expect_phase(Phase::Disorder);
    // A quarter of the smallest RTT, and two milliseconds.
    script.at(126).expect_nothing();
    script
        .at(127)
        .expect_phase(Phase::Recovery)
        .expect_sent_at(127)
        .ignore_sent();
    assert_eq!(script.sender.stats().timeouts, 0);
}

#[test]
fn fr_4pkt_fack_last_byte() {
    let mut script = Script::new(Setup::default());
    script.write(4).expect_new(4);
    // One byte is not a segment: the loss probe timer continues, then the retransmission timer.
    script
        .at(100)
        .sack_bytes(0, &[(3_999, 4_000)])
        .expect_nothing();
    script.at(199).expect_nothing();
    script.at(205).expect_retransmitted(&[3]);
    script.at(499).expect_nothing();
    script
        .at(510)
        .expect_retransmitted(&[0])
        .expect_phase(Phase::Loss);
    script
        .after(500)
        .sack_bytes(1, &[(3_999, 4_000)])
        .expect_retransmitted(&[1, 2]);
    script
        .after(100)
        .sack_bytes(3, &[(3_999, 4_000)])
        .expect_retransmitted(&[3]);
    script
        .after(100)
        .ack(4)
        .expect_nothing()
        .expect_phase(Phase::Open);
}

// Tests RFC5681-3.2d
#[test]
fn limited_transmit_no_sack() {
    let mut script = established(Setup {
        sack: false,
        ..Setup::default()
    });
    script.write(15).expect_new(10);
    script
        .at(110)
        .ack(0)
        .expect_new(1)
        .expect_phase(Phase::Disorder);
    script
        .at(120)
        .ack(0)
        .expect_new(1)
        .expect_phase(Phase::Disorder);
    // It was reordering, not loss: one of the three segments is new, duplicates counted the other
    // two.
    script
        .at(130)
        .ack(3)
        .expect_new(2)
        .expect_phase(Phase::Open)
        .expect_sacked(0)
        .expect_cwnd(11);
    script.at(150).ack(5).expect_new(1);
    for next in [7, 9, 11, 13, 15] {
        script.after(20).ack(next).expect_nothing();
    }
    assert_eq!(script.sender.stats().segments_retransmitted, 0);
}

// Tests RFC5681-3.2d
#[test]
fn limited_transmit_sack() {
    let mut script = Script::new(Setup::default());
    script.write(15).expect_new(10);
    script
        .at(110)
        .sack(0, &[(1, 2)])
        .expect_new(1)
        .expect_phase(Phase::Disorder);
    script
        .at(120)
        .sack(0, &[(1, 3)])
        .expect_new(1)
        .expect_phase(Phase::Disorder);
    // It was reordering, not loss.
    script
        .at(130)
        .ack(3)
        .expect_new(2)
        .expect_phase(Phase::Open);
    script.at(150).ack(5).expect_new(1);
    for next in [7, 9, 11, 13, 15] {
        script.after(20).ack(next).expect_nothing();
    }
    assert_eq!(script.sender.stats().segments_retransmitted, 0);
}

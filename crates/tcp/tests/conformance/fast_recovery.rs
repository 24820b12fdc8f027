//! Rows of `fast_recovery/`: proportional rate reduction.

use congestion::Phase;

use crate::script::{Script, Setup};

#[test]
fn prr_ss_10pkt_lost_1() {
    let mut script = Script::new(Setup::default());
    script.write(10).expect_new(10);
    script.at(110).sack(0, &[(1, 2)]).expect_nothing();
    script.at(120).sack(0, &[(1, 3)]).expect_nothing();
    script.at(130).sack(0, &[(1, 4)]).expect_retransmitted(&[0]);
    script
        .expect_phase(Phase::Recovery)
        .expect_cwnd(7)
        .expect_ssthresh(Some(7));
    // From here on, one segment leaves for each one delivered.
    script.at(150).write(7).expect_nothing();
    for end in 5..=10 {
        script
            .after(10)
            .sack(0, &[(1, end)])
            .expect_new(1)
            .expect_cwnd(7);
    }
    script.after(20).ack(10).expect_new(1);
    script
        .expect_phase(Phase::Open)
        .expect_cwnd(7)
        .expect_ssthresh(Some(7));
    for (wait, next) in [(40, 12), (20, 14), (20, 16), (20, 17)] {
        script.after(wait).ack(next).expect_nothing();
    }
}

#[test]
fn prr_ss_30pkt_lost_1_4_11_16() {
    let mut script = Script::new(Setup {
        rtt_ms: 10,
        ..Setup::default()
    });
    script.write(20).expect_new(10);
    // Limited transmit, then one segment for each delivered: first the proportional part ...
    script.at(10).sack(0, &[(4, 5)]).expect_new(1);
    script.after(2).sack(0, &[(4, 6)]).expect_new(1);
    for (lost, end) in (0..4).zip(7..) {
        script
            .after(2)
            .sack(0, &[(4, end)])
            .expect_retransmitted(&[lost]);
    }
    // ... then limited by conservation ...
    script.after(2).sack(0, &[(4, 11)]).expect_new(1);
    script.after(2).sack(0, &[(4, 12)]).expect_new(1);
    // ... then one more on the ACK that advances ...
    script.after(10).sack(1, &[(4, 12)]).expect_new(2);
    script.after(2).sack(1, &[(2, 12)]).expect_sent(&[1], 1);
    // ... and conservation again once the flight reaches the threshold.
    script.after(2).sack(1, &[(2, 13)]).expect_new(1);
    script.after(2).sack(1, &[(2, 14)]).expect_new(1);
}

#[test]
fn prr_ss_30pkt_lost1_4() {
    let mut script = Script::new(Setup {
        rtt_ms: 10,
        ..Setup::default()
    });
    script.write(10).expect_new(10);
    script.at(10).sack(0, &[(4, 5)]).expect_nothing();
    script.after(2).sack(0, &[(4, 6)]).expect_nothing();
    for (lost, end) in (0..4).zip(7..) {
        script.sack(0, &[(4, end)]).expect_retransmitted(&[lost]);
    }
    script.after(10);
    for next in 1..4 {
        script.sack(next, &[(4, 10)]).expect_nothing();
    }
    script.ack(10).expect_phase(Phase::Open);
    script.after(10).write(10).expect_new(7);
}

#[test]
fn prr_ss_ack_below_snd_una_cubic() {
    let mut script = Script::new(Setup {
        rtt_ms: 10,
        ..Setup::default()
    });
    script.write(10).expect_new(10);
    script
        .at(10)
        .sack(0, &[(1, 2)])
        .sack(0, &[(1, 3)])
        .expect_nothing();
    script.sack(0, &[(1, 3), (8, 9)]).expect_retransmitted(&[0]);
    script
        .after(12)
        .sack(4, &[(8, 9)])
        .expect_retransmitted(&[4, 5, 6]);
    script.write(10).expect_nothing();
    // A delayed ACK below `snd_una`, which first reports segments 5 and 6.
    script.after(2).sack(3, &[(5, 7)]).expect_sent(&[7], 1);
}

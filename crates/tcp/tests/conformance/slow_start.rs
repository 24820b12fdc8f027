//! Rows of `slow_start/`.

use crate::script::{Script, Setup};

/// 30 segments to send, the first ten in flight. ACKs begin after one RTT.
fn bulk() -> Script {
    let mut script = Script::new(Setup::default());
    script.write(60).expect_new(10).expect_cwnd(10).at(100);
    script
}

/// Exactly `segments` to send, acknowledged in pairs; the window after each ACK.
fn application_limited(segments: u64, windows: &[u64]) {
    let mut script = Script::new(Setup::default());
    script.write(segments).expect_new(segments).at(100);
    for (index, window) in windows.iter().enumerate() {
        script
            .ack((2 * (index as u64 + 1)).min(segments))
            .expect_cwnd(*window)
            .after(1);
    }
    script.expect_nothing();
}

#[test]
fn slow_start_ack_per_1pkt() {
    let mut script = bulk();
    for next in 1..=10 {
        script
            .ack(next)
            .expect_new(2)
            .expect_cwnd(10 + next)
            .after(1);
    }
}

#[test]
fn slow_start_ack_per_2pkt() {
    let mut script = bulk();
    for pair in 1..=5 {
        script
            .ack(2 * pair)
            .expect_new(4)
            .expect_cwnd(10 + 2 * pair)
            .after(5);
    }
}

#[test]
fn slow_start_ack_per_4pkt() {
    let mut script = bulk();
    script.ack(4).expect_new(8).expect_cwnd(14).after(5);
    script.ack(8).expect_new(8).expect_cwnd(18).after(5);
    script.ack(10).expect_new(4).expect_cwnd(20);
}

#[test]
fn slow_start_ack_per_2pkt_send_5pkt() {
    application_limited(5, &[10, 10, 10]);
}

#[test]
fn slow_start_ack_per_2pkt_send_6pkt() {
    application_limited(6, &[12, 12, 12]);
}

#[test]
fn slow_start_app_limited() {
    application_limited(10, &[12, 14, 16, 18, 20]);
}

#[test]
fn slow_start_app_limited_9_packets_out() {
    application_limited(9, &[12, 14, 16, 18, 18]);
}

/// 26 segments in two RTTs: the window is 36 when all are acknowledged.
fn window_of_36() -> Script {
    let mut script = Script::new(Setup {
        restart_after_idle: true,
        ..Setup::default()
    });
    script.write(26).expect_new(10).expect_cwnd(10);
    script.at(100).ack(10).expect_cwnd(20).expect_new(16);
    script.at(200);
    script
}

#[test]
fn slow_start_after_idle() {
    let mut script = window_of_36();
    script.ack(26).expect_cwnd(36);
    // After two seconds the window has been halved to the initial one. (The script checks only the
    // first burst, which is half a window.)
    script.at(2_200).expect_nothing();
    script.write(20).expect_new(10).expect_cwnd(10);
}

#[test]
fn slow_start_after_win_update() {
    let mut script = window_of_36();
    script.window(0).ack(26).expect_cwnd(36);
    script.write(20).expect_nothing();
    // Probes of the closed window after .3, .6 and 1.2 s more.
    let mut probed = 200;
    for (index, span) in [300, 600, 1_200].into_iter().enumerate() {
        probed += span;
        script.at(probed - 1).expect_nothing();
        script.at(probed).expect_cwnd(36).ignore_sent();
        assert_eq!(script.sender.stats().window_probes, index as u64 + 1);
    }
    script
        .at(probed + 900)
        .window(1 << 16)
        .ack(26)
        .expect_new(10)
        .expect_cwnd(10);
}

#[test]
fn slow_start_fq_ack_per_2pkt() {
    let mut script = Script::new(Setup {
        mss: 1460,
        pacing: true,
        ..Setup::default()
    });
    // The first ten leave unpaced.
    script.write(27).expect_new(10).expect_cwnd(10);
    script.at(105).ack(2).expect_cwnd(12);
    script.at(108).ack(4).expect_cwnd(14);
    script.at(110).ack(6).expect_cwnd(16);
    script.at(119).ack(8).expect_cwnd(18);
    script.at(120).ack(10).expect_cwnd(20);
    script.at(180);
    let departures = script.take_departures();
    // 17 are left. At twice a window of 12 to 20 segments per 100 ms, a pair takes 8.3 to 5 ms.
    assert_eq!(departures.len(), 17, "{departures:?}");
    let pairs: Vec<_> = departures.chunks(2).map(|pair| pair[0]).collect();
    for gap in pairs.windows(2).skip(1).map(|pair| pair[1] - pair[0]) {
        assert!((4_000..=8_500).contains(&gap), "gaps of {pairs:?}");
    }
}

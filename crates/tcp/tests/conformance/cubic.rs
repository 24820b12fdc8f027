//! Rows of `cubic/`.

use congestion::{ExitReason, Phase};

use crate::script::{Script, Setup};

/// The bulk rows run under a pacing queue discipline, with HyStart as in 5.16 to 6.13.
fn bulk(algorithm: &'static str, segments: u64) -> Script {
    let mut script = Script::new(Setup {
        algorithm,
        pacing: true,
        ..Setup::default()
    });
    script.write(segments).expect_cwnd(10);
    script
}

/// Two segments are acknowledged every 100 ms: the windows at these ACKs.
fn expect_windows(script: &mut Script, from: u64, windows: &[(u64, u64)]) {
    let mut acked = from;
    for &(next, window) in windows {
        while acked < next {
            acked += 2;
            script.after(100).ack(acked);
        }
        script.expect_cwnd(window);
    }
}

/// From `from` acknowledged and this window on: one more segment for every two acknowledged.
fn expect_half_a_segment_for_each(script: &mut Script, from: u64, window: u64, until: u64) {
    let windows: Vec<_> = (from + 2..=until)
        .step_by(2)
        .map(|next| (next, window + (next - from) / 2))
        .collect();
    expect_windows(script, from, &windows);
}

#[test]
fn cubic_bulk_166k() {
    let mut script = bulk("cubic+hystart:linux=5.16", 400);
    expect_windows(&mut script, 0, &[(10, 20), (20, 30), (30, 40), (38, 48)]);
    script.expect_ssthresh(None);
    expect_windows(&mut script, 38, &[(40, 48)]);
    script.expect_ssthresh(Some(48));
    expect_windows(&mut script, 40, &[(60, 49), (80, 50), (100, 52), (120, 58)]);
    expect_half_a_segment_for_each(&mut script, 120, 58, 400);
}

/// The same stream with HyStart as in Linux since January 2025.
#[test]
fn cubic_bulk_166k_fixed_hystart() {
    let mut script = bulk("cubic+hystart", 400);
    expect_windows(&mut script, 0, &[(10, 20), (20, 30), (26, 36)]);
    script.expect_ssthresh(None);
    expect_windows(&mut script, 26, &[(28, 36)]);
    script.expect_ssthresh(Some(36));
    let exit = script
        .sender
        .slow_start_exit()
        .expect("slow start has ended");
    assert!(matches!(exit.reason, ExitReason::Delay { .. }), "{exit:?}");
    expect_windows(
        &mut script,
        28,
        &[(30, 36), (38, 36), (60, 37), (80, 39), (100, 45), (120, 54)],
    );
    expect_half_a_segment_for_each(&mut script, 120, 54, 400);
}

#[test]
fn cubic_bulk_166k_idle_restart() {
    let mut script = bulk("cubic+hystart:linux=5.16", 40);
    expect_windows(
        &mut script,
        0,
        &[(10, 20), (20, 30), (30, 40), (38, 48), (40, 48)],
    );
    // Four seconds without data to send earn no growth.
    script.after(4_000).write(160);
    expect_windows(&mut script, 40, &[(60, 48), (80, 49), (100, 52), (120, 58)]);
}

/// HyStart at an RTT of 200 ms: `second_flight` segments leave at 200 ms.
fn hystart_at_200_ms(segments: u64, second_flight: u64) -> Script {
    let setup = Setup {
        algorithm: "cubic+hystart",
        rtt_ms: 200,
        ..Setup::default()
    };
    let mut script = Script::new(setup);
    script.write(segments).expect_new(10).expect_cwnd(10);
    script
        .at(200)
        .ack(10)
        .expect_new(second_flight)
        .expect_cwnd(20);
    script
}

#[test]
fn cubic_hystart_delay_min_rtt_jumps_downward() {
    let mut script = hystart_at_200_ms(28, 18);
    script.at(380).write(2).expect_new(2);
    // Nine samples of 200 to 208 ms, and then one of 29 ms: the minimum of the connection and of
    // the round.
    for (ms, pair) in (400..).zip(6..=15) {
        script
            .at(ms)
            .ack(2 * pair)
            .expect_ssthresh(None)
            .expect_cwnd(10 + 2 * pair);
    }
}

#[test]
fn cubic_hystart_delay_rtt_jumps_upward() {
    let mut script = hystart_at_200_ms(30, 20);
    // 240 ms and more: the ninth ACK of the round is the first that may decide.
    for (ms, pair) in (440..).zip(6..=13) {
        script
            .at(ms)
            .ack(2 * pair)
            .expect_ssthresh(None)
            .expect_cwnd(10 + 2 * pair);
    }
    script
        .after(1)
        .ack(28)
        .expect_ssthresh(Some(36))
        .expect_cwnd(36);
    script
        .after(1)
        .ack(30)
        .expect_ssthresh(Some(36))
        .expect_cwnd(36);
}

/// The first half: see the list in `conformance.rs`.
#[test]
fn cubic_rack_reo_timeout() {
    let mut script = Script::new(Setup {
        rtt_ms: 20,
        ..Setup::default()
    });
    script.write(10).expect_new(10);
    script
        .at(20)
        .sack(0, &[(9, 10)])
        .sack(0, &[(3, 4), (9, 10)])
        .expect_sacked(2);
    script
        .ack(10)
        .expect_sacked(0)
        .expect_reordering(10)
        .expect_nothing();
    script.at(40).expect_cwnd(19);
    script.at(45).write(2).expect_new(2);
    script.at(65).sack(10, &[(11, 12)]).expect_nothing();
    script.expect_phase(Phase::Disorder).expect_cwnd(19);
    // The reordering timer declares segment 10 lost, and it is retransmitted.
    script
        .at(85)
        .expect_retransmitted(&[10])
        .expect_phase(Phase::Recovery);
    script
        .expect_sacked(1)
        .expect_lost(1)
        .expect_retrans(1)
        .expect_cwnd(1);
}

#[test]
fn cubic_rto_ss_ca_cwnd_bump() {
    let mut script = Script::new(Setup::default());
    script.write(1).expect_new(1).at(100).ack(1).expect_cwnd(10);
    script.write(1).expect_new(1);
    // A loss probe at the time of the timeout, and the timeout one RTO later.
    script.at(399).expect_nothing();
    script.at(403).expect_retransmitted(&[1]);
    script.at(699).expect_nothing();
    script
        .at(706)
        .expect_retransmitted(&[1])
        .expect_phase(Phase::Loss);
    script
        .after(100)
        .ack(2)
        .expect_cwnd(2)
        .expect_ssthresh(Some(7))
        .expect_nothing();
    script.write(200).expect_new(2).expect_cwnd(2);
    // Slow start up to 7 ...
    for (wait, next, window) in [(100, 3, 3), (2, 4, 4), (98, 5, 5), (2, 6, 6), (2, 7, 7)] {
        script
            .after(wait)
            .ack(next)
            .expect_new(2)
            .expect_cwnd(window);
    }
    // ... then congestion avoidance: the window stays for fifteen ACKs and grows with the next one.
    let waits = [2, 98, 2, 2, 2, 2, 2, 2, 98, 3, 2, 2, 2, 2, 2];
    for (wait, next) in waits.into_iter().zip(8..) {
        script.after(wait).ack(next).expect_new(1).expect_cwnd(7);
    }
    script.after(98).ack(23).expect_new(2).expect_cwnd(8);
}

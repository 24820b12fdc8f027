//! Loss detection, recovery, F-RTO and undo.

use congestion::Phase;
use units::{Bytes, Duration};

use super::support::{MSS, Script, config, ms};

/// Ten segments in flight at 100 ms with an RTT of 100 ms, endless data, and the clock at 200 ms.
fn ten_out() -> Script {
    let mut script = Script::bulk("cubic", 100);
    assert_eq!(script.sent.len(), 10);
    script.now = ms(200);
    script
}

#[test]
fn the_last_of_four_sacked_is_found_by_the_timer_after_127_ms() {
    let mut script = Script::with_segments("cubic", 100, 4);
    script.now = ms(200);
    assert_eq!(script.ack(0, &[(3, 4)]), []);
    assert_eq!(script.sender.phase(), Phase::Disorder);
    assert_eq!(script.sender.poll_timeout(), Some(ms(227)));
    // Entering recovery by the timer grants one segment, as in Linux.
    let sent = script.run_to(ms(227));
    assert_eq!(sent, [(227, 0)]);
    assert_eq!(script.sender.segments_lost_out(), 3);
    assert_eq!(script.sender.phase(), Phase::Recovery);
    assert_eq!(script.sender.stats().first_loss, Some(ms(227)));
}

// Tests RFC8985-6.2c
#[test]
fn three_sacked_are_enough_at_once() {
    let mut script = Script::with_segments("cubic", 100, 4);
    script.now = ms(200);
    assert_eq!(script.ack(0, &[(1, 2)]), []);
    assert_eq!(script.ack(0, &[(1, 3)]), []);
    assert_eq!(script.ack(0, &[(1, 4)]), [0]);
    assert_eq!(script.sender.stats().segments_lost, 1);
    script.now = ms(300);
    script.ack(4, &[]);
    assert_eq!(script.sender.phase(), Phase::Open);
    assert_eq!((script.cwnd(), script.ssthresh()), (7, 7));
}

#[test]
fn limited_transmit_follows_from_the_data_in_flight() {
    let mut script = ten_out();
    assert_eq!(script.ack(0, &[(1, 2)]), [10]);
    assert_eq!(script.ack(0, &[(1, 3)]), [11]);
    assert_eq!(script.cwnd(), 10);
    assert_eq!(script.sender.phase(), Phase::Disorder);
    // The reordering shows, and nothing was retransmitted.
    script.ack(3, &[]);
    assert_eq!(script.sender.phase(), Phase::Open);
    assert_eq!(script.sender.stats().segments_retransmitted, 0);
    assert_eq!(script.sender.reordering_seen(), 1);
}

#[test]
fn prr_after_two_limited_transmits() {
    // By PRR: cwnd after ACK 1..8 = 10 10 9 9 9 8 7 7, then 7.
    let mut script = ten_out();
    let mut cwnd = vec![];
    for sacked in 2..=10 {
        script.ack(0, &[(1, sacked)]);
        cwnd.push(script.cwnd());
    }
    assert_eq!(cwnd, [10, 10, 9, 9, 9, 8, 7, 7, 7]);
    assert_eq!(script.ssthresh(), 7);
    script.now = ms(300);
    for ack in 10..=12 {
        assert_eq!(script.sender.phase(), Phase::Recovery);
        script.ack(ack, &[]);
        assert_eq!(script.cwnd(), 7);
    }
    assert_eq!(script.sender.phase(), Phase::Open);
}

#[test]
fn prr_without_new_data_until_recovery() {
    // By PRR: ssthresh 7, cwnd 7 at entry (6 in flight, one more), 7 at exit.
    let mut script = Script::with_segments("cubic", 100, 10);
    script.now = ms(200);
    script.ack(0, &[(1, 2)]);
    script.ack(0, &[(1, 3)]);
    script.write(10 * MSS);
    // The two segments of limited transmit would have left by here; recovery begins.
    assert_eq!(script.in_flight(), 10);
    let mut script = Script::with_segments("cubic", 100, 10);
    script.now = ms(200);
    for sacked in 2..=3 {
        assert_eq!(script.ack(0, &[(1, sacked)]), []);
    }
    assert_eq!(script.ack(0, &[(1, 4)]), [0]);
    assert_eq!((script.ssthresh(), script.cwnd()), (7, 7));
    script.write(10 * MSS);
    for sacked in 5..=10 {
        script.ack(0, &[(1, sacked)]);
        assert_eq!(script.cwnd(), 7);
        assert_eq!(script.in_flight(), 7);
    }
    script.now = ms(300);
    script.ack(10, &[]);
    assert_eq!((script.cwnd(), script.sender.phase()), (7, Phase::Open));
}

#[test]
fn prr_of_twenty_with_cubic() {
    // PRR with Linux's CUBIC, 20 in flight, ssthresh 14: cwnd after ACK 1..21.
    let mut script = Script::bulk("cubic", 100);
    script.now = ms(200);
    for acked in 1..=10 {
        script.ack(acked, &[]);
    }
    assert_eq!((script.cwnd(), script.in_flight()), (20, 20));
    script.now = ms(300);
    let mut cwnd = vec![];
    for sacked in 12..=30 {
        script.ack(10, &[(11, sacked)]);
        cwnd.push(script.cwnd());
    }
    // Segments sent meanwhile are SACKed too: two by limited transmit.
    for sacked in 31..=32 {
        script.now = ms(400);
        script.ack(10, &[(11, sacked)]);
        cwnd.push(script.cwnd());
    }
    assert_eq!(
        cwnd,
        [
            20, 20, 19, 19, 19, 18, 18, 18, 17, 17, 17, 16, 16, 16, 16, 15, 14, 14, 14, 14, 14
        ]
    );
}

#[test]
fn a_lost_retransmission_is_found_without_a_timeout() {
    let mut script = ten_out();
    // Spaced in time: RACK orders segments of equal times by sequence.
    for sacked in 2..=4 {
        script.now += Duration::from_millis(1);
        script.ack(0, &[(1, sacked)]);
    }
    assert_eq!(script.sender.stats().segments_retransmitted, 1);
    assert_eq!(script.sender.snd_nxt(), 12 * MSS);
    // Segments sent before the retransmission prove nothing about it.
    script.now = ms(302);
    let sent = script.ack(0, &[(1, 12)]);
    assert!(!sent.is_empty() && !sent.contains(&0));
    // A segment sent after it does, one RTT later.
    script.now = ms(402);
    assert_eq!(script.ack(0, &[(1, 13)]).first(), Some(&0));
    assert_eq!(script.sender.stats().segments_lost, 2);
    assert_eq!(script.sender.stats().timeouts, 0);
}

/// The ACKs echo the original's timestamp until the hole is filled, whatever is SACKed above it. By
/// the kernel's rule, a retransmission SACKed one RTT of 100 ms after it left shows that earlier
/// transmissions are lost.
#[test]
fn a_sacked_retransmission_shows_that_an_earlier_one_is_lost() {
    let mut script = Script::with_segments("cubic", 100, 10);
    script.echo = Some(101);
    script.now = ms(200);
    assert_eq!(script.ack(0, &[(2, 10)]), [0, 1]);
    script.now = ms(300);
    assert_eq!(script.ack(0, &[(1, 10)]), [0]);
    assert_eq!(script.sender.stats().segments_lost, 3);
    script.echo = Some(301);
    script.now = ms(400);
    script.ack(10, &[]);
    assert_eq!(script.sender.phase(), Phase::Open);
    assert_eq!(script.sender.stats().timeouts, 0);
}

#[test]
fn the_timeout_restarts_while_segments_sent_before_the_head_arrive() {
    let mut script = ten_out();
    for sacked in 2..=4 {
        script.ack(0, &[(1, sacked)]);
    }
    assert_eq!(script.sender.phase(), Phase::Recovery);
    // The reordering timer expires first. The timeout then counts from the head, retransmitted at
    // 200 ms.
    script.run_to(ms(230));
    let timeout = |script: &Script, from: u64| Some(ms(from) + script.sender.rto());
    assert_eq!(script.sender.poll_timeout(), timeout(&script, 200));
    // These segments left at 100 ms: the head cannot have been answered yet.
    script.now = ms(290);
    script.ack(0, &[(1, 10)]);
    assert_eq!(script.sender.poll_timeout(), timeout(&script, 290));
}

#[test]
fn segments_released_by_acks_of_one_instant_keep_their_order() {
    let mut script = ten_out();
    assert_eq!(script.ack(0, &[(1, 2)]), [10]);
    assert_eq!(script.ack(0, &[(1, 3)]), [11]);
    assert_eq!(script.ack(0, &[(1, 4)]), [0]);
    // 10 and 11 left before the retransmission of 0, so their delivery shows nothing about it ...
    script.now = ms(300);
    let sent = script.ack(0, &[(10, 12), (1, 4)]);
    assert!(!sent.is_empty() && !sent.contains(&0), "{sent:?}");
    assert_eq!(script.sender.stats().segments_lost, 7, "0 and 4 to 9");
    // ... unlike that of a segment sent after it, at the same instant or later.
    let sent = script.run_to(ms(301));
    assert_eq!(sent, []);
    let after = script.sender.snd_nxt() / MSS;
    assert_eq!(after, 12);
    script.now = ms(400);
    script.ack(0, &[(4, 5), (10, 12), (1, 4)]);
    assert_eq!(script.sender.stats().segments_lost, 8, "0 again");
}

#[test]
fn lost_segments_leave_lowest_first_and_once() {
    let mut script = ten_out();
    // Segments 0, 2, 4 and 6 are lost.
    for blocks in [
        &[(1_u64, 2_u64)] as &[_],
        &[(3, 4), (1, 2)],
        &[(5, 6), (3, 4), (1, 2)],
        &[(7, 8), (5, 6), (3, 4)],
        &[(7, 9), (5, 6), (3, 4)],
        &[(7, 10), (5, 6), (3, 4)],
        &[(7, 11), (5, 6), (3, 4)],
        &[(7, 12), (5, 6), (3, 4)],
    ] {
        script.now += Duration::from_millis(1);
        script.ack(0, blocks);
    }
    let retransmitted: Vec<_> = script
        .sent
        .iter()
        .filter(|(_, s)| s.retransmission)
        .map(|(_, s)| s.seq / MSS)
        .collect();
    assert_eq!(retransmitted, [0, 2, 4, 6]);
    assert_eq!(script.sender.stats().segments_lost, 4);
}

#[test]
fn a_new_sack_on_an_old_ack_counts() {
    let mut script = ten_out();
    script.ack(2, &[]);
    let in_flight = script.in_flight();
    script.sent.clear();
    // Below snd_una, but with a SACK of 5: one segment leaves for it.
    script.ack(1, &[(5, 6)]);
    assert_eq!(script.in_flight(), in_flight);
    assert_eq!(script.sent.len(), 1);
    assert_eq!(script.sender.snd_una(), 2 * MSS);
}

#[test]
fn sack_blocks_of_unsent_data_are_ignored() {
    let mut script = ten_out();
    assert_eq!(script.ack(0, &[(5, 500)]), []);
    assert_eq!(script.sender.segments_sacked_out(), 0);
    assert_eq!(
        script.ack(11, &[]),
        [],
        "an ACK of unsent data is ignored too"
    );
    assert_eq!(script.sender.snd_una(), 0);
}

/// A timeout of the head of `out` segments at 602 ms (the probe left at 302 ms).
fn timed_out(out: u64) -> Script {
    let mut script = Script::with_segments("cubic", 100, out);
    script.run_to(ms(602));
    assert_eq!(script.sender.phase(), Phase::Loss);
    script
}

#[test]
fn frto_finds_a_timeout_spurious_when_never_retransmitted_data_is_acked() {
    let mut script = timed_out(10);
    script.write(10 * MSS);
    // The ACK of the head. Without timestamps, it could answer the retransmission.
    script.now = ms(650);
    assert_eq!(script.ack(1, &[]), [10, 11], "step 2.b: new data");
    script.now = ms(651);
    script.ack(2, &[]);
    assert_eq!(script.sender.stats().spurious_timeouts, 1);
    assert_eq!(script.sender.phase(), Phase::Open);
    assert!(script.cwnd() >= 10);
    assert_eq!(script.ssthresh(), Bytes::MAX.segments(Bytes::new(MSS)));
    assert_eq!(script.sender.segments_lost_out(), 0);
    assert_eq!(
        script.sender.stats().segments_retransmitted,
        2,
        "the probe and the head"
    );
}

/// The kernel does not count an ACK below `snd_una` as a duplicate, which would have shown that the
/// loss is genuine.
#[test]
fn an_old_ack_does_not_end_frto() {
    let mut script = timed_out(10);
    script.write(10 * MSS);
    script.now = ms(650);
    assert_eq!(script.ack(1, &[]), [10, 11]);
    assert_eq!(script.ack(0, &[(0, 1)]), []);
    script.ack(2, &[]);
    assert_eq!(script.sender.stats().spurious_timeouts, 1);
}

#[test]
fn frto_finds_a_timeout_genuine_when_new_data_is_sacked() {
    let mut script = timed_out(10);
    script.write(10 * MSS);
    script.now = ms(702);
    assert_eq!(script.ack(1, &[]), [10, 11]);
    script.now = ms(802);
    let sent = script.ack(1, &[(10, 11)]);
    assert_eq!(sent.first(), Some(&1));
    assert_eq!(script.sender.stats().spurious_timeouts, 0);
    assert_eq!(script.ssthresh(), 7);
    assert_ne!(script.sender.phase(), Phase::Open);
}

#[test]
fn without_new_data_frto_falls_back_to_retransmission() {
    let mut script = timed_out(10);
    script.now = ms(702);
    assert_eq!(script.ack(1, &[]), [1, 2]);
    script.now = ms(802);
    assert_eq!(script.ack(3, &[]), [3, 4, 5, 6]);
    script.now = ms(902);
    script.ack(10, &[]);
    assert_eq!(
        (script.sender.phase(), script.sender.segments_out()),
        (Phase::Open, 0)
    );
}

#[test]
fn eifel_undoes_a_timeout_whose_head_had_arrived() {
    let mut script = timed_out(10);
    let original = script.sent[0].1.ts_val;
    script.write(10 * MSS);
    script.now = ms(650);
    script.echo = Some(original);
    script.ack(1, &[]);
    assert_eq!(script.sender.phase(), Phase::Open);
    assert_eq!(script.sender.stats().undone, 1);
    assert_eq!(script.sender.segments_lost_out(), 0);
    assert!(script.cwnd() >= 10);
}

#[test]
fn eifel_undoes_a_recovery_that_was_reordering() {
    let mut script = ten_out();
    let original = script.sent[0].1.ts_val;
    script.echo = Some(original);
    for sacked in 2..=4 {
        script.ack(0, &[(1, sacked)]);
    }
    assert_eq!(script.sender.phase(), Phase::Recovery);
    script.now = ms(210);
    // The original arrives late. The retransmission is still in flight, so the undo waits for the
    // end of the episode.
    script.ack(4, &[]);
    script.ack(script.sender.snd_nxt() / MSS, &[]);
    assert_eq!(script.sender.phase(), Phase::Open);
    assert_eq!(script.sender.stats().undone, 1);
    assert!(script.cwnd() >= 10);
    assert_eq!(script.sender.ssthresh(), Bytes::MAX);
    assert!(script.sender.reordering_seen() > 0);
}

#[test]
fn a_retransmission_reported_as_a_duplicate_undoes_the_recovery() {
    let mut script = ten_out();
    for sacked in 2..=4 {
        script.ack(0, &[(1, sacked)]);
    }
    assert_eq!(script.sender.phase(), Phase::Recovery);
    let cut = script.ssthresh();
    assert_eq!(cut, 7);
    script.now = ms(210);
    script.ack(4, &[]);
    assert_eq!(
        script.sender.phase(),
        Phase::Recovery,
        "the recovery point is not reached"
    );
    // The retransmission arrives too, and is reported as a duplicate.
    script.now = ms(300);
    script.ack(4, &[(0, 1)]);
    assert_eq!(script.sender.stats().undone, 1);
    assert!(script.cwnd() >= 10);
    assert_eq!(script.sender.ssthresh(), Bytes::MAX);
}

/// Of two retransmissions, the one above the hole is reported first, inside the SACKed data, and
/// the second below the cumulative ACK. The kernel counts both, and detects reordering by the
/// first.
#[test]
fn a_retransmission_reported_as_a_duplicate_above_the_hole_counts_too() {
    let mut script = Script::with_segments("cubic", 100, 10);
    script.now = ms(200);
    assert_eq!(script.ack(0, &[(2, 10)]), [0, 1]);
    script.now = ms(210);
    script.ack(0, &[(1, 10)]);
    assert_eq!(script.sender.reordering_seen(), 0);
    script.now = ms(300);
    script.ack(0, &[(1, 2), (1, 10)]);
    assert_eq!(script.sender.reordering_seen(), 1);
    script.now = ms(310);
    script.ack(10, &[]);
    assert_eq!((script.ssthresh(), script.sender.stats().undone), (7, 0));
    script.now = ms(320);
    script.ack(10, &[(0, 1)]);
    assert_eq!(script.sender.stats().undone, 1);
    assert_eq!(script.sender.ssthresh(), Bytes::MAX);
}

/// 22 in flight, of which 10 and 11 are lost: a threshold of 14 for a window of 20. After `n`
/// deliveries, `ceil(14 n / 20)` may have left: 1, 2, 3, 3, 4. The fourth is the unnecessary
/// retransmission.
#[test]
fn a_duplicate_counts_as_delivered() {
    let mut script = Script::bulk("cubic", 100);
    script.now = ms(200);
    for acked in 1..=10 {
        script.ack(acked, &[]);
    }
    script.now = ms(300);
    assert_eq!(script.ack(10, &[(12, 13)]), [30]);
    assert_eq!(script.ack(10, &[(12, 14)]), [31]);
    assert_eq!(script.ack(10, &[(12, 15)]), [10]);
    assert_eq!(script.ack(10, &[(12, 16)]), [11]);
    assert_eq!(script.ack(10, &[(11, 16)]), [32]);
    assert_eq!(script.ack(10, &[(11, 12), (11, 16)]), []);
    assert_eq!(script.ack(10, &[(11, 17)]), [33]);
    assert_eq!((script.cwnd(), script.in_flight()), (18, 18));
}

#[test]
fn duplicates_made_by_the_network_undo_nothing() {
    let mut script = ten_out();
    for sacked in 2..=4 {
        script.ack(0, &[(1, sacked)]);
    }
    // A duplicate of a segment below the undo marker is not a duplicate of a retransmission.
    script.now = ms(300);
    script.ack(4, &[]);
    let high = script.sender.snd_nxt() / MSS;
    script.ack(high, &[]);
    assert_eq!((script.sender.phase(), script.ssthresh()), (Phase::Open, 7));
    script.ack(high, &[(high - 1, high)]);
    assert_eq!(script.sender.stats().undone, 0);
    assert_eq!(script.ssthresh(), 7);
}

// Tests RFC8985-6.2c, RFC8985-6.2d, RFC8985-6.2h
#[test]
fn after_reordering_rack_waits_a_quarter_of_the_rtt() {
    let mut script = ten_out();
    script.ack(0, &[(1, 2)]);
    script.ack(2, &[]);
    assert_eq!(script.sender.reordering_seen(), 1);
    script.now = ms(300);
    let next = script.sender.snd_una() / MSS;
    // Many SACKs at once no longer show a loss: RACK waits 25 ms, plus 2 ms of the timer.
    assert!(script.sender.phase() == Phase::Open);
    script.ack(next, &[(next + 1, next + 6)]);
    assert_eq!(script.sender.phase(), Phase::Disorder);
    let waits = script
        .sender
        .poll_timeout()
        .unwrap()
        .saturating_since(script.now);
    assert!(
        waits >= Duration::from_millis(2) && waits <= Duration::from_millis(27),
        "{waits:?}"
    );
}

#[test]
fn a_congestion_echo_reduces_once_and_is_answered() {
    let mut settings = config("cubic");
    settings.ecn = true;
    let mut script = Script::established(settings, 100);
    script.write(4 * MSS);
    script.now = ms(200);
    let marked = tcp::segment::AckSegment {
        ack: MSS,
        window: script.rwnd,
        ece: true,
        ..Default::default()
    };
    script.handle(&marked);
    // 3 in flight of 4 sent, cwnd 10: ssthresh 7. One segment delivered, and one more because the
    // ACK advanced and nothing was lost: 3 + 2.
    assert_eq!(script.sender.phase(), Phase::Cwr);
    assert_eq!((script.ssthresh(), script.cwnd()), (7, 5));
    script.sent.clear();
    script.write(10 * MSS);
    assert!(script.sent[0].1.cwr && script.sent.iter().skip(1).all(|(_, s)| !s.cwr));
    for ack in 2..=4 {
        script.handle(&tcp::segment::AckSegment {
            ack: ack * MSS,
            ..marked
        });
    }
    assert_eq!(script.ssthresh(), 7, "once per window");
    script.now = ms(300);
    script.ack(5, &[]);
    assert_eq!((script.sender.phase(), script.cwnd()), (Phase::Open, 7));
}

#[test]
fn a_mark_without_ecn_is_ignored() {
    let mut script = ten_out();
    script.handle(&tcp::segment::AckSegment {
        ack: MSS,
        window: script.rwnd,
        ece: true,
        ..Default::default()
    });
    assert_eq!((script.sender.phase(), script.cwnd()), (Phase::Open, 11));
}

#[test]
fn ten_thousand_losses_cost_one_retransmission_each() {
    // Every second segment of 40,000 is lost, as after an overshoot.
    let mut settings = config("reno+standard");
    settings.initial_window = 40_000;
    let mut script = Script::established(settings, 600);
    script.write(40_000 * MSS);
    assert_eq!(script.sent.len(), 40_000);
    script.now = ms(1_200);
    for odd in (1..40_000).step_by(2) {
        let blocks = [(odd, odd + 1), (odd.max(3) - 2, odd.max(3) - 1)];
        script.sender_ack(0, &blocks[..if odd > 1 { 2 } else { 1 }]);
    }
    script.now = ms(1_800);
    let mut retransmitted = script.sent.iter().filter(|(_, s)| s.retransmission).count();
    // The ACK of each retransmission also covers the segment after it.
    let mut ack = 0;
    while script.sender.snd_una() < 40_000 * MSS {
        script.now += Duration::from_micros(80);
        ack += 2;
        script.sender_ack(ack, &[]);
        assert!(ack <= 40_000);
    }
    retransmitted += script
        .sent
        .iter()
        .filter(|(at, s)| s.retransmission && *at > ms(1_800))
        .count();
    assert_eq!(retransmitted, 20_000);
    assert_eq!(script.sender.stats().segments_lost, 20_000);
    assert_eq!(script.sender.stats().timeouts, 0);
}

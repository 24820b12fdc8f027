//! Pacing, bursts and their deferral, and the signals of an application-limited sender.

use congestion::CongestionControl;
use tcp::segment::AckSegment;
use units::{Duration, Instant, Rate};

use super::support::{MSS, Script, config, ms};

/// Departure times in microseconds of a bulk sender after its tenth segment, with only timers
/// firing for `span` from `script.now` on.
fn departures(script: &mut Script, span: Duration) -> Vec<u64> {
    let end = script.now + span;
    let before = script.sent.len();
    while let Some(due) = script.sender.poll_timeout().filter(|&due| due <= end) {
        script.now = due.max(script.now);
        script.sender.handle_timeout(script.now);
        script.transmit();
    }
    script.sent[before..]
        .iter()
        .map(|(at, _)| at.as_micros())
        .collect()
}

#[test]
fn the_rate_is_twice_the_window_per_rtt_and_later_1_2_times() {
    // At MSS 1448 and cwnd 10: srtt 100 ms gives 289,600 B/s, and 20 ms gives 1,448,000 B/s.
    for (rtt, rate) in [(100, 289_600), (20, 1_448_000)] {
        let mut settings = config("cubic");
        settings.smss = 1448;
        let script = Script::established(settings, rtt);
        assert_eq!(
            script.sender.pacing_rate(),
            Rate::from_bytes_per_sec(rate),
            "RTT {rtt}"
        );
    }
    // After a loss: 7 segments of 1000 bytes per 100 ms, times 1.2.
    let mut script = Script::bulk("cubic", 100);
    script.now = ms(200);
    for sacked in 2..=4 {
        script.ack(0, &[(1, sacked)]);
    }
    let cwnd = script.cwnd().max(u64::from(script.sender.segments_out()));
    let expected = Rate::from_bytes_per_sec(cwnd * MSS * 12);
    assert_eq!(script.sender.pacing_rate(), expected);
}

#[test]
fn ten_segments_leave_unpaced_and_the_rest_at_the_rate() {
    let mut settings = config("reno+standard");
    settings.pacing = true;
    settings.initial_window = 20;
    let mut script = Script::established(settings, 100);
    script.write(u64::MAX);
    // 20 * 1000 B / 100 ms * 2 = 400 kB/s: 2.5 ms for each segment from the tenth on.
    assert_eq!(script.sent.len(), 10);
    let at = departures(&mut script, Duration::from_millis(30));
    let expected: Vec<_> = (1..=10).map(|k| 100_000 + 2_500 * k).collect();
    assert_eq!(at, expected);
    assert_eq!(script.in_flight(), 20);
}

/// The last of 20 leaves at 125 ms and takes 2.5 ms. The kernel's probe, two RTTs and 2 ms later,
/// counts from its end (`tcp_pacing_delay`).
#[test]
fn timers_count_from_when_the_pacer_permits_the_next_burst() {
    let mut settings = config("reno+standard");
    settings.pacing = true;
    settings.initial_window = 20;
    let mut script = Script::established(settings, 100);
    script.write(20 * MSS);
    departures(&mut script, Duration::from_millis(30));
    assert_eq!(
        script.sent.last().map(|sent| sent.0.as_micros()),
        Some(125_000)
    );
    let due = script.sender.poll_timeout().map(Instant::as_micros);
    assert_eq!(due, Some(127_500 + 202_000));
}

#[test]
fn paced_bursts_carry_a_millisecond_of_the_rate() {
    let mut settings = config("reno+standard");
    settings.pacing = true;
    settings.tso_segments = 45;
    settings.initial_window = 100;
    let mut script = Script::established(settings, 10);
    script.write(u64::MAX);
    departures(&mut script, Duration::from_millis(9));
    // 100 * 1000 B / 10 ms * 2 = 20 MB/s: 19,531 B in 1/1024 s, and no bonus at 10 ms.
    let mut bursts: Vec<(Instant, u32)> = vec![];
    for (at, _) in &script.sent {
        match bursts.last_mut() {
            Some((last, count)) if last == at => *count += 1,
            _ => bursts.push((*at, 1)),
        }
    }
    assert_eq!(
        bursts.iter().map(|burst| burst.1).collect::<Vec<_>>(),
        [19, 19, 19, 19, 19, 5]
    );
    assert_eq!(bursts[2].0 - bursts[1].0, Duration::from_micros(950));
}

#[test]
fn a_partial_burst_waits_only_for_an_imminent_ack() {
    let mut settings = config("reno+standard");
    settings.tso_segments = 45;
    settings.initial_window = 100;
    let mut script = Script::established(settings, 10);
    script.write(u64::MAX);
    assert_eq!(script.in_flight(), 100);
    // The first ACK of a round permits four. The last transmission was one RTT ago, so they leave.
    script.now = ms(20);
    assert_eq!(script.ack(2, &[]).len(), 4);
    // The next ACK arrives 0.1 ms later and permits less than a burst of 20 and than a third of the
    // window: the segments wait.
    script.now += Duration::from_micros(100);
    assert_eq!(script.ack(4, &[]), []);
    let mut waited = 4;
    let mut ack = 4;
    while script.in_flight() < u64::from(script.sender.segments_out()) || waited < 100 {
        script.now += Duration::from_micros(100);
        ack += 2;
        let sent = script.ack(ack, &[]).len();
        waited += 4;
        if sent > 0 {
            assert!(sent >= 19, "a full burst: {sent}");
            return;
        }
    }
    panic!("the sender never sent");
}

#[test]
fn without_tso_nothing_waits() {
    let mut settings = config("reno+standard");
    settings.initial_window = 100;
    let mut script = Script::established(settings, 10);
    script.write(u64::MAX);
    for step in 1..=20 {
        script.now = ms(20) + Duration::from_micros(100 * step);
        assert_eq!(script.ack(2 * step, &[]).len(), 4);
    }
}

/// The numbers and times in microseconds of the segments that leave by `end`.
fn numbered(script: &mut Script, end: Instant) -> Vec<(u64, u64)> {
    let before = script.sent.len();
    departures(script, end.saturating_since(script.now));
    let sent = &script.sent[before..];
    sent.iter()
        .map(|(at, segment)| (segment.seq / MSS, at.as_micros()))
        .collect()
}

/// A connection with BBR and a round trip of 40 ms that has sent its first ten segments, unpaced, in
/// bursts of two. SACKs of `blocks` arrive. Returns the segments that leave until 90 ms, and the
/// microseconds from the SACKs on.
fn repaired(blocks: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut settings = config("bbr");
    settings.tso_segments = 45;
    let mut script = Script::established(settings, 40);
    script.write(20 * MSS);
    assert_eq!(script.sent.len(), 10);
    script.now = ms(84);
    assert_eq!(script.ack(0, blocks), [0]);
    let rest = numbered(&mut script, ms(90));
    let since = |(number, at): (u64, u64)| (number, at - 84_000);
    rest.into_iter().map(since).collect()
}

/// Linux has the segments of a burst in one packet, splits it where SACK blocks end, and retransmits
/// each part as one packet (`tcp_xmit_retransmit_queue`). The pacer spaces the parts.
#[test]
fn lost_segments_of_one_burst_are_retransmitted_together() {
    let rest = repaired(&[(8, 10), (1, 6)]);
    // 10 segments per 40 ms, times 2.885, less 1 %: 714 kB/s, which is 1.4 ms for a segment. The
    // pacer had been idle, which credits the first half of it.
    assert_eq!(rest[..4], [(6, 699), (7, 699), (10, 3_499), (11, 3_499)]);
}

/// The kernel retransmits two lost segments one by one if a packet ends between them, although both
/// packets left at the same time (streams 401 and 404 of `slowstart validate --streams`, profile
/// bbr, on Linux 6.18).
#[test]
fn lost_segments_of_two_bursts_are_retransmitted_one_by_one() {
    let rest = repaired(&[(9, 10), (1, 7)]);
    assert_eq!(rest[..4], [(7, 699), (8, 2_099), (10, 3_499), (11, 3_499)]);
}

/// Linux `tcp_mss_split_point`: the end of what was written is no packet of its own.
#[test]
fn the_end_of_a_write_leaves_with_the_burst_before() {
    let mut settings = config("reno+standard");
    settings.pacing = true;
    settings.initial_window = 20;
    settings.tso_segments = 45;
    let mut script = Script::established(settings, 10);
    // 20 * 1000 B / 10 ms * 2 = 4 MB/s: bursts of 3 segments, in a millisecond less 9 free ones.
    script.write(14 * MSS + 604);
    let lengths: Vec<u32> = script.sent.iter().map(|(_, segment)| segment.len).collect();
    assert_eq!(lengths, [1_000; 12]);
    let at = departures(&mut script, Duration::from_millis(10));
    assert_eq!(at[0], at[1]);
    assert_eq!(at[1], at[2]);
    assert_eq!(
        script.sent.last().map(|(_, segment)| segment.len),
        Some(604)
    );
}

#[test]
fn bbr_is_paced_without_configured_pacing() {
    let script = Script::established(config("bbr"), 100);
    assert!(script.sender.is_paced());
    assert!(script.sender.congestion_control().requires_pacing());
    assert!(!Script::established(config("cubic"), 100).sender.is_paced());
}

#[test]
fn a_burst_never_exceeds_the_window() {
    for tso in [1, 2, 45] {
        let mut settings = config("cubic+standard");
        settings.tso_segments = tso;
        let mut script = Script::established(settings, 50);
        script.write(u64::MAX);
        let mut ack = 0;
        for _ in 0..200 {
            script.now += Duration::from_micros(400);
            ack += 1;
            let segment = AckSegment {
                ack: ack * MSS,
                window: 1 << 20,
                ..AckSegment::default()
            };
            script.handle(&segment);
            assert!(script.in_flight() <= script.cwnd());
        }
    }
}

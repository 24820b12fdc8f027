//! Handshake, retransmission timeouts, tail loss probes, idle and zero windows.

use tcp::Sender;
use tcp::segment::AckSegment;
use units::{Duration, Instant};

use super::support::{MSS, Script, config, ms};
use congestion::Phase;

#[test]
fn a_syn_is_retransmitted_every_second_four_times_and_then_backs_off() {
    let mut sender = Sender::new(config("cubic"));
    sender.open(Instant::ZERO);
    let mut sent = vec![];
    while sent.len() < 9 {
        if let Some(syn) = sender.poll_transmit(sent.last().map_or(Instant::ZERO, |at| ms(*at))) {
            assert!(syn.syn);
            assert_eq!(syn.retransmission, !sent.is_empty());
        }
        let due = sender.poll_timeout().unwrap();
        sent.push(due.as_millis());
        sender.handle_timeout(due);
    }
    // Linux: 0, then 1 2 3 4 5 7 11 19 35 s (`tcp_syn_retries` documents 67 s for the next).
    assert_eq!(
        sent,
        [
            1_000, 2_000, 3_000, 4_000, 5_000, 7_000, 11_000, 19_000, 35_000
        ]
    );
    assert_eq!(
        sender.stats().segments_sent,
        0,
        "a SYN is not a data segment"
    );
}

#[test]
fn the_handshake_gives_the_first_rtt_sample_and_the_timeout() {
    for (rtt, rto) in [(10, 210), (50, 250), (100, 300), (150, 450), (300, 900)] {
        let script = Script::established(config("cubic"), rtt);
        assert_eq!(script.sender.srtt(), Some(Duration::from_millis(rtt)));
        assert_eq!(script.sender.rto(), Duration::from_millis(rto), "RTT {rtt}");
        assert_eq!(script.sender.min_rtt(), Some(Duration::from_millis(rtt)));
    }
}

/// A handshake in which `lost` SYNs were lost, without timestamps unless `echo`.
fn after_lost_syns(lost: u64, echo: bool) -> Sender {
    let mut sender = Sender::new(config("cubic"));
    sender.open(Instant::ZERO);
    let mut ts_ecr = sender.poll_transmit(Instant::ZERO).unwrap().ts_val;
    let mut now = Instant::ZERO;
    for _ in 0..lost {
        now = sender.poll_timeout().unwrap();
        sender.handle_timeout(now);
        ts_ecr = sender.poll_transmit(now).unwrap().ts_val;
    }
    let ack = AckSegment {
        window: 1 << 20,
        syn: true,
        ts_ecr: if echo { ts_ecr } else { 0 },
        ..AckSegment::default()
    };
    sender.handle_ack(now + Duration::from_millis(100), &ack);
    sender
}

// Tests RFC5681-3.1c, RFC5681-3.1d, RFC6298-5d
#[test]
fn one_lost_syn_costs_the_sample_and_two_the_initial_window() {
    let cwnd = |sender: &Sender| sender.window().cwnd_segments();
    let sender = after_lost_syns(1, false);
    assert_eq!(
        (sender.srtt(), sender.rto()),
        (None, Duration::from_secs(3))
    );
    assert_eq!(cwnd(&sender), 10);
    assert_eq!(cwnd(&after_lost_syns(2, false)), 1);
    let sender = after_lost_syns(1, true);
    assert_eq!(
        sender.srtt(),
        Some(Duration::from_millis(100)),
        "the echo identifies the SYN"
    );
}

#[test]
fn an_empty_transfer_completes_with_its_fin() {
    let mut script = Script::established(config("cubic"), 100);
    script.sender.close();
    assert!(!script.sender.is_complete());
    assert_eq!(script.transmit(), [0]);
    let (_, fin) = script.sent[0];
    assert!(fin.fin && fin.len == 0 && fin.end() == 1);
    let ack = AckSegment {
        ack: 1,
        window: script.rwnd,
        ..AckSegment::default()
    };
    assert_eq!(script.handle(&ack), []);
    assert!(script.sender.is_complete());
    assert_eq!(script.sender.poll_timeout(), None);
    assert_eq!(script.sender.written(), 0);
    let stats = script.sender.stats();
    assert_eq!((stats.bytes_sent, stats.bytes_acked), (0, 0));
}

#[test]
fn a_fin_that_leaves_alone_is_retransmitted_until_it_is_acknowledged() {
    // Without SACK, there is no tail loss probe: the RTO of 300 ms, then twice as long each time.
    let mut script = Script::established(
        tcp::SenderConfig {
            sack: false,
            ..config("cubic")
        },
        100,
    );
    script.write(2 * MSS);
    script.now = ms(200);
    script.ack(2, &[]);
    script.now = ms(250);
    script.sender.close();
    script.transmit();
    assert_eq!(
        script.run_to(ms(250 + 300 + 600)),
        [(250 + 300, 2), (250 + 300 + 600, 2)]
    );
    let fins: Vec<_> = script.sent[2..]
        .iter()
        .map(|(at, fin)| (at.as_millis(), fin.seq, fin.len, fin.fin, fin.psh))
        .collect();
    let fin = |at| (at, 2 * MSS, 0, true, false);
    assert_eq!(fins, [fin(250), fin(550), fin(1_150)]);
    assert!(!script.sender.is_complete());
    // The retransmission of data never carries a FIN that leaves alone.
    script.now = ms(1_200);
    script.handle(&AckSegment {
        ack: 2 * MSS + 1,
        window: script.rwnd,
        ..AckSegment::default()
    });
    assert!(script.sender.is_complete());
    let stats = script.sender.stats();
    assert_eq!((stats.bytes_sent, stats.bytes_acked), (2 * MSS, 2 * MSS));
    assert_eq!(script.sender.written(), 2 * MSS);
    // Nothing more happens, and closing twice changes nothing.
    script.sender.close();
    assert_eq!(
        (script.transmit(), script.sender.poll_timeout()),
        (vec![], None)
    );
}

#[test]
fn a_probe_of_the_tail_repeats_the_fin() {
    let mut script = Script::established(config("cubic"), 100);
    script.write(MSS);
    script.sender.close();
    script.transmit();
    // Two segments are in flight: the probe after two round trips and the timer's slack.
    script.now = ms(200);
    script.ack(1, &[]);
    let due = script.sender.poll_timeout().unwrap();
    script.run_to(due);
    let (_, probe) = script.sent[2];
    assert_eq!((probe.seq, probe.len, probe.fin), (MSS, 0, true));
    assert_eq!(script.sender.stats().tlp_probes, 1);
}

#[test]
fn the_last_segment_carries_fin_and_push() {
    let mut script = Script::established(config("cubic"), 100);
    script.sender.write(script.now, 2 * MSS + 1);
    script.sender.close();
    script.transmit();
    let flags: Vec<_> = script
        .sent
        .iter()
        .map(|(_, s)| (s.len, s.psh, s.fin))
        .collect();
    assert_eq!(
        flags,
        [(1000, false, false), (1000, false, false), (1, true, true)]
    );
    let ack = AckSegment {
        ack: 2 * MSS + 1,
        window: 1 << 20,
        ..AckSegment::default()
    };
    script.now = ms(200);
    script.handle(&ack);
    assert!(script.sender.is_complete());
    assert_eq!(script.sender.poll_timeout(), None);
}

// Tests RFC8985-7.2a
#[test]
fn a_tail_loss_probe_after_two_round_trips_then_timeouts_that_double() {
    // RTT 100 ms: RTO 300 ms. Ten segments in flight: PTO 202 ms. The RTO then restarts at the
    // probe.
    let mut script = Script::with_segments("cubic", 100, 10);
    assert_eq!(script.sent.len(), 10);
    let sent = script.run_to(ms(5_000));
    // The probe at 100 + 202 ms retransmits the last segment. The RTO follows 300 ms later and
    // doubles.
    assert_eq!(
        sent,
        [(302, 9), (602, 0), (1_202, 0), (2_402, 0), (4_802, 0)]
    );
    assert_eq!(script.sender.stats().tlp_probes, 1);
    assert_eq!(script.sender.stats().timeouts, 4);
    assert_eq!(script.sender.rto(), Duration::from_millis(4_800));
    assert_eq!((script.cwnd(), script.ssthresh()), (1, 7));
    assert_eq!(script.sender.phase(), Phase::Loss);
}

/// The same with 250 Hz, tick zero at time zero: the data leaves in tick 25. PTO: 51 ticks, fires
/// one tick after 25 + 51. RTO: 75 ticks; 77 + 75 lies in the 19th group of eight, and the timer fires
/// with tick 160. It doubles: 160 + 150 (fires with tick 312), 312 + 300 (616), and in groups of 64
/// 616 + 600 (1280).
#[test]
fn with_ticks_a_timer_fires_as_the_wheel_of_linux_does() {
    let tick = tcp::Tick::with_phase(Duration::from_millis(4), Duration::ZERO);
    let mut script = Script::established(
        tcp::SenderConfig {
            tick,
            ..config("cubic")
        },
        100,
    );
    script.write(10 * MSS);
    assert_eq!(
        script.run_to(ms(6_000)),
        [77, 160, 312, 616, 1_280]
            .map(|number| number * 4)
            .into_iter()
            .zip([9, 0, 0, 0, 0])
            .collect::<Vec<_>>()
    );
    // 101 ms + 4 * 50.5 ms = 303 ms are 76 ticks.
    let script = Script::established(
        tcp::SenderConfig {
            tick,
            ..config("cubic")
        },
        101,
    );
    assert_eq!(script.sender.rto(), Duration::from_millis(304));
}

// Tests RFC8985-7.2b, RFC8985-7.2c
#[test]
fn the_probe_of_a_single_segment_waits_for_the_delayed_ack() {
    // 2 * 100 + 200 = 400 ms, capped by the RTO of 300 ms.
    let mut script = Script::with_segments("cubic", 100, 1);
    assert_eq!(script.run_to(ms(450)), [(400, 0)]);
}

// Tests RFC8985-7.3a
#[test]
fn a_probe_sends_new_data_if_available() {
    let mut script = Script::bulk("cubic", 100);
    assert_eq!(script.run_to(ms(302)), [(302, 10)]);
    assert_eq!(script.in_flight(), 11, "one above the window");
    assert_eq!(script.sender.stats().segments_retransmitted, 0);
    // The ACK of the probe settles it: nothing was lost.
    script.now = ms(402);
    script.ack(11, &[]);
    assert_eq!(script.sender.ssthresh(), units::Bytes::MAX);
}

// Tests RFC8985-7.3b
#[test]
fn no_second_probe_leaves_while_one_is_in_flight() {
    let mut script = Script::with_segments("cubic", 100, 10);
    assert_eq!(script.run_to(ms(302)), [(302, 9)]);
    // An ACK below the probe arms the probe's timer again; the timeout takes its place.
    script.now = ms(350);
    assert_eq!(script.ack(5, &[]), []);
    let sent = script.run_to(ms(1_200));
    assert_eq!(sent[0].1, 5);
    assert_eq!(script.sender.stats().tlp_probes, 1);
    assert_eq!(script.sender.stats().timeouts, 1);
}

// Tests RFC8985-7.4b
#[test]
fn a_probe_that_repaired_a_loss_costs_one_reduction() {
    let mut script = Script::with_segments("cubic", 100, 10);
    script.now = ms(200);
    script.ack(9, &[]);
    assert_eq!(script.cwnd(), 19);
    // One segment in flight: 2 * srtt + 200 ms, but not later than the RTO of about 300 ms.
    let sent = script.run_to(ms(550));
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].1, 9);
    script.write(MSS);
    script.now = ms(700);
    script.ack(11, &[]);
    assert_eq!(
        (script.cwnd(), script.ssthresh()),
        (13, 13),
        "19 * 717 / 1024"
    );
    assert_eq!(script.sender.phase(), Phase::Open);
}

// Tests RFC8985-7.4a
#[test]
fn a_probe_of_a_segment_that_had_arrived_costs_nothing() {
    for dsack in [true, false] {
        let mut script = Script::with_segments("cubic", 100, 10);
        assert_eq!(script.run_to(ms(302)), [(302, 9)]);
        script.now = ms(310);
        script.ack(10, &[]);
        assert_eq!(script.sender.segments_out(), 0);
        script.now = ms(402);
        // The duplicate is acknowledged, with or without a DSACK.
        if dsack {
            script.ack(10, &[(9, 10)]);
        } else {
            script.ack(10, &[]);
        }
        script.write(2 * MSS);
        script.now = ms(500);
        script.ack(12, &[]);
        assert_eq!(script.sender.ssthresh(), units::Bytes::MAX, "dsack {dsack}");
    }
}

// Tests RFC6298-5a
#[test]
fn the_timer_stops_when_all_data_is_acknowledged() {
    let mut script = Script::established(config("cubic"), 100);
    script.write(4 * MSS);
    script.now += Duration::from_millis(100);
    script.ack(3, &[]);
    assert!(script.sender.poll_timeout().is_some());
    script.ack(4, &[]);
    assert_eq!(script.sender.poll_timeout(), None);
}

// Tests RFC6298-3a
#[test]
fn only_a_sample_clears_the_back_off_after_a_timeout() {
    let mut script = Script::with_segments("cubic", 100, 4);
    script.write(20 * MSS);
    let sent = script.run_to(ms(1_300));
    assert_eq!(sent, [(302, 10), (602, 0), (1_202, 0)]);
    // The retransmitted head is acknowledged without a timestamp: no sample, so the back-off stays.
    script.now = ms(1_302);
    let sent = script.ack(1, &[]);
    assert_eq!(script.sender.rto(), Duration::from_millis(1_200));
    // F-RTO: new data first, within a window of 2 segments.
    assert_eq!(script.cwnd(), 2);
    assert_eq!(sent, [11, 12]);
    script.now = ms(1_402);
    // New data is SACKed: the loss is genuine, and the rest is retransmitted.
    let sent = script.ack(1, &[(11, 12)]);
    assert_eq!(sent, [1]);
    assert!(script.sender.rto() < Duration::from_millis(400));
}

// Tests RFC5681-4.1a
#[test]
fn idle_restart_halves_the_window_for_each_rto_but_not_below_the_initial_one() {
    // cwnd 80, RTO 1 s (srtt 500 ms): idle 1.0 -> 80, 1.1 -> 40, 2.1 -> 20, 3.5 or 10 -> 10.
    for (idle, cwnd) in [
        (1_000, 80),
        (1_100, 40),
        (2_100, 20),
        (3_500, 10),
        (10_000, 10),
    ] {
        let mut script = Script::established(config("reno+standard"), 500);
        let mut acked = 0;
        for round in [10, 20, 40] {
            script.write(round * MSS);
            acked += round;
            script.now += Duration::from_millis(500);
            script.ack(acked, &[]);
        }
        assert_eq!(script.cwnd(), 80);
        let rto = script.sender.rto();
        let last_sent = script.sent.last().unwrap().0;
        script.now = last_sent + rto.mul_div(idle, 1_000);
        script.write(200 * MSS);
        assert_eq!(script.cwnd(), cwnd, "idle {idle}");
        assert_eq!(script.in_flight(), cwnd);
    }
}

#[test]
fn an_application_that_uses_little_of_the_window_loses_it_slowly() {
    // cwnd 40, used 12, not limited for one RTO: 26, ssthresh at least 30.
    let mut script = Script::established(config("reno+standard"), 100);
    for (write, ack) in [(10, 10), (20, 30)] {
        script.write(write * MSS);
        script.now += Duration::from_millis(100);
        script.ack(ack, &[]);
    }
    assert_eq!(script.cwnd(), 40);
    // Each ACK that may grow the window counts as use of it. Without such an ACK for one RTO, the
    // largest flight counts.
    script.write(11 * MSS);
    assert_eq!(script.cwnd(), 40);
    script.now += script.sender.rto();
    script.write(MSS);
    assert_eq!(script.cwnd(), 26);
    assert!(script.ssthresh() >= 30);
}

#[test]
fn the_window_grows_to_twice_the_used_part() {
    for (segments, cwnd) in [(5, 10), (6, 12), (9, 18), (10, 20)] {
        let mut script = Script::with_segments("cubic", 100, segments);
        script.now = ms(200);
        for acked in 1..=segments {
            script.ack(acked, &[]);
        }
        assert_eq!(script.cwnd(), cwnd, "{segments} segments of 10");
    }
}

#[test]
fn a_closed_window_is_probed_with_growing_pauses() {
    let mut script = Script::bulk("cubic", 100);
    script.rwnd = 0;
    script.now = ms(200);
    assert_eq!(script.ack(10, &[]), []);
    assert_eq!(script.in_flight(), 0);
    let sent: Vec<_> = script
        .run_to(ms(2_500))
        .into_iter()
        .map(|(at, _)| at)
        .collect();
    assert_eq!(sent, [500, 1_100, 2_300], "after 300, 600, 1200 ms");
    assert!(
        script
            .sent
            .iter()
            .rev()
            .take(3)
            .all(|(_, probe)| probe.len == 0 && !probe.syn)
    );
    assert_eq!(script.sender.stats().window_probes, 3);
    assert_eq!(script.sender.stats().bytes_sent, 10 * MSS);
    // An answer that opens nothing leaves the timer running; one that opens the window stops it.
    script.now = ms(2_600);
    assert_eq!(script.ack(10, &[]), []);
    script.rwnd = 3 * MSS as u32;
    assert_eq!(script.ack(10, &[]), [10, 11, 12]);
}

#[test]
fn a_silly_window_is_filled_only_by_the_probe() {
    let mut script = Script::bulk("cubic", 100);
    script.rwnd = 400;
    script.now = ms(200);
    assert_eq!(script.ack(10, &[]), []);
    assert_eq!(script.run_to(ms(500)), [(500, 10)]);
    assert_eq!(script.sent.last().unwrap().1.len, 400);
}

#[test]
fn the_receive_window_limits_the_sender() {
    let mut script = Script::established(config("cubic"), 100);
    script.rwnd = 4_500;
    script.now = ms(101);
    // The window of the SYN-ACK was large. An ACK without new information may not shrink it.
    script.ack(0, &[]);
    script.write(u64::MAX);
    assert_eq!(script.in_flight(), 10);
    script.now = ms(200);
    assert_eq!(script.ack(10, &[]), [10, 11, 12, 13]);
    assert!(script.cwnd() > 10);
}

#[test]
fn a_short_segment_waits_for_the_one_before_it() {
    let mut script = Script::established(config("cubic"), 100);
    script.write(100);
    script.write(100);
    assert_eq!(script.sent.len(), 1, "the second small segment waits");
    script.write(1_000);
    assert_eq!(script.sent.len(), 2, "a full one leaves");
    assert_eq!(script.sent[1].1.len, 1_000);
    script.sender.close();
    script.transmit();
    assert_eq!(
        script.sent.last().unwrap().1.len,
        100,
        "the last one leaves too"
    );
}

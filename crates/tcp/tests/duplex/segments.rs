//! Which segments and ACKs leave, and when: numbers worked out by hand.
//!
//! The path takes 50 ms in each direction, and nothing else. A row is the time in milliseconds, the
//! bytes of data (a FIN that leaves alone counts as one), and the ACK number.

use tcp::segment::{AckSegment, DataSegment};
use tcp::{Receiver, Sender};
use units::feedback::Feedback;
use units::{Bytes, Duration, Instant, Rate};

use super::support::*;

type Row = (u64, Option<u64>, Option<u64>);

const MSS: u64 = 1448;

/// Data without and with an ACK, and an ACK alone.
fn data(at: u64, bytes: u64) -> Row {
    (at, Some(bytes), None)
}

fn both(at: u64, bytes: u64, ack: u64) -> Row {
    (at, Some(bytes), Some(ack))
}

fn ack(at: u64, ack: u64) -> Row {
    (at, None, Some(ack))
}

fn path(exchanges: &[Exchange]) -> Duplex {
    let configs = [sender_config("cubic"), sender_config("cubic")];
    let mut path = Duplex::new(configs, exchanges);
    path.open();
    path
}

#[test]
fn a_request_of_400_bytes_and_its_response_of_ten_segments() {
    let mut path = path(&[Exchange::new(400, 10 * MSS, 0)]);
    path.run_to(1_000);
    assert!(path.is_over());
    // SYN at 0, third segment and request at 100, an ACK of each segment of the response (quick
    // ACKs) and the FIN at 200, the ACK of the server's FIN at 300 without delay.
    let mut client = vec![data(0, 0), ack(100, 0), both(100, 400, 0)];
    client.extend((1..=10).map(|count| ack(200, count * MSS)));
    client.extend([data(200, 1), ack(300, 10 * MSS + 1)]);
    assert_eq!(path.sent(CLIENT, 0), client);
    // SYN-ACK at 50, a quick ACK of the request and the initial window of the response at 150, and
    // the FIN that carries the ACK of the client's FIN at 250.
    let mut server = vec![ack(50, 0), ack(150, 400)];
    server.extend([data(150, MSS); 10]);
    server.push(both(250, 1, 401));
    assert_eq!(path.sent(SERVER, 0), server);
    let server = &path.hosts[SERVER].sender;
    assert_eq!(server.srtt(), Some(Duration::from_millis(100)));
    assert_eq!(server.written(), 10 * MSS);
}

#[test]
fn the_second_response_carries_the_ack_of_its_request() {
    let exchange = Exchange::new(400, 3_000, 20);
    let mut path = path(&[exchange, exchange, exchange]);
    path.run_to(2_000);
    assert!(path.is_over());
    // The server answers at once, so the connection is interactive there after the first answer,
    // and each later answer carries the ACK. Its 104 bytes do not wait: no other partial segment is
    // in flight.
    let server = path.sent(SERVER, 0);
    let expected = [
        ack(50, 0),
        ack(150, 400),
        data(150, MSS),
        data(150, MSS),
        data(150, 104),
        both(270, MSS, 800),
        data(270, MSS),
        data(270, 104),
        both(390, MSS, 1_200),
        data(390, MSS),
        data(390, 104),
        both(490, 1, 1_201),
    ];
    assert_eq!(server, expected);
    // The client writes 20 ms after each answer, within the ATO: interactive from 220 on. It then
    // acknowledges every second full segment at once, and its next request carries the ACK of the
    // rest.
    let client = path.sent(CLIENT, 200);
    let expected = [
        ack(200, MSS),
        ack(200, 2 * MSS),
        ack(200, 3_000),
        data(220, 400),
        ack(320, 3_000 + 2 * MSS),
        both(340, 400, 6_000),
        ack(440, 6_000 + 2 * MSS),
        both(440, 1, 9_000),
        ack(540, 9_001),
    ];
    assert_eq!(client, expected);
}

const fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn arriving(seq: u64, len: u64) -> DataSegment {
    DataSegment {
        seq,
        len: len as u32,
        ts_val: 1,
        ts_ecr: 0,
        syn: false,
        fin: false,
        psh: true,
        cwr: false,
        retransmission: false,
    }
}

/// A receiver at the server, whose handshake is over.
fn answering() -> Receiver {
    let mut receiver = Receiver::new(receiver_config(true));
    receiver.listen();
    let syn = DataSegment {
        syn: true,
        psh: false,
        ..arriving(0, 0)
    };
    receiver.handle_data(ms(0), &syn, false);
    assert!(receiver.poll_ack(ms(0)).unwrap().syn);
    let hundred = Some(Duration::from_millis(100));
    assert_eq!(receiver.complete_handshake(ms(100)), (hundred, 0));
    assert_eq!(receiver.poll_timeout(), None);
    receiver
}

/// The ACK numbers that leave alone.
fn alone(receiver: &mut Receiver, now: Instant) -> Vec<u64> {
    std::iter::from_fn(|| receiver.poll_ack(now))
        .map(|ack| ack.ack)
        .collect()
}

#[test]
fn a_reply_within_the_ato_makes_the_connection_interactive_and_a_missed_one_ends_it() {
    let mut receiver = answering();
    receiver.handle_data(ms(100), &arriving(0, 400), false);
    assert_eq!(alone(&mut receiver, ms(100)), [400], "a quick ACK");
    // The ATO is 40 ms.
    receiver.on_data_sent(ms(140));
    assert!(!receiver.is_interactive());
    receiver.on_data_sent(ms(139));
    assert!(receiver.is_interactive());
    receiver.handle_data(ms(200), &arriving(400, 400), false);
    assert_eq!(alone(&mut receiver, ms(200)), []);
    // No reply: 40 ms later the timer sends the ACK, and quick ACKs are back.
    assert_eq!(receiver.poll_timeout(), Some(ms(240)));
    receiver.handle_timeout(ms(240));
    assert_eq!(alone(&mut receiver, ms(240)), [800]);
    assert!(!receiver.is_interactive());
    receiver.handle_data(ms(300), &arriving(800, 400), false);
    assert_eq!(alone(&mut receiver, ms(300)), [1_200]);
}

#[test]
fn a_reply_takes_the_ack_and_its_timer() {
    let mut receiver = answering();
    receiver.handle_data(ms(100), &arriving(0, 400), false);
    alone(&mut receiver, ms(100));
    receiver.on_data_sent(ms(110));
    receiver.handle_data(ms(200), &arriving(400, 400), false);
    let ack = receiver.take_ack(ms(210)).unwrap();
    assert_eq!((ack.ack, ack.ts_val, ack.syn), (800, 211, false));
    assert_eq!(receiver.poll_timeout(), None);
    assert_eq!(receiver.take_ack(ms(210)), None, "nothing new");
    assert_eq!(alone(&mut receiver, ms(500)), []);
    assert_eq!(receiver.stats().acks_sent, 1, "the quick ACK");
    // Two full segments are acknowledged at once, interactive or not.
    receiver.handle_data(ms(600), &arriving(800, MSS), false);
    assert_eq!(alone(&mut receiver, ms(600)), []);
    receiver.handle_data(ms(600), &arriving(800 + MSS, MSS), false);
    assert_eq!(alone(&mut receiver, ms(600)), [800 + 2 * MSS]);
}

#[test]
fn a_duplicate_and_a_mark_end_interactive_mode() {
    for is_mark in [true, false] {
        let mut receiver = answering();
        receiver.handle_data(ms(100), &arriving(0, 400), false);
        receiver.on_data_sent(ms(110));
        assert!(receiver.is_interactive());
        let seq = if is_mark { 400 } else { 0 };
        receiver.handle_data(ms(200), &arriving(seq, 400), is_mark);
        assert!(!receiver.is_interactive());
        assert_eq!(alone(&mut receiver, ms(200)).len(), 1);
    }
}

#[test]
fn an_ack_on_data_reports_sacks_and_marks_each_time() {
    let mut receiver = answering();
    receiver.handle_data(ms(100), &arriving(0, MSS), false);
    receiver.handle_data(ms(100), &arriving(2 * MSS, MSS), false);
    for _ in 0..2 {
        let ack = receiver.take_ack(ms(100)).unwrap();
        let blocks: Vec<_> = ack.sack.iter(ack.ack).collect();
        assert_eq!((ack.ack, blocks), (MSS, vec![(2 * MSS, 3 * MSS)]));
        assert_eq!(ack.options_size(), 12);
    }
    receiver.handle_data(ms(110), &arriving(MSS, MSS), true);
    for _ in 0..2 {
        let ack = receiver.take_ack(ms(110)).unwrap();
        assert_eq!((ack.ack, ack.ece, ack.options_size()), (3 * MSS, true, 0));
    }
}

#[test]
fn a_bare_fin_takes_one_number_in_order_and_out_of_order() {
    let fin = DataSegment {
        fin: true,
        psh: false,
        ..arriving(400, 0)
    };
    let mut receiver = answering();
    receiver.handle_data(ms(100), &fin, false);
    let ack = receiver.poll_ack(ms(100)).unwrap();
    let blocks: Vec<_> = ack.sack.iter(ack.ack).collect();
    assert_eq!((ack.ack, blocks), (0, vec![(400, 401)]));
    assert_eq!(receiver.finished_at(), None);
    receiver.handle_data(ms(120), &arriving(0, 400), false);
    assert_eq!(receiver.finished_at(), Some(ms(120)));
    assert_eq!(receiver.delivered(), Bytes::new(400));
    // It fills a hole.
    assert_eq!(alone(&mut receiver, ms(120)), [401]);
    // The same FIN again is a duplicate.
    receiver.handle_data(ms(300), &fin, false);
    let ack = receiver.poll_ack(ms(300)).unwrap();
    let blocks: Vec<_> = ack.sack.iter(ack.ack).collect();
    assert_eq!((ack.ack, blocks), (401, vec![(400, 401)]));
    assert_eq!(receiver.delivered(), Bytes::new(400));
}

#[test]
fn the_ack_of_a_fin_waits_for_the_fin_of_this_side_unless_it_has_left() {
    let fin = DataSegment {
        fin: true,
        psh: false,
        ..arriving(400, 0)
    };
    for has_closed in [false, true] {
        let mut receiver = answering();
        receiver.handle_data(ms(100), &arriving(0, 400), false);
        assert_eq!(alone(&mut receiver, ms(100)), [400]);
        if has_closed {
            receiver.on_fin_sent();
        }
        receiver.handle_data(ms(150), &fin, false);
        assert_eq!(receiver.finished_at(), Some(ms(150)));
        if has_closed {
            assert_eq!(alone(&mut receiver, ms(150)), [401]);
        } else {
            assert_eq!(alone(&mut receiver, ms(150)), []);
            assert_eq!(receiver.poll_timeout(), Some(ms(190)));
            assert_eq!(receiver.take_ack(ms(160)).unwrap().ack, 401);
            assert_eq!(receiver.poll_timeout(), None);
        }
    }
}

#[test]
fn the_syn_ack_is_retransmitted_until_the_third_segment_arrives() {
    let mut receiver = Receiver::new(receiver_config(true));
    receiver.listen();
    let syn = DataSegment {
        syn: true,
        psh: false,
        ..arriving(0, 0)
    };
    receiver.handle_data(ms(0), &syn, false);
    assert!(receiver.poll_ack(ms(0)).unwrap().syn);
    for at in [1_000, 3_000, 7_000] {
        assert_eq!(receiver.poll_timeout(), Some(ms(at)));
        receiver.handle_timeout(ms(at));
        assert!(receiver.poll_ack(ms(at)).unwrap().syn);
    }
    assert_eq!(receiver.complete_handshake(ms(7_100)), (None, 3));
    assert_eq!(receiver.poll_timeout(), None);
    assert_eq!(receiver.poll_ack(ms(7_100)), None);
}

fn third(ts_ecr: u32) -> AckSegment {
    AckSegment {
        window: 60_000,
        ts_val: 7,
        ts_ecr,
        ..AckSegment::default()
    }
}

#[test]
fn a_passive_opener_begins_as_an_active_one() {
    let mut passive = Sender::new(sender_config("cubic"));
    passive.write(ms(0), 20 * MSS);
    assert_eq!(passive.poll_transmit(ms(0)), None);
    assert_eq!(passive.poll_timeout(), None);
    passive.accept(ms(100), &third(0), Some(Duration::from_millis(100)), 0);
    let mut active = Sender::new(sender_config("cubic"));
    active.open(ms(0));
    assert!(active.poll_transmit(ms(0)).unwrap().syn);
    active.write(ms(0), 20 * MSS);
    let syn_ack = AckSegment {
        syn: true,
        ..third(0)
    };
    active.handle_ack(ms(100), &syn_ack);
    for _ in 0..11 {
        let segment = passive.poll_transmit(ms(100));
        assert_eq!(segment, active.poll_transmit(ms(100)));
    }
    assert_eq!(passive.segments_out(), 10);
    assert_eq!(passive.rto(), Duration::from_millis(300));
    assert_eq!(
        (passive.srtt(), passive.window(), passive.poll_timeout()),
        (active.srtt(), active.window(), active.poll_timeout())
    );
    // A later ACK of the handshake changes nothing.
    passive.accept(ms(150), &third(0), None, 2);
    assert_eq!(passive.window(), active.window());
}

#[test]
fn the_handshake_of_a_passive_opener_with_lost_syn_acks() {
    let accepted = |retransmitted, ts_ecr| {
        let mut sender = Sender::new(sender_config("cubic"));
        sender.accept(ms(1_100), &third(ts_ecr), None, retransmitted);
        (sender.window().cwnd_segments(), sender.srtt(), sender.rto())
    };
    let three = Duration::from_secs(3);
    assert_eq!(accepted(1, 0), (10, None, three));
    assert_eq!(accepted(2, 0), (1, None, three));
    let hundred = Duration::from_millis(100);
    // The echoed timestamp identifies the SYN-ACK of 1,000 ms.
    assert_eq!(
        accepted(1, 1_001),
        (10, Some(hundred), Duration::from_millis(300))
    );
}

#[test]
fn an_ack_on_data_is_never_a_duplicate() {
    // Without SACK, three duplicate ACKs show a loss.
    let config = tcp::SenderConfig {
        sack: false,
        ..sender_config("cubic")
    };
    for rides in [false, true] {
        let mut sender = Sender::new(config.clone());
        sender.accept(ms(100), &third(0), Some(Duration::from_millis(100)), 0);
        sender.write(ms(100), 10 * MSS);
        while sender.poll_transmit(ms(100)).is_some() {}
        for _ in 0..3 {
            if rides {
                sender.handle_ack_with_data(ms(200), &third(0));
            } else {
                sender.handle_ack(ms(200), &third(0));
            }
        }
        let retransmission = sender.poll_transmit(ms(200));
        assert_eq!(retransmission.is_none(), rides, "{retransmission:?}");
        assert_eq!(sender.stats().recoveries, u64::from(!rides));
    }
}

#[test]
fn an_idle_server_restarts_its_window_and_one_that_thinks_less_does_not() {
    // After the first response of 40 segments, the window is larger than the initial one.
    for (think, expected) in [(100, 40), (10_000, 10)] {
        let exchange = Exchange::new(400, 40 * MSS, think);
        let mut path = path(&[exchange, exchange]);
        let mut first = None;
        while path.step() {
            let server = &path.hosts[SERVER].sender;
            if server.written() == 80 * MSS && first.is_none() {
                first = Some((server.window().cwnd_segments(), server.segments_out()));
            }
        }
        assert!(path.is_over());
        let (cwnd, out) = first.unwrap();
        assert_eq!(
            u64::from(out),
            expected,
            "a pause of {think} ms, window {cwnd}"
        );
    }
}

#[test]
fn a_prompt_sender_never_waits_for_the_ack_of_a_small_segment() {
    for is_prompt in [false, true] {
        let mut sender = Sender::new(sender_config("cubic"));
        if is_prompt {
            sender.send_promptly();
        }
        sender.accept(ms(100), &third(0), Some(Duration::from_millis(100)), 0);
        let mut sent = Vec::new();
        for _ in 0..3 {
            sender.write(ms(100), 100);
            sent.extend(std::iter::from_fn(|| sender.poll_transmit(ms(100))).map(|one| one.len));
        }
        assert_eq!(sent, if is_prompt { vec![100; 3] } else { vec![100] });
    }
}

#[test]
fn a_server_that_speaks_first_survives_the_loss_of_the_third_segment() {
    let configs = [sender_config("cubic"), sender_config("cubic")];
    let mut path = Duplex::new(configs, &[Exchange::new(0, 5_000, 0)]);
    // SYN, SYN-ACK, third segment.
    path.lost = vec![2];
    path.open();
    path.run_to(5_000);
    assert!(path.is_over());
    // The SYN-ACK of 50 ms is retransmitted after a second, and answered.
    let server = path.sent(SERVER, 0);
    let expected = [
        ack(50, 0),
        ack(1_050, 0),
        data(1_150, MSS),
        data(1_150, MSS),
    ];
    assert_eq!(server[..4], expected);
    assert_eq!(path.sent(CLIENT, 100)[..2], [ack(100, 0), ack(1_100, 0)]);
    // The echoed timestamp gives the time of the handshake.
    let server = &path.hosts[SERVER].sender;
    assert_eq!(server.min_rtt(), Some(Duration::from_millis(100)));
    assert_eq!(server.stats().timeouts, 0);
}

#[test]
fn a_small_response_that_is_lost_is_probed_for() {
    let configs = [sender_config("cubic"), sender_config("cubic")];
    let mut path = Duplex::new(configs, &[Exchange::new(400, 1_000, 0)]);
    // SYN, SYN-ACK, third segment, request, ACK, response.
    path.lost = vec![5];
    path.open();
    path.run_to(5_000);
    assert!(path.is_over());
    // One segment in flight: two round trips and `rto_min` are 400 ms, and the RTO of 300 ms is
    // earlier.
    let server = path.sent(SERVER, 0);
    assert_eq!(
        server[..4],
        [
            ack(50, 0),
            ack(150, 400),
            data(150, 1_000),
            data(450, 1_000)
        ]
    );
    let stats = path.hosts[SERVER].sender.stats();
    assert_eq!((stats.tlp_probes, stats.timeouts), (1, 0));
}

#[test]
fn a_passive_opener_takes_the_rate_of_the_routers() {
    let rate = Some(Rate::from_bits_per_sec(20_000_000));
    let echo = Feedback::RcpEcho { rate };
    for in_handshake in [false, true] {
        let mut sender = Sender::new(sender_config("rcp"));
        let header = sender.syn_ack_feedback();
        assert!(matches!(header, Some(Feedback::Rcp { .. })), "{header:?}");
        if in_handshake {
            sender.handle_feedback(ms(100), echo);
        }
        sender.accept(ms(100), &third(0), Some(Duration::from_millis(100)), 0);
        assert_eq!(sender.is_paced(), in_handshake);
        sender.write(ms(100), 100 * MSS);
        let segment = sender.poll_transmit(ms(100)).unwrap();
        let header = sender.feedback(ms(100), &segment);
        assert!(matches!(header, Some(Feedback::Rcp { .. })), "{header:?}");
        sender.handle_feedback(ms(200), echo);
        assert!(sender.is_paced());
        // 2 round trips at 20 Mbit/s, in segments of 1,436 bytes and 64 of headers.
        let expected = 20_000_000 * 2 / 10 / 8 / 1_500;
        assert_eq!(sender.window().cwnd_segments(), expected);
    }
    let mut xcp = Sender::new(sender_config("xcp"));
    assert!(matches!(xcp.syn_ack_feedback(), Some(Feedback::Xcp { .. })));
    let mut cubic = Sender::new(sender_config("cubic"));
    assert_eq!(cubic.syn_ack_feedback(), None);
}

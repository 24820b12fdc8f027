//! A write to a peer with a small window, and a window that shrinks. Linux's rules: `portions.rs`
//! and `tcp_retransmit_skb`.

use congestion::Algorithm;
use tcp::SenderConfig;

use super::support::{MSS, Script, ms};

fn script(rwnd: u32) -> Script {
    let config = SenderConfig {
        initial_window: 20,
        ..SenderConfig::linux(Algorithm::parse("cubic").unwrap(), MSS as u32)
    };
    Script::with_window(config, 100, rwnd)
}

/// The payloads that left since `from` segments had.
fn lengths(script: &Script, from: usize) -> Vec<u32> {
    let sent = &script.sent[from..];
    sent.iter().map(|(_, segment)| segment.len).collect()
}

#[test]
fn a_push_fills_the_window_to_the_last_byte() {
    // Half of the window is 5 segments. 2 leave as a burst, and 5 with the push at 7000 bytes. Of
    // the next packet 2 leave as a burst. The push at 14,000 bytes sends what is left of the
    // window, 1240 bytes: it does not wait for a second full segment.
    let mut small = script(10_240);
    small.write(20_000);
    assert_eq!(
        lengths(&small, 0),
        [[1_000; 10].as_slice(), &[240]].concat()
    );
    // A large window has no such packets: 131,072 bytes of congestion window are never reached.
    let mut large = script(131_072);
    large.write(20_000);
    assert_eq!(lengths(&large, 0), [1_000; 20]);
    // Nor has a write that the send buffer of Linux would divide.
    let mut long = script(10_240);
    long.write(131_073);
    assert_eq!(lengths(&long, 0), [1_000; 10]);
}

#[test]
fn a_write_that_fits_into_one_packet_is_not_pushed() {
    // 5000 bytes are one packet. The second write joins what is left of it.
    let mut script = script(10_240);
    script.write(4_800);
    assert_eq!(lengths(&script, 0), [1_000, 1_000, 1_000, 1_000, 800]);
    script.write(100);
    assert_eq!(lengths(&script, 5), [], "Nagle's rule holds it");
}

#[test]
fn a_retransmission_is_trimmed_to_a_window_that_shrank() {
    let mut script = script(10_240);
    script.write(10_000);
    assert_eq!(script.sent.len(), 10);
    script.now = ms(200);
    script.rwnd = 240;
    script.ack(4, &[]);
    // The timeout retransmits the 240 bytes that fit, and the segment counts as two.
    script.run_to(ms(1_000));
    let first = script.sent[10].1;
    assert!(first.retransmission && (first.seq, first.len) == (4_000, 240));
    assert_eq!(script.sender.segments_out(), 7);
    assert_eq!(script.sender.segments_lost_out(), 7);
    // The rest of its packet, which ends at 6000, follows when the window opens, in full segments from
    // the cut on.
    script.rwnd = 10_240;
    let ack = tcp::segment::AckSegment {
        ack: 4_240,
        window: script.rwnd,
        ..Default::default()
    };
    let from = script.sent.len();
    script.handle(&ack);
    let second = script.sent[from].1;
    assert!(second.retransmission && (second.seq, second.len) == (4_240, 1_000));
    assert!(script.sender.is_consistent());
}

#[test]
fn a_probe_is_trimmed_too_and_the_segments_below_stay_in_order() {
    let mut script = script(10_240);
    script.write(5_000);
    script.now = ms(200);
    // Of the last segment, 72 bytes fit.
    script.rwnd = 3_072;
    script.ack(1, &[(2, 3)]);
    script.run_to(ms(1_000));
    let probe = script.sent[5].1;
    assert!(probe.retransmission && (probe.seq, probe.len) == (1_000, 1_000));
    assert_eq!(script.sender.segments_out(), 4);
    // RACK finds the others lost when the retransmission arrives.
    let from = script.sent.len();
    script.rwnd = 1_072;
    script.ack(3, &[]);
    script.run_to(ms(1_800));
    let sent: Vec<_> = script.sent[from..]
        .iter()
        .map(|(_, segment)| (segment.seq, segment.len))
        .collect();
    assert!(sent.contains(&(3_000, 1_000)), "{sent:?}");
    assert!(sent.contains(&(4_000, 72)), "{sent:?}");
    assert_eq!(script.sender.segments_out(), 3);
    assert!(script.sender.is_consistent());
}

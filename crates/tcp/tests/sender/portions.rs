//! A write to a peer with a small window, and a window that shrinks. Linux's rules: `portions.rs`
//! and `tcp_retransmit_skb`.

use std::collections::VecDeque;

use congestion::Algorithm;
use tcp::segment::AckSegment;
use tcp::{Sender, SenderConfig};
use units::{Duration, Instant};

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
    // A write that fits into one packet of a large window is not divided.
    let mut large = script(131_072);
    large.write(20_000);
    assert_eq!(lengths(&large, 0), [1_000; 20]);
    // Nor is the last byte of the window left free if more is written.
    let mut long = script(10_240);
    long.write(131_073);
    assert_eq!(lengths(&long, 0), [[1_000; 10].as_slice(), &[240]].concat());
}

/// The sizes of the bursts that Reno without HyStart sends in slow start from `from` to `to` ms, over
/// 200 Mbit/s and 300 ms, to a receiver that acknowledges each segment. What is less than 130 us
/// apart is one burst.
fn bursts(written: u64, from: u64, to: u64) -> Vec<u32> {
    const PACKET: Duration = Duration::from_nanos(60_560);
    const RTT: Duration = Duration::from_millis(300);
    const APART: Duration = Duration::from_micros(130);
    let algorithm = Algorithm::parse("reno+standard").unwrap();
    let mut sender = Sender::new(SenderConfig::linux(algorithm, 1_448));
    sender.write(Instant::ZERO, written);
    sender.open(Instant::ZERO);
    sender.poll_transmit(Instant::ZERO).unwrap();
    let mut acks = VecDeque::from([(Instant::ZERO + RTT, 0)]);
    let (mut free, mut last) = (Instant::ZERO, Instant::ZERO);
    let mut sizes = Vec::new();
    while let Some((now, ack)) = acks.pop_front()
        && now < ms(to)
    {
        let segment = AckSegment {
            ack,
            syn: ack == 0,
            window: if ack == 0 { 65_160 } else { 1 << 29 },
            ..AckSegment::default()
        };
        sender.handle_ack(now, &segment);
        while let Some(segment) = sender.poll_transmit(now) {
            free = free.max(now) + PACKET;
            let end = segment.seq + u64::from(segment.len);
            acks.push_back((free + RTT, end));
            if now >= ms(from) {
                if sizes.is_empty() || now.saturating_since(last) > APART {
                    sizes.push(0);
                }
                *sizes.last_mut().unwrap() += 1;
            }
            last = now;
        }
    }
    sizes
}

/// 40 MB are in the queue before the first ACK: packets of 22 segments, half of the receiver's first
/// window. Linux 6.12.117 in virtual time, over 200 Mbit/s and 300 ms with 0.5 BDP, sent these bursts
/// from 2.703 s, from 2.710 s and from 3.004 s on (`tcp_write_xmit`, `tcp_tso_should_defer`).
#[test]
fn a_packet_that_the_windows_permit_ends_a_burst() {
    let repeats = |from, to, kernel: &[u32]| {
        let sent = bursts(40_000_000, from, to);
        let inner = &sent[2..sent.len() - 1];
        assert!(inner.len() > 2 * kernel.len());
        // The kernel's round began up to 0.7 ms later.
        let found = (0..kernel.len()).any(|first| {
            let repeated = kernel.iter().cycle().skip(first);
            inner.iter().zip(repeated).all(|(one, other)| one == other)
        });
        assert!(found, "{sent:?}, and Linux repeats {kernel:?}");
    };
    repeats(2_703, 2_707, &[8, 8, 6]);
    repeats(2_711, 2_718, &[9, 13]);
    repeats(3_004, 3_030, &[22]);
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
    let ack = AckSegment {
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

//! Packets in fragments over a channel that loses frames.

use units::Instant;
use wireless::DropCause;
use wireless::adhoc::mac::MacEvent;
use wireless::adhoc::mac::csma::CsmaConfig;

use crate::harness::{Net, no_capture, star};

/// Sends `count` packets of 1064 bytes one after the other; returns the fraction that arrived.
fn success(frame_loss: f64, retries: u8, ack: bool, count: u32) -> f64 {
    let config = CsmaConfig {
        frame_loss,
        retries,
        ack,
        ..CsmaConfig::DEFAULT
    };
    let mut net = Net::new(&config, &no_capture(), &star(1), 11);
    let mut at = Instant::ZERO;
    for handle in 0..count {
        net.send(at, 1, Some(0), 1064, handle);
        net.finish();
        at = net.log.last().expect("a report").0;
    }
    let (tally, counters) = (&net.tally, net.mac.counters());
    if ack {
        assert_eq!(tally.received, tally.sent);
        assert_eq!(tally.of(DropCause::RetryLimit), tally.failed);
    } else {
        // The sender does not know it.
        assert_eq!((tally.failed, tally.sent), (0, u64::from(count)));
        assert_eq!(counters.lost, tally.sent - tally.received);
    }
    tally.received as f64 / f64::from(count)
}

fn check(measured: f64, expected: f64, count: u32) {
    let deviation = (expected * (1.0 - expected) / f64::from(count)).sqrt();
    println!("{measured:.4} ({expected:.4})");
    assert!(
        (measured - expected).abs() < 4.0 * deviation,
        "{measured}, expected {expected}"
    );
}

#[test]
fn eleven_frames_arrive_if_none_of_them_fails_four_times() {
    let count = 10_000;
    for (loss, expected) in [(0.1, 0.9989), (0.2, 0.983), (0.3, 0.914)] {
        let exact = (1.0 - f64::powi(loss, 4)).powi(11);
        assert!((exact - expected).abs() < 6e-4);
        check(success(loss, 3, true, count), exact, count);
    }
}

#[test]
fn without_retransmissions_eleven_frames_rarely_arrive() {
    let count = 10_000;
    for (loss, expected) in [(0.1, 0.314), (0.2, 0.086), (0.3, 0.020)] {
        let exact = f64::powi(1.0 - loss, 11);
        assert!((exact - expected).abs() < 6e-4);
        check(success(loss, 0, true, count), exact, count);
        check(success(loss, 0, false, count), exact, count);
    }
}

#[test]
fn a_fragment_that_is_given_up_ends_the_packet() {
    // Each frame is given up with 0.3^1: the mean number of frames is (1 - 0.7^11) / 0.3.
    let config = CsmaConfig {
        frame_loss: 0.3,
        retries: 0,
        ..CsmaConfig::DEFAULT
    };
    let mut net = Net::new(&config, &no_capture(), &star(1), 12);
    net.saturate(1, 1064, units::Duration::from_secs(200));
    let packets = (net.tally.sent + net.tally.failed) as f64;
    let frames = net.mac.counters().data_frames as f64 / packets;
    let expected = (1.0 - f64::powi(0.7, 11)) / 0.3;
    // The number is geometric, cut at 11: its standard deviation is below that of the geometric.
    let deviation = f64::sqrt(0.7) / 0.3 / packets.sqrt();
    assert!(
        (frames - expected).abs() < 4.0 * deviation,
        "{frames}, expected {expected}"
    );
}

#[test]
fn a_broadcast_in_fragments_reaches_every_node_in_range() {
    let mut net = Net::new(&CsmaConfig::DEFAULT, &no_capture(), &star(4), 13);
    net.send(Instant::ZERO, 0, None, 500, 9);
    net.finish();
    let sent = net.log.pop().unwrap();
    assert!(matches!(sent.1, MacEvent::Sent { handle: 9, .. }));
    let mut nodes: Vec<_> = net
        .log
        .iter()
        .map(|(at, event)| match event {
            MacEvent::Received {
                node, handle: 9, ..
            } if *at < sent.0 => node.0,
            other => panic!("{other:?}"),
        })
        .collect();
    nodes.sort_unstable();
    assert_eq!(nodes, [1, 2, 3, 4]);
    let counters = net.mac.counters();
    assert_eq!(
        (counters.data_frames, counters.acks, counters.arrived),
        (5, 0, 20)
    );
}

#[test]
fn packets_beyond_the_mtu_are_refused() {
    let mut net = Net::new(&CsmaConfig::DEFAULT, &no_capture(), &star(1), 14);
    for (bytes, drops) in [(1280, 0), (1281, 1)] {
        let at = net.log.last().map_or(Instant::ZERO, |(at, _)| *at);
        net.send(at, 1, Some(0), bytes, bytes);
        net.finish();
        assert_eq!(net.tally.of(DropCause::Length), drops, "{bytes} bytes");
    }
}

#[test]
fn a_node_without_free_buffers_ignores_fragments() {
    // Two senders interleave the fragments of their packets, but there is one buffer.
    let received = [1, 2].map(|reassembly_buffers| {
        let config = CsmaConfig {
            reassembly_buffers,
            ..CsmaConfig::DEFAULT
        };
        let mut net = Net::new(&config, &no_capture(), &star(2), 15);
        net.saturate(2, 500, units::Duration::from_secs(60));
        let counters = net.mac.counters();
        assert_eq!(counters.refused > 0, reassembly_buffers == 1);
        assert_eq!(counters.lost > 0, reassembly_buffers == 1);
        net.tally.received as f64
    });
    // One packet of each pair.
    let ratio = received[0] / received[1];
    assert!((ratio - 0.5).abs() < 0.05, "{received:?}");
}

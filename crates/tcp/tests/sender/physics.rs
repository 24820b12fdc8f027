//! A classic slow start over a drop-tail bottleneck overshoots as computed.
//!
//! Three identities hold for any TCP over a bottleneck. Growth by one segment for each one
//! acknowledged sends at twice the bottleneck's rate, so that a buffer of B packets fills in the
//! time that the link takes to send B packets. The first drop is detected after the round trip with
//! a full buffer. Until then, B + BDP packets are dropped. An independent simulation that begins
//! with the SYN gave the times (docs/reference/sources.md, "Common rules").

use tcp::{AckPolicy, Autotuning, Receiver, ReceiverConfig, Tick};
use testing::random::Random;
use units::{Bytes, Duration, Instant};

use super::support::{Faults, Path, config};

const NONE: Faults = Faults {
    random: Random::new(0),
    loss: 0,
    duplicate: 0,
    reorder: 0,
    extra: 0,
    down: (0, 0),
};

fn near(value: f64, expected: f64, what: &str) {
    let error = (value / expected - 1.0).abs();
    assert!(error < 0.03, "{what}: {value}, expected {expected}");
}

#[test]
fn first_drop_detection_and_number_of_drops() {
    // Mbit/s, ms, packets; seconds, seconds, drops. A packet has 1514 bytes.
    for (rate, rtt, buffer, drop, detection, drops) in [
        (50_u64, 100, 413, 0.8468, 1.0476, 829.0),
        (10, 100, 50, 0.5654, 0.7308, 130.0),
        (100, 30, 250, 0.2323, 0.2930, 501.0),
        (20, 60, 100, 0.3873, 0.5102, 203.0),
    ] {
        let mut path = Path::new(
            config("reno+standard"),
            AckPolicy::EverySegment,
            1,
            NONE,
            NONE,
        );
        path.receiver = Receiver::new(ReceiverConfig {
            receive_buffer: Bytes::new(1 << 30),
            initial_window: Bytes::new(1 << 30),
            mss: 1448,
            merged: 1448,
            truesize: 0,
            autotuning: Autotuning::Off,
            ack_policy: AckPolicy::EverySegment,
            sack: true,
            tick: Tick::NONE,
        });
        path.buffer = buffer;
        path.packet_time = Duration::from_nanos(1514 * 8_000 / rate);
        path.delay = Duration::from_millis(rtt / 2);
        path.sender.open(Instant::ZERO);
        path.sender.write(Instant::ZERO, u64::MAX);
        while path.sender.stats().first_loss.is_none() {
            assert!(path.step());
        }
        let detected = path.sender.stats().first_loss.unwrap();
        near(path.drops[0].as_secs_f64(), drop, "first drop");
        near(detected.as_secs_f64(), detection, "detection");
        near(path.drops.len() as f64, drops, "drops");
    }
}

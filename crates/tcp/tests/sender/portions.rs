//! A write to a peer with a small window. Linux's rules: `portions.rs`.

use congestion::Algorithm;
use tcp::SenderConfig;

use super::support::{MSS, Script};

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

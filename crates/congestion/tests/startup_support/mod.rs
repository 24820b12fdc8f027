//! Shared by the start-up tests: signals with usual values, and the files of test vectors.
#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod streams;

use congestion::{Ack, Congestion, CongestionKind, Established, PathMemory, Phase, Window};
use units::{Bytes, Duration, Instant, Rate};

/// Segment size of the streams.
pub const SMSS: Bytes = Bytes::new(1448);

/// `count` segments.
pub fn segments(count: u64) -> Bytes {
    SMSS * count
}

/// A window of `cwnd` segments whose threshold is not known.
pub fn window(cwnd: u64) -> Window {
    Window {
        cwnd: segments(cwnd),
        ssthresh: Bytes::MAX,
        smss: SMSS,
    }
}

/// An ACK that delivers `delivered` and advances to `snd_una`; the window limits the sender.
pub fn ack(now: Instant, delivered: Bytes, snd_una: u64, rtt: Option<Duration>) -> Ack {
    Ack {
        now,
        delivered,
        newly_lost: Bytes::ZERO,
        prior_in_flight: delivered,
        in_flight: Bytes::ZERO,
        snd_una,
        snd_nxt: snd_una,
        advanced: true,
        bytes_sent: snd_una,
        latest_rtt: rtt,
        srtt: rtt.unwrap_or_default(),
        min_rtt: rtt.unwrap_or_default(),
        rate: None,
        cwnd_limited: true,
        app_limited: false,
        phase: Phase::Open,
        paced: false,
        pacing_rate: Rate::MAX,
    }
}

/// A duration in microseconds.
pub fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

/// A time in microseconds after the start.
pub fn at(micros: u64) -> Instant {
    Instant::from_micros(micros)
}

/// A connection established at time zero.
pub fn established(memory: PathMemory, rtt_us: u64) -> Established {
    Established {
        now: Instant::ZERO,
        rtt: Some(micros(rtt_us)),
        queued: Bytes::MAX,
        receive_window: Bytes::MAX,
        memory,
    }
}

/// A congestion episode that begins at time zero.
pub fn congestion(kind: CongestionKind, snd_nxt: u64) -> Congestion {
    Congestion {
        now: Instant::ZERO,
        kind,
        phase: Phase::Open,
        in_flight: Bytes::ZERO,
        snd_nxt,
        first_of_window: true,
    }
}

/// The rows of a file of `search_vectors` without its header, split at commas.
pub fn vectors(name: &str) -> Vec<Vec<String>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/search_vectors");
    let text = std::fs::read_to_string(format!("{folder}/{name}"));
    let text = text.unwrap_or_else(|error| panic!("{name}: {error}"));
    let cells = |line: &str| line.split(',').map(|cell| cell.trim().to_owned()).collect();
    text.lines().skip(1).map(cells).collect()
}

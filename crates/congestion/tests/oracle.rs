//! The oracle: the window that it leaves with, worked from the rate and the RTT.

use congestion::startup::{Oracle, OracleConfig};
use congestion::{Ack, KnownPath, KnowsPath, Phase, Startup, Step, Window};
use units::{Bytes, Duration, Instant, Rate};

const SMSS: Bytes = Bytes::new(1_000);
const RTT: Duration = Duration::from_millis(100);

/// 8 Mbit/s over 100 ms: 100 segments.
const PATH: KnownPath = KnownPath {
    rate: Rate::from_bits_per_sec(8_000_000),
    base_rtt: RTT,
    queue_delay: Duration::ZERO,
    busy_for: Duration::ZERO,
};

const fn window(segments: u64) -> Window {
    Window {
        cwnd: Bytes::new(segments * 1_000),
        ssthresh: Bytes::MAX,
        smss: SMSS,
    }
}

/// An ACK of two segments that leaves `in_flight` segments, at `ms`.
fn ack(ms: u64, in_flight: u64, srtt: Duration) -> Ack {
    Ack {
        now: Instant::from_millis(ms),
        delivered: SMSS * 2,
        newly_lost: Bytes::ZERO,
        prior_in_flight: SMSS * (in_flight + 2),
        in_flight: SMSS * in_flight,
        snd_una: 0,
        snd_nxt: 0,
        advanced: true,
        bytes_sent: 0,
        latest_rtt: Some(srtt),
        srtt,
        min_rtt: srtt,
        rate: None,
        cwnd_limited: true,
        app_limited: false,
        phase: Phase::Open,
        paced: true,
        pacing_rate: Rate::MAX,
    }
}

fn oracle(jump: bool) -> Oracle {
    Oracle::new(OracleConfig { jump }, Instant::ZERO, 0)
}

fn exit(step: Step) -> Option<(u64, u64, &'static str)> {
    match step {
        Step::Exit {
            cwnd,
            ssthresh,
            reason,
        } => Some((cwnd.get(), ssthresh.get(), reason.name())),
        _ => None,
    }
}

#[test]
fn without_a_word_about_the_path_it_is_slow_start() {
    let mut oracle = oracle(false);
    assert_eq!(oracle.pacing(), None);
    let step = oracle.on_ack(&ack(100, 5_000, RTT), &window(5_000));
    assert_eq!(step, Step::Grow(SMSS * 2));
}

#[test]
fn it_grows_to_the_bdp_and_four_segments_and_leaves_when_these_are_in_flight() {
    let mut oracle = oracle(false);
    assert_eq!(oracle.on_path(&PATH, &window(10)), None);
    assert_eq!(oracle.pacing().map(|pace| pace.rate), Some(PATH.rate));
    let mut step = |ms, in_flight, cwnd| oracle.on_ack(&ack(ms, in_flight, RTT), &window(cwnd));
    assert_eq!(step(1_000, 50, 101), Step::Grow(SMSS * 2));
    // Paced segments are missing.
    assert_eq!(step(1_010, 50, 102), Step::Set(SMSS * 104));
    assert_eq!(step(1_020, 97, 104), Step::Set(SMSS * 104));
    assert_eq!(
        exit(step(1_030, 98, 104)),
        Some((104_000, 104_000, "capacity"))
    );
}

#[test]
fn it_waits_a_base_rtt_at_most() {
    let mut oracle = oracle(false);
    oracle.on_path(&PATH, &window(10));
    let mut step = |ms| oracle.on_ack(&ack(ms, 50, RTT), &window(104));
    assert_eq!(step(1_000), Step::Set(SMSS * 104));
    assert_eq!(step(1_099), Step::Set(SMSS * 104));
    assert_eq!(exit(step(1_100)), Some((104_000, 104_000, "capacity")));
}

#[test]
fn delays_count_unless_the_bottleneck_causes_them() {
    let slow = Duration::from_millis(150);
    for (queue_ms, segments) in [(0, 150), (20, 130), (50, 100), (80, 100)] {
        let mut oracle = oracle(false);
        let queue_delay = Duration::from_millis(queue_ms);
        oracle.on_path(
            &KnownPath {
                queue_delay,
                ..PATH
            },
            &window(10),
        );
        let step = oracle.on_ack(&ack(1_000, 500, slow), &window(500));
        let bytes = (segments + 4) * 1_000;
        assert_eq!(exit(step), Some((bytes, bytes, "capacity")), "{queue_ms}");
    }
}

#[test]
fn a_bottleneck_that_is_busy_for_a_base_rtt_ends_it() {
    for (busy_ms, ends) in [(99, false), (100, true)] {
        let mut oracle = oracle(false);
        let busy_for = Duration::from_millis(busy_ms);
        oracle.on_path(&KnownPath { busy_for, ..PATH }, &window(10));
        let step = oracle.on_ack(&ack(1_000, 20, RTT), &window(20));
        assert_eq!(exit(step), ends.then_some((20_000, 20_000, "busy")));
    }
}

#[test]
fn a_jump_sets_the_window_once() {
    let mut oracle = oracle(true);
    assert_eq!(
        oracle.on_path(&PATH, &window(10)),
        Some(Step::Set(SMSS * 104))
    );
    assert_eq!(oracle.on_path(&PATH, &window(10)), None);
}

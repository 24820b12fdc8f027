//! Receivers that do not comply: the windows of the senders, worked out by hand.
//!
//! The path has an RTT of 100 ms and no rate to speak of, so that a round trip is one burst. The
//! SYN-ACK arrives at 100 ms; the ACKs of round `n` arrive at `100 (n + 1)` ms.

use tcp::{AckPolicy, Autotuning, Misbehavior, Receiver, ReceiverConfig, SenderConfig, Tick};
use testing::random::Random;
use units::{Bytes, Duration, Instant, Rate};

use super::support::{Faults, MSS, Path, config, ms};

const COMPLIES: Misbehavior = Misbehavior::DEFAULT;
const SOUND: Faults = Faults {
    random: Random::new(1),
    loss: 0,
    duplicate: 0,
    reorder: 0,
    extra: 0,
    down: (0, 0),
};

fn path(config: SenderConfig, misbehavior: Misbehavior) -> Path {
    let mut path = Path::new(config.clone(), AckPolicy::EverySegment, 1, SOUND, SOUND);
    path.delay = Duration::from_millis(50);
    path.packet_time = Duration::from_nanos(10);
    path.buffer = u64::MAX;
    let whole = Bytes::new(64 << 20);
    path.receiver = Receiver::new(ReceiverConfig {
        receive_buffer: whole,
        initial_window: whole,
        mss: config.smss,
        merged: config.smss,
        truesize: 0,
        autotuning: Autotuning::Off,
        ack_policy: AckPolicy::EverySegment,
        sack: config.sack,
        tick: Tick::NONE,
    });
    if misbehavior != COMPLIES {
        path.receiver.misbehave(misbehavior);
    }
    path.sender.open(Instant::ZERO);
    path.sender.write(Instant::ZERO, u64::MAX);
    path
}

/// The window in segments after all events before `at`.
fn window_at(path: &mut Path, at: Instant) -> u64 {
    loop {
        let window = path.sender.window().cwnd_segments();
        if !path.step() || path.now >= at {
            return window;
        }
    }
}

/// The window in the middle of each of the first rounds.
fn windows<const N: usize>(config: SenderConfig, misbehavior: Misbehavior) -> [u64; N] {
    let mut path = path(config, misbehavior);
    let mut at = ms(100);
    [(); N].map(|()| {
        at += Duration::from_millis(100);
        window_at(&mut path, at + Duration::from_millis(50))
    })
}

/// Savage et al. 1999, section 2.1. With a segment for each ACK, `W` segments whose ACKs are divided
/// by `L` add `W L`: the window grows by `1 + L` each round. Whole segments acknowledged (Linux) and
/// bytes acknowledged (RFC 3465) double it, whatever `L`.
#[test]
fn divided_acks_inflate_a_window_that_counts_acks() {
    let divided = |divide| Misbehavior { divide, ..COMPLIES };
    for divide in [1, 3, 10] {
        let grown = u64::from(1 + divide);
        let windows = windows::<3>(config("reno+abc:count=acks"), divided(divide));
        let expected = [10 * grown, 10 * grown.pow(2), 10 * grown.pow(3)];
        assert_eq!(windows, expected, "divided by {divide}");
    }
    for name in ["reno", "cubic", "reno+abc", "reno+abc:limit=1"] {
        let windows = windows::<3>(config(name), divided(10));
        assert_eq!(windows, [20, 40, 80], "{name}");
    }
    let before = SenderConfig {
        byte_counting: false,
        ..config("reno")
    };
    assert_eq!(windows::<3>(before, divided(10)), [20, 40, 80]);
}

/// More parts than bytes: each byte has an ACK. 1000 parts of a segment of 1000 bytes.
#[test]
fn an_ack_is_divided_into_bytes_at_most() {
    let mut path = path(
        config("reno"),
        Misbehavior {
            divide: 1000,
            ..COMPLIES
        },
    );
    assert_eq!(window_at(&mut path, ms(240)), 20);
    // Ten segments arrived at 150 ms, and the next one now.
    let acks = path.receiver.stats().acks_sent;
    assert!((10 * MSS..=11 * MSS).contains(&acks), "{acks}");
}

/// Section 2.2. Without SACK, the third copy of an ACK begins a recovery. The next ACK echoes a
/// timestamp from before the retransmission, and so reveals that nothing was lost: the reduction is
/// undone (Linux `tcp_try_undo_recovery`; RFC 3522). With SACK, an ACK without blocks reports
/// nothing.
#[test]
fn copies_of_an_ack_deceive_a_sender_without_sack() {
    for (sack, duplicate, is_deceived) in [
        (false, 3, true),
        (false, 2, false),
        (true, 3, false),
        (true, 9, false),
    ] {
        let config = SenderConfig {
            sack,
            ..config("reno")
        };
        let misbehavior = Misbehavior {
            duplicate,
            ..COMPLIES
        };
        let mut path = path(config, misbehavior);
        let window = window_at(&mut path, ms(240));
        let stats = path.sender.stats();
        assert_eq!(stats.recoveries > 0, is_deceived, "{sack} {duplicate}");
        assert_eq!(stats.segments_retransmitted > 0, is_deceived);
        assert_eq!(stats.undone, stats.recoveries);
        assert!(window == 20 || is_deceived, "{window}");
    }
}

/// Section 2.3. Ten segments arrive just after 150 ms, and from 152 ms on, one ACK each millisecond
/// acknowledges one of those that follow. Until 299 ms the sender has those of 152 to 248 ms beside
/// the ordinary ten: its window is 10 + 10 + 97, where a complying receiver has given it 20.
#[test]
fn optimistic_acks_need_not_wait_for_the_data() {
    let optimistic = Misbehavior {
        optimistic: Some(Rate::from_bits_per_sec(8 * MSS * 1000)),
        ..COMPLIES
    };
    for (misbehavior, window) in [(COMPLIES, 20), (optimistic, 117)] {
        let mut path = path(config("reno"), misbehavior);
        assert_eq!(window_at(&mut path, ms(299)), window);
        assert_eq!(path.receiver.concealed(), Bytes::ZERO);
    }
}

/// RFC 9293, section 3.10.7.4: an ACK of data that was never sent changes nothing.
#[test]
fn an_ack_of_data_never_sent_is_ignored() {
    let mut script = super::support::Script::bulk("reno", 100);
    script.now = ms(200);
    assert!(script.ack(11, &[]).is_empty());
    assert_eq!((script.cwnd(), script.in_flight()), (10, 10));
    assert_eq!(script.ack(10, &[]).len(), 20);
}

/// One ACK for eight segments. Linux adds all eight, RFC 3465 at most two, RFC 5681 and RFC 2581
/// one: two ACKs of 16 segments.
#[test]
fn stretched_acks_slow_a_window_that_counts_acks() {
    let stretched = Misbehavior {
        stretch: 8,
        ..COMPLIES
    };
    for (name, window) in [
        ("reno", 32),
        ("reno+abc", 20),
        ("reno+abc:limit=1", 18),
        ("reno+abc:count=acks", 18),
    ] {
        let config = SenderConfig {
            initial_window: 16,
            ..config(name)
        };
        assert_eq!(windows::<1>(config, stretched), [window], "{name}");
    }
}

/// Ten segments arrive at 150 ms. The first eight have an ACK at once, the rest waits.
#[test]
fn a_stretched_ack_waits_at_most_as_long_as_it_says() {
    for (wait, acks_at_199) in [(40, 2), (60, 1)] {
        let mut path = path(
            config("reno"),
            Misbehavior {
                stretch: 8,
                wait: Duration::from_millis(wait),
                ..COMPLIES
            },
        );
        window_at(&mut path, ms(199));
        assert_eq!(path.receiver.stats().acks_sent, acks_at_199, "{wait} ms");
    }
}

/// Whatever the path and the scheme, everything that the sender sent is acknowledged in the end, and
/// only an optimistic receiver misses any of it.
#[test]
fn every_transfer_ends() {
    let rate = |kilobytes: u64| Some(Rate::from_bits_per_sec(kilobytes * 8000));
    let schemes = [
        Misbehavior {
            divide: 7,
            ..COMPLIES
        },
        Misbehavior {
            duplicate: 4,
            ..COMPLIES
        },
        Misbehavior {
            stretch: 6,
            ..COMPLIES
        },
        Misbehavior {
            stretch: 30,
            divide: 3,
            duplicate: 1,
            ..COMPLIES
        },
        Misbehavior {
            optimistic: rate(500),
            ..COMPLIES
        },
        Misbehavior {
            optimistic: rate(50_000),
            divide: 2,
            ..COMPLIES
        },
    ];
    const SEGMENTS: u64 = 400;
    for seed in 1..40 {
        for (place, scheme) in schemes.into_iter().enumerate() {
            for sack in [true, false] {
                let faults = |seed| Faults {
                    random: Random::new(seed),
                    loss: 30,
                    duplicate: 10,
                    reorder: 20,
                    extra: 3_000,
                    down: (0, 0),
                };
                let config = SenderConfig {
                    sack,
                    ..config("cubic")
                };
                let mut path = Path::new(
                    config,
                    AckPolicy::Delayed,
                    1 << 20,
                    faults(seed),
                    faults(seed + 1000),
                );
                path.receiver.misbehave(scheme);
                path.sender.open(path.now);
                path.sender.write(path.now, SEGMENTS * MSS - 300);
                path.sender.close();
                while !path.sender.is_complete() && path.now < ms(600_000) && path.step() {}
                let case = format!("seed {seed}, scheme {place}, SACK {sack}");
                assert!(path.sender.is_complete(), "{case}");
                let missed = path.receiver.concealed().get();
                assert!(path.receiver.has_ended(), "{case}");
                assert!(missed == 0 || scheme.optimistic.is_some(), "{case}");
            }
        }
    }
}

/// Every twentieth segment is lost; the sender of an optimistic receiver does not notice.
#[test]
fn an_optimistic_receiver_conceals_losses() {
    let lossy = Faults { loss: 50, ..SOUND };
    let optimistic = Misbehavior {
        optimistic: Some(Rate::from_bits_per_sec(20_000_000)),
        ..COMPLIES
    };
    let transfer = |misbehavior| {
        let mut path = Path::new(
            config("reno"),
            AckPolicy::Delayed,
            64 << 20,
            lossy.clone(),
            SOUND,
        );
        path.receiver.misbehave(misbehavior);
        path.sender.open(path.now);
        path.sender.write(path.now, 2000 * MSS);
        path.sender.close();
        while !path.sender.is_complete() && path.step() {}
        let lost = path.sender.stats().segments_lost;
        (path.now, lost, path.receiver.concealed().get() / MSS)
    };
    let (honest_end, honest_lost, honest_missed) = transfer(COMPLIES);
    let (end, lost, missed) = transfer(optimistic);
    assert!(honest_lost > 50 && honest_missed == 0);
    assert!(missed > 50 && lost < 5, "{missed} missed, {lost} noticed");
    assert!(end < honest_end);
}
